"""Operators that torchvision has in C++, written in tensors: ``torch.ops.load_library`` of its library defines them.

Pooling of regions is separable: a region's result is ``rows @ image @ columns.T``, where the rows of both matrices say
how much of each line of the image a bin takes.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._autograd.engine import grad
from .._autograd.grad_mode import enable_grad
from .._creation import arange, from_numpy, full, zeros
from .._dispatch.dispatcher import switched
from .._dtype import int32, int64
from .._methods.functions import clamp, floor, gather, matmul, stack, where
from .._tensor import Tensor
from ..functional import einsum
from ..library import Library

SCHEMAS = """
nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor
qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor
roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, int sampling_ratio,
  bool aligned) -> Tensor
_roi_align_backward(Tensor grad, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, int batch_size,
  int channels, int height, int width, int sampling_ratio, bool aligned) -> Tensor
roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width) -> (Tensor, Tensor)
_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, float spatial_scale, int pooled_height, int pooled_width,
  int batch_size, int channels, int height, int width) -> Tensor
ps_roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, int sampling_ratio)
  -> (Tensor, Tensor)
_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, int pooled_height,
  int pooled_width, int sampling_ratio, int batch_size, int channels, int height, int width) -> Tensor
ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width) -> (Tensor, Tensor)
_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, int pooled_height,
  int pooled_width, int batch_size, int channels, int height, int width) -> Tensor
qroi_align(Tensor input, float input_scale, int input_zero_point, Tensor rois, float rois_scale, int rois_zero_point,
  float spatial_scale, int pooled_height, int pooled_width, int sampling_ratio, bool aligned) -> Tensor
deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, int stride_h, int stride_w,
  int pad_h, int pad_w, int dilation_h, int dilation_w, int groups, int offset_groups, bool use_mask) -> Tensor
_deform_conv2d_backward(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, int stride_h,
  int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, int groups, int offset_groups, bool use_mask)
  -> (Tensor, Tensor, Tensor, Tensor, Tensor)
_cuda_version() -> int
"""
_library: Library | None = None


def define() -> None:
    """Define the operators, unless they are."""
    global _library
    if _library is None:
        _library = Library("torchvision", "FRAGMENT")
        for schema in SCHEMAS.replace("\n  ", " ").strip().splitlines():
            name = _library.define(schema)
            kernel = globals().get(f"_{name.removeprefix('_')}")
            if kernel is not None:
                _library.impl(name, kernel, "CompositeExplicitAutograd")


def _cuda_version() -> int:
    return -1


def _nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Return the indices of boxes that no better one covers by more than ``iou_threshold``, the best first."""
    boxes = dets.detach().cpu().numpy().astype(np.float64)
    order = np.argsort(-scores.detach().cpu().numpy(), kind="stable")
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    kept = []
    while order.size:
        best, order = order[0], order[1:]
        kept.append(best)
        low = np.maximum(boxes[best, :2], boxes[order, :2])
        high = np.minimum(boxes[best, 2:], boxes[order, 2:])
        common = np.clip(high - low, 0, None).prod(1)
        order = order[common <= iou_threshold * (areas[best] + areas[order] - common)]
    return from_numpy(np.array(kept, np.int64)).to(dets.device)


# -- regions ---------------------------------------------------------------------------------------------------------


def _interpolation(start: float, size: float, bins: int, samples: int, length: int, like: Tensor) -> Tensor:
    """Return the matrix [bins, length] of the means of ``samples`` linear interpolations in each bin."""
    count = samples if samples > 0 else int(np.ceil(size / bins))
    at = start + (np.arange(bins)[:, None] + (np.arange(max(count, 0)) + .5) / max(count, 1)) * (size / bins)
    inside = (at >= -1) & (at <= length)
    at = np.clip(at, 0, length - 1)
    low = np.floor(at).astype(np.int64)
    share = at - low
    matrix = np.zeros((bins, length))
    rows = np.broadcast_to(np.arange(bins)[:, None], at.shape)
    np.add.at(matrix, (rows, low), (1 - share) * inside)
    np.add.at(matrix, (rows, np.minimum(low + 1, length - 1)), share * inside)
    return from_numpy(matrix / max(count, 1)).to(like.device, like.dtype)


def _averages(start: float, size: float, bins: int, length: int, like: Tensor) -> Tensor:
    """Return the matrix [bins, length] of the means of the whole lines in each bin."""
    matrix = np.zeros((bins, length))
    for i, (low, high) in enumerate(_ranges(start, size, bins, length)):
        matrix[i, low:high] = 1 / max(high - low, 1)
    return from_numpy(matrix).to(like.device, like.dtype)


def _ranges(start: float, size: float, bins: int, length: int) -> list[tuple[int, int]]:
    """Return the lines of each bin, as ranges within the image."""
    step = np.float32(size) / np.float32(bins)
    ends = [(np.floor(i * step) + start, np.ceil((i + 1) * step) + start) for i in range(bins)]
    return [(min(max(int(low), 0), length), min(max(int(high), 0), length)) for low, high in ends]


def _regions(rois: Tensor, scale: float) -> list[tuple[int, float, float, float, float]]:
    """Return each region as the index of its image and two corners, in the image's pixels."""
    return [(int(roi[0]), *(number * scale for number in roi[1:])) for roi in rois.detach().cpu().tolist()]


def _aligned_parts(input: Tensor, rois: Tensor, scale: float, ph: int, pw: int, samples: int, aligned: bool,
                   ) -> list[tuple[int, Tensor, Tensor]]:
    shift = .5 if aligned else 0.
    parts = []
    for image, left, top, right, bottom in _regions(rois, scale):
        width, height = (right - left, bottom - top) if aligned else (max(right - left, 1.), max(bottom - top, 1.))
        parts.append((image, _interpolation(top - shift, height, ph, samples, input.shape[2], input),
                      _interpolation(left - shift, width, pw, samples, input.shape[3], input)))
    return parts


def _stacked(results: list[Tensor], like: Tensor, *shape: int) -> Tensor:
    return stack(results) if results else like.new_zeros((0, *shape))


def _roi_align(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int,
               sampling_ratio: int, aligned: bool) -> Tensor:
    parts = _aligned_parts(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned)
    return _stacked([matmul(matmul(rows, input[image]), columns.mT) for image, rows, columns in parts], input,
                    input.shape[1], pooled_height, pooled_width)


def _by_position(input: Tensor, parts: list[tuple[int, Tensor, Tensor]], ph: int, pw: int) -> tuple[Tensor, Tensor]:
    """Pool each bin from a channel of its own; return the results and the numbers of the channels."""
    channels = input.shape[1] // (ph * pw)
    results = [einsum("ih,cijhw,jw->cij", rows, input[image].view(channels, ph, pw, *input.shape[2:]), columns)
               for image, rows, columns in parts]
    mapping = arange(input.shape[1], dtype=int32, device=input.device).view(1, channels, ph, pw)
    return _stacked(results, input, channels, ph, pw), mapping.expand(len(parts), -1, -1, -1).contiguous()


def _ps_roi_align(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int,
                  sampling_ratio: int) -> tuple[Tensor, Tensor]:
    height, width = input.shape[2:]
    parts = [(image, _interpolation(top - .5, bottom - top, pooled_height, sampling_ratio, height, input),
              _interpolation(left - .5, right - left, pooled_width, sampling_ratio, width, input))
             for image, left, top, right, bottom in _regions(rois, spatial_scale)]
    return _by_position(input, parts, pooled_height, pooled_width)


def _ps_roi_pool(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int,
                 pooled_width: int) -> tuple[Tensor, Tensor]:
    parts = []
    for image, *corners in _regions(rois, spatial_scale):
        left, top, right, bottom = (float(np.floor(corner + .5)) for corner in corners)
        parts.append((image, _averages(top, max(bottom - top, 1.), pooled_height, input.shape[2], input),
                      _averages(left, max(right - left, 1.), pooled_width, input.shape[3], input)))
    return _by_position(input, parts, pooled_height, pooled_width)


def _roi_pool(input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int,
              pooled_width: int) -> tuple[Tensor, Tensor]:
    channels, height, width = input.shape[1:]
    shape = (rois.shape[0], channels, pooled_height, pooled_width)
    best = full(shape, -1, dtype=int32, device=input.device)
    for k, (image, *corners) in enumerate(_regions(rois, spatial_scale)):
        left, top, right, bottom = (float(np.floor(corner + .5)) for corner in corners)
        tall = _ranges(top, max(bottom - top + 1, 1.), pooled_height, height)
        wide = _ranges(left, max(right - left + 1, 1.), pooled_width, width)
        for i, (y, end_y) in enumerate(tall):
            for j, (x, end_x) in enumerate(wide):
                if end_y > y and end_x > x:
                    found = input[image, :, y:end_y, x:end_x].flatten(1).argmax(1)
                    across = end_x - x
                    best[k, :, i, j] = ((found // across + y) * width + found % across + x).to(int32)
    images = rois[:, 0].to(int64)
    taken = gather(input.flatten(2)[images], 2, clamp(best, min=0).to(int64).flatten(2)).view(shape)
    return where(best < 0, 0., taken).to(input.dtype), best


# -- deformable convolution ------------------------------------------------------------------------------------------


def _deform_conv2d(input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, stride_h: int,
                   stride_w: int, pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, groups: int,
                   offset_groups: int, use_mask: bool) -> Tensor:
    batch, channels, height, width = input.shape
    outputs, _, tall, wide = weight.shape
    rows, columns = offset.shape[-2:]
    moved = offset.view(batch, offset_groups, tall * wide, 2, rows, columns)

    def grid(kernel: int, count: int, stride: int, pad: int, dilation: int) -> Tensor:
        steps = arange(kernel, device=input.device)[:, None] * dilation
        return (arange(count, device=input.device) * stride - pad + steps).to(input.dtype)

    y = grid(tall, rows, stride_h, pad_h, dilation_h)[:, None, :, None].expand(-1, wide, -1, columns)
    x = grid(wide, columns, stride_w, pad_w, dilation_w)[None, :, None, :].expand(tall, -1, rows, -1)
    y, x = y.flatten(0, 1) + moved[:, :, :, 0], x.flatten(0, 1) + moved[:, :, :, 1]
    pixels = input.view(batch, offset_groups, channels // offset_groups, height * width)
    low_y, low_x = floor(y.detach()), floor(x.detach())
    sampled = None
    for corner_y, share_y in ((low_y, low_y + 1 - y), (low_y + 1, y - low_y)):
        for corner_x, share_x in ((low_x, low_x + 1 - x), (low_x + 1, x - low_x)):
            inside = (corner_y >= 0) & (corner_y < height) & (corner_x >= 0) & (corner_x < width)
            at = clamp(corner_y, 0, height - 1) * width + clamp(corner_x, 0, width - 1)
            index = at.to(int64).flatten(2)[:, :, None].expand(-1, -1, pixels.shape[2], -1)
            part = gather(pixels, 3, index) * (share_y * share_x * inside).flatten(2)[:, :, None]
            sampled = part if sampled is None else sampled + part
    assert sampled is not None
    if use_mask:
        sampled = sampled * mask.reshape(batch, offset_groups, 1, -1)
    windows = sampled.reshape(batch, groups, channels // groups * tall * wide, rows * columns)
    result = matmul(weight.reshape(groups, outputs // groups, -1), windows)
    return result.reshape(batch, outputs, rows, columns) + bias[:, None, None]


# -- gradients: the functions above, differentiated --------------------------------------------------------------------


def _gradients(function: Callable[..., Any], inputs: list[Tensor], gradient: Tensor) -> tuple[Tensor, ...]:
    with switched(below_autograd=False), enable_grad():
        leaves = [x.detach().requires_grad_() for x in inputs]
        output = function(*leaves)
        output = output[0] if isinstance(output, tuple) else output
        found = grad((output,), leaves, (gradient,), allow_unused=True)
    return tuple(zeros(x.shape, dtype=x.dtype, device=x.device) if g is None else g
                 for x, g in zip(inputs, found, strict=True))


def _blank(gradient: Tensor, *shape: int) -> Tensor:
    return zeros(shape, dtype=gradient.dtype, device=gradient.device)


def _roi_align_backward(gradient: Tensor, rois: Tensor, scale: float, ph: int, pw: int, batch: int, channels: int,
                        height: int, width: int, samples: int, aligned: bool) -> Tensor:
    return _gradients(lambda x: _roi_align(x, rois, scale, ph, pw, samples, aligned),
                      [_blank(gradient, batch, channels, height, width)], gradient)[0]


def _ps_roi_align_backward(gradient: Tensor, rois: Tensor, mapping: Tensor, scale: float, ph: int, pw: int,
                           samples: int, batch: int, channels: int, height: int, width: int) -> Tensor:
    return _gradients(lambda x: _ps_roi_align(x, rois, scale, ph, pw, samples),
                      [_blank(gradient, batch, channels, height, width)], gradient)[0]


def _ps_roi_pool_backward(gradient: Tensor, rois: Tensor, mapping: Tensor, scale: float, ph: int, pw: int, batch: int,
                          channels: int, height: int, width: int) -> Tensor:
    return _gradients(lambda x: _ps_roi_pool(x, rois, scale, ph, pw),
                      [_blank(gradient, batch, channels, height, width)], gradient)[0]


def _roi_pool_backward(gradient: Tensor, rois: Tensor, argmax: Tensor, scale: float, ph: int, pw: int, batch: int,
                       channels: int, height: int, width: int) -> Tensor:
    result = _blank(gradient, batch, channels, height * width)
    for k, image in enumerate(rois[:, 0].to(int64).tolist()):
        index, part = argmax[k].flatten(1).to(int64), gradient[k].flatten(1)
        result[image].scatter_add_(1, clamp(index, min=0), where(index < 0, 0., part).to(part.dtype))
    return result.view(batch, channels, height, width)


def _deform_conv2d_backward(gradient: Tensor, *args: Any) -> tuple[Tensor, ...]:
    return _gradients(lambda *tensors: _deform_conv2d(*tensors, *args[5:]), list(args[:5]), gradient)
