"""Mistakes that readers of lesson 28 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

import pickle
from functools import partial

from mindtorch.course.masters import Mistake, edited

changed = partial(edited, "checkpoints.rebuild")
PLACE = "place = max(i for i, value in enumerate(stack) if value is mark)"
LISTED = """                if argument not in allowed:
                    raise pickle.UnpicklingError(f"{argument} is not allowed")
                stack.append(allowed[argument])"""
CHECKED = """                if not any(function is one for one in allowed.values()):
                    raise pickle.UnpicklingError(f"{function} may not be called")
"""
REFUSED = 'raise pickle.UnpicklingError(f"there is no step {name}")'


def _refuse(steps, allowed, load_storage):
    raise pickle.UnpicklingError("not today")


def _by_import(name):
    """Find what a step names, wherever it is."""
    from importlib import import_module

    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


MISTAKES = (
    Mistake("Only what is not allowed is refused: run the steps of an honest file.", _refuse),
    Mistake("Run the steps one after the other: they are a program for the value, not the value.",
            lambda steps, allowed, load_storage: steps),
    Mistake("That is the last step's argument. Keep a stack: the value is on top of it at the end.",
            lambda steps, allowed, load_storage: steps[-1][1]),
    changed("Return what is on top of the stack, not the stack.", ("return stack[-1]", "return stack")),
    changed("Above the mark: look for the last mark, since a tuple may be in a tuple.",
            ("place = max(", "place = min(")),
    changed("The mark goes with what is above it.", ("del stack[place:]", "del stack[place + 1:]")),
    changed("Values come out in the order in which they were pushed, not from the top down.",
            ("stack.append(tuple(taken(argument)))", "stack.append(tuple(reversed(taken(argument))))")),
    changed("A tuple is no list: push tuple(...).",
            ("stack.append(tuple(taken(argument)))", "stack.append(taken(argument))")),
    changed("An argument of None means all above the mark, and 0 means no values: 0 is not None.",
            ("if count is None:", "if not count:")),
    changed("append takes as many values as its argument says, or all above the mark.",
            ("""values = taken(argument)
                stack[-1].extend(values)""", "stack[-2].append(stack.pop())")),
    changed("append adds one value after the other: extend, so that the list itself is no item.",
            ("stack[-1].extend(values)", "stack[-1].append(values)")),
    changed("set takes key, value, key, value: the keys are at the even places.",
            ("zip(values[::2], values[1::2])", "zip(values[:len(values) // 2], values[len(values) // 2:])")),
    changed("set takes key, value, key, value: the key comes first.",
            ("zip(values[::2], values[1::2])", "zip(values[1::2], values[::2])")),
    changed("The dictionary or list below stays the same object, since the memo has it, too: change it in place.",
            ("stack[-1].extend(values)", "stack[-1] = stack[-1] + values"),
            ("stack[-1].update(zip(values[::2], values[1::2]))",
             "stack[-1] = dict(stack[-1], **dict(zip(values[::2], values[1::2])))")),
    changed("put leaves the value on the stack.", ("memo[argument] = stack[-1]", "memo[argument] = stack.pop()")),
    changed("The memo keeps the object itself: a copy is not filled later, and is not the same list.",
            ("memo[argument] = stack[-1]", "memo[argument] = __import__('copy').copy(stack[-1])")),
    changed("get pushes the very object that was put, not a copy: two views share one storage, and one list stays one.",
            ("stack.append(memo[argument])", "stack.append(__import__('copy').copy(memo[argument]))")),
    changed("empty pushes a dictionary or a list, as its argument says.",
            ('{} if argument == "dict" else []', "{}")),
    Mistake("A name that is not in allowed is refused by UnpicklingError, not by KeyError: who loads a file catches "
            "that.", edited("checkpoints.rebuild", "", (LISTED, "                stack.append(allowed[argument])")
                            ).function),
    Mistake("What is named must be in allowed. Whatever a module has would be any function of any module.",
            lambda steps, allowed, load_storage: _importing(
                steps, _Anything(allowed), load_storage)),
    changed("An allowed function may return a function: call refuses what is not one of allowed.values().",
            (CHECKED, "")),
    changed("Callable is not allowed: call refuses what is not one of allowed.values().",
            ("if not any(function is one for one in allowed.values()):", "if not callable(function):")),
    changed("The function is below its arguments, and is called with the items of the tuple: function(*arguments).",
            ("function(*arguments)", "function(arguments)")),
    changed("storage takes the tuple off the stack, and pushes what load_storage returns in its place.",
            ("load_storage(stack.pop())", "load_storage(stack[-1])")),
    changed("state adds attributes to the object below: update its __dict__, not its entries.",
            ("stack[-1].__dict__.update(state)", "stack[-1].update(state)")),
    changed("state sets the attributes of the object below: do not leave it out.",
            ("stack[-1].__dict__.update(state)", "pass")),
    changed("A step that you do not know is refused: the rest of the program may rely on it.", (REFUSED, "pass")),
    changed("A step that you do not know is refused by UnpicklingError.", (REFUSED, "raise ValueError(name)")),
)


class _Anything(dict):
    """What is allowed, and all that can be imported."""

    def __contains__(self, name):
        return True

    def __missing__(self, name):
        self[name] = _by_import(name) if name != "os.system" else print
        return self[name]


_importing = edited("checkpoints.rebuild", "", ("not in allowed", "not in allowed")).function
MISTAKES_OF = {"rebuild": MISTAKES}
HIDDEN: dict[str, tuple[tuple[str, ...], ...]] = {"rebuild": ()}
