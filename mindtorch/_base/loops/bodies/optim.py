"""Steps of optimizers, by the rules of ``_backends.common.optim``."""
from __future__ import annotations

from typing import Any

import numpy as np

from .writing import f32, loop


@loop("float32[::1]", "float32[::1]", "float32", "float32")
def sgd(param: Any, grad: Any, weight_decay: Any, rate: Any) -> None:
    for i in range(len(param)):
        change = grad[i] + param[i] * weight_decay if weight_decay != f32(0) else grad[i]
        param[i] += change * rate


@loop("float32[::1]", "float32[::1]", "float32[::1]", "float32", "float32", "float32", "float32", "bool_")
def sgd_with_momentum(param: Any, grad: Any, buffer: Any, weight_decay: Any, rate: Any, momentum: Any, share: Any,
                      nesterov: Any) -> None:
    for i in range(len(param)):
        change = grad[i] + param[i] * weight_decay if weight_decay != f32(0) else grad[i]
        moved = buffer[i] * momentum + change * share
        buffer[i] = moved
        param[i] += (change + moved * momentum if nesterov else moved) * rate


@loop("float32[::1]", "float32[::1]", "float32[::1]", "float32[::1]", "float32", "float32", "float32", "float32",
      "float32", "float32", "float32", "float32")
def adam(param: Any, grad: Any, averages: Any, squares: Any, shrink: Any, weight_decay: Any, share: Any, kept: Any,
         share_of_square: Any, correction: Any, eps: Any, rate: Any) -> None:
    for i in range(len(param)):
        before = param[i] * shrink
        change = grad[i] + before * weight_decay if weight_decay != f32(0) else grad[i]
        average = (change - averages[i]) * share + averages[i]
        square = squares[i] * kept + change * share_of_square * change
        averages[i], squares[i] = average, square
        param[i] = before + average * rate / (np.sqrt(square) / correction + eps)
