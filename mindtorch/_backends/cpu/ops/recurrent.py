"""CPU kernels of long short-term memory: one direction of one layer, over all of its steps.

The products that do not depend on the hidden state are made of all steps at once. The gates stand in the order input,
forget, candidate, output. A step takes one tanh for all of them: ``sigmoid(x)`` is ``tanh(x / 2) / 2 + 1 / 2``.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from . import CPU_KERNELS

array = np.ndarray


def mkldnn_rnn_layer(input: array, w_ih: array, w_hh: array, b_ih: array, b_hh: array, hx: array, cx: array,
                     reverse: bool, *options: Any) -> tuple[array, ...]:
    steps, batch, _ = input.shape
    size = hx.shape[1]
    scale = np.full(4 * size, 0.5, input.dtype)
    scale[2 * size:3 * size] = 1  # of the candidate, the tanh itself is wanted
    shift = 1 - scale
    recurrent = np.ascontiguousarray((w_hh * scale[:, None]).T)
    workspace = np.empty((steps, batch, 5 * size), input.dtype)
    output = np.empty((steps, batch, size), input.dtype)
    all_gates, memories = workspace[..., :4 * size], workspace[..., 4 * size:]
    np.matmul(input, np.ascontiguousarray((w_ih * scale[:, None]).T), out=all_gates)
    all_gates += (b_ih + b_hh) * scale
    hidden, memory, product = np.ascontiguousarray(hx), cx, np.empty((batch, 4 * size), input.dtype)
    for step in reversed(range(steps)) if reverse else range(steps):
        gates = all_gates[step]
        np.matmul(hidden, recurrent, out=product)
        product += gates
        np.tanh(product, out=product)
        product *= scale
        np.add(product, shift, out=gates)
        kept = memories[step]
        np.multiply(gates[:, size:2 * size], memory, out=kept)
        kept += gates[:, :size] * gates[:, 2 * size:3 * size]
        hidden, memory = output[step], kept
        np.tanh(memory, out=hidden)
        hidden *= gates[:, 3 * size:]
    return output, hidden.copy(), memory.copy(), workspace


def mkldnn_rnn_layer_backward(input: array, w_ih: array, w_hh: array, b_ih: array, b_hh: array, hx: array, cx: array,
                              output: array, hy: array, cy: array, grad_output: array | None, grad_hy: array | None,
                              grad_cy: array | None, reverse: bool, *options: Any) -> tuple[array, ...]:
    workspace = options[-1]
    steps, batch, features = input.shape
    size, dtype = hx.shape[1], input.dtype
    gates = workspace[..., :4 * size].reshape(steps, batch, 4, size)
    memories = workspace[..., 4 * size:]
    order = range(steps) if reverse else range(steps)[::-1]  # from the last step that was taken to the first
    first = order[-1]
    before_hidden, before_memory = np.empty_like(output), np.empty_like(output)
    later, earlier = (slice(None, -1), slice(1, None)) if reverse else (slice(1, None), slice(None, -1))
    before_hidden[later], before_hidden[first] = output[earlier], hx
    before_memory[later], before_memory[first] = memories[earlier], cx

    # What the gradients of a step's states are multiplied by, made for all steps at once. grads holds the factors
    # until the step replaces them by the gradients of the sums that go into the gates.
    entering, forget, candidate, leaving = (gates[:, :, i] for i in range(4))
    squashed = np.tanh(memories)
    grads = gates * (1 - gates)  # the derivative of a sigmoid; of tanh it is 1 - y ** 2
    np.subtract(1, candidate * candidate, out=grads[:, :, 2])
    grads[:, :, 0] *= candidate
    grads[:, :, 1] *= before_memory
    grads[:, :, 2] *= entering
    grads[:, :, 3] *= squashed
    to_memory = leaving * (1 - squashed * squashed)

    grad_hidden = np.zeros((batch, size), dtype) if grad_hy is None else grad_hy.astype(dtype)
    grad_memory = np.zeros((batch, size), dtype) if grad_cy is None else grad_cy.astype(dtype)
    for step in order:
        if grad_output is not None:
            grad_hidden += grad_output[step]
        grad_memory += grad_hidden * to_memory[step]
        here = grads[step]
        here[:, :3] *= grad_memory[:, None]
        here[:, 3] *= grad_hidden
        grad_memory *= forget[step]
        np.matmul(here.reshape(batch, 4 * size), w_hh, out=grad_hidden)
    flat = grads.reshape(steps * batch, 4 * size)
    grad_bias = flat.sum(0)
    return ((flat @ w_ih).reshape(input.shape), flat.T @ input.reshape(-1, features),
            flat.T @ before_hidden.reshape(-1, size), grad_bias, grad_bias.copy(), grad_hidden, grad_memory)


CPU_KERNELS.add(mkldnn_rnn_layer, mkldnn_rnn_layer_backward)
