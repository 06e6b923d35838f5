"""Reductions, scans, sorts and searches are PyTorch's: values, dtypes, shapes, strides, gradients, errors.

Each call is written once and runs in both libraries, on the same drawn tensor: of any dtype, with any number
of dimensions (none, or of size 0), contiguous or not, with NaN and infinities.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import mindtorch
from mindtorch._backends.cpu.ops import scan
from tests.both import assert_same_outcome
from tests.support import Outcome, assert_same, error_differences, port, torch

# Both libraries warn of too few degrees of freedom.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
Call = Callable[..., Any]
few = settings(max_examples=15, deadline=None, derandomize=True)
ORDERED = ("bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64")
FLOATING = ("float16", "bfloat16", "float32", "float64", "complex64")

# -- what is drawn -------------------------------------------------------------------------------------------


@st.composite
def tensors(draw: Any, dtypes: tuple[str, ...] = (*ORDERED, "complex64"), special: bool = True,
            min_dims: int = 0) -> torch.Tensor:
    """Draw a PyTorch tensor of small numbers, transposed or with gaps in its memory."""
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=min_dims, max_size=3)))
    dtype = getattr(torch, draw(st.sampled_from(dtypes)))
    layout = draw(st.sampled_from(["contiguous", "transposed", "gaps"]))
    wide = [*shape[:-1], 2 * shape[-1]] if shape else []
    values = np.random.default_rng(draw(st.integers(0, 99))).integers(-3, 4, wide)
    x = (torch.from_numpy(np.asarray(values)) / 2).to(dtype)
    if special and dtype.is_floating_point and x.numel():
        x.view(-1)[0] = draw(st.sampled_from([0.0, float("nan"), float("inf"), -float("inf")]))
    if shape and layout == "gaps":
        return x[..., ::2]
    if shape and layout == "transposed":
        return x[..., : shape[-1]].contiguous().transpose(0, -1)
    return x[..., : shape[-1]].contiguous() if shape else x


@st.composite
def with_dim(draw: Any, **options: Any) -> tuple[torch.Tensor, int]:
    """Draw a tensor and one of its dimensions, which may be out of range."""
    x = draw(tensors(**options))
    return x, draw(st.integers(-x.ndim - 1, x.ndim))


@st.composite
def with_dims(draw: Any, **options: Any) -> tuple[torch.Tensor, Any]:
    """Draw a tensor and a valid ``dim``: None, one dimension, or a tuple of them."""
    x, dim = draw(with_dim(**options))
    several = st.lists(st.integers(-max(x.ndim, 1), max(x.ndim, 1) - 1), max_size=3).map(tuple)
    return x, draw(st.one_of(st.none(), st.just(dim), several))


def both(call: Call, x: torch.Tensor, *args: Any, strides: bool = True, **tolerances: Any) -> None:
    """Check that the call has the same outcome in both libraries."""
    ours, theirs = Outcome.of(call, mindtorch, port(x, mindtorch), *args), Outcome.of(call, torch, x, *args)
    assert not (found := list(error_differences(ours, theirs))), found
    if theirs.error is None:
        assert_same(ours.value, theirs.value, strides=strides, **tolerances)


def parametrized(table: dict[str, Call]) -> Any:
    return pytest.mark.parametrize("call", table.values(), ids=table.keys())


# -- the calls -----------------------------------------------------------------------------------------------

REDUCTIONS: dict[str, Call] = {
    "sum": lambda lib, x, dim, keep: x.sum(dim, keep),
    "sum to float64": lambda lib, x, dim, keep: x.sum(dim, keep, dtype=lib.float64),
    "sum to int32": lambda lib, x, dim, keep: x.sum(dim, keep, dtype=lib.int32),
    "nansum": lambda lib, x, dim, keep: x.nansum(dim, keep),
    "mean": lambda lib, x, dim, keep: x.mean(dim, keep),
    "nanmean": lambda lib, x, dim, keep: x.nanmean(dim, keep),
    "var": lambda lib, x, dim, keep: x.var(dim, keepdim=keep),
    "std of all": lambda lib, x, dim, keep: x.std(dim, correction=0, keepdim=keep),
    "std biased": lambda lib, x, dim, keep: x.std(dim, False, keep),
    "amax": lambda lib, x, dim, keep: x.amax(() if dim is None else dim, keep),
    "amin": lambda lib, x, dim, keep: x.amin(() if dim is None else dim, keep),
    "all": lambda lib, x, dim, keep: x.all(dim=dim, keepdim=keep),
    "any": lambda lib, x, dim, keep: x.any(dim=dim, keepdim=keep),
    "norm": lambda lib, x, dim, keep: x.norm(2, dim, keep),
    "norm 1": lambda lib, x, dim, keep: x.norm(1, dim, keep),
    "norm inf": lambda lib, x, dim, keep: x.norm(float("inf"), dim, keep),
    "norm 0": lambda lib, x, dim, keep: x.norm(0, dim, keep),
    "norm 3": lambda lib, x, dim, keep: x.norm(3, dim, keep),
}
WHOLE: dict[str, Call] = {
    name: lambda lib, x, name=name: getattr(x, name)()
    for name in ("sum", "mean", "nansum", "prod", "std", "var", "all", "any", "amax", "amin", "max", "min",
                 "argmax", "argmin", "norm", "count_nonzero", "median", "nanmedian")
} | {"aminmax": lambda lib, x: x.aminmax()}
ALONG: dict[str, Call] = {
    "prod": lambda lib, x, dim, keep: x.prod(dim, keep),
    "max": lambda lib, x, dim, keep: x.max(dim, keep),
    "min": lambda lib, x, dim, keep: x.min(dim, keep),
    "argmax": lambda lib, x, dim, keep: x.argmax(dim, keep),
    "argmin": lambda lib, x, dim, keep: x.argmin(dim, keep),
    "aminmax": lambda lib, x, dim, keep: x.aminmax(dim=dim, keepdim=keep),
    "all": lambda lib, x, dim, keep: x.all(dim, keep),
    "count_nonzero": lambda lib, x, dim, keep: x.count_nonzero(dim),
}
SCANS: dict[str, Call] = {
    "cumsum": lambda lib, x, dim: x.cumsum(dim),
    "cumsum to int32": lambda lib, x, dim: x.cumsum(dim, dtype=lib.int32),
    "cumprod": lambda lib, x, dim: x.cumprod(dim),
    "cummax": lambda lib, x, dim: x.cummax(dim),
    "cummin": lambda lib, x, dim: x.cummin(dim),
    "stable sort": lambda lib, x, dim: lib.sort(x, stable=True, dim=dim),
    "stable sort down": lambda lib, x, dim: lib.sort(x, stable=True, dim=dim, descending=True),
    "stable argsort": lambda lib, x, dim: lib.argsort(x, stable=True, dim=dim),
    "diff": lambda lib, x, dim: x.diff(dim=dim),
    "second diff": lambda lib, x, dim: x.diff(2, dim),
    "var_mean": lambda lib, x, dim: lib.var_mean(x, dim, correction=0),
    "std_mean": lambda lib, x, dim: lib.std_mean(x, dim, keepdim=True),
    "unique_consecutive": lambda lib, x, dim: lib.unique_consecutive(x, return_inverse=True, dim=dim),
}
SMOOTH: dict[str, Call] = {  # compared in full precision only: PyTorch rounds in between in half precision
    "logsumexp": lambda lib, x, dim: x.logsumexp(dim),
    "softmax": lambda lib, x, dim: x.softmax(dim),
    "log_softmax": lambda lib, x, dim: x.log_softmax(dim),
    "softmax to float64": lambda lib, x, dim: x.softmax(dim, lib.float64),
    "logcumsumexp": lambda lib, x, dim: x.logcumsumexp(dim),
}
SEARCHES: dict[str, Call] = {
    "nonzero": lambda lib, x: x.nonzero(),
    "nonzero as tuple": lambda lib, x: x.nonzero(as_tuple=True),
    "argwhere": lambda lib, x: lib.argwhere(x),
    "unique": lambda lib, x: lib.unique(x, return_inverse=True, return_counts=True),
    "unique_consecutive": lambda lib, x: lib.unique_consecutive(x, return_counts=True),
    "isin": lambda lib, x: lib.isin(x, lib.tensor([0, 1, 2])),
    "isin a number": lambda lib, x: lib.isin(x, 1, invert=True),
    "bucketize": lambda lib, x: lib.bucketize(x, lib.tensor([-1.0, 0.0, 1.0]), right=True),
    "searchsorted": lambda lib, x: lib.searchsorted(lib.tensor([-2.0, 1.0, float("nan")]), x, out_int32=True),
    "equal": lambda lib, x: (x.equal(x), x.equal(x[:0] if x.ndim else x)),
    "allclose": lambda lib, x: (lib.allclose(x, x), lib.allclose(x, x, equal_nan=True)),
    "msort": lambda lib, x: x.msort(),
}
DISTINCT: dict[str, Call] = {  # which of several equal elements is picked, PyTorch leaves open
    "median": lambda lib, x: x.median(-1),
    "nanmedian": lambda lib, x: x.nanmedian(0, True),
    "kthvalue": lambda lib, x: x.kthvalue(2, 0),
    "topk": lambda lib, x: x.topk(3, 0),
    "lowest": lambda lib, x: x.topk(2, -1, largest=False),
    "mode": lambda lib, x: x.mode(-1),
    "quantile": lambda lib, x: x.quantile(0.3),
    "quantiles": lambda lib, x: x.quantile(lib.tensor([0.0, 0.4, 1.0], dtype=x.dtype), 0, True),
    "nanquantile": lambda lib, x: x.nanquantile(0.7, 1, interpolation="midpoint"),
    "nearest quantile": lambda lib, x: x.quantile(0.6, 0, interpolation="nearest"),
    "histc": lambda lib, x: x.histc(4, -2, 2),
    "histogram": lambda lib, x: lib.histogram(x, 3, density=True),
    "cdist": lambda lib, x: lib.cdist(x, x[:2] + 1, 1.5),
    "cdist by product": lambda lib, x: lib.cdist(x.repeat(9, 1), x + 1),  # of equal points it is rounding alone
    "pdist": lambda lib, x: lib.pdist(x, 3.0),
    "dist": lambda lib, x: lib.dist(x, x[0], 3),
    "renorm": lambda lib, x: x.renorm(2, 0, 0.7),
    "cov": lambda lib, x: x.cov(),
    "corrcoef": lambda lib, x: x.corrcoef(),
    "cosine_similarity": lambda lib, x: lib.cosine_similarity(x, x[:1] + 1, 1),
    "pairwise_distance": lambda lib, x: lib.pairwise_distance(x, x[0], 1),
    "gradient": lambda lib, x: lib.gradient(x, spacing=0.5, edge_order=2),
    "trapezoid": lambda lib, x: lib.trapezoid(x, dx=2, dim=0),
    "cumulative_trapezoid": lambda lib, x: lib.cumulative_trapezoid(x, x * x, dim=0),
}


# -- what holds ----------------------------------------------------------------------------------------------


@parametrized(REDUCTIONS)
@given(drawn=with_dims(), keepdim=st.booleans())
@few
def test_reductions_over_any_dimensions(call: Call, drawn: Any, keepdim: bool) -> None:
    both(call, *drawn, keepdim)


@parametrized(WHOLE)
@given(x=tensors())
@few
def test_reductions_of_everything(call: Call, x: torch.Tensor) -> None:
    both(call, x)


@parametrized(ALONG)
@given(drawn=with_dim(dtypes=ORDERED), keepdim=st.booleans())
@few
def test_reductions_along_one_dimension(call: Call, drawn: Any, keepdim: bool) -> None:
    both(call, *drawn, keepdim)


@parametrized(SCANS)
@given(drawn=with_dim(dtypes=ORDERED, special=False))
@few
def test_scans_and_sorts(call: Call, drawn: Any) -> None:
    both(call, *drawn)


@parametrized(SMOOTH)
@given(drawn=with_dim(dtypes=("bool", "int64", "float32", "float64")))
@few
def test_softmax_and_its_kin(call: Call, drawn: Any) -> None:
    both(call, *drawn)


@parametrized(SEARCHES)
@given(x=tensors(dtypes=("uint8", "int64", "float32", "float64")))
@few
def test_searches(call: Call, x: torch.Tensor) -> None:
    both(call, x)


def distinct(dtype: torch.dtype, requires_grad: bool = False) -> torch.Tensor:
    """Make a 4 x 5 matrix without equal elements, columns contiguous."""
    values = np.random.default_rng(7).permutation(20).reshape(5, 4) / 7 - 1.3
    return torch.from_numpy(values).to(dtype).t().requires_grad_(requires_grad)


@parametrized(DISTINCT)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_selections_histograms_and_distances(call: Call, dtype: torch.dtype) -> None:
    both(call, distinct(dtype))


GRADIENTS: dict[str, Call] = {
    **{name: lambda lib, x, call=call: call(lib, x, (0, 1), False) for name, call in REDUCTIONS.items()
       if name not in ("all", "any", "sum to int32", "norm 0")},
    **{f"{name} of rows": lambda lib, x, call=call: call(lib, x, -1, True)
       for name, call in REDUCTIONS.items() if name not in ("all", "any", "sum to int32", "norm 0")},
    **{f"{name} of everything": call for name, call in WHOLE.items()
       if name not in ("all", "any", "argmax", "argmin", "count_nonzero")},
    **{f"{name} along": lambda lib, x, call=call: call(lib, x, 1, False) for name, call in ALONG.items()
       if name in ("prod", "max", "min", "aminmax")},
    "aminmax along 0": lambda lib, x: x.aminmax(dim=0),
    **{name: lambda lib, x, call=call: call(lib, x, 0) for name, call in SCANS.items()
       if name not in ("cumsum to int32", "stable argsort", "unique_consecutive")},
    **{name: lambda lib, x, call=call: call(lib, x, 1) for name, call in SMOOTH.items()},
    **{name: call for name, call in DISTINCT.items() if name not in ("histc", "histogram")},
    "prod with zeros": lambda lib, x: (x * (x > 0)).prod(1),
    "cumprod with zeros": lambda lib, x: (x * (x > 0)).cumprod(1),
}
# Without a second derivative in PyTorch.
FIRST_ONLY = {"cdist", "pdist", "cdist by product"}


def gradients(lib: Any, call: Call, x: Any, second: bool) -> list[Any]:
    """Return the gradient of a weighted sum of all outputs, and the gradient of the sum of its squares."""
    outputs = call(lib, x)
    outputs = [o for o in (outputs if isinstance(outputs, (tuple, list)) else [outputs]) if o.requires_grad]
    total = sum((o * (lib.arange(o.numel(), dtype=o.dtype) + 1).reshape(o.shape)).sum() for o in outputs)
    (first,) = lib.autograd.grad(total, x, create_graph=second)
    if not second or not first.requires_grad:
        return [first]
    return [first, *lib.autograd.grad((first * first).sum(), x, allow_unused=True)]


@parametrized(GRADIENTS)
def test_gradients_and_their_gradients(call: Call, request: pytest.FixtureRequest) -> None:
    second = request.node.callspec.id not in FIRST_ONLY
    x = distinct(torch.float64, requires_grad=True)
    ours, theirs = gradients(mindtorch, call, port(x, mindtorch), second), gradients(torch, call, x, second)
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        other = torch.zeros_like(x) if other is None else other
        mine = mindtorch.zeros(4, 5, dtype=mindtorch.float64) if mine is None else mine
        np.testing.assert_allclose(mine.detach().numpy(), other.numpy(force=True), rtol=1e-9, atol=1e-9)


@parametrized({name: call for name, call in GRADIENTS.items() if name not in ("gradient", "quantiles")})
def test_nodes_have_the_names_of_pytorch(call: Call) -> None:
    x = distinct(torch.float64, requires_grad=True)

    def names(lib: Any, x: Any) -> list[Any]:
        outputs = call(lib, x)
        outputs = outputs if isinstance(outputs, (tuple, list)) else [outputs]
        return [type(o.grad_fn).__name__.rstrip("0123456789") for o in outputs]

    assert names(mindtorch, port(x, mindtorch)) == names(torch, x)


LONG: dict[str, tuple[tuple[int, ...], Call]] = {
    "sum of columns": ((200_000, 2), lambda x: x.sum(0)),
    "sum of rows": ((3, 100_000), lambda x: x.sum(1)),
    "sum of everything": ((60_000, 3), lambda x: x.sum((0, 1))),
    "mean of columns": ((200_000, 2), lambda x: x.mean(0)),
    "norm of columns": ((200_000, 2), lambda x: x.norm(2, 0)),
    "norm of rows": ((3, 100_001), lambda x: x.norm(2, 1)),
    "norm of everything": ((200_001, 2), lambda x: x.norm()),
    "norm of a transposed matrix": ((200_001, 2), lambda x: x.t().norm()),
    "cumsum": ((300_000,), lambda x: x.cumsum(0)),
}


@pytest.mark.parametrize("shape, call", LONG.values(), ids=LONG.keys())
def test_float32_adds_up_as_accurately_as_in_pytorch(shape: tuple[int, ...], call: Call) -> None:
    x = torch.rand(shape, generator=torch.Generator().manual_seed(3)) + 0.1
    exact = call(x.double()).numpy()
    results = call(port(x, mindtorch)), call(x)
    error, theirs = (np.abs(np.asarray(result) - exact).max() / exact.max() for result in results)
    assert error <= max(2 * theirs, 1e-6)


@pytest.mark.parametrize("shape, dims", [((4, 64, 16, 8), (0, 2)), ((4, 64, 16, 8), (2,)), ((4, 64, 16, 8), (0, 1, 2)),
                                         ((3, 700, 5), (1,)), ((9000, 3), (0,)), ((8, 16, 33, 33), (2, 3)),
                                         ((8, 16, 33, 33), (0, 2, 3)), ((40, 1100), (1,)), ((5, 64, 7), (0, 1))])
@pytest.mark.parametrize("keepdim", [False, True])
def test_short_rows_and_boxes_add_up_as_in_pytorch(shape: tuple[int, ...], dims: tuple[int, ...],
                                                   keepdim: bool) -> None:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(3))
    for name, dtype in ((name, dtype) for name in ("sum", "mean") for dtype in ("float32", "float64", "bfloat16")):
        mine, theirs = (getattr(y.to(getattr(lib, dtype)), name)(dims, keepdim=keepdim)
                        for lib, y in ((mindtorch, port(x, mindtorch)), (torch, x)))
        assert_same(mine, theirs, rtol=1e-2 if dtype == "bfloat16" else 1e-5, atol=1e-4 if dtype != "bfloat16" else 1)


IN_ORDER: dict[str, tuple[tuple[int, ...], Call]] = {
    "sum of some rows": ((17, 640), lambda lib, x: x.sum(0)),
    "sum of rows": ((700, 192), lambda lib, x: x.sum(0)),
    "sum of many rows": ((5003, 64), lambda lib, x: x.sum(0)),
    "sum of a middle dimension": ((3, 300, 64), lambda lib, x: x.sum(1)),
    "mean of rows": ((256, 64), lambda lib, x: x.mean(0)),
    "gradient of what is broadcast": ((160, 64), lambda lib, x: lib.autograd.grad(
        ((y := lib.zeros(64, requires_grad=True)) * x).sum(), y)),
    "addcdiv": ((100,), lambda lib, x: lib.addcdiv(x, x, x + 1, value=0.3)),
}


@pytest.mark.parametrize("shape, call", IN_ORDER.values(), ids=IN_ORDER.keys())
def test_float32_adds_up_in_the_order_of_pytorch(shape: tuple[int, ...], call: Call) -> None:
    """Numbers of very different sizes, most of which are lost beside the others, or not, by the order."""
    x = torch.randn(shape, generator=torch.Generator().manual_seed(3)).mul(4).exp()
    assert_same(call(mindtorch, port(x, mindtorch)), call(torch, x), rtol=0, atol=0)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int64", "narrow int64", "uint32"])
def test_many_elements_are_sorted_stably(dtype: str, descending: bool) -> None:
    generator = torch.Generator().manual_seed(2)
    x = torch.randint(-300, 300, (61, 70, 2), generator=generator) * (1 if "narrow" in dtype else 7_000_003)
    kind = dtype.split()[-1]
    if kind.startswith("float"):
        x = (x / 7e6).round().to(getattr(torch, kind))
        x[::3], x[1::5], x[2, 3:9], x[:, 0, 0] = torch.nan, -0.0, -torch.nan, torch.inf
    else:
        x = (x + (1 << 31) if kind == "uint32" else x).to(getattr(torch, kind))
    mine = port(x, mindtorch)
    for dim in range(3):
        found, expected = (lib.sort(array, stable=True, dim=dim, descending=descending)
                           for lib, array in ((mindtorch, mine), (torch, x)))
        for result, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(result.numpy(), other.numpy())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_accumulates_in_single_precision(dtype: str) -> None:
    ones = mindtorch.ones(5000, dtype=getattr(mindtorch, dtype))
    exact = torch.tensor(5000.0)
    rounded, root = (value.to(getattr(torch, dtype)).item() for value in (exact, exact.sqrt()))
    assert ones.sum().item() == ones.sum(0).item() == ones.cumsum(0)[-1].item() == rounded
    assert (ones.mean().item(), ones.norm().item()) == (1, root)


def test_outputs_with_indices_are_named_tuples() -> None:
    values, indices = named = mindtorch.tensor([3.0, 1.0, 2.0]).sort()
    assert (named.values is values, named.indices is indices, type(named).__name__) == (True, True, "sort")
    assert mindtorch.ones(2, 2).max(1)._fields == ("values", "indices")
    assert mindtorch.ones(2, 2).aminmax()._fields == ("min", "max")
    assert mindtorch.histogram(mindtorch.ones(3), 2)._fields == ("hist", "bin_edges")


def test_large_softmax_is_computed_in_blocks_that_agree() -> None:
    x = torch.randn(700, 301, generator=torch.Generator().manual_seed(0)).t()
    for call in (lambda x: x.softmax(0), lambda x: x.softmax(1), lambda x: x.log_softmax(-1)):
        assert_same(call(port(x, mindtorch)), call(x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape, dim", [((1100, 1000), 0), ((1100, 1000), 1), ((1_100_000,), 0), ((20, 50, 1100), 1),
                                        ((1_000_000, 2), 0), ((2, 1_000_000), 0)])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_large_softmax_and_its_gradient_agree_along_any_dimension(name: str, shape: tuple[int, ...], dim: int,
                                                                  dtype: str) -> None:
    generator = torch.Generator().manual_seed(0)
    x, grad = (torch.randn(shape, generator=generator, dtype=getattr(torch, dtype)) for _ in range(2))
    x[-1] += 3
    results = []
    for t in (mindtorch, torch):
        leaf = port(x, t).requires_grad_()
        result = getattr(leaf, name)(dim)
        results += [result.detach(), *t.autograd.grad(result, leaf, port(grad, t))]
    for mine, theirs in zip(results[:2], results[2:], strict=True):
        mindtorch.testing.assert_close(mine, port(theirs, mindtorch), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64"])
@pytest.mark.parametrize("shape, dim", [((7, 20_001), 1), ((150_000,), 0), ((50, 1_000, 3), 1), ((100, 1_500), 0)])
def test_long_scans_agree(shape: tuple[int, ...], dim: int, dtype: str) -> None:
    x = (4 * torch.randn(shape, generator=torch.Generator().manual_seed(0))).to(getattr(torch, dtype))
    assert_same(port(x, mindtorch).cumsum(dim), x.cumsum(dim))
    assert_same(port(x, mindtorch).cumprod(dim), x.cumprod(dim))


@pytest.mark.parametrize("special", [(float("inf"),), (float("nan"),), (2e38, 2e38, -3.9e38, 1.0)], ids=str)
def test_a_long_sum_says_nothing_of_what_comes_before_a_special_number(special: tuple[float, ...]) -> None:
    x = torch.randn(40, 4_001, generator=torch.Generator().manual_seed(0))
    x[3, 77:77 + len(special)] = torch.tensor(special)
    assert_same(port(x, mindtorch).cumsum(1), x.cumsum(1))


def test_sigmoid_keeps_its_tails() -> None:
    x = torch.linspace(-100, 20, 100_001)
    ours, exact = port(x, mindtorch).sigmoid().numpy(), x.double().sigmoid().numpy()
    assert (np.abs(ours - exact) <= 4e-6 * exact + 1e-37).all()


OUTS: dict[str, Call] = {
    "sum computes in the dtype of out": lambda lib, x: lib.sum(x, 0, out=lib.empty(0, dtype=lib.float64)),
    "cumsum computes in the dtype of out": lambda lib, x: lib.cumsum(x, 0, out=lib.empty(0, dtype=lib.int32)),
    "mean casts to out": lambda lib, x: lib.mean(x, 0, out=lib.empty(0, dtype=lib.float64)),
    "mean does not cast to integers": lambda lib, x: lib.mean(x, 0, out=lib.empty(0, dtype=lib.int64)),
    "mean casts to no out of another dtype than is asked for":
        lambda lib, x: lib.mean(x, 0, dtype=lib.float32, out=lib.empty(0, dtype=lib.float64)),
    "sum of complex numbers as real ones":
        lambda lib, x: lib.sum(x.to(lib.complex64), 0, dtype=lib.float32, out=lib.empty(0, dtype=lib.complex64)),
    "nansum in another dtype than that of out":
        lambda lib, x: lib.nansum(x, 0, dtype=lib.float64, out=lib.empty(0)),
    "nanmean in another dtype than that of out":
        lambda lib, x: lib.nanmean(x, 0, dtype=lib.float32, out=lib.empty(0, dtype=lib.float64)),
    "nanmean in integers": lambda lib, x: lib.nanmean(x, 0, dtype=lib.int64, out=lib.empty(0)),
    "histogram with edges of another dtype": lambda lib, x: lib.histogram(x, lib.ones((), dtype=lib.float64)),
    "histogram with weights of another dtype": lambda lib, x: lib.histogram(x, 2, weight=x.double()),
    "amax wants its own dtype": lambda lib, x: lib.amax(x, 0, out=lib.empty(0, dtype=lib.float64)),
    "argmax wants int64": lambda lib, x: lib.argmax(x, 0, out=lib.empty(0, dtype=lib.int32)),
    "max fills two": lambda lib, x: lib.max(x, 0, out=(lib.empty(0), lib.empty(0, dtype=lib.int64))),
    "one out for two results": lambda lib, x: lib.max(x, 0, out=lib.empty(0)),
    "sort in place": lambda lib, x: lib.sort(x, 0, out=(x, lib.empty(0, dtype=lib.int64))),
    "prod of everything has no out": lambda lib, x: lib.prod(x, out=lib.empty(())),
    "std without a dimension": lambda lib, x: lib.std(x, out=lib.empty(())),
    "quantile into its own layout": lambda lib, x: lib.quantile(x, 0.5, 0, out=lib.empty(5, 2)[:, 0]),
    "nonzero": lambda lib, x: lib.nonzero(x, out=lib.empty(0, dtype=lib.int64)),
}


@parametrized(OUTS)
def test_out(call: Call) -> None:
    both(call, distinct(torch.float32))


MASKED: dict[str, Call] = {
    name: lambda lib, x, mask, name=name: getattr(lib.masked, name)(x, 1, mask=mask)
    for name in ("sum", "prod", "cumsum", "cumprod", "amax", "amin", "argmax", "argmin", "mean", "median",
                 "logsumexp", "var", "std", "softmax", "log_softmax", "softmin")
} | {
    "norm": lambda lib, x, mask: lib.masked.norm(x, 2, (0, 1), keepdim=True, mask=mask),
    "normalize": lambda lib, x, mask: lib.masked.normalize(x, 2, 0, mask=mask),
    "logaddexp": lambda lib, x, mask: lib.masked.logaddexp(x, x, input_mask=mask, other_mask=mask ^ True),
}


@parametrized(MASKED)
def test_masked_reductions_leave_out_what_the_mask_does(call: Call) -> None:
    x = distinct(torch.float32)
    mask = torch.tensor([[1, 1, 0, 1, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [0, 1, 0, 1, 1]]).bool()
    assert_same(call(mindtorch, port(x, mindtorch), port(mask, mindtorch)), call(torch, x, mask))


REFUSED: dict[str, tuple[Call, type[Exception], str]] = {
    "no such dimension": (lambda x: x.sum(2), IndexError, r"range of \[-2, 1\], but got 2"),
    "a dimension twice": (lambda x: x.sum((0, -2)), RuntimeError, "dim 0 appears multiple times"),
    "mean of integers": (lambda x: x.long().mean(), RuntimeError, "or complex dtype. Got: Long"),
    "max of nothing": (lambda x: x[:0].max(), RuntimeError, r"max\(\): Expected reduction dim to be spec"),
    "max over nothing": (lambda x: x[:0].max(0), IndexError, r"max\(\): Expected reduction dim 0 to have"),
    "too many": (lambda x: x.topk(9), RuntimeError, "selected index k out of range"),
    "softmax of integers": (lambda x: x.long().softmax(0), NotImplementedError, "not implemented for 'Long'"),
    "a quantile above 1": (lambda x: x.quantile(1.5), RuntimeError, r"range \[0, 1\] but got 1.5"),
    "sort of complex numbers": (lambda x: x.cfloat().sort(), RuntimeError, "does not support complex"),
}


@pytest.mark.parametrize("call, error, message", REFUSED.values(), ids=REFUSED.keys())
def test_errors_name_what_is_wrong(call: Call, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(mindtorch.ones(3, 4))


def test_what_depends_on_data_has_no_shape_on_meta() -> None:
    x = mindtorch.ones(3, device="meta")
    for call in (x.nonzero, x.unique, x.unique_consecutive, x.long().bincount, lambda: x.equal(x)):
        with pytest.raises(NotImplementedError):
            call()


@pytest.mark.parametrize("dims", [[], (), [0], (0, 1)], ids=str)
@pytest.mark.parametrize("name", ["any", "all", "sum", "std", "amax"])
def test_a_second_call_with_the_same_dimensions_gives_the_same(name: str, dims: Any) -> None:
    for _ in range(3):
        both(lambda lib, x: getattr(lib, name)(x, dims), torch.tensor([[1.0, 0.0], [2.0, 3.0]]))


@pytest.mark.parametrize("shape", [(40,), (3, 40), (40, 7, 6)])
def test_logcumsumexp_of_complex_numbers_is_pytorchs_along_few_lines_and_many(shape) -> None:
    values = torch.randn(shape, dtype=torch.complex128, generator=torch.Generator().manual_seed(1)) * 3
    values.view(-1)[5] = float("-inf")
    for dim in range(len(shape)):
        ours = mindtorch.from_numpy(values.numpy()).logcumsumexp(dim)
        assert np.allclose(ours.numpy(), values.logcumsumexp(dim).numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape, dim", [((22, 23, 24), None), ((22, 23, 24), 2), ((22, 23, 24), (0, 2)), ((3, 700), 1),
                                        ((300, 5), 0), ((90_001,), 0), ((1, 1), None), ((4, 0), 1), ((0, 4), 1)])
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_sums_of_complex_numbers_add_both_parts_as_pytorch(name, shape, dim) -> None:
    values = torch.randn(shape, dtype=torch.complex64, generator=torch.Generator().manual_seed(1))
    if values.numel() > 1:
        values.view(-1)[1], values.view(-1)[-1] = complex(np.inf, 1), complex(-2, np.nan)
    mine = port(values, mindtorch)
    for x, y in ((mine, values), (mine.transpose(0, -1), values.transpose(0, -1))):
        for _ in range(3):
            found, expected = (getattr(lib, name)(t, dim, keepdim=True) for lib, t in ((mindtorch, x), (torch, y)))
            assert found.stride() == expected.stride()
            np.testing.assert_allclose(found.numpy().real, expected.numpy().real, 1e-4, 1e-4)
            np.testing.assert_allclose(found.numpy().imag, expected.numpy().imag, 1e-4, 1e-4)


def test_logaddexp_of_complex_numbers_keeps_what_is_not_a_number() -> None:
    inf, nan = float("inf"), float("nan")
    values = torch.tensor([complex(real, imag) for real in (-inf, 1, inf, nan) for imag in (0, 2, nan)])
    ours = port(values, mindtorch)
    assert_same(ours.logaddexp(ours[:, None]), values.logaddexp(values[:, None]))


@pytest.mark.parametrize(("scale", "turn", "is_quick"), [(1.0, 0.7, True), (20.0, 2.0, True), (0.0, 3.1, True),
                                                         (0.0, np.pi, False)])
def test_logcumsumexp_counts_the_turns_of_phases(scale: float, turn: float, is_quick: bool) -> None:
    values = torch.randn(200, 3, dtype=torch.float64) * scale + 1j * turn * torch.arange(200.0)[:, None].double()
    expected = values.logcumsumexp(0).numpy()
    found = values.numpy().copy()
    assert scan.by_sums(found) is is_quick
    assert not is_quick or np.allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert np.allclose(mindtorch.from_numpy(values.numpy()).logcumsumexp(0).numpy(), expected, rtol=1e-12, atol=1e-9)


def test_logcumsumexp_of_complex_numbers_far_apart_is_that_of_the_largest() -> None:
    values = mindtorch.tensor([0j, 2000 + 1j, -2000j, 2000 + 1j])
    assert np.allclose(values.logcumsumexp(0).numpy(), [0, 2000 + 1j, 2000 + 1j, 2000 + np.log(2) + 1j])


@pytest.mark.parametrize("columns", [1, 40])
def test_logcumsumexp_of_zeros_has_no_phase(columns: int) -> None:
    inf, nan = float("inf"), float("nan")
    for imaginary in ([inf, 1, 2], [3, -inf, nan], [nan, 1, 2], [1, 2, inf], [0, 3, 1]):
        column = torch.tensor([complex(-inf, phase) for phase in imaginary] + [2 + 1j], dtype=torch.complex64)
        values = column[:, None].repeat(1, columns)
        assert_same(port(values, mindtorch).logcumsumexp(0), values.logcumsumexp(0))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_the_logarithm_of_the_softmax_of_one_element_is_zero(dtype: str) -> None:
    x = mindtorch.tensor([[3.0], [-0.25], [1e-3]], dtype=getattr(mindtorch, dtype))
    for _ in range(2):
        assert x.log_softmax(1).tolist() == x.t().log_softmax(0).t().tolist() == [[0], [0], [0]]


@pytest.mark.parametrize("name, dtype", [("cumsum", "float32"), ("cumsum", "complex64"), ("logcumsumexp", "float32")])
@pytest.mark.parametrize("count", [3, 5000])
def test_a_running_sum_that_begins_with_minus_zero_begins_with_zero(name: str, dtype: str, count: int) -> None:
    values = torch.tensor([-0.0] * count, dtype=torch.float64).to(getattr(torch, dtype))
    first = [getattr(x, name)(0).numpy()[:1] for x in (values, port(values, mindtorch))]
    assert first[0].tobytes() == first[1].tobytes()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int64", "uint64"])
def test_unique_integers_at_both_ends_of_the_dtype(dtype: str) -> None:
    info = np.iinfo(dtype)
    near = np.array([info.max, info.max - 1, info.max - 2] * 200, dtype)
    apart = np.array([info.min, info.max] * (70_000 if dtype == "int16" else 300), dtype)
    for values in (near, apart):
        results = [lib.unique(lib.from_numpy(values), return_inverse=True, return_counts=True)
                   for lib in (mindtorch, torch)]
        assert_same(*results)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["max", "min", "amax", "amin", "aminmax"])
def test_extrema_of_half_precision_are_found_among_any_numbers(name: str, dtype: Any) -> None:
    x = torch.randn(100, generator=torch.Generator().manual_seed(1)).to(dtype)
    infinite = torch.cat([x, torch.tensor([torch.inf, -torch.inf])])
    for values in (x, x.abs(), -x.abs(), infinite, x.view(4, 25).t(), *[
            torch.cat([x, torch.tensor([nan])]) for nan in (torch.nan, -torch.nan)]):
        for _ in range(3):
            both(lambda lib, x: getattr(x, name)(), values.to(dtype))


@pytest.mark.parametrize("name", ["any", "all", "sum", "mean", "amax", "std"])
def test_a_call_that_is_made_again_gives_the_same_for_lists_and_tuples_without_dimensions(name: str) -> None:
    for dim in ([], (), [], (), [0], []):
        ours, theirs = (getattr(lib, name)(lib.arange(6.0).view(2, 3), dim) for lib in (mindtorch, torch))
        assert_same(ours, theirs)


FEW = {"ordinary": 1.0, "tiny": 1e-25, "huge": 1e25, "denormal": 1e-42, "of zeros": 0.0, "infinite": float("inf")}


@pytest.mark.parametrize("scale", FEW)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dim", [None, (), 0, -1, (0, 1), (1, 0), [-2], 2, (0, 0)])
@pytest.mark.parametrize("name", ["var", "std", "norm", "linalg.vector_norm"])
def test_few_numbers_of_any_size_vary_as_in_pytorch(name: str, dim: Any, dtype: str, scale: str) -> None:
    def outcome(lib: Any) -> Outcome:
        x = lib.tensor([[1.0, -2.0, 4.0, 0.5], [3.0, 1.0, 1.0, 2.0], [0.0, 1.0, -1.0, 7.0]], dtype=getattr(lib, dtype))
        function = attrgetter(name)(lib)
        return Outcome.of(lambda: [function(given * FEW[scale], dim=dim, keepdim=keepdim)
                                   for given in (x, x.t(), x[:1]) for keepdim in (False, True)])

    ours, theirs = outcome(mindtorch), outcome(torch)
    assert not (found := list(error_differences(ours, theirs))), found
    if theirs.error is None:
        assert_same(ours.value, theirs.value)


@pytest.mark.parametrize("weight", [0, 1, 0.25, 0.5, 0.75, -3, 1e30, float("nan"), float("inf"), True])
def test_lerp_takes_any_number(weight: float) -> None:
    values = [[1.0, float("inf"), float("nan"), -0.0], [2.0, float("inf"), 1.0, 0.0]]
    for dtype in ("float32", "float64"):
        ours, theirs = [lib.lerp(*lib.tensor(values, dtype=getattr(lib, dtype)), weight) for lib in (mindtorch, torch)]
        assert_same(ours, theirs)


OF_FEW: list[Callable[[Any, Any], Any]] = [
    lambda t, x: x.max(), lambda t, x: x.min(), lambda t, x: x.prod(), lambda t, x: x.sum(), lambda t, x: x.argmax(),
    lambda t, x: x.argmin(keepdim=True), lambda t, x: x.prod(dtype=t.float64), lambda t, x: x.sum(dtype=t.float64),
    lambda t, x: x.cumsum(0), lambda t, x: x.cumprod(-1), lambda t, x: x.cumsum(5),
    lambda t, x: x.cumsum(0, dtype=t.int32),
    *(lambda t, x, name=name, dim=dim, keepdim=keepdim: getattr(t, name)(x, dim, keepdim)
      for name in ("max", "min", "amax", "amin", "prod", "sum", "argmax", "argmin", "all", "any", "median")
      for dim in (0, -1, 1, -2, 3) for keepdim in (False, True)),
    *(lambda t, x, name=name, dim=dim: getattr(t, name)(x, dim)
      for name in ("amax", "amin", "sum") for dim in ((), (0, 1), (1, 0), (0, 0), (0, 5))),
]
NUMBERS = [[[3.0, 1.0, 3.0], [1.0, 3.0, 1.0]], [[0.0, -0.0], [-0.0, 0.0]], [[float("nan"), 1.0], [2.0, float("nan")]],
           [1.0, 5.0, 5.0], 2.0, [], [[1, 3, 3], [3, 1, 1]], [4, 2, 4], 3, [[True, False], [True, True]],
           [[[1.0, 2.0], [4.0, 3.0]], [[8.0, 5.0], [6.0, 7.0]]]]


@pytest.mark.parametrize("numbers", NUMBERS, ids=repr)
def test_few_numbers_are_reduced_to_pytorchs_values_places_and_layouts(numbers: Any) -> None:
    for call in OF_FEW:
        for view in (lambda x: x, lambda x: x.mT if x.dim() > 1 else x[::2] if x.dim() else x):
            ours, theirs = (attempt(call, lib, view(lib.tensor(numbers))) for lib in (mindtorch, torch))
            if isinstance(theirs, type):
                assert ours is theirs
            else:
                assert_same(ours, theirs)


def attempt(call: Callable[[Any, Any], Any], lib: Any, x: Any) -> Any:
    """Return the result of a call, or the class of its error."""
    try:
        return call(lib, x)
    except (IndexError, NotImplementedError, RuntimeError) as error:
        return type(error)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int32", "bool"])
@pytest.mark.parametrize("name", ["amax", "amin", "max", "min", "count_nonzero", "aminmax", "var", "std_mean"])
def test_few_numbers_of_any_dtype_are_reduced_as_they_are(name: str, dtype: str) -> None:
    some = torch.tensor([[0.0, 4.0, 3], [-2, 7, 1]])
    for numbers in (some, some.T, some[:1, 2:], some[0, 0], some / 0):
        for settings_ in ({}, {"dim": -1}):
            for _ in range(4):
                assert_same_outcome(lambda lib, x=numbers, chosen=settings_: getattr(lib, name)(
                    port(x.nan_to_num(5, 9, -9) if dtype == "int32" else x, lib).to(getattr(lib, dtype)), **chosen))
