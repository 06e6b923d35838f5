"""CPU kernels of recurrent networks: one direction of one layer, over all steps.

Input products are computed for all steps at once. The workspace holds planes (rows, size); rows of a step follow those
of the one before, which are as many, or more in packed sequences. The planes of long short-term memory are input gate,
forget gate, output gate, candidate and cell state (in PyTorch's weights the candidate comes before the output gate),
those of gated recurrent units reset gate, update gate, candidate, and the hidden state's part of the candidate before
it is reset. A step takes one tanh for all gates: ``sigmoid(x)`` is ``tanh(x / 2) / 2 + 1 / 2``.
"""
from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from ...._base import loops
from ..rows import taking
from . import AT_ONCE, CPU_KERNELS
from .linalg import affine
from .pointwise import sigmoid

array = np.ndarray


class Unit:
    """A network without gates: h' = f(W x + V h). Of others, ``order`` says which gates of PyTorch's weights the planes
    of the products are.
    """

    gates, planes = 1, 0
    memory = False  #: whether a cell state is kept, in plane 4
    loop: loops.Loop | None = None  #: of all steps
    order: ClassVar[list[int]] = [0]
    scales: ClassVar[list[float]] = [1]  #: of products; those of gates are halved, candidates need the tanh itself

    def __init__(self, relu: bool = False) -> None:
        self.relu = relu

    def biases(self, b_ih: array, b_hh: array) -> array:
        """Return by plane the biases of the products' sums, behind them that of the last input product alone."""
        return by_gate(b_ih + b_hh, self.order)

    def step(self, states: array, product: array, hidden: array, memory: array, shown: array) -> None:
        """Compute the next states from the products of the hidden state; the cell state is written in place."""
        shown += product[0]
        np.maximum(shown, 0, out=shown) if self.relu else np.tanh(shown, out=shown)

    def slopes(self, states: array, before: array, shown: array) -> array:
        """Return the planes that turn gradients of the next states into those of the products."""
        result = np.empty((1, *shown.shape), shown.dtype)
        if self.relu:
            np.greater(shown, 0, out=result[0])
        else:
            of_tanh(shown, result[0])
        return result

    def step_back(self, states: array, slopes: array, of_hidden: array, of_memory: array, gates: array) -> bool:
        """Compute the gradients of the products (batch, plane, size) of a step. Return True if ``of_hidden`` is now the
        gradient of the hidden state before the step, without that of its product.
        """
        np.multiply(slopes[0], of_hidden, out=gates[:, 0])
        return False


class LongShortTerm(Unit):
    gates, planes, memory = 4, 5, True
    loop, order = loops.lstm_steps, [0, 1, 3, 2]
    scales: ClassVar[list[float]] = [0.5, 0.5, 0.5, 1]

    def step(self, states: array, product: array, hidden: array, memory: array, shown: array) -> None:
        product += states[:4]
        np.tanh(product, out=product)
        sigmoids, kept = product[:3], states[4]
        sigmoids *= 0.5
        sigmoids += 0.5
        states[:4] = product
        np.multiply(product[1], memory, out=kept)
        np.multiply(product[0], product[3], out=shown)
        kept += shown
        memory[...] = kept
        np.tanh(kept, out=shown)
        shown *= product[2]

    def slopes(self, states: array, before: array, shown: array) -> array:
        """Return the planes of the gates, by gradients of the cell state (of the hidden state for the output gate), and
        a last one that turns gradients of the hidden state into gradients of the cell state.
        """
        entering, _, leaving, candidate, memory = states
        result = np.empty_like(states)
        slopes, of_memory = result[:4], np.tanh(memory, out=result[4])
        of_sigmoids(states[:3], slopes[:3])
        of_tanh(candidate, slopes[3])
        for slope, other in zip(slopes, (candidate, before, of_memory, entering), strict=True):
            slope *= other
        of_tanh(of_memory, of_memory)
        of_memory *= leaving
        return result

    def step_back(self, states: array, slopes: array, of_hidden: array, of_memory: array, gates: array) -> bool:
        of_memory += slopes[4] * of_hidden
        np.multiply(slopes[:4], of_memory, out=gates.swapaxes(0, 1))
        np.multiply(slopes[2], of_hidden, out=gates[:, 2])
        of_memory *= states[1]
        return False


class Gated(Unit):
    gates, planes = 3, 4
    loop, order = loops.gru_steps, [0, 1, 2]
    scales: ClassVar[list[float]] = [0.5, 0.5, 1]

    def biases(self, b_ih: array, b_hh: array) -> array:
        bias = by_gate(b_hh, [0, 1, 2, 2])
        bias[:2] += b_ih.reshape(3, -1)[:2]
        bias[3] = b_ih.reshape(3, -1)[2]
        return bias

    def step(self, states: array, product: array, hidden: array, memory: array, shown: array) -> None:
        sigmoids, candidate = product[:2], states[2]
        sigmoids += states[:2]
        np.tanh(sigmoids, out=sigmoids)
        sigmoids *= 0.5
        sigmoids += 0.5
        states[:2], states[3] = sigmoids, product[2]
        product[2] *= product[0]
        candidate += product[2]
        np.tanh(candidate, out=candidate)
        np.subtract(hidden, candidate, out=shown)
        shown *= product[1]
        shown += candidate

    def slopes(self, states: array, before: array, shown: array) -> array:
        """Return the planes of reset gate, update gate, the hidden state's part of the candidate, and the candidate."""
        reset, update, candidate, part = states
        result = np.empty_like(states)
        of_sigmoids(states[:2], result[:2])
        of_tanh(candidate, result[3])
        result[3] *= 1 - update
        np.multiply(result[3], reset, out=result[2])
        result[0] *= part
        result[0] *= result[3]
        result[1] *= before - candidate
        return result

    def step_back(self, states: array, slopes: array, of_hidden: array, of_memory: array, gates: array) -> bool:
        np.multiply(slopes, of_hidden, out=gates.swapaxes(0, 1))
        of_hidden *= states[1]
        return True


#: By oneDNN's number of the mode.
UNITS = Unit(relu=True), Unit(), LongShortTerm(), Gated()
GATED = 3


def of_sigmoids(y: array, out: array) -> None:
    """Compute the derivatives of sigmoids with values ``y``."""
    np.subtract(1, y, out=out)
    out *= y


def of_tanh(y: array, out: array) -> None:
    np.multiply(y, y, out=out)
    np.subtract(1, out, out=out)


def by_gate(weight: array, order: list[int]) -> array:
    """Return a weight (gates * size, ...) by gate, (gates, size, ...), in another order."""
    count = max(order) + 1
    gates = weight.reshape(count, len(weight) // count, *weight.shape[1:])
    return gates if order == [*range(len(gates))] else gates.take(order, 0)


@lru_cache
def scales_of(mode: int, dtype: Any) -> array:
    """Return the scales of a unit's products."""
    return np.array(UNITS[mode].scales, dtype)[:, None, None]


def compiled(loop: loops.Loop | None, dtype: Any, size: int) -> Any:
    """Return the compiled loop over all steps of a layer of ``size`` numbers in each gate, or None."""
    return None if loop is None or dtype != loops.SINGLE else loop.compiled(4 * size)


def places_of(shape: tuple[int, ...], batch_sizes: Any, reverse: bool) -> array:
    """Return where the rows of each step begin and end, in the order of computation, of an input (steps, batch, ...) or
    of packed rows.
    """
    ends = np.cumsum(batch_sizes, dtype=np.int64) if len(shape) == 2 else np.arange(
        shape[1], (shape[0] + 1) * shape[1], shape[1])
    result = np.stack([np.append(0, ends[:-1]), ends], 1)
    return np.ascontiguousarray(result[::-1]) if reverse else result


def mkldnn_rnn_layer(input: array, w_ih: array, w_hh: array, b_ih: array, b_hh: array, hx: array, cx: array,
                     reverse: bool, batch_sizes: Any, mode: int, *options: Any) -> tuple[array, ...]:
    unit, rows = UNITS[mode], input.reshape(-1, input.shape[-1])
    count, size, dtype, total = unit.gates, hx.shape[1], input.dtype, len(rows)
    scales = scales_of(mode, dtype)
    of_input, of_hidden = [np.multiply(by_gate(weight, unit.order).swapaxes(1, 2), scales, order="C")
                           for weight in (w_ih, w_hh)]
    bias = unit.biases(b_ih, b_hh)
    bias[:count] *= scales[..., 0]
    loop = compiled(unit.loop, dtype, total * size)
    workspace, output = np.empty((unit.planes, total, size), dtype), np.empty((total, size), dtype)
    products = workspace[:count] if unit.planes else output[None]
    np.matmul(rows, of_input, out=products)
    places, hidden, memory = places_of(input.shape, batch_sizes, reverse), hx.copy(), cx.copy()
    if loop is not None:
        joined = of_hidden.swapaxes(0, 1).reshape(size, count * size)
        loop(workspace, joined, bias, hidden, *[memory] * unit.memory, places, output)
    else:
        if len(bias) > count:
            products[-1] += bias[count]
        added, room = bias[:count, None], np.empty(count * hx.size, dtype)
        for start, end in places.tolist():
            shown, before = output[start:end], hidden[:end - start]
            product = room[:count * shown.size].reshape(count, *shown.shape)
            np.matmul(before, of_hidden, out=product)
            product += added
            unit.step(workspace[:, start:end], product, before, memory[:end - start], shown)
            before[...] = shown
    shape = *input.shape[:-1], size
    return output.reshape(shape), hidden, memory, workspace.reshape(unit.planes, *shape)


def shifted(states: array, first: array, places: array) -> array:
    """Return the states before each step: the previous step's, or the initial ones of sequences that begin."""
    if len(places) == 1:
        return np.ascontiguousarray(first)
    result = np.empty_like(states)
    if len(places) * len(first) == len(states):
        order = slice(None, None, -1 if places[0, 0] else 1)
        after, before = (planes.reshape(len(places), *first.shape)[order] for planes in (result, states))
        after[0], after[1:] = first, before[:-1]
        return result
    before = first
    for start, end in places.tolist():
        known = min(end - start, len(before))
        result[start:start + known], result[start + known:end] = before[:known], first[known:end - start]
        before = states[start:end]
    return result


def mkldnn_rnn_layer_backward(input: array, w_ih: array, w_hh: array, b_ih: array, b_hh: array, hx: array, cx: array,
                              output: array, hy: array, cy: array, grad_output: array | None, grad_hy: array | None,
                              grad_cy: array | None, reverse: bool, mode: int, *options: Any) -> tuple[Any, ...]:
    """Compute the gradients of the inputs; that of ``input`` itself only in training, as the operator calls it."""
    unit, rows, places = UNITS[mode], input.reshape(-1, input.shape[-1]), places_of(input.shape, options[-3], reverse)
    total, size, dtype, width = len(rows), hx.shape[1], input.dtype, unit.gates * hx.shape[1]
    workspace, output = options[-1].reshape(unit.planes, total, size), output.reshape(total, size)
    gates = np.empty((total, unit.gates + (mode == GATED), size), dtype)  # the gradients of the products
    hidden = shifted(output, hx, places)
    before = shifted(workspace[4], cx, places) if unit.memory else hidden
    loop = compiled(loops.lstm_steps_backward if unit.memory else None, dtype, output.size)
    given = np.zeros((total, size), dtype) if grad_output is None else np.ascontiguousarray(grad_output).reshape(
        total, size)
    grad_hidden, grad_memory = (np.zeros(state.shape, dtype) if grad is None else grad.copy()
                                for grad, state in ((grad_hy, hx), (grad_cy, cx)))
    of_input, of_hidden = (by_gate(weight, unit.order).reshape(width, weight.shape[1]) for weight in (w_ih, w_hh))
    if loop is not None:
        loop(workspace, of_hidden, before, given, grad_hidden, grad_memory, places, gates.reshape(total, width))
    else:
        slopes, fresh = unit.slopes(workspace, before, output), np.empty_like(grad_hidden)
        for start, end in reversed(places.tolist()):
            here, of_memory = grad_hidden[:end - start], grad_memory[:end - start]
            flat = gates[start:end].reshape(end - start, -1)[:, :width]
            here += given[start:end]
            if unit.step_back(workspace[:, start:end], slopes[:, start:end], here, of_memory, gates[start:end]):
                here += np.matmul(flat, of_hidden, out=fresh[:end - start])
            else:
                np.matmul(flat, of_hidden, out=here)
    flat = gates.reshape(total, -1)
    of_products = gates[:, [0, 1, 3]].reshape(total, width) if mode == GATED else flat
    weights = [by_gate(grads.T @ states, unit.order).reshape(width, states.shape[1])
               for grads, states in ((of_products, rows), (flat[:, :width], hidden))]
    bias = by_gate(of_products.sum(0), unit.order).reshape(width)
    of_hidden_bias = flat[:, :width].sum(0) if mode == GATED else bias.copy()
    to_input = (of_products @ of_input).reshape(input.shape) if options[3] else None
    return to_input, *weights, bias, of_hidden_bias, grad_hidden, grad_memory


# -- single steps ------------------------------------------------------------------------------------------------------

def are_rows(gates: int, input: array, hx: array, *weights: Any) -> bool:
    """Return whether a step takes rows of one dtype and their states, and has biases."""
    if input.ndim != 2 or hx.ndim != 2 or not input.size or any(x is None for x in weights):
        return False
    rows, size = gates * hx.shape[1], hx.shape[1]
    return input.dtype.char in "fd" and all(x.dtype is input.dtype for x in (hx, *weights)) and len(
        input) == len(hx) and [x.shape for x in weights] == [(rows, input.shape[1]), (rows, size), (rows,), (rows,)]


def gru_cell(input: array, hx: array, w_ih: array, w_hh: array, b_ih: array | None = None,
             b_hh: array | None = None) -> Any:
    """Prepare a step of a gated recurrent unit with biases."""
    if not are_rows(3, input, hx, w_ih, w_hh, b_ih, b_hh):
        return None
    size = hx.shape[1]

    def run(input: array, hx: array, w_ih: array, w_hh: array, b_ih: array, b_hh: array) -> array:
        given, product = affine(b_ih, input, w_ih.T), affine(b_hh, hx, w_hh.T)
        gates, new = given[:, :2 * size], product[:, 2 * size:]
        gates += product[:, :2 * size]
        gates = sigmoid(gates)
        new *= gates[:, :size]
        new += given[:, 2 * size:]
        np.tanh(new, out=new)
        shown = np.subtract(hx, new, order="C")
        shown *= gates[:, size:]
        return np.add(shown, new, shown)

    return run


@taking(6)
def lstm_cell(input: array, hx: list[array], w_ih: array, w_hh: array, b_ih: array | None = None,
              b_hh: array | None = None) -> Any:
    """Prepare a step of long short-term memory with biases."""
    hidden, memory = hx
    if not are_rows(4, input, hidden, w_ih, w_hh, b_ih, b_hh) or memory.shape != hidden.shape or (
            memory.dtype is not hidden.dtype):
        return None
    size = hidden.shape[1]

    def run(input: array, hx: list[array], w_ih: array, w_hh: array, b_ih: array, b_hh: array) -> tuple[array, array]:
        gates = affine(b_ih, input, w_ih.T)
        gates += affine(b_hh, hx[0], w_hh.T)
        candidate = np.tanh(gates[:, 2 * size:3 * size])
        gates = sigmoid(gates)
        candidate *= gates[:, :size]
        kept = np.multiply(gates[:, size:2 * size], hx[1], order="C")
        kept += candidate
        shown = np.tanh(kept)
        shown *= gates[:, 3 * size:]
        return shown, kept

    return run


CPU_KERNELS.add(mkldnn_rnn_layer, mkldnn_rnn_layer_backward)
AT_ONCE.add(gru_cell, lstm_cell)
