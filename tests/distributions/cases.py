"""The distributions that the tests go through: by name, functions of the library that make one."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[[Any, Callable[..., Any]], Any]  # of torch.distributions, and a function that makes parameters


def spd(t: Any) -> Any:
    """Two positive definite matrices."""
    a = t([[[2.0, 0.3, -0.4], [0.1, 1.5, 0.2], [0.5, 0.1, 1.0]], [[1.0, 0.0, 0.3], [0.2, 2.0, 0.1], [0.0, 0.4, 0.7]]])
    return a @ a.mT


def tril(t: Any) -> Any:
    return t([[1.5, 0.0, 0.0], [0.3, 0.8, 0.0], [-0.2, 0.5, 1.1]])


#: Parameters have a batch shape of (2, 3), or of (2,) or () where events have dimensions.
CASES: dict[str, Make] = {
    "Bernoulli": lambda d, t: d.Bernoulli(t([[0.1, 0.5, 0.9], [0.3, 0.6, 0.99]])),
    "Bernoulli of logits": lambda d, t: d.Bernoulli(logits=t([[0.1, -0.5, 2.9], [0.3, 0.6, -3]])),
    "Beta": lambda d, t: d.Beta(t([[0.5, 1.0, 2.5], [7.0, 0.3, 40.0]]), t([1.5, 0.7, 9.0])),
    "Beta of numbers": lambda d, t: d.Beta(0.7, 2.0),
    "Binomial": lambda d, t: d.Binomial(t([[4.0, 30.0, 100.0], [1.0, 50.0, 0.0]]), t([0.2, 0.6, 0.5])),
    "Binomial of logits": lambda d, t: d.Binomial(7, logits=t([[0.1, -0.5, 2.9], [0.0, 0.6, -3]])),
    "Categorical": lambda d, t: d.Categorical(t([[1.0, 2.0, 0.5], [0.1, 0.2, 4.0]])),
    "Categorical of logits": lambda d, t: d.Categorical(logits=t([[1.0, -2.0, 0.5], [0.1, 0.2, 4.0]])),
    "Cauchy": lambda d, t: d.Cauchy(t([[0.0, 1.0, -3.0], [2.0, 0.5, 9.0]]), t([0.5, 1.0, 3.0])),
    "Chi2": lambda d, t: d.Chi2(t([[0.5, 1.0, 3.0], [10.0, 2.5, 50.0]])),
    "ContinuousBernoulli": lambda d, t: d.ContinuousBernoulli(t([[0.1, 0.5, 0.9], [0.4995, 0.6, 0.99]])),
    "ContinuousBernoulli of logits": lambda d, t: d.ContinuousBernoulli(logits=t([[0.1, -0.5, 2.9], [0.0, 0.6, -3]])),
    "Dirichlet": lambda d, t: d.Dirichlet(t([[0.5, 1.0, 3.0], [10.0, 0.2, 20.0]])),
    "Exponential": lambda d, t: d.Exponential(t([[0.5, 1.0, 3.0], [10.0, 2.5, 0.1]])),
    "FisherSnedecor": lambda d, t: d.FisherSnedecor(t([[0.5, 1.0, 3.0], [10.0, 2.5, 6.0]]), t([1.0, 5.0, 9.0])),
    "Gamma": lambda d, t: d.Gamma(t([[0.5, 1.0, 3.0], [10.0, 2.5, 0.1]]), t([1.0, 5.0, 0.2])),
    "GeneralizedPareto": lambda d, t: d.GeneralizedPareto(t([[0.0, 1.0, -1.0], [2.0, 0.5, 3.0]]), t([1.0, 2.0, 0.5]),
                                                          t([0.3, 0.0, -0.4])),
    "Geometric": lambda d, t: d.Geometric(t([[0.1, 0.5, 0.9], [0.3, 0.6, 1.0]])),
    "Geometric of logits": lambda d, t: d.Geometric(logits=t([[0.1, -0.5, 2.9], [0.3, 0.6, -3]])),
    "Gumbel": lambda d, t: d.Gumbel(t([[0.0, 1.0, -3.0], [2.0, 0.5, 9.0]]), t([0.5, 1.0, 3.0])),
    "HalfCauchy": lambda d, t: d.HalfCauchy(t([[0.5, 1.0, 3.0], [10.0, 2.5, 0.1]])),
    "HalfNormal": lambda d, t: d.HalfNormal(t([[0.5, 1.0, 3.0], [10.0, 2.5, 0.1]])),
    "Independent": lambda d, t: d.Independent(d.Normal(t([[0.0, 1.0, -3.0], [2.0, 0.5, 9.0]]), t([0.5, 1.0, 3.0])), 1),
    "InverseGamma": lambda d, t: d.InverseGamma(t([[0.5, 1.0, 3.0], [10.0, 2.5, 0.4]]), t([1.0, 5.0, 0.2])),
    "Kumaraswamy": lambda d, t: d.Kumaraswamy(t([[0.5, 1.0, 3.0], [4.0, 2.5, 0.4]]), t([1.5, 5.0, 0.7])),
    "LKJCholesky": lambda d, t: d.LKJCholesky(3, t([0.5, 1.0, 4.0])),
    "Laplace": lambda d, t: d.Laplace(t([[0.0, 1.0, -3.0], [2.0, 0.5, 9.0]]), t([0.5, 1.0, 3.0])),
    "LogNormal": lambda d, t: d.LogNormal(t([[0.0, 1.0, -1.0], [2.0, 0.5, 0.2]]), t([0.5, 1.0, 0.3])),
    "LogisticNormal": lambda d, t: d.LogisticNormal(t([[0.0, 1.0, -1.0], [2.0, 0.5, 0.2]]), t([0.5, 1.0, 0.3])),
    "LowRankMultivariateNormal": lambda d, t: d.LowRankMultivariateNormal(
        t([[0.0, 1.0, -1.0], [2.0, 0.5, 0.2]]), t([[1.0, 0.0], [0.3, 0.4], [-0.5, 0.2]]), t([0.5, 1.0, 0.3])),
    "MixtureSameFamily": lambda d, t: d.MixtureSameFamily(
        d.Categorical(t([[1.0, 2.0, 0.5], [0.1, 0.2, 4.0]])),
        d.Normal(t([[0.0, 1.0, -3.0], [2.0, 0.5, 9.0]]), t([0.5, 1.0, 3.0]))),
    "MixtureSameFamily of vectors": lambda d, t: d.MixtureSameFamily(
        d.Categorical(t([1.0, 2.0])), d.MultivariateNormal(t([0.0, 1.0, 2.0]), spd(t))),
    "Multinomial": lambda d, t: d.Multinomial(7, t([[1.0, 2.0, 0.5], [0.1, 0.2, 4.0]])),
    "MultivariateNormal": lambda d, t: d.MultivariateNormal(t([0.0, 1.0, 2.0]), spd(t)),
    "MultivariateNormal of precision": lambda d, t: d.MultivariateNormal(t([0.0, 1.0, 2.0]), precision_matrix=spd(t)),
    "MultivariateNormal of scale_tril": lambda d, t: d.MultivariateNormal(
        t([[0.0, 1.0, 2.0], [4.0, 2.0, -1.0]]), scale_tril=tril(t)),
    "NegativeBinomial": lambda d, t: d.NegativeBinomial(t([[4.0, 3.0, 10.0], [1.0, 5.5, 0.5]]), t([0.2, 0.6, 0.5])),
    "NegativeBinomial of logits": lambda d, t: d.NegativeBinomial(4, logits=t([[0.1, -0.5, 1.9], [0.0, 0.6, -3]])),
    "Normal": lambda d, t: d.Normal(t([[0.0, 1.0, -3.0], [2.0, 0.5, 9.0]]), t([0.5, 1.0, 3.0])),
    "Normal of numbers": lambda d, t: d.Normal(1, 2.5),
    "OneHotCategorical": lambda d, t: d.OneHotCategorical(t([[1.0, 2.0, 0.5], [0.1, 0.2, 4.0]])),
    "OneHotCategoricalStraightThrough": lambda d, t: d.OneHotCategoricalStraightThrough(
        logits=t([[1.0, -2.0, 0.5], [0.1, 0.2, 4.0]])),
    "Pareto": lambda d, t: d.Pareto(t([[0.5, 1.0, 3.0], [1.0, 2.5, 0.4]]), t([1.5, 5.0, 2.5])),
    "Poisson": lambda d, t: d.Poisson(t([[0.5, 1.0, 3.0], [10.0, 25.0, 0.0]])),
    "RelaxedBernoulli": lambda d, t: d.RelaxedBernoulli(t(0.7), t([[0.1, 0.5, 0.9], [0.3, 0.6, 0.99]])),
    "RelaxedOneHotCategorical": lambda d, t: d.RelaxedOneHotCategorical(
        t(0.7), logits=t([[1.0, -2.0, 0.5], [0.1, 0.2, 4.0]])),
    "StudentT": lambda d, t: d.StudentT(t([[0.5, 1.0, 3.0], [10.0, 2.5, 0.4]]), t([1.5, 5.0, 2.5]), 2.0),
    "TransformedDistribution": lambda d, t: d.TransformedDistribution(
        d.Normal(t([[0.0, 1.0, -3.0], [2.0, 0.5, 0.9]]), t([0.5, 1.0, 0.3])),
        [d.AffineTransform(t(1.0), t(-2.0)), d.TanhTransform(), d.SigmoidTransform()]),
    "Uniform": lambda d, t: d.Uniform(t([[0.0, 1.0, -3.0], [2.0, 0.5, 9.0]]), t([2.5, 10.0, 13.0])),
    "VonMises": lambda d, t: d.VonMises(t([[0.0, 1.0, -3.0], [2.0, 0.5, 9.0]]), t([0.5, 1.0, 30.0])),
    "Weibull": lambda d, t: d.Weibull(t([[0.5, 1.0, 3.0], [1.0, 2.5, 0.4]]), t([1.5, 5.0, 0.5])),
    "Wishart": lambda d, t: d.Wishart(t([4.0, 7.5]), spd(t)),
}
