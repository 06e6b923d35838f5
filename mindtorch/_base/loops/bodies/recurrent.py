"""Steps of long short-term memory."""
from __future__ import annotations

from typing import Any

from numba import njit

from .activation import exp
from .writing import f32, loop, polynomial

#: Taylor's series of the hyperbolic tangent in squares, from which ``NEAR`` on a quotient is as exact.
TANH = tuple(f32(c) for c in (-1382 / 155925, 62 / 2835, -17 / 315, 2 / 15, -1 / 3, 1))
NEAR = f32(0.4)
STATES, PLANES = "float32[:,:,:,::1]", "float32[:,::1]"


@njit
def tanh_of(x: Any) -> Any:
    rest = exp(f32(-2) * abs(x))
    far = (f32(1) - rest) / (f32(1) + rest)
    return x * polynomial(x * x, TANH) if abs(x) < NEAR else far if x > f32(0) else -far


@loop(STATES, "float32[:,:,::1]", PLANES, PLANES, PLANES, "int64")
def lstm_step(states: Any, product: Any, bias: Any, memory: Any, hidden: Any, step: Any) -> None:
    """Compute the gates and the next states of a step, given the products (batch, gate, size) of the hidden states.
    ``states`` holds input, forget and output gate, candidate and
    cell state, of which the first four are the inputs' products; those of gates are halved.
    """
    for row in range(len(memory)):
        for gate in range(4):
            line, result, added = product[row, gate], states[gate, step, row], bias[gate]
            if gate < 3:
                for i in range(len(line)):
                    result[i] = f32(1) / (f32(1) + exp(f32(-2) * (line[i] + result[i] + added[i])))
            else:
                for i in range(len(line)):
                    result[i] = tanh_of(line[i] + result[i] + added[i])
        entering, forget, candidate = states[0, step, row], states[1, step, row], states[3, step, row]
        before, kept = memory[row], states[4, step, row]
        for i in range(len(kept)):
            kept[i] = forget[i] * before[i] + entering[i] * candidate[i]
        leaving, shown = states[2, step, row], hidden[row]
        for i in range(len(kept)):
            shown[i] = leaving[i] * tanh_of(kept[i])


@loop(STATES, PLANES, PLANES, PLANES, PLANES, "float32[:,:,::1]", PLANES, "int64")
def lstm_step_backward(states: Any, memory: Any, grad_output: Any, grad_hidden: Any, grad_memory: Any, gates: Any,
                       shown: Any, step: Any) -> None:
    """Compute the gradients of the gates' inputs (batch, gate, size), and of the cell state before the step, given that
    of the hidden state after it. ``shown`` is overwritten.
    """
    for row in range(len(memory)):
        entering, forget, leaving = states[0, step, row], states[1, step, row], states[2, step, row]
        candidate, kept, before = states[3, step, row], states[4, step, row], memory[row]
        of_hidden, of_memory, given, tanh = grad_hidden[row], grad_memory[row], grad_output[row], shown[row]
        for i in range(len(kept)):
            of_hidden[i] += given[i]
        for i in range(len(kept)):
            tanh[i] = tanh_of(kept[i])
        for i in range(len(kept)):
            of_memory[i] += of_hidden[i] * leaving[i] * (f32(1) - tanh[i] * tanh[i])
        result = gates[row, 2]
        for i in range(len(kept)):
            result[i] = of_hidden[i] * tanh[i] * leaving[i] * (f32(1) - leaving[i])
        result = gates[row, 0]
        for i in range(len(kept)):
            result[i] = of_memory[i] * candidate[i] * entering[i] * (f32(1) - entering[i])
        result = gates[row, 1]
        for i in range(len(kept)):
            result[i] = of_memory[i] * before[i] * forget[i] * (f32(1) - forget[i])
        result = gates[row, 3]
        for i in range(len(kept)):
            result[i] = of_memory[i] * entering[i] * (f32(1) - candidate[i] * candidate[i])
        for i in range(len(kept)):
            of_memory[i] *= forget[i]
