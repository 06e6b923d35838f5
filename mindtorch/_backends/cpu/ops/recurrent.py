"""CPU kernels of recurrent networks: one direction of one layer, over all steps.

Input products are computed for all steps at once. The workspace holds planes (steps, batch, size), contiguous for each
step: of long short-term memory input gate, forget gate, output gate, candidate and cell state (in PyTorch's weights the
candidate comes before the output gate); of gated recurrent units reset gate, update gate, candidate and the hidden
state's part of the candidate before it is reset. A step takes one tanh for all gates: ``sigmoid(x)`` is
``tanh(x / 2) / 2 + 1 / 2``.
"""
from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...._base import loops
from . import CPU_KERNELS

array = np.ndarray
Loops = tuple[Any, Any]  #: the compiled loops of a step and of its product, or None for both


class Unit:
    """A network without gates: h' = f(W x + V h).

    Gradients of gates' inputs lie (batch, gate, size): ``of_input`` and ``of_hidden`` say which planes belong to
    either product, and the gates of PyTorch's weights in their order.
    """

    gates, planes = 1, 0
    memory = False  #: whether a cell state is kept, in plane 4
    forward: loops.Loop | None = None  #: a step; and its derivative
    backward: loops.Loop | None = None
    of_input: ClassVar[tuple[slice, list[int]]] = slice(0, 1), [0]
    of_hidden: ClassVar[tuple[slice, list[int]]] = slice(0, 1), [0]
    scales: ClassVar[list[float]] = [1]  #: of products; those of gates are halved, candidates need the tanh itself

    def __init__(self, relu: bool = False) -> None:
        self.relu = relu

    def biases(self, b_ih: array, b_hh: array) -> array:
        """Return by plane the biases of the products' sums, behind them that of the last input product alone."""
        return by_gate(b_ih + b_hh, self.of_input[1])

    def step(self, states: array, product: array, before: array, shown: array) -> None:
        """Compute the next states from the products of the hidden state."""
        shown += product[0]
        np.maximum(shown, 0, out=shown) if self.relu else np.tanh(shown, out=shown)

    def slopes(self, workspace: array, output: array, before: array) -> array:
        """Return the local derivatives of all steps at once, by plane."""
        return (output > 0).astype(output.dtype)[None] if self.relu else 1 - output[None] ** 2

    def step_backward(self, slopes: array, states: array, of_hidden: array, carried: array, gates: array,
                      step: int) -> None:
        """Compute the gradients of gates' inputs, given that of the hidden state, and the next ``carried``: the part
        of the hidden state's gradient that no product passes on, or the gradient of the cell state.
        """
        np.multiply(slopes[:, step], of_hidden, out=gates)


class LongShortTerm(Unit):
    gates, planes, memory = 4, 5, True
    forward, backward = loops.lstm_step, loops.lstm_step_backward
    of_input = of_hidden = slice(0, 4), [0, 1, 3, 2]
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

    def slopes(self, workspace: array, output: array, before: array) -> array:
        """Return planes that turn gradients of the cell state (of the hidden state for the output gate) into gradients
        of the gates' inputs, and a last one that turns gradients of the hidden state into gradients of the cell state.
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

    def step_backward(self, slopes: array, states: array, of_hidden: array, carried: array, gates: array,
                      step: int) -> None:
        carried += slopes[4, step] * of_hidden
        np.multiply(slopes[:4, step], carried, out=gates)
        np.multiply(slopes[2, step], of_hidden, out=gates[2])
        carried *= states[1, step]


class Gated(Unit):
    gates, planes = 3, 4
    forward, backward = loops.gru_step, loops.gru_step_backward
    of_input = slice(1, 4), [0, 1, 2]
    of_hidden = slice(0, 3), [2, 0, 1]
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

    def slopes(self, workspace: array, output: array, before: array) -> array:
        """Return planes for the gradients of the candidate's product with the hidden state, the gates, and the
        candidate's product with the input.
        """
        reset, update, candidate, product = workspace
        slopes = np.empty_like(workspace)
        of_sigmoids(workspace[:2], slopes[1:3])
        of_tanh(candidate, slopes[3])
        slopes[3] *= 1 - update
        np.multiply(slopes[3], reset, out=slopes[0])
        slopes[1] *= slopes[3]
        slopes[1] *= product
        slopes[2] *= before - candidate
        return slopes

    def step_backward(self, slopes: array, states: array, of_hidden: array, carried: array, gates: array,
                      step: int) -> None:
        of_hidden += carried
        np.multiply(slopes[:, step], of_hidden, out=gates)
        np.multiply(states[1, step], of_hidden, out=carried)


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


def mkldnn_rnn_layer(input: array, w_ih: array, w_hh: array, b_ih: array, b_hh: array, hx: array, cx: array,
                     reverse: bool, batch_sizes: Any, mode: int, *options: Any) -> tuple[array, ...]:
    unit = UNITS[mode]
    steps, batch, features = input.shape
    count, order, size, dtype = unit.gates, unit.of_input[1], hx.shape[1], input.dtype
    scales = np.array(unit.scales, dtype)[:, None, None]
    of_input, of_hidden = (np.ascontiguousarray((by_gate(weight, order) * scales).swapaxes(1, 2))
                           for weight in (w_ih, w_hh))
    bias = unit.biases(b_ih, b_hh)
    bias[:count] *= scales[..., 0]
    loop, multiply = looped(unit.forward, dtype, steps * batch * size)
    joined = None if loop is None else of_hidden.swapaxes(0, 1).reshape(size, count * size)
    workspace, output = np.empty((unit.planes, steps, batch, size), dtype), np.empty((steps, batch, size), dtype)
    products = workspace[:count] if unit.planes else output[None]
    np.matmul(input.reshape(-1, features), of_input, out=products.reshape(count, -1, size))
    if loop is None and len(bias) > count:
        products[-1] += bias[count]
    hidden, memory = np.ascontiguousarray(hx), np.ascontiguousarray(cx if unit.memory else hx)
    product, added = np.empty((count, batch, size), dtype), bias[:count, None]
    by_row = product.reshape(batch, count, size)
    for step in reversed(range(steps)) if reverse else range(steps):
        shown = output[step]
        if loop is not None:
            multiply(hidden, joined, by_row.reshape(batch, count * size))
            loop(workspace, by_row, bias, memory, shown, step)
        else:
            np.matmul(hidden, of_hidden, out=product)
            product += added
            unit.step(workspace[:, step], product, memory, shown)
        hidden, memory = shown, workspace[4, step] if unit.memory else shown
    return output, hidden.copy(), memory.copy() if unit.memory else cx.copy(), workspace


def shifted(states: array, first: array, reverse: bool) -> array:
    """Return the state before each step: the previous step's, or the initial one."""
    before = np.empty_like(states)
    if reverse:
        before[:-1], before[-1:] = states[1:], first
    else:
        before[1:], before[:1] = states[:-1], first
    return before


def mkldnn_rnn_layer_backward(input: array, w_ih: array, w_hh: array, b_ih: array, b_hh: array, hx: array, cx: array,
                              output: array, hy: array, cy: array, grad_output: array | None, grad_hy: array | None,
                              grad_cy: array | None, reverse: bool, mode: int, *options: Any) -> tuple[array, ...]:
    workspace, unit = options[-1], UNITS[mode]
    steps, batch, _ = input.shape
    size, dtype, planes = hx.shape[1], input.dtype, unit.of_input[0].stop
    gates = np.empty((steps, batch, planes, size), dtype)  # the gradients of the gates' inputs
    before_hidden = shifted(output, hx, reverse)
    before = shifted(workspace[4], cx, reverse) if unit.memory else before_hidden
    loop, multiply = looped(unit.backward, dtype, output.size)
    if loop is None:
        slopes = unit.slopes(workspace, output, before)
    elif grad_output is None:
        grad_output = np.zeros((steps, batch, size), dtype)
    fresh = np.empty((batch, size), dtype)
    grad_hidden, carried = (np.zeros((batch, size), dtype) if grad is None else grad.astype(dtype)
                            for grad in (grad_hy, grad_cy if unit.memory else None))
    width = unit.gates * size
    of_input, of_hidden = (by_gate(weight, order).reshape(width, -1)
                           for weight, (_, order) in ((w_ih, unit.of_input), (w_hh, unit.of_hidden)))
    for step in range(steps) if reverse else reversed(range(steps)):
        flat = gates[step].reshape(batch, -1)[:, :width]
        if loop is not None:
            given = np.ascontiguousarray(grad_output[step])  # type: ignore[index]
            loop(workspace, before[step], given, grad_hidden, carried, gates[step], fresh, step)
            multiply(flat, of_hidden, grad_hidden)
            continue
        if grad_output is not None:
            grad_hidden += grad_output[step]
        unit.step_backward(slopes, workspace, grad_hidden, carried, gates[step].swapaxes(0, 1), step)
        np.matmul(flat, of_hidden, out=grad_hidden)
    if not unit.memory:
        grad_hidden += carried
    weights, biases = [], []
    for (part, order), states in ((unit.of_input, input), (unit.of_hidden, before_hidden)):
        flat = gates[:, :, part].reshape(steps * batch, width)
        back = [order.index(gate) for gate in range(unit.gates)]
        weights.append(by_gate(flat.T @ states.reshape(steps * batch, -1), back).reshape(width, -1))
        biases.append(by_gate(flat.sum(0), back).reshape(width))
    flat = gates[:, :, unit.of_input[0]].reshape(steps * batch, width)
    return ((flat @ of_input).reshape(input.shape), *weights, *biases, grad_hidden,
            carried if unit.memory else np.zeros_like(cx))


CPU_KERNELS.add(mkldnn_rnn_layer, mkldnn_rnn_layer_backward)
