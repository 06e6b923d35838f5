"""Every distribution samples, and says of its samples, what PyTorch's does."""
from __future__ import annotations

from typing import Any

import pytest

import mindtorch
from tests.support import array, seed_all, torch

from .both import LIBRARIES, Parameters, assert_agree, assert_same, made, told
from .cases import CASES

#: PyTorch's log_prob mixes dtypes in float64.
DTYPE = {"GeneralizedPareto": "float32"}
MOMENTS = ("mean", "mode", "variance", "stddev", "batch_shape", "event_shape", "has_rsample", "has_enumerate_support",
           "support", "arg_constraints")
names = pytest.mark.parametrize("name", CASES)


def values(name: str, lib: Any, dtype: str = "float64") -> Any:
    """Return samples of the case, drawn by PyTorch, in a library."""
    seed_all(torch, 1)
    samples = made(name, torch, dtype=dtype).sample((4,))
    return lib.tensor(array(samples), dtype=getattr(lib, str(samples.dtype).removeprefix("torch.")))


def test_every_distribution_of_pytorch_is_there() -> None:
    assert set(torch.distributions.__all__) == set(mindtorch.distributions.__all__)
    for name in torch.distributions.__all__:
        theirs, ours = (getattr(lib.distributions, name) for lib in LIBRARIES)
        assert getattr(ours, "__module__", "").replace("mindtorch", "torch") == getattr(theirs, "__module__", "")
        assert isinstance(theirs, type) is isinstance(ours, type)
    cased = {type(made(name, torch)).__name__ for name in CASES}
    classes = {name for name in torch.distributions.__all__ if isinstance(getattr(torch.distributions, name), type)
               and issubclass(getattr(torch.distributions, name), torch.distributions.Distribution)}
    assert classes - cased == {"Distribution", "ExponentialFamily"}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (5,), (2, 9)])
@names
def test_samples(name: str, shape: tuple[int, ...], dtype: str) -> None:
    tolerance = 2e-6 if dtype == "float32" else 1e-12
    assert_agree(lambda lib: [made(name, lib, dtype=dtype).sample(shape), lib.rand(2)], tolerance, tolerance)


@names
def test_reparameterized_samples_and_their_gradients(name: str) -> None:
    def program(lib: Any) -> Any:
        parameters = Parameters(lib, requires_grad=True)
        sample = CASES[name](lib.distributions, parameters).rsample((3,))
        if not sample.requires_grad:
            return [sample]
        weights = lib.arange(sample.numel(), dtype=sample.dtype).view(sample.shape).cos()
        (sample * weights).sum().backward()
        return [sample, *(lib.zeros(()) if leaf.grad is None else leaf.grad for leaf in parameters.leaves)]

    if name == "Wishart":  # PyTorch changes in place what its derivative needs
        program(mindtorch)
    else:
        assert_agree(program, 1e-7, 1e-9)


@pytest.mark.parametrize("method", ["log_prob", "cdf"])
@names
def test_probabilities_and_their_gradients(name: str, method: str) -> None:
    dtype = DTYPE.get(name, "float64")

    def program(lib: Any) -> Any:
        parameters = Parameters(lib, dtype, requires_grad=True)
        value = values(name, lib, dtype)
        distribution = CASES[name](lib.distributions, parameters)
        if value.is_floating_point() and distribution.has_rsample:
            value.requires_grad_()
        result = getattr(distribution, method)(value)
        if not result.requires_grad:
            return [result]
        result.sum().backward()
        leaves = [value, *parameters.leaves]
        return [result, *(lib.zeros(()) if leaf.grad is None else leaf.grad for leaf in leaves)]

    if method == "cdf" and name in ("Chi2", "Gamma", "InverseGamma"):  # PyTorch lacks a derivative
        assert_agree(lambda lib: made(name, lib).cdf(values(name, lib)), 1e-7)
    else:
        assert_agree(program, *((1e-7, 1e-9) if dtype == "float64" else (1e-4, 1e-5)))


@names
def test_quantiles(name: str) -> None:
    def program(lib: Any) -> Any:
        distribution = made(name, lib)
        u = lib.linspace(0.05, 0.95, 4, dtype=lib.float64).view(4, *[1] * len(distribution.batch_shape))
        return distribution.icdf(u.expand(4, *distribution.batch_shape))

    assert_agree(program)


@names
def test_moments_and_entropy(name: str) -> None:
    for attribute in MOMENTS:
        assert_agree(lambda lib, attribute=attribute: getattr(made(name, lib), attribute), 1e-6)
    assert_agree(lambda lib: made(name, lib).entropy(), 1e-6)  # PyTorch's Multinomial computes it in float32
    assert_agree(lambda lib: made(name, lib).perplexity(), 1e-6)


@names
def test_gradients_of_entropy(name: str) -> None:
    def program(lib: Any) -> Any:
        parameters = Parameters(lib, requires_grad=True)
        CASES[name](lib.distributions, parameters).entropy().sum().backward()
        return [lib.zeros(()) if leaf.grad is None else leaf.grad for leaf in parameters.leaves]

    if not isinstance(told(lambda lib: made(name, lib).entropy(), torch), NotImplementedError):
        assert_agree(program, 1e-7, 1e-9)


@names
def test_enumerated_support(name: str) -> None:
    for expand in (False, True):
        assert_agree(lambda lib, expand=expand: made(name, lib).enumerate_support(expand))


@names
def test_repr(name: str) -> None:
    theirs, ours = (repr(made(name, lib)) for lib in LIBRARIES)
    assert ours == theirs


@names
def test_expansion(name: str) -> None:
    def program(lib: Any) -> Any:
        distribution = made(name, lib, dtype=DTYPE.get(name, "float64"))
        wide = distribution.expand((4, *distribution.batch_shape))
        seed_all(lib, 0)
        sample = wide.sample((2,))
        return [type(wide).__name__, repr(wide), wide.batch_shape, wide.event_shape, sample, wide.log_prob(sample)]

    assert_agree(program, 1e-5, 1e-6)


@names
def test_values_outside_of_the_support(name: str) -> None:
    def program(lib: Any) -> Any:
        value = values(name, lib).to(lib.float64)
        return made(name, lib).log_prob(value.fill_(float("nan")))

    theirs, ours = (told(program, lib) for lib in LIBRARIES)
    if isinstance(theirs, ValueError) or isinstance(ours, ValueError):
        assert_same(ours, theirs)


@names
def test_values_of_wrong_shapes(name: str) -> None:
    assert_agree(lambda lib: made(name, lib).log_prob(lib.ones(7, dtype=lib.float64)))
    assert_agree(lambda lib: made(name, lib).log_prob("x"))


@pytest.mark.parametrize("name", ["HalfNormal", "HalfCauchy", "MultivariateNormal"])
def test_values_of_another_dtype(name: str) -> None:
    def run(t: Any) -> Any:
        d = t.distributions
        parameters = (t.ones(2), t.eye(2)) if name == "MultivariateNormal" else (t.ones(2),)
        return getattr(d, name)(*parameters).log_prob(t.ones(2, dtype=t.float64) / 3)

    assert_same(run(mindtorch), run(torch))


def _constraints(of: Any) -> dict[str, tuple[str, int, bool]]:
    """Describe the constraints of the arguments: which each is, of how many dimensions, and whether of integers."""
    return {name: (type(each).__name__.lstrip("_"), each.event_dim, each.is_discrete)
            for name, each in of.arg_constraints.items()}


CONSTRAINED = [name for name in torch.distributions.__all__
               if isinstance(getattr(getattr(torch.distributions, name), "arg_constraints", None), dict)]


@pytest.mark.parametrize("name", CONSTRAINED)
def test_arguments_are_constrained_as_in_pytorch(name: str) -> None:
    ours, theirs = (_constraints(getattr(lib.distributions, name)) for lib in (mindtorch, torch))
    assert ours == theirs
