"""Steps of recurrent networks."""
from __future__ import annotations

from math import exp as exp_of, inf, log
from typing import Any

import numpy as np
from numba import njit

from .activation import exp
from .product import product
from .writing import f32, loop, polynomial

#: Taylor's series of the hyperbolic tangent in squares, from which ``NEAR`` on a quotient is as exact.
TANH = tuple(f32(c) for c in (-1382 / 155925, 62 / 2835, -17 / 315, 2 / 15, -1 / 3, 1))
NEAR = f32(0.4)
STATES, PLANES, PLACES = "float32[:,:,::1]", "float32[:,::1]", "int64[:,::1]"
multiply = njit(product)


@njit
def tanh_of(x: Any) -> Any:
    rest = exp(f32(-2) * abs(x))
    far = (f32(1) - rest) / (f32(1) + rest)
    return x * polynomial(x * x, TANH) if abs(x) < NEAR else far if x > f32(0) else -far


@njit
def sigmoid_of_halves(x: Any, y: Any, out: Any) -> None:
    """Compute the sigmoid of twice the sum with what stands in ``out``."""
    for i in range(len(out)):
        out[i] = f32(1) / (f32(1) + exp(f32(-2) * (x[i] + out[i] + y[i])))


@njit
def multiplied(hidden: Any, weight: Any, place: Any, out: Any) -> Any:
    """Multiply the hidden states of a step; return its first row, and how many there are."""
    count = place[1] - place[0]
    multiply(hidden[:count], weight, out[:count])
    return place[0], count


@njit
def of_sigmoid(grad: Any, factor: Any, y: Any, out: Any) -> None:
    """Compute the gradient of the input of a sigmoid with value ``y``, given the products that yield that of ``y``."""
    for i in range(len(out)):
        out[i] = grad[i] * factor[i] * y[i] * (f32(1) - y[i])


@loop(STATES, PLANES, PLANES, PLANES, PLANES, PLACES, PLANES)
def lstm_steps(states: Any, weight: Any, bias: Any, hidden: Any, memory: Any, places: Any, output: Any) -> None:
    """Compute the gates and states of all steps, whose rows begin and end at ``places``; ``hidden`` and ``memory`` are
    the states before the first step, and become those after the last. ``states`` holds input, forget and output gate,
    candidate and cell state, of which the first four are the inputs' products; those of gates are halved.
    """
    size = len(weight)
    room = np.empty((len(hidden), 4 * size), f32)
    for step in range(len(places)):
        start, count = multiplied(hidden, weight, places[step], room)
        for row in range(count):
            at, before, shown = start + row, memory[row], hidden[row]
            for gate in range(4):
                line, result, added = room[row, gate * size:(gate + 1) * size], states[gate, at], bias[gate]
                if gate < 3:
                    sigmoid_of_halves(line, added, result)
                else:
                    for i in range(size):
                        result[i] = tanh_of(line[i] + result[i] + added[i])
            entering, forget, leaving, candidate, kept, out = (
                states[0, at], states[1, at], states[2, at], states[3, at], states[4, at], output[at])
            for i in range(size):
                kept[i] = forget[i] * before[i] + entering[i] * candidate[i]
            for i in range(size):
                before[i] = kept[i]
            for i in range(size):
                shown[i] = leaving[i] * tanh_of(kept[i])
            for i in range(size):
                out[i] = shown[i]


@loop(STATES, *[PLANES] * 5, PLACES, PLANES)
def lstm_steps_backward(states: Any, weight: Any, memory: Any, grad_output: Any, grad_hidden: Any, grad_memory: Any,
                        places: Any, gates: Any) -> None:
    """Compute the gradients of the gates' inputs (rows, gates * size), and of the states before the first step, given
    those after the last and the cell states before each step.
    """
    size = weight.shape[1]
    tanh = np.empty(size, f32)
    for step in range(len(places) - 1, -1, -1):
        start, end = places[step, 0], places[step, 1]
        for at in range(start, end):
            entering, forget, leaving, candidate = states[0, at], states[1, at], states[2, at], states[3, at]
            kept, before, given = states[4, at], memory[at], grad_output[at]
            of_hidden, of_memory = grad_hidden[at - start], grad_memory[at - start]
            for i in range(size):
                of_hidden[i] += given[i]
            for i in range(size):
                tanh[i] = tanh_of(kept[i])
            for i in range(size):
                of_memory[i] += of_hidden[i] * leaving[i] * (f32(1) - tanh[i] * tanh[i])
            of_sigmoid(of_memory, candidate, entering, gates[at, :size])
            of_sigmoid(of_memory, before, forget, gates[at, size:2 * size])
            of_sigmoid(of_hidden, tanh, leaving, gates[at, 2 * size:3 * size])
            result = gates[at, 3 * size:]
            for i in range(size):
                result[i] = of_memory[i] * entering[i] * (f32(1) - candidate[i] * candidate[i])
            for i in range(size):
                of_memory[i] *= forget[i]
        multiply(gates[start:end], weight, grad_hidden[:end - start])


@loop(STATES, PLANES, PLANES, PLANES, PLACES, PLANES)
def gru_steps(states: Any, weight: Any, bias: Any, hidden: Any, places: Any, output: Any) -> None:
    """As ``lstm_steps``: ``states`` holds reset gate, update gate, candidate and the candidate's product with the
    hidden state, of which the first three are the inputs' products. The last bias is that of the candidate's.
    """
    size = len(weight)
    room = np.empty((len(hidden), 3 * size), f32)
    for step in range(len(places)):
        start, count = multiplied(hidden, weight, places[step], room)
        for row in range(count):
            at, shown = start + row, hidden[row]
            for gate in range(2):
                sigmoid_of_halves(room[row, gate * size:(gate + 1) * size], bias[gate], states[gate, at])
            reset, update, candidate, kept, out = states[0, at], states[1, at], states[2, at], states[3, at], output[at]
            line, added, entering = room[row, 2 * size:], bias[2], bias[3]
            for i in range(size):
                kept[i] = line[i] + added[i]
            for i in range(size):
                candidate[i] = tanh_of(candidate[i] + entering[i] + reset[i] * kept[i])
            for i in range(size):
                shown[i] = (shown[i] - candidate[i]) * update[i] + candidate[i]
            for i in range(size):
                out[i] = shown[i]


@loop("float64[:,:,::1]", "uint8[:,::1]", "float64[:,::1]", "int64[::1]", "float64[:,:,::1]")
def add_paths(probs: Any, may_skip: Any, first: Any, starts: Any, out: Any) -> None:
    """Add up the probabilities, given and returned as logarithms (time, batch, states), of paths that stay in a state,
    come from the one before, or from the second before where they may skip.
    """
    for row in range(probs.shape[1]):
        for t in range(starts[row], len(probs)):
            factor, now, before = probs[t, row], out[t, row], out[t - 1, row]
            for i in range(len(now)):
                if t == starts[row]:
                    now[i] = first[row, i] + factor[i]
                    continue
                one, two = before[i - 1] if i > 0 else -inf, before[i - 2] if i > 1 and may_skip[row, i - 2] else -inf
                most = before[i]
                most = one if one > most else most
                most = two if two > most else most
                if abs(most) != inf:
                    most += log(exp_of(before[i] - most) + exp_of(one - most) + exp_of(two - most))
                now[i] = most + factor[i]
