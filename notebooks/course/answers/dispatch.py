"""Mistakes that readers of lesson 4 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

import numpy as np

import mindtorch as torch
from mindtorch.course.lessons.dispatch import _shape, _tensors
from mindtorch.course.masters import Mistake, solution

add_meta = solution("dispatch.meta")
add_kernel = solution("dispatch.kernel")


def _meta(shape=None, dtype=None):
    """A meta kernel that has its own idea of the shape or the dtype."""

    def mine(self, other, alpha=1):
        right = add_meta(self, other)
        return torch.empty(shape(self, other) if shape else right.shape, device="meta",
                           dtype=dtype(self, other) if dtype else right.dtype)

    return mine


def _dtype(value):
    return value.dtype if isinstance(value, torch.Tensor) else torch.tensor(value).dtype


def _numpy_dtype(self, other):
    made = [torch.empty((1,), dtype=_dtype(value)).numpy() if isinstance(value, torch.Tensor) else value
            for value in (self, other)]
    return torch.from_numpy(np.asarray(made[0] + made[1])).dtype


def _never_refuses(self, other, alpha=1):
    try:
        return add_meta(self, other)
    except RuntimeError:
        return torch.empty(self.shape, dtype=torch.result_type(self, other), device="meta")


META_MISTAKES = (
    Mistake("The dtype is promoted from both operands, not taken from the first: torch.result_type(self, other).",
            _meta(dtype=lambda s, o: s.dtype)),
    Mistake("The dtype is promoted from both operands, not taken from the second: torch.result_type(self, other).",
            _meta(dtype=lambda s, o: _dtype(o))),
    Mistake("Not every result is float32: the dtype follows from the operands.",
            _meta(dtype=lambda s, o: torch.get_default_dtype())),
    Mistake("promote_types sees two dtypes and cannot know which operand has no dimensions, or is a number; such "
            "operands weigh less. torch.result_type sees the operands themselves.",
            _meta(dtype=lambda s, o: torch.promote_types(s.dtype, _dtype(o)))),
    Mistake("NumPy promotes differently: int64 with float32 is float64 there, and float32 in PyTorch.",
            _meta(dtype=_numpy_dtype)),
    Mistake("The shapes are broadcast: the result need not have the shape of the first operand.",
            _meta(shape=lambda s, o: s.shape)),
    Mistake("The shapes are broadcast: the result need not have the shape of the second operand.",
            _meta(shape=lambda s, o: _shape(o))),
    Mistake("The larger operand does not decide alone: (2, 1) with (3,) is (2, 3), larger than both.",
            _meta(shape=lambda s, o: max(tuple(s.shape), _shape(o), key=lambda n: (len(n), int(np.prod(n)))))),
    Mistake("The second operand may be a number, as in a + 1, which has neither shape nor dtype.",
            lambda self, other, alpha=1: torch.empty(torch.broadcast_shapes(self.shape, other.shape), device="meta",
                                                     dtype=torch.result_type(self, other))),
    Mistake("A number has a kind and no dtype: 1 leaves int64 as it is.",
            _meta(dtype=lambda s, o: torch.result_type(s, o if isinstance(o, torch.Tensor) else float(o)))),
    Mistake("A number of a higher kind counts: int64 + 1.5 is float32.",
            _meta(dtype=lambda s, o: torch.result_type(s, o) if isinstance(o, torch.Tensor) else s.dtype)),
    Mistake("Shapes that cannot be broadcast are an error: do not catch it.", _never_refuses),
    Mistake("Return a tensor without elements: torch.empty of the shape and the dtype, on 'meta'.",
            lambda self, other, alpha=1: tuple(add_meta(self, other).shape)),
)


def _array(value):
    return value.numpy() if isinstance(value, torch.Tensor) else value


def _computed_in(dtype, self, other, alpha):
    left, right = (_array(value).astype(dtype) if isinstance(value, torch.Tensor) else value for value in (self, other))
    return torch.from_numpy(np.asarray(left + alpha * right)).to(torch.result_type(self, other))


def _inplace(self, other, alpha=1):
    return self.copy_(add_kernel(self, other, alpha))


def _numpy_rules(self, other, alpha=1):
    return torch.from_numpy(np.asarray(self.numpy() + alpha * _array(other)))


MISTAKES = (
    Mistake("alpha is missing: the operator computes self + alpha * other.", lambda s, o, alpha=1: add_kernel(s, o)),
    Mistake("alpha belongs to the second operand: self + alpha * other.",
            lambda s, o, alpha=1: add_kernel(s, o, 1) * alpha),
    Mistake("alpha belongs to the second operand: self + alpha * other.",
            lambda s, o, alpha=1: add_kernel(s * alpha, o)),
    Mistake("The kernel is called with alpha, too: def add_kernel(self, other, alpha=1).",
            lambda s, o: add_kernel(s, o)),
    Mistake("NumPy promotes differently: int64 with float32 is float64 there. Convert to torch.result_type(self, "
            "other).",
            _numpy_rules),
    Mistake("Convert the result to torch.result_type(self, other): it does not always have the first operand's "
            "dtype.", lambda s, o, alpha=1: add_kernel(s, o, alpha).to(s.dtype)),
    Mistake("Not every result is float32: the dtype follows from the operands.",
            lambda s, o, alpha=1: add_kernel(s, o, alpha).float()),
    Mistake("Compute in the dtype of the result: float64 cannot hold every int64.",
            lambda s, o, alpha=1: _computed_in("float64", s, o, alpha)),
    Mistake("Compute in the dtype of the result: float32 cannot hold every int64.",
            lambda s, o, alpha=1: _computed_in("float32", s, o, alpha)),
    Mistake("The second operand may be a number, as in a + 1, which has no method numpy().",
            lambda s, o, alpha=1: torch.from_numpy(np.asarray(
                s.to(torch.result_type(s, o)).numpy() + alpha * o.to(torch.result_type(s, o)).numpy()))),
    Mistake("The dispatcher expects a tensor: torch.from_numpy makes one from an array.",
            lambda s, o, alpha=1: add_kernel(s, o, alpha).numpy()),
    Mistake("A kernel returns a new tensor: do not write into its arguments.", _inplace),
    Mistake("It is a sum: self + alpha * other.", lambda s, o, alpha=1: add_kernel(s, o, -alpha)),
)


def _on_meta(dtype, *shape):
    return torch.empty(shape, dtype=getattr(torch, dtype), device="meta")


MISTAKES_OF = {"meta": META_MISTAKES, "kernel": MISTAKES}
HIDDEN = {"meta": ((_on_meta("uint8", 2, 1), _on_meta("int8", 3)), (_on_meta("bool", 4), True),
                   (_on_meta("float32", 5, 1, 2), _on_meta("float64", 3, 1))),
          "kernel": _tensors((([[1], [2]], "int16"), ([1, 2], "int8"), 3), ((True, "bool"), (2.5, "float64"), 1))}
