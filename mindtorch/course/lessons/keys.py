"""Lesson 5: which key first?"""
from __future__ import annotations

from collections.abc import Callable

from ..tasks import Lab, Lesson, Mistake, Prediction
from . import course, torch

PREDICTIONS = (
    Prediction("order", "w requires grad. Which comes first in a call of w * 2: recording the derivative (write "
               "'Autograd') or computing the product (write 'CPU')?", "Autograd",
               "Autograd has to see the call before it is computed, because it saves what the derivative needs; it "
               "then passes the call on to the next key, CPU."),
    Prediction("inside", "How many operators does autograd record for (w * 2).sum(), where mul and sum call nothing "
               "else?", 2,
               "One node for mul and one for sum. While the CPU kernel runs, Autograd is excluded: otherwise the "
               "operators that a kernel calls would be recorded a second time."),
    Prediction("leaf", "w is float32. Autocast has computed x @ w in bfloat16. What is the dtype of w.grad?",
               "float32", "The cast is an operator like any other, and was recorded, since the key of autocast comes "
                          "before Autograd. Its derivative casts the gradient back."),
)

def autocast(op, *args):
    with course.excluded("Autocast"):
        if op.name in ("matmul", "linear"):
            args = [a.to(torch.bfloat16) if isinstance(a, torch.Tensor) and a.dtype is torch.float32 else a
                    for a in args]
        return op(*args)


def _with(cast: Callable, only: Callable | None = None) -> Callable:
    """A kernel that casts in another way, or other operators."""

    def mine(op, *args):
        with course.excluded("Autocast"):
            if (only or (lambda name: name in ("matmul", "linear")))(op.name):
                args = [cast(a) for a in args]
            return op(*args)

    return mine


def _lower(value, dtype=None):
    ok = isinstance(value, torch.Tensor) and value.dtype is torch.float32
    return value.to(dtype or torch.bfloat16) if ok else value


def _inside(op, *args):
    """The casts are outside the block."""
    args = [_lower(a) for a in args]
    with course.excluded("Autocast"):
        return op(*args)


def _result(op, *args):
    with course.excluded("Autocast"):
        found = op(*args)
        return _lower(found) if op.name in ("matmul", "linear") else found


def _back(op, *args):
    with course.excluded("Autocast"):
        found = op(*[_lower(a) for a in args]) if op.name in ("matmul", "linear") else op(*args)
        return found.float() if isinstance(found, torch.Tensor) and found.dtype is torch.bfloat16 else found


def _detached(value):
    return _lower(value).detach() if isinstance(value, torch.Tensor) else value


def _nothing(op, *args):
    with course.excluded("Autocast"):
        op(*args)


def _first_alone(op, *args):
    with course.excluded("Autocast"):
        return op(_lower(args[0]), *args[1:]) if op.name in ("matmul", "linear") else op(*args)


def _others_lost(op, *args):
    found = autocast(op, *args)
    return found if op.name in ("matmul", "linear") else None


#: What is computed with the key, as readers would write it.
PROGRAMS: dict[str, Callable] = {
    "x @ w": lambda x, w: x @ w,
    "x + w.t()": lambda x, w: x + w.t(),
    "x.double() @ w.double()": lambda x, w: x.double() @ w.double(),
    "(x @ w).relu()": lambda x, w: (x @ w).relu(),
    "torch.nn.functional.linear(x, w.t(), torch.ones(2))":
        lambda x, w: torch.nn.functional.linear(x, w.t(), torch.ones(2)),
    "x.exp()": lambda x, w: x.exp(),
    "torch.arange(6).view(2, 3) @ torch.arange(3)": lambda x, w: torch.arange(6).view(2, 3) @ torch.arange(3),
}


def _run(function, program):
    """What a program gives with the key, and the gradient of w."""
    x = torch.tensor([[1., 2.004, 3], [4, 5, 6.02]])
    w = torch.tensor([[1., 2], [3, 4.01], [5, 6]], requires_grad=True)
    with course.add_key("Autocast", function):
        found = PROGRAMS[program](x, w)
    if not isinstance(found, torch.Tensor):
        return {"the result": found}
    seen = {"the result": found.detach(), "whether it requires grad": found.requires_grad}
    if found.requires_grad:
        found.sum().backward()
        seen["the gradient of w"] = w.grad
    return seen


MISTAKES = (
    Mistake("The operators that the kernel calls come back to it: exclude the key while it runs, by `with "
            "course.excluded('Autocast'):`.", lambda op, *args: op(*args)),
    Mistake("The casts are operators, too, and come back to this kernel: cast inside the block that excludes the key.",
            _inside),
    Mistake("Nothing is cast yet: the float32 arguments of matmul and linear become bfloat16.",
            _with(lambda a: a, lambda name: False)),
    Mistake("Compute only matmul and linear in bfloat16; leave other operators alone, since rounding would hurt them "
            "more than speed helps.", _with(_lower, lambda name: name not in ("t", "numpy", "detach"))),
    Mistake("Both operators are meant, matmul and linear.", _with(_lower, lambda name: name == "matmul")),
    Mistake("Both operators are meant, matmul and linear.", _with(_lower, lambda name: name == "linear")),
    Mistake("float16 is another dtype of 16 bits: use bfloat16.", _with(lambda a: _lower(a, torch.float16))),
    Mistake("Cast only float32: a program that uses float64 needs its precision, and integers stay integers.",
            _with(lambda a: a.to(torch.bfloat16) if isinstance(a, torch.Tensor) else a)),
    Mistake("Cast only float32: a program that uses float64 needs its precision.",
            _with(lambda a: a.to(torch.bfloat16) if isinstance(a, torch.Tensor) and a.is_floating_point() else a)),
    Mistake("Cast the arguments, not the result: the product itself should be computed in bfloat16.", _result),
    Mistake("The result stays in bfloat16: the next operator takes it from there.", _back),
    Mistake("The cast has to be recorded, so that gradients reach w: do not detach.",
            _with(_detached)),
    Mistake("Cast all arguments, not only the first: a product needs one dtype.", _first_alone),
    Mistake("Return the operator's result: return op(*args).", _nothing),
    Mistake("Return the operator's result for all operators: return op(*args).", _others_lost),
)

LESSON = Lesson(
    5, "keys", "Which key first?", "05_keys", 30, PREDICTIONS,
    (Lab(
        "autocast", "How do you put a step in front of all operators?", autocast,
        tuple((name,) for name in PROGRAMS),
        ("Exclude your own key first: everything happens inside `with course.excluded('Autocast'):`.",
         "Check op.name. For 'matmul' and 'linear', cast the arguments that are float32 tensors; then call op(*args) "
         "in any case.",
         "args = [a.to(torch.bfloat16) if isinstance(a, torch.Tensor) and a.dtype is torch.float32 else a for a in "
         "args]"),
        MISTAKES, 4, run=_run, describe=lambda program: program),
     ),
)
