"""Arguments that do not go together are refused as by PyTorch: of several mistakes the same one, in the same words."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch
from tests.both import Program, assert_same_outcome, each_program

from .support import torch


@each_program(
    lambda t: t.zeros(2, 2, 3).permute(-1, -1, -7), lambda t: t.zeros(2, 2, 3).permute(-7, -1, -1),
    lambda t: t.cdist(t.ones(2, 2, dtype=t.bfloat16), t.ones(2, 2)),
    lambda t: t.cdist(t.ones(2, 2, dtype=t.float64), t.ones(2, 2)),
    lambda t: t.group_norm(t.zeros(3, 3, dtype=t.complex64), 1, t.ones(3, dtype=t.uint8)),
    lambda t: t.group_norm(t.zeros(3, 3, dtype=t.bfloat16), 1, t.ones(3), t.ones(3, dtype=t.float64)),
    lambda t: t.layer_norm(t.zeros(3, 3, dtype=t.int64), (3,), t.ones(3)),
    lambda t: t.layer_norm(t.zeros(3, 3, dtype=t.int64), (3,), t.ones(3, dtype=t.int64)),
    lambda t: t.ldexp(t.zeros(2, 3), t.ones(2, dtype=t.bool)), lambda t: t.ldexp(t.zeros(2), t.ones(2, dtype=t.bool)),
    lambda t: t.zeros(0, dtype=t.bool).clamp(t.ones(3, dtype=t.bool), t.zeros(0, dtype=t.bool)),
    lambda t: t.zeros(3, dtype=t.bool).clamp(t.ones(3, dtype=t.bool), t.zeros(3, dtype=t.bool)),
    lambda t: t.linalg.matrix_norm(t.ones(2, 3, dtype=t.int64), "fro", [0, 0]),
    lambda t: t.linalg.matrix_norm(t.ones(2, 3, dtype=t.float16), "nuc", [2, -1]),
    lambda t: t.linalg.matrix_norm(t.ones(2, 3, dtype=t.float16), 1, [2, -1]),
    lambda t: [t.randn(0, dtype=t.uint8), t.zeros(0, dtype=t.int64).log_normal_(), t.bernoulli(t.zeros(0).bool()),
               t.zeros(0, dtype=t.int8).exponential_(), t.zeros(0, dtype=t.complex64).random_()],
    lambda t: t.rand(0, dtype=t.uint8),
    lambda t: t.randn(1, dtype=t.int8),
    lambda t: t.histogram(t.zeros(4), t.zeros(2, 2)),
    lambda t: t.histogram(t.zeros(4), 3, range=(0.0, 1.0), weight=t.zeros(3)),
    lambda t: t.linalg.cross(t.ones(3, 3).bool(), t.ones(2, 3).bool()),
    lambda t: t.batch_norm(t.ones(2, 3).long(), t.ones(3), *[t.ones(3).long()] * 3, True, 0.1, 1e-5, False),
)
def test_of_several_mistakes_the_one_that_pytorch_tells(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*[lambda t, method=method, dim=dim: getattr(t.ones(2, 3), method)(dim)  # type: ignore[misc]
                for method in ("size", "stride") for dim in ("a", 1.0, True, [1], np.int64(1), (1,), object)],
              lambda t: t.ones(2, 3).size(t.tensor(1)), lambda t: t.ones(2, 3).size(t.tensor(1.0)),
              lambda t: t.tensor(1).size(True))
def test_a_dimension_whose_size_is_asked_for_is_an_integer(program: Program) -> None:
    assert_same_outcome(program)


@each_program(
    lambda t: t.cummin(t.tensor(3 + 1j), -1), lambda t: t.cummax(t.ones(1, dtype=t.complex64), 0),
    lambda t: t.nansum(t.tensor([True, False]), dtype=t.complex64), lambda t: t.nansum(t.ones(2), dtype=t.complex64),
    lambda t: [t.nansum(t.ones(2, 0), 1, dtype=t.complex64), t.nanmean(t.ones(2, 0), 0, dtype=t.complex64)],
    lambda t: t.gradient(t.tensor([2.0, 0, -1, 3]), spacing=0.5, edge_order=2),
    lambda t: t.segment_reduce(t.tensor([3.0, 1]), "amax", lengths=t.tensor([2])),
    lambda t: t.segment_reduce(t.tensor([3.0, 1]), "amin", offsets=t.tensor([0, 2])),
    lambda t: t.segment_reduce(t.tensor([3.0, 1]), "sum", lengths=t.tensor([1, 9]), offsets=t.tensor([0, 2])),
    lambda t: t.segment_reduce(t.tensor([3.0, 1]), "sum"),
    lambda t: t.segment_reduce(t.tensor([3.0]), "max", lengths=t.tensor([1.0])),
    lambda t: t.segment_reduce(t.tensor([3.0]), "max", offsets=t.tensor([0.0, 1])),
)
def test_what_only_a_single_number_or_an_integer_may_be(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*[lambda t, name=name, dtype=dtype, args=args: getattr(t, name)(  # type: ignore[misc]
                    t.zeros(0, 3, dtype=getattr(t, dtype)), *args)
                for name, args in (("median", [1]), ("nanmedian", [1]), ("kthvalue", [1, 1]))
                for dtype in ("bool", "complex64")],
              lambda t: t.linalg.cross(*[t.zeros(0, 3, dtype=t.bool)] * 2),
              lambda t: t.zeros(0, dtype=t.bool).scatter_reduce(0, t.zeros(0).long(), t.zeros(0).bool(), "mean"),
              lambda t: t.zeros(0, dtype=t.complex64).scatter_reduce(0, t.zeros(0).long(), t.zeros(0).cfloat(), "amax"),
              lambda t: t.zeros(0, 3, dtype=t.complex64).aminmax(dim=1))
def test_what_has_no_kernel_for_a_dtype_has_none_for_no_elements(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*[lambda t, kind=kind, device=device: getattr(t, kind)(device)  # type: ignore[misc]
                for kind in ("Event", "Stream") for device in ("cuda", "xpu:0", "mps")])
def test_a_device_that_was_not_built_has_no_streams(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*[lambda t, shape=shape, dim=dim, i=i: t.zeros(shape).index_select(dim, t.tensor([0, i]))  # type: ignore[misc]
           for shape in ((2, 3), (0, 3), (2, 2, 3)) for dim in range(-1, len(shape)) for i in (5, -1)
           if shape[dim]])
def test_what_an_index_out_of_range_raises_depends_on_the_dimension(program: Program) -> None:
    assert_same_outcome(program)


@each_program(
    lambda t: t.bmm(t.ones(2, 2), t.ones(2, 2)), lambda t: t.bmm(t.ones(2, 2, 2), t.ones(2, 2)),
    lambda t: t.addbmm(t.ones(2), t.ones(2, 2), t.ones(2, 2)), lambda t: t.multinomial(t.tensor([1.0, 0]), 3),
    lambda t: t.multinomial(t.tensor([1.0, 0]), 0), lambda t: t.multinomial(t.ones(1, 1, 1), 1),
    lambda t: t.multinomial(t.tensor([-1.0, 1]), 1), lambda t: t.multinomial(t.tensor([float("nan"), 1]), 1),
)
def test_the_words_for_operands_of_other_shapes_and_for_no_probabilities(program: Program) -> None:
    assert_same_outcome(program)


@each_program(
    lambda t: t.ones(1).expand(3).add_(1), lambda t: t.ones(3).as_strided((1,), (1,), -1),
    lambda t: (x := t.ones(4))[1:].add_(x[:-1]), lambda t: t.exp((x := t.ones(4))[1:], out=x[:-1]),
    lambda t: (x := t.ones(3)).set_(x.untyped_storage(), -1, (2,), (1,)),
    lambda t: t.argmax(t.ones(2, dtype=t.complex64)), lambda t: t.argmin(t.ones(2, dtype=t.bool)),
    lambda t: t.add(t.ones(2), t.ones(2), alpha=1j), lambda t: t.sub(t.ones(2), t.ones(2), alpha=1j),
    lambda t: t.nn.functional.ctc_loss(t.zeros(2, 2, 2, 2), t.ones(2, 2).long(), (2, 2), (1, 1)),
    lambda t: t.nn.functional.nll_loss(t.zeros(3), t.tensor([1, 2])), lambda t: t.nn.functional.nll_loss(t.zeros(3),
                                                                                                    t.tensor([1])),
    *[lambda t, dims=dims, mask=mask: t.nn.MultiheadAttention(4, 2)(*[t.ones((5, 3, 4)[:dims - 1] + (4,))] * 3,  # type: ignore[misc]
                                                                    attn_mask=t.zeros(mask).bool())
      for dims in (2, 3) for mask in ((5, 5), (4, 4), (3, 5, 5), (2, 5, 5), (6, 5, 5), (1, 1, 5, 5))],
)
def test_the_words_for_memory_kinds_and_dimensions_that_do_not_fit(program: Program) -> None:
    assert_same_outcome(program)


def _grad(t: Any, *shape: int) -> Any:
    return t.ones(shape, requires_grad=True)


@each_program(
    lambda t: t.nn.functional.soft_margin_loss(t.ones(3), _grad(t, 3)),
    lambda t: t.nn.functional.soft_margin_loss(_grad(t, 3), _grad(t, 3)),
    lambda t: t.nn.functional.binary_cross_entropy(t.ones(3), t.ones(3), weight=_grad(t, 3)),
    lambda t: t.nn.functional.binary_cross_entropy_with_logits(t.ones(3), t.ones(3), weight=_grad(t, 3)),
    lambda t: t.nn.functional.binary_cross_entropy_with_logits(t.ones(3), t.ones(3), pos_weight=_grad(t, 3)),
    lambda t: t.nn.functional.multi_margin_loss(t.ones(2, 3), t.tensor([0, 1]), weight=_grad(t, 3)),
    lambda t: t.nn.functional.nll_loss(t.ones(2, 3), t.tensor([0, 1]), weight=_grad(t, 3)),
    lambda t: t.nn.functional.nll_loss(t.ones(2, 3, 1, 1), t.zeros(2, 1, 1, dtype=t.int64), weight=_grad(t, 3)),
    lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.tensor([0, 1]), weight=_grad(t, 3)),
    lambda t: t.nn.functional.batch_norm(t.ones(2, 3), _grad(t, 3), t.ones(3)),
    lambda t: t.nn.functional.batch_norm(t.ones(2, 3), t.ones(3), _grad(t, 3), training=True),
    lambda t: t.nn.functional.fractional_max_pool2d(t.ones(1, 1, 4, 4), 2, 2, _random_samples=_grad(t, 1, 1, 2)),
    lambda t: t.linalg.pinv(t.eye(2), atol=_grad(t)), lambda t: t.linalg.pinv(t.eye(2), rtol=_grad(t)),
)
def test_an_input_without_a_derivative_must_not_require_grad(program: Program) -> None:
    assert_same_outcome(program)
    assert_same_outcome(lambda t: t.no_grad()(program)(t))


@each_program(
    *[lambda t, value=value: t.zeros(3).copy_(value) for value in (5, 5.5, True, 1j, np.float32(3))],
    *[lambda t, value=value: t.zeros(3, dtype=t.uint8).copy_(value) for value in (300, -1, 2.7)],
    lambda t: t.zeros(3, requires_grad=True).clone().copy_(5).grad_fn.name(), lambda t: t.zeros(3)[::2].copy_(5, True),
    lambda t: t.zeros(3, requires_grad=True).copy_(5),
)
def test_a_number_may_be_copied_by_position(program: Program) -> None:
    assert_same_outcome(program)


@each_program(
    lambda t: t.zeros(3, requires_grad=True).logical_not_(),
    lambda t: t.zeros(3, requires_grad=True)[:2].logical_not_(),
    *[lambda t, name=name: getattr(t.zeros(3, requires_grad=True), name)(t.ones(3)) for name in (
        "logical_and_", "logical_or_", "logical_xor_", "eq_", "fill_", "fmod_", "copysign_")],
)
def test_a_leaf_that_requires_grad_takes_truth_values_only(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*[
    lambda t, dims=dims, dtype=dtype, out=out, size=size: getattr(t.nn.functional, f"adaptive_avg_pool{dims}d")(
        t.ones(size[:dims + 2], dtype=getattr(t, dtype)), out)
    for dims in (1, 2, 3) for dtype in ("bool", "int32", "float32") for out in (0, 2)
    for size in ((0, 2, 4, 4, 4), (1, 0, 4, 4, 4), (1, 2, 4, 4, 4))])
def test_an_empty_average_may_be_of_any_dtype(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*[lambda t, dtype=dtype, call=call: call(t, t.ones(2, dtype=getattr(t, dtype)))  # type: ignore[misc]
                for dtype in ("complex64", "bool") for call in (
    lambda t, x: t.unique(x), lambda t, x: t.unique(x, dim=0), lambda t, x: t.searchsorted(x, x),
    lambda t, x: t.searchsorted(x, t.ones(2)), lambda t, x: t.bucketize(x, t.ones(2)))])
def test_a_search_is_refused_for_dtypes_without_an_order(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*[lambda t, given=given: t.optim.SGD([t.ones(2, requires_grad=True)], nesterov=True, **given).defaults  # type: ignore[misc]
                for given in ({}, {"momentum": 0.9}, {"momentum": 0.9, "dampening": 0.1}, {"dampening": 0.1},
                              {"momentum": 0}, {"momentum": 1e-3})])
def test_nesterov_needs_a_momentum_and_no_dampening(program: Program) -> None:
    assert_same_outcome(program)


@each_program(
    lambda t: t.histogram(t.ones(3), t.tensor([0.0, 2.0]), weight=t.ones(2)),
    lambda t: t.histogram(t.ones(3), 4, weight=t.ones(2)),
    lambda t: t.histogram(t.ones(3), t.tensor([0.0, 2.0]), weight=t.ones(3, dtype=t.float64)),
    lambda t: t.searchsorted(t.ones(3), t.ones(1), sorter=t.arange(3, dtype=t.int32)),
    lambda t: t.searchsorted(t.tensor([3.0, 1, 2]), t.tensor([1.5]), sorter=t.tensor([1, 2, 0])),
)
def test_weights_and_sorters_have_the_size_and_dtype_of_what_they_belong_to(program: Program) -> None:
    assert_same_outcome(program)


@each_program(
    lambda t: t.nn.functional.nll_loss(t.ones(2, 3), t.tensor([0, 1]), t.ones(3, dtype=t.float64)),
    lambda t: t.nn.functional.nll_loss(t.ones(2, 3), t.tensor([0, 1]), t.ones(3, dtype=t.float16)),
    lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.tensor([0, 1]), t.ones(3, dtype=t.float64)),
    lambda t: t.nn.functional.nll_loss(t.ones(2, 3, 2, 2), t.zeros(2, 2, 2, dtype=t.int64), t.ones(3).double()),
)
def test_weights_of_classes_have_the_dtype_of_what_they_weigh(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*[
    lambda t, function=function, number=number, dtype=dtype: function(t, t.ones(2, 2, dtype=getattr(t, dtype)), number)
    for function in (  # type: ignore[misc]
        lambda t, x, n: t.addcmul(x, x, x, value=n), lambda t, x, n: x.addcmul_(x, x, value=n),
        lambda t, x, n: t.addcdiv(x, x, x, value=n), lambda t, x, n: x.addcdiv_(x, x, value=n),
        lambda t, x, n: x.add_(x, alpha=n), lambda t, x, n: t.addr(x, x[0], x[0], alpha=n),
        lambda t, x, n: t.addmm(x, x, x, beta=n), lambda t, x, n: t.addmv(x[0], x, x[0], alpha=n),
        lambda t, x, n: t.baddbmm(x[None], x[None], x[None], alpha=n), lambda t, x, n: t.nn.functional.softplus(x, n),
        lambda t, x, n: t.nn.functional.elu(x, n), lambda t, x, n: t.nn.functional.celu(x, n),
        lambda t, x, n: t.nn.functional.leaky_relu(x, n), lambda t, x, n: t.nn.functional.hardtanh(x, -1, n),
        lambda t, x, n: t.nn.functional.softshrink(x, n))
    for number in (1j, 1e300) for dtype in ("float32", "float16")], *[
    lambda t, dtype=dtype: t.dist(t.ones(2, dtype=getattr(t, dtype)), t.zeros(2), 1j) for dtype in (  # type: ignore[misc]
        "float32", "float16")], lambda t: t.ones(2).clamp_(0, 1e300), lambda t: t.ones(2).clamp_min(1e300),
    lambda t: t.ones(2).clamp_max_(1e300), lambda t: t.ones(2).clamp_(0.0, 1.5))
def test_no_number_is_taken_that_the_dtype_cannot_hold(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*[lambda t, wrong=wrong: [t.ops.aten.nll_loss_backward(  # type: ignore[misc]
    t.tensor(1.0), t.ones(2, 3), t.tensor([0, number]), None, 1, -100, t.tensor(2.0)) for number in (1, 1, 1, wrong)]
    for wrong in (7, -1)])
def test_a_class_out_of_bounds_is_refused_after_gradients_of_the_same_layout(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*[lambda t, name=name, sizes=sizes: getattr(t.ones(sizes), name) for name in ("mT", "mH", "H", "T")  # type: ignore[misc]
                for sizes in ((), (3,), (2, 3), (2, 2, 3))],
              lambda t: t.ones(()).adjoint(), lambda t: t.ones(3).adjoint())
def test_what_is_no_matrix_is_not_transposed(program: Program) -> None:
    assert_same_outcome(program)


@each_program(
    lambda t: t.searchsorted(t.tensor([1.0, 2.0]), t.tensor([1.0]), sorter=t.tensor([0, 1]).int()),
    lambda t: t.searchsorted(t.tensor([1.0, 2.0]), t.tensor([1.0]), sorter=t.tensor([1, 0])),
    *[lambda t, weight=weight, bins=bins: t.histogram(t.ones(5), bins(t), weight=weight(t)).hist for weight in (  # type: ignore[misc]
        lambda t: t.ones(4), lambda t: t.ones(5).double(), lambda t: t.ones(5))
      for bins in (lambda t: 3, lambda t: t.tensor([0.0, 1.0]))],
    lambda t: t.ormqr(t.ones(2, 3, 3), t.ones(2, 3), t.ones(3, 3)),
    lambda t: t.ormqr(t.ones(2, 3, 3), t.ones(2, 3), t.ones(4, 3, 3)),
    lambda t: t.ormqr(t.ones(2, 3, 3), t.ones(4, 3), t.ones(2, 3, 3)),
    lambda t: t.histogramdd(t.ones(5, 2), [3, 3, 3]), lambda t: t.histogramdd(t.ones(2, 5), [3, 3]),
    lambda t: t.histogramdd(t.ones(5, 2), [3, 3])[0].shape, lambda t: t.histogramdd(t.ones(5, 0), [])[0],
    lambda t: t.histogramdd(t.ones(2, 5, 0), [], density=True)[0].isnan(), lambda t: t.aminmax(t.empty(0)),
    lambda t: t.pdist(t.arange(6.0).reshape(3, 2)),
    lambda t: t.nn.functional.pdist(t.arange(6.0).reshape(3, 2)),
    *[lambda t, mode=mode: t.cdist(t.ones(2, 3), t.zeros(3, 3), compute_mode=mode) for mode in (  # type: ignore[misc]
        "use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist", "other")],
)
def test_batches_bins_and_modes_are_those_that_are_asked_for(program: Program) -> None:
    assert_same_outcome(program)


def _within_itself(*items: Any, at: int) -> list[Any]:
    found = [*items]
    found[at:at] = [found]
    return found


def _setting(x: Any) -> None:
    x.requires_grad = True


@each_program(
    *[lambda t, name=name: getattr(t, name)((2,), dtype=t.int64, requires_grad=True) for name in (  # type: ignore[misc]
        "zeros", "ones", "empty")],
    lambda t: t.tensor([1], requires_grad=True), lambda t: t.arange(3, requires_grad=True),
    lambda t: t.full((2,), True, requires_grad=True), lambda t: t.zeros_like(t.ones(2).int(), requires_grad=True),
    lambda t: t.randint(3, (2,), requires_grad=True), lambda t: t.randperm(3, requires_grad=True),
    lambda t: t.ones(2).new_tensor([1], dtype=t.int32, requires_grad=True),
    lambda t: t.frombuffer(bytearray(8), dtype=t.int64, requires_grad=True), lambda t: t.nn.Parameter(t.tensor([1])),
    lambda t: t.tensor([1]).requires_grad_(), lambda t: _setting(t.tensor([1])),
    lambda t: t.linspace(0, 1j, 3, dtype=t.float32), lambda t: t.logspace(0, 1j, 3, dtype=t.float32),
    *[lambda t, made=made: t.tensor(made) for made in (  # type: ignore[misc]
        _within_itself(0, at=1), _within_itself([3], at=1), _within_itself([1, 2], 3, at=2), [[1], [1, 2]])],
)
def test_the_words_for_what_is_new_and_cannot_be(program: Program) -> None:
    assert_same_outcome(program)


OPTIONS = [
    *[f"t.{call}, requires_grad={flag!r})" for flag in ("a", 1) for call in (
        "ones(2", "zeros(2", "empty(2", "full((2,), 1.0", "arange(3.0", "linspace(0, 1, 3", "eye(2", "rand(2",
        "randn(2", "randint(3, (2,)", "randperm(3", "normal(0.0, 1.0, (2,)", "zeros_like(x", "rand_like(x",
        "tensor([1.0]", "asarray([1.0]", "scalar_tensor(1.0", "sparse_coo_tensor([[0]], [1.0], (2,)", "hann_window(3")],
    *[f"x.{call}, requires_grad='a')" for call in ("new_zeros(2", "new_full((2,), 1.0", "new_tensor([1.0]")],
    *[f"t.{call}, pin_memory='a')" for call in ("ones(2", "zeros_like(x", "tensor([1.0]", "rand(2")],
    "t.tensor([1.0], requires_grad=None)", "t.frombuffer(bytearray(4), dtype=t.uint8, requires_grad='a')",
    "t.asarray([1.0], copy='a')", "t.sparse_coo_tensor([[0]], [1.0], (2,), check_invariants='a')",
    "x.requires_grad_('a')", "x.requires_grad_(1)", "x.requires_grad_(None)", "t.nn.Linear(2, 2).requires_grad_('a')",
    "t.set_grad_enabled('a')", "t.set_grad_enabled(None)", "x.to('cpu', copy='a')", "x.to('cpu', copy=None)",
    "x.to(t.int32, non_blocking=1)", "x.to('cpu', t.float32, 1)", "x.to(memory_format='a')", "x.cpu(memory_format='a')",
    "x.cpu(None)", "x.float(memory_format='a')", "x.float('a')", "x.clone(memory_format='a')", "x.clone('a')",
    "x.contiguous(memory_format='a')", "x.contiguous(memory_format=None)", "x.contiguous('a')",
    "x.is_contiguous(memory_format='a')", "t.zeros_like(x, memory_format='a')", "t.empty(2, memory_format='a')",
    "t.ones(2, layout='a')", "t.ones(2, layout=3)", "x.sum(0, keepdim=np.True_)", "x.max(0, keepdim=1)",
    *[f"t.{name}_indices({given})" for name in ("tril", "triu") for given in ("2.0, 3", "True, 3", "2, 3, dtype=[]")],
    "t.full_like(x, None)", "x.new_full((2,), 'a')", "x.new_empty_strided({}, (1,))", "t.empty_permuted({}, {})",
    "t.lu('a')", "t.lu(t.eye(2), pivot='a')", "t.linspace(0, 1, True)", "t.arange(None, 3)", "t.arange(0, 3, None)",
    "t.nn.functional.unfold('a', 2)", "t.nn.functional.unfold(t.ones(1, 1, 3, 3), 2, padding=True)",
    "x.sum(dim=(np.int64(0), 'a'))", "x.clone(memory_format=[])", "x.view((1, 2, 'a'))", "x.permute([0.5])",
    "x.sum(0, out=x)", "x.add(1, out=x)", "x.exp(out=x)", "x.abs(out=None)", "x.sort(out=None)",
]


@pytest.mark.parametrize("call", OPTIONS)
def test_an_option_of_another_type_is_refused(call: str) -> None:
    for t in (torch, mindtorch):
        enabled = t.is_grad_enabled()
        with pytest.raises(TypeError):
            eval(call, {"t": t, "x": t.ones(2), "np": np})
        assert t.is_grad_enabled() is enabled


@pytest.mark.parametrize("call", ["t.max()", "t.clamp('a', 1)", "t.isin()"])
def test_overloads_are_spelled_with_their_outputs(call: str) -> None:
    def overloads(t: Any) -> list[str]:
        with pytest.raises(TypeError) as caught:
            eval(call, {"t": t, "x": t.ones(2)})
        return sorted(line for line in str(caught.value).splitlines() if line.startswith(" * "))

    assert {*overloads(mindtorch)} & {*overloads(torch)}


@pytest.mark.parametrize("call", ["x.expand('a')", "x.reshape('a')", "x.clone('a')", "x.clamp('a', 2)", "x.fill_('a')",
                                  "x.masked_fill(True, 1)", "x.scatter(0, t.tensor([0]), 'a')"])
def test_a_method_counts_no_self_among_its_arguments(call: str) -> None:
    def message(t: Any) -> str:
        with pytest.raises(TypeError) as caught:
            eval(call, {"t": t, "x": t.ones(2)})
        return str(caught.value).partition("expected one of")[0]

    assert message(mindtorch) == message(torch)
