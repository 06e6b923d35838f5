"""Random numbers are PyTorch's: equal generators draw equal sequences and end in equal states.

The samplers are checked on arrays: integers, masks and uniforms bit for bit, what a transcendental function
has gone through to one unit in the last place. (Without AVX2 PyTorch itself draws other normals.)
"""

from __future__ import annotations

import copy
import pickle
import threading
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest

import mindtorch
from mindtorch._backends import random as _random
from mindtorch._backends.random import Generator, integers, numerics, rejection, sampling
from mindtorch._backends.random.laws import draw
from tests.both import assert_same_outcome
from tests.support import torch

SIZES = (1, 2, 3, 15, 16, 17, 31, 100, 1000, 4097, 99_999, 100_000)
SEEDS = (0, 2**63 + 12345)
FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
ALL = (*FLOATS, *INTEGERS, "bool")

Sampler = Callable[[Generator, int, np.dtype], np.ndarray]
Theirs = Callable[[torch.Tensor, torch.Generator], torch.Tensor]


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def array(tensor: torch.Tensor) -> np.ndarray:
    if tensor.dtype is torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def pair(seed: int) -> tuple[Generator, torch.Generator]:
    """Make a generator of each library, equally seeded."""
    return Generator().manual_seed(seed), torch.Generator().manual_seed(seed)


def ulps(a: np.ndarray, b: np.ndarray) -> int:
    """Return the largest distance of two float arrays in units in the last place (0 and -0 are one number)."""
    bits = [x.view(f"i{x.itemsize}").astype(np.int64) for x in (a, b)]
    lowest = -(2 ** (8 * a.itemsize - 1))
    ordered = [np.where(x < 0, lowest - x, x) for x in bits]
    return int(np.abs(ordered[0] - ordered[1]).max(initial=0))


def assert_equal(ours: np.ndarray, theirs: torch.Tensor, within_ulps: int = 0) -> None:
    expected = array(theirs)
    assert ours.dtype == expected.dtype
    assert ours.shape == expected.shape
    if within_ulps:
        assert ulps(ours, expected) <= within_ulps
    else:
        np.testing.assert_array_equal(ours, expected)


def assert_same_state(ours: Generator, theirs: torch.Generator) -> None:
    np.testing.assert_array_equal(ours.get_state().numpy(), theirs.get_state().numpy())


def strided(like: torch.Tensor) -> torch.Tensor:
    return torch.empty(2 * like.numel(), dtype=like.dtype)[::2]


# One row a sampler: name, ours, PyTorch's, dtypes, and by how many units in the last place they may differ.
SAMPLERS: list[tuple[str, Sampler, Theirs, tuple[str, ...], int]] = [
    ("uniform_", lambda g, n, d: draw(g, n, sampling.uniform(d)), lambda t, g: t.uniform_(generator=g), FLOATS, 0),
    ("uniform_(-.3, 1.7)", lambda g, n, d: draw(g, n, sampling.uniform(d, -0.3, 1.7)),
     lambda t, g: t.uniform_(-0.3, 1.7, generator=g), FLOATS, 0),
    ("uniform_(100.3, 101.7)", lambda g, n, d: draw(g, n, sampling.uniform(d, 100.3, 101.7)),
     lambda t, g: t.uniform_(100.3, 101.7, generator=g), FLOATS, 0),
    ("normal_", lambda g, n, d: sampling.normal(g, n, d), lambda t, g: t.normal_(generator=g), FLOATS, 1),
    ("normal_(1.3, 0.7)", lambda g, n, d: sampling.normal(g, n, d, 1.3, 0.7),
     lambda t, g: t.normal_(1.3, 0.7, generator=g), FLOATS, 1),
    ("normal_ strided", lambda g, n, d: sampling.normal(g, n, d, 1.3, 0.7, contiguous=n == 1),
     lambda t, g: strided(t).normal_(1.3, 0.7, generator=g), FLOATS, 1),
    ("log_normal_", lambda g, n, d: sampling.log_normal(g, n, d, 0.5, 1.5),
     lambda t, g: t.log_normal_(0.5, 1.5, generator=g), FLOATS, 1),
    ("log_normal_ overflowing", lambda g, n, d: sampling.log_normal(g, n, d, 300, 400),
     lambda t, g: t.log_normal_(300, 400, generator=g), FLOATS, 1),
    ("exponential_", lambda g, n, d: draw(g, n, sampling.exponential(d, 1.7)),
     lambda t, g: t.exponential_(1.7, generator=g), FLOATS, 1),
    ("cauchy_", lambda g, n, d: draw(g, n, sampling.cauchy(d, 0.3, 1.7)),
     lambda t, g: t.cauchy_(0.3, 1.7, generator=g), FLOATS, 1),
    ("geometric_(0.3)", lambda g, n, d: draw(g, n, sampling.geometric(d, 0.3)),
     lambda t, g: t.geometric_(0.3, generator=g), FLOATS + INTEGERS, 0),
    ("geometric_(1e-8)", lambda g, n, d: draw(g, n, sampling.geometric(d, 1e-8)),
     lambda t, g: t.geometric_(1e-8, generator=g), FLOATS + INTEGERS, 0),
    ("bernoulli_(0.3)", lambda g, n, d: draw(g, n, sampling.bernoulli(0.3)).astype(d),
     lambda t, g: t.bernoulli_(0.3, generator=g), ALL, 0),
    ("random_", lambda g, n, d: draw(g, n, integers.random(d)), lambda t, g: t.random_(generator=g), ALL, 0),
]
CASES = [pytest.param(ours, theirs, dtype, within_ulps, id=f"{name}-{dtype}")
         for name, ours, theirs, dtypes, within_ulps in SAMPLERS for dtype in dtypes]


@pytest.mark.parametrize("ours, theirs, dtype, within_ulps", CASES)
def test_sampler_draws_pytorchs_sequence(ours: Sampler, theirs: Theirs, dtype: str, within_ulps: int) -> None:
    for seed in SEEDS:
        g, h = pair(seed)
        for n in SIZES:
            expected = theirs(torch.empty(n, dtype=getattr(torch, dtype)), h)
            assert_equal(ours(g, n, numpy_dtype(dtype)), expected, within_ulps)
            assert_same_state(g, h)


@pytest.mark.parametrize("seed", range(5))
def test_samplers_may_follow_each_other_in_any_order(seed: int) -> None:
    g, h = pair(seed)
    choice = np.random.RandomState(seed)
    for _ in range(200):
        ours, theirs, dtype, within_ulps = cast(Any, CASES[choice.randint(len(CASES))].values)
        n = int(2 ** choice.uniform(0, 10))
        expected = theirs(torch.empty(n, dtype=getattr(torch, dtype)), h)
        assert_equal(ours(g, n, numpy_dtype(dtype)), expected, within_ulps)
    assert_same_state(g, h)


@pytest.mark.parametrize("low, high, dtypes", [
    (0, 1, ALL),
    (0, 2, ALL),
    (-5, 100, (*FLOATS, "int8", "int16", "int32", "int64")),
    (3, None, FLOATS + INTEGERS),
    (-100, None, (*FLOATS, "int8", "int16", "int32", "int64")),
    (0, 2**28 - 1, ("bfloat16", "float32", "float64", "int32", "int64")),
    (0, 2**28, ("bfloat16", "float32", "float64", "int32", "int64")),
    (-(2**31), 2**31 - 1, ("bfloat16", "float32", "float64", "int32", "int64")),
    (-3000, 65504, ("float16", "float32", "int32")),
    (-65504, 2049, ("float16", "bfloat16")),
    (-(2**24) - 1, 2**24 + 3, ("bfloat16", "float32", "float64")),
    (2**40 + 1, 2**40 + 100_003, ("float64", "int64")),
    (-(2**63), 2**63 - 1, ("bfloat16", "float32", "float64", "int64")),
    (-(2**63) + 1, None, ("float32", "int64")),
    (-(2**63), None, ("bfloat16", "float32", "float64", "int64")),
])
def test_random_from_to_draws_pytorchs_integers(low: int, high: int | None, dtypes: tuple[str, ...]) -> None:
    for dtype in dtypes:
        g, h = pair(3)
        for n in (1, 2, 17, 1000, 100_000):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                expected = torch.empty(n, dtype=getattr(torch, dtype)).random_(low, high, generator=h)
                theirs = len(caught)
                ours = draw(g, n, integers.random_from_to(numpy_dtype(dtype), low, high))
            assert_equal(ours, expected)
            assert len(caught) == 2 * theirs, "as many warnings of lost precision as PyTorch's"
            assert_same_state(g, h)


@pytest.mark.parametrize("dtype, sizes", [
    *((name, (0, 1, 2, 17, 1000, 100_000)) for name in ("int32", "int64", "float32", "float64")),
    ("bfloat16", (0, 1, 300)), ("float16", (1, 2049)), ("int8", (1, 128)), ("uint8", (2, 256)),
    ("int16", (1, 32768)),
])
def test_randperm_makes_pytorchs_exchanges(dtype: str, sizes: tuple[int, ...]) -> None:
    g, h = pair(5)
    for n in sizes:
        expected = torch.randperm(n, dtype=getattr(torch, dtype), generator=h)
        assert_equal(integers.randperm(g, n, numpy_dtype(dtype)), expected)
        assert_same_state(g, h)


@pytest.mark.parametrize("count", [1, 7, 100])
def test_small_complex_numbers_are_pairs_too(count: int) -> None:
    drawn = []
    for lib in mindtorch, torch:
        lib.manual_seed(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            drawn.append([lib.rand(count, dtype=lib.complex32).cfloat().tolist(), lib.randn(
                count, dtype=lib.complex32).cfloat().tolist()])
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("dtype", FLOATS)
def test_bernoulli_of_a_tensor_draws_as_many_bits_as_its_dtype_asks_for(dtype: str) -> None:
    g, h = pair(7)
    for n in SIZES:
        p = torch.rand(n).to(getattr(torch, dtype))
        expected = torch.empty(n, dtype=torch.bool).bernoulli_(p, generator=h)
        assert_equal(sampling.bernoulli_tensor(g, array(p)), expected)
        assert_same_state(g, h)


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 1.0])
def test_dropout_is_a_bernoulli_mask(p: float) -> None:
    g, h = Generator().manual_seed(9), torch.manual_seed(9)
    for n in (1, 17, 100_000):
        mask = torch.nn.functional.dropout(torch.ones(n), p) != 0
        assert_equal(draw(g, n, sampling.bernoulli(1 - p)) if 0 < p < 1 else np.full(n, p == 0), mask)
    assert_same_state(g, h)


@pytest.mark.parametrize("dtype, real", [("complex64", "float32"), ("complex128", "float64")])
def test_complex_numbers_are_pairs_of_real_ones(dtype: str, real: str) -> None:
    g, h = pair(11)
    for n in (1, 7, 8, 9, 100, 50_000):
        uniform = draw(g, 2 * n, sampling.uniform(np.dtype(real))).view(dtype)
        assert_equal(uniform, torch.rand(n, dtype=getattr(torch, dtype), generator=h))
        normal = sampling.normal(g, 2 * n, np.dtype(real), 0.0, 1 / np.sqrt(2))
        expected = torch.view_as_real(torch.randn(n, dtype=getattr(torch, dtype), generator=h)).flatten()
        assert_equal(normal, expected, within_ulps=1)
        assert_same_state(g, h)


@pytest.mark.parametrize("dtype", FLOATS)
def test_multinomial_with_replacement_searches_the_cumulative_distribution(dtype: str) -> None:
    g, h = pair(13)
    for rows, categories, n in ((1, 1, 2), (1, 5, 100_000), (3, 1000, 1000), (40, 7, 2)):
        p = torch.rand(rows, categories).to(getattr(torch, dtype))
        p[:, ::3] *= p[:, ::3] > 0.5
        p[:, -1] += 0.1
        expected = torch.multinomial(p, n, replacement=True, generator=h)
        assert_equal(sampling.multinomial(g, array(p), n, replacement=True), expected)
        assert_same_state(g, h)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_multinomial_without_replacement_takes_the_largest_keys(dtype: str) -> None:
    g, h = pair(15)
    sizes = ((1, 1, 1), (1, 5, 5), (3, 1000, 10), (3, 1000, 1000), (40, 7, 1), (1, 100_000, 1000))
    for rows, categories, n in sizes:
        p = torch.rand(rows, categories, dtype=getattr(torch, dtype))
        expected = torch.multinomial(p, n, generator=h)
        assert_equal(sampling.multinomial(g, array(p), n, replacement=False), expected)
        assert_same_state(g, h)


def test_multinomial_draws_single_samples_alike_with_and_without_replacement() -> None:
    g, h = pair(17)
    p = torch.rand(4, 6)
    assert_equal(sampling.multinomial(g, p.numpy(), 1, True), torch.multinomial(p, 1, True, generator=h))
    assert_same_state(g, h)


@pytest.mark.parametrize("replacement", [False, True])
def test_multinomial_of_no_rows_draws_nothing(replacement: bool) -> None:
    assert_same_outcome(lambda lib: lib.multinomial(lib.zeros(0, 3), 2, replacement))


def test_multinomial_draws_keys_in_the_order_of_memory() -> None:
    g, h = pair(19)
    p = torch.rand(6, 4).t()
    assert_equal(sampling.multinomial(g, p.numpy(), 3, False), torch.multinomial(p, 3, generator=h))
    assert_same_state(g, h)


@pytest.mark.parametrize("dtype", FLOATS)
def test_poisson_rejects_as_pytorch_does(dtype: str) -> None:
    g, h = pair(21)
    for n in (1, 10, 5000):
        rates = (torch.rand(n) * 30).to(getattr(torch, dtype))
        rates[::7] = 0
        rates[1::11] = 1000
        rates[2::13] = 1e15 if torch.finfo(rates.dtype).max > 1e15 else 10  # where the rounding of lgamma decides
        assert_equal(rejection.poisson(g, array(rates)), torch.poisson(rates, generator=h))
        assert_same_state(g, h)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [10, 100, 100_000])
def test_binomial_rejects_as_pytorch_does(count: int, dtype: str) -> None:
    g, h = pair(23)
    for n in (1, 10, 2000):
        counts = torch.full((n,), count, dtype=getattr(torch, dtype))
        p = torch.rand(n, dtype=counts.dtype)
        p[::5] /= count
        p[1::50] = torch.nan
        p[2::50], p[3::50] = 0, 1
        assert_equal(rejection.binomial(g, counts.numpy(), p.numpy()), torch.binomial(counts, p, generator=h))
        assert_same_state(g, h)


@pytest.mark.parametrize("view", [
    lambda t: t,
    lambda t: t.transpose(0, 2),
    lambda t: t.permute(1, 2, 0),
    lambda t: t[:, ::2],
    lambda t: t[1:, 1:, 1:].permute(2, 0, 1),
    lambda t: t.unsqueeze(1).transpose(0, 1),
    lambda t: t[2, 3, 4],
    lambda t: t[:, :0],
], ids=["contiguous", "transposed", "permuted", "sliced", "offset", "of size 1", "0-d", "empty"])
def test_outputs_are_filled_in_the_order_of_memory(view: Callable[[Any], Any]) -> None:
    g, h = pair(25)
    theirs = torch.zeros(4, 6, 8)
    ours = theirs.numpy().copy()
    view(theirs).uniform_(generator=h)
    out = np.lib.stride_tricks.as_strided(ours, view(theirs).shape, [4 * s for s in view(theirs).stride()])
    offset = view(theirs).storage_offset()
    out = np.ndarray(out.shape, np.float32, ours, 4 * offset, out.strides) if out.size else out
    sampling.fill(out, partial(draw, g, out.size, sampling.uniform(out.dtype)))
    assert_equal(ours, theirs)


# -- generators ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2**32, 2**32 + 1, 2**64 - 1, -1, -(2**63)])
def test_equal_seeds_give_equal_states(seed: int) -> None:
    g, h = pair(seed)
    assert g.initial_seed() == h.initial_seed()
    assert_same_state(g, h)


def test_a_new_generator_has_pytorchs_default_seed() -> None:
    assert_same_state(Generator(), torch.Generator())


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1, 1.5, True, "1", None])
def test_manual_seed_refuses_what_pytorch_refuses(seed: Any) -> None:
    with pytest.raises((RuntimeError, ValueError)) as expected:
        torch.Generator().manual_seed(seed)
    with pytest.raises(expected.type, match="manual_seed expected"):
        Generator().manual_seed(seed)


def test_seed_is_taken_from_the_operating_system_and_returned() -> None:
    g = Generator()
    seeds = {g.seed() for _ in range(4)}
    assert len(seeds) == 4
    assert g.initial_seed() in seeds


def test_seeding_forgets_the_normal_that_was_kept() -> None:
    g, h = pair(1)
    sampling.normal(g, 1, np.dtype("float32"))
    torch.randn(1, generator=h)
    assert g.next_normal is not None
    g.manual_seed(2)
    h.manual_seed(2)
    assert_same_state(g, h)


@pytest.mark.parametrize("drawn", [0, 1, 622, 623, 624, 625, 1248, 1249])
def test_states_of_either_library_continue_in_the_other(drawn: int) -> None:
    g, h = pair(31)
    g.random(drawn)
    torch.empty(drawn, dtype=torch.int32).random_(generator=h)
    for n in (1, 4, 16):  # 1 and 4 leave a normal behind in turn
        expected = torch.randn(n, dtype=torch.float64, generator=h)
        assert_equal(sampling.normal(g, n, np.dtype("float64")), expected, within_ulps=1)
        assert_same_state(g, h)
        from_torch, from_ours = Generator(), torch.Generator()
        from_torch._set_state_array(h.get_state().numpy())
        from_ours.set_state(torch.from_numpy(g._get_state_array()))
        assert_same_state(from_torch, from_ours)
        assert from_torch.initial_seed() == from_ours.initial_seed() == 31
        assert_equal(sampling.normal(from_torch, 1, np.dtype("float64")),
                     torch.randn(1, dtype=torch.float64, generator=from_ours), within_ulps=1)


@pytest.mark.parametrize("seed", range(4))
def test_that_few_numbers_are_computed_ahead_shows_neither_in_other_draws_nor_in_the_state(seed: int) -> None:
    g, h = pair(seed)
    chosen = np.random.default_rng(seed)
    for _ in range(300):
        n = int(chosen.choice([1, 2, 3, 8, 15, 16, 17, 32, 100, 128, 155, 156, 157, 311, 312, 313, 624, 650]))
        kind = chosen.integers(10)
        if kind == 0:
            assert_equal(draw(g, n, sampling.uniform(np.dtype("float32"))), torch.rand(n, generator=h))
        elif kind == 4:
            assert_equal(draw(g, n, sampling.uniform(np.dtype("float64"))),
                         torch.rand(n, dtype=torch.float64, generator=h))
        elif kind == 5:
            assert_equal(draw(g, n, integers.random(np.dtype("int32"))),
                         torch.empty(n, dtype=torch.int32).random_(generator=h))
        elif kind == 6:
            rate = float(chosen.choice([0.5, 2.0]))
            assert_equal(draw(g, n, sampling.exponential(np.dtype("float32"), rate)),
                         torch.empty(n).exponential_(rate, generator=h), within_ulps=1)
        elif kind == 7:
            assert_equal(draw(g, n, sampling.bernoulli(0.25)),
                         torch.empty(n, dtype=torch.bool).bernoulli_(0.25, generator=h))
        elif kind == 8:
            most = int(chosen.choice([10, 2**40]))
            assert_equal(draw(g, n, integers.random_from_to(np.dtype("int64"), 3, most)),
                         torch.empty(n, dtype=torch.int64).random_(3, most, generator=h))
        elif kind == 9:
            assert_equal(sampling.normal(g, n, np.dtype("float32"), 0.0, 0.25),
                         torch.empty(n).normal_(0.0, 0.25, generator=h), within_ulps=1)
        elif kind == 1:
            assert_equal(sampling.normal(g, n, np.dtype("float64"), 2.0, 3.0),
                         torch.empty(n, dtype=torch.float64).normal_(2.0, 3.0, generator=h), within_ulps=1)
        elif kind == 2:
            assert_equal(sampling.normal(g, n, np.dtype("float32")), torch.randn(n, generator=h), within_ulps=1)
        else:
            assert_same_state(g, h)
            g._set_state_array(h.get_state().numpy())


@pytest.mark.parametrize("drawn", [0, 8, 620, 624])
def test_a_draw_that_is_interrupted_leaves_the_words_that_come_next(
        drawn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    g, h = pair(5)
    for _ in range(drawn // 4):
        assert_equal(draw(g, 4, sampling.uniform(np.dtype("float32"))), torch.rand(4, generator=h))

    def interrupt(self: Generator) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Generator, "_mt19937", interrupt)
        try:
            draw(g, 4, sampling.uniform(np.dtype("float32")))
        except KeyboardInterrupt:
            assert drawn in (0, 624)  # where no word of the state is left
        else:
            torch.rand(4, generator=h)
    for n in (4, 30, 700, 3):
        assert_equal(draw(g, n, sampling.uniform(np.dtype("float32"))), torch.rand(n, generator=h))


def test_pytorchs_kept_float_normal_survives() -> None:
    state = torch.Generator().get_state()
    state[5048:5052] = torch.from_numpy(np.array([0.25], np.float32).view(np.uint8))
    state[5052] = 1
    g = Generator()
    g._set_state_array(state.numpy())
    np.testing.assert_array_equal(g._get_state_array(), state.numpy())


def test_a_state_is_a_snapshot() -> None:
    g = Generator()
    state = g.get_state()
    first = g.random(700)
    assert g.set_state(state) is g
    np.testing.assert_array_equal(g.random(700), first)


@pytest.mark.parametrize("duplicate", [
    Generator.clone_state, copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g)),
], ids=["clone_state", "copy", "deepcopy", "pickle"])
def test_a_copy_continues_independently(duplicate: Callable[[Generator], Generator]) -> None:
    g = Generator().manual_seed(33)
    sampling.normal(g, 3, np.dtype("float32"))
    other = duplicate(g)
    assert other.initial_seed() == 33
    expected = sampling.normal(g, 5, np.dtype("float32"))
    np.testing.assert_array_equal(sampling.normal(other, 5, np.dtype("float32")), expected)


@pytest.mark.parametrize("state", [
    torch.zeros(5056, dtype=torch.uint8),
    torch.zeros(50, dtype=torch.uint8),
    torch.Generator().get_state().index_fill(0, torch.arange(8, 16), 255),
    torch.Generator().get_state().index_fill(0, torch.tensor([9]), 3),
], ids=["not seeded", "short", "negative left", "left too large"])
def test_invalid_states_are_refused_and_change_nothing(state: torch.Tensor) -> None:
    g = Generator()
    before = g._get_state_array()
    with pytest.raises(RuntimeError):
        torch.Generator().set_state(state)
    with pytest.raises(RuntimeError, match=r"Invalid mt19937 state|CPUGeneratorImplState"):
        g._set_state_array(state.numpy())
    np.testing.assert_array_equal(g._get_state_array(), before)


@pytest.mark.parametrize("state", [3, None, np.zeros(5056, np.uint8)])
def test_set_state_takes_tensors_only(state: Any) -> None:
    with pytest.raises(TypeError):
        torch.Generator().set_state(state)
    with pytest.raises(TypeError, match="ByteTensor"):
        Generator().set_state(state)


@pytest.mark.parametrize("device", ["meta", "nowhere", "cpu:x"])
def test_other_devices_have_no_generator(device: str) -> None:
    with pytest.raises(RuntimeError):
        torch.Generator(device)
    with pytest.raises(RuntimeError):
        Generator(device)


def test_generators_live_on_the_cpu() -> None:
    assert str(Generator().device) == str(Generator("cpu").device) == str(torch.Generator().device)


def test_threads_share_one_sequence() -> None:
    g = Generator().manual_seed(35)
    expected = sampling.normal(g, 2000, np.dtype("float64"), contiguous=False)
    g.manual_seed(35)
    drawn: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: drawn.extend(
        sampling.normal(g, 5, np.dtype("float64")) for _ in range(100))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(np.sort(np.concatenate(drawn)), np.sort(expected))


@pytest.mark.parametrize("before", [0, 609, 623])
@pytest.mark.parametrize("used", [0, 1, 7, 8, 9, 20])
def test_words_that_are_supplied_but_not_used_are_left(used: int, before: int) -> None:
    g, h, drawn = Generator(), Generator(), []
    assert g.random(before).tolist() == h.random(before).tolist()

    def take(words: np.ndarray) -> tuple[int, int]:
        """Use three words at a time."""
        left = used - len(drawn)
        now = left if len(words) >= left else len(words) // 3 * 3
        drawn.extend(words[:now].tolist())
        return now, left - now

    g.supply(take, used, 8)
    assert drawn == h.random64(used).tolist()
    np.testing.assert_array_equal(g._get_state_array(), h._get_state_array())


# -- the default generator ----------------------------------------------------------------------------------


def test_the_default_generator_is_seeded_as_pytorchs() -> None:
    assert _random.manual_seed(37.9) is _random.default_generator
    assert _random.initial_seed() == torch.manual_seed(37.9).initial_seed() == 37
    np.testing.assert_array_equal(_random.get_rng_state().numpy(), torch.get_rng_state().numpy())
    assert _random.seed() == _random.initial_seed() != 37


def test_rng_state_is_set_and_forked() -> None:
    _random.manual_seed(39)
    state = _random.get_rng_state()
    with _random.fork_rng():
        forked = _random.default_generator.random(3)
    with _random.fork_rng(enabled=False):
        np.testing.assert_array_equal(_random.default_generator.random(3), forked)
    assert not np.array_equal(_random.default_generator.random(3), forked)
    _random.set_rng_state(state)
    np.testing.assert_array_equal(_random.default_generator.random(3), forked)


# -- parameters and rounding --------------------------------------------------------------------------------


F16, F32, I8 = np.dtype("float16"), np.dtype("float32"), np.dtype("int8")
NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("ours, theirs", [
    (lambda g: draw(g, 1, sampling.uniform(F32, 2, 1)), lambda t: t.uniform_(2, 1)),
    (lambda g: draw(g, 1, sampling.uniform(F32, -INF, 1)), lambda t: t.uniform_(-INF, 1)),
    (lambda g: draw(g, 1, sampling.uniform(F32, 0, NAN)), lambda t: t.uniform_(0, NAN)),
    (lambda g: draw(g, 1, sampling.uniform(F32, -3e38, 3e38)), lambda t: t.uniform_(-3e38, 3e38)),
    (lambda g: sampling.normal(g, 1, F32, 0, -1), lambda t: t.normal_(0, -1)),
    (lambda g: sampling.normal(g, 1, F32, 0, NAN), lambda t: t.normal_(0, NAN)),
    (lambda g: sampling.log_normal(g, 1, F32, 0, 0), lambda t: t.log_normal_(0, 0)),
    (lambda g: draw(g, 1, sampling.exponential(F32, 0)), lambda t: t.exponential_(0)),
    (lambda g: draw(g, 1, sampling.cauchy(F32, 0, 0)), lambda t: t.cauchy_(0, 0)),
    (lambda g: draw(g, 1, sampling.geometric(F32, 0)), lambda t: t.geometric_(0)),
    (lambda g: draw(g, 1, sampling.geometric(F32, 1)), lambda t: t.geometric_(1)),
    (lambda g: draw(g, 1, sampling.bernoulli(1.5)), lambda t: t.bernoulli_(1.5)),
    (lambda g: draw(g, 1, sampling.bernoulli(NAN)), lambda t: t.bernoulli_(NAN)),
    (lambda g: sampling.bernoulli_tensor(g, np.array([-0.5])), lambda t: t.bernoulli_(torch.tensor([-0.5]))),
    (lambda g: draw(g, 1, integers.random_from_to(F32, 5, 5)), lambda t: t.random_(5, 5)),
    (lambda g: draw(g, 1, integers.random_from_to(F32, 2**24, None)), lambda t: t.random_(2**24, None)),
    (lambda g: draw(g, 1, integers.random_from_to(F32, 2**40 + 1, 2**40 + 9)),
     lambda t: t.random_(2**40 + 1, 2**40 + 9)),
    (lambda g: draw(g, 1, integers.random_from_to(F16, 0, 70000)), lambda t: t.half().random_(0, 70000)),
    (lambda g: draw(g, 1, integers.random_from_to(I8, 0, 300)), lambda t: t.char().random_(0, 300)),
    (lambda g: draw(g, 1, integers.random_from_to(I8, 200, None)), lambda t: t.char().random_(200, None)),
    (lambda g: draw(g, 1, integers.random_from_to(I8, -(2**63), None)), lambda t: t.char().random_(-(2**63), None)),
    (lambda g: draw(g, 1, integers.random_from_to(np.dtype(bool), 0, 3)), lambda t: t.bool().random_(0, 3)),
    (lambda g: integers.randperm(g, 2050, F16), lambda t: torch.randperm(2050, dtype=torch.half)),
    (lambda g: integers.randperm(g, 129, I8), lambda t: torch.randperm(129, dtype=torch.int8)),
    (lambda g: rejection.poisson(g, np.array([-1.0])), lambda t: torch.poisson(torch.tensor([-1.0]))),
    (lambda g: sampling.multinomial(g, np.array([[1, -1.0]]), 1, False), lambda t: (t - 1).multinomial(1)),
    (lambda g: sampling.multinomial(g, np.array([[1, INF]]), 2, True),
     lambda t: (t + INF).multinomial(2, True)),
    (lambda g: sampling.multinomial(g, np.array([[0, 0.0]]), 1, False), lambda t: t.multinomial(1)),
])
def test_parameters_out_of_range_are_refused(ours: Callable[[Generator], Any],
                                             theirs: Callable[[torch.Tensor], Any]) -> None:
    with pytest.raises(RuntimeError):
        theirs(torch.zeros(1))
    with pytest.raises(RuntimeError):
        ours(Generator())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_affine_rounds_once(dtype: type[np.floating]) -> None:
    random = np.random.RandomState(41)
    x = random.random_sample(2000).astype(dtype)
    for scale, shift in ((0.7, -0.35), (1 / 3, 1e6), (1e-3, 0.1), (3.0, -1.0), (1.0, 1e-20), (1e30, 7.0)):
        scale, shift = dtype(scale), dtype(shift)
        for value, result in zip(x, numerics.affine(x, scale, shift), strict=True):
            exact = Fraction(float(value)) * Fraction(float(scale)) + Fraction(float(shift))
            error = abs(Fraction(float(result)) - exact)
            for neighbour in (np.nextafter(result, dtype(-np.inf)), np.nextafter(result, dtype(np.inf))):
                assert error <= abs(Fraction(float(neighbour)) - exact)
