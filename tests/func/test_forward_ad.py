"""Forward mode: operators carry tangents as PyTorch's do, through views, writes, graphs and other levels."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import math
import threading
import warnings
from typing import Any

import pytest

import mindtorch
import mindtorch.autograd.forward_ad as forward_ad
from mindtorch._dispatch.keys import DUAL
from tests.func import operators
from tests.func.both import assert_agree
from tests.support import torch

#: PyTorch's operator database imports expecttest.
ENTRIES = dict(operators.entries(torch.float64)) if importlib.util.find_spec("expecttest") else {}


@pytest.mark.parametrize("name", sorted(ENTRIES)[::7])
def test_tangents_of_operators(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            assert list(operators.differences(ENTRIES[name], torch.float64, 2)) == []
        except operators.Missing:
            pytest.skip("the library lacks the operator")


#: Calls at ties, zeros, negative moduli and places that are repeated or absent, with the values of both inputs.
CORNERS = {
    "polar": lambda t, a, b: t.polar(a, b),
    "atan2": lambda t, a, b: t.atan2(a, b),
    "div": lambda t, a, b: a / b,
    "div_": lambda t, a, b: a.clone().div_(b),
    "pow": lambda t, a, b: t.pow(a, b),
    "clamp between equal bounds": lambda t, a, b: a.clamp(b, b),
    "clamp_ between equal bounds": lambda t, a, b: a.clone().clamp_(b, b),
    "clamp between crossed bounds": lambda t, a, b: a.clamp(b, b - 1),
    "clamp from below": lambda t, a, b: a.clamp(min=b),
    "clamp from above": lambda t, a, b: a.clamp(max=b),
    "maximum": lambda t, a, b: t.maximum(a, b),
    "fmax": lambda t, a, b: t.fmax(a, b),
    "fmin": lambda t, a, b: t.fmin(a, b),
    "prelu": lambda t, a, b: t.nn.functional.prelu(a, b[:1]),
    "sgn": lambda t, a, b: t.complex(a, a * b).sgn(),
    "angle": lambda t, a, b: t.complex(a, a * b).angle(),
    "complex sinc": lambda t, a, b: t.complex(a, a * b).sinc(),
    "std": lambda t, a, b: (a * 0).std(),
    "std_mean": lambda t, a, b: t.std_mean(a * 0),
    "norm": lambda t, a, b: (a * 0).norm(3),
    "dist": lambda t, a, b: t.dist(a, a, 4),
    "scatter_add of nothing": lambda t, a, b: a.scatter_add(0, t.zeros(0, dtype=t.int64), b),
    "scatter_add_ of nothing": lambda t, a, b: a.clone().scatter_add_(0, t.zeros(0, dtype=t.int64), b),
    "scatter_add of some": lambda t, a, b: a.scatter_add(0, t.tensor([1, 1]), b),
    "scatter of some": lambda t, a, b: a.scatter(0, t.tensor([1, 2]), b),
    "scatter_reduce of some": lambda t, a, b: a.scatter_reduce(0, t.tensor([1, 2]), b, "mean"),
    "scattered maximum": lambda t, a, b: a.scatter_reduce(0, t.tensor([3, 1, 0, 0]), b, "amax"),
    "scattered minimum": lambda t, a, b: a.scatter_reduce(0, t.tensor([3, 1, 0, 0]), b, "amin", include_self=False),
    "index_add": lambda t, a, b: a.index_add(0, t.tensor([1, 1]), b[:2], alpha=3),
    "masked_scatter": lambda t, a, b: a.masked_scatter(a > 0, b),
    "max_unpool": lambda t, a, b: t.nn.functional.max_unpool1d(a[None, None], t.tensor([[[0, 2, 2, 5]]]), 2),
}


@pytest.mark.parametrize("name", CORNERS)
@pytest.mark.parametrize("inputs", [(0,), (1,), (0, 1)], ids=str)
def test_tangents_at_corners(name: str, inputs: tuple[int, ...]) -> None:
    def run(lib: Any, func: Any) -> Any:
        values = [lib.tensor([-1.0, 2.0, 0.0, 1.0]), lib.tensor([0.5, 2.0, 0.0, -1.0])]

        def call(*given: Any) -> Any:
            return CORNERS[name](lib, *[given[inputs.index(i)] if i in inputs else value
                                        for i, value in enumerate(values)])

        tangents = [lib.tensor([1.0, 2.0, 3.0, 4.0]), lib.tensor([0.5, 0.25, 2.0, 1.0])]
        return func.jvp(call, tuple(values[i] for i in inputs), tuple(tangents[i] for i in inputs))

    assert_agree(run, tolerance=1e-6)


def both(value: Any, lib: Any) -> Any:
    return tuple(lib.autograd.forward_ad.unpack_dual(value))


def in_place_on_a_view(lib: Any, x: Any, v: Any) -> Any:
    base = lib.zeros(3, 4, dtype=x.dtype)
    row = base[1]
    base[0].copy_(lib.autograd.forward_ad.make_dual(x, v)[2])
    base[:, 1].mul_(3)
    return both(base * 2, lib), both(base[0], lib), row


def older_view_of_a_written_base(lib: Any, x: Any, v: Any) -> Any:
    base = lib.zeros(3, 4, dtype=x.dtype)
    view = base[1]
    base.add_(lib.autograd.forward_ad.make_dual(x, v))
    return both(view.sin(), lib)


def tangent_of_a_gradient(lib: Any, x: Any, v: Any) -> Any:
    leaf = x.detach().requires_grad_()
    dual = lib.autograd.forward_ad.make_dual(leaf, v)
    gradient, = lib.autograd.grad((dual.exp() * dual.prod(0)).sum(), dual, create_graph=True)
    return both(gradient, lib)


def gradient_of_a_tangent(lib: Any, x: Any, v: Any) -> Any:
    leaf, direction = x.detach().requires_grad_(), v.detach().requires_grad_()
    tangent = both((lib.autograd.forward_ad.make_dual(leaf, direction) @ leaf.t()).tanh(), lib)[1]
    return lib.autograd.grad(tangent.sum(), (leaf, direction))


def clone_is_apart(lib: Any, x: Any, v: Any) -> Any:
    dual = lib.autograd.forward_ad.make_dual(x, v)
    dual.clone().mul_(2)
    return both(dual, lib), both(dual.add(0).zero_(), lib), v


def transposed_in_place(lib: Any, x: Any, v: Any) -> Any:
    dual = lib.autograd.forward_ad.make_dual(x.clone(), v)
    return both(dual.t_() ** 2, lib)


def tangent_of_other_strides(lib: Any, x: Any, v: Any) -> Any:
    dual = lib.autograd.forward_ad.make_dual(x, v.sum(0, True).expand(3, 4))
    return both((dual * 1).view(-1), lib), both(dual.view(-1)[3:], lib)


def written_through_a_view(lib: Any, x: Any, v: Any) -> Any:
    """Write a Function's output, made with a tangent of other strides: its tangent is written, too."""

    class Turned(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return tangent.t().contiguous().t()

    made = Turned.apply(lib.autograd.forward_ad.make_dual(x, v))
    made[1].mul_(3)
    return both(made, lib)


CASES = [in_place_on_a_view, older_view_of_a_written_base, tangent_of_a_gradient, gradient_of_a_tangent, clone_is_apart,
         transposed_in_place, tangent_of_other_strides, written_through_a_view]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_a_dual_tensor(case: Any) -> None:
    def run(lib: Any, func: Any, x: Any, v: Any) -> Any:
        with lib.autograd.forward_ad.dual_level():
            return case(lib, x, v)

    assert_agree(run, (3, 4), (3, 4))


WRONG = {
    "no level": lambda f, x, v: f.make_dual(x, v),
    "nested levels": lambda f, x, v: [f.enter_dual_level(), f.enter_dual_level()],
    "exit without a level": lambda f, x, v: f.exit_dual_level(),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call(case: str) -> None:
    def run(lib: Any, func: Any, x: Any, v: Any) -> Any:
        try:
            return WRONG[case](lib.autograd.forward_ad, x, v)
        finally:
            with contextlib.suppress(RuntimeError):
                lib.autograd.forward_ad.exit_dual_level()

    assert_agree(run, (3,), (3,))


def test_a_function_without_jvp_has_no_forward_mode() -> None:
    def run(lib: Any, func: Any, x: Any) -> Any:
        class Squared(lib.autograd.Function):
            @staticmethod
            def forward(x: Any) -> Any:
                return x ** 2

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                pass

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:  # not the derivative of forward, which forward mode must not use
                return grad

        with lib.autograd.forward_ad.dual_level(), lib.inference_mode():
            assert len(Squared.apply(lib.autograd.forward_ad.make_dual(x, x))) == 2  # tangents are not looked at here
        return func.jvp(Squared.apply, (x,), (x,))

    assert_agree(run, (2,))


def test_hooks_of_saved_tensors_are_not_told_of_what_forward_mode_keeps() -> None:
    def run(lib: Any, func: Any, x: Any, v: Any) -> Any:
        packed: list[Any] = []
        with (lib.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.clone()) or t, lambda t: t),
              lib.autograd.forward_ad.dual_level()):
            dual = lib.autograd.forward_ad.make_dual(x, v)
            found = [both(dual.sin(), lib), both(dual @ dual, lib), both(dual.softmax(0), lib)]
            assert not packed
            again = lib.utils.checkpoint.checkpoint(lib.sin, dual, use_reentrant=False)
            return found, both(again, lib)

    assert_agree(run, (3,), (3,))


@pytest.mark.parametrize("name, function", {
    "igamma": lambda t, x: t.igamma(x, x.detach()), "zeta": lambda t, x: t.special.zeta(x, x.detach() + 1),
    "pdist": lambda t, x: t.pdist(x), "cdist": lambda t, x: t.cdist(x, x + 1, p=1.0), "unique": lambda t, x: x.unique(),
    "multilabel margin": lambda t, x: t.nn.functional.multilabel_margin_loss(x, t.zeros(x.shape, dtype=t.int64)),
    "multi margin": lambda t, x: t.nn.functional.multi_margin_loss(x, t.zeros(2, dtype=t.int64)),
    "attention": lambda t, x: t.nn.functional.scaled_dot_product_attention(*[x[None, None]] * 3),
    "ctc": lambda t, x: t.ctc_loss(x[:, None], t.ones(1, 1), *[t.ones(1, dtype=t.int64)] * 2),
}.items())
def test_what_has_no_second_derivative_has_no_tangent(name: str, function: Any) -> None:
    assert_agree(lambda t, func, x, v: func.jvp(lambda x: function(t, x), (x,), (v,)), (2, 3), (2, 3))


def test_out_forms_have_no_forward_mode() -> None:
    x = mindtorch.ones(2)
    message = "with add_out that does not support it because it is an out= function"
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match=message):
        mindtorch.add(forward_ad.make_dual(x, x), x, out=mindtorch.empty(2))


def test_the_end_of_a_level_leaves_nothing() -> None:
    x = mindtorch.ones(3)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, x)
        result = dual * dual
        assert result._keys & DUAL and forward_ad.unpack_dual(result).tangent.tolist() == [2, 2, 2]
    assert not (dual._keys | result._keys) & DUAL and dual._tangents is None
    assert forward_ad.unpack_dual(result) == (result, None)
    del dual, result
    gc.collect()


@pytest.mark.parametrize("lib", [mindtorch, torch], ids=["mindtorch", "torch"])
def test_running_statistics_have_no_tangent_beside_an_input_that_has(lib: Any) -> None:
    forward_mode = lib.autograd.forward_ad
    x, statistics = lib.rand(2, 2, 3), lib.ones(2)
    with forward_mode.dual_level():
        moving = forward_mode.make_dual(lib.ones(2), lib.ones(2))
        lib.nn.functional.batch_norm(x, moving, statistics)
        with pytest.raises(RuntimeError, match="batch_norm is not differentiable wrt running_mean and running_var"):
            lib.nn.functional.batch_norm(forward_mode.make_dual(x, x), statistics, moving)


@pytest.mark.parametrize("lib", [mindtorch, torch], ids=["mindtorch", "torch"])
def test_a_target_without_a_derivative_has_the_tangent_zero_also_after_a_backward_pass(lib: Any) -> None:
    x, target = lib.tensor([0.5, -1.0], requires_grad=True), lib.tensor([1.0, -1.0])
    loss = lib.nn.functional.soft_margin_loss
    loss(x, target).backward()
    assert lib.func.jvp(lambda y: loss(x.detach(), y), (target,), (target,))[1].item() == 0


@pytest.mark.parametrize("lib", [mindtorch, torch], ids=["mindtorch", "torch"])
@pytest.mark.parametrize("product", [lambda a, b: a * b, lambda a, b: b * a], ids=["outer first", "inner first"])
def test_tensors_of_two_levels_in_one_call_carry_the_tangents_of_both(lib: Any, product: Any) -> None:
    def slope(x: Any) -> Any:  # of a product in its other factor
        return lib.func.jvp(lambda y: product(x, y), (lib.tensor(2.0),), (lib.tensor(1.0),))[1]

    value, tangent = lib.func.jvp(slope, (lib.tensor(3.0),), (lib.tensor(5.0),))
    assert (value.item(), tangent.item()) == (3, 5)


@pytest.mark.parametrize("lib", [mindtorch, torch], ids=["mindtorch", "torch"])
def test_a_tangent_with_other_strides_than_its_tensor_is_written_through_views(lib: Any) -> None:
    forward_mode = lib.autograd.forward_ad
    with forward_mode.dual_level():
        gaps = lib.arange(12.0).view(4, 3)[::2].t()  # whose tangent keeps its own strides
        x = forward_mode.make_dual(gaps, lib.arange(6.0).view(3, 2)) + 1
        x.t().mul_(2)
        assert forward_mode.unpack_dual(x).tangent.tolist() == [[0, 2], [4, 6], [8, 10]]


def test_a_tangent_on_the_npu() -> None:
    x = mindtorch.ones(3, device="npu")
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual((forward_ad.make_dual(x, x) * 3).sum()).tangent
    assert tangent.device.type == "npu" and tangent.item() == 9


def test_a_level_that_one_thread_has_entered_is_that_of_all() -> None:
    def seen(t: Any) -> list[str]:
        forward, found = importlib.import_module(f"{t.__name__}.autograd.forward_ad"), []
        with forward.dual_level():
            dual = forward.make_dual(t.ones(2), t.full((2,), 3.0))

            def other() -> None:
                found.append(forward.unpack_dual(dual).tangent.tolist())
                found.append(forward.unpack_dual(dual * 2).tangent.tolist())
                found.append(forward.make_dual(t.ones(1), t.ones(1)).tolist())
                try:
                    forward.enter_dual_level()
                except RuntimeError as error:
                    found.append(str(error))

            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
        return found

    assert seen(mindtorch) == seen(torch) and len(seen(mindtorch)) == 4


def test_a_tangent_that_is_no_number_goes_through_powers_of_zero() -> None:
    def seen(t: Any) -> list[str]:
        func = importlib.import_module(f"{t.__name__}.func")
        zeros, tangents = t.zeros(4), t.tensor([1.0, math.nan, math.inf, 0.0])
        powers = t.tensor([0.0, 0.0, 2.0, 2.0])
        return [str(func.jvp(power, (zeros,), (tangents,))[1].tolist()) for power in (
            lambda x: x ** x, lambda x: powers ** x, lambda x: x ** powers, lambda x: 0.0 ** x)]

    assert seen(mindtorch) == seen(torch)
