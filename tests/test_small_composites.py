"""What NumPy makes of small tensors where nothing watches, in the place of operators that are written in others: the
same results and errors as PyTorch's, and the same operators for whoever watches.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch
from tests.both import assert_same_outcome, each_program
from tests.support import Outcome, assert_same, error_differences, torch

Program = Callable[[Any], Any]
PROGRAMS: dict[str, Program] = {
    "order along the first of several dimensions": lambda lib: [
        getattr(lib.arange(24.0).reshape(2, 3, 4).sin(), name)(*settings) for name, settings in (
            ("mode", (0,)), ("median", (0,)), ("kthvalue", (2, 0)), ("topk", (2, 1)), ("sort", (1, True)))],
    "numbers that are not finite": lambda lib: [
        f(lib.tensor(numbers)) for numbers in ([float("inf"), float("-inf"), 1], [float("nan"), 1, 0], [3e38, 3e38])
        for f in (lib.nan_to_num, lib.median, lib.nanmedian, lib.nansum, lib.any, lib.all)],
    "shifts by numbers": lambda lib: [lib.tensor([-5, 5], dtype=lib.int8) << n for n in range(-1, 10)] + [
        lib.tensor([-5, 5], dtype=lib.int8) >> n for n in range(-1, 10)],
    "moments": lambda lib: [lib.var_mean(lib.arange(6.0).reshape(2, 3), 1, keepdim=True), lib.std_mean(lib.ones(4))],
    "likelihoods": lambda lib: [lib.nn.functional.nll_loss(
        lib.arange(6.0).reshape(2, 3), lib.tensor([0, 2]), reduction=reduction, ignore_index=ignored)
        for reduction in ("none", "mean", "sum") for ignored in (-100, 1, 2)],
    "likelihoods of classes along lines and volumes": lambda lib: [
        getattr(lib.nn.functional, name)(x, lib.arange(x.numel() // 3).reshape(2, *x.shape[2:]) % 3, reduction=how)
        for name in ("nll_loss", "cross_entropy") for how in ("none", "mean", "sum")
        for x in (lib.arange(24.0).reshape(2, 3, 4).cos(), lib.arange(48.0).reshape(2, 3, 2, 2, 2).sin().double())
        for _ in range(3)],
    "an output that is an input": lambda lib: lib.cumsum(x := lib.arange(4.0), 0, out=x),
    "an output among the inputs": lambda lib: lib.cat([x := lib.arange(4.0), lib.ones(0)], out=x),
    "an output beside an input": lambda lib: [
        lib.add((x := lib.arange(8.0))[:4], 1, out=x[4:]), lib.exp(x[:4], out=x[4:]), x,
        lib.cumsum(x[:4], 0, out=x[4:])],
    "an output over an input": lambda lib: lib.exp((x := lib.arange(8.0))[:4], out=x[2:6]),
    "two outputs": lambda lib: [
        lib.sort(lib.tensor([3.0, 1.0, 2.0]), out=(lib.zeros(3), lib.zeros(3, dtype=lib.int64))) for _ in range(2)],
    "written in place in another dtype": lambda lib: [lib.ones(3).eq_(lib.arange(3)), lib.zeros(3).logical_not_()],
    "linear of sequences": lambda lib: [lib.nn.functional.linear(
        lib.arange(2.0 * 3 * columns).reshape(2, 3, columns).sin(), lib.ones(4, columns), *bias)
        for columns in (5, 0, 64) for bias in ((), (lib.arange(4.0),)) for _ in range(3)],
    "batches of matrices": lambda lib: [
        left @ right for _ in range(3) for left in (lib.arange(48.0).reshape(2, 2, 4, 3).sin(),
                                                    lib.arange(48.0).reshape(2, 4, 2, 3).sin().transpose(1, 2))
        for right in (lib.arange(60.0).reshape(2, 2, 3, 5).cos(), lib.arange(60.0).reshape(2, 2, 5, 3).cos().mT)],
    "layer normalisation": lambda lib: [lib.nn.functional.layer_norm(
        lib.arange(24.0).reshape(2, 3, 4).sin(), shape, *given) for _ in range(3) for shape in ((4,), (3, 4))
        for given in ((), (lib.full(shape, 2.0),), (None, lib.ones(shape)), (lib.ones(shape), lib.ones(shape), 0.5))],
    "attention": lambda lib: [lib.nn.functional.scaled_dot_product_attention(
        query, keys, keys.cos(), mask, scale=scale, enable_gqa=True) for _ in range(3)
        for query in (lib.arange(48.0).reshape(2, 4, 1, 6).sin(),
                      lib.arange(48.0).reshape(2, 1, 4, 6).sin().transpose(1, 2))
        for keys in (lib.arange(120.0).reshape(2, 2, 5, 6).sin(), lib.arange(240.0).reshape(2, 4, 5, 6).sin())
        for mask, scale in ((None, None), (lib.arange(5.0).expand(1, 5), 0.5),
                            (lib.arange(10.0).reshape(2, 1, 1, 5), None))],
    "one_hot": lambda lib: lib.nn.functional.one_hot(lib.tensor([[0, 2], [1, 1]])),
    "one_hot of more classes": lambda lib: lib.nn.functional.one_hot(lib.tensor([0, 2, 1]), 5),
    "one_hot of too few classes": lambda lib: lib.nn.functional.one_hot(lib.tensor([0, 2, 1]), 2),
    "one_hot of a negative class": lambda lib: lib.nn.functional.one_hot(lib.tensor([0, -2])),
    "one_hot of a number": lambda lib: lib.nn.functional.one_hot(lib.tensor(2)),
    "kron": lambda lib: lib.kron(lib.arange(6.0).reshape(2, 3), lib.tensor([[1, float("inf")], [-1, 0.5]])),
    "kron of vectors": lambda lib: lib.kron(lib.arange(3.0), lib.arange(4.0)),
    "kron of two dtypes": lambda lib: lib.kron(lib.ones(2, 2), lib.ones(2, 2, dtype=lib.int64)),
    "kron without elements": lambda lib: lib.kron(lib.ones(2, 0), lib.ones(3, 2)),
    "softmax in another dtype": lambda lib: [
        call(x.t() if turned else x, 1, other) for call in (lib.softmax, lib.log_softmax) for turned in (False, True)
        for x in (lib.arange(12).reshape(3, 4), lib.arange(24.0).reshape(4, 6).sin().half(), lib.ones(2, 1))
        for other in (lib.float64, lib.float32) for _ in range(3)],
    "softmax of a line": lambda lib: [
        call(x * scale, -1) for call in (lib.softmax, lib.log_softmax) for scale in (1, 9, 60, float("inf"))
        for x in (lib.arange(50.0).cos(), lib.arange(60.0).reshape(2, 30).cos().t(), lib.ones(3, 1, dtype=lib.float64))
        for _ in range(3)],
    "normalisation of half precision by running moments": lambda lib: [
        lib.native_batch_norm(x, weight, bias, x.new_zeros(3), x.new_ones(3), False, 0.3, 1e-3)
        for x in [(lib.arange(9000.0).reshape(30, 3, 100) % 37).half()]
        for weight, bias in ((None, None), (x[0, :, 0], x[0, :, 1]), (None, x[0, :, 1]))
        for _ in range(3)],
    "empty vectors among matrices": lambda lib: [lib.hstack(parts) for m, v in ((lib.ones(2, 3), lib.ones(0)),)
                                                 for parts in ([m, v, m], [v, m], [v, v]) for _ in range(3)],
    "stacks of two shapes": lambda lib: [call([x, y]) for call in (lib.hstack, lib.vstack, lib.dstack, lib.column_stack)
                                         for x in [lib.arange(3.0)] for y in (x, x[None], x.int()) for _ in range(3)],
    "losses by element": lambda lib: [
        getattr(lib.nn.functional, name)(x, y, reduction=reduction)
        for name in ("mse_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "binary_cross_entropy",
                     "binary_cross_entropy_with_logits")
        for x, y in [(lib.arange(12.0).reshape(3, 4) / 12, lib.arange(1.0, 13).reshape(4, 3).t() / 12)]
        for x, y in ((x, y), (x.double(), y.double()), (x.half(), y.half()), (x.t(), y.t()), (x[0, 1], y[0, 1]))
        for reduction in ("none", "mean", "sum") for _ in range(3)],
    "losses by element with weights": lambda lib: [
        call(x, x.flip(0), weight, reduction=reduction) for x in [lib.arange(12.0).reshape(3, 4).sin().square()]
        for call in (lib.nn.functional.binary_cross_entropy, lib.nn.functional.binary_cross_entropy_with_logits)
        for weight in (x + 1, x[0], x[:, :1], (x + 1).t().contiguous().t()) for reduction in ("none", "mean")
        for _ in range(3)],
    "losses of no probability": lambda lib: [
        lib.nn.functional.binary_cross_entropy(lib.tensor([0.0, -0.0, 1]), lib.tensor([1.0, 0, -0.0])),
        lib.nn.functional.binary_cross_entropy(lib.tensor([0.5, float("nan")]), lib.ones(2))],
    "writes at indices of a transposed tensor": lambda lib: [
        call(x, x.flip(0).argsort(0), lib.tensor([2, 0, 1])) for dtype in (lib.float32, lib.int32, lib.bool, lib.half)
        for x in [lib.arange(12).reshape(4, 3).remainder(5).t().to(dtype)] for call in (
            lambda x, places, rows: x.scatter_add(0, places, x), lambda x, places, rows: x.scatter(1, places, x),
            lambda x, places, rows: x.scatter_reduce(0, places, x, "amax", include_self=False),
            lambda x, places, rows: x.index_fill(0, rows[:2], 1), lambda x, places, rows: x.index_copy(0, rows, x),
            lambda x, places, rows: x.index_add(0, rows, x), lambda x, places, rows: x.gather(0, places))
        for _ in range(3)],
    "running sums of integers": lambda lib: [
        call(x, dim) for call in (lib.cumsum, lib.cumprod) for dim in (0, -1) for x in (
            lib.arange(6, dtype=lib.int32).reshape(2, 3).t(), lib.full((5,), 100, dtype=lib.uint8), lib.ones(2, 2) > 0)
        for _ in range(3)],
    "comparison of two shapes": lambda lib: [
        lib.equal(lib.zeros(9000, dtype=left), lib.zeros(*shape)) for left in (lib.float32, lib.float32, lib.int32)
        for shape in ((9000,), (1,), (1, 9000), (0,)) for _ in range(3)],
    "tensors like another on its device": lambda lib: [
        call(x, **settings) for call in (lib.zeros_like, lib.ones_like) for x in (lib.ones(2, 3).t(), lib.ones(3))
        for settings in ({"device": "cpu"}, {"layout": lib.strided, "dtype": lib.bool}, {"device": lib.device("cpu")})],
    "trace": lambda lib: lib.arange(12.0).reshape(3, 4).trace(),
    "trace of integers": lambda lib: lib.arange(12, dtype=lib.int32).reshape(3, 4).trace(),
    "trace of no matrix": lambda lib: lib.ones(3).trace(),
    "pad": lambda lib: [lib.nn.functional.pad(lib.arange(6.0).reshape(2, 3), (1, 2, 0, 1), value=number)
                        for number in (0, 1.5, float("-inf"), 2)],
    "pad and cut": lambda lib: [lib.nn.functional.pad(lib.arange(6.0).reshape(2, 3), (1, -1)) for _ in range(3)],
    "pad by too large a number": lambda lib: [
        lib.nn.functional.pad(lib.ones(2), (1, 1), value=number) for number in (1, 1e39)],
    "pad of integers": lambda lib: [
        lib.nn.functional.pad(lib.arange(6).reshape(2, 3).to(getattr(lib, dtype)), (1, 2, 0, 1), value=number).tolist()
        for dtype in ("int64", "int8", "uint8", "bool") for number in (-100, 1.5, 300, True) for _ in range(3)],
    "pad of one channel": lambda lib: [lib.nn.functional.pad(lib.ones(2, 1, 3, 3), (1, 1, 1, 1)).stride()] * 2,
    "pad by nothing": lambda lib: [lib.nn.functional.pad(lib.ones(2), (0, 0)) for _ in range(2)],
    "gradients of parts": lambda lib: [
        lib.autograd.grad((part(x := lib.arange(24.0).reshape(2, 3, 4).requires_grad_()) * 2).exp().sum(), x)
        for part in (lambda x: x[:, 1], lambda x: x[..., -1], lambda x: x[1:, ::2], lambda x: x[..., -3:9],
                     lambda x: x[:, 2:2], lambda x: x.double()[1]) for _ in range(3)],
    "fft": lambda lib: lib.fft.fft(lib.arange(10.0).reshape(2, 5)),
    "fft of complex numbers": lambda lib: lib.fft.fft(lib.arange(6.0) * 1j, norm="ortho"),
    "ifft": lambda lib: lib.fft.ifft(lib.arange(6.0).to(lib.complex128), norm="forward"),
    **{f"{name} of several dimensions": lambda lib, name=name: [
        getattr(lib.fft, name)(x, s, dim, norm) for x in (
            lib.arange(60.0).reshape(3, 4, 5).sin(), lib.arange(60).reshape(3, 5, 4).mT)
        for s, dim, norm in ((None, (0, 2), None), ((7, 2), (-2, -1), "ortho"), ((2, 6), (1, 0), "forward"))]
       for name in ("fft2", "ifftn", "rfft2", "irfftn", "hfft2", "ihfftn")},
    "transforms of a line, cut or padded": lambda lib: [
        getattr(lib.fft, name)(lib.arange(6.0).sin(), n) for name in ("fft", "rfft", "irfft", "hfft") for n in (3, 9)],
    "quantiles": lambda lib: [
        getattr(lib, name)(x, q, dim, keepdim, interpolation=interpolation)
        for name in ("quantile", "nanquantile")
        for interpolation in ("linear", "lower", "higher", "midpoint", "nearest")
        for x in (lib.tensor([[3.0, 1.0, float("nan"), 2.0], [0.0, -0.0, 5.0, 4.0]], dtype=lib.float64),)
        for dim, keepdim in ((None, False), (0, True), (1, False))
        for q in (0.3, lib.tensor([0.25, 1.0], dtype=lib.float64))],
    "versions of quantiles": lambda lib: [
        getattr(lib, name)(lib.arange(24.0).reshape(4, 6), q, *dim)._version
        for name in ("quantile", "nanquantile") for q in (0.3, lib.tensor([0.25, 0.5])) for dim in ((), (1,))
        for _ in range(4)],
    "quantiles beyond 1": lambda lib: [
        lib.quantile(lib.arange(4.0), lib.tensor(q)) for q in (0.5, 0.5, 0.5, 1.5)],
    "means without NaN": lambda lib: [
        x.nanmean(dim, keepdim) for x in (lib.tensor([[float("nan"), 1.0], [2.0, 4.0]]), lib.tensor(float("nan")))
        for dim in (None, 0, -1) for keepdim in (False, True)],
    "correlations": lambda lib: [lib.corrcoef((lib.arange(1.0, 13.0) ** 2 % 7).reshape(shape).double())
                                 for shape in ((3, 4), (2, 6), (12,))],
    "integrals": lambda lib: [
        f(y, **points, dim=dim) for f in (lib.trapezoid, lib.cumulative_trapezoid) for dim in (0, -1)
        for y, points in ((lib.arange(16.0).reshape(4, 4).sin(), {"x": lib.arange(4.0) ** 2}),
                          (lib.arange(12.0).reshape(3, 4).sin(), {"dx": 0.5}), (lib.ones(1), {}))],
    "combinations": lambda lib: [
        lib.combinations(lib.arange(4.0), r, again) for r in range(4) for again in (False, True)],
    "cross products": lambda lib: [
        lib.linalg.cross(a, a.roll(1, 0) * 2, dim=dim) for a in (
            lib.arange(9.0).reshape(3, 3).cos(), lib.arange(9).reshape(3, 3), lib.arange(9.0).reshape(3, 3).cos().mT)
        for dim in (0, 1)],
    "powers": lambda lib: [lib.linalg.vander(x, N=n) for x in (lib.arange(6.0).reshape(2, 3), lib.arange(3))
                           for n in (None, 2, 5)],
    "logarithms of determinants": lambda lib: [
        f(lib.tensor(m, dtype=lib.float64)) for f in (lib.logdet, lib.slogdet)
        for m in ([[2.0, 1.0], [1.0, 3.0]], [[0.0, 1.0], [1.0, 0.0]], [[1.0, 2.0], [2.0, 4.0]])],
    "multiples of products added": lambda lib: [
        f(x, *parts, beta=beta, alpha=alpha) for beta, alpha in ((1, 1), (0.5, 1), (1, 2), (0, 0.5))
        for f, parts in ((lib.addmm, (lib.arange(6.0).reshape(3, 2), lib.arange(8.0).reshape(2, 4))),
                         (lib.addr, (lib.arange(3.0), lib.arange(4.0))))
        for x in (lib.arange(12.0).reshape(3, 4), lib.arange(4.0), lib.full((1,), float("nan")))],
    "triangular systems": lambda lib: [
        lib.triangular_solve(lib.arange(6.0).reshape(3, 2), lib.arange(1.0, 10).reshape(3, 3), *flags)
        for flags in ((True, False, False), (False, True, False), (True, True, True))],
    "outer products": lambda lib: [lib.outer(lib.arange(3.0), lib.arange(n)) for n in (4, 4.0, 0.0)],
    "fftn of a number": lambda lib: [lib.fft.fftn(lib.ones(())) for _ in range(3)],
    "ifft of real numbers": lambda lib: lib.fft.ifft(lib.arange(6.0)).is_conj(),
    "rfft": lambda lib: lib.fft.rfft(lib.arange(14.0, dtype=lib.float64).reshape(2, 7)),
    "rfft of complex numbers": lambda lib: lib.fft.rfft(lib.ones(4) * 1j),
    "fft of no points": lambda lib: lib.fft.fft(lib.ones(2, 0)),
    "fft in an unknown way": lambda lib: lib.fft.fft(lib.ones(2), norm="other"),
    "fft of half precision": lambda lib: lib.fft.fft(lib.ones(4).half()).dtype,
    "transforms of several dimensions": lambda lib: [
        getattr(lib.fft, name)(lib.arange(24.0).reshape(2, 3, 4).to(dtype), norm=norm) for norm in (None, "forward")
        for dtype in (lib.float32, lib.complex128) for name in ("fft2", "fftn", "ifft2", "ifftn")],
    "transforms of real numbers": lambda lib: [
        getattr(lib.fft, name)(lib.arange(12.0).reshape(3, 4), dim=(0, 1)) for name in ("rfft2", "rfftn")],
    "transforms to real numbers": lambda lib: [
        getattr(lib.fft, name)(lib.arange(6.0).to(dtype) * 2, n, norm=norm) for name in ("irfft", "hfft")
        for dtype in (lib.float64, lib.complex64) for n in (None, 4, 9) for norm in (None, "ortho", "forward")],
    "hfft of no points": lambda lib: lib.fft.hfft(lib.ones(1)),
    "differences": lambda lib: [lib.tensor([[3, 1, 200], [7, 7, 9]], dtype=dtype).diff(dim=dim) for dim in (0, -1)
                                for dtype in (lib.uint8, lib.int64, lib.float32, lib.float16, lib.complex64, lib.bool)],
    "differences of one number": lambda lib: lib.ones(1).diff(),
    "differences with more numbers": lambda lib: lib.arange(3).diff(prepend=lib.zeros(1, dtype=lib.int64), n=2),
    "traces": lambda lib: [lib.arange(12).reshape(3, 4).to(dtype).trace() for dtype in (
        lib.int32, lib.uint8, lib.float16, lib.float64, lib.complex64)],
    "arange": lambda lib: [lib.arange(5), lib.arange(2, 5), lib.arange(5, 5), lib.arange(3, dtype=lib.int64)],
    "arange backwards": lambda lib: lib.arange(5, 2),
    "arange of float32": lambda lib: [lib.arange(3, dtype=lib.float32), lib.arange(2.5)],
    "eye": lambda lib: [lib.eye(3), lib.eye(2, dtype=lib.bool), lib.eye(0), lib.eye(1, dtype=lib.bfloat16)],
    "eye of a negative size": lambda lib: lib.eye(-1),
    "polar": lambda lib: lib.polar(lib.tensor([1.0, 2.0, float("inf")]), lib.tensor([0.0, 2.0, 1.0])),
    "polar of two shapes": lambda lib: lib.polar(lib.ones(2, 1), lib.ones(3)).shape,
    "complex of two dtypes": lambda lib: lib.complex(lib.ones(2), lib.ones(2, dtype=lib.float64)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_and_errors_are_pytorchs(name: str) -> None:
    for default in ("float32", "float64"):
        outcomes = []
        for lib in (mindtorch, torch):
            before = lib.get_default_dtype()
            lib.set_default_dtype(getattr(lib, default))
            try:
                outcomes.append(Outcome.of(PROGRAMS[name], lib))
            finally:
                lib.set_default_dtype(before)
        ours, theirs = outcomes
        assert not list(error_differences(ours, theirs))
        if theirs.error is None:  # in float32, a transform that cancels is as exact as what it sums
            sums = default == "float32" and "of several dimensions" in name
            assert_same(ours.value, theirs.value, **({"rtol": 1e-6, "atol": 2e-5} if sums else {}))


@pytest.mark.parametrize("name", [
    "one_hot", "kron", "trace", "pad", "fft", "rfft", "differences", "transforms to real numbers", "arange", "eye",
    "linear of sequences", "batches of matrices", "layer normalisation", "attention"])
def test_an_observer_sees_the_operators_within(name: str) -> None:
    seen = []
    for _ in range(2):
        PROGRAMS[name](mindtorch)
        with mindtorch.observe(one_by_one=name == "one_hot") as trace:  # its parts depend on values
            PROGRAMS[name](mindtorch)
        seen.append([(event.op, event.depth) for event in trace])
    assert any(depth for _, depth in seen[0]) and seen[0] == seen[1]


@pytest.mark.parametrize("name", ["linear of sequences", "layer normalisation"])
def test_parameters_have_gradients_only_where_grad_is_enabled(name: str) -> None:
    parameters = mindtorch.nn.ParameterList([mindtorch.ones(4, 4), mindtorch.ones(4)])
    call = mindtorch.nn.functional.linear if name == "linear of sequences" else (
        lambda x, weight, bias: mindtorch.nn.functional.layer_norm(x, (4,), weight[0], bias))
    x, seen = mindtorch.ones(2, 3, 4), []
    for _ in range(4):
        with mindtorch.no_grad():
            seen.append(call(x, *parameters).requires_grad)
        seen.append(call(x, *parameters).requires_grad)
    assert seen == 4 * [False, True]


def test_attention_takes_an_allowed_kernel_however_often_it_took_another() -> None:
    query = mindtorch.ones(1, 2, 3, 4)
    attend = mindtorch.nn.functional.scaled_dot_product_attention
    for kernel, name in 3 * [(mindtorch.nn.attention.SDPBackend.MATH, "softmax"),
                             (mindtorch.nn.attention.SDPBackend.FLASH_ATTENTION, "flash")]:
        with mindtorch.nn.attention.sdpa_kernel(kernel), mindtorch.observe() as trace:
            attend(query, query, query)
        assert any(name in event.op for event in trace)


@pytest.mark.parametrize("size", [(0,), (1,), (3,), (2, 5), (64,), (65,), (700,), ()], ids=str)
def test_factories_draw_pytorchs_numbers_and_leave_its_state(size: tuple[int, ...]) -> None:
    for draw in (lambda lib: lib.rand(size), lambda lib: lib.randn(size), lambda lib: lib.randint(9, size),
                 lambda lib: lib.randint(-5, 1 << 40, size), lambda lib: lib.rand(size, dtype=lib.float64),
                 lambda lib: lib.randint(-5, 5, size, dtype=lib.int8), lambda lib: lib.randperm(sum(size)),
                 lambda lib: lib.bernoulli(lib.full(size, 0.3)), lambda lib: lib.empty(size).exponential_(2.0),
                 lambda lib: lib.empty(size).cauchy_(), lambda lib: lib.empty(size).geometric_(0.3),
                 lambda lib: lib.empty(size).bernoulli_(), lambda lib: lib.empty(size).random_(),
                 lambda lib: lib._standard_gamma(lib.full(size, 0.7)), lambda lib: lib.poisson(lib.full(size, 3.0)),
                 lambda lib: lib.rand(size, generator=lib.Generator().manual_seed(3))):
        results = []
        for lib in (mindtorch, torch):
            lib.manual_seed(len(size))
            results.append([*(draw(lib) for _ in range(3)), lib.get_rng_state()])
        assert_same(*results)


@each_program(
    lambda lib: lib.randint(5, 5, (2,)),
    lambda lib: lib.rand(-1),
    lambda lib: lib.randperm(-1),
    lambda lib: lib.rand(2, 2, device="meta").device,
)
def test_what_cannot_be_drawn_is_refused(program: Program) -> None:
    assert_same_outcome(program)


@pytest.mark.parametrize("wrong", [1.5, -0.1, float("nan")])
def test_what_is_no_probability_is_refused(wrong: float) -> None:
    for lib in (mindtorch, torch):
        with pytest.raises(RuntimeError, match="p_in >= 0 && p_in <= 1"):
            lib.bernoulli(lib.tensor([0.5, wrong]))
