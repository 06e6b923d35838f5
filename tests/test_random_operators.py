"""Seeded sequences of the tensor library are PyTorch's: factories, in-place operators, samples of
distributions, dropout.

Each call is written once and runs in both libraries, which must then agree in the result (integers, masks and
uniforms bit for bit, the rest to one unit in the last place), in its metadata, and in the state of the
generator.
"""

from __future__ import annotations

import math
import random
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch
from tests.support import Outcome, assert_same, error_differences, torch

SIZES = (1, 2, 15, 16, 17, 100, 4097, 100_000)
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
REAL = (*FLOATS, *INTEGERS, "bool")
ULP = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}

Call = Callable[[Any, int, Any, Any], Any]  # of library, size, dtype, generator


def probabilities(lib: Any, n: int, dtype: Any) -> Any:
    return (lib.arange(n) % 97 / 97).to(dtype)


def rates(lib: Any, n: int, dtype: Any) -> Any:
    return (lib.arange(n) % 31).to(dtype)


FLOATS_AND_INTEGERS, NUMBERS = (*FLOATS, *INTEGERS), (*FLOATS, *COMPLEX)
EXACT, ROUNDED = False, True  # whether a transcendental function is involved
LARGE, MEDIUM = 100_000, 4097  # the largest size

# One row per call: name, dtypes, how it compares, the largest size, call.
CALLS: list[tuple[str, tuple[str, ...], bool, int, Call]] = [
    ("rand", NUMBERS, EXACT, LARGE, lambda lib, n, d, g: lib.rand(n, dtype=d, generator=g)),
    ("randn", NUMBERS, ROUNDED, LARGE, lambda lib, n, d, g: lib.randn(n, dtype=d, generator=g)),
    ("randint", FLOATS_AND_INTEGERS, EXACT, LARGE,
     lambda lib, n, d, g: lib.randint(100, (n,), dtype=d, generator=g)),
    ("randint of a wide range", ("float64", "int64"), EXACT, LARGE,
     lambda lib, n, d, g: lib.randint(-(2**40), 2**41, (n,), dtype=d, generator=g)),
    ("randperm", ("float32", "int32", "int64"), EXACT, LARGE,
     lambda lib, n, d, g: lib.randperm(n, dtype=d, generator=g)),
    ("normal of numbers", FLOATS, ROUNDED, LARGE,
     lambda lib, n, d, g: lib.normal(1.5, 0.5, (n,), dtype=d, generator=g)),
    ("normal of means", FLOATS, ROUNDED, MEDIUM,
     lambda lib, n, d, g: lib.normal(rates(lib, n, d), 0.5, generator=g)),
    ("normal of deviations", FLOATS, ROUNDED, MEDIUM,
     lambda lib, n, d, g: lib.normal(1.5, rates(lib, n, d), generator=g)),
    ("normal of both", FLOATS, ROUNDED, MEDIUM,
     lambda lib, n, d, g: lib.normal(rates(lib, n, d), probabilities(lib, n, d), generator=g)),
    ("rand_like", FLOATS, EXACT, MEDIUM,
     lambda lib, n, d, g: lib.rand_like(lib.empty(n, dtype=d), generator=g)),
    ("randn_like", FLOATS, ROUNDED, MEDIUM,
     lambda lib, n, d, g: lib.randn_like(lib.empty(n, dtype=d), generator=g)),
    ("randint_like", FLOATS_AND_INTEGERS, EXACT, MEDIUM,
     lambda lib, n, d, g: lib.randint_like(lib.empty(n, dtype=d), 3, 9, generator=g)),
    ("uniform_", FLOATS, EXACT, LARGE,
     lambda lib, n, d, g: lib.empty(n, dtype=d).uniform_(-1, 3, generator=g)),
    ("normal_", NUMBERS, ROUNDED, LARGE,
     lambda lib, n, d, g: lib.empty(n, dtype=d).normal_(-1, 3, generator=g)),
    ("random_", REAL, EXACT, LARGE, lambda lib, n, d, g: lib.empty(n, dtype=d).random_(generator=g)),
    ("random_ up to", FLOATS_AND_INTEGERS, EXACT, LARGE,
     lambda lib, n, d, g: lib.empty(n, dtype=d).random_(77, generator=g)),
    ("random_ from", FLOATS_AND_INTEGERS, EXACT, LARGE,
     lambda lib, n, d, g: lib.empty(n, dtype=d).random_(7, None, generator=g)),
    ("bernoulli_ with a number", REAL, EXACT, LARGE,
     lambda lib, n, d, g: lib.empty(n, dtype=d).bernoulli_(0.3, generator=g)),
    ("bernoulli_ with a tensor", REAL, EXACT, MEDIUM,
     lambda lib, n, d, g: lib.empty(n, dtype=d).bernoulli_(probabilities(lib, n, lib.float32), generator=g)),
    ("bernoulli", FLOATS, EXACT, LARGE,
     lambda lib, n, d, g: lib.bernoulli(probabilities(lib, n, d), generator=g)),
    ("bernoulli with a number", REAL, EXACT, MEDIUM,
     lambda lib, n, d, g: lib.empty(n, dtype=d).bernoulli(0.3, generator=g)),
    ("exponential_", FLOATS, ROUNDED, LARGE,
     lambda lib, n, d, g: lib.empty(n, dtype=d).exponential_(2, generator=g)),
    ("geometric_", FLOATS_AND_INTEGERS, EXACT, LARGE,
     lambda lib, n, d, g: lib.empty(n, dtype=d).geometric_(0.2, generator=g)),
    ("cauchy_", FLOATS, ROUNDED, LARGE,
     lambda lib, n, d, g: lib.empty(n, dtype=d).cauchy_(1, 2, generator=g)),
    ("log_normal_", FLOATS, ROUNDED, LARGE,
     lambda lib, n, d, g: lib.empty(n, dtype=d).log_normal_(0.5, 0.25, generator=g)),
    ("multinomial", FLOATS, EXACT, LARGE,
     lambda lib, n, d, g: lib.multinomial(probabilities(lib, 97, d), n, True, generator=g)),
    ("multinomial without replacement", ("float64",), EXACT, MEDIUM,
     lambda lib, n, d, g: lib.rand(3, n, dtype=d, generator=g).multinomial((n + 1) // 2, generator=g)),
    ("rrelu", ("bfloat16", "float32", "float64"), EXACT, MEDIUM,
     lambda lib, n, d, g: lib.rrelu(rates(lib, n, d) - 2, training=True, generator=g)),
    ("poisson", FLOATS, EXACT, MEDIUM, lambda lib, n, d, g: lib.poisson(rates(lib, n, d), generator=g)),
    ("binomial", ("float32", "float64"), EXACT, MEDIUM,
     lambda lib, n, d, g: lib.binomial(rates(lib, n, d), probabilities(lib, n, d), generator=g)),
]
CASES = [pytest.param(call, dtype, inexact, largest, id=f"{name}-{dtype}")
         for name, dtypes, inexact, largest, call in CALLS for dtype in dtypes]


def pair(seed: int) -> tuple[Any, Any]:
    """Make a generator of each library, equally seeded."""
    return mindtorch.Generator().manual_seed(seed), torch.Generator().manual_seed(seed)


def assert_same_state(ours: Any, theirs: Any) -> None:
    np.testing.assert_array_equal(ours.get_state().numpy(), theirs.get_state().numpy())


def agree(call: Call, dtype: str, inexact: bool, n: int, ours: Any, theirs: Any) -> None:
    got = call(mindtorch, n, getattr(mindtorch, dtype), ours)
    expected = call(torch, n, getattr(torch, dtype), theirs)
    ulp = ULP[{"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)] if inexact else 0.0
    assert_same(got, expected, rtol=2 * ulp if "complex" in dtype else ulp, atol=0.0)
    assert got._version == expected._version


@pytest.mark.parametrize("call, dtype, inexact, largest", CASES)
def test_sequences_are_pytorchs(call: Call, dtype: str, inexact: bool, largest: int) -> None:
    ours, theirs = pair(2**40 + 7)
    for n in SIZES:
        if n <= largest:
            agree(call, dtype, inexact, n, ours, theirs)
    assert_same_state(ours, theirs)


@pytest.mark.parametrize("seed", range(4))
def test_calls_may_follow_each_other_in_any_order(seed: int) -> None:
    choose = random.Random(seed)
    mindtorch.manual_seed(seed)
    torch.manual_seed(seed)
    for step in range(150):
        call, dtype, inexact, _ = choose.choice(CASES).values
        if step % 50 == 49:  # what follows a restored state is what followed it before
            before = mindtorch.get_rng_state(), torch.get_rng_state()
            agree(call, dtype, inexact, 40, None, None)
            mindtorch.set_rng_state(before[0])
            torch.set_rng_state(before[1])
        agree(call, dtype, inexact, int(2 ** choose.uniform(0, 8)), None, None)
    assert_same_state(mindtorch.default_generator, torch.default_generator)


@pytest.mark.parametrize("call, dtype, inexact, largest", CASES)
def test_calls_that_come_again_go_on_with_the_default_generator(
        call: Call, dtype: str, inexact: bool, largest: int) -> None:
    mindtorch.manual_seed(11)
    torch.manual_seed(11)
    for n in (1, 15, 16, 100, 311) * 3:
        agree(call, dtype, inexact, n, None, None)
    assert_same_state(mindtorch.default_generator, torch.default_generator)


def test_states_pass_between_the_libraries() -> None:
    ours, theirs = pair(3)
    mindtorch.randn(3, generator=ours)
    theirs.set_state(torch.from_numpy(ours.get_state().numpy()))
    assert_same(mindtorch.randn(20, generator=ours), torch.randn(20, generator=theirs), rtol=ULP["float32"],
                atol=0.0)
    torch.rand(5, generator=theirs)
    ours.set_state(mindtorch.from_numpy(theirs.get_state().numpy()))
    assert_same(mindtorch.rand(20, generator=ours), torch.rand(20, generator=theirs), rtol=0.0, atol=0.0)


def test_the_random_module_is_pytorchs() -> None:
    with mindtorch.random.fork_rng():
        mindtorch.random.manual_seed(5)
        torch.manual_seed(5)
        assert mindtorch.random.initial_seed() == torch.random.initial_seed() == 5
        assert_same(mindtorch.rand(3), torch.rand(3), rtol=0.0, atol=0.0)
        state = mindtorch.random.get_rng_state()
        first = mindtorch.rand(3)
        mindtorch.random.set_rng_state(state)
        assert mindtorch.rand(3).tolist() == first.tolist()


# -- layouts -------------------------------------------------------------------------------------------------

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda lib: lib.zeros(4, 6, 8).transpose(0, 2),
    "permuted": lambda lib: lib.zeros(4, 6, 8).permute(1, 2, 0),
    "sliced": lambda lib: lib.zeros(4, 6, 8)[:, ::2],
    "offset": lambda lib: lib.zeros(4, 6, 8)[1:, 1:, 1:].permute(2, 0, 1),
    "0-d": lambda lib: lib.zeros(()),
    "empty": lambda lib: lib.zeros(3, 0),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("write", [
    lambda t, g: t.uniform_(generator=g), lambda t, g: t.normal_(generator=g),
    lambda t, g: t.random_(9, generator=g), lambda t, g: t.bernoulli_((t + 1) / 2, generator=g),
    lambda t, g: t.exponential_(generator=g),
], ids=["uniform_", "normal_", "random_", "bernoulli_", "exponential_"])
def test_outputs_are_filled_in_the_order_of_memory(write: Any, layout: Callable[[Any], Any]) -> None:
    ours, theirs = pair(9)
    mine, other = layout(mindtorch), layout(torch)
    assert write(mine, ours) is mine
    write(other, theirs)
    assert_same(mine, other, rtol=ULP["float32"], atol=0.0)
    assert mine._version == other._version == 1
    assert_same_state(ours, theirs)


LIKE: list[Callable[[Any, Any, Any], Any]] = [
    lambda lib, t, g: lib.rand_like(t, generator=g), lambda lib, t, g: lib.randn_like(t, generator=g),
    lambda lib, t, g: lib.randint_like(t, 5, generator=g),
    lambda lib, t, g: lib.bernoulli(t + 0.5, generator=g), lambda lib, t, g: lib.poisson(t + 2, generator=g),
    lambda lib, t, g: lib.binomial(t + 9, t + 0.5, generator=g),
    lambda lib, t, g: lib.normal(t, t + 1, generator=g),
]


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("call", LIKE)
def test_like_factories_and_samples_have_pytorchs_strides(call: Callable[..., Any],
                                                          layout: Callable[[Any], Any]) -> None:
    ours, theirs = pair(11)
    got, expected = call(mindtorch, layout(mindtorch), ours), call(torch, layout(torch), theirs)
    assert_same(got, expected, rtol=ULP["float32"], atol=0.0)


@pytest.mark.parametrize("name", ["rand_like", "randn_like"])
def test_every_call_draws_few_numbers_like_a_transposed_tensor_in_the_order_of_memory(name: str) -> None:
    for lib in (mindtorch, torch):
        lib.manual_seed(11)
    ours, theirs = mindtorch.zeros(4, 3).t(), torch.zeros(4, 3).t()
    for _ in range(5):
        assert_same(getattr(mindtorch, name)(ours), getattr(torch, name)(theirs), rtol=ULP["float32"], atol=0.0)


OUTS: list[Callable[[Any, Any, Any], Any]] = [
    lambda lib, g, o: lib.rand(3, 20, generator=g, out=o),
    lambda lib, g, o: lib.randn(3, 20, generator=g, out=o),
    lambda lib, g, o: lib.randint(9, (3, 20), generator=g, out=o),
    lambda lib, g, o: lib.normal(1.0, 2.0, (3, 20), generator=g, out=o),
    lambda lib, g, o: lib.normal(lib.zeros(3, 1), lib.ones(20), generator=g, out=o),
    lambda lib, g, o: lib.normal(lib.zeros(3, 20), 2, generator=g, out=o),
    lambda lib, g, o: lib.normal(1, lib.ones(3, 20), generator=g, out=o),
    lambda lib, g, o: lib.bernoulli(lib.full((3, 20), 0.25), generator=g, out=o),
]


@pytest.mark.parametrize("call", OUTS)
@pytest.mark.parametrize("make", [
    lambda lib: lib.zeros(3, 20), lambda lib: lib.zeros(20, 3).t(), lambda lib: lib.zeros(0),
    lambda lib: lib.zeros(3, 20).double(),
], ids=["contiguous", "transposed", "empty", "double"])
def test_out_is_drawn_into_in_its_own_order_and_dtype(call: Callable[..., Any],
                                                      make: Callable[[Any], Any]) -> None:
    ours, theirs = pair(13)
    out = make(mindtorch)
    got, expected = Outcome.of(call, mindtorch, ours, out), Outcome.of(call, torch, theirs, make(torch))
    # PyTorch does not resize an out to the shape of the mean alone
    assert not list(error_differences(got, expected))
    if expected.error is None:
        assert got.value is out
        assert_same(out, expected.value, rtol=1e-6, atol=0.0)
        assert_same_state(ours, theirs)


# -- autograd, versions, meta --------------------------------------------------------------------------------

IN_PLACE: list[Callable[[Any], Any]] = [
    lambda t: t.uniform_(), lambda t: t.normal_(), lambda t: t.random_(), lambda t: t.random_(5),
    lambda t: t.random_(2, 5), lambda t: t.bernoulli_(),
    lambda t: t.bernoulli_(t.detach().clone()), lambda t: t.exponential_(),
    lambda t: t.geometric_(0.5), lambda t: t.cauchy_(), lambda t: t.log_normal_(),
]
SAMPLES: list[Callable[[Any, Any], Any]] = [
    lambda lib, t: t.bernoulli(), lambda lib, t: lib.poisson(t), lambda lib, t: lib.normal(t, 1),
    lambda lib, t: lib.normal(1, t), lambda lib, t: lib.normal(t, t),
    lambda lib, t: lib.native_dropout(t, 0.5, True)[0], lambda lib, t: lib.native_dropout(t, 0.5, False)[0],
]


@pytest.mark.parametrize("write", IN_PLACE)
def test_writes_in_place_have_pytorchs_history(write: Callable[[Any], Any]) -> None:
    results = []
    for lib in (mindtorch, torch):
        leaf = lib.ones(3, requires_grad=True)
        written = leaf * 1
        assert write(written) is written
        (grad,) = lib.autograd.grad(written.sum(), leaf)
        results.append((written.grad_fn.name(), written._version, grad.tolist()))
        view = lib.ones(2, 3)
        write(view[0])
        assert view._version == 1
        with pytest.raises(RuntimeError, match="leaf"):
            write(lib.ones(3, requires_grad=True))
    assert results[0] == results[1]


@pytest.mark.parametrize("call", SAMPLES)
def test_samples_have_pytorchs_gradients(call: Callable[[Any, Any], Any]) -> None:
    results = []
    for lib in (mindtorch, torch):
        lib.manual_seed(15)
        leaf = lib.full((5,), 0.5, requires_grad=True)
        sample = call(lib, leaf)
        (grad,) = lib.autograd.grad(sample.sum(), leaf)
        results.append((sample.grad_fn.name(), grad.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize("write", IN_PLACE)
def test_meta_tensors_are_written_without_drawing(write: Callable[[Any], Any]) -> None:
    before = mindtorch.get_rng_state().tolist()
    t = mindtorch.empty(3, 4, device="meta")
    assert write(t) is t
    assert t._version == 1
    assert mindtorch.get_rng_state().tolist() == before


def test_factories_work_on_meta() -> None:
    for call in (lambda lib: lib.rand(2, 3, device="meta"), lambda lib: lib.randint(3, (2,), device="meta"),
                 lambda lib: lib.randperm(3, device="meta"),
                 lambda lib: lib.randn_like(lib.ones(2, 3).t(), device="meta")):
        assert_same(call(mindtorch), call(torch), device="meta")


# -- dropout -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"])
@pytest.mark.parametrize("p", [0, 0.25, 1])
@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("inplace", [False, True])
def test_dropout_drops_what_pytorch_drops(name: str, p: float, train: bool, inplace: bool) -> None:
    results = []
    for lib in (mindtorch, torch):
        lib.manual_seed(17)
        leaf = (lib.arange(60.0).reshape(3, 4, 5) + 1).requires_grad_()
        x = (leaf * 1).transpose(1, 2)
        dropped = getattr(lib, name + "_" * inplace)(x, p, train)
        assert (dropped is x) == (inplace or p == 0 or not train)
        results.append((dropped, dropped.grad_fn.name(), dropped._version,
                        *lib.autograd.grad(dropped.sum(), leaf)))
    ours, theirs = results
    assert_same(ours[0], theirs[0])
    assert ours[1:3] == theirs[1:3]
    assert_same(ours[3], theirs[3], strides=False)


@pytest.mark.parametrize("layout", [
    lambda lib: lib.ones(4, 5).t(), lambda lib: lib.ones(1, 3)[:, 0], lambda lib: lib.ones(4, 4)[::2, ::2],
    lambda lib: lib.ones(3, 1).expand(3, 4),
], ids=["transposed", "of one element", "sliced", "expanded"])
def test_native_dropout_returns_its_mask(layout: Callable[[Any], Any]) -> None:
    for train in (True, False, None):
        for p in (0.0, 0.3, 1.0):
            mindtorch.manual_seed(19)
            torch.manual_seed(19)
            ours, theirs = (lib.native_dropout(layout(lib), p, train) for lib in (mindtorch, torch))
            assert_same(ours, theirs)
            assert [x.stride() for x in ours] == [x.stride() for x in theirs]


# -- errors --------------------------------------------------------------------------------------------------

ERRORS: list[Callable[[Any], Any]] = [
    lambda lib: lib.rand(), lambda lib: lib.rand(-1), lambda lib: lib.rand(2, 5.0),
    lambda lib: lib.rand(2, dtype=lib.int64),
    lambda lib: lib.randn(2, dtype=lib.bool), lambda lib: lib.randn(2, generator=3),
    lambda lib: lib.rand(2, bogus=1),
    lambda lib: lib.rand(2, out=lib.empty(2), dtype=lib.float64),
    lambda lib: lib.rand(2, out=lib.ones(2, requires_grad=True)),
    lambda lib: lib.randint(5, 2), lambda lib: lib.randint(5.0, (2,)), lambda lib: lib.randint(5, 1, (2,)),
    lambda lib: lib.randint(0, 300, (2,), dtype=lib.uint8),
    lambda lib: lib.randint(2, (2,), dtype=lib.complex64),
    lambda lib: lib.randperm(-1), lambda lib: lib.randperm(3.0), lambda lib: lib.randperm(3, dtype=lib.bool),
    lambda lib: lib.randperm(300, dtype=lib.uint8), lambda lib: lib.randperm(3, requires_grad=True),
    lambda lib: lib.normal(0.0, 1.0), lambda lib: lib.normal(lib.zeros(2), lib.ones(3)),
    lambda lib: lib.normal(lib.zeros(2), -1),
    lambda lib: lib.normal(lib.zeros(2), -lib.ones(2)),
    lambda lib: lib.normal(0, lib.ones(2, dtype=lib.complex64)),
    lambda lib: lib.normal(lib.zeros(2, dtype=lib.int64), 1), lambda lib: lib.bernoulli(lib.full((2,), 1.5)),
    lambda lib: lib.bernoulli(lib.ones(2, dtype=lib.int64)), lambda lib: lib.ones(2).bernoulli(2.0),
    lambda lib: lib.ones(2).bernoulli_(lib.ones(3)), lambda lib: lib.ones(2).bernoulli_(lib.ones(2).long()),
    lambda lib: lib.ones(2).uniform_(2, 1), lambda lib: lib.ones(2).long().uniform_(),
    lambda lib: lib.ones(2).int().normal_(),
    lambda lib: lib.ones(2).normal_(0, -1), lambda lib: lib.ones(2).int().exponential_(),
    lambda lib: lib.ones(2).exponential_(0),
    lambda lib: lib.ones(2).bool().geometric_(0.5), lambda lib: lib.ones(2).geometric_(2),
    lambda lib: lib.ones(2).int().cauchy_(),
    lambda lib: lib.ones(2).cauchy_(0, 0), lambda lib: lib.ones(2).int().log_normal_(),
    lambda lib: lib.ones(2).log_normal_(0, 0),
    lambda lib: lib.ones(2).random_(3, 3), lambda lib: lib.ones(2).random_(3.5),
    lambda lib: lib.ones(1).expand(3).uniform_(),
    lambda lib: lib.ones(2, dtype=lib.complex64).random_(), lambda lib: lib.multinomial(lib.ones(2, 2, 2), 1),
    lambda lib: lib.multinomial(lib.ones(2), 3), lambda lib: lib.multinomial(lib.ones(2), 0),
    lambda lib: lib.multinomial(lib.ones(2).long(), 1), lambda lib: lib.multinomial(-lib.ones(2), 1),
    lambda lib: lib.multinomial(lib.ones(2), 1, out=lib.empty(1)), lambda lib: lib.poisson(-lib.ones(2)),
    lambda lib: lib.poisson(lib.ones(2).int()), lambda lib: lib.binomial(lib.ones(2), lib.ones(3)),
    lambda lib: lib.binomial(lib.ones(2), lib.ones(2).double()),
    lambda lib: lib.binomial(lib.ones(2).int(), lib.ones(2)),
    lambda lib: lib.dropout(lib.ones(2), 2, True), lambda lib: lib.feature_dropout(lib.ones(2), 0.5, True),
    lambda lib: lib.native_dropout(lib.ones(2).long(), 0.5, True),
    lambda lib: lib.native_dropout(lib.ones(2), 2, True),
    lambda lib: lib.bernoulli(lib.ones(2, requires_grad=True), out=lib.empty(2)),
    *(lambda lib, dtype=dtype: lib.rrelu(lib.zeros(0, dtype=getattr(lib, dtype)), training=True)
      for dtype in ("float16", "int32", "complex64")),
]


@pytest.mark.parametrize("call", ERRORS, ids=range(len(ERRORS)))
def test_what_pytorch_refuses_is_refused(call: Callable[[Any], Any]) -> None:
    ours, theirs = Outcome.of(call, mindtorch), Outcome.of(call, torch)
    assert theirs.error is not None
    assert not list(error_differences(ours, theirs))


def test_an_out_of_another_size_is_resized() -> None:
    for lib in (mindtorch, torch):
        out = lib.ones(5)
        assert lib.rand(2, out=out) is out
        assert out.shape == (2,)


def test_threads_share_the_default_generator() -> None:
    def total(parts: list[Any]) -> float:
        return math.fsum(value for part in parts for value in part.tolist())

    mindtorch.manual_seed(21)
    expected = total([mindtorch.rand(5) for _ in range(200)])
    mindtorch.manual_seed(21)
    drawn: list[Any] = []
    threads = [threading.Thread(target=lambda: drawn.extend(mindtorch.rand(5) for _ in range(50)))
               for _ in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert total(drawn) == expected
