"""Steps of recurrent networks."""
from __future__ import annotations

from math import exp as exp_of, inf, log
from typing import Any

from numba import njit

from .activation import exp
from .writing import f32, loop, polynomial

#: Taylor's series of the hyperbolic tangent in squares, from which ``NEAR`` on a quotient is as exact.
TANH = tuple(f32(c) for c in (-1382 / 155925, 62 / 2835, -17 / 315, 2 / 15, -1 / 3, 1))
NEAR = f32(0.4)
STATES, PLANES = "float32[:,:,::1]", "float32[:,::1]"


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
def of_sigmoid(grad: Any, factor: Any, y: Any, out: Any) -> None:
    """Compute the gradient of the input of a sigmoid with value ``y``, given the products that yield that of ``y``."""
    for i in range(len(out)):
        out[i] = grad[i] * factor[i] * y[i] * (f32(1) - y[i])


@loop(STATES, "float32[:,:,::1]", PLANES, PLANES, PLANES, "int64")
def lstm_step(states: Any, product: Any, bias: Any, memory: Any, hidden: Any, start: Any) -> None:
    """Compute the gates and the next states of a step, given the products (batch, gate, size) of the hidden states.
    ``states`` holds input, forget and output gate, candidate and
    cell state, of which the first four are the inputs' products; those of gates are halved.
    """
    for row in range(len(memory)):
        for gate in range(4):
            line, result, added = product[row, gate], states[gate, start + row], bias[gate]
            if gate < 3:
                sigmoid_of_halves(line, added, result)
            else:
                for i in range(len(line)):
                    result[i] = tanh_of(line[i] + result[i] + added[i])
        entering, forget, candidate = states[0, start + row], states[1, start + row], states[3, start + row]
        before, kept = memory[row], states[4, start + row]
        for i in range(len(kept)):
            kept[i] = forget[i] * before[i] + entering[i] * candidate[i]
        leaving, shown = states[2, start + row], hidden[row]
        for i in range(len(kept)):
            shown[i] = leaving[i] * tanh_of(kept[i])


@loop(STATES, PLANES, PLANES, PLANES, PLANES, "float32[:,:,::1]", PLANES, "int64")
def lstm_step_backward(states: Any, memory: Any, grad_output: Any, grad_hidden: Any, grad_memory: Any, gates: Any,
                       shown: Any, start: Any) -> None:
    """Compute the gradients of the gates' inputs (batch, gate, size), and of the cell state before the step, given that
    of the hidden state after it. ``shown`` is overwritten.
    """
    for row in range(len(memory)):
        entering, forget, leaving = states[0, start + row], states[1, start + row], states[2, start + row]
        candidate, kept, before = states[3, start + row], states[4, start + row], memory[row]
        of_hidden, of_memory, given, tanh = grad_hidden[row], grad_memory[row], grad_output[row], shown[row]
        for i in range(len(kept)):
            of_hidden[i] += given[i]
        for i in range(len(kept)):
            tanh[i] = tanh_of(kept[i])
        for i in range(len(kept)):
            of_memory[i] += of_hidden[i] * leaving[i] * (f32(1) - tanh[i] * tanh[i])
        of_sigmoid(of_hidden, tanh, leaving, gates[row, 2])
        of_sigmoid(of_memory, candidate, entering, gates[row, 0])
        of_sigmoid(of_memory, before, forget, gates[row, 1])
        result = gates[row, 3]
        for i in range(len(kept)):
            result[i] = of_memory[i] * entering[i] * (f32(1) - candidate[i] * candidate[i])
        for i in range(len(kept)):
            of_memory[i] *= forget[i]


@loop(STATES, "float32[:,:,::1]", PLANES, PLANES, PLANES, "int64")
def gru_step(states: Any, product: Any, bias: Any, before: Any, hidden: Any, start: Any) -> None:
    """As ``lstm_step``: ``states`` holds reset gate, update gate, candidate and the candidate's product with the hidden
    state, of which the first three are the inputs' products. The last bias is that of the candidate's.
    """
    for row in range(len(before)):
        for gate in range(2):
            sigmoid_of_halves(product[row, gate], bias[gate], states[gate, start + row])
        reset, update, candidate, kept = (states[0, start + row], states[1, start + row], states[2, start + row],
                                          states[3, start + row])
        line, added, entering = product[row, 2], bias[2], bias[3]
        for i in range(len(kept)):
            kept[i] = line[i] + added[i]
        for i in range(len(kept)):
            candidate[i] = tanh_of(candidate[i] + entering[i] + reset[i] * kept[i])
        given, shown = before[row], hidden[row]
        for i in range(len(kept)):
            shown[i] = (given[i] - candidate[i]) * update[i] + candidate[i]


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
