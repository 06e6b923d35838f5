"""``linear``, ``cross_entropy`` and ``matmul``, which are composites: their nodes and gradients are PyTorch's."""
from __future__ import annotations

import gc
import sys
import threading
import warnings
import weakref

import numpy as np
import pytest

import mindtorch
from mindtorch import library, nn
from mindtorch._dispatch.schemas import registry
from mindtorch.profiler import profile
from tests.both import assert_same_outcome, each_program


def given(t):
    """Make an input, a weight, a bias and classes."""
    x = (t.arange(6.0).reshape(2, 3) / 4).requires_grad_()
    weight = (t.arange(12.0).reshape(4, 3) / 8).requires_grad_()
    return x, weight, t.ones(4, requires_grad=True), t.tensor([1, 3])


def layer(t):
    x, weight, bias, _ = given(t)
    return t.nn.functional.linear(x, weight, bias), x, weight, bias


def sequences(t, kind="with bias", shape=(2, 1, 3)):
    """Apply the layer to sequences, of which each row is one of its inputs; ``copied`` have strides that allow no view
    as rows.
    """
    x, weight, bias, _ = given(t)
    leaves = (x, weight, bias) if kind == "with bias" else (x, weight)
    given_rows = x.view(1, 2, 3).expand(2, 2, 3) if kind == "copied" else x.view(shape)
    return t.nn.functional.linear(given_rows, *leaves[1:]), *leaves


def loss(t, **settings):
    x, weight, bias, classes = given(t)
    return t.nn.functional.cross_entropy(t.nn.functional.linear(x, weight, bias), classes, **settings), x, weight, bias


def tree(node):
    """Return a graph's names and edges."""
    return None if node is None else (node.name(), [(tree(below), number) for below, number in node.next_functions])


def gradients(t, value, *leaves):
    """Those of leaves, rounded, with their strides."""
    value.sum().backward()
    return [(t.round(leaf.grad, decimals=4).tolist(), leaf.grad.stride()) for leaf in leaves]


def test_looking_at_a_node_keeps_no_tensor_of_an_observed_call() -> None:
    with mindtorch.observe():
        out, x, *_ = layer(mindtorch)
        kept = weakref.ref(x)
        assert out.grad_fn.name() == "AddmmBackward0"
    del out, x, _
    gc.collect()
    assert kept() is None


def test_nodes_are_those_of_the_operators_also_after_the_backward_pass() -> None:
    value, *leaves = loss(mindtorch)
    value.backward()
    assert all(leaf.grad is not None for leaf in leaves)
    node = value.grad_fn
    assert value.grad_fn is node and node.next_functions[0][0] is node.next_functions[0][0]
    assert type(node) is type(nn.functional.nll_loss(mindtorch.ones(1, 2, requires_grad=True),
                                                     mindtorch.tensor([0])).grad_fn)


@each_program(
    lambda t: tree(layer(t)[0].grad_fn),
    lambda t: tree(loss(t)[0].grad_fn),
    lambda t: tree(loss(t)[0].relu().grad_fn),
    lambda t: [node.name() for node, _ in layer(t)[0].sum().grad_fn.next_functions],
    lambda t: gradients(t, *layer(t)),
    *(lambda t, case=case: gradients(t, *sequences(t, *case)) for case in (
        (), ("without bias",), ("copied",), ("with bias", (1, 2, 1, 3)), ("without bias", (1, 2, 1, 3)))),
    *(lambda t, case=case: tree(sequences(t, *case)[0].grad_fn) for case in ((), ("without bias",), ("copied",))),
    *(lambda t, case=case: (sequences(t, case)[0]._is_view(), sequences(t, case)[0].mul_(2).grad_fn.name())
      for case in ("with bias", "without bias", "copied")),
    lambda t: gradients(t, *loss(t)),
    lambda t: gradients(t, *loss(t, reduction="sum")),
    lambda t: gradients(t, *loss(t, reduction="none")),
    lambda t: gradients(t, *loss(t, ignore_index=3)),
    lambda t: gradients(t, *loss(t, label_smoothing=0.1)),
    lambda t: (lambda out, *leaves: gradients(t, (out * 2).t().double().cos(), *leaves))(*layer(t)),
)
def test_nodes_and_gradients_are_pytorchs(program) -> None:
    assert_same_outcome(program)


def twice(t):
    value, *leaves = loss(t)
    value.backward(retain_graph=True)
    return gradients(t, value, *leaves), tree(value.grad_fn)


def freed(t):
    value, *_ = loss(t)
    value.backward()
    shown = tree(value.grad_fn)
    return shown, [tuple(node._input_metadata[0].shape) for node in
                   (value.grad_fn.next_functions[0][0], value.grad_fn.next_functions[0][0].next_functions[0][0])]


def freed_and_run_again(t):
    value, *_ = loss(t)
    value.backward()
    value.backward()


@each_program(twice, freed, freed_and_run_again)
def test_a_graph_may_be_kept_or_is_freed(program) -> None:
    assert_same_outcome(program)


def second_derivative(t):
    value, x, weight, _ = loss(t)
    grad, = t.autograd.grad(value, x, create_graph=True)
    return [t.round(g, decimals=4).tolist() for g in t.autograd.grad(grad.pow(2).sum(), (x, weight))]


def gradient_of_some(t):
    out, x, weight, bias = layer(t)
    return [g.tolist() for g in t.autograd.grad(out.sum(), (weight, out), retain_graph=True)], t.autograd.grad(
        out.sum(), bias)[0].tolist(), x.grad


def with_create_graph(t):
    value, x, *_ = loss(t)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which mindtorch says once in a process
        value.backward(create_graph=True)
    return x.grad.requires_grad, tree(x.grad.grad_fn)


def hooked(t):
    out, *_ = layer(t)
    seen = []
    out.register_hook(lambda grad: seen.append(grad.tolist()))
    out.grad_fn.register_hook(lambda results, grads: seen.append([tuple(grad.shape) for grad in results]))
    (out * 2).sum().backward()
    return seen


def hooked_below(t):
    value, *_ = loss(t)
    seen = []
    value.grad_fn.next_functions[0][0].register_prehook(lambda grads: seen.append(grads[0].shape))
    value.backward()
    return seen


def retained(t):
    out, *_ = layer(t)
    out.retain_grad()
    out.sum().backward()
    return out.grad.tolist()


def edge(t):
    return tree(t.autograd.graph.get_gradient_edge(layer(t)[0]).node)


def in_place(t):
    out, *leaves = layer(t)
    out[0].mul_(3)
    return tree(out.grad_fn), gradients(t, out, *leaves)


def anomaly(t):
    value, x, *_ = loss(t)
    with t.autograd.set_detect_anomaly(True):
        value.backward()
    return x.grad.shape


def anomaly_backward(t):
    x, weight, bias, _ = given(t)
    out = t.nn.functional.linear(x * t.inf, weight, bias)
    with t.autograd.set_detect_anomaly(True):
        (out * 0).sum().backward()


def packed(t):
    kept = []
    with t.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tuple(tensor.shape)) or tensor, lambda x: x):
        value, x, *_ = loss(t)
    value.backward()
    return sorted(kept), x.grad.shape


@each_program(second_derivative, gradient_of_some, with_create_graph, hooked, hooked_below, retained, edge, in_place,
              anomaly, anomaly_backward, packed)
def test_who_wants_more_than_gradients_of_leaves_gets_pytorchs(program) -> None:
    assert_same_outcome(program)


def saved(t):
    value, _, weight, _ = loss(t)
    softmax = value.grad_fn.next_functions[0][0]
    addmm = softmax.next_functions[0][0]
    mat2 = addmm._saved_mat2
    return (value.grad_fn._saved_target.tolist(), value.grad_fn._saved_self.grad_fn is softmax,
            value.grad_fn._saved_total_weight.tolist(), value.grad_fn._saved_reduction, softmax._saved_result.shape,
            softmax._saved_dim, addmm._saved_mat1.shape, mat2._base is weight, mat2._is_view(), mat2.stride(),
            mat2.grad_fn is addmm.next_functions[2][0], addmm._saved_mat2_sym_strides, addmm._saved_alpha)


def written(change):
    def program(t):
        out, x, weight, bias = layer(t)
        value = t.nn.functional.cross_entropy(out, target := t.tensor([1, 3]))
        with t.no_grad():
            change(x, weight, bias, target, out)
        return gradients(t, value, x, weight, bias)

    return program


def of_other_data(t):
    out, x, weight, bias = layer(t)
    weight.data = t.zeros(4, 3)
    return gradients(t, out, x, weight, bias)


def of_other_data_looked_at(t):
    x, weight, bias, _ = given(t)
    with t.no_grad():
        weight.mul_(2)
    out = t.nn.functional.linear(x, weight, bias)
    weight.data = t.zeros(4, 3)
    return out.grad_fn.name(), gradients(t, out, x, weight, bias)


@each_program(
    saved, of_other_data, of_other_data_looked_at,
    written(lambda x, weight, bias, target, out: weight.add_(1)),
    written(lambda x, weight, bias, target, out: x.add_(1)),
    written(lambda x, weight, bias, target, out: bias.add_(1)),
    written(lambda x, weight, bias, target, out: target.zero_()),
    written(lambda x, weight, bias, target, out: out.zero_()),
)
def test_what_is_saved_and_was_written_since_is_as_in_pytorch(program) -> None:
    assert_same_outcome(program)


def linear(change_input=lambda x: x, change_weight=lambda w: w, change_bias=lambda b: b):
    def program(t):
        x, weight, bias, _ = given(t)
        out = t.nn.functional.linear(change_input(x), change_weight(weight), change_bias(bias))
        return tree(out.grad_fn), gradients(t, out)

    return program


def without_gradients(t):
    x, weight, bias, classes = given(t)
    with t.no_grad():
        outs = t.nn.functional.linear(x, weight), t.nn.functional.linear(x, weight, bias)
        value = t.nn.functional.cross_entropy(outs[0], classes)
    return [(t.round(out, decimals=4).tolist(), out.requires_grad, out.grad_fn) for out in (*outs, value)]


def test_nothing_is_recorded_without_gradients() -> None:
    assert_same_outcome(without_gradients)


def without_bias(change=lambda x, weight: None, needs_input=True):
    def program(t):
        x, weight, *_ = given(t)
        x.requires_grad_(needs_input)
        out = t.nn.functional.linear(x, weight)
        with t.no_grad():
            change(x, weight)
        out.sum().backward(retain_graph=True)
        first = [leaf.grad is not None and leaf.grad.tolist() for leaf in (x, weight)]
        node = out.grad_fn
        kept = [getattr(node, name) for name in ("_saved_self", "_saved_mat2", "_saved_self_sym_sizes")]
        (out * 2).sum().backward()
        return (first, [leaf.grad is not None and leaf.grad.tolist() for leaf in (x, weight)], tree(node),
                [value if value is None or type(value) is tuple else value.tolist() for value in kept])

    return program


@each_program(without_bias(), without_bias(needs_input=False), without_bias(lambda x, weight: x.add_(1)),
              without_bias(lambda x, weight: weight.add_(1)),
              without_bias(lambda x, weight: weight.add_(1), needs_input=False))
def test_a_layer_without_bias_is_recorded_as_in_pytorch(program) -> None:
    assert_same_outcome(program)


@each_program(
    linear(change_input=lambda x: x.detach()), linear(change_weight=lambda w: w.detach()),
    linear(change_bias=lambda b: b.detach()), linear(change_bias=lambda b: None), linear(change_weight=lambda w: w * 2),
    linear(change_weight=lambda w: w.t().contiguous().t()), linear(change_bias=lambda b: b[:1]),
    linear(change_input=lambda x: x[0]), linear(change_input=lambda x: x[None]),
    linear(change_input=lambda x: x[:, :2]), linear(change_input=lambda x: x.double()),
    linear(change_input=lambda x: x[:0]), linear(change_weight=lambda w: w[:1], change_bias=lambda b: b[:1]),
    lambda t: t.nn.functional.cross_entropy(layer(t)[0], t.tensor([1, 5])),
    lambda t: t.nn.functional.cross_entropy(layer(t)[0], t.tensor([1])),
    lambda t: t.nn.functional.cross_entropy(layer(t)[0], t.tensor([1.0, 2.0])),
    lambda t: loss(t, weight=t.tensor([1.0, 2.0, 3.0, 4.0]))[0].item(),
)
def test_other_arguments_are_recorded_and_refused_as_in_pytorch(program) -> None:
    assert_same_outcome(program)


def test_observers_see_each_operator_forward_and_backward() -> None:
    with profile() as forward:
        value, *_ = loss(mindtorch)
    assert {"aten::t", "aten::addmm", "aten::_log_softmax", "aten::nll_loss_forward"} <= {
        event.key for event in forward.key_averages()}
    value, *_ = loss(mindtorch)
    with profile() as backward:
        value.backward()
    assert {"aten::mm", "aten::t", "aten::nll_loss_backward"} <= {event.key for event in backward.key_averages()}


def test_an_operator_to_which_a_user_gave_another_kernel_is_called() -> None:
    called = []
    library = mindtorch.library.Library("aten", "IMPL")
    try:
        library.impl("addmm", lambda *args: called.append(args) or mindtorch.zeros(2, 4), "CPU")
        assert layer(mindtorch)[0].tolist() == [[0] * 4] * 2 and len(called) == 1
    finally:
        library._destroy()
    assert layer(mindtorch)[0].count_nonzero() == 8 and len(called) == 1


def test_numbers_that_are_none_are_no_error_where_numpy_raises_them() -> None:
    x, weight, bias, _ = given(mindtorch)
    with np.errstate(all="raise"):
        nn.functional.linear(x * float("inf"), weight, bias).sum().backward()
    assert weight.grad.isnan().any()


def test_gradients_do_not_depend_on_whether_the_graph_was_looked_at() -> None:
    found = []
    for looks in (False, True):
        value, *leaves = loss(mindtorch)
        if looks:
            tree(value.grad_fn)
        value.backward()
        found.append([leaf.grad.tolist() for leaf in leaves])
    assert found[0] == found[1]


@pytest.fixture
def hasty():
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_several_threads_may_look_at_a_graph_while_others_run_it(hasty) -> None:
    for _ in range(30):
        value, x, weight, _ = loss(mindtorch)
        start, trees, grads = threading.Barrier(4), [], []

        def look(value=value, start=start, trees=trees) -> None:
            start.wait()
            trees.append(tree(value.grad_fn))

        def run(value=value, start=start, grads=grads, inputs=(x, weight)) -> None:
            start.wait()
            grads.append(mindtorch.autograd.grad(value, inputs, retain_graph=True)[1].tolist())

        threads = [threading.Thread(target=work) for work in (look, run, look, run)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(trees) == len(grads) == 2 and trees[0] == trees[1] and grads[0] == grads[1]


def test_gradients_go_where_they_belong_though_another_thread_looks_at_the_graph_meanwhile() -> None:
    x, weight, bias = ((mindtorch.arange(float(n)).reshape(shape) / 10).requires_grad_()
                       for n, shape in ((9, (3, 3)), (9, (3, 3)), (3, (3,))))

    class Looked(mindtorch.autograd.Function):
        """Has another thread look at the node of the layer, which comes next in the backward pass."""

        @staticmethod
        def forward(ctx, y):
            return y.exp()

        @staticmethod
        def backward(ctx, grad):
            other = threading.Thread(target=lambda: tree(out.grad_fn))
            other.start()
            other.join()
            return grad

    out = nn.functional.linear(x, weight, bias)
    Looked.apply(out).sum().backward()
    assert weight.grad.tolist() == mindtorch.ones(3, 3).t().mm(x).tolist()


# -- layers of sequences -----------------------------------------------------------------------------------------------

def numbered(node):
    """Return the names of a graph's nodes in the order in which their operators ran."""
    found, stack = {}, [node]
    while stack:
        node = stack.pop()
        if node is not None and node.next_functions:
            found[node] = node._sequence_nr()
            stack += [below for below, _ in node.next_functions]
    return [node.name() for node in sorted(found, key=found.get)]


def order_of_sequences(t, kind):
    return numbered(sequences(t, kind)[0].grad_fn)


def saved_of_sequences(t, kind):
    node = sequences(t, kind)[0].grad_fn.next_functions[0][0]
    rows = node._saved_mat1 if kind == "with bias" else node._saved_self
    return rows.tolist(), rows._is_view(), tree(rows.grad_fn), tree(node._saved_mat2.grad_fn)


def sequences_of_replaced(t, kind):
    out, *leaves = sequences(t, kind)
    for leaf in leaves[:2]:
        leaf.data = leaf.data * 2
    return gradients(t, out, *leaves), tree(out.grad_fn)


def sequences_of_written(t, kind):
    out, *leaves = sequences(t, kind)
    with t.no_grad():
        leaves[0].mul_(2)
    return gradients(t, out, *leaves)


def sequences_written(t, kind):
    out, *leaves = sequences(t, kind)
    return gradients(t, out.relu_(), *leaves), out._is_view()


def second_gradients_of_sequences(t, kind):
    out, *leaves = sequences(t, kind)
    grad, = t.autograd.grad((out ** 2).sum(), leaves[:1], create_graph=True)
    return [one.tolist() for one in t.autograd.grad((grad ** 2).sum(), leaves[:2])]


@each_program(*(lambda t, program=program, kind=kind: program(t, kind)
                for kind in ("with bias", "without bias", "copied") for program in (
                    order_of_sequences, saved_of_sequences, sequences_of_replaced, sequences_of_written,
                    sequences_written, second_gradients_of_sequences)))
def test_layers_of_sequences_are_pytorchs(program) -> None:
    assert_same_outcome(program)


# -- products of batches of matrices -----------------------------------------------------------------------------------

def batches(t, *shape):
    """Make a leaf of small numbers."""
    return (t.arange(float(np.prod(shape))) % 7 / 4).reshape(shape).requires_grad_()


def factors(t, kind):
    """Make the operands of a product, and the leaves that they come from."""
    if kind == "permuted":  # which ``reshape`` copies
        a, b = batches(t, 2, 4, 3, 5), batches(t, 2, 6, 3, 5)
        return a.transpose(1, 2), b.permute(0, 2, 3, 1), (a, b)
    if kind == "column":  # which ``reshape`` only views with other strides
        a, b = batches(t, 2, 4, 5), batches(t, 2, 7, 5)
        return a, b[:, 3, :].unsqueeze(-1), (a, b)
    if kind == "square":
        a = batches(t, 2, 3, 4, 4)
        return a, a.mT, (a,)
    a, b = batches(t, 2, 3, 4, 5), batches(t, 2, 3, 5, 6)
    left, right = kind != "right only", kind != "left only"
    return a if left else a.detach(), b if right else b.detach(), (a,) * left + (b,) * right


KINDS = "plain", "permuted", "column", "square", "left only", "right only"


def nodes_of_product(t, kind):
    a, b, _ = factors(t, kind)
    out = a @ b
    product = out.grad_fn.next_functions[0][0]
    saved = [value if value is None else (value.tolist(), value.stride(), value._is_view(), tree(value.grad_fn))
             for value in (product._saved_self, product._saved_mat2)]
    return tree(out.grad_fn), out.grad_fn._saved_self_sym_sizes, saved, out.stride(), out._is_view()


def gradients_of_product(t, kind):
    a, b, leaves = factors(t, kind)
    out = a @ b
    return gradients(t, out * out.mT.contiguous().mT, *leaves), tree(out.grad_fn)


def second_gradients_of_product(t, kind):
    a, b, leaves = factors(t, kind)
    firsts = t.autograd.grad(((a @ b) ** 2).sum(), leaves, create_graph=True)
    return [grad.tolist() for grad in t.autograd.grad(sum((first ** 2).sum() for first in firsts), leaves)]


def product_of_written(t, kind):
    a, b, leaves = factors(t, kind)
    a = a * 1
    out = a @ b
    with t.no_grad():
        a.mul_(2)
    return gradients(t, out, *leaves)


def product_of_replaced(t, kind):
    a, b, leaves = factors(t, kind)
    out = a @ b
    leaves[0].data = leaves[0].data * 2
    return gradients(t, out, *leaves), tree(out.grad_fn)


def product_run_twice(t, kind):
    a, b, _ = factors(t, kind)
    out = a @ b
    out.sum().backward()
    out.sum().backward()


@each_program(*(lambda t, program=program, kind=kind: program(t, kind) for kind in KINDS for program in (
    nodes_of_product, gradients_of_product, second_gradients_of_product, product_of_written, product_of_replaced,
    product_run_twice)))
def test_products_of_batches_are_pytorchs(program) -> None:
    assert_same_outcome(program)


@pytest.mark.parametrize("kind", KINDS)
def test_observers_are_told_of_the_operators_of_a_product(kind: str) -> None:
    a, b, _ = factors(mindtorch, kind)
    with mindtorch.observe() as seen:
        out = a @ b
    names = [event.op for event in seen if event.part]
    assert names[0] == "expand" and names[-2:] == ["bmm", "_unsafe_view"], names
    with mindtorch.observe() as seen:
        out.backward(mindtorch.ones_like(out))
    assert [event.op for event in seen].count("bmm") == 1 + (kind not in ("left only", "right only"))


def gradient_of_a_replaced_tied_weight(t, kind, gates):
    x, state = batches(t, 2, 2, 3).detach(), t.zeros(1, 2, 3)
    weight = ((t.arange(9.0 * gates) % 5 - 2) / 8).reshape(-1, 3).requires_grad_()
    out = getattr(t, kind)(x, state, (weight, weight), False, 1, 0.0, True, False, False)[0]
    weight.data = weight.data * 2
    grad, = t.autograd.grad(out.sum(), weight)
    return [round(value, 3) for value in grad.flatten().tolist()]


@each_program(lambda t: gradient_of_a_replaced_tied_weight(t, "gru", 3),
              lambda t: gradient_of_a_replaced_tied_weight(t, "rnn_tanh", 1))
def test_a_leaf_that_a_layer_takes_twice_has_its_gradient_once(program) -> None:
    assert_same_outcome(program)


def test_a_derivative_that_a_user_replaces_is_that_of_a_product() -> None:
    bmm, x = registry.derivatives["bmm"], mindtorch.ones(2, 3, 3, requires_grad=True)
    try:
        library.derivative("bmm", self=lambda grad, mat2: grad @ mat2.mT * 100)
        (x @ mindtorch.ones(2, 3, 4)).sum().backward()
    finally:
        registry.register_derivative("bmm", bmm)
    assert x.grad.unique().tolist() == [400]
