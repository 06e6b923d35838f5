"""Normalised lines, and the gradients."""
from __future__ import annotations

from typing import Any

import numpy as np

from .writing import SUMS, f32, loop


@loop("float32[:,::1]", "float32[::1]", "float32[::1]", "float32", "float32[:,::1]", "float32[::1]", "float32[::1]",
      fastmath=SUMS)
def layer_norm(x: Any, weight: Any, bias: Any, eps: Any, out: Any, means: Any, scales: Any) -> None:
    """Normalise each row; store the means, and the reciprocal standard deviations as ``scales``."""
    part = f32(1) / f32(x.shape[1])
    for row in range(len(x)):
        line, result = x[row], out[row]
        total, squares = f32(0), f32(0)
        for i in range(len(line)):
            total += line[i]
        mean = total * part
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
