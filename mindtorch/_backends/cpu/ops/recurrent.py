"""CPU kernels of recurrent networks: one direction of one layer, over all steps.

Input products are computed for all steps at once. The workspace holds planes (rows, size); rows of a step follow those
of the one before, which are as many, or more in packed sequences. The planes of long short-term memory are input gate,
forget gate, output gate, candidate and cell state (in PyTorch's weights the candidate comes before the output gate),
those of gated recurrent units reset gate, update gate, candidate, and the hidden state's part of the candidate before
it is reset. A step takes one tanh for all gates: ``sigmoid(x)`` is ``tanh(x / 2) / 2 + 1 / 2``.
"""
from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...._base import loops
from . import CPU_KERNELS

array = np.ndarray
Loops = tuple[Any, Any]  #: the compiled loops of a step and of its product, or None for both


class Unit:
    """A network without gates: h' = f(W x + V h). Of others, ``order`` says which gates of PyTorch's weights the planes
    of the products are.
    """

    gates, planes = 1, 0
    memory = False  #: whether a cell state is kept, in plane 4
    loop: loops.Loop | None = None  #: of a step
    order: ClassVar[list[int]] = [0]
    scales: ClassVar[list[float]] = [1]  #: of products; those of gates are halved, candidates need the tanh itself

    def __init__(self, relu: bool = False) -> None:
        self.relu = relu

    def biases(self, b_ih: array, b_hh: array) -> array:
        """Return by plane the biases of the products' sums, behind them that of the last input product alone."""
        return by_gate(b_ih + b_hh, self.order)

    def step(self, states: array, product: array, before: array, shown: array) -> None:
        """Compute the next states from the products of the hidden state."""
        shown += product[0]
        np.maximum(shown, 0, out=shown) if self.relu else np.tanh(shown, out=shown)


class LongShortTerm(Unit):
    gates, planes, memory = 4, 5, True
    loop, order = loops.lstm_step, [0, 1, 3, 2]
    scales: ClassVar[list[float]] = [0.5, 0.5, 0.5, 1]

    def step(self, states: array, product: array, before: array, shown: array) -> None:
        product += states[:4]
        np.tanh(product, out=product)
        sigmoids, kept = product[:3], states[4]
        sigmoids *= 0.5
        sigmoids += 0.5
        states[:4] = product
        np.multiply(product[1], before, out=kept)
        np.multiply(product[0], product[3], out=shown)
        kept += shown
        np.tanh(kept, out=shown)
        shown *= product[2]


class Gated(Unit):
    gates, planes = 3, 4
    loop, order = loops.gru_step, [0, 1, 2]
    scales: ClassVar[list[float]] = [0.5, 0.5, 1]

    def biases(self, b_ih: array, b_hh: array) -> array:
        bias = by_gate(b_hh, [0, 1, 2, 2])
        bias[:2] += b_ih.reshape(3, -1)[:2]
        bias[3] = b_ih.reshape(3, -1)[2]
        return bias

    def step(self, states: array, product: array, before: array, shown: array) -> None:
        sigmoids, candidate = product[:2], states[2]
        sigmoids += states[:2]
        np.tanh(sigmoids, out=sigmoids)
        sigmoids *= 0.5
        sigmoids += 0.5
        states[:2], states[3] = sigmoids, product[2]
        product[2] *= product[0]
        candidate += product[2]
        np.tanh(candidate, out=candidate)
        np.subtract(before, candidate, out=shown)
        shown *= product[1]
        shown += candidate


#: By oneDNN's number of the mode.
UNITS = Unit(relu=True), Unit(), LongShortTerm(), Gated()


def of_sigmoids(y: array, out: array) -> None:
    """Compute the derivatives of sigmoids with values ``y``."""
    np.subtract(1, y, out=out)
    out *= y


def of_tanh(y: array, out: array) -> None:
    np.multiply(y, y, out=out)
    np.subtract(1, out, out=out)


def by_gate(weight: array, order: list[int]) -> array:
    """Return a weight (gates * size, ...) by gate, (gates, size, ...), in another order."""
    return weight.reshape(max(order) + 1, -1, *weight.shape[1:])[order]


def looped(loop: loops.Loop | None, dtype: Any, size: int) -> Loops:
    """Return the compiled loops for a layer of ``size`` numbers in each gate."""
    if loop is None or dtype != loops.SINGLE or 4 * size < loop.least or not loops.has_wide_vectors():
        return None, None
    compiled = loop.compiled(4 * size)
    return compiled, compiled and loops.product.compiled(size)


def steps_of(shape: tuple[int, ...], batch_sizes: Any, reverse: bool) -> list[slice]:
    """Return the rows of each step, in the order of computation, of an input (steps, batch, ...) or of packed rows."""
    ends = np.cumsum(batch_sizes if len(shape) == 2 else [shape[1]] * shape[0]).tolist()
    parts = [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    return parts[::-1] if reverse else parts


def mkldnn_rnn_layer(input: array, w_ih: array, w_hh: array, b_ih: array, b_hh: array, hx: array, cx: array,
                     reverse: bool, batch_sizes: Any, mode: int, *options: Any) -> tuple[array, ...]:
    unit, rows = UNITS[mode], input.reshape(-1, input.shape[-1])
    count, size, dtype, total = unit.gates, hx.shape[1], input.dtype, len(rows)
    scales = np.array(unit.scales, dtype)[:, None, None]
    of_input, of_hidden = (np.ascontiguousarray((by_gate(weight, unit.order) * scales).swapaxes(1, 2))
                           for weight in (w_ih, w_hh))
    bias = unit.biases(b_ih, b_hh)
    bias[:count] *= scales[..., 0]
    loop, multiply = looped(unit.loop, dtype, total * size)
    joined = None if loop is None else of_hidden.swapaxes(0, 1).reshape(size, count * size)
    workspace, output = np.empty((unit.planes, total, size), dtype), np.empty((total, size), dtype)
    products = workspace[:count] if unit.planes else output[None]
    np.matmul(rows, of_input, out=products)
    if loop is None and len(bias) > count:
        products[-1] += bias[count]
    hidden, memory, added = hx.copy(), cx.copy(), bias[:count, None]
    before = memory if unit.memory else hidden
    room = np.empty(count * hx.size, dtype)
    for part in steps_of(input.shape, batch_sizes, reverse):
        shown, batch = output[part], part.stop - part.start
        given, product = hidden[:batch], room[:count * shown.size]
        if loop is not None:
            multiply(given, joined, product.reshape(batch, count * size))
            loop(workspace, product.reshape(batch, count, size), bias, before[:batch], shown, part.start)
        else:
            product = product.reshape(count, batch, size)
            np.matmul(given, of_hidden, out=product)
            product += added
            unit.step(workspace[:, part], product, before[:batch], shown)
        given[:] = shown
        if unit.memory:
            memory[:batch] = workspace[4, part]
    shape = *input.shape[:-1], size
    return output.reshape(shape), hidden, memory, workspace.reshape(unit.planes, *shape)


def shifted(states: array, first: array, parts: list[slice]) -> array:
    """Return the states before each step: the previous step's, or the initial ones."""
    before, state = np.empty_like(states), first.copy()
    for part in parts:
        batch = part.stop - part.start
        before[part] = state[:batch]
        state[:batch] = states[part]
    return before


def slopes_of(workspace: array, before: array) -> array:
    """Return planes that turn gradients of the cell state (of the hidden state for the output gate) into gradients of
    the gates' inputs, and a last one that turns gradients of the hidden state into gradients of the cell state.
    """
    entering, _, leaving, candidate, memory = workspace
    result = np.empty_like(workspace)
    slopes, of_memory = result[:4], np.tanh(memory, out=result[4])
    of_sigmoids(workspace[:3], slopes[:3])
    of_tanh(candidate, slopes[3])
    for slope, other in zip(slopes, (candidate, before, of_memory, entering), strict=True):
        slope *= other
    of_tanh(of_memory, of_memory)
    of_memory *= leaving
    return result


def mkldnn_rnn_layer_backward(input: array, w_ih: array, w_hh: array, b_ih: array, b_hh: array, hx: array, cx: array,
                              output: array, hy: array, cy: array, grad_output: array | None, grad_hy: array | None,
                              grad_cy: array | None, reverse: bool, mode: int, *options: Any) -> tuple[array, ...]:
    """Compute the gradients of a layer of long short-term memory."""
    order, parts, rows = LongShortTerm.order, steps_of(input.shape, options[-3], reverse), input.reshape(
        -1, input.shape[-1])
    total, size, dtype, width = len(rows), hx.shape[1], input.dtype, 4 * hx.shape[1]
    workspace, output = options[-1].reshape(5, total, size), output.reshape(total, size)
    gates = np.empty((total, 4, size), dtype)  # the gradients of the gates' inputs
    before = shifted(workspace[4], cx, parts)
    loop, multiply = looped(loops.lstm_step_backward, dtype, output.size)
    slopes: Any = None if loop is not None else slopes_of(workspace, before)
    given = np.zeros((total, size), dtype) if grad_output is None else np.ascontiguousarray(grad_output).reshape(
        total, size)
    grad_hidden, grad_memory = (np.zeros_like(hx) if grad is None else grad.copy() for grad in (grad_hy, grad_cy))
    fresh = np.empty_like(grad_hidden)
    of_input, of_hidden = (by_gate(weight, order).reshape(width, -1) for weight in (w_ih, w_hh))
    for part in reversed(parts):
        batch = part.stop - part.start
        here, of_memory, flat = grad_hidden[:batch], grad_memory[:batch], gates[part].reshape(batch, width)
        if loop is not None:
            loop(workspace, before[part], given[part], here, of_memory, gates[part], fresh, part.start)
            multiply(flat, of_hidden, here)
            continue
        here += given[part]
        of_memory += slopes[4, part] * here
        np.multiply(slopes[:4, part], of_memory, out=gates[part].swapaxes(0, 1))
        np.multiply(slopes[2, part], here, out=gates[part, 2])
        of_memory *= workspace[1, part]
        np.matmul(flat, of_hidden, out=here)
    flat = gates.reshape(total, width)
    weights = [by_gate(flat.T @ states, order).reshape(width, -1) for states in (rows, shifted(output, hx, parts))]
    bias = by_gate(flat.sum(0), order).reshape(width)
    return (flat @ of_input).reshape(input.shape), *weights, bias, bias.copy(), grad_hidden, grad_memory


CPU_KERNELS.add(mkldnn_rnn_layer, mkldnn_rnn_layer_backward)
