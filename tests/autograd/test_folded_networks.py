"""Recurrent networks and cells, which are recorded as one node: graph, gradients and errors are PyTorch's."""
from __future__ import annotations

import gc
import math
import threading
import warnings

import pytest

import mindtorch
from tests.both import assert_same_outcome, each_program

KINDS = [*[(cls, packed) for cls in ("GRU", "RNN", "LSTM") for packed in (False, True)],
         ("GRUCell", False), ("LSTMCell", False)]


def network(t, cls="GRU", packed=False, input_needs=False, state_needs=False, frozen=(), **options):
    """Return outputs, last states, the input, the first states and the weights by name; all in double precision."""
    is_cell = cls.endswith("Cell")
    if is_cell:
        options = {name: value for name, value in options.items() if name == "bias"}
    layer = getattr(t.nn, cls)(3, 2, dtype=t.float64, **options)
    weights = {name + "_l0" * is_cell: weight for name, weight in layer.named_parameters()}
    with t.no_grad():
        for weight in weights.values():
            weight.copy_(t.arange(1, weight.numel() + 1).double().sin().reshape(weight.shape))
    for name in frozen:
        weights[name].requires_grad_(False)
    shape = (6, 3) if packed else (2, 3) if is_cell else (4, 2, 3)
    x = t.arange(math.prod(shape)).double().cos().reshape(shape).requires_grad_(input_needs)
    if is_cell:
        states = [t.arange(4).double().sin().reshape(2, 2).requires_grad_(state_needs)
                  for _ in range(1 + (cls == "LSTMCell"))]
        last = layer(x, tuple(states) if cls == "LSTMCell" else states[0])
        last = list(last) if cls == "LSTMCell" else [last]
        return last[0], last, x, states, weights
    count = layer.num_layers * (1 + layer.bidirectional)
    states = [t.arange(4 * count).double().sin().reshape(count, 2, 2).requires_grad_(state_needs)
              for _ in range(1 + (cls == "LSTM"))]
    given = t.nn.utils.rnn.PackedSequence(x, t.tensor([2, 2, 1, 1])) if packed else x
    outputs, last = layer(given, tuple(states) if cls == "LSTM" else states[0])
    last = list(last) if cls == "LSTM" else [last]
    return outputs.data if packed else outputs, last, x, states, weights


def loss_of(t, outputs, last):
    return (outputs * outputs).sum() + sum([(part * 3).cos().sum() for part in last])


def shown(t, gradient):
    return None if gradient is None else t.round(gradient, decimals=6).tolist()


def gradients(t, value, x, states, weights):
    value.backward()
    return [shown(t, leaf.grad) for leaf in (x, *states, *weights.values())]


def graph(node):
    """Return the name and the edges of each node of a graph, and the names in the order of the calls."""
    nodes, numbers, lines = [node], {node: 0}, []
    for node in nodes:
        for below, _ in node.next_functions:
            if below is not None and below not in numbers:
                numbers[below] = len(numbers)
                nodes.append(below)
        lines.append((node.name(), [(numbers.get(below), number) for below, number in node.next_functions]))
    return lines, [node.name() for node in sorted(nodes, key=lambda node: node._sequence_nr()) if node.next_functions]


def usual(t, cls, packed, **options):
    outputs, last, *leaves = network(t, cls, packed, **options)
    return gradients(t, loss_of(t, outputs, last), *leaves)


def looked_at(t, cls, packed, **options):
    outputs, last, *leaves = network(t, cls, packed, **options)
    value = loss_of(t, outputs, last)
    return graph(value.grad_fn), gradients(t, value, *leaves), graph(value.grad_fn)


@pytest.mark.parametrize(("cls", "packed"), KINDS)
@pytest.mark.parametrize("options", [
    {}, {"input_needs": True, "state_needs": True}, {"bias": False, "state_needs": True},
    {"num_layers": 2, "bidirectional": True, "input_needs": True},
    {"frozen": ("weight_ih_l0", "weight_hh_l0")}, {"frozen": ("weight_ih_l0", "bias_ih_l0", "bias_hh_l0")},
    {"frozen": ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"), "state_needs": True},
    {"frozen": ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"), "input_needs": True},
], ids=str)
@pytest.mark.parametrize("program", [usual, looked_at])
def test_graph_and_gradients_are_pytorchs(program, options: dict, cls: str, packed: bool) -> None:
    assert_same_outcome(lambda t: program(t, cls, packed, **options))


def of_outputs_alone(t, *kind):
    outputs, _, *leaves = network(t, *kind)
    return graph(outputs.grad_fn), gradients(t, outputs.sin().sum(), *leaves)


def of_outputs_alone_not_looked_at(t, *kind):
    outputs, _, *leaves = network(t, *kind)
    return gradients(t, outputs.sin().sum(), *leaves)


def of_states_alone(t, *kind):
    _, last, *leaves = network(t, *kind)
    return gradients(t, last[-1].sin().sum(), *leaves)


def twice(t, *kind):
    outputs, last, *leaves = network(t, *kind)
    value = loss_of(t, outputs, last)
    value.backward(retain_graph=True)
    return gradients(t, value, *leaves)


def freed(t, *kind):
    outputs, last, *_ = network(t, *kind)
    value = loss_of(t, outputs, last)
    value.backward()
    nodes = graph(value.grad_fn)
    try:
        outputs.sum().backward()
    except RuntimeError as error:
        return nodes, str(error)


def freed_and_run_again(t, *kind):
    outputs, *_ = network(t, *kind)
    outputs.sum().backward()
    outputs.sum().backward()


def second_derivative(t, *kind):
    outputs, last, x, _, weights = network(t, *kind, input_needs=True)
    grads = t.autograd.grad(loss_of(t, outputs, last), [x, *weights.values()], create_graph=True)
    return [shown(t, grad) for grad in t.autograd.grad(sum([grad.pow(2).sum() for grad in grads]),
                                                       [x, *weights.values()])]


def of_some(t, *kind):
    outputs, last, x, _, weights = network(t, *kind, input_needs=True)
    value = loss_of(t, outputs, last)
    return [shown(t, grad) for wanted in ([weights["bias_hh_l0"]], [x], [outputs, *weights.values()], [last[0]])
            for grad in t.autograd.grad(value, wanted, retain_graph=True)]


def of_an_inner_node(t, *kind):
    outputs, last, *_ = network(t, *kind)
    value = loss_of(t, outputs, last)
    inner = outputs.grad_fn.next_functions[0][0]
    return [shown(t, grad) for grad in t.autograd.grad(value, [t.autograd.graph.GradientEdge(inner, 0)])]


def hooked(t, *kind):
    outputs, last, *leaves = network(t, *kind)
    seen = []
    outputs.register_hook(lambda grad: seen.append(shown(t, grad)))
    last[0].retain_grad()
    outputs.grad_fn.next_functions[-1][0].register_hook(lambda grads, given: seen.append(shown(t, given[0])))
    return gradients(t, loss_of(t, outputs, last), *leaves), seen, shown(t, last[0].grad)


def leaves_hooked(t, *kind):
    outputs, last, *_, weights = network(t, *kind)
    seen = []
    for name, weight in weights.items():
        weight.register_hook(lambda grad, name=name: seen.append((name, shown(t, grad))))
        weight.register_post_accumulate_grad_hook(lambda leaf, name=name: seen.append(name))
    loss_of(t, outputs, last).backward()
    return sorted(map(str, seen))


def written_over(t, *kind):
    outputs, _, *leaves = network(t, *kind)
    outputs[0].mul_(2)
    return gradients(t, outputs.sum(), *leaves)


def anomaly(t, *kind):
    outputs, last, *leaves = network(t, *kind)
    value = loss_of(t, outputs, last)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with t.autograd.set_detect_anomaly(True):
            return gradients(t, value, *leaves)


def packed_by_hooks(t, *kind):
    kept = []
    with t.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tuple(tensor.shape)) or tensor, lambda x: x):
        outputs, last, *leaves = network(t, *kind)
    return gradients(t, loss_of(t, outputs, last), *leaves), len(kept)


def many_at_once(t, *kind):
    outputs, *_, weights = network(t, *kind)
    given = t.stack([t.ones_like(outputs), outputs.detach()])
    return [shown(t, grad) for grad in t.autograd.grad(outputs, [*weights.values()], given, is_grads_batched=True)]


def one_weight_twice(t, *kind):
    layer = getattr(t.nn, kind[0])(2, 2, dtype=t.float64)
    with t.no_grad():
        for weight in layer.parameters():
            weight.fill_(0.5)
    layer.weight_hh_l0, layer.bias_hh_l0 = layer.weight_ih_l0, layer.bias_ih_l0
    layer(t.ones(3, 1, 2).double())[0].sum().backward()
    return shown(t, layer.weight_ih_l0.grad), shown(t, layer.bias_ih_l0.grad)


def looked_at_while_it_runs(t, *kind):
    """Look at the graph of the network while a node above it runs."""
    outputs, last, *leaves = network(t, *kind)
    seen = []

    class Looks(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.exp()

        @staticmethod
        def backward(ctx, grad):
            seen.append(graph(outputs.grad_fn))
            return grad

    value = Looks.apply(last[0]).sum() + (outputs * outputs).sum()
    found = gradients(t, value, *leaves)
    try:
        outputs.sum().backward()
    except RuntimeError as error:
        return found, seen, str(error)


PROGRAMS = (of_outputs_alone, of_outputs_alone_not_looked_at, of_states_alone, twice, freed, freed_and_run_again,
            second_derivative, of_some, of_an_inner_node, hooked, leaves_hooked, written_over, anomaly, packed_by_hooks,
            many_at_once, one_weight_twice, looked_at_while_it_runs)


@pytest.mark.parametrize(("cls", "packed"), KINDS)
@each_program(*PROGRAMS)
def test_who_wants_more_than_gradients_of_leaves_gets_pytorchs(program, cls: str, packed: bool) -> None:
    assert_same_outcome(lambda t: program(t, cls, packed))


def written(t, cls, packed, name, looks, **options):
    outputs, last, x, states, weights = network(t, cls, packed, **options)
    value = loss_of(t, outputs, last)
    tensors = {"x": x, "state": states[-1], "outputs": outputs, "last": last[0], **weights}
    with t.no_grad():
        tensors[name].mul_(2)
    if looks:
        graph(outputs.grad_fn)
    return gradients(t, outputs.cos().sum() if name in ("outputs", "last") else value, x, states, weights)


@pytest.mark.parametrize("name", ["x", "state", "outputs", "last", "weight_ih_l0", "weight_hh_l0", "bias_ih_l0"])
@pytest.mark.parametrize("options", [
    {}, {"input_needs": True, "state_needs": True}, {"frozen": ("weight_ih_l0", "weight_hh_l0")}], ids=str)
@pytest.mark.parametrize(("cls", "packed"), KINDS)
def test_what_was_written_since_is_as_in_pytorch(cls: str, packed: bool, options: dict, name: str) -> None:
    for looks in (False, True):
        assert_same_outcome(lambda t, looks=looks: written(t, cls, packed, name, looks, **options))


def with_other_data(t, looks):
    outputs, last, x, states, weights = network(t)
    for weight in weights.values():
        weight.data = weight.data * 2
    if looks:
        graph(outputs.grad_fn)
    return gradients(t, loss_of(t, outputs, last), x, states, weights)


@each_program(lambda t: with_other_data(t, False), lambda t: with_other_data(t, True))
def test_memory_that_was_replaced_since_is_as_in_pytorch(program) -> None:
    assert_same_outcome(program)


def test_gradients_of_other_threads_that_look_meanwhile_are_the_same() -> None:
    expected = usual(mindtorch, "GRU", False)
    for _ in range(10):
        outputs, last, *_, weights = network(mindtorch)
        value, start, trees, found = loss_of(mindtorch, outputs, last), threading.Barrier(4), [], []
        leaves = [*weights.values()]

        def look(outputs=outputs, start=start, trees=trees) -> None:
            start.wait()
            trees.append(graph(outputs.grad_fn))

        def run(value=value, start=start, found=found, wanted=leaves) -> None:
            start.wait()
            found.append([shown(mindtorch, grad) for grad in
                          mindtorch.autograd.grad(value, wanted, retain_graph=True)])

        threads = [threading.Thread(target=work) for work in (look, run, look, run)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert trees[0] == trees[1] and found == [expected[2:]] * 2


def test_a_graph_that_is_dropped_leaves_no_garbage() -> None:
    for looks in (False, True):
        outputs, last, *_ = network(mindtorch)
        if looks:
            graph(outputs.grad_fn)
        loss_of(mindtorch, outputs, last).backward()
        gc.collect()
        gc.disable()
        try:
            outputs, last, *_ = network(mindtorch)
            if looks:
                graph(outputs.grad_fn)
            loss_of(mindtorch, outputs, last).backward()
            del outputs, last, _
            assert not [thing for thing in gc.get_objects() if isinstance(thing, mindtorch.autograd.graph.Node)]
        finally:
            gc.enable()


@pytest.mark.parametrize("records", [False, True])
@pytest.mark.parametrize(("cls", "packed"), KINDS)
def test_observers_are_told_of_the_operators_that_run_one_by_one(cls: str, packed: bool, records: bool) -> None:
    told = []
    for one_by_one in (False, True):
        with mindtorch.observe(one_by_one) as trace, mindtorch.set_grad_enabled(records):
            outputs, *_ = network(mindtorch, cls, packed)
        told.append([(event.op, [str(output) for output in event.outputs]) for event in trace])
        with mindtorch.observe(one_by_one) as trace:
            if records:
                outputs.sum().backward()
        ops = [event.op for event in trace]
        told[-1].append([ops.count(op) for op in ("mm", "tanh_backward", "sigmoid_backward", "mul.Tensor")])
    assert told[0] == told[1]


def runs_at_once(value) -> bool:
    """Return whether the slopes of gates are told, in a backward pass, as parts of what computes them at once."""
    with mindtorch.observe() as trace:
        value.sum().backward()
    (at_once,) = {event.part for event in trace if event.op == "sigmoid_backward"}
    return at_once


@pytest.mark.parametrize("change", [lambda outputs: outputs, lambda outputs: outputs.mul_(2)], ids=["alone", "written"])
def test_outputs_that_are_transposed_or_written_in_place_leave_the_network_folded(change) -> None:
    layer = mindtorch.nn.GRU(3, 2, 2, batch_first=True)
    assert runs_at_once(change(layer(mindtorch.ones(2, 4, 3))[0]))
    assert all(weight.grad is not None for weight in layer.parameters())


@pytest.mark.parametrize("cls", ["GRUCell", "LSTMCell"])
def test_a_step_of_gates_is_folded_until_it_is_looked_at(cls: str) -> None:
    output, *_ = network(mindtorch, cls)
    assert runs_at_once(output)
    output, *_ = network(mindtorch, cls)
    assert output.grad_fn.name() in ("AddBackward0", "MulBackward0")
    assert not runs_at_once(output)
