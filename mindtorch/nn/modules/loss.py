"""Loss modules; mirrors ``torch.nn.modules.loss``. Each wraps the function of ``functional`` of its name.

``reduction`` is ``'none'``, ``'mean'`` or ``'sum'``; ``size_average`` and ``reduce`` are its older forms.
"""
from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..._base.call_site import outside
from ..._tensor import Tensor
from .. import functional as F
from .._reduction import legacy_get_string
from ..functional.chunked import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from ..module import Module
from .distance import PairwiseDistance
from .linear import Linear


class _Loss(Module):
    """A loss that calls its function with its settings, which ``__constants__`` names, by keyword."""

    __constants__: tuple[str, ...] = ("reduction",)
    function: Callable[..., Tensor]
    reduction: str

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = legacy_get_string(size_average, reduce)
        self.reduction = reduction

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__constants__}


class _TargetLoss(_Loss):
    """A loss of an input and a target."""

    def __init_subclass__(cls) -> None:
        """Give the class a method ``forward`` of its own name, by which Python calls it in errors."""
        super().__init_subclass__()
        if "forward" not in cls.__dict__:
            inherited = cls.forward
            named = FunctionType(inherited.__code__.replace(co_qualname=f"{cls.__name__}.forward"),
                                 inherited.__globals__, "forward", inherited.__defaults__, inherited.__closure__)
            named.__qualname__, named.__doc__ = f"{cls.__name__}.forward", inherited.__doc__
            named.__annotations__ = inherited.__annotations__
            cls.forward = named  # type: ignore[method-assign]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return self.function(input, target, **self._settings())


class _WeightedLoss(_TargetLoss):
    """A loss with a weight, which is a buffer."""

    weight: Tensor | None

    def __init__(self, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None,
                 reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "weight": self.weight}


# -- by class ------------------------------------------------------------------------------------------------


class CrossEntropyLoss(_WeightedLoss):
    """Computes the cross entropy between logits (N, C, ...) and a target, which is class indices (N, ...) or
    probabilities (N, C, ...) (``torch.nn.CrossEntropyLoss``).
    """

    __constants__ = ("ignore_index", "reduction", "label_smoothing")

    def __init__(self, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100,
                 reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(input, target, self._buffers["weight"], None, self.ignore_index, None,
                               self.reduction, self.label_smoothing)


class LinearCrossEntropyLoss(_WeightedLoss):
    """Computes the cross entropy between a target and the logits that its linear layer makes of an input (N, F) or (F,)
    (``torch.nn.LinearCrossEntropyLoss``). With ``out_features`` (d1, ...) there are logits (N, C, d1, ...). Raises
    RuntimeError if the weight is not one of ``num_classes``, or ``label_smoothing`` is not in [0, 1].
    """

    __constants__ = ("num_classes", "out_features", "reduction", "ignore_index", "label_smoothing")

    def __init__(self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (), bias: bool = False,
                 device: Any = None, dtype: Any = None, reduction: str = "mean", weight: Tensor | None = None,
                 ignore_index: int | None = None, label_smoothing: float = 0.0,
                 options: LinearCrossEntropyOptions | None = None) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, reduction=reduction)
        self.num_classes, self.out_features = num_classes, out_features
        self.ignore_index, self.label_smoothing, self.options = ignore_index, label_smoothing, options
        self.linear = Linear(in_features, math.prod(out_features, start=num_classes), bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        between, bias = (self.num_classes, *self.out_features), self.linear.bias
        return F.linear_cross_entropy(
            input, self.linear.weight.reshape(*between, self.linear.in_features), target,
            linear_bias=None if bias is None else bias.reshape(between), weight=self.weight, reduction=self.reduction,
            ignore_index=self.ignore_index, label_smoothing=self.label_smoothing, options=self.options)

    def extra_repr(self) -> str:
        return (f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
                f"out_features={self.out_features}, bias={self.linear.bias is not None}, reduction={self.reduction}, "
                f"ignore_index={self.ignore_index}, label_smoothing={self.label_smoothing}, options={self.options}")


class CTCLoss(_Loss):
    """Computes the negative log probability of sequences of labels whose places in time are not known
    (``torch.nn.CTCLoss``).
    """

    __constants__ = ("blank", "reduction")

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction,
                          self.zero_infinity)


class NLLLoss(_WeightedLoss):
    """Computes the negative log likelihood of class indices (N, ...), given log probabilities (N, C, ...)
    (``torch.nn.NLLLoss``).
    """

    __constants__ = ("ignore_index", "reduction")
    function = staticmethod(F.nll_loss)

    def __init__(self, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100,
                 reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index


class NLLLoss2d(NLLLoss):
    """Does the same as ``NLLLoss``; this name is deprecated (``torch.nn.NLLLoss2d``)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn("`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in "
                      "replacement and see https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more "
                      "details.", FutureWarning, stacklevel=outside())
        super().__init__(*args, **kwargs)


class MultiMarginLoss(_WeightedLoss):
    """Penalises scores (N, C) of other classes that come within ``margin`` of the target class's (N,)
    (``torch.nn.MultiMarginLoss``). Raises ValueError if p is neither 1 nor 2, or the weight is not one-dimensional.
    """

    __constants__ = ("p", "margin", "reduction")
    function = staticmethod(F.multi_margin_loss)

    def __init__(self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
                 size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")
        self.p, self.margin = p, margin


class MultiLabelMarginLoss(_TargetLoss):
    """Penalises scores (N, C) that come within 1 of the scores of the target classes, whose indices (N, C) end at the
    first -1 (``torch.nn.MultiLabelMarginLoss``).
    """

    function = staticmethod(F.multilabel_margin_loss)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Computes the mean logistic loss of the classes' scores (N, C) (``torch.nn.MultiLabelSoftMarginLoss``)."""

    function = staticmethod(F.multilabel_soft_margin_loss)


# -- by element ----------------------------------------------------------------------------------------------


class MSELoss(_TargetLoss):
    """Computes (input - target)² (``torch.nn.MSELoss``)."""

    function = staticmethod(F.mse_loss)


class L1Loss(_TargetLoss):
    """Computes |input - target| (``torch.nn.L1Loss``)."""

    function = staticmethod(F.l1_loss)


class SmoothL1Loss(_TargetLoss):
    """Computes ½(input - target)² / beta where input and target differ by less than ``beta``, and |input - target| -
    ½beta elsewhere (``torch.nn.SmoothL1Loss``).
    """

    __constants__ = ("reduction", "beta")
    function = staticmethod(F.smooth_l1_loss)

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
                 beta: float = 1.0) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta


class HuberLoss(_TargetLoss):
    """Computes ½(input - target)² where input and target differ by at most ``delta``, and delta·(|input - target| -
    ½delta) elsewhere (``torch.nn.HuberLoss``).
    """

    __constants__ = ("reduction", "delta")
    function = staticmethod(F.huber_loss)

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta


class BCELoss(_WeightedLoss):
    """Computes the cross entropy between probabilities of one shape (``torch.nn.BCELoss``)."""

    function = staticmethod(F.binary_cross_entropy)


class BCEWithLogitsLoss(_WeightedLoss):
    """Computes the cross entropy between the sigmoid of the input and probabilities of the same shape
    (``torch.nn.BCEWithLogitsLoss``). ``pos_weight`` weighs the positive part.
    """

    function = staticmethod(F.binary_cross_entropy_with_logits)

    def __init__(self, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None,
                 reduction: str = "mean", pos_weight: Tensor | None = None) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "pos_weight": self.pos_weight}


class KLDivLoss(_TargetLoss):
    """Computes the Kullback-Leibler divergence of log probabilities from probabilities (``torch.nn.KLDivLoss``)."""

    __constants__ = ("reduction", "log_target")
    function = staticmethod(F.kl_div)

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
                 log_target: bool = False) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target


class PoissonNLLLoss(_Loss):
    """Computes the negative log likelihood of counts, given the mean of their Poisson distribution, or its logarithm if
    ``log_input`` (``torch.nn.PoissonNLLLoss``).
    """

    __constants__ = ("log_input", "full", "eps", "reduction")

    def __init__(self, log_input: bool = True, full: bool = False, size_average: Any = None,
                 eps: float = 1e-8, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(log_input, target, **self._settings())


class GaussianNLLLoss(_Loss):
    """Computes the negative log likelihood of targets, given the expectation and the variance of their normal
    distribution (``torch.nn.GaussianNLLLoss``).
    """

    __constants__ = ("full", "eps", "reduction")

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, **self._settings())


class SoftMarginLoss(_TargetLoss):
    """Computes log(1 + exp(-target·input)) for targets 1 and -1 (``torch.nn.SoftMarginLoss``)."""

    function = staticmethod(F.soft_margin_loss)


class HingeEmbeddingLoss(_TargetLoss):
    """Takes x where the target is 1, and max(0, margin - x) where it is -1 (``torch.nn.HingeEmbeddingLoss``)."""

    __constants__ = ("margin", "reduction")
    function = staticmethod(F.hinge_embedding_loss)

    def __init__(self, margin: float = 1.0, size_average: Any = None, reduce: Any = None,
                 reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


# -- between embeddings --------------------------------------------------------------------------------------


class _PairLoss(_Loss):
    """A loss of two inputs and a target, with a margin."""

    __constants__ = ("margin", "reduction")

    def __init__(self, margin: float = 0.0, size_average: Any = None, reduce: Any = None,
                 reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return self.function(input1, input2, target, **self._settings())


class CosineEmbeddingLoss(_PairLoss):
    """Computes 1 - cos(input1, input2) where the target is 1, and max(0, cos(input1, input2) - margin) where it is -1
    (``torch.nn.CosineEmbeddingLoss``).
    """

    function = staticmethod(F.cosine_embedding_loss)


class MarginRankingLoss(_PairLoss):
    """Computes max(0, -target·(input1 - input2) + margin) for targets 1 and -1 (``torch.nn.MarginRankingLoss``)."""

    function = staticmethod(F.margin_ranking_loss)


class TripletMarginLoss(_Loss):
    """Computes max(0, |anchor - positive| - |anchor - negative| + margin) in the p-norm
    (``torch.nn.TripletMarginLoss``). Raises ValueError if the margin is not positive.
    """

    __constants__ = ("margin", "p", "eps", "swap", "reduction")

    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False,
                 size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(anchor, positive, negative, **self._settings())


class TripletMarginWithDistanceLoss(_Loss):
    """Computes ``TripletMarginLoss`` in any distance (``torch.nn``); ValueError if the margin is not positive."""

    __constants__ = ("distance_function", "margin", "swap", "reduction")

    def __init__(self, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
                 margin: float = 1.0, swap: bool = False, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got "
                             f"{margin} instead")
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap = margin, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(anchor, positive, negative, **self._settings())
