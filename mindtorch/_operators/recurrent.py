"""Recurrent networks: whole layers, single steps, and the packing of sequences of different lengths.

``hx`` and ``params`` are those of all layers; ``.data`` overloads take the data of a packed sequence."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from time import perf_counter_ns
from typing import Any, NamedTuple

from .._autograd.engine import grad as grad_of
from .._autograd.folded import Fold, edges_of, is_ours, of_any_strides, record_several, recorded
from .._autograd.grad_mode import enable_grad
from .._base.errors import NAMES, check
from .._base.layout import Spec
from .._creation.data import tensor
from .._dispatch import dispatcher
from .._dispatch.aten import cat, dropout as drop_out, linear, mkldnn_rnn_layer, mkldnn_rnn_layer_backward, stack, zeros
from .._dispatch.dispatcher import keys_of
from .._dispatch.keys import AUTOGRAD, CPU, NONCONTIGUOUS, OBSERVED, REDIRECTING
from .._dispatch.local import local
from .._dispatch.observers import tell_parts, untold
from .._dispatch.schemas import registry
from .._dtype import float32, float64, int64
from .._tensor import Tensor
from . import composites, differentiates, operator, schemas

State = tuple[Any, ...]


class Cell(NamedTuple):
    """One direction of one layer: its weights."""

    w_ih: Any
    w_hh: Any
    b_ih: Any = None
    b_hh: Any = None
    w_hr: Any = None

    def of_input(self, input: Any) -> Any:
        return linear(input, self.w_ih, self.b_ih)

    def of_hidden(self, hidden: Any) -> Any:
        return linear(hidden, self.w_hh, self.b_hh)


Step = Callable[[Any, State, Cell], State]


def tanh_step(gates: Any, state: State, cell: Cell) -> State:
    return (cell.of_hidden(state[0]).add_(gates).tanh(),)


def relu_step(gates: Any, state: State, cell: Cell) -> State:
    return (cell.of_hidden(state[0]).add_(gates).relu(),)


def gru_step(gates: Any, state: State, cell: Cell) -> State:
    (hidden,) = state
    input_reset, input_update, input_new = gates.unsafe_chunk(3, 1)
    reset, update, new = cell.of_hidden(hidden).unsafe_chunk(3, 1)
    reset.add_(input_reset).sigmoid_()
    update.add_(input_update).sigmoid_()
    new = input_new.add(new.mul_(reset)).tanh_()
    return ((hidden - new).mul_(update).add_(new),)


def layer(step: Step, input: Any, state: State, cell: Cell, reverse: bool) -> tuple[Any, State]:
    """One direction over a sequence (steps, batch, features)."""
    check(input.size(0), "Expected sequence length to be larger than 0 in RNN")
    outputs = []
    steps = cell.of_input(input).unbind(0)
    for gates in reversed(steps) if reverse else steps:
        state = step(gates, state, cell)
        outputs.append(state[0])
    return stack(outputs[::-1] if reverse else outputs, 0), state


def mkldnn_layer(step: Step, input: Any, batch_sizes: Sequence[int], state: State, cell: Cell, reverse: bool,
                 train: bool) -> tuple[Any, State]:
    """As ``layer``, in one operator, as PyTorch computes it by oneDNN."""
    b_ih, b_hh = cell.b_ih, cell.b_hh
    if b_ih is None:
        b_ih = b_hh = cell.w_ih.new_zeros(cell.w_ih.size(0))
    hidden, memory = state
    output, *ends, _ = mkldnn_rnn_layer(input, cell.w_ih, cell.w_hh, b_ih, b_hh, hidden, memory, reverse, batch_sizes,
                                        LSTM, hidden.size(1), 1, cell.b_ih is not None, False, False, train)
    return output, tuple(ends)


def outputs_of(step: Step, batch_sizes: Sequence[int], reverse: bool, input: Any, w_ih: Any, w_hh: Any, b_ih: Any,
               b_hh: Any, *state: Any) -> list[Any]:
    """Return output and states of one direction, by operators one by one."""
    cell = Cell(w_ih, w_hh, b_ih, b_hh)
    output, ends = packed_layer(step, input, batch_sizes, state, cell, reverse) if batch_sizes else layer(
        step, input, state, cell, reverse)
    return [output, *ends]


def fused_layer(step: Step, input: Any, batch_sizes: Sequence[int], state: State, cell: Cell, reverse: bool,
                train: bool) -> tuple[Any, State]:
    """As ``layer``, or ``packed_layer`` of data, in one kernel, and recorded as one node."""
    composite, inputs = partial(outputs_of, step, batch_sizes, reverse), [input, *cell[:4], *state]
    output, *ends = fused(step, composite, batch_sizes, inputs, reverse, train)
    return output, tuple(ends)


def fused(step: Step, composite: Callable[..., list[Any]], batch_sizes: Sequence[int], inputs: list[Any], reverse: bool,
          train: bool, states_alone: bool = False) -> list[Any]:
    """Compute output and states of a layer, or its ``states_alone``, as ``composite`` does, in one kernel."""
    edges, state = edges_of(inputs) if local.grad_enabled else [], inputs[5:]
    if edges is None or not fits(step, inputs, batch_sizes):
        return composite(*inputs)
    start = perf_counter_ns() if dispatcher.mode & OBSERVED else 0
    options = MODES.index(step), state[0]._array.shape[1], 1, inputs[3] is not None
    output, *ends, workspace = of_any_strides(RNN_LAYER)(
        *arguments(inputs), reverse, batch_sizes, *options, False, False, train)
    outputs, wants = [output, *ends][states_alone:1 + len(state)], [position for position, _ in edges]
    if start:
        duration = perf_counter_ns() - start
        tell_parts(partial(recorded, composite, wants), tuple(inputs), outputs, start, duration)
    if edges:
        steps = len(batch_sizes) or len(inputs[0]._array)
        backward = partial(fused_gradients, reverse, batch_sizes, options, states_alone)
        saves = [1 in wants, 0 in wants, steps > 1 or 5 in wants, False, False, 2 in wants, wants != [6]]
        record_several(Fold(composite, backward, 24 * steps + 32), inputs, edges, saves[:len(inputs)], outputs,
                       [output if states_alone else output._contiguous_copy(), workspace])
    return outputs


def fits(step: Step, inputs: list[Any], batch_sizes: Sequence[int]) -> bool:
    """Return True unless the operators of a step have to broadcast or to refuse the inputs of a layer."""
    shapes: list[Any] = [None if x is None else x._array.shape for x in inputs]
    shape, w_ih, w_hh, b_ih, b_hh, *states = shapes
    packed, size = len(batch_sizes) > 0, states[0][-1]
    if len(shape) != 3 - packed or (packed and (sum(batch_sizes) != shape[0] or any(
            [before < after for before, after in pairwise(batch_sizes)]))):  # noqa: C419
        return False
    rows, begin = GATES[MODES.index(step)] * size, (batch_sizes[0] if packed else shape[1], size)
    return (w_ih == (rows, shape[-1]) and w_hh == (rows, size) and b_ih == b_hh and b_ih in (None, (rows,))
            and states == [begin] * len(states))


def arguments(inputs: Sequence[Any]) -> list[Any]:
    """Return the tensors that the kernel takes: with biases, and with a cell state, even if it does not matter."""
    input, w_ih, w_hh, b_ih, b_hh, *state = inputs
    if b_ih is None:
        with untold():
            b_ih = b_hh = zeros((w_ih.shape[0],), w_ih._dtype)
    return [input, w_ih, w_hh, b_ih, b_hh, state[0], state[-1]]


def fused_gradients(reverse: bool, batch_sizes: Sequence[int], options: tuple[Any, ...], states_alone: bool,
                    grads: list[Any], inputs: list[Any], kept: Sequence[Any], wanted: list[int]) -> list[Any]:
    """Return the gradients of the inputs of a fused layer."""
    (output, workspace), grads = kept, [*[None] * states_alone, *grads]
    given = arguments(inputs)
    results = of_any_strides(RNN_LAYER_BACKWARD)(
        *given, output, *given[5:], *grads, *[None] * (3 - len(grads)), reverse, *options, wanted[0] == 0, False,
        tuple(batch_sizes), False, workspace)
    return [result if position in wanted else None for position, result in enumerate(results[:len(inputs)])]


def packed_layer(step: Step, data: Any, batch_sizes: Sequence[int], state: State, cell: Cell,
                 reverse: bool) -> tuple[Any, State]:
    """One direction over a packed sequence: sequences end, or, from the last step back, begin, in the middle."""
    gates = cell.of_input(data)
    return (packed_backward if reverse else packed_forward)(step, gates, batch_sizes, state, cell)


def packed_forward(step: Step, gates: Any, batch_sizes: Sequence[int], state: State, cell: Cell) -> tuple[Any, State]:
    outputs, ended, offset, before = [], [], 0, batch_sizes[0]
    for size in batch_sizes:
        if size < before:
            ended.append(tuple(part.narrow(0, size, before - size) for part in state))
            state = tuple(part.narrow(0, 0, size) for part in state)
        state = step(gates.narrow(0, offset, size), state, cell)
        outputs.append(state[0])
        offset, before = offset + size, size
    ended.append(state)
    return cat(outputs, 0), tuple(cat(parts, 0) for parts in zip(*reversed(ended), strict=True))


def packed_backward(step: Step, gates: Any, batch_sizes: Sequence[int], first: State, cell: Cell) -> tuple[Any, State]:
    outputs, offset, before = [], gates.size(0), batch_sizes[-1]
    state = tuple(part.narrow(0, 0, before) for part in first)
    for size in reversed(batch_sizes):
        if size > before:
            state = tuple(cat([part, begin.narrow(0, before, size - before)], 0)
                          for part, begin in zip(state, first, strict=True))
        offset, before = offset - size, size
        state = step(gates.narrow(0, offset, size), state, cell)
        outputs.append(state[0])
    return cat(outputs[::-1], 0), state


def cells_of(params: Sequence[Any], has_biases: bool, projected: bool) -> list[Cell]:
    """Return the weights by layer and direction."""
    size = 2 + 2 * has_biases + projected
    check(len(params) % size == 0, "got an incorrect number of RNN parameters")
    cells = []
    for i in range(0, len(params), size):
        names = ("w_ih", "w_hh", *(("b_ih", "b_hh") if has_biases else ()), *(("w_hr",) if projected else ()))
        cells.append(Cell(**dict(zip(names, params[i:i + size], strict=True))))
    return cells


def check_together(input: Any, params: Sequence[Any], states: State) -> None:
    """Input, states and weights have one device and one dtype."""
    for kind, others in (("hidden", states), ("parameter", params)):
        for other in others:
            if other.device != input.device:
                raise RuntimeError(f"Input and {kind} tensors are not at the same device, found input tensor at "
                                   f"{input.device} and {kind} tensor at {other.device}")
            if other.dtype != input.dtype:
                raise RuntimeError(f"Input and {kind} tensors are not the same dtype, found input tensor with "
                                   f"{NAMES[input._dtype.name]} and {kind} tensor with {NAMES[other._dtype.name]}")


def way_of(step: Step, packed: bool, tensors: tuple[Any, ...]) -> Any:
    """Return the function that computes a layer: by one operator what PyTorch gives to oneDNN, and by one kernel on the
    CPU what nothing casts, transforms or looks at operator by operator; None for all other calls.
    """
    first, keys = tensors[0], keys_of(tensors)
    if first.device.type != "cpu" or first.dtype not in (float32, float64):
        return None
    if step is lstm_step and not packed and first.dtype is float32:
        return mkldnn_layer
    plain = not (keys & ~(CPU | NONCONTIGUOUS | AUTOGRAD) or dispatcher.mode & REDIRECTING)
    return fused_layer if plain and parts_are_ours(registry.changes) else None


@lru_cache(1)
def parts_are_ours(changes: int) -> bool:
    """Return True unless a user has replaced a kernel or a derivative of the operators of a step; ``changes`` counts
    the registrations so far.
    """
    return all(map(is_ours, PARTS))


def network(step: Step, input: Any, batch_sizes: Sequence[int] | None, states: State, params: Sequence[Any],
            has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> tuple[Any, ...]:
    """Return the output of the last layer, and the last state of every layer and direction."""
    check_together(input, params, states)
    projected = len(states) == 2 and states[0].size(2) != states[1].size(2)
    cells = cells_of(params, has_biases, projected)
    way = None if projected or not input.numel() else way_of(step, batch_sizes is not None, (input, *states, *params))
    directions = 2 if bidirectional else 1
    begin = ([part.select(0, i) for part in states] for i in range(len(cells))) if way is mkldnn_layer else zip(
        *(part.unbind(0) for part in states), strict=True)
    begins, ends = [tuple(state) for state in begin], []
    for number in range(num_layers):
        outputs = []
        for direction in range(directions):
            at, reverse = directions * number + direction, direction == 1
            if way is not None:
                output, end = way(step, input, tuple(batch_sizes or ()), begins[at], cells[at], reverse, train)
            elif batch_sizes is None:
                output, end = layer(step, input, begins[at], cells[at], reverse)
            else:
                output, end = packed_layer(step, input, batch_sizes, begins[at], cells[at], reverse)
            outputs.append(output)
            ends.append(end)
        input = cat(outputs, -1) if bidirectional else outputs[0]
        if dropout and train and number < num_layers - 1:
            input = drop_out(input, dropout, True)
    return input, *(stack(parts, 0) for parts in zip(*ends, strict=True))


def rows(step: Step) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the operators of a network of ``step``, for padded and for packed sequences."""

    def padded(input: Any, hx: Any, params: Sequence[Any], has_biases: bool, num_layers: int, dropout: float,
               train: bool, bidirectional: bool, batch_first: bool) -> tuple[Any, ...]:
        output, *last = network(step, input.transpose(0, 1) if batch_first else input, None, states(hx), params,
                                has_biases, num_layers, dropout, train, bidirectional)
        if batch_first:  # in place but for cells with two states, as in PyTorch
            output = output.transpose(0, 1) if len(last) == 2 else output.transpose_(0, 1)
        return output, *last

    def packed(data: Any, batch_sizes: Any, hx: Any, params: Sequence[Any], *options: Any) -> tuple[Any, ...]:
        return network(step, data, batch_sizes.tolist(), states(hx), params, *options)

    def states(hx: Any) -> State:
        if step is not lstm_step:
            return (hx,)
        check(len(hx) == 2, "lstm expects two hidden states")
        return tuple(hx)

    return padded, packed


def single(step: Step) -> Callable[..., Any]:
    """Return the operator of a single step of a cell with one state."""

    def cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
        return stepped(step, input, (hx,), Cell(w_ih, w_hh, b_ih, b_hh))[0]

    return cell


def stepped(step: Step, input: Any, state: State, cell: Cell) -> State:
    """Return the states after a step; those of gates in one kernel and recorded as one node where that is to be."""
    for one in state:
        check_sizes(input, one, cell)
    tensors = (input, *cell[:4], *state)
    if step in WRITTEN and local.grad_enabled and input.numel() and not (
            keys_of(state) & NONCONTIGUOUS) and way_of(step, True, tensors):  # whose strides the next states have
        states = fused(step, partial(states_after, step), (input._array.shape[0],), [*tensors], False, True, True)
        states[-1]._start_counter()[0] = WRITTEN[step]
        return tuple(states)
    return tuple(states_after(step, *tensors))


def states_after(step: Step, input: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, *state: Any) -> list[Any]:
    """Return the states after a step by operators one by one."""
    cell = Cell(w_ih, w_hh, b_ih, b_hh)
    return [*step(cell.of_input(input), state, cell)]


schemas("""
function:
    rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)  # The outputs and the last hidden states of layers in which h' = tanh(W_ih x + b_ih + W_hh h + b_hh), with the weights `params`, over the sequence `input` and from the states `hx`.
    rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)
    rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)  # The outputs and the last hidden states of layers in which h' = relu(W_ih x + b_ih + W_hh h + b_hh), with the weights `params`, over the sequence `input` and from the states `hx`.
    rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)
    lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)  # The outputs, and the last hidden and cell states, of layers of long short-term memory with the weights `params`, over the sequence `input` and from the states `hx`.
    lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)
    gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)  # The outputs and the last hidden states of layers of gated recurrent units with the weights `params`, over the sequence `input` and from the states `hx`.
    gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)
    rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor  # The next hidden state, tanh(`w_ih` `input` + `b_ih` + `w_hh` `hx` + `b_hh`).
    rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor  # The next hidden state, relu(`w_ih` `input` + `b_ih` + `w_hh` `hx` + `b_hh`).
    lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)  # The next hidden and cell states of long short-term memory, for `input` and the states `hx`.
""")  # noqa: E501

def lstm_step(gates: Any, state: State, cell: Cell) -> State:
    hidden, memory = state
    input, forget, candidate, output = cell.of_hidden(hidden).add_(gates).unsafe_chunk(4, 1)
    input.sigmoid_(), forget.sigmoid_(), candidate.tanh_(), output.sigmoid_()
    memory = (forget * memory).add_(input * candidate)
    hidden = output * memory.tanh()
    return (hidden if cell.w_hr is None else linear(hidden, cell.w_hr)), memory


def lstm_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> State:
    check(len(hx) == 2, "lstm_cell expects two hidden states")
    return stepped(lstm_step, input, tuple(hx), Cell(w_ih, w_hh, b_ih, b_hh))


def check_sizes(input: Any, hx: Any, cell: Cell) -> None:
    expected = cell.w_ih.size(1), cell.w_hh.size(1)
    check(input.size(1) == expected[0],
          lambda: f"input has inconsistent input_size: got {input.size(1)} expected {expected[0]}")
    check(input.size(0) == hx.size(0),
          lambda: f"Input batch size {input.size(0)} doesn't match hidden0 batch size {hx.size(0)}")
    check(hx.size(1) == expected[1],
          lambda: f"hidden0 has inconsistent hidden_size: got {hx.size(1)}, expected {expected[1]}")


operator("rnn_tanh_cell rnn_relu_cell", autocast="npu lower")
operator("lstm_cell", composite=lstm_cell, autocast="npu lower")

schemas("""
function:
    gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor  # The next hidden state of a gated recurrent unit, for `input` and the state `hx`.
    _pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)  # The elements of the padded sequences `input`, step by step without the padding, and how many sequences reach each step.
    _pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length) -> (Tensor, Tensor)  # The packed sequences `data`, each continued with `padding_value` up to `total_length`, and their lengths.
""")  # noqa: E501


def _pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Any, Any]:
    check(input.numel(), "Cannot pack empty tensors.")
    steps = input.transpose(0, 1) if batch_first else input
    check(lengths.dim() == 1 and lengths.device.type == "cpu" and lengths.dtype == int64,
          lambda: "'lengths' argument should be a 1D CPU int64 tensor, but got "
          f"{lengths.dim()}D {lengths.device.type} {NAMES[lengths._dtype.name]} tensor")
    sizes = lengths.tolist()
    check(len(sizes) == steps.size(1), lambda: "Expected `len(lengths)` to be equal to batch_size, but got "
          f"{len(sizes)} (batch_size={steps.size(1)})")
    check(sizes[-1] > 0, "Length of all samples has to be greater than 0, but found an element in 'lengths' that is "
          "<= 0")
    check(all(a >= b for a, b in pairwise(sizes)),
          "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
          "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do "
          "not need ONNX exportability.")
    check(sizes[0] <= steps.size(0), lambda: f"Expected sequence length to be at most {steps.size(0)}, got {sizes[0]}")
    batches = [sum(size > step for size in sizes) for step in range(sizes[0])]
    return cat([steps[step, :batch] for step, batch in enumerate(batches)], 0), tensor(batches, dtype=int64)


def _pad_packed_sequence(data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: Any,
                         total_length: int) -> tuple[Any, Any]:
    batches = batch_sizes.tolist()
    length = max(total_length, len(batches))
    check(total_length <= 0 or total_length >= len(batches),
          lambda: "Expected total_length to be at least the length of the longest sequence in input, but got "
          f"total_length={total_length} and max sequence length being {len(batches)}")
    out = data.new_full((length, batches[0], *data.shape[1:]), padding_value)
    offset, begin = 0, 0
    for end in range(1, len(batches) + 1):  # steps that equally many sequences reach are copied at once
        if end == len(batches) or batches[end] != batches[begin]:
            count = (end - begin) * batches[begin]
            part = data.narrow(0, offset, count).view((end - begin, batches[begin], *data.shape[1:]))
            out[begin:end, :batches[begin]] = part
            offset, begin = offset + count, end
    lengths = tensor([sum(row < batch for batch in batches) for row in range(batches[0])], dtype=int64)
    return out.transpose(0, 1) if batch_first else out, lengths


composites(_pack_padded_sequence, _pad_packed_sequence)
operator("gru_cell", autocast="npu lower")

schemas("""
operator only:
    pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0.0, str padding_side="right") -> Tensor  # `sequences` in one tensor, each continued with `padding_value` up to the length of the longest.
    mkldnn_rnn_layer(Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, Tensor weight3, Tensor hx_, Tensor cx_, bool reverse, int[] batch_sizes, int mode, int hidden_size, int num_layers, bool has_biases, bool bidirectional, bool batch_first, bool train) -> (Tensor result0, Tensor result1, Tensor result2, Tensor result3)  # One direction of one layer of a recurrent network over `input` in a single kernel: outputs, hidden and cell state, and what its derivative needs.
    mkldnn_rnn_layer_backward(Tensor input, Tensor weight1, Tensor weight2, Tensor weight3, Tensor weight4, Tensor hx_, Tensor cx_tmp, Tensor output, Tensor hy_, Tensor cy_, Tensor? grad_output, Tensor? grad_hy, Tensor? grad_cy, bool reverse, int mode, int hidden_size, int num_layers, bool has_biases, bool train, bool bidirectional, int[] batch_sizes, bool batch_first, Tensor workspace) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)
""")  # noqa: E501


def meta_mkldnn_rnn_layer(input: Any, weight0: Any, weight1: Any, weight2: Any, weight3: Any, hx_: Any, cx_: Any,
                          *options: Any) -> tuple[Spec, ...]:
    shape, dtype = (*input.shape[:-1], hx_.shape[1]), input._dtype
    return (Spec(shape, dtype), Spec(tuple(hx_.shape), dtype), Spec(tuple(cx_.shape), dtype),
            Spec((PLANES[options[2]], *shape), dtype))


def meta_mkldnn_rnn_layer_backward(input: Tensor, *args: Any) -> tuple[Spec | None, ...]:
    """Describe the gradients; that of the input is left out if not ``train``."""
    to_input, *rest = [Spec(tuple(x.shape), x._dtype) for x in (input, *args[:6])]
    return (to_input if args[17] else None), *rest


def pad_sequence(sequences: Sequence[Any], batch_first: bool = False, padding_value: float = 0.0,
                 padding_side: str = "right") -> Any:
    check(len(sequences), "received an empty list of sequences")
    check(padding_side in ("left", "right"),
          lambda: f"Expected padding_side to be one of left or right, but got {padding_side}.")
    length, rest = max(sequence.size(0) for sequence in sequences), sequences[0].shape[1:]
    shape = (len(sequences), length) if batch_first else (length, len(sequences))
    out = sequences[0].new_full((*shape, *rest), padding_value)
    for i, sequence in enumerate(sequences):
        row = out.select(0 if batch_first else 1, i)
        row.narrow(0, 0 if padding_side == "right" else length - sequence.size(0), sequence.size(0)).copy_(sequence)
    return out


def layer_grads(step: Step, grads: Any, inputs: tuple[Any, ...], batch_sizes: Sequence[int],
                reverse: bool) -> list[Any]:
    """Return the gradients of a layer's inputs by operators that have derivatives."""
    with enable_grad():
        own = [x.view_as(x).requires_grad_() for x in inputs]
        outputs = outputs_of(step, batch_sizes, reverse, *(own if step is lstm_step else own[:6]))
    found, given = zip(*[pair for pair in zip(outputs, grads, strict=False) if pair[1] is not None], strict=True)
    return list(grad_of(found, own, given, create_graph=True, allow_unused=True))


def fused_grads(grads: Any, input: Any, weight0: Any, weight1: Any, weight2: Any, weight3: Any, hx_: Any, cx_: Any,
               reverse: bool, batch_sizes: Any, mode: int, hidden_size: int, num_layers: int, has_biases: bool,
               bidirectional: bool, batch_first: bool, train: bool, result0: Any, result1: Any, result2: Any,
               result3: Any, output_mask: Sequence[bool]) -> Any:
    inputs = input, weight0, weight1, weight2, weight3, hx_, cx_
    if differentiates(*inputs, *(grad for grad in grads if grad is not None)):
        return layer_grads(MODES[mode], grads, inputs, batch_sizes, reverse)
    return mkldnn_rnn_layer_backward(
        *inputs, result0, result1, result2, grads[0], grads[1],
        grads[2], reverse, mode, hidden_size, num_layers, has_biases, output_mask[0], bidirectional, batch_sizes,
        batch_first, result3)


composites(pad_sequence)
operator("mkldnn_rnn_layer", meta_mkldnn_rnn_layer, autocast="cpu lower", outputs=(0, 1, 2),
         jointly={"input, weight0, weight1, weight2, weight3, hx_, cx_": fused_grads})
operator("mkldnn_rnn_layer_backward", meta_mkldnn_rnn_layer_backward)

RNN_LAYER, RNN_LAYER_BACKWARD = registry["mkldnn_rnn_layer"], registry["mkldnn_rnn_layer_backward"]
#: The operators of the steps.
PARTS = [*map(registry.__getitem__, (
    "t", "mm", "addmm", "unsafe_split.Tensor", "add_.Tensor", "add.Tensor", "sub.Tensor", "mul_.Tensor", "mul.Tensor",
    "sigmoid_", "tanh_", "tanh", "relu", "unbind.int", "stack", "narrow", "cat"))]
MODES = relu_step, tanh_step, lstm_step, gru_step  # by oneDNN's numbers
LSTM = MODES.index(lstm_step)
GATES = 1, 1, 4, 3
WRITTEN = {lstm_step: 1, gru_step: 2}  #: the steps of gates, and how often PyTorch writes their last state
PLANES = 0, 0, 5, 4  # of what the derivative needs, each a number of every step and hidden state

for name, step in {"rnn_tanh": tanh_step, "rnn_relu": relu_step, "lstm": lstm_step, "gru": gru_step}.items():
    padded, packed = rows(step)
    operator(f"{name}.input", composite=padded)
    operator(f"{name}.data", composite=packed)
    if step is not lstm_step:
        operator(f"{name}_cell", composite=single(step))
