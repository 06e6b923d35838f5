"""Normalisation: of rows, and of groups of channels."""
from __future__ import annotations

from typing import Any

import numpy as np

from .writing import SUMS, f32, loop

#: Samples, groups that share moments, channels of each, and the places of a channel.
GROUPS, LINE = "float32[:,:,:,::1]", "float32[::1]"
PIECE = 1 << 12  #: numbers of a group that are added in float32; their sums are added in float64


@loop("float32[:,::1]", "float32[::1]", "float32[::1]", "float32", "float32[:,::1]", "float32[::1]", "float32[::1]",
      fastmath=SUMS)
def layer_norm(x: Any, weight: Any, bias: Any, eps: Any, out: Any, means: Any, scales: Any) -> None:
    """Normalise each row; store the means, and the reciprocal standard deviations as ``scales``."""
    part = f32(1) / f32(x.shape[1])
    for row in range(len(x)):
        line, result = x[row], out[row]
        first, total, squares = x[row, 0], f32(0), f32(0)
        for i in range(len(line)):
            total += line[i] - first  # small where numbers are nearly equal, which the squares would show
        mean = first + total * part
        for i in range(len(line)):
            squares += (line[i] - mean) * (line[i] - mean)
        scale = f32(1) / np.sqrt(squares * part + eps)
        means[row], scales[row] = mean, scale
        for i in range(len(line)):
            result[i] = (line[i] - mean) * scale * weight[i] + bias[i]


@loop("float32[:,::1]", "float32[:,::1]", "float32[::1]", "float32[::1]", "float32[::1]", "float32[:,::1]",
      "float32[::1]", "float32[::1]", fastmath=SUMS)
def layer_norm_backward(grad: Any, x: Any, means: Any, scales: Any, weight: Any, of_x: Any, of_weight: Any,
                        of_bias: Any) -> None:
    """Compute the input's gradient and add to those of weight and bias; one row of ``grad`` serves all."""
    part = f32(1) / f32(x.shape[1])
    for row in range(len(x)):
        line, through, result = x[row], grad[row if len(grad) > 1 else 0], of_x[row]
        mean, scale, along, across = means[row], scales[row], f32(0), f32(0)
        for i in range(len(line)):
            normal = (line[i] - mean) * scale
            of_weight[i] += through[i] * normal
            of_bias[i] += through[i]
            along += through[i] * weight[i]
            across += through[i] * weight[i] * normal
        along, across = along * part, across * part
        for i in range(len(line)):
            result[i] = (through[i] * weight[i] - along - (line[i] - mean) * scale * across) * scale


@loop(GROUPS, LINE, LINE, "float32", GROUPS, LINE, LINE, LINE, fastmath=SUMS)
def normalise(x: Any, weight: Any, bias: Any, eps: Any, out: Any, means: Any, spreads: Any, scales: Any) -> None:
    """Normalise each group; store the means, the variances, and the reciprocal standard deviations as ``scales``."""
    samples, groups, channels, places = x.shape
    part = 1 / (samples * channels * places)
    for group in range(groups):
        first, total, squares, rest = x[0, group, 0, 0], 0.0, 0.0, 0.0
        for sample in range(samples):
            for channel in range(channels):
                for start in range(0, places, PIECE):
                    line, of_piece = x[sample, group, channel, start:start + PIECE], f32(0)
                    for i in range(len(line)):
                        of_piece += line[i] - first  # as above
                    total += float(of_piece)
        mean = f32(first + total * part)
        for sample in range(samples):
            for channel in range(channels):
                for start in range(0, places, PIECE):
                    line, of_piece, off = x[sample, group, channel, start:start + PIECE], f32(0), f32(0)
                    for i in range(len(line)):
                        off += line[i] - mean  # by which the mean is off
                        of_piece += (line[i] - mean) * (line[i] - mean)
                    rest += float(off)
                    squares += float(of_piece)
        spread = f32((squares - rest * rest * part) * part)
        mean, scale = f32(mean + rest * part), f32(1) / np.sqrt(spread + eps)
        means[group], spreads[group], scales[group] = mean, spread, scale
        for sample in range(samples):
            for channel in range(channels):
                line, result = x[sample, group, channel], out[sample, group, channel]
                place = (group * channels + channel) % len(weight)
                factor, shift = weight[place], bias[place]
                for i in range(len(line)):
                    result[i] = (line[i] - mean) * scale * factor + shift


@loop("float32[:,:,::1]", LINE, LINE, "float32[:,:,::1]")
def scale_channels(x: Any, scale: Any, shift: Any, out: Any) -> None:
    """Multiply and shift the places of each channel."""
    for sample in range(x.shape[0]):
        for channel in range(x.shape[1]):
            line, result, factor, added = x[sample, channel], out[sample, channel], scale[channel], shift[channel]
            for i in range(len(line)):
                result[i] = line[i] * factor + added


@loop(GROUPS, GROUPS, LINE, LINE, LINE, GROUPS, LINE, LINE, "bool_", "bool_", fastmath=SUMS)
def normalise_backward(grad: Any, x: Any, means: Any, scales: Any, weight: Any, of_x: Any, of_weight: Any,
                       of_bias: Any, fixed: Any, rounded: Any) -> None:
    """Compute the input's gradient and add to those of weight and bias; through constant moments if ``fixed``, or
    ``rounded`` ones.
    """
    samples, groups, channels, places = x.shape
    part = 1 / (samples * channels * places)
    for group in range(groups):
        mean, scale, of_all, of_products, normals = means[group], scales[group], 0.0, 0.0, 0.0
        for channel in range(channels):
            total, product = 0.0, 0.0
            for sample in range(samples):
                for start in range(0, places, PIECE):
                    line = x[sample, group, channel, start:start + PIECE]
                    through = grad[sample, group, channel, start:start + PIECE]
                    of_piece, of_product, of_normal = f32(0), f32(0), f32(0)
                    for i in range(len(line)):
                        normal = (line[i] - mean) * scale
                        of_piece += through[i]
                        of_product += through[i] * normal
                        of_normal += normal
                    total += float(of_piece)
                    product += float(of_product)
                    normals += float(of_normal)
            place = (group * channels + channel) % len(weight)
            of_bias[place] += f32(total)
            of_weight[place] += f32(product)
            of_all += weight[place] * total
            of_products += weight[place] * product
        along = f32(0) if fixed else f32(of_all * part)
        # the sum of normal numbers is not quite 0; by rounded moments, they are off as PyTorch's are
        normals = 0.0 if rounded else normals
        across = f32(0) if fixed else f32((of_products - of_all * part * normals) * part)
        for sample in range(samples):
            for channel in range(channels):
                line, through = x[sample, group, channel], grad[sample, group, channel]
                result, factor = of_x[sample, group, channel], weight[(group * channels + channel) % len(weight)]
                for i in range(len(line)):
                    result[i] = (through[i] * factor - along - (line[i] - mean) * scale * across) * scale
