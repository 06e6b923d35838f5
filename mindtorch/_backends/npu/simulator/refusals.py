"""Sizes and settings that an Ascend 910B refuses in an operator's first phase, besides wrong handles and dtypes.

A refusal is a function of the values of the operator's parameters; it returns why they are refused, or ''. They are
those of the operators' pages in CANN's documentation, for the Atlas A2.
"""
from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

Refusal = Callable[..., str]


def each(dims: int, values: Any) -> tuple[int, ...]:
    return tuple(values) * dims if len(values) == 1 else tuple(values)


# -- pooling -----------------------------------------------------------------------------------------------------------

def window(dims: int, tensors: int, dilated: bool = False, inside: bool = False) -> Refusal:
    """Check windows over so many dimensions; ``dilated`` has to be 1, ``inside`` ones fit into their input."""

    def refusal(*values: Any) -> str:
        self, (kernel, stride, padding) = values[min(tensors, 2) - 1], values[tensors:tensors + 3]
        if len(self.shape) not in (dims + 1, dims + 2):
            return f"self has {len(self.shape)} dimensions, neither {dims + 1} nor {dims + 2}"
        if {len(kernel), len(padding)} - {1, dims} or len(stride) not in (0, 1, dims):
            return f"kernelSize, stride and padding must have 1 or {dims} numbers"
        kernel, padding = each(dims, kernel), each(dims, padding)
        if min(*kernel, *each(dims, stride or kernel)) <= 0:
            return "kernelSize and stride must be positive"
        if any(not 0 <= 2 * p <= k for k, p in zip(kernel, padding, strict=True)):
            return f"padding {padding} must be between 0 and half of kernelSize {kernel}"
        if dilated and set(values[tensors + 3]) != {1}:
            return f"dilation must be 1, not {values[tensors + 3]}"
        if inside and any(k > n for k, n in zip(kernel, self.shape[-dims:], strict=True)):
            return f"kernelSize {kernel} is larger than self, {tuple(self.shape[-dims:])}"
        return ""

    return refusal


# -- resampling --------------------------------------------------------------------------------------------------------

def resampled(dims: int, backward: bool = False, shrinks: float = inf, grows: float = inf,
              exact: bool = True) -> Refusal:
    """Refuse sizes that are so many times smaller or larger, or, if ``exact``, that the scales do not say."""

    def refusal(*values: Any) -> str:
        if len(values[0].shape) != dims + 2:
            return f"the tensor has {len(values[0].shape)} dimensions, not {dims + 2}"
        sizes, outs, scales = values[2][2:] if backward else values[0].shape[2:], values[1], values[-1 - dims:-1]
        for size, out, scale in zip(sizes, outs, scales, strict=True):
            if min(size, out) < 1:
                return f"sizes must be positive, not {size} and {out}"
            if exact and scale > 0 and int(size * scale) != out:
                return f"{size} elements times {scale} are not {out}"
            if size > shrinks * out or out > grows * size:
                return f"from {size} to {out} elements is too much"
        return ""

    return refusal


# -- attention ---------------------------------------------------------------------------------------------------------

def attention(*values: Any) -> str:
    """Of ``aclnnFlashAttentionScore``, whose queries, keys and values come first, in the layout BNSD."""
    query, key, value = values[:3]
    mask, scale_at = values[6], 8
    keep, heads, layout, mode = (values[scale_at + i] for i in (1, 4, 5, 7))
    return attended(query, key, value, mask, keep, heads, layout, mode) or statistics(query, *values[16:18])


def attention_backward(*values: Any) -> str:
    query, key, value, grad = values[:4]
    keep, heads, layout, mode = (values[13 + i] for i in (1, 4, 5, 7))
    if tuple(grad.shape) != tuple(query.shape):
        return f"dy has the shape {tuple(grad.shape)}, not that of query"
    return attended(query, key, value, values[7], keep, heads, layout, mode) or statistics(query, *values[8:10])


def attended(query: Any, key: Any, value: Any, mask: Any, keep: float, heads: int, layout: str, mode: int) -> str:
    if layout != "BNSD":
        return f"the simulator knows the layout BNSD, not {layout}"
    if {len(t.shape) for t in (query, key, value)} != {4} or len({t.code for t in (query, key, value)}) > 1:
        return "query, key and value must have four dimensions and one dtype"
    (batch, n, rows, width), (_, own, columns, _) = query.shape, key.shape
    if key.shape[0] != batch or key.shape[3] != width or value.shape[:3] != key.shape[:3] or value.shape[3] > width:
        return f"query {query.shape}, key {key.shape} and value {value.shape} do not go together"
    if n != heads or not 1 <= n <= 256 or not own or n % own or not 1 <= width <= 768:
        return f"headNum {heads}, {n} heads of queries and {own} of keys, of the width {width}, do not go together"
    if not 0 < keep <= 1:
        return f"keepProb must be in (0, 1], got {keep}"
    if mode not in range(7) or (mode in (2, 3) and (mask is None or tuple(mask.shape) != (2048, 2048))):
        return f"sparseMode {mode} goes with a mask of 2048 times 2048"
    if mode == 0 and mask is not None and tuple(mask.shape) not in {
            (rows, columns), *((b, h, rows, columns) for b in (1, batch) for h in (1, n) if b == batch or h == 1)}:
        return f"attenMaskOptional has the shape {tuple(mask.shape)}"
    return ""


def statistics(query: Any, *tensors: Any) -> str:
    """Return why the maxima and sums of rows are refused: they are there eight times."""
    if any(tensor is None or tuple(tensor.shape) != (*query.shape[:3], 8) for tensor in tensors):
        return "softmaxMax and softmaxSum must have the shape [B, N, S, 8]"
    return ""


REFUSALS: dict[str, Refusal] = {
    "aclnnFlashAttentionScore": attention,
    "aclnnFlashAttentionScoreGrad": attention_backward,
    "aclnnAvgPool2d": window(2, 1),
    "aclnnAvgPool2dBackward": window(2, 2),
    "aclnnAvgPool3d": window(3, 1, inside=True),
    "aclnnAvgPool3dBackward": window(3, 2),
    "aclnnMaxPool2dWithIndices": window(2, 1, dilated=True),
    "aclnnMaxPool2dWithIndicesBackward": window(2, 3, dilated=True),
    "aclnnMaxPool2dWithMask": window(2, 1, dilated=True),
    "aclnnMaxPool3dWithArgmax": window(3, 1, dilated=True),
    "aclnnMaxPool3dWithArgmaxBackward": window(3, 3, dilated=True),
    "aclnnUpsampleNearest1dV2": resampled(1, exact=False),
    "aclnnUpsampleNearest2dV2": resampled(2, exact=False),
    "aclnnUpsampleNearest3d": resampled(3, exact=False),
    "aclnnUpsampleNearest1dBackward": resampled(1, backward=True),
    "aclnnUpsampleNearest2dBackward": resampled(2, backward=True),
    "aclnnUpsampleNearest3dBackward": resampled(3, backward=True),
    "aclnnUpsampleNearestExact1d": resampled(1),
    "aclnnUpsampleNearestExact2d": resampled(2),
    "aclnnUpsampleNearestExact3d": resampled(3),
    "aclnnUpsampleNearestExact1dBackward": resampled(1, backward=True, grows=50),
    "aclnnUpsampleNearestExact2dBackward": resampled(2, backward=True, grows=50),
    "aclnnUpsampleNearestExact3dBackward": resampled(3, backward=True, grows=50),
    "aclnnUpsampleLinear1d": resampled(1),
    "aclnnUpsampleLinear1dBackward": resampled(1, backward=True, grows=500),
    "aclnnUpsampleBilinear2d": resampled(2),
    "aclnnUpsampleBilinear2dBackwardV2": resampled(2, backward=True),
    "aclnnUpsampleTrilinear3d": resampled(3, shrinks=50),
    "aclnnUpsampleTrilinear3dBackward": resampled(3, backward=True),
    "aclnnUpsampleBicubic2d": resampled(2),
    "aclnnUpsampleBicubic2dBackward": resampled(2, backward=True),
    "aclnnUpsampleBilinear2dAA": resampled(2, shrinks=50),
    "aclnnUpsampleBilinear2dAABackward": resampled(2, backward=True, grows=50),
    "aclnnUpsampleBicubic2dAA": resampled(2, shrinks=50),
    "aclnnUpsampleBicubic2dAAGrad": resampled(2, backward=True, grows=50),
}
