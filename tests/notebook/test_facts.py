"""The facts that cards and magics show, asserted without any HTML."""
from __future__ import annotations

import functools
import gc
import weakref
from dataclasses import dataclass

import numpy as np
import pytest

import mindtorch as torch
from mindtorch import introspect, viz
from mindtorch._dispatch.keys import PIPELINE


def test_names_come_from_variables_containers_modules_and_gradients():
    w = torch.ones(2, requires_grad=True)
    w.sum().backward()
    namespace = {
        "w": w, "again": w, "xs": [torch.ones(1), 3], "d": {"k": torch.ones(1)}, "_hidden": torch.ones(1),
        "n": 5, "layer": torch.nn.Linear(2, 1),
    }
    assert [name for name, _ in introspect.named_tensors(namespace)] == [
        "w", "layer.weight", "layer.bias", "xs[0]", "d['k']", "w.grad",
    ]


def test_what_an_optimizer_keeps_is_named_after_it_and_the_parameter():
    model, lost = torch.nn.Linear(3, 2), torch.ones(2, requires_grad=True)
    adam, sgd = torch.optim.Adam(model.parameters()), torch.optim.SGD([lost], lr=0.1, momentum=0.9)
    (model(torch.ones(1, 3)) * lost).sum().backward()
    adam.step()
    sgd.step()
    space = {"adam": adam, "model": model, "others": [sgd]}
    names = {name: tensor for name, tensor in introspect.named_tensors(space) if not name.startswith("model.")}
    assert [*names] == [f"adam.state[model.{of}].{kept}" for of in ("weight", "bias")
                        for kept in ("step", "exp_avg", "exp_avg_sq")] + [
        "others[0].param_groups[0]['params'][0]", "others[0].state[param_groups[0]['params'][0]].momentum_buffer"]
    assert names["adam.state[model.weight].exp_avg"] is adam.state[model.weight]["exp_avg"]
    assert names["others[0].param_groups[0]['params'][0]"] is lost
    used = {name for use in introspect.memory_facts(introspect.names_of(space))[0].storages for name in use.names}
    assert {"adam.state[model.bias].exp_avg_sq", "model.bias"} <= used


def test_a_module_that_is_not_made_yet_has_no_tensors():
    unmade = torch.nn.Linear.__new__(torch.nn.Linear)
    assert list(introspect.named_tensors({"layer": unmade, "both": [unmade]})) == []


def test_what_a_cell_displayed_is_named_after_it_unless_it_has_another_name():
    out = {3: torch.ones(2), 5: torch.ones(3)}
    names = [name for name, _ in introspect.named_tensors({"x": out[5], "Out": out, "_oh": out, "_3": out[3]})]
    assert names == ["x", "Out[3]"]


def test_a_storage_has_one_number_for_as_long_as_it_lives_and_no_other_gets_it():
    alone = torch.ones(4) + 1
    number = introspect.storage_number(alone)  # before the storage was asked for
    view = alone.view(2, 2)
    assert introspect.storage_number(view) == introspect.storage_number(alone) == number
    del alone
    assert introspect.storage_number(view) == number
    seen = {number}
    for _ in range(20):  # memory is used again, numbers are not
        other = introspect.storage_number(torch.ones(4))
        assert other not in seen
        seen.add(other)


def test_tensors_in_fields_are_named_after_the_fields():
    @dataclass
    class Batch:
        images: object

    space = {"batch": Batch(torch.ones(1)), "best": torch.ones(2, 2).max(0), "by_place": {(1, "a"): torch.ones(3)}}
    names = [name for name, _ in introspect.named_tensors(space)]
    assert names == ["batch.images", "best.values", "best.indices", "by_place[(1, 'a')]"]


def test_the_names_of_a_dictionary_s_items_are_short_and_run_nothing():
    class Key:
        def __repr__(self):
            raise AssertionError("a key of an unknown type was printed")

    d = {"k" * 1000: torch.ones(1), Key(): torch.ones(1), 3: torch.ones(1)}
    assert [name for name, _ in introspect.named_tensors({"d": d})] == [f"d['{'k' * 79}…]", "d[<Key>]", "d[3]"]


def test_facts_of_a_view_name_its_base_and_its_layout():
    base = torch.arange(12.0)
    view = base.view(3, 4).t()
    facts = introspect.tensor_facts(view, {id(base): "base", id(view): "view"})
    assert (facts.name, facts.base, facts.is_view) == ("view", "base", True)
    assert (facts.shape, facts.stride, facts.offset) == ((4, 3), (1, 4), 0)
    assert not facts.contiguous and facts.dense and not facts.overlapping
    assert facts.storage_bytes == 48 and facts.address == base.data_ptr()


@pytest.mark.parametrize(("make", "overlapping"), [
    (lambda: torch.ones(3, 1).expand(3, 4), True),
    (lambda: torch.arange(5.0).as_strided((3, 3), (1, 1)), True),
    (lambda: torch.ones(3, 4)[:, ::2], False),
    (lambda: torch.ones(1, 1), False),
])
def test_overlap_is_known(make, overlapping):
    assert introspect.tensor_facts(make()).overlapping is overlapping


def test_statistics_are_exact_below_the_sample_size_and_say_so_above():
    values = torch.tensor([1.0, float("nan"), -3.0, float("inf"), 0.0])
    s = introspect.tensor_facts(values).statistics
    assert (s.minimum, s.maximum, s.nans, s.infinities, s.zeros) == (-3.0, 1.0, 1, 1, 1)
    assert (s.sampled, s.total) == (5, 5)
    np.testing.assert_allclose([s.mean, s.std], [-2 / 3, np.std([1, -3, 0], ddof=1)])
    large = introspect.tensor_facts(torch.ones(1000, 1000)).statistics
    assert large.total == 10**6 and 0 < large.sampled <= 2 * 10**5 and large.mean == 1.0


@pytest.mark.parametrize("dtype", [
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
    "complex128",
])
def test_statistics_are_those_of_numpy(dtype):
    values = np.random.default_rng(0).normal(size=(20, 30)) * 50
    values[values < -60] = 0
    tensor = torch.tensor(np.abs(values) if dtype in ("bool", "uint8") else values).to(getattr(torch, dtype))
    exact = tensor.to(torch.complex128).numpy() if dtype.startswith("complex") else tensor.to(torch.float64).numpy()
    if dtype.startswith("complex"):
        exact = np.abs(exact)
    s = introspect.tensor_facts(tensor.t()[1:]).statistics
    exact = exact.T[1:]
    np.testing.assert_allclose(
        [s.minimum, s.maximum, s.mean, s.std], [exact.min(), exact.max(), exact.mean(), exact.std(ddof=1)], rtol=1e-7
    )
    assert (s.zeros, s.nans, s.infinities, s.sampled) == ((exact == 0).sum(), 0, 0, 580)


@pytest.mark.parametrize("value", [1.7e308 + 1.7e308j, complex("nan+1j"), complex("1-infj"), complex("inf+nanj")])
def test_complex_numbers_are_infinite_or_nan_if_a_part_is_and_not_if_only_their_magnitude_is(value):
    s = introspect.tensor_facts(torch.tensor([value, 3 + 4j], dtype=torch.complex128)).statistics
    assert (s.nans, s.infinities) == (np.isnan(value), np.isinf(value) and not np.isnan(value))
    assert s.minimum == 5.0 and np.isfinite(s.maximum)


@pytest.mark.parametrize("period", [*range(2, 17), 24, 32, 64, 100])
def test_a_sample_of_what_repeats_shows_all_of_it(period):
    flat = torch.arange(period).repeat(-(-10**6 // period))
    for tensor in (flat, flat[:10**6].view(1000, 1000), flat[:10**6].view(100, 100, 100)):
        s = introspect.tensor_facts(tensor).statistics
        assert s.sampled < s.total and (s.minimum, s.maximum) == (0, period - 1)
        assert abs(s.mean - (period - 1) / 2) < 0.05 * period


def test_the_base_of_a_view_is_named_where_it_has_a_name_and_a_view_of_a_view_has_the_same():
    base = torch.zeros(4, 4)
    view = base[1:]
    inner = view.t()
    names = {id(base): "base", id(view): "view"}
    assert [introspect.tensor_facts(t, names).base for t in (base, view, inner)] == ["", "base", "base"]
    views = [introspect.tensor_facts(tensor).is_view for tensor in (base, view, inner, base.detach())]
    assert views == [False, True, True, False]


@pytest.mark.parametrize(("make", "contiguous", "channels_last"), [
    (lambda: torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last), False, True),
    (lambda: torch.zeros(2, 3, 4, 5, 6).to(memory_format=torch.channels_last_3d), False, True),
    (lambda: torch.zeros(2, 1, 4, 4), True, True), (lambda: torch.zeros(1, 4, 1).transpose(0, 2), True, False),
    (lambda: torch.zeros(2, 4, 4, 3).permute(0, 3, 1, 2), False, True), (lambda: torch.zeros(2, 3), True, False),
])
def test_contiguity_is_that_of_pytorch(make, contiguous, channels_last):
    facts = introspect.tensor_facts(make())
    assert (facts.contiguous, facts.channels_last, facts.dense) == (contiguous, channels_last, True)


def test_the_version_is_pytorch_s_for_all_that_share_it():
    base = torch.zeros(4)
    view, alone = base[1:], torch.ones(2)
    for writes in range(3):
        facts = [introspect.tensor_facts(tensor).version for tensor in (base, view, alone)]
        assert facts == [writes, writes, 0] and view._version == writes
        view.add_(1)
    with torch.inference_mode():
        assert introspect.tensor_facts(torch.ones(2)).version is None


def test_cells_know_position_and_address():
    t = torch.arange(6.0).view(2, 3).t()
    cell = introspect.cells(t, [(2, 1)])[0]
    assert (cell.position, cell.value, cell.address) == (5, 5.0, t.data_ptr() + 20)


def double(gradient):
    return 2 * gradient


def test_hooks_are_named_also_behind_methods_partials_and_callable_objects():
    class Callable:
        def __call__(self, gradient):
            return None

        def method(self, gradient):
            return None

    x = torch.ones(2, requires_grad=True)
    for hook in (functools.partial(double), Callable(), Callable().method, len):
        x.register_hook(hook)
    x.register_post_accumulate_grad_hook(double)
    loss = x.sum()
    loss.grad_fn.register_prehook(double)
    loss.register_hook(double)
    root, leaf = introspect.graph_facts(loss).nodes
    assert [hook.name for hook in leaf.hooks] == ["double", "Callable", "Callable.method", "len", "double"]
    assert [bool(hook.place) for hook in leaf.hooks] == [True, True, True, False, True]
    assert [hook.name for hook in root.hooks] == ["double", "double"]
    assert "ƒ double, double" in viz.graph_text(introspect.graph_facts(loss))


def test_the_graph_knows_names_saved_tensors_versions_hooks_and_what_was_freed():
    w = torch.ones(2, requires_grad=True)
    x = w * 1
    y = x * x
    loss = y.sum()
    w.register_hook(double)
    named = {"w": w, "x": x, "loss": loss}
    facts = introspect.graph_facts(loss, named)
    leaf = next(n for n in facts.nodes if n.variable)
    assert facts.nodes[0].identity == facts.root and facts.nodes[0].outputs == ("loss",)
    product = next(n for n in facts.nodes if any(s.tensor == "x" for s in n.saved))
    assert {s.name for s in product.saved} == {"self", "other"} and not any(s.stale for s in product.saved)
    assert (leaf.name, leaf.variable) == ("torch::autograd::AccumulateGrad", "w")
    assert (leaf.shapes, leaf.has_grad) == (((2,),), False)
    line = double.__code__.co_firstlineno
    assert leaf.hooks == (("double", f"{__file__}:{line}"),)
    with torch.no_grad():
        x.add_(1)
    stale = next(n for n in introspect.graph_facts(loss, named).nodes if n.identity == product.identity)
    assert all(s.stale for s in stale.saved)


def test_the_names_of_a_nodes_outputs_stand_in_the_order_of_the_outputs():
    z, a = torch.ones(2, requires_grad=True).exp().unbind()
    node = introspect.graph_facts(a, {"a": a, "z": z}).nodes[0]
    assert (node.name, node.outputs) == ("UnbindBackward0", ("z", "a"))


def test_the_graph_names_what_a_node_keeps_of_its_own_output():
    w = torch.ones(2, requires_grad=True)
    y = w.exp()
    node = introspect.graph_facts(y.sum(), {"y": y}).nodes[1]
    assert (node.name, node.outputs) == ("ExpBackward0", ("y",))
    assert [(saved.name, saved.tensor) for saved in node.saved] == [("result", "y")]


def test_the_graph_knows_what_a_function_of_the_user_keeps():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad * ctx.saved_tensors[0]

    w = torch.ones(2, requires_grad=True)
    loss = Square.apply(w).sum()
    before = introspect.graph_facts(loss, {"w": w}).nodes[1]
    loss.backward()
    after = introspect.graph_facts(loss, {"w": w}).nodes[1]
    assert before.name == "SquareBackward" and not before.freed and after.freed and after.saved == ()
    kept = before.saved[0]
    assert (len(before.saved), kept.name, kept.tensor, kept.version) == (1, "saved_tensors[0]", "w", 0)


def test_the_graph_looks_into_a_write_to_a_view():
    w = torch.ones(4, requires_grad=True)
    base = w * 1
    base[1:3].mul_(w[:2])
    node = introspect.graph_facts(base.sum(), {"base": base}).nodes[1]
    assert node.name == "torch::autograd::CopySlices"
    assert {saved.name for saved in node.saved} >= {"self", "other"}


def test_a_tensor_without_a_graph_says_so():
    with pytest.raises(ValueError, match="no autograd graph"):
        introspect.graph_facts(torch.ones(2))


def test_looking_never_waits_and_never_changes_anything():
    with torch.pipeline() as p:
        y = torch.ones(3) + 1
        z = y.view(-1)
        for tensor in (y, z):
            version, keys, storage = tensor._version, tensor._keys, tensor._storage
            facts = introspect.tensor_facts(tensor)
            introspect.storage_facts(tensor)
            assert facts.pending is not None
            assert (facts.pending.operator, facts.pending.before) == ("add.Tensor", ("ones",))
            assert facts.statistics is None and facts.address == 0
            assert (tensor._version, tensor._keys, tensor._storage) == (version, keys, storage)
            assert keys & PIPELINE
        assert len(p) == 2
    fresh = torch.ones(3) + 1
    introspect.tensor_facts(fresh)
    introspect.storage_facts(fresh)
    assert fresh._storage is None and fresh._version_counter is None


def test_facts_keep_no_tensor_alive():
    t = torch.ones(3)
    reference = weakref.ref(t)
    facts = introspect.tensor_facts(t), introspect.storage_facts(t)
    gc.disable()
    try:
        del t
        assert reference() is None and facts
    finally:
        gc.enable()
