"""Mistakes that readers of lesson 18 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

from functools import partial

from mindtorch.course.masters import Mistake, edited

changed = partial(edited, "dynamo.guard")
TENSOR = """(type(value), value.dtype, value.device, tuple(value.shape), value.stride(), value.requires_grad,
                place)"""
LATER = "return lambda later: (facts(later, []), torch.is_grad_enabled()) == first"
SAME = "next((i for i, other in enumerate(seen) if other is value), len(seen))"

MISTAKES = (
    Mistake("A guard that always holds lets a program run on what it was not made for: wrong numbers, and no error.",
            lambda args: lambda later: True),
    Mistake("A guard that never holds compiles at every call: it must hold for a call like the first.",
            lambda args: lambda later: False),
    Mistake("Return a function: it will be called with the arguments of each later call.", lambda args: True),
    changed("Return a function: it will be called with the arguments of each later call.", (LATER, "return first")),
    Mistake("== of tensors is a tensor, and compares values: compare descriptions of the arguments.",
            lambda args: lambda later: args == later),
    changed("Values of tensors do not matter: a program is right for all of them.",
            ("value.requires_grad,", "value.requires_grad, tuple(value.flatten().tolist()),")),
    changed("Another tensor of the same kind is no reason to compile again: compare the facts, not id(tensor).",
            (SAME, "id(value)")),
    changed("A program is made for one shape: compare the shapes, not only the number of dimensions.",
            ("tuple(value.shape), value.stride()", "value.dim(), value.is_contiguous()")),
    changed("A program is made for one dtype: compare it.", ("value.dtype, ", "")),
    changed("x.t() has the shape of x and other strides: compare strides.", ("value.stride(), ", "")),
    changed("Whether a tensor requires grad decides whether a backward program is needed: compare it.",
            ("value.requires_grad,", "")),
    changed("A program is made for one device: compare it.", ("value.device, ", "")),
    changed("A Parameter, or another subclass, may behave in its own way: compare type(value).",
            ("(type(value), value.dtype, ", "(value.dtype, ")),
    changed("2 == 2.0 and 1 == True: compare the types of numbers, too.",
            ("return type(value), value\n", "return value\n")),
    changed("Python's values are constants of a program: compare numbers, texts and None by value.",
            ("return type(value), value\n", "return type(value)\n")),
    changed("f(x, x) is another program than f(x, y): compare which arguments are one tensor.", (SAME, "0")),
    changed("Grad mode decides what is recorded: compare torch.is_grad_enabled().",
            ("first = facts(args, []), torch.is_grad_enabled()", "first = facts(args, [])"),
            ("(facts(later, []), torch.is_grad_enabled()) == first", "facts(later, []) == first")),
    changed("Describe the arguments at once: a list that is kept changes with its owner, and tensors that are kept use "
            "memory.", ("first = facts(args, []), torch.is_grad_enabled()", "mode = torch.is_grad_enabled()"),
            ("== first", "== (facts(args, []), mode)")),
    changed("A list is not a tuple: compare the types of containers.",
            ("return type(value), [facts(item, seen) for item in value]",
             "return [facts(item, seen) for item in value]")),
    changed("Look into lists and tuples: their tensors are the program's tensors.",
            ("return type(value), [facts(item, seen) for item in value]", "return type(value), len(value)")),
    changed("Look into lists and tuples: compare every item, and there may be more items than before.",
            ("return type(value), [facts(item, seen) for item in value]",
             "return type(value), [facts(item, seen) for item in value[:2]]")),
    changed("Compare the keys of dictionaries.", ("type(value), list(value), [", "type(value), [")),
    changed("Compare the values of dictionaries.",
            (", [facts(item, seen) for item in value.values()]", "")),
    changed("Another function is another program: compare other objects by identity.",
            ("return id(value)\n", "return type(value)\n")),
    changed("The guard must not keep tensors of the first call: keep facts about them.",
            ("    first =", "    kept = args\n    first ="), ("lambda later: ", "lambda later, kept=kept: ")),
    changed("Return True or False.", ("== first", "== first or None")),
)

MISTAKES_OF = {"guard": MISTAKES}
HIDDEN: dict[str, tuple[tuple[str, ...], ...]] = {"guard": ()}
