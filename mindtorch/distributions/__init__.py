"""Distributions that can be sampled, and know their probabilities; mirrors ``torch.distributions``."""
from typing import TYPE_CHECKING

from .._base.lazy import lazily

if TYPE_CHECKING:  # a program uses few of them: see ``_base.lazy``
    from . import (
        bernoulli as bernoulli, beta as beta, binomial as binomial, categorical as categorical, cauchy as cauchy,
        chi2 as chi2, constraint_registry as constraint_registry, constraints as constraints,
        continuous_bernoulli as continuous_bernoulli, dirichlet as dirichlet, distribution as distribution,
        exp_family as exp_family, exponential as exponential, fishersnedecor as fishersnedecor, gamma as gamma,
        generalized_pareto as generalized_pareto, geometric as geometric, gumbel as gumbel, half_cauchy as half_cauchy,
        half_normal as half_normal, independent as independent, inverse_gamma as inverse_gamma, kl as kl,
        kumaraswamy as kumaraswamy, laplace as laplace, lkj_cholesky as lkj_cholesky, log_normal as log_normal,
        logistic_normal as logistic_normal, lowrank_multivariate_normal as lowrank_multivariate_normal,
        mixture_same_family as mixture_same_family, multinomial as multinomial,
        multivariate_normal as multivariate_normal, negative_binomial as negative_binomial, normal as normal,
        one_hot_categorical as one_hot_categorical, pareto as pareto, poisson as poisson,
        relaxed_bernoulli as relaxed_bernoulli, relaxed_categorical as relaxed_categorical, studentT as studentT,
        transformed_distribution as transformed_distribution, transforms as transforms, uniform as uniform,
        utils as utils, von_mises as von_mises, weibull as weibull, wishart as wishart,
    )
    from .bernoulli import Bernoulli as Bernoulli
    from .beta import Beta as Beta
    from .binomial import Binomial as Binomial
    from .categorical import Categorical as Categorical
    from .cauchy import Cauchy as Cauchy
    from .chi2 import Chi2 as Chi2
    from .constraint_registry import biject_to as biject_to, transform_to as transform_to
    from .continuous_bernoulli import ContinuousBernoulli as ContinuousBernoulli
    from .dirichlet import Dirichlet as Dirichlet
    from .distribution import Distribution as Distribution
    from .exp_family import ExponentialFamily as ExponentialFamily
    from .exponential import Exponential as Exponential
    from .fishersnedecor import FisherSnedecor as FisherSnedecor
    from .gamma import Gamma as Gamma
    from .generalized_pareto import GeneralizedPareto as GeneralizedPareto
    from .geometric import Geometric as Geometric
    from .gumbel import Gumbel as Gumbel
    from .half_cauchy import HalfCauchy as HalfCauchy
    from .half_normal import HalfNormal as HalfNormal
    from .independent import Independent as Independent
    from .inverse_gamma import InverseGamma as InverseGamma
    from .kl import kl_divergence as kl_divergence, register_kl as register_kl
    from .kumaraswamy import Kumaraswamy as Kumaraswamy
    from .laplace import Laplace as Laplace
    from .lkj_cholesky import LKJCholesky as LKJCholesky
    from .log_normal import LogNormal as LogNormal
    from .logistic_normal import LogisticNormal as LogisticNormal
    from .lowrank_multivariate_normal import LowRankMultivariateNormal as LowRankMultivariateNormal
    from .mixture_same_family import MixtureSameFamily as MixtureSameFamily
    from .multinomial import Multinomial as Multinomial
    from .multivariate_normal import MultivariateNormal as MultivariateNormal
    from .negative_binomial import NegativeBinomial as NegativeBinomial
    from .normal import Normal as Normal
    from .one_hot_categorical import (
        OneHotCategorical as OneHotCategorical, OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough,
    )
    from .pareto import Pareto as Pareto
    from .poisson import Poisson as Poisson
    from .relaxed_bernoulli import RelaxedBernoulli as RelaxedBernoulli
    from .relaxed_categorical import RelaxedOneHotCategorical as RelaxedOneHotCategorical
    from .studentT import StudentT as StudentT
    from .transformed_distribution import TransformedDistribution as TransformedDistribution
    from .transforms import (
        AbsTransform as AbsTransform, AffineTransform as AffineTransform, CatTransform as CatTransform,
        ComposeTransform as ComposeTransform, CorrCholeskyTransform as CorrCholeskyTransform,
        CumulativeDistributionTransform as CumulativeDistributionTransform, ExpTransform as ExpTransform,
        IndependentTransform as IndependentTransform, LowerCholeskyTransform as LowerCholeskyTransform,
        PositiveDefiniteTransform as PositiveDefiniteTransform, PowerTransform as PowerTransform,
        ReshapeTransform as ReshapeTransform, SigmoidTransform as SigmoidTransform,
        SoftmaxTransform as SoftmaxTransform, SoftplusTransform as SoftplusTransform, StackTransform as StackTransform,
        StickBreakingTransform as StickBreakingTransform, TanhTransform as TanhTransform, Transform as Transform,
        identity_transform as identity_transform,
    )
    from .uniform import Uniform as Uniform
    from .von_mises import VonMises as VonMises
    from .weibull import Weibull as Weibull
    from .wishart import Wishart as Wishart

_getattr, _dir = lazily(__name__, __file__)
if not TYPE_CHECKING:
    __getattr__ = _getattr
__dir__ = _dir
__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "CatTransform", "Categorical", "Cauchy", "Chi2",
    "ComposeTransform", "ContinuousBernoulli", "CorrCholeskyTransform", "CumulativeDistributionTransform", "Dirichlet",
    "Distribution", "ExpTransform", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto",
    "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent", "IndependentTransform", "InverseGamma",
    "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal", "LogisticNormal", "LowRankMultivariateNormal",
    "LowerCholeskyTransform", "MixtureSameFamily", "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal",
    "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "PositiveDefiniteTransform",
    "PowerTransform", "RelaxedBernoulli", "RelaxedOneHotCategorical", "ReshapeTransform", "SigmoidTransform",
    "SoftmaxTransform", "SoftplusTransform", "StackTransform", "StickBreakingTransform", "StudentT", "TanhTransform",
    "Transform", "TransformedDistribution", "Uniform", "VonMises", "Weibull", "Wishart", "biject_to",
    "identity_transform", "kl_divergence", "register_kl", "transform_to",
]
