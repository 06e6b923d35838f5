"""CPU kernels of long short-term memory: one direction of one layer, over all steps.

Input products are computed for all steps at once. The workspace holds five planes (steps, batch, size), contiguous for
each step: input gate, forget gate, output gate, candidate and cell state. (In PyTorch's weights the candidate comes
before the output gate.) A step takes one tanh for all gates: ``sigmoid(x)`` is ``tanh(x / 2) / 2 + 1 / 2``.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ...._base import loops
from . import CPU_KERNELS

array = np.ndarray


def swapped(weight: array) -> array:
    """Return a weight (4 * size, ...) by gate, (4, size, ...), with the last two gates swapped."""
    return weight.reshape(4, -1, *weight.shape[1:])[[0, 1, 3, 2]]


def looped(loop: loops.Loop, dtype: Any, size: int) -> tuple[Any, Any]:
    """Return the compiled loops of a step with states of ``size`` elements and of its product, or None for both."""
    if dtype != loops.SINGLE or 4 * size < loop.least or not loops.has_wide_vectors():
        return None, None
    compiled = loop.compiled(4 * size)
    return compiled, compiled and loops.product.compiled(size)


def mkldnn_rnn_layer(input: array, w_ih: array, w_hh: array, b_ih: array, b_hh: array, hx: array, cx: array,
                     reverse: bool, *options: Any) -> tuple[array, ...]:
    steps, batch, features = input.shape
    size, dtype = hx.shape[1], input.dtype
    half = np.array([0.5, 0.5, 0.5, 1], dtype)[:, None, None]  # the candidate needs the tanh itself
    of_input, of_hidden = (np.ascontiguousarray((swapped(weight) * half).swapaxes(1, 2)) for weight in (w_ih, w_hh))
    bias = np.ascontiguousarray(swapped(b_ih + b_hh)[:, None] * half)
    loop, multiply = looped(loops.lstm_step, dtype, batch * size)
    joined = None if loop is None else of_hidden.swapaxes(0, 1).reshape(size, 4 * size)
    workspace, output = np.empty((5, steps, batch, size), dtype), np.empty((steps, batch, size), dtype)
    np.matmul(input.reshape(-1, features), of_input, out=workspace[:4].reshape(4, -1, size))
    hidden, memory = np.ascontiguousarray(hx), cx
    product, fresh = np.empty((4, batch, size), dtype), np.empty((batch, size), dtype)
    sigmoids = product[:3]
    for step in reversed(range(steps)) if reverse else range(steps):
        gates, kept = workspace[:4, step], workspace[4, step]
        if loop is not None:
            products = product.reshape(batch, 4, size)
            multiply(hidden, joined, products.reshape(batch, 4 * size))
            loop(workspace, products, bias[:, 0], np.ascontiguousarray(memory), output[step], step)
            hidden, memory = output[step], kept
            continue
        np.matmul(hidden, of_hidden, out=product)
        product += gates
        product += bias
        np.tanh(product, out=product)
        sigmoids *= 0.5
        sigmoids += 0.5
        gates[...] = product
        np.multiply(product[1], memory, out=kept)
        np.multiply(product[0], product[3], out=fresh)
        kept += fresh
        hidden, memory = output[step], kept
        np.tanh(memory, out=hidden)
        hidden *= product[2]
    return output, hidden.copy(), memory.copy(), workspace


def shifted(states: array, first: array, reverse: bool) -> array:
    """Return the state before each step: the previous step's, or the initial one."""
    before = np.empty_like(states)
    if reverse:
        before[:-1], before[-1:] = states[1:], first
    else:
        before[1:], before[:1] = states[:-1], first
    return before


def slopes_of(workspace: array, before: array) -> tuple[array, array]:
    """Return the local derivatives of all steps at once.

    The first planes turn gradients of the cell state (of the hidden state for the output gate) into gradients of the
    gates' inputs. The last result turns gradients of the hidden state into gradients of the cell state.
    """
    entering, _, leaving, candidate, memory = workspace
    slopes, of_memory = np.empty_like(workspace[:4]), np.tanh(memory)
    np.subtract(1, workspace[:3], out=slopes[:3])  # the derivative of a sigmoid y is y (1 - y)
    slopes[:3] *= workspace[:3]
    np.multiply(candidate, candidate, out=slopes[3])  # the derivative of a tanh y is 1 - y ** 2
    np.subtract(1, slopes[3], out=slopes[3])
    for slope, other in zip(slopes, (candidate, before, of_memory, entering), strict=True):
        slope *= other
    of_memory *= of_memory
    np.subtract(1, of_memory, out=of_memory)
    of_memory *= leaving
    return slopes, of_memory


def mkldnn_rnn_layer_backward(input: array, w_ih: array, w_hh: array, b_ih: array, b_hh: array, hx: array, cx: array,
                              output: array, hy: array, cy: array, grad_output: array | None, grad_hy: array | None,
                              grad_cy: array | None, reverse: bool, *options: Any) -> tuple[array, ...]:
    workspace = options[-1]
    steps, batch, features = input.shape
    size, dtype = hx.shape[1], input.dtype
    of_input, of_hidden = (swapped(weight).reshape(4 * size, -1) for weight in (w_ih, w_hh))
    gates = np.empty((steps, batch, 4, size), dtype)  # the gradients of the gates' inputs
    before_hidden = shifted(output, hx, reverse)
    before = shifted(workspace[4], cx, reverse)
    loop, multiply = looped(loops.lstm_step_backward, dtype, batch * size)
    if loop is None:
        slopes, of_memory = slopes_of(workspace, before)
    elif grad_output is None:
        grad_output = np.zeros((steps, batch, size), dtype)
    fresh = np.empty((batch, size), dtype)
    grad_hidden, grad_memory = (np.zeros((batch, size), dtype) if grad is None else grad.astype(dtype)
                                for grad in (grad_hy, grad_cy))
    forget = workspace[1]
    for step in range(steps) if reverse else reversed(range(steps)):
        if loop is not None:
            given = np.ascontiguousarray(grad_output[step])  # type: ignore[index]
            loop(workspace, before[step], given, grad_hidden, grad_memory, gates[step], fresh, step)
            multiply(gates[step].reshape(batch, 4 * size), of_hidden, grad_hidden)
            continue
        if grad_output is not None:
            grad_hidden += grad_output[step]
        np.multiply(of_memory[step], grad_hidden, out=fresh)
        grad_memory += fresh
        here, by_gate = gates[step], gates[step].swapaxes(0, 1)
        np.multiply(slopes[:, step], grad_memory, out=by_gate)
        np.multiply(slopes[2, step], grad_hidden, out=by_gate[2])
        grad_memory *= forget[step]
        np.matmul(here.reshape(batch, 4 * size), of_hidden, out=grad_hidden)
    flat = gates.reshape(steps * batch, 4 * size)
    rows = input.reshape(-1, features), before_hidden.reshape(-1, size)
    grad_ih, grad_hh = (swapped(flat.T @ states).reshape(4 * size, -1) for states in rows)
    grad_bias = swapped(flat.sum(0)).reshape(-1)
    return ((flat @ of_input).reshape(input.shape), grad_ih, grad_hh, grad_bias, grad_bias.copy(), grad_hidden,
            grad_memory)


CPU_KERNELS.add(mkldnn_rnn_layer, mkldnn_rnn_layer_backward)
