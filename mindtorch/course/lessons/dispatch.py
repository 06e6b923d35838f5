"""Lesson 4: who computes a + b?"""
from __future__ import annotations

from ..tasks import Lab, Lesson, Prediction, called
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

LESSON = Lesson(
    4, "dispatch", "Who computes `a + b`?", "04_kernels", 35, PREDICTIONS,
    (Lab(
        "meta", "What will the result of an addition be?", "add_meta", META_CASES,
        ("A tensor without elements has a shape and a dtype. Lesson 3 shows how both follow from the operands.",
         "torch.broadcast_shapes(a, b) gives the common shape, and torch.result_type(self, other) the dtype. The "
         "second operand may be a number: its shape is ().",
         "Return torch.empty(shape, dtype=dtype, device='meta')."),
        2, run=_run_meta, describe=_described("add_meta"), refuses=ADD),
     Lab(
        "kernel", "What computes an addition?", "add_kernel", CASES,
        ("x.numpy() is an array over the memory of x, and NumPy adds and broadcasts arrays. But NumPy does not know "
         "PyTorch's promotion.",
         "Convert first: dtype = torch.result_type(self, other), and self.to(dtype).numpy(). A number stays a number.",
         "Compute left + alpha * right, make a tensor of it with torch.from_numpy, and convert that to dtype, since a "
         "number may have changed the array's dtype."),
        3, describe=_described("add_kernel"), refuses=ADD)),
)
