"""Divergences between distributions, by the pair of their classes; ``torch.distributions.kl``.

Most divergences between different families are the cross entropy less the entropy: KL(p || q) = E_p[-log q(x)] - H(p).
A row gives the average of -log q(x) in terms of averages under p. Another table names the pairs whose divergence is
infinite, because p gives probability to values that q excludes.
"""
from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from .._creation import full_like
from .._tensor import Tensor
from ..nn.functional import softplus
from ._gaussian import divergence
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal
from .multivariate_normal import MultivariateNormal
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant

__all__ = ["kl_divergence", "register_kl"]

Formula = Callable[[Any, Any], Any]
_KL_REGISTRY: dict[tuple[type, type], Formula] = {}
_KL_MEMOIZE: dict[tuple[type, type], Formula | None] = {}


def register_kl(type_p: Any, type_q: Any) -> Callable[[Formula], Formula]:
    """Return a decorator that makes a function the divergence of two classes of distributions, and of their subclasses
    that have no closer one (``torch.distributions.kl.register_kl``). Raises TypeError for anything but classes of
    distributions.
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):  # any class, as in PyTorch: Pyro's Distribution is not a subclass
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def decorator(formula: Formula) -> Formula:
        _KL_REGISTRY[type_p, type_q] = formula
        _KL_MEMOIZE.clear()
        return formula

    return decorator


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return the Kullback-Leibler divergence KL(p || q) of each pair of a batch
    (``torch.distributions.kl.kl_divergence``). Raises NotImplementedError if there is no formula for the pair of
    classes.
    """
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _closest(*pair)
    formula = _KL_MEMOIZE[pair]
    if formula is None:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type "
                                  f"{type(q).__name__}")
    return formula(p, q)


def _closest(p: type, q: type) -> Formula | None:
    """Return the formula of the closest base classes: closest to p first; it should be closest to q first as well."""
    pairs = [(a, b) for a, b in _KL_REGISTRY if issubclass(p, a) and issubclass(q, b)]
    if not pairs:
        return None
    by_p = min(pairs, key=lambda pair: (p.__mro__.index(pair[0]), q.__mro__.index(pair[1])))
    by_q = min(pairs, key=lambda pair: (q.__mro__.index(pair[1]), p.__mro__.index(pair[0])))
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warnings.warn(f"Ambiguous kl_divergence({p.__name__}, {q.__name__}). Please register_kl({by_p[0].__name__}, "
                      f"{by_q[1].__name__})", RuntimeWarning, stacklevel=3)
    return _KL_REGISTRY[by_p]


# -- averages of x under p ---------------------------------------------------------------------------------------


def _mean_xlogx(low: Any, high: Any) -> Tensor:
    """Return the mean of log x over an interval."""
    return (high.xlogy(high) - low.xlogy(low)) / (high - low) - 1


MEAN_LOG: dict[type, Callable[[Any], Any]] = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Exponential: lambda p: -euler_constant - p.rate.log(),
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: _mean_xlogx(p.low, p.high),
}
#: The logarithm of the mean of exp(-x / scale).
LOG_MEAN_EXP: dict[type, Formula] = {
    Exponential: lambda p, scale: -(p.rate * scale).reciprocal().log1p(),
    Gamma: lambda p, scale: -p.concentration * (p.rate * scale).reciprocal().log1p(),
    Normal: lambda p, scale: -p.loc / scale + 0.5 * (p.scale / scale).pow(2),
    Uniform: lambda p, scale: (-p.low / scale + (scale / (p.high - p.low)).log()
                               + (-((p.low - p.high) / scale).expm1()).log()),
}


def _mean_distance(p: Any, loc: Any) -> Tensor:
    """Return the mean distance of normal numbers to ``loc``."""
    away = p.loc - loc
    z = away / p.scale
    return math.sqrt(2 / math.pi) * p.scale * (-0.5 * z.pow(2)).exp() + away * (math.sqrt(0.5) * z).erf()


# -- cross entropies ---------------------------------------------------------------------------------------------


def _to_beta(p: Any, q: Any) -> Tensor:
    a, b = q.concentration1, q.concentration0
    return (a.lgamma() + b.lgamma() - (a + b).lgamma()
            - (a - 1) * MEAN_LOG[Uniform](p) - (b - 1) * _mean_xlogx(1 - p.high, 1 - p.low))


def _to_gamma(p: Any, q: Any) -> Tensor:
    mean_log = MEAN_LOG[_family(p, MEAN_LOG)](p)
    return (q.concentration.lgamma() - q.concentration * q.rate.log() - (q.concentration - 1) * mean_log
            + q.rate * p.mean)


def _to_gumbel(p: Any, q: Any) -> Tensor:
    log_mean_exp = LOG_MEAN_EXP[_family(p, LOG_MEAN_EXP)](p, q.scale)
    return q.scale.log() + (p.mean - q.loc) / q.scale + (q.loc / q.scale + log_mean_exp).exp()


def _to_normal(p: Any, q: Any) -> Tensor:
    square = (p.variance + (p.mean - q.loc).pow(2)) / q.scale.pow(2)
    return 0.5 * (math.log(2 * math.pi) + square) + q.scale.log()


def _family(p: Any, table: dict[type, Any]) -> type:
    return next(kind for kind in type(p).__mro__ if kind in table)


#: By p, q: where the divergence is infinite, if that depends on the parameters.
OUTSIDE: dict[tuple[type, type], Formula] = {
    (Beta, Uniform): lambda p, q: (q.low > 0) | (q.high < 1),
    (ContinuousBernoulli, Uniform): lambda p, q: (q.low >= 0) | (q.high <= 1),  # PyTorch counts the bounds, too
    (Uniform, Beta): lambda p, q: (p.low < 0) | (p.high > 1),
    (Uniform, ContinuousBernoulli): lambda p, q: (p.low <= 0) | (p.high >= 1),
    (Uniform, Exponential): lambda p, q: p.low < 0,
    (Uniform, Gamma): lambda p, q: p.low < 0,
    (Uniform, Pareto): lambda p, q: p.low < q.scale,
}
#: By q: the cross entropy, and the families of p.
CROSS: dict[type, tuple[Formula, tuple[type, ...]]] = {
    Beta: (_to_beta, (Uniform,)),
    ContinuousBernoulli: (lambda p, q: -p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm(),
                          (Beta, Uniform)),
    Exponential: (lambda p, q: q.rate * p.mean - q.rate.log(), (Beta, ContinuousBernoulli, Gamma, Pareto, Uniform)),
    Gamma: (_to_gamma, (Beta, Exponential, Pareto, Uniform)),
    Gumbel: (_to_gumbel, (Exponential, Gamma, Normal, Uniform)),
    Laplace: (lambda p, q: (2 * q.scale).log() + _mean_distance(p, q.loc) / q.scale, (Normal,)),
    Normal: (_to_normal, (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform)),
    Pareto: (lambda p, q: (q.alpha + 1) * MEAN_LOG[Uniform](p) - q.alpha.log() - q.alpha * q.scale.log(), (Uniform,)),
    Poisson: (lambda p, q: q.rate - p.mean * q.rate.log(), (Bernoulli,)),  # the factorials of 0 and 1 are 1
    Uniform: (lambda p, q: (q.high - q.low).log(), (Beta, ContinuousBernoulli)),
}
_LINE = (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
#: By p: the families of q that give no probability to some of what p does, whatever the parameters.
INFINITE: dict[type, tuple[type, ...]] = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: _LINE,
    Laplace: _LINE,
    Normal: _LINE,
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}


def _relative(cross_entropy: Formula, outside: Formula | None) -> Formula:
    def formula(p: Any, q: Any) -> Any:
        result = cross_entropy(p, q) - p.entropy()
        return result if outside is None else result.masked_fill(outside(p, q), math.inf)

    return formula


def _infinite(p: Any, q: Any) -> Tensor:
    return full_like(p.mean, math.inf)


for _q, (_cross_entropy, _kinds) in CROSS.items():
    for _p in _kinds:
        register_kl(_p, _q)(_relative(_cross_entropy, OUTSIDE.get((_p, _q))))
for _p, _kinds in INFINITE.items():
    for _q in _kinds:
        register_kl(_p, _q)(_infinite)


# -- within a family ---------------------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return (ones.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0)
            + zeros.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0))


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Tensor:
    a, b, total = p.concentration1, p.concentration0, p.concentration1 + p.concentration0
    c, d, total_q = q.concentration1, q.concentration0, q.concentration1 + q.concentration0
    return (c.lgamma() + d.lgamma() + total.lgamma() - (a.lgamma() + b.lgamma() + total_q.lgamma())
            + (a - c) * a.digamma() + (b - d) * b.digamma() + (total_q - total) * total.digamma())


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return kl.masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    return terms.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0).sum(-1)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return (p.mean * (p.logits - q.logits) + p._cont_bern_log_norm() + (-p.probs).log1p()
            - q._cont_bern_log_norm() - (-q.probs).log1p())


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    return (total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
            + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1))


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Tensor:
    """Return the Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError("The cross KL-divergence between different exponential families cannot be computed "
                                  "using Bregman divergences")
    normalizer, slopes = p._normalizer_and_slopes()
    of_q = q._natural_params
    result = q._log_normalizer(*of_q) - normalizer
    for (parameter, slope), other in zip(slopes, of_q, strict=True):
        result = result - _sum_rightmost((other - parameter) * slope, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    return (b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma()
            + (q.rate - p.rate) * (a / p.rate))


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Tensor:
    ratio, away = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return (-ratio.log() + away + ratio * euler_constant + ((1 + ratio).lgamma() - away).exp()
            - (1 + euler_constant))


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


for _p in (LowRankMultivariateNormal, MultivariateNormal):
    for _q in (LowRankMultivariateNormal, MultivariateNormal):
        register_kl(_p, _q)(divergence)


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return result.masked_fill(p.scale < q.scale, math.inf)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return result.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)
