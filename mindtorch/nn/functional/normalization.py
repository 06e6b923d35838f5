"""Normalisation functions of ``torch.nn.functional``."""
from collections.abc import Sequence
from math import prod

from ..._methods.functions import (
    batch_norm as _batch_norm, group_norm as _group_norm, instance_norm as _instance_norm, layer_norm as _layer_norm,
    rms_norm as _rms_norm,
)
from ..._tensor import Tensor
from .rearrange import pad

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "rms_norm"]
__dir__ = __all__.copy


def _check_batch(size: Sequence[int]) -> None:
    if prod((size[0], *size[2:])) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
               bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """Normalise each channel of (N, C, ...) to mean 0 and variance 1, then multiply it by ``weight`` and add ``bias``,
    of shape (C,) (``torch.nn.functional.batch_norm``). In training the moments are the batch's, and the running ones
    move towards them by ``momentum``; otherwise they are the running ones. Raises ValueError in training, if a channel
    has one value only, or ``eps`` is not positive, and RuntimeError if a parameter has not one element a channel, or a
    running moment is missing.
    """
    if training:
        _check_batch(input.size())
        if eps <= 0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)


def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
                  weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True,
                  momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """Normalise each channel of each sample of (N, C, ...) (``torch.nn.functional.instance_norm``). Raises ValueError
    if a channel of a sample has one element only, or there is one running moment without the other, and RuntimeError if
    running moments are to be used and are missing.
    """
    if use_input_stats and prod(input.size()[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    return _instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False)


def layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
               bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Normalise over the last dimensions, of sizes ``normalized_shape``, then multiply by ``weight`` and add ``bias``,
    which have that shape (``torch.nn.functional.layer_norm``). Raises RuntimeError if the input's last dimensions, or a
    parameter, have other sizes.
    """
    return _layer_norm(input, normalized_shape, weight, bias, eps, False)


def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:
    """Normalise each of ``num_groups`` groups of channels of each sample of (N, C, ...)
    (``torch.nn.functional.group_norm``). Raises RuntimeError if the channels cannot be divided so, or a parameter has
    not one element a channel, and ValueError if a group has one element only.
    """
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    _check_batch([input.size(0) * input.size(1) // num_groups, num_groups, *input.size()[2:]])
    return _group_norm(input, num_groups, weight, bias, eps, False)


def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
             eps: float | None = None) -> Tensor:
    """Divide by the root of the mean square over the last dimensions, of sizes ``normalized_shape``, then multiply by
    ``weight`` (``torch.nn.functional.rms_norm``). ``eps`` defaults to the dtype's. Raises RuntimeError if the input's
    last dimensions, or the weight, have other sizes.
    """
    return _rms_norm(input, normalized_shape, weight, eps)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divide each element of (N, C, ...) by (k + alpha·m)**beta, where m is the mean of the squares of ``size``
    neighbouring channels, zeros beyond the border counted (``torch.nn.functional.local_response_norm``). Raises
    ValueError if the input has fewer than three dimensions.
    """
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality{' ' * 25} input (got {input.dim()} dimensions)")
    if not input.numel():
        return input
    squares = pad(input * input, (*(0, 0) * (input.dim() - 2), size // 2, (size - 1) // 2))
    windows = squares.unfold(1, size, 1)
    near = windows.mean(-1) if input.is_floating_point() else windows.sum(-1) // size
    return input / (near * alpha + k).pow(beta)
