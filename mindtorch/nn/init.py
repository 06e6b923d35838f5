"""Initial values of parameters; mirrors ``torch.nn.init``, and draws the same numbers from the same seed.

All write into their tensor without recording it, and return it.
"""
from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .._autograd.grad_mode import no_grad
from .._creation import empty_like, eye as _eye, from_numpy
from .._creation.random import randperm
from .._tensor import Tensor

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_",
    "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]
__dir__ = __all__.copy


_GAINS = {"linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "conv_transpose1d": 1.0, "conv_transpose2d": 1.0,
          "conv_transpose3d": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}


def calculate_gain(nonlinearity: str, param: int | float | None = None) -> float:
    """Return the recommended factor of the standard deviation for a nonlinearity (``torch.nn.init.calculate_gain``).
    Raises ValueError if the nonlinearity is unknown, or the slope of ``leaky_relu`` is not a number.
    """
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    if param is None:
        param = 0.01
    elif isinstance(param, bool) or not isinstance(param, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (1 + param**2))


# -- plain distributions and constants -----------------------------------------------------------------------


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill the tensor with uniform numbers in [a, b) (``torch.nn.init.uniform_``)."""
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill the tensor with normal numbers of the given mean and standard deviation (``torch.nn.init.normal_``)."""
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill the tensor with ``val`` (``torch.nn.init.constant_``)."""
    return tensor.fill_(val)


@no_grad()
def ones_(tensor: Tensor) -> Tensor:
    """Fill the tensor with ones (``torch.nn.init.ones_``)."""
    return tensor.fill_(1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """Fill the tensor with zeros (``torch.nn.init.zeros_``)."""
    return tensor.zero_()


@no_grad()
def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
                  generator: Any = None) -> Tensor:
    """Fill the tensor with normal numbers, drawn again where outside [a, b] (``torch.nn.init.trunc_normal_``)."""
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
                      "values may be incorrect.", stacklevel=2)
    below_a, below_b = ((1 + math.erf((bound - mean) / std / math.sqrt(2))) / 2 for bound in (a, b))
    if below_b - below_a > 0.3:
        return _redrawn_normal(tensor, mean, std, a, b, generator)
    return _rejected_uniform(tensor, mean, std, a, b, generator)


def _redrawn_normal(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> Tensor:
    """Draw normal numbers, again while any lies outside the bounds; most lie inside at once."""
    low, high = tensor.new_tensor(a, device="cpu").item(), tensor.new_tensor(b, device="cpu").item()
    result = tensor.normal_(mean, std, generator=generator)
    while bool((outside := (result < low) | (result > high)).any()):
        result = empty_like(result).normal_(mean, std, generator=generator).where(outside, result)
    return tensor if result is tensor else tensor.copy_(result)


def _rejected_uniform(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> Tensor:
    """Uniform numbers, each kept with a chance proportional to the density: for an interval far out."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def rejected(values: Any) -> Any:
        log_density = values.sub(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        return empty_like(values).uniform_(generator=generator).log_().gt(log_density)

    result = tensor.uniform_(a, b, generator=generator)
    pending = rejected(result)
    while bool(pending.any()):
        candidates = empty_like(tensor).uniform_(a, b, generator=generator)
        result = candidates.where(pending, result)
        pending = rejected(candidates) & pending
    return tensor if result is tensor else tensor.copy_(result)


# -- patterns ------------------------------------------------------------------------------------------------


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Make a matrix the identity (``torch.nn.init.eye_``); ValueError if the tensor is not a matrix."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(_eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Make a convolution's weight hand on its input's channels, in each of ``groups`` (``torch.nn.init.dirac_``).
    Raises ValueError if the weight is not 3, 4 or 5-dimensional, or ``groups`` does not divide dimension 0.
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    if tensor.is_meta:
        return tensor
    tensor.zero_()
    outputs = tensor.shape[0] // groups
    middle = tuple(size // 2 for size in tensor.shape[2:])
    for group in range(groups):
        for channel in range(min(outputs, tensor.shape[1])):
            tensor[(group * outputs + channel, channel, *middle)] = 1
    return tensor


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Make rows (dimension 0) orthogonal, times ``gain`` (``torch.nn.init.orthogonal_``); ValueError below 2-d."""
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.shape[0]
    drawn = tensor.new_empty((rows, tensor.numel() // rows)).normal_(0, 1, generator=generator).cpu().numpy()
    wide = drawn.shape[0] < drawn.shape[1]
    q, r = np.linalg.qr(drawn.T if wide else drawn)
    # makes the distribution uniform, and the result independent of LAPACK's signs
    q = q * np.sign(np.diagonal(r))
    matrix = from_numpy(np.ascontiguousarray(q.T if wide else q))
    return tensor.copy_(matrix.view(tensor.shape)).mul_(gain)


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix with normal numbers, part of each column with 0 (``torch.nn.init.sparse_``); ValueError if none."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[randperm(rows)[:math.ceil(sparsity * rows)], column] = 0
    return tensor


# -- scaled by the number of inputs and outputs --------------------------------------------------------------


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Return how many inputs and outputs a weight ties to an element; ValueError below 2-d."""
    if not hasattr(tensor, "ndim"):
        raise AttributeError("the argument 'tensor' of an initialisation must be Tensor, but "
                             f"{type(tensor).__name__!r} object has no attribute 'dim'")
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    receptive_field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * receptive_field, tensor.shape[0] * receptive_field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill the weight with uniform numbers, ±gain·sqrt(6 / (fan_in + fan_out)) (``torch.nn.init.xavier_uniform_``).
    Raises ValueError if the weight has less than 2 dimensions.
    """
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill normally, σ = gain·sqrt(2 / (fan_in + fan_out)) (``torch.nn.init.xavier_normal_``); ValueError below 2-d."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """Return the gain over the root of the fan, or None, with a warning, for a tensor without elements."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                     generator: Any = None) -> Tensor:
    """Fill the weight with uniform numbers in ±gain(a)·sqrt(3 / fan) (``torch.nn.init.kaiming_uniform_``). Raises
    ValueError if the mode or the nonlinearity is unknown, or the weight has less than 2 dimensions.
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                    generator: Any = None) -> Tensor:
    """Fill the weight with normal numbers of deviation gain(a) / sqrt(fan) (``torch.nn.init.kaiming_normal_``). Raises
    ValueError if the mode or the nonlinearity is unknown, or the weight has less than 2 dimensions.
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


def _uniform_by_fan_in(weight: Tensor, bias: Tensor | None) -> None:
    """Fill weight and bias with uniform numbers in ±1 / sqrt(fan_in), as linear layers and convolutions begin."""
    kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        fan_in, _ = _calculate_fan_in_and_fan_out(weight)
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        uniform_(bias, -bound, bound)


# -- the names of before -------------------------------------------------------------------------------------


def _deprecated(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    name = function.__name__[:-1]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    call.__name__ = name
    return call


uniform, normal, constant = _deprecated(uniform_), _deprecated(normal_), _deprecated(constant_)
eye, dirac = _deprecated(eye_), _deprecated(dirac_)
sparse, orthogonal = _deprecated(sparse_), _deprecated(orthogonal_)
xavier_uniform, xavier_normal = _deprecated(xavier_uniform_), _deprecated(xavier_normal_)
kaiming_uniform, kaiming_normal = _deprecated(kaiming_uniform_), _deprecated(kaiming_normal_)
