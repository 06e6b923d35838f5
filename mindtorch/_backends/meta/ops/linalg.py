"""Meta kernels of products of vectors and matrices."""
from __future__ import annotations

from typing import Any

from ...._base.about import about
from ...._base.errors import NAMES, check, check_number, check_takes
from ...._base.layout import Spec, broadcast_shapes, iterator_strides, wrap_dim
from ...._dtype import INTEGER, bool_
from ...common.pointwise import result_type
from . import META_KERNELS


def _refuse_bool(kernel: str, *factors: Any) -> None:
    check_takes(factors[0]._dtype is not bool_ or not all(factor.numel() for factor in factors), kernel, bool_)


def _check_numbers(dtype: Any, beta: Any, alpha: Any) -> None:
    check(dtype.is_complex or not (isinstance(beta, complex) or isinstance(alpha, complex)),
          lambda: f"value cannot be converted to type {dtype.name} without overflow: beta={beta}, alpha={alpha}")
    for number in (beta, alpha):
        if dtype.category == INTEGER and not isinstance(number, complex):
            check_number(dtype, number)


def _check_expands(tensor: Any, shape: tuple[int, ...]) -> None:
    """Raise PyTorch's error unless a tensor broadcasts to a shape."""
    if tensor.shape != shape and (tensor.ndim > len(shape) or broadcast_shapes(tensor.shape, shape) != shape):
        tensor.expand(shape)


def mm(self: Any, mat2: Any) -> Spec:
    check(self.ndim == 2, "self must be a matrix", kind="matrices wanted")
    check(mat2.ndim == 2, "mat2 must be a matrix", kind="matrices wanted")
    (n, k), (k2, m) = self.shape, mat2.shape
    check(k == k2, lambda: f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {k2}x{m})", kind="matmul shapes")
    check(self._dtype is mat2._dtype, lambda: f"expected m1 and m2 to have the same dtype, but got: {self.dtype} != "
          f"{mat2.dtype}", kind="matmul dtypes")
    _refuse_bool("addmm_impl_cpu_", self, mat2)
    return Spec((n, m), self._dtype)


def bmm(self: Any, mat2: Any, kernel: str = "bmm") -> Spec:
    check(self.ndim == 3, "batch1 must be a 3D tensor", kind="matrices wanted")
    check(mat2.ndim == 3, "batch2 must be a 3D tensor", kind="matrices wanted")
    b, n, k = self.shape
    check(mat2.shape[:2] == (b, k), lambda: f"Expected size for first two dimensions of batch2 tensor to be: [{b}, "
          f"{k}] but got: {list(mat2.shape[:2])}.", kind="batched matmul shapes")
    _refuse_bool(kernel, self, mat2)
    check(self._dtype is mat2._dtype or not self.numel() or not mat2.numel(),
          lambda: f"expected scalar type {NAMES[self._dtype.name]} but found {NAMES[mat2._dtype.name]}")
    return Spec((b, n, mat2.shape[2]), self._dtype)


def _check_addends(self: Any, mat1: Any, mat2: Any, shape: tuple[int, int], beta: Any, alpha: Any) -> None:
    """Refuse what cannot be added to a product of matrices, or sums of products of them, of this shape."""
    for name, other in (("self", self), ("mat1", mat1)):
        if other._dtype is not mat2._dtype:
            raise about(RuntimeError(f"{name} and mat2 must have the same dtype, but got {NAMES[other._dtype.name]} "
                                     f"and {NAMES[mat2._dtype.name]}"), "matmul dtypes")
    _check_numbers(mat1._dtype, beta, alpha)
    _check_expands(self, shape)
    _refuse_bool("addmm_impl_cpu_", mat1, mat2)


def addmm(self: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Spec:
    check(mat1.ndim == 2, lambda: f"mat1 must be a matrix, got {mat1.ndim}-D tensor", kind="matrices wanted")
    check(mat2.ndim == 2, lambda: f"mat2 must be a matrix, got {mat2.ndim}-D tensor", kind="matrices wanted")
    (n, k), (k2, m) = mat1.shape, mat2.shape
    check(k == k2, lambda: f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {k2}x{m})", kind="matmul shapes")
    _check_addends(self, mat1, mat2, (n, m), beta, alpha)
    return Spec((n, m), mat1._dtype)


def _check_dtypes(*tensors: Any) -> None:
    dtypes = [tensor._dtype for tensor in tensors]
    check(len({*dtypes}) == 1,
          lambda: "addmv input tensors must have the same dtype, but got "
                  "{}, {}, and {}".format(*(NAMES[dtype.name] for dtype in dtypes)))


def addmv(self: Any, mat: Any, vec: Any, beta: Any = 1, alpha: Any = 1) -> Spec:
    check(mat.ndim == 2 and vec.ndim == 1 and self.ndim <= 1,
          lambda: f"vector + matrix @ vector expected, got {self.ndim}, {mat.ndim}, {vec.ndim}")
    (n, k), (size,) = mat.shape, self.shape or (1,)
    check(k == vec.shape[0] and size in (n, 1),
          lambda: f"size mismatch, got input ({size}), mat ({n}x{k}), vec ({vec.shape[0]})", kind="matmul vectors")
    _check_dtypes(self, mat, vec)
    _check_numbers(mat._dtype, beta, alpha)
    _refuse_bool("addmv_impl_cpu", mat)
    return Spec((n,), mat._dtype)


def mv(self: Any, vec: Any) -> Spec:
    self.size(0)  # of which PyTorch makes the output first
    check(self.ndim == 2 and vec.ndim == 1,
          lambda: f"vector + matrix @ vector expected, got 1, {self.ndim}, {vec.ndim}")
    (n, k), (k2,) = self.shape, vec.shape
    check(k == k2, lambda: f"size mismatch, got input ({n}), mat ({n}x{k}), vec ({k2})", kind="matmul vectors")
    _check_dtypes(vec, self, vec)
    _refuse_bool("addmv_impl_cpu", self)
    return Spec((n,), self._dtype)


def dot(self: Any, tensor: Any) -> Spec:
    check(self.ndim == 1 and tensor.ndim == 1,
          lambda: f"1D tensors expected, but got {self.ndim}D and {tensor.ndim}D tensors")
    check(self._dtype is tensor._dtype, lambda: "dot : expected both vectors to have same dtype, but found "
          f"{NAMES[self._dtype.name]} and {NAMES[tensor._dtype.name]}")
    n, m = self.shape[0], tensor.shape[0]
    check(n == m, lambda: f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number of "
          f"elements, but got {n} and {m} elements respectively", kind="matmul vectors")
    check_takes(self._dtype is not bool_, "dot", bool_)
    return Spec((), self._dtype)


def addr(self: Any, vec1: Any, vec2: Any, beta: Any = 1, alpha: Any = 1) -> Spec:
    for name, vector in (("vec1", vec1), ("vec2", vec2)):
        if vector.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vector.ndim}-D")
    dtype, shape = result_type((self, vec1, vec2)), (vec1.shape[0], vec2.shape[0])
    _check_expands(self, shape)
    for name, number in (("beta", beta), ("alpha", alpha)):
        if isinstance(number, bool) and dtype is not bool_:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if dtype.category <= INTEGER and not isinstance(number, int):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    layouts = ((tuple(self.shape), self._strides()), ((shape[0], 1), (*vec1._strides(), 1)),
               (shape[1:], vec2._strides()))
    return Spec(shape, dtype, iterator_strides(shape, layouts))


def addbmm(self: Any, batch1: Any, batch2: Any, beta: Any = 1, alpha: Any = 1) -> Spec:
    _check_expands(self, (batch1.size(1), batch2.size(2)))
    for name, batch in (("batch1", batch1), ("batch2", batch2)):
        if batch.ndim != 3:
            raise about(RuntimeError(f"{name} must be a 3D tensor"), "matrices wanted")
    (b, n, k), (b2, k2, m) = batch1.shape, batch2.shape
    check(b == b2, lambda: f"batch1 and batch2 must have same number of batches, got {b} and {b2}")
    check(k == k2, lambda: f"Incompatible matrix sizes for bmm ({n}x{k} and {k2}x{m})")
    _check_addends(self, batch1, batch2, (n, m), beta, alpha)
    return Spec((n, m), batch1._dtype)


def baddbmm(self: Any, batch1: Any, batch2: Any, beta: Any = 1, alpha: Any = 1) -> Spec:
    _check_expands(self, (batch1.size(0), batch1.size(1), batch2.size(2)))
    spec = bmm(batch1, batch2, "baddbmm")
    check(self._dtype is spec.dtype, lambda: f"Input dtypes must be the same, got: input {self.dtype}, batch1: "
          f"{batch1.dtype}, batch2: {batch2.dtype}")
    _check_numbers(spec.dtype, beta, alpha)
    return spec


def linalg_cross(self: Any, other: Any, dim: int = -1) -> Spec:
    check(self.ndim == other.ndim, "linalg.cross: inputs must have the same number of dimensions.")
    self.size(dim)
    dim = wrap_dim(dim, self.ndim)
    lengths = [t.shape[dim] if t.ndim else 1 for t in (self, other)]
    check(lengths == [3, 3],
          lambda: f"linalg.cross: inputs dimension {dim} must have length 3. Got {lengths[0]} and {lengths[1]}")
    _refuse_bool("cross", self)
    check(self._dtype is other._dtype,
          lambda: f"expected scalar type {NAMES[self._dtype.name]} but found {NAMES[other._dtype.name]}")
    return Spec(broadcast_shapes(self.shape, other.shape), self._dtype)


def trilinear(i1: Any, i2: Any, i3: Any, expand1: Any, expand2: Any, expand3: Any, sumdim: Any,
              unroll_dim: int = 1) -> Spec:
    operands = ((i1, expand1), (i2, expand2), (i3, expand3))
    shape = broadcast_shapes(*(unsqueezed(t.shape, dims) for t, dims in operands))
    return Spec(tuple(n for d, n in enumerate(shape) if d not in sumdim), i1._dtype)


def unsqueezed(shape: Any, dims: Any) -> tuple[int, ...]:
    """A shape with dimensions of size 1 put in at these places."""
    rest = iter(shape)
    return tuple(1 if d in dims else next(rest) for d in range(len(shape) + len(dims)))


def weight_norm_interface(v: Any, g: Any, dim: int = 0) -> tuple[Spec, Spec]:
    check(dim in (0, v.ndim - 1), "fused kernels can only be applied for first or last dim")
    return Spec(tuple(v.shape), v._dtype), Spec(tuple(g.shape), g._dtype)


META_KERNELS.add(mm, bmm, mv, dot, addmm, addmv, addr, addbmm, baddbmm, linalg_cross)
META_KERNELS.update({"vdot": dot, "_trilinear": trilinear, "_weight_norm_interface": weight_norm_interface})
