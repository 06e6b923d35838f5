"""Meta kernels of recurrent layers."""
from __future__ import annotations

from typing import Any

from ...._base.layout import Spec
from . import META_KERNELS


def mkldnn_rnn_layer(input: Any, weight0: Any, weight1: Any, weight2: Any, weight3: Any, hx_: Any, cx_: Any,
                     *options: Any) -> tuple[Spec, ...]:
    steps, batch, _ = input.shape
    hidden, dtype = hx_.shape[1], input._dtype
    state = Spec((batch, hidden), dtype)
    # what the derivative needs: four gates and the cell state of each step
    return Spec((steps, batch, hidden), dtype), state, state, Spec((5, steps, batch, hidden), dtype)


def mkldnn_rnn_layer_backward(input: Any, *tensors: Any) -> tuple[Spec, ...]:
    return tuple(Spec(tuple(x.shape), x._dtype) for x in (input, *tensors[:6]))


META_KERNELS.add(mkldnn_rnn_layer, mkldnn_rnn_layer_backward)
