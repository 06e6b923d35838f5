"""Mistakes that readers of lesson 5 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

from collections.abc import Callable

import mindtorch as torch
from mindtorch import course
from mindtorch.course.lessons.keys import PROGRAMS
from mindtorch.course.masters import Mistake, solution

autocast = solution("keys.autocast")


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

MISTAKES_OF = {"autocast": MISTAKES}
HIDDEN = {"autocast": tuple((program, 0.3) for program in PROGRAMS)}
