"""The derivative of a layer of long short-term memory; all other recurrent networks have theirs by their operators."""
from __future__ import annotations

from typing import Any

from ..._dispatch.aten import mkldnn_rnn_layer_backward
from ..derivative import derivative


def lstm_grads(grads: Any, input: Any, weight0: Any, weight1: Any, weight2: Any, weight3: Any, hx_: Any, cx_: Any,
               reverse: bool, batch_sizes: Any, mode: int, hidden_size: int, num_layers: int, has_biases: bool,
               bidirectional: bool, batch_first: bool, train: bool, result0: Any, result1: Any, result2: Any,
               result3: Any) -> Any:
    return mkldnn_rnn_layer_backward(
        input, weight0, weight1, weight2, weight3, hx_, cx_, result0, result1, result2, grads[0], grads[1],
        grads[2], reverse, mode, hidden_size, num_layers, has_biases, train, bidirectional, batch_sizes, batch_first,
        result3)


derivative("mkldnn_rnn_layer", None, (0, 1, 2),
           **{"input, weight0, weight1, weight2, weight3, hx_, cx_": lstm_grads})
