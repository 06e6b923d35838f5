"""Plans of calls: later calls of a layout give the first call's values, in new memory, and errors that values cause."""
from __future__ import annotations

import math

import numpy as np
import pytest

import mindtorch as torch
from mindtorch._backends.cpu.kernels import Shape, by_layouts
from mindtorch._backends.cpu.ops.linalg import linear
from mindtorch._backends.cpu.plans import MISSES, UNFIT, Plans, key_of
from mindtorch._backends.cpu.rows import shares_memory
from mindtorch._dispatch.keys import CPU
from mindtorch._dispatch.schema import REQUIRED
from mindtorch._dispatch.schemas import registry
from mindtorch.nn import functional as F
from tests.benchmarks.walk import step, walk

X = torch.arange(12.0).reshape(3, 4) - 5
PROGRAMS = {
    "sum": lambda x: x.sum(1), "mean": lambda x: x.mean(), "max": lambda x: x.max(1), "softmax": lambda x: x.softmax(1),
    "cumsum": lambda x: x.cumsum(0), "cat": lambda x: torch.cat([x, x]), "stack": lambda x: torch.stack([x, x]),
    "roll": lambda x: x.roll(1, 0), "pad": lambda x: F.pad(x, (1, 2), value=-0.0), "flip": lambda x: x.flip(0),
    "mm": lambda x: x.mm(x.t()), "linear": lambda x: F.linear(x, x, x[:, 0]), "var": lambda x: x.var(1),
    "layer_norm": lambda x: F.layer_norm(x, (4,)), "topk": lambda x: x.topk(2), "tril": lambda x: x.tril(),
    "gather": lambda x: x.gather(1, (x > 0).long()), "max_pool": lambda x: F.max_pool1d(x, 2),
    "clone": lambda x: x.clone(), "double": lambda x: x.double(),
    "pad of labels": lambda x: F.pad(x.long(), (0, 1), value=-100), "matrix and batch": lambda x: x @ x.t()[None],
}


def tensors(result):
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_calls_of_a_layout_give_the_same_values_in_new_memory(name):
    before, kept = X.clone(), [tensors(PROGRAMS[name](X)) for _ in range(4)]
    for later in kept[1:]:
        for first, now in zip(kept[0], later, strict=True):
            assert torch.equal(first, now) and first.dtype is now.dtype and first.stride() == now.stride()
            now.fill_(7)
    assert torch.equal(X, before)
    for first, last in zip(kept[0], tensors(PROGRAMS[name](X)), strict=True):
        assert torch.equal(first, last)


@pytest.mark.parametrize("number", [2, 2.0, True, 0.0, -0.0])
def test_tensors_filled_like_another_are_new_memory_at_each_call(number):
    for _ in range(4):
        out = torch.full_like(X, number)
        assert out.tolist() == [[number] * 4] * 3 and out.signbit().any() == (math.copysign(1, number) < 0)
        out.fill_(7)
        assert torch.equal(torch.ones_like(X, dtype=torch.int64).add_(1), torch.tensor(2).expand(3, 4))


def test_linear_of_an_input_of_other_strides_has_a_plan():
    x, weight = torch.arange(24.0).reshape(2, 3, 4).mT, X[:, :3].contiguous()
    for _ in range(3):
        out = F.linear(x, weight)
    with torch.observe() as trace:
        assert torch.equal(F.linear(x, weight), out) and torch.equal(out, x.contiguous() @ weight.t())
    assert [event.plan.made for event in trace.events if event.op == "linear"] == [False]


@pytest.mark.parametrize(("op", "call"), [
    ("value_selecting_reduction_backward", lambda x: x.max(1)[0]),
    ("index_select_backward", lambda x: x.index_select(0, torch.tensor([0, 2, 0]))),
    ("reflection_pad1d_backward", lambda x: F.pad(x, (1, 2), "reflect")),
])
def test_gradients_that_are_one_number_expanded_have_plans(op, call, monkeypatch):
    monkeypatch.setattr(Plans, "skip", lambda self: False)  # sizes of earlier tests may have changed at every call
    x = X.clone().requires_grad_()
    for _ in range(3):
        grad, = torch.autograd.grad(call(x).sum(), x)
    with torch.observe() as trace:
        assert torch.equal(torch.autograd.grad(call(x).sum(), x)[0], grad)
    assert torch.equal(torch.autograd.grad(call(x), x, torch.ones_like(call(x)))[0], grad)
    assert [event.plan.made for event in trace.events if event.op == op] == [False]


@pytest.mark.parametrize("name", PROGRAMS)
def test_observers_are_told_of_the_plan_that_a_call_has_found(name, monkeypatch):
    monkeypatch.setattr(Plans, "skip", lambda self: False)  # sizes of earlier tests may have changed at every call
    for _ in range(4):
        PROGRAMS[name](X)
    with torch.observe() as trace:
        PROGRAMS[name](X)
    plan, *_ = [event.plan for event in trace.events if event.plan is not None]
    assert not plan.made and any("[3, 4]" in layout for layout in plan.layouts)


@pytest.mark.parametrize("draw", [torch.rand, torch.randn, lambda *size: torch.randint(9, size)],
                         ids=["rand", "randn", "randint"])
def test_a_plan_made_before_observers_gives_contiguous_tensors_to_all(draw):
    with torch.observe():
        for _ in range(3):
            draw(3, 11)
    drawn = draw(3, 11)
    assert drawn._keys == torch.empty(3, 11)._keys


@pytest.mark.parametrize("call", [
    lambda x, at: x.index_select(0, at), lambda x, at: x.take(at), lambda x, at: x.gather(1, at.reshape(1, 2)),
    lambda x, at: F.embedding(at, x), lambda x, at: x[at], lambda x, at: x.quantile(at[1] / 2.0),
], ids=["index_select", "take", "gather", "embedding", "index", "quantile"])
def test_a_number_that_is_too_large_is_refused_by_a_plan_that_others_have_used(call):
    x = torch.arange(6.0).reshape(2, 3)
    for _ in range(3):
        call(x, torch.tensor([0, 1]))
    with pytest.raises((IndexError, RuntimeError), match=r"out of (range|bounds)|in the range"):
        call(x, torch.tensor([0, 99]))


def test_a_plan_of_tensors_among_settings_serves_calls_with_and_without_the_optional_ones():
    op, weight = registry["layer_norm"], X[0].clone()
    for _ in range(3):
        without, within = op.call(X, (4,)), op.call(X, (4,), weight, None)
    find = op.kernel(CPU).plans.find
    assert find(X, (4,)) is find(X, (4,), None, None) is not None
    assert find(X, (4,), weight) not in (None, find(X, (4,)))
    assert torch.equal(op.call(X, (4,), None, None), without) and torch.equal(without * weight, within)


def test_settings_that_are_equal_but_differ_have_plans_of_their_own():
    x = torch.ones(2, 3)
    for _ in range(3):
        assert str(F.pad(x, (1, 0), value=0.0)[0, 0].item()) == "0.0"
        assert str(F.pad(x, (1, 0), value=-0.0)[0, 0].item()) == "-0.0"
        assert torch.linspace(0, 1, 3).dtype is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.linspace(0, 1, 3).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_nan_and_infinities_reach_plans_that_small_numbers_made():
    x = torch.tensor([[1.0, 2.0, 3.0]])
    for _ in range(3):
        assert x.softmax(1).isfinite().all() and x.topk(1).indices.item() == 2 and x.var(1).item() == 1
    nan = torch.tensor([[1.0, float("nan"), 3.0]])
    assert nan.softmax(1).isnan().all() and nan.topk(1).indices.item() == 1 and nan.var(1).isnan().all()
    large = torch.tensor([[1e30, 2e30, 3e30]])
    assert large.softmax(1).tolist() == [[0, 0, 1]]


def test_shapes_that_values_decide_are_not_planned():
    values = [torch.tensor([[0, 1], [most, 0]]) for most in (0, 1, 3, 2)]
    assert [F.one_hot(x).shape[-1] for x in values] == [2, 2, 4, 3]
    assert [torch.bincount(x.reshape(-1)).shape[0] for x in values] == [2, 2, 4, 3]
    assert [x.nonzero().shape[0] for x in values] == [1, 2, 2, 2]
    assert [torch.repeat_interleave(x.reshape(-1)).shape[0] for x in values] == [1, 2, 4, 3]
    assert [x.unique().shape[0] for x in values] == [2, 2, 3, 3]


def test_a_number_takes_no_index_however_often_it_is_asked():
    number, at = torch.tensor(1.0), torch.tensor([0])
    for _ in range(3):
        with pytest.raises(IndexError, match="too many indices for tensor of dimension 0"):
            number[at]


CHANGING = {**PROGRAMS, "t": lambda x: x.t(), "slice": lambda x: x[1:, None],
            "expand": lambda x: x[None].expand(2, -1, -1), "view": lambda x: x.view(-1),
            "where": lambda x: torch.where(x > 0, x, -x), "strided": lambda x: x.t().sum(0)}


@pytest.mark.parametrize("name", CHANGING)
def test_sizes_that_change_at_every_call_give_the_values_of_plans(name):
    given = [torch.arange(4.0 * size).reshape(size, 4) - size for size in range(3, 45)]
    first = [tensors(CHANGING[name](x)) for x in given]
    for x, results in zip(given, first, strict=True):
        for now, later in [(a, b) for _ in range(3) for a, b in zip(results, tensors(CHANGING[name](x)), strict=True)]:
            assert torch.equal(now, later) and now.dtype is later.dtype and now.stride() == later.stride()


@pytest.mark.parametrize("call", [
    lambda x: x.sum(2), lambda x: x.view(3, -1, 7), lambda x: x.softmax(-3), lambda x: x[9], lambda x: x.mm(x),
    lambda x: torch.cat([x, x[0]]), lambda x: x.transpose(0, 2)])
def test_bad_calls_are_refused_however_often_sizes_change(call):
    for size in range(2, 40):
        x = torch.ones(2, size + 1)
        assert x.sum(1).numel() == x.softmax(1).shape[0] == x.mm(x.t()).shape[1] == torch.cat([x, x]).shape[0] // 2
        assert x[1].numel() == x.view(-1).numel() // 2 == x.transpose(0, 1).shape[0]
    with pytest.raises((IndexError, RuntimeError)):
        call(x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_plan_of_classes_leaves_ignored_and_impossible_ones_to_the_general_kernel(dtype):
    logs = torch.arange(6.0, dtype=dtype).reshape(3, 2).requires_grad_()

    def loss(*classes, **settings):
        logs.grad = None
        value = F.nll_loss(logs, torch.tensor(classes), **settings)
        value.backward()
        return value.item(), logs.grad.tolist()

    third = torch.tensor(1.0, dtype=dtype).div(-3).item()
    for _ in range(3):
        value, gradient = loss(1, 0, 1)
        assert value == pytest.approx(-8 / 3) and gradient == [[0, third], [third, 0], [0, third]]
        assert loss(1, 0, 1, reduction="sum") == (-8, [[0, -1], [-1, 0], [0, -1]])
        assert loss(1, -100, 1) == (-3, [[0, -0.5], [0, 0], [0, -0.5]])
        assert loss(1, 0, 1, ignore_index=0) == (-3, [[0, -0.5], [0, 0], [0, -0.5]])
        for wrong in (2, -1):
            with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
                loss(1, wrong, 1)


def test_a_plan_of_interpolation_takes_any_number():
    x, y = torch.tensor([1.0, -2.0]), torch.tensor([3.0, 6.0])
    for weight, expected in [(0.25, [1.5, 0.0]), (1, [3.0, 6.0]), (0, [1.0, -2.0]), (float("inf"), [float("inf")] * 2)]:
        assert torch.lerp(x, y, weight).tolist() == expected
        assert torch.lerp(x.half(), y.half(), min(weight, 1)).dtype is torch.float16
    with pytest.raises(RuntimeError, match="cannot be converted"):
        torch.lerp(x, y, 1e300)


def test_cache_keys_tell_numbers_apart_and_refuse_other_objects():
    different = [key_of((X, number)) for number in (1, 1.0, True, 0, 0.0, -0.0, None, "1", (1,), (0,), X, [X], [X, X])]
    assert None not in different and len(set(different)) == len(different)
    assert key_of((X, 1.0)) == key_of((X + 1, 1.0)) and key_of(([X],)) == key_of(((X,),))
    assert key_of((X, object())) is key_of((X, [])) is key_of((X, [1])) is key_of((X, (1.5,))) is None


def test_where_no_plan_is_found_each_sixteenth_call_looks_for_one():
    plans = Plans()
    plans.missed = MISSES + 1
    assert [plans.skip() for _ in range(2 * MISSES)].count(False) == 2


def test_calls_that_are_known_to_have_no_plan_are_not_misses():
    x, plans = torch.ones(0, 4), Plans()
    kernel, _ = by_layouts(plans, Shape((("tensor", REQUIRED),), (), 1, 1),
                           lambda key, args, plan: plans.keep(key, UNFIT) or len(plans))
    assert [kernel(x) for _ in range(2 * MISSES)] == [1] * 2 * MISSES and plans.missed == 0


@pytest.mark.parametrize("shape", [(1 << 14,), (1 << 7, 1 << 7), (1, 1 << 14), (1 << 14, 1)])
def test_many_elements_are_equal_only_if_all_are(shape):
    x = torch.ones(shape)
    turned = range(x.ndim)[::-1]
    for place in (0, 1 << 9, -1):
        for y in (x, x.clone(), x.clone().view(-1).index_fill_(0, torch.tensor(place), torch.nan).view(shape)):
            assert [torch.equal(x, y) for _ in range(3)] == [not y.isnan().any()] * 3
            assert [torch.equal(x.permute(*turned), y.permute(*turned)) for _ in range(3)] == [not y.isnan().any()] * 3
    assert not torch.equal(y, y)


WEIGHT, LINE, ONE = torch.ones(3, 4, requires_grad=True), torch.arange(5), torch.ones(1)
#: The functions of the library that a call enters at most, once its plans are there.
WALKS = {"sum": (lambda: X.sum(1), 6), "t": (lambda: X.t(), 5), "slice": (lambda: X[1:], 7),
         "index": (lambda: X[1:, None], 5), "softmax": (lambda: X.softmax(1), 7), "cat": (lambda: torch.cat([X, X]), 6),
         "linear": (lambda: F.linear(X, WEIGHT), 9), "flip of strided": (lambda: X.t().flip(0), 12),
         "pad": (lambda: F.pad(X, (1, 1), mode="reflect"), 4), "real": (lambda: X.real, 5),
         "dot": (lambda: torch.dot(LINE, LINE), 3), "norm of one": (lambda: torch.linalg.vector_norm(ONE, 3), 4),
         "bucketize": (lambda: torch.bucketize(LINE, LINE), 8), "max": (lambda: X.max(1, True), 5),
         "full_like": (lambda: torch.full_like(X, 2.5), 5), "linspace": (lambda: torch.linspace(1, 2, 5), 8),
         "full_like strided": (lambda: torch.full_like(X.t(), 2.5), 10),
         "linear and backward": (lambda: F.linear(X, WEIGHT).sum().backward(), 49),
         "SGD.step": (step("SGD", lr=0.1, momentum=0.9), 30), "AdamW.step": (step("AdamW"), 41)}


@pytest.mark.parametrize("name", WALKS)
def test_a_call_with_plans_walks_through_few_functions(name, monkeypatch):
    monkeypatch.setattr(Plans, "skip", lambda self: False)
    program, most = WALKS[name]
    for _ in range(4):
        program()
    calls = min((walk(program) for _ in range(3)), key=len)  # a storage looks for dead aliases now and then
    assert len(calls) <= most, "\n".join(map(str, calls))


@pytest.mark.parametrize(("shape", "biased"), [
    ((3, 4), False), ((3, 4), True), ((2, 3, 4), False), ((1, 2, 3, 4), False)])
def test_a_prepared_linear_computes_what_its_first_call_did(shape, biased):
    input, weight = (np.arange(float(math.prod(sizes))).reshape(sizes) for sizes in (shape, (5, 4)))
    bias = np.arange(5.0) if biased else None
    run = linear(input, weight, bias)
    for given in input, input * 2:
        assert np.array_equal(run(given, weight, bias), given @ weight.T + (0.0 if bias is None else bias))


def test_a_result_is_new_memory_unless_it_is_an_input_or_a_view_of_one():
    x, y, memory = np.arange(6.0), np.arange(6.0), bytearray(48)
    fixed, of_memory = np.arange(3.0), np.frombuffer(memory)
    fixed.flags.writeable = False
    aliases = [(x, [x]), (x, [y, [y, x]]), (x[1:], [x]), (x[1:], [x[:3]]), (x[1:], [[y, x]]), (fixed, []),
               (of_memory, [np.frombuffer(memory)]), (of_memory[1:], [of_memory])]
    assert all(shares_memory(array, inputs) for array, inputs in aliases)
    apart = [(x, []), (x, [y, 3, None]), (x, [[y]]), (x[1:], [y]), (of_memory, [x])]
    assert not any(shares_memory(array, inputs) for array, inputs in apart)


@pytest.mark.parametrize("name", ["neg", "add", "mul by an expanded row"])
def test_results_of_few_strided_numbers_are_where_the_first_call_put_them(name):
    program = {"neg": lambda x: -x, "add": lambda x: x + x, "mul by an expanded row": lambda x: x * x[:1].expand(4, 3)}
    strided = X.clone().t()
    first, *later = [program[name](strided) for _ in range(4)]
    for result in later:
        assert torch.equal(result, first) and result.stride() == first.stride() == (1, 4)
    view = later[0][1]
    later[0].add_(1)
    assert torch.equal(view, first[1] + 1) and view._version == later[0]._version == 1
    assert torch.equal(later[1], first)  # in memory of their own
