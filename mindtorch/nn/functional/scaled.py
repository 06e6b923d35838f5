"""Products of groups of matrices, and of 8-bit matrices that have scales."""
from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NoReturn

from ..._dispatch.aten import _grouped_mm as grouped, _scaled_mm as product
from ..._dtype import DType, bfloat16
from ..._tensor import Tensor

__all__ = ["ScalingType", "SwizzleType", "grouped_mm", "scaled_grouped_mm", "scaled_mm"]
__dir__ = __all__.copy


class ScalingType(Enum):
    """The elements that share a scale (``torch.nn.functional.ScalingType``)."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(Enum):
    """The order of scales in memory (``torch.nn.functional.SwizzleType``)."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


_ON_CPU = (ScalingType.TensorWise, ScalingType.RowWise)


def scaled_mm(mat_a: Tensor, mat_b: Tensor, scale_a: Tensor | list[Tensor],
              scale_recipe_a: ScalingType | list[ScalingType], scale_b: Tensor | list[Tensor],
              scale_recipe_b: ScalingType | list[ScalingType],
              swizzle_a: SwizzleType | list[SwizzleType] | None = None,
              swizzle_b: SwizzleType | list[SwizzleType] | None = None, bias: Tensor | None = None,
              output_dtype: DType | None = bfloat16, contraction_dim: Sequence[int] = (),
              use_fast_accum: bool = False) -> Tensor:
    """Multiply the matrices (m, k) and (k, n) by their scales and by each other (``torch.nn.functional.scaled_mm``).

    A scale is one number, or one for each row of ``mat_a`` (m, 1) and each column of ``mat_b`` (1, n). Raises
    NotImplementedError for the other recipes, swizzled scales and ``contraction_dim``, which PyTorch has on CUDA.
    """
    scales = []
    for scale, recipe, swizzle in ((scale_a, scale_recipe_a, swizzle_a), (scale_b, scale_recipe_b, swizzle_b)):
        given, recipes, swizzles = ([*one] if isinstance(one, list) else [one] for one in (scale, recipe, swizzle))
        if recipes[0] not in _ON_CPU or len(recipes) > 1 or swizzles[0] not in (None, SwizzleType.NO_SWIZZLE) or (
                contraction_dim):
            raise NotImplementedError("scaled_mm(): scales are those of a tensor or of its rows "
                                      "(ScalingType.TensorWise or RowWise); PyTorch has other recipes on CUDA alone")
        scales.append(given[0])
    return product(mat_a, mat_b, scales[0], scales[1], bias, None, output_dtype, use_fast_accum)


def grouped_mm(mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None,
               out_dtype: DType | None = None) -> Tensor:
    """Multiply groups of matrices (``torch.nn.functional.grouped_mm``).

    Two batches give the products of their pairs. Where an operand is a matrix, ``offs`` (int32) are the ends of its
    groups: of rows of ``mat_a``, of columns of ``mat_b``, or of what is summed over if both are matrices. Raises
    RuntimeError for missing offsets and for sizes that differ.
    """
    return grouped(mat_a, mat_b, offs, bias, out_dtype)


def scaled_grouped_mm(mat_a: Tensor, mat_b: Tensor, scale_a: Tensor | list[Tensor],
                      scale_recipe_a: ScalingType | list[ScalingType], scale_b: Tensor | list[Tensor],
                      scale_recipe_b: ScalingType | list[ScalingType],
                      swizzle_a: SwizzleType | list[SwizzleType] | None = None,
                      swizzle_b: SwizzleType | list[SwizzleType] | None = None, bias: Tensor | None = None,
                      offs: Tensor | None = None, output_dtype: DType | None = bfloat16,
                      contraction_dim: Sequence[int] = (), use_fast_accum: bool = False) -> NoReturn:
    """Raise NotImplementedError (``torch.nn.functional.scaled_grouped_mm``): PyTorch has it on CUDA alone."""
    raise NotImplementedError("scaled_grouped_mm(): PyTorch has it on CUDA alone; call scaled_mm() for each group")
