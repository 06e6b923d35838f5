"""Recurrent networks over packed sequences, with projections, dropout and wrong arguments, beside PyTorch's."""
from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any

import pytest

import mindtorch
from mindtorch.utils._python_dispatch import TorchDispatchMode
from tests.both import assert_same_outcome, each_program
from tests.nn.both import plain, same
from tests.support import assert_same, seed_all, torch

CLASSES = ("RNN", "LSTM", "GRU")


def run(lib, cls: str, packed: bool, **options):
    """Outputs, states and gradients of a network over three sequences of lengths 4, 2 and 1, or 2, 4 and 1."""
    network = getattr(lib.nn, cls)(3, 4, **options)
    values = lib.arange(36.0).reshape(4, 3, 3).sin().requires_grad_()
    rnn = lib.nn.utils.rnn
    given = rnn.pack_padded_sequence(values, [2, 4, 1], enforce_sorted=False) if packed else values
    output, state = network(given)
    outputs = output.data if packed else output
    states = list(state) if isinstance(state, tuple) else [state]
    ((outputs * outputs).sum() + sum(part.cos().sum() for part in states)).backward()
    back = rnn.pad_packed_sequence(output, padding_value=-1.0) if packed else None
    return [outputs, states, back, values.grad, [weight.grad for weight in network.parameters()]]


def compare(program) -> None:
    """Assert that the program's tensors are PyTorch's but for the order of sums."""
    results = []
    for lib in (mindtorch, torch):
        seed_all(lib, 0)
        results.append(program(lib))
    assert_same(*results, rtol=1e-4, atol=1e-5, strides=False)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("options", [
    {}, {"num_layers": 2, "bidirectional": True}, {"bias": False, "dtype": "float64"},
    {"num_layers": 2, "dropout": 0.5, "bidirectional": True},
], ids=str)
def test_outputs_states_and_gradients_are_pytorchs(cls: str, packed: bool, options: dict) -> None:
    def program(lib):
        given = {**options, "dtype": getattr(lib, options.get("dtype", "float32"))}
        if given["dtype"] == lib.float64:
            lib.set_default_dtype(lib.float64)
        try:
            return run(lib, cls, packed, **given)
        finally:
            lib.set_default_dtype(lib.float32)

    compare(program)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_lstm_projects_its_hidden_state(packed: bool, bidirectional: bool) -> None:
    compare(lambda lib: run(lib, "LSTM", packed, proj_size=2, num_layers=2, bidirectional=bidirectional))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("cls", CLASSES)
def test_observers_are_told_of_pytorchs_operators_though_one_kernel_computes_a_layer(cls: str, packed: bool) -> None:
    network, x = getattr(mindtorch.nn, cls)(3, 4, 2, bidirectional=True), mindtorch.randn(5, 2, 3)
    given = mindtorch.nn.utils.rnn.pack_padded_sequence(x, [5, 3]) if packed else x
    is_one_operator = cls == "LSTM" and not packed  # in PyTorch
    for records in (False, True):
        with mindtorch.observe() as trace, mindtorch.set_grad_enabled(records):
            network(given)
        steps = [event.part for event in trace if event.op.startswith("tanh")]
        assert [event.op for event in trace].count("mkldnn_rnn_layer") == 4 * is_one_operator
        assert all(steps) and len(steps) == (0 if is_one_operator else 40 if cls == "LSTM" else 20)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("cls", CLASSES)
def test_a_network_has_the_graph_of_pytorchs(cls: str, packed: bool, dtype: str) -> None:
    def program(lib):
        kind = getattr(lib, dtype)
        network, x = getattr(lib.nn, cls)(3, 4, dtype=kind), lib.zeros(5, 2, 3, dtype=kind)
        given = lib.nn.utils.rnn.pack_padded_sequence(x, [5, 3]) if packed else x
        output, last = network(given)
        output, names = output.data if packed else output, []
        nodes = [output.grad_fn, (last[0] if cls == "LSTM" else last).grad_fn]
        for node in nodes:
            names.append(type(node).__name__)
            nodes += [below for below, _ in node.next_functions if below is not None]
        return sorted(names)

    compare(program)


UNITS = [("RNN", {}), ("RNN", {"nonlinearity": "relu"}), ("LSTM", {}), ("GRU", {})]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("cls", "options"), UNITS, ids=str)
def test_gradients_have_gradients(cls: str, options: dict, packed: bool) -> None:
    def program(lib):
        network = getattr(lib.nn, cls)(3, 4, bidirectional=True, **options)
        x = lib.arange(45.0).reshape(5, 3, 3).sin().requires_grad_()
        given = lib.nn.utils.rnn.pack_padded_sequence(x, [5, 5, 2]) if packed else x
        output = network(given)[0]
        output = output.data if packed else output
        grads = lib.autograd.grad(output.sin().sum(), [x, *network.parameters()], create_graph=True)
        return lib.autograd.grad(sum((grad * grad).sum() for grad in grads), [x, *network.parameters()])

    compare(program)


@pytest.mark.parametrize(("cls", "options"), UNITS, ids=str)
def test_networks_have_tangents_and_that_of_one_kernel_is_mapped_over_batches(cls: str, options: dict) -> None:
    network, x = getattr(mindtorch.nn, cls)(3, 4, **options), mindtorch.arange(60.0).reshape(2, 5, 2, 3).sin()

    def output(x):
        return network(x)[0]

    if cls == "LSTM":  # the steps of others are added up in place, which a batch does not fit into
        mapped = mindtorch.func.vmap(output)(x)
        mindtorch.testing.assert_close(mapped, mindtorch.stack([output(part) for part in x]))
    tangents = mindtorch.func.jvp(output, (x[0],), (x[1],))[1]
    slope = (output(x[0] + 1e-2 * x[1]) - output(x[0] - 1e-2 * x[1])) / 2e-2
    mindtorch.testing.assert_close(tangents, slope, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("cls", ["RNN", "GRU"])
def test_autocast_casts_the_products_of_each_step(cls: str) -> None:
    def program(lib):
        network = getattr(lib.nn, cls)(3, 4)
        with lib.autocast("cpu", lib.bfloat16):
            output = network(lib.arange(30.0).reshape(5, 2, 3).sin())[0]
        return str(output.dtype).partition(".")[2], output.float().round(decimals=1)

    compare(program)


def test_pipeline_mode_knows_the_shapes_before_it_computes() -> None:
    network, x = mindtorch.nn.LSTM(3, 4), mindtorch.randn(5, 2, 3)
    expected = network(x)[0]
    with mindtorch.pipeline():
        output, (hidden, memory) = network(x)
        assert (output.shape, hidden.shape, memory.shape) == ((5, 2, 4), (1, 2, 4), (1, 2, 4))
    assert mindtorch.equal(output, expected)


@pytest.mark.parametrize("kind", CLASSES)
def test_dropout_of_one_layer_warns_and_none_does_not(kind: str) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        getattr(mindtorch.nn, kind)(2, 3)
        assert not told
        getattr(mindtorch.nn, kind)(2, 3, dropout=0.5)
    assert [str(warning.message).partition(",")[0] for warning in told] == [
        "dropout option adds dropout after all but last recurrent layer"]


@pytest.mark.parametrize("program", [
    lambda lib: lib.nn.LSTM(3, 4)(lib.ones(2, 2, 2)),
    lambda lib: lib.nn.LSTM(3, 4)(lib.ones(2, 2, 2, 3)),
    lambda lib: lib.nn.RNN(3, 4)(lib.ones(3)),
    lambda lib: lib.nn.LSTM(3, 4)(lib.ones(2, 2, 3), (lib.zeros(1, 2, 5), lib.zeros(1, 2, 5))),
    lambda lib: lib.nn.LSTM(3, 4)(lib.ones(2, 2, 3), (lib.zeros(2, 4), lib.zeros(2, 4))),
    lambda lib: lib.nn.GRU(3, 4)(lib.ones(2, 3), lib.zeros(1, 1, 4)),
    lambda lib: lib.nn.GRU(3, 4)(lib.ones(2, 2, 3).double()),
    lambda lib: lib.nn.GRU(3, 4)(lib.ones(0, 2, 3)),
    lambda lib: lib.nn.LSTM(3, 4, proj_size=4),
    lambda lib: lib.nn.GRU(3, 4, proj_size=2),
    lambda lib: lib.nn.LSTM(3, 0),
    lambda lib: lib.nn.LSTM(3, 4, dropout=2),
    lambda lib: lib.nn.LSTM(3.0, 4),
    lambda lib: lib.nn.RNN(3, 4, nonlinearity="sine"),
    lambda lib: lib.nn.LSTMCell(3, 4)(lib.ones(2, 5)),
    lambda lib: lib.nn.GRUCell(3, 4)(lib.ones(2, 3), lib.zeros(3, 4)),
    lambda lib: lib.nn.RNNCell(3, 4, nonlinearity="sine")(lib.ones(2, 2, 3)),
    lambda lib: lib.nn.RNNCell(3, 4, nonlinearity="sine")(lib.ones(2, 3)),
    lambda lib: lib.nn.utils.rnn.pack_padded_sequence(lib.ones(3, 2), [1, 3]),
    lambda lib: lib.nn.utils.rnn.pack_padded_sequence(lib.ones(3, 2), [3, 0]),
    lambda lib: lib.nn.utils.rnn.pack_padded_sequence(lib.ones(3, 2), [3]),
    lambda lib: lib.nn.utils.rnn.pad_sequence([]),
    lambda lib: lib.nn.utils.rnn.pad_sequence(3),
    lambda lib: lib.nn.utils.rnn.pad_packed_sequence(lib.nn.utils.rnn.pack_sequence([lib.ones(3)]), total_length=2),
])
def test_wrong_arguments_raise_pytorchs_errors(program) -> None:
    same(program)


def gru(t, input=(3, 2, 4), hx=(1, 2, 5), sizes=None, **shapes):
    """Apply a layer with one input, first state or weight of another shape, in training and without gradients."""
    given = {"w_ih": (15, 4), "w_hh": (15, 5), "b_ih": (15,), "b_hh": (15,), **shapes}
    weights = [t.ones(shape, requires_grad=True) for shape in given.values()]
    options = True, 1, 0.0, True, False
    found = []
    for records in (True, False):
        with t.set_grad_enabled(records):
            output, last = t.gru(t.ones(input), t.zeros(hx), weights, *options, False) if sizes is None else t.gru(
                t.ones(input), t.tensor(sizes), t.zeros(hx), weights, *options)
            found.append((output.shape, last.shape))
    return found


@each_program(
    gru, lambda t: gru(t, w_ih=(15, 3)), lambda t: gru(t, w_hh=(15, 4)), lambda t: gru(t, b_ih=(1,), b_hh=(1,)),
    lambda t: gru(t, w_ih=(14, 4), w_hh=(14, 5), b_ih=(14,), b_hh=(14,)), lambda t: gru(t, hx=(1, 3, 5)),
    lambda t: gru(t, hx=(1, 1, 5)), lambda t: gru(t, hx=(1, 2, 6)), lambda t: gru(t, (3, 4), (1, 5)),
    lambda t: gru(t, (3, 4), sizes=[2, 1]), lambda t: gru(t, (5, 4), sizes=[2, 2, 2]),
    lambda t: gru(t, (3, 4), sizes=[1, 2]), lambda t: gru(t, (3, 4), (1, 4, 5), sizes=[2, 1]),
)
def test_shapes_that_do_not_fit_broadcast_or_are_refused_as_in_pytorch(program) -> None:
    assert_same_outcome(program)


@pytest.mark.parametrize("program", [
    lambda rnn, parts: rnn.pad_sequence(parts, padding_value=0.5),
    lambda rnn, parts: rnn.pad_sequence(parts, batch_first=True, padding_side="left"),
    lambda rnn, parts: rnn.pack_sequence(parts, enforce_sorted=False),
    lambda rnn, parts: rnn.unpack_sequence(rnn.pack_sequence(parts, enforce_sorted=False)),
    lambda rnn, parts: rnn.pad_packed_sequence(rnn.pack_sequence(parts, enforce_sorted=False), True, 2.0, 6),
    lambda rnn, parts: rnn.pack_padded_sequence(rnn.pad_sequence(parts, True), [3, 2, 1], batch_first=True),
    lambda rnn, parts: rnn.pack_sequence(parts, enforce_sorted=False).double(),
    lambda rnn, parts: rnn.unpad_sequence(rnn.pad_sequence(parts), parts[0].new_tensor([2, 3, 1])),
])
def test_sequences_are_packed_and_padded_as_pytorchs(program) -> None:
    same(lambda lib: program(lib.nn.utils.rnn, [lib.arange(n * 2.0).reshape(n, 2) + n for n in (2, 3, 1)]))


def test_gradients_pass_through_packing() -> None:
    def program(lib):
        rnn, x = lib.nn.utils.rnn, lib.arange(24.0).reshape(4, 3, 2).requires_grad_()
        padded, lengths = rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [4, 2, 2]))
        (padded * padded).sum().backward()
        return [padded, lengths, x.grad]

    same(program)


def test_weights_keep_pytorchs_names_and_can_be_replaced() -> None:
    ours, theirs = (lib.nn.LSTM(2, 3, 2, bidirectional=True, proj_size=1) for lib in (mindtorch, torch))
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert ours._flat_weights_names == theirs._flat_weights_names
    ours.weight_ih_l0 = mindtorch.nn.Parameter(mindtorch.zeros(12, 2))
    assert ours._flat_weights[0] is ours.weight_ih_l0
    assert plain(ours.all_weights[0][0].shape) == plain(theirs.all_weights[0][0].shape)


SHAPES = [((4, 2), (1, 1, 3)), ((4, 1, 2), (1, 3)), ((2,), (1, 3)), ((4, 1, 2), (1, 2, 3)), ((4, 2), (2, 3))]


@pytest.mark.parametrize("cls", CLASSES)
@each_program(*[lambda t, given=given, state=state: lambda cls: getattr(t.nn, cls)(2, 3)(  # type: ignore[misc]
    t.zeros(given), [t.zeros(state)] * 2 if cls == "LSTM" else t.zeros(state)) for given, state in SHAPES],
    lambda t: lambda cls: t.nn.LSTM(2, 3)(t.zeros(4, 2), (t.zeros(1, 3), t.zeros(1, 1, 3))),
    lambda t: lambda cls: t.nn.LSTM(2, 3)(t.zeros(4, 1, 2), (t.zeros(1, 1, 3), t.zeros(1, 3))))
def test_states_have_the_dimensions_of_the_input(cls, program) -> None:
    assert_same_outcome(lambda t: program(t)(cls))


@pytest.mark.parametrize("cls", CLASSES)
def test_outputs_with_the_batch_first_are_transposed_as_pytorchs_are(cls):
    def program(t):
        output = getattr(t.nn, cls)(2, 3, batch_first=True)(t.ones(1, 3, 2))[0]
        return [output.grad_fn.name(), output._version, output._is_view(), output.stride(), output]

    same(program)


@pytest.mark.parametrize("options", [{}, {"bias": False}, {"dtype": "float64"}], ids=str)
@pytest.mark.parametrize("change", ["as it is", "transposed", "nan"])
@pytest.mark.parametrize("cls", ["GRUCell", "LSTMCell"])
def test_a_cell_that_is_called_again_computes_the_same_as_pytorchs(cls: str, change: str, options: dict) -> None:
    def program(lib):
        given = {**options, "dtype": getattr(lib, options.get("dtype", "float32"))}
        cell, x = getattr(lib.nn, cls)(3, 3, **given), lib.arange(9, dtype=given["dtype"]).reshape(3, 3).sin()
        with lib.no_grad():
            for weight in cell.parameters():
                weight.copy_(lib.arange(weight.numel(), dtype=given["dtype"]).reshape(weight.shape).cos())
            x[0] = float("nan") if change == "nan" else 1
            x = x.t() if change == "transposed" else x
            found = [cell(x, x) if cls == "GRUCell" else cell(x, (x, x)) for _ in range(4)]
        recorded = cell(x, x) if cls == "GRUCell" else cell(x, (x, x))
        found = [states if isinstance(states, tuple) else (states,) for states in (*found, recorded)]
        for other in found:
            for state, first in zip(other, found[0], strict=True):
                assert lib.allclose(first, state, equal_nan=True) and state.stride() == first.stride()
                assert state._version == first._version
        return [(state, state._version) for state in found[-2]]

    compare(program)


class Noted(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def test_a_network_unfolds_alike_in_every_state_and_shows_it_to_none() -> None:
    def nodes(block: Any) -> list[str]:
        mindtorch.manual_seed(0)
        output, _ = mindtorch.nn.GRU(3, 2)(mindtorch.ones(4, 2, 3))
        with block:
            found, rest = list[str](), [output.grad_fn]
            for node in rest:
                found.append(node.name())
                rest += [below for below, _ in node.next_functions if below is not None and below not in rest]
        return found

    packed: list[Any] = []
    mode, hooks = Noted(), mindtorch.autograd.graph.saved_tensors_hooks(packed.append, lambda value: value)
    expected = nodes(nullcontext())
    assert len(expected) > 40
    for block in (mindtorch.no_grad(), mindtorch.autocast("cpu"), mode, hooks, mindtorch.inference_mode()):
        assert nodes(block) == expected, block
    assert not packed and not mode.names


@pytest.mark.parametrize("cls", ["RNNCell", "LSTMCell", "GRUCell"])
def test_a_cell_without_hidden_units_has_an_empty_state_and_gradients_of_zeros(cls: str) -> None:
    def program(lib: Any) -> list[Any]:
        cell, x, state = getattr(lib.nn, cls)(5, 0), lib.ones(3, 5, requires_grad=True), lib.zeros(3, 0)
        out = cell(x, (state, state) if cls == "LSTMCell" else state)
        (out[0] if cls == "LSTMCell" else out).sum().backward()
        return [out, x.grad, [weight.grad for weight in cell.parameters()]]

    compare(program)
