"""Lesson 4: who computes a + b?"""
from __future__ import annotations

from functools import partial

from ..tasks import Lab, called, lesson
from . import torch


def _shape(value):
    return tuple(value.shape) if isinstance(value, torch.Tensor) else ()


def _tensors(*rows):
    return [tuple(torch.tensor(value[0], dtype=getattr(torch, value[1])) if isinstance(value, tuple) else value
                  for value in row) for row in rows]


META_CASES = [tuple(torch.empty(value[1:], dtype=getattr(torch, value[0]), device="meta") if isinstance(value, tuple)
                    else value for value in row) for row in (
    (("float32", 2, 3), ("float32", 2, 3)), (("float32", 2, 3), ("float32", 3)), (("float32", 3), ("float32", 2, 3)),
    (("int64", 3), ("float32", 2, 1)), (("float32", 3), ("int64", 3)), (("int32", 2), ("int64", 2)),
    (("float32", 2), ("float64",)), (("float32", 2), 1), (("int64", 2), 1), (("int64", 2), 1.5),
    (("float16", 4, 1), ("float16", 1, 5)), (("float32", 2, 3), ("float32", 4)))]


CASES = _tensors(
    (([1., 2, 3], "float32"), ([10., 20, 30], "float32"), 1), (([[1., 2], [3, 4]], "float32"), ([1., 0], "float32"), 1),
    (([1., 2, 3], "float32"), ([10., 20, 30], "float32"), 2), (([1, 2], "int64"), ([0.5, 1.5], "float32"), 1),
    (([1, 2], "int32"), ([3, 4], "int64"), 1), (([1., 2], "float32"), (0.25, "float64"), 1),
    (([1., 2], "float32"), 1, 1), (([1, 2], "int64"), 1.5, 1), (([2**53 + 1], "int64"), ([2], "int64"), 1),
    (([200], "uint8"), ([100], "uint8"), 1))


def _run_meta(function, self, other):
    """Return the result of a meta kernel; for shapes that do not match, whether it raises an error."""
    try:
        torch.broadcast_shapes(self.shape, _shape(other))
    except RuntimeError:
        try:
            return {"shapes that do not match": called(function, self, other)}
        except Exception:
            return {"shapes that do not match": "an error"}
    return called(function, self, other)


def _described(name):
    def describe(self, other, alpha=1):
        words = [f"{str(v.dtype).removeprefix('torch.')}{list(v.shape)}" if isinstance(v, torch.Tensor) else repr(v)
                 for v in (self, other)]
        return f"{name}({', '.join(words)}{f', alpha={alpha}' if alpha != 1 else ''})"

    return describe


#: Operators that add.
ADD = ("add", "add_", "_foreach_add", "sub", "sub_", "subtract", "rsub", "addcmul", "addcdiv", "addmm", "addmv", "addr",
       "baddbmm", "addbmm", "lerp")

LESSON = lesson(
    "dispatch", meta=partial(Lab, cases=META_CASES, run=_run_meta, describe=_described("add_meta"), refuses=ADD),
    kernel=partial(Lab, cases=CASES, describe=_described("add_kernel"), refuses=ADD))
