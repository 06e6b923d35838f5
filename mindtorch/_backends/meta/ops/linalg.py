"""Meta kernels of linear algebra."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...common.errors import NAMES, check, not_implemented_for
from ...common.layout import Spec
from ...._dtype import bool_


def _refuse_bool(kernel: str, matrix: Any) -> None:
    if matrix._dtype is bool_ and matrix.numel():
        raise not_implemented_for(kernel, bool_)


def mm(self: Any, mat2: Any) -> Spec:
    check(self.ndim == 2, "self must be a matrix")
    check(mat2.ndim == 2, "mat2 must be a matrix")
    (n, k), (k2, m) = self.shape, mat2.shape
    check(k == k2, f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {k2}x{m})")
    check(self._dtype is mat2._dtype, f"expected m1 and m2 to have the same dtype, but got: {self.dtype} != {mat2.dtype}")
    _refuse_bool("addmm_impl_cpu_", self)
    return Spec((n, m), self._dtype)


def bmm(self: Any, mat2: Any) -> Spec:
    check(self.ndim == 3, "batch1 must be a 3D tensor")
    check(mat2.ndim == 3, "batch2 must be a 3D tensor")
    b, n, k = self.shape
    check(mat2.shape[:2] == (b, k),
          f"Expected size for first two dimensions of batch2 tensor to be: [{b}, {k}] but got: {list(mat2.shape[:2])}.")
    check(self._dtype is mat2._dtype, f"expected scalar type {NAMES[self._dtype.name]} but found {NAMES[mat2._dtype.name]}")
    _refuse_bool("bmm", self)
    return Spec((b, n, mat2.shape[2]), self._dtype)


def addmm(self: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Spec:
    check(mat1.ndim == 2, f"mat1 must be a matrix, got {mat1.ndim}-D tensor")
    check(mat2.ndim == 2, f"mat2 must be a matrix, got {mat2.ndim}-D tensor")
    (n, k), (k2, m) = mat1.shape, mat2.shape
    check(k == k2, f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {k2}x{m})")
    for name, other in (("self", self), ("mat1", mat1)):
        check(other._dtype is mat2._dtype, f"{name} and mat2 must have the same dtype, but got {NAMES[other._dtype.name]} "
                                           f"and {NAMES[mat2._dtype.name]}")
    check(mat1._dtype.is_complex or not (isinstance(beta, complex) or isinstance(alpha, complex)),
          "value cannot be converted to type float without overflow")
    if self.shape != (n, m):
        self.expand((n, m))  # raises where it cannot be
    _refuse_bool("addmm_impl_cpu_", mat1)
    return Spec((n, m), mat1._dtype)


ROWS: dict[str, Callable[..., Any]] = {"mm": mm, "bmm": bmm, "addmm": addmm}
