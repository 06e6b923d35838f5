"""Divergences are PyTorch's for every pair of distributions that it has a formula for."""
from __future__ import annotations

import itertools
from typing import Any

import pytest

import mindtorch

from .both import assert_agree, made
from .cases import CASES


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sampled(3)
def test_pairs(name: str) -> None:
    for other in CASES:
        assert_agree(lambda lib, other=other: lib.distributions.kl_divergence(made(name, lib), made(other, lib))
                     if made(name, lib).batch_shape == made(other, lib).batch_shape else None, 1e-6, 1e-9)


@pytest.mark.parametrize("low, high", [*itertools.product((-0.5, 0.0, 0.25), (0.75, 1.0, 3.0))])
def test_supports_that_contain_each_other_or_do_not(low: float, high: float) -> None:
    def program(lib: Any) -> Any:
        d, uniform = lib.distributions, lib.distributions.Uniform(low, high)
        others = (d.Beta(1.5, 2.5), d.ContinuousBernoulli(0.3), d.Exponential(2.0), d.Gamma(1.5, 2.0),
                  d.Pareto(0.1, 2.0), d.Uniform(0.0, 1.0), d.Normal(0.5, 2.0), d.Gumbel(0.5, 2.0))
        return [*(d.kl_divergence(uniform, q) for q in others),
                *(d.kl_divergence(p, uniform) for p in (others[0], others[1], others[5]))]

    assert_agree(program, 1e-4, 1e-5)


@pytest.mark.parametrize("name", [name for name in CASES if isinstance(
    made(name, mindtorch), mindtorch.distributions.ExponentialFamily)])
def test_natural_parameters_and_their_normalizer_are_pytorchs(name: str) -> None:
    def program(lib: Any) -> Any:
        found = made(name, lib)
        try:
            parameters = found._natural_params
        except NotImplementedError as error:
            return str(error)
        entropy = lib.distributions.ExponentialFamily.entropy(found) if found._mean_carrier_measure == 0 else None
        return [*parameters, found._log_normalizer(*parameters), entropy]

    assert_agree(program, 1e-5, 1e-6)


def test_a_formula_of_ones_own_serves_subclasses() -> None:
    d = mindtorch.distributions

    class Mine(d.Normal):
        pass

    assert d.kl_divergence(Mine(0.0, 1.0), Mine(0.0, 1.0)) == 0
    d.register_kl(Mine, Mine)(lambda p, q: "mine")
    assert d.kl_divergence(Mine(0.0, 1.0), Mine(0.0, 1.0)) == "mine"
    with pytest.raises(TypeError, match="Expected type_q to be a Distribution subclass"):
        d.register_kl(Mine, "Normal")
