"""Products of matrices by groups of rows, and of 8-bit matrices that have scales."""
from __future__ import annotations

from itertools import pairwise
from typing import Any

from .._base.errors import check
from .._dispatch.aten import cat, stack
from .._dtype import float32, int32
from . import composites, schemas

schemas("""
function:
    _grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor  # The product of each group: `offs` are the ends of groups along the dimension that a matrix, unlike a batch, divides.
    _scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor  # The product of the matrices `self` and `mat2` times their scales, which are numbers, or columns and rows of numbers.
""")  # noqa: E501


def _grouped_mm(self: Any, mat2: Any, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Any:
    check(self.ndim in (2, 3), "mat_a has to be 2 or 3d")
    check(mat2.ndim in (2, 3), "mat_b has to be 2 or 3d")
    check(self.shape[-1] == mat2.shape[-2], "contraction dimension of mat_a and mat_b must match")
    check((offs is None) == (self.ndim == mat2.ndim == 3),
          "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    check(bias is None, "Bias not supported yet")
    out_dtype = out_dtype or self.dtype
    if offs is None:
        return (self @ mat2).to(out_dtype)
    check(offs.dtype is int32, "Offsets have to be int32")
    parts = [slice(*ends) for ends in pairwise([0, *offs.tolist()])]
    if self.ndim == mat2.ndim:
        return stack([self[:, part] @ mat2[part] for part in parts]).to(out_dtype)
    if self.ndim == 3:
        products = [self[group] @ mat2[:, part] for group, part in enumerate(parts)]
        rest = self.new_zeros(self.shape[1], mat2.shape[1] - parts[-1].stop)
    else:
        products = [self[part] @ mat2[group] for group, part in enumerate(parts)]
        rest = self.new_zeros(self.shape[0] - parts[-1].stop, mat2.shape[2])
    return cat([*products, rest], -1 if self.ndim == 3 else 0).to(out_dtype)


def _scaled_mm(self: Any, mat2: Any, scale_a: Any, scale_b: Any, bias: Any = None, scale_result: Any = None,
               out_dtype: Any = None, use_fast_accum: bool = False) -> Any:
    check(self.ndim == 2, "mat1 must be a matrix")
    check(mat2.ndim == 2, "mat2 must be a matrix")
    product = (self.to(float32) * scale_a) @ (mat2.to(float32) * scale_b)
    product = product if bias is None else product + bias
    out_dtype = out_dtype or self.dtype
    if scale_result is not None and out_dtype.itemsize == 1:
        product = product * scale_result
    return product.to(out_dtype)


composites(_grouped_mm, _scaled_mm)
