"""Normalisation: of rows, and of groups of channels. Half precision is computed in float32."""
from __future__ import annotations

from typing import Any

import numpy as np

from .division import as_is
from .half import HALVES
from .writing import FLOATS, SUMS, loop

PIECE = 1 << 12  #: numbers of a group that are added in their dtype; their sums are added in float64


def kind_of(half: str) -> tuple[str, str, Any]:
    """Return the types of numbers and parameters, and of the elements of arrays; and how to register a loop of floats,
    or of the bits of half precision, whose parameters and moments are of float32.
    """
    def registered(name: str, *types: str, **settings: Any) -> Any:
        return loop(*types, of=() if half else FLOATS, name=f"{name}_{half}" if half else name, **settings)

    return *(("float32", "uint16") if half else ("T", "T")), registered


def loops_of_rows(half: str) -> None:
    """Build the loops of rows, by a dtype of half precision, or of floats."""
    read, write = HALVES.get(half, (as_is, as_is))
    number, element, registered = kind_of(half)
    line, rows = f"{number}[::1]", f"{element}[:,::1]"

    @registered("layer_norm", rows, line, line, number, rows, line, line, fastmath=SUMS)
    def layer_norm(x: Any, weight: Any, bias: Any, eps: Any, out: Any, means: Any, scales: Any) -> None:
        """Normalise each row; store the means, and the reciprocal standard deviations as ``scales``."""
        kind = weight.dtype.type
        part = kind(1) / kind(x.shape[1])
        for row in range(len(x)):
            line, result = x[row], out[row]
            first, total, squares = read(x[row, 0]), kind(0), kind(0)
            for i in range(len(line)):
                total += read(line[i]) - first  # small where numbers are nearly equal, which the squares would show
            mean = first + total * part
            for i in range(len(line)):
                off = read(line[i]) - mean
                squares += off * off
            scale = kind(1) / np.sqrt(squares * part + eps)
            means[row], scales[row] = mean, scale
            for i in range(len(line)):
                result[i] = write((read(line[i]) - mean) * scale * weight[i] + bias[i])

    @registered("layer_norm_backward", rows, rows, line, line, line, rows, line, line, fastmath=SUMS)
    def layer_norm_backward(grad: Any, x: Any, means: Any, scales: Any, weight: Any, of_x: Any, of_weight: Any,
                            of_bias: Any) -> None:
        """Compute the input's gradient and add to those of weight and bias; one row of ``grad`` serves all."""
        kind = weight.dtype.type
        part = kind(1) / kind(x.shape[1])
        for row in range(len(x)):
            line, through, result = x[row], grad[row if len(grad) > 1 else 0], of_x[row]
            mean, scale, along, across = means[row], scales[row], kind(0), kind(0)
            for i in range(len(line)):
                normal, back = (read(line[i]) - mean) * scale, read(through[i])
                of_weight[i] += back * normal
                of_bias[i] += back
                along += back * weight[i]
                across += back * weight[i] * normal
            along, across = along * part, across * part
            for i in range(len(line)):
                normal = (read(line[i]) - mean) * scale
                result[i] = write((read(through[i]) * weight[i] - along - normal * across) * scale)


def loops_of_channels(half: str) -> None:
    """Build the loops of channels, by a dtype of half precision, or of floats."""
    read, write = HALVES.get(half, (as_is, as_is))
    number, element, registered = kind_of(half)
    #: Samples, groups that share moments, channels of each, and the places of a channel.
    line, groups = f"{number}[::1]", f"{element}[:,:,:,::1]"
    images = f"{element}[:,:,::1]"

    @registered("normalise", groups, line, line, number, groups, line, line, line, fastmath=SUMS)
    def normalise(x: Any, weight: Any, bias: Any, eps: Any, out: Any, means: Any, spreads: Any, scales: Any) -> None:
        """Normalise each group, unless ``out`` is empty; store the means, the variances, and the reciprocal standard
        deviations as ``scales``.
        """
        kind = weight.dtype.type
        samples, groups, channels, places = x.shape
        part = 1 / (samples * channels * places)
        for group in range(groups):
            first, total, squares, rest = read(x[0, group, 0, 0]), 0.0, 0.0, 0.0
            for sample in range(samples):
                for channel in range(channels):
                    for start in range(0, places, PIECE):
                        line, of_piece = x[sample, group, channel, start:start + PIECE], kind(0)
                        for i in range(len(line)):
                            of_piece += read(line[i]) - first  # as above
                        total += float(of_piece)
            mean = kind(first + total * part)
            for sample in range(samples):
                for channel in range(channels):
                    for start in range(0, places, PIECE):
                        line, of_piece, of_rest = x[sample, group, channel, start:start + PIECE], kind(0), kind(0)
                        for i in range(len(line)):
                            off = read(line[i]) - mean
                            of_rest += off  # by which the mean is off
                            of_piece += off * off
                        rest += float(of_rest)
                        squares += float(of_piece)
            spread = kind((squares - rest * rest * part) * part)
            mean, scale = kind(mean + rest * part), kind(1) / np.sqrt(spread + eps)
            means[group], spreads[group], scales[group] = mean, spread, scale
            for sample in range(len(out)):
                for channel in range(channels):
                    line, result = x[sample, group, channel], out[sample, group, channel]
                    place = (group * channels + channel) % len(weight)
                    factor, shift = weight[place], bias[place]
                    for i in range(len(line)):
                        result[i] = write((read(line[i]) - mean) * scale * factor + shift)

    @registered("scale_channels", images, line, line, images)
    def scale_channels(x: Any, scale: Any, shift: Any, out: Any) -> None:
        """Multiply and shift the places of each channel."""
        for sample in range(x.shape[0]):
            for channel in range(x.shape[1]):
                line, result, factor, added = x[sample, channel], out[sample, channel], scale[channel], shift[channel]
                for i in range(len(line)):
                    result[i] = write(read(line[i]) * factor + added)


def loop_of_gradients(half: str) -> None:
    """Build the loop of gradients through channels, by a dtype of half precision, or of floats."""
    read, write = HALVES.get(half, (as_is, as_is))
    number, element, registered = kind_of(half)
    line, groups = f"{number}[::1]", f"{element}[:,:,:,::1]"

    @registered("normalise_backward", groups, groups, line, line, line, groups, line, line, "bool_", "bool_",
                fastmath=SUMS)
    def normalise_backward(grad: Any, x: Any, means: Any, scales: Any, weight: Any, of_x: Any, of_weight: Any,
                           of_bias: Any, fixed: Any, rounded: Any) -> None:
        """Compute the input's gradient and add to those of weight and bias; through constant moments if ``fixed``, or
        ``rounded`` ones.
        """
        kind = weight.dtype.type
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
                        of_piece, of_product, of_normal = kind(0), kind(0), kind(0)
                        for i in range(len(line)):
                            normal, back = (read(line[i]) - mean) * scale, read(through[i])
                            of_piece += back
                            of_product += back * normal
                            of_normal += normal
                        total += float(of_piece)
                        product += float(of_product)
                        normals += float(of_normal)
                place = (group * channels + channel) % len(weight)
                of_bias[place] += kind(total)
                of_weight[place] += kind(product)
                of_all += weight[place] * total
                of_products += weight[place] * product
            along = kind(0) if fixed else kind(of_all * part)
            # the sum of normal numbers is not quite 0; by rounded moments, they are off as PyTorch's are
            normals = 0.0 if rounded else normals
            across = kind(0) if fixed else kind((of_products - of_all * part * normals) * part)
            for sample in range(samples):
                for channel in range(channels):
                    line, through = x[sample, group, channel], grad[sample, group, channel]
                    result, factor = of_x[sample, group, channel], weight[(group * channels + channel) % len(weight)]
                    for i in range(len(line)):
                        normal = (read(line[i]) - mean) * scale
                        result[i] = write((read(through[i]) * factor - along - normal * across) * scale)


for _half in ("", *HALVES):
    loops_of_rows(_half)
    loops_of_channels(_half)
    loop_of_gradients(_half)
