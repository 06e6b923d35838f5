"""Loss functions of ``torch.nn.functional``.

``reduction`` is ``'none'``, ``'mean'`` or ``'sum'``; ``size_average`` and ``reduce`` are its older forms.
"""
import math
import warnings
from collections.abc import Callable
from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._base.about import about
from ..._base.call_site import outside
from ..._base.layout import broadcast_shapes
from ..._creation import full_like
from ..._dispatch.dispatcher import has_values
from ..._dtype import int64
from ..._methods.functions import (
    binary_cross_entropy as _binary_cross_entropy,
    binary_cross_entropy_with_logits as _binary_cross_entropy_with_logits,
    cosine_embedding_loss as _cosine_embedding_loss, cross_entropy_loss as _cross_entropy_loss, ctc_loss as _ctc_loss,
    hinge_embedding_loss as _hinge_embedding_loss, huber_loss as _huber_loss, kl_div as _kl_div, l1_loss as _l1_loss,
    margin_ranking_loss as _margin_ranking_loss, mse_loss as _mse_loss, multi_margin_loss as _multi_margin_loss,
    multilabel_margin_loss as _multilabel_margin_loss, nll_loss_nd as _nll_loss_nd,
    poisson_nll_loss as _poisson_nll_loss, smooth_l1_loss as _smooth_l1_loss, soft_margin_loss as _soft_margin_loss,
    triplet_margin_loss as _triplet_margin_loss,
)
from ..._tensor import Tensor
from .._reduction import get_enum, legacy_get_enum
from .activation import logsigmoid
from .chunked import LinearCrossEntropyOptions, in_chunks
from .linear import linear, pairwise_distance

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy", "ctc_loss",
    "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "linear_cross_entropy",
    "margin_ranking_loss", "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss",
    "nll_loss", "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]
__dir__ = __all__.copy


Flag = bool | None


def _number(reduction: str, size_average: Flag, reduce: Flag) -> int:
    """Return the reduction's number, by the deprecated flags if they are given."""
    if size_average is None and reduce is None:
        return get_enum(reduction)
    return legacy_get_enum(size_average, reduce)


def _reduced(values: Any, reduction: int) -> Any:
    return (values, values.mean, values.sum)[reduction]() if reduction else values


# -- by class ------------------------------------------------------------------------------------------------


def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Flag = None,
                  ignore_index: int = -100, reduce: Flag = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:
    """Compute the cross entropy between logits (N, C, ...) and a target, which is class indices (N, ...) of dtype int64
    or probabilities (N, C, ...) (``torch.nn.functional.cross_entropy``). ``weight`` (C,) weighs the classes.
    """
    return _cross_entropy_loss(input, target, weight, _number(reduction, size_average, reduce), ignore_index,
                               label_smoothing)


def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Flag = None,
             ignore_index: int = -100, reduce: Flag = None, reduction: str = "mean") -> Tensor:
    """Compute the negative log likelihood of class indices (N, ...) of dtype int64, given log probabilities (N, C, ...)
    (``torch.nn.functional.nll_loss``). ``weight`` (C,) weighs the classes.
    """
    return _nll_loss_nd(input, target, weight, _number(reduction, size_average, reduce), ignore_index)


def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
                      size_average: Flag = None, reduce: Flag = None, reduction: str = "mean") -> Tensor:
    """Penalise scores (N, C) of other classes that come within ``margin`` of the score of the target class (N,)
    (``torch.nn.functional.multi_margin_loss``). Raises ValueError if p is neither 1 nor 2, or the weight not one-
    dimensional.
    """
    number = _number(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return _multi_margin_loss(input, target, p, margin, weight, number)


def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None,
                           reduction: str = "mean") -> Tensor:
    """Penalise scores (N, C) of other classes that come within 1 of the scores of the target classes, whose indices (N,
    C) end at the first -1 (``torch.nn.functional.multilabel_margin_loss``).
    """
    return _multilabel_margin_loss(input, target, _number(reduction, size_average, reduce))


def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Flag = None,
                                reduce: Flag = None, reduction: str = "mean") -> Tensor:
    """Compute the mean logistic loss of class scores (N, C) (``torch.nn.functional.multilabel_soft_margin_loss``)."""
    number = _number(reduction, size_average, reduce)
    loss: Any = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    dim = input.dim() - 1
    return _reduced(loss.sum(dim) / input.size(dim), number)


def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None,
                         weight: Tensor | None = None, reduction: str = "mean", ignore_index: int | None = None,
                         label_smoothing: float = 0.0, options: LinearCrossEntropyOptions | None = None) -> Tensor:
    """Compute the cross entropy between a target and the logits that a linear layer with weight (C, ..., F) makes of an
    input (N, F) or (F,) (``torch.nn.functional.linear_cross_entropy``).

    With ``options`` the logits are computed for some rows at a time, and once more in backward, so that they are never
    all in memory; this takes class indices, without dimensions between C and F and without label smoothing, and is
    ignored with a warning for others. Raises RuntimeError if the shapes do not fit, or ``ignore_index`` is given with a
    target of probabilities.
    """
    x, w, bias = input, linear_weight, linear_bias
    if not 1 <= x.dim() <= 2:
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {x.dim()}")
    if w.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {w.dim()}")
    if x.shape[-1] != w.shape[-1]:
        raise RuntimeError("expected equal input and linear_weight last dimensions (in_features), got "
                           f"{x.shape[-1]} and {w.shape[-1]}, respectively")
    between = tuple(w.shape[:-1])
    if bias is not None and tuple(bias.shape) != between:
        raise RuntimeError(f"expected linear_bias shape {between}, got {tuple(bias.shape)}")
    if len(between) > 1 and x.dim() == 1:
        raise RuntimeError(f"K-dimensional loss defined by linear_weight shape {tuple(w.shape)} requires batched input,"
                           f" (N, {x.shape[-1]}), got unbatched input with shape {tuple(x.shape)}")
    shape = (*x.shape[:-1], *between)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignored = -100 if ignore_index is None else ignore_index
    if options is not None:
        if (reduction in ("none", "mean", "sum") and not label_smoothing and target.dtype is int64
                and len(between) == 1):
            return in_chunks(x, w, target, bias, weight, reduction, ignored, options)
        warnings.warn("linear_cross_entropy: ``options`` ignored; chunked path needs reduction in "
                      "{'mean','sum','none'}, label_smoothing == 0, target.dtype == int64, out_features == (). Got "
                      f"reduction={reduction!r}, label_smoothing={label_smoothing}, target.dtype={target.dtype}, "
                      f"out_features={between[1:]}.", stacklevel=outside())
    logits = linear(x, w.reshape(-1, w.shape[-1]), None if bias is None else bias.reshape(-1)).reshape(shape)
    return cross_entropy(logits, target, weight, ignore_index=ignored, reduction=reduction,
                         label_smoothing=label_smoothing)


def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
             reduction: str = "mean", zero_infinity: bool = False) -> Tensor:
    """Compute the negative log probability of sequences of labels whose places in time are not known, given the log
    probabilities (T, N, C) of C labels in T steps (``torch.nn.functional.ctc_loss``).

    ``targets`` are (N, S), or the labels of all sequences one after the other; the lengths say how many of T and of S
    count. ``'mean'`` divides each loss by its number of labels first; ``zero_infinity`` counts sequences that are too
    long for their input as 0. Raises RuntimeError if lengths and shapes do not fit each other, or ``blank`` is not a
    label.
    """
    return _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, get_enum(reduction), zero_infinity)


# -- by element ----------------------------------------------------------------------------------------------


def _same_shape(input: Tensor, target: Tensor) -> tuple[Any, Any]:
    """Return input and target in their common shape, warning if they differ; AttributeError for no tensor."""
    for name, given in (("input", input), ("target", target)):
        if not hasattr(given, "size"):
            raise AttributeError(f"a loss's argument '{name}' must be Tensor, but {type(given).__name__!r} object has "
                                 "no attribute 'size'", name="size", obj=given)
    if input.size() == target.size():
        return input, target
    warnings.warn(f"Using a target size ({target.size()}) that is different to the input size "
                  f"({input.size()}). This will likely lead to incorrect results due to broadcasting. Please "
                  "ensure they have the same size.", stacklevel=outside())
    shape = broadcast_shapes(input.size(), target.size())
    return input.expand(shape), target.expand(shape)


def _weighted(values: Any, weight: Tensor, input: Tensor) -> Any:
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    return values * weight


def _weighted_mean(values: Any, weight: Tensor, input: Tensor, reduction: int) -> Any:
    values = _weighted(values, weight, input)
    return values.sum() / weight.sum() if reduction == 1 else _reduced(values, reduction)


def mse_loss(input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None,
             reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """Compute (input - target)²; with a weight, ``'mean'`` divides by its sum (``torch.nn.functional.mse_loss``).
    Raises ValueError if the weight has another size than the input.
    """
    given, aim = _same_shape(input, target)
    number = _number(reduction, size_average, reduce)
    if weight is None:
        return _mse_loss(given, aim, number)
    return _weighted_mean((given - aim) ** 2, weight, input, number)


def l1_loss(input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None,
            reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """Compute |input - target|; with a weight, ``'mean'`` divides by its sum (``torch.nn.functional.l1_loss``). Raises
    ValueError if the weight has another size than the input.
    """
    given, aim = _same_shape(input, target)
    number = _number(reduction, size_average, reduce)
    if weight is None:
        return _l1_loss(given, aim, number)
    return _weighted_mean((given - aim).abs(), weight, input, number)


def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None,
                   reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Compute ½(input - target)² / beta where input and target differ by less than ``beta``, and |input - target| -
    ½beta elsewhere (``torch.nn.functional.smooth_l1_loss``).
    """
    given, aim = _same_shape(input, target)
    number = _number(reduction, size_average, reduce)
    return _smooth_l1_loss(given, aim, number, beta) if beta else _l1_loss(given, aim, number)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0,
               weight: Tensor | None = None) -> Tensor:
    """Compute ½(input - target)² where input and target differ by at most ``delta``, and delta·(|input - target| -
    ½delta) elsewhere (``torch.nn.functional.huber_loss``). Raises ValueError if the weight has another size than the
    input.
    """
    given, aim = _same_shape(input, target)
    if weight is None:
        return _huber_loss(given, aim, get_enum(reduction), delta)
    return _reduced(_weighted(_huber_loss(given, aim, 0, delta), weight, input), get_enum(reduction))


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None,
                         size_average: Flag = None, reduce: Flag = None, reduction: str = "mean") -> Tensor:
    """Compute the cross entropy between probabilities of one shape (``torch.nn.functional.binary_cross_entropy``).
    Raises ValueError if input and target have different sizes, and RuntimeError if one of them is not within [0, 1].
    """
    number = _number(reduction, size_average, reduce)
    if target.size() != input.size():
        raise about(ValueError(f"Using a target size ({target.size()}) that is different to the input size "
                               f"({input.size()}) is deprecated. Please ensure they have the same size."),
                    "loss shapes", input=input, target=target)
    if weight is not None:
        weight = weight.expand(broadcast_shapes(target.size(), weight.size()))
    return _binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     size_average: Flag = None, reduce: Flag = None, reduction: str = "mean",
                                     pos_weight: Tensor | None = None) -> Tensor:
    """Compute the cross entropy between the sigmoid of the input and probabilities of the same shape
    (``torch.nn.functional.binary_cross_entropy_with_logits``). ``pos_weight`` weighs the positive part. Raises
    ValueError if input and target have different sizes.
    """
    number = _number(reduction, size_average, reduce)
    if target.size() != input.size():
        raise about(ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})"),
                    "loss shapes", input=input, target=target)
    return _binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def kl_div(input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None,
           reduction: str = "mean", log_target: bool = False) -> Tensor:
    """Compute the Kullback-Leibler divergence of log probabilities from probabilities, or from log probabilities if
    ``log_target`` (``torch.nn.functional.kl_div``).

    ``reduction='batchmean'`` divides the sum by the batch size, which is what the divergence's definition asks for.
    """
    if size_average is not None or reduce is not None:
        number = legacy_get_enum(size_average, reduce)
    else:
        if reduction == "mean":
            warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support "
                          "size.'batchmean' divides only by the batch size, and aligns with the KL div math "
                          "definition.'mean' will be changed to behave the same as 'batchmean' in the next "
                          "major release.", stacklevel=outside())
        number = get_enum("sum" if reduction == "batchmean" else reduction)
    divergence = _kl_div(input, target, number, log_target=log_target)
    return divergence / input.size(0) if reduction == "batchmean" and input.dim() else divergence


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False,
                     size_average: Flag = None, eps: float = 1e-8, reduce: Flag = None,
                     reduction: str = "mean") -> Tensor:
    """Compute the negative log likelihood of counts, given the mean of their Poisson distribution, or its logarithm if
    ``log_input`` (``torch.nn.functional.poisson_nll_loss``).
    """
    return _poisson_nll_loss(input, target, log_input, full, eps, _number(reduction, size_average, reduce))


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | float, full: bool = False,
                      eps: float = 1e-6, reduction: str = "mean") -> Tensor:
    """Compute the negative log likelihood of targets, given the expectation and the variance of their normal
    distribution (``torch.nn.functional.gaussian_nll_loss``). Raises ValueError if a variance is negative, or the shape
    of ``var`` does not fit the input's.
    """
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        variance: Any = full_like(input.detach(), var)
    else:
        if has_values(var) and bool((var < 0).any()):
            raise ValueError("var has negative entry/entries")
        variance = _fitting(var, input)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    variance = variance.clone()
    with no_grad():
        variance.clamp_(min=eps)
    loss: Any = 0.5 * (variance.log() + (input - target) ** 2 / variance)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, get_enum(reduction))


def _fitting(var: Any, input: Tensor) -> Any:
    """Reshape the variance to broadcast with the input: one per element, or one per vector."""
    if var.size() == input.size():
        return var
    if input.size()[:-1] == var.size():
        return var.unsqueeze(-1)
    if var.ndim == input.ndim and sum(have for want, have in zip(input.size(), var.size(), strict=True)
                                      if want != have) == 1:
        return var
    raise ValueError("var is of incorrect size")


def soft_margin_loss(input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None,
                     reduction: str = "mean") -> Tensor:
    """Compute log(1 + exp(-target·input)) for targets 1 and -1 (``torch.nn.functional.soft_margin_loss``)."""
    return _soft_margin_loss(input, target, _number(reduction, size_average, reduce))


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: Flag = None,
                         reduce: Flag = None, reduction: str = "mean") -> Tensor:
    """Take x where targets are 1, and max(0, margin - x) where -1 (``torch.nn.functional.hinge_embedding_loss``)."""
    number = _number(reduction, size_average, reduce)
    return _hinge_embedding_loss(input, target, float(margin), number)


# -- between embeddings --------------------------------------------------------------------------------------


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0,
                        size_average: Flag = None, reduce: Flag = None, reduction: str = "mean") -> Tensor:
    """Compute max(0, -target·(input1 - input2) + margin); targets are ±1 (``torch.nn.functional.margin_ranking_loss``).
    Raises RuntimeError if the tensors have different numbers of dimensions.
    """
    number = _number(reduction, size_average, reduce)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got "
                           f"sizes: input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} ")
    return _margin_ranking_loss(input1, input2, target, margin, number)


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0,
                          size_average: Flag = None, reduce: Flag = None, reduction: str = "mean") -> Tensor:
    """Compute 1 - cos(input1, input2) where the target is 1, and max(0, cos(input1, input2) - margin) where it is -1
    (``torch.nn.functional.cosine_embedding_loss``). The inputs are (N, D) or (D,), the target (N,) or ().
    """
    return _cosine_embedding_loss(input1, input2, target, margin, _number(reduction, size_average, reduce))


def _check_margin(margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2,
                        eps: float = 1e-6, swap: bool = False, size_average: Flag = None, reduce: Flag = None,
                        reduction: str = "mean") -> Tensor:
    """Compute max(0, |anchor - positive| - |anchor - negative| + margin) in the p-norm over the last dimension
    (``torch.nn.functional.triplet_margin_loss``). Raises ValueError if the margin is not positive.
    """
    number = _number(reduction, size_average, reduce)
    _check_margin(margin)
    return _triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *,
                                      distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
                                      margin: float = 1.0, swap: bool = False, reduction: str = "mean") -> Tensor:
    """Compute ``triplet_margin_loss`` in any distance (``torch.nn.functional.triplet_margin_with_distance_loss``).
    Raises ValueError if the margin is not positive, or the reduction is unknown, and RuntimeError if the tensors have
    different numbers of dimensions.
    """
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    _check_margin(margin)
    dims = anchor.dim(), positive.dim(), negative.dim()
    if len(set(dims)) > 1:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number "
                           f"of dimensions, but got: anchor {dims[0]}D, positive {dims[1]}D, and negative "
                           f"{dims[2]}D inputs")
    distance: Callable[..., Any] = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return _reduced((margin + near - far).clamp_min(0), get_enum(reduction))
