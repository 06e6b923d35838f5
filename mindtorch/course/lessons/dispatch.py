"""Lesson 4: who computes a + b?"""
from __future__ import annotations

import numpy as np

from ..tasks import Lab, Lesson, Mistake, Prediction, called
from . import torch

PREDICTIONS = (
    Prediction("operators", "How many operators does the library call for torch.ones(2, 3) @ torch.ones(3)?", 2,
               "matmul is written in other operators: it checks the dimensions, and calls mv for a matrix and a "
               "vector. For two matrices it would call mm. An operator like matmul is called composite."),
    Prediction("memory", "big is an empty tensor of 100,000 x 100,000 float32 on the device 'meta'. How many bytes "
               "does big @ big.t() take?", 0,
               "The device 'meta' has kernels that compute the shape and dtype of the result, and no elements. Its "
               "storages have a size and no memory."),
    Prediction("promoted", "What does the meta kernel of add return for an int64 tensor of shape (3,) and a float32 "
                           "tensor of shape (2, 1)? Give (dtype as text, first size, second size).", ("float32", 2, 3),
               "It broadcasts and promotes, as in lesson 3, and does nothing else."),
)


def add_meta(self, other, alpha=1):
    shape = torch.broadcast_shapes(self.shape, other.shape if isinstance(other, torch.Tensor) else ())
    return torch.empty(shape, dtype=torch.result_type(self, other), device="meta")


def add_kernel(self, other, alpha=1):
    dtype = torch.result_type(self, other)
    left = self.to(dtype).numpy()
    right = other.to(dtype).numpy() if isinstance(other, torch.Tensor) else other
    return torch.from_numpy(np.asarray(left + alpha * right)).to(dtype)


def _meta(shape=None, dtype=None):
    """A meta kernel that has its own idea of the shape or the dtype."""

    def mine(self, other, alpha=1):
        right = add_meta(self, other)
        return torch.empty(shape(self, other) if shape else right.shape, device="meta",
                           dtype=dtype(self, other) if dtype else right.dtype)

    return mine


def _dtype(value):
    return value.dtype if isinstance(value, torch.Tensor) else torch.tensor(value).dtype


def _shape(value):
    return tuple(value.shape) if isinstance(value, torch.Tensor) else ()


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
    """What a meta kernel says; where the shapes do not fit, whether it raises an error."""
    try:
        torch.broadcast_shapes(self.shape, _shape(other))
    except RuntimeError:
        try:
            return {"shapes that do not fit together": called(function, self, other)}
        except Exception:
            return {"shapes that do not fit together": "an error"}
    return called(function, self, other)


def _array(value):
    return value.numpy() if isinstance(value, torch.Tensor) else value


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
            lambda s, o, alpha=1: (s.double() + alpha * (o.double() if isinstance(o, torch.Tensor) else o)).to(
                torch.result_type(s, o))),
    Mistake("Compute in the dtype of the result: float32 cannot hold every int64.",
            lambda s, o, alpha=1: (s.float() + alpha * (o.float() if isinstance(o, torch.Tensor) else o)).to(
                torch.result_type(s, o))),
    Mistake("The second operand may be a number, as in a + 1, which has no method numpy().",
            lambda s, o, alpha=1: torch.from_numpy(np.asarray(
                s.to(torch.result_type(s, o)).numpy() + alpha * o.to(torch.result_type(s, o)).numpy()))),
    Mistake("The dispatcher expects a tensor: torch.from_numpy makes one from an array.",
            lambda s, o, alpha=1: add_kernel(s, o, alpha).numpy()),
    Mistake("A kernel returns a new tensor: do not write into its arguments.", _inplace),
    Mistake("It is a sum: self + alpha * other.", lambda s, o, alpha=1: add_kernel(s, o, -alpha)),
)


def _described(name):
    def describe(self, other, alpha=1):
        words = [f"{str(v.dtype).removeprefix('torch.')}{list(v.shape)}" if isinstance(v, torch.Tensor) else repr(v)
                 for v in (self, other)]
        return f"{name}({', '.join(words)}{f', alpha={alpha}' if alpha != 1 else ''})"

    return describe


LESSON = Lesson(
    4, "dispatch", "Who computes `a + b`?", "04_kernels", 35, PREDICTIONS,
    (Lab(
        "meta", "What will the result of an addition be?", add_meta, META_CASES,
        ("A tensor without elements has a shape and a dtype. Lesson 3 shows how both follow from the operands.",
         "torch.broadcast_shapes(a, b) gives the common shape, and torch.result_type(self, other) the dtype. The "
         "second operand may be a number: its shape is ().",
         "Return torch.empty(shape, dtype=dtype, device='meta')."),
        META_MISTAKES, 2, run=_run_meta, describe=_described("add_meta")),
     Lab(
        "kernel", "What computes an addition?", add_kernel, CASES,
        ("x.numpy() is an array over the memory of x, and NumPy adds and broadcasts arrays. But NumPy does not know "
         "PyTorch's promotion.",
         "Convert first: dtype = torch.result_type(self, other), and self.to(dtype).numpy(). A number stays a number.",
         "Compute left + alpha * right, make a tensor of it with torch.from_numpy, and convert that to dtype, since a "
         "number may have changed the array's dtype."),
        MISTAKES, 3, describe=_described("add_kernel"),
        hidden=_tensors((([[1], [2]], "int16"), ([1, 2], "int8"), 3), ((True, "bool"), (2.5, "float64"), 1)))),
)
