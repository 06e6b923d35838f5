"""Activation functions of ``torch.nn.functional``. With ``inplace`` they write into their input."""
import warnings
from math import isfinite
from typing import Any

from ..._base.call_site import outside
from ..._creation import empty_like, zeros_like
from ..._methods.functions import (
    celu as _celu, celu_, elu as _elu, elu_, gelu, glu as _glu, hardshrink, hardsigmoid as _hardsigmoid,
    hardsigmoid_ as _hardsigmoid_, hardswish as _hardswish, hardswish_ as _hardswish_, hardtanh as _hardtanh, hardtanh_,
    leaky_relu as _leaky_relu, leaky_relu_, log_sigmoid as logsigmoid, log_softmax as _log_softmax, mish as _mish,
    mish_ as _mish_, prelu, relu as _relu, relu6 as _relu6, relu_, rrelu as _rrelu, rrelu_, selu as _selu, selu_,
    sigmoid, silu as _silu, silu_ as _silu_, softmax as _softmax, softplus, softshrink, tanh, threshold as _threshold,
    threshold_,
)
from ..._tensor import Tensor

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish",
    "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "prelu", "relu",
    "relu6", "relu_", "rrelu", "rrelu_", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus",
    "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "threshold_",
]
__dir__ = __all__.copy


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Replace each element by max(0, x) (``torch.nn.functional.relu``)."""
    return relu_(input) if inplace else _relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Limit each element to [0, 6] (``torch.nn.functional.relu6``)."""
    return hardtanh_(input, 0, 6) if inplace else _relu6(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Replace elements that are not greater than ``threshold`` by ``value`` (``torch.nn.functional.threshold``)."""
    return (threshold_ if inplace else _threshold)(input, threshold, value)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Limit each element to [min_val, max_val] (``torch.nn.functional.hardtanh``); ValueError if min_val > max_val."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return (hardtanh_ if inplace else _hardtanh)(input, min_val, max_val)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Keep positive elements, and replace the others by alpha·(exp(x) - 1) (``torch.nn.functional.elu``)."""
    return (elu_ if inplace else _elu)(input, alpha)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Multiply the first half along ``dim`` by the sigmoid of the second (``torch.nn.functional.glu``). Raises
    RuntimeError for a scalar, and for a size that is odd.
    """
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _glu(input, dim)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Apply the self-normalising ``elu``, scaled by a constant (``torch.nn.functional.selu``)."""
    return (selu_ if inplace else _selu)(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Compute max(0, x) + min(0, alpha·(exp(x / alpha) - 1)) for each element (``torch.nn.functional.celu``)."""
    return (celu_ if inplace else _celu)(input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Keep positive elements, and multiply the others by ``negative_slope`` (``torch.nn.functional.leaky_relu``)."""
    return (leaky_relu_ if inplace else _leaky_relu)(input, negative_slope)


def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
          inplace: bool = False) -> Tensor:
    """Apply ``leaky_relu`` with slopes drawn from [lower, upper), in training (``torch.nn.functional.rrelu``). Raises
    RuntimeError if a bound is not finite, or the lower one is above the upper one.
    """
    apply = rrelu_ if inplace else _rrelu
    for name, bound in (("lower", lower), ("upper", upper)):
        if not isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound}")
    return apply(input, lower, upper, training)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Compute x / 6 + 1/2, limited to [0, 1], for each element (``torch.nn.functional.hardsigmoid``)."""
    return (_hardsigmoid_ if inplace else _hardsigmoid)(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Compute x·hardsigmoid(x) for each element (``torch.nn.functional.hardswish``)."""
    return (_hardswish_ if inplace else _hardswish)(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Compute x·sigmoid(x) for each element (``torch.nn.functional.silu``)."""
    return (_silu_ if inplace else _silu)(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Compute x·tanh(softplus(x)) for each element (``torch.nn.functional.mish``)."""
    return (_mish_ if inplace else _mish)(input)


def tanhshrink(input: Tensor) -> Tensor:
    """Compute x - tanh(x) for each element (``torch.nn.functional.tanhshrink``)."""
    return input - input.tanh()


def softsign(input: Tensor) -> Tensor:
    """Compute x / (1 + |x|) for each element (``torch.nn.functional.softsign``)."""
    return input / (input.abs() + 1)


# -- over a dimension ----------------------------------------------------------------------------------------


def _dim(name: str, input: Tensor, dim: int | None) -> int:
    """Return a call's dimension, or PyTorch's default, with its warning."""
    if dim is not None:
        return dim
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
                  "argument.", stacklevel=outside())
    return 0 if input.dim() in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Divide exp(x), in ``dtype`` if given, by its sum along ``dim`` (``torch.nn.functional.softmax``)."""
    return _softmax(input, _dim("softmax", input, dim), dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Apply ``softmax`` to -x (``torch.nn.functional.softmin``)."""
    return _softmax(-input, _dim("softmin", input, dim), dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Compute the logarithm of ``softmax`` without its loss of accuracy (``torch.nn.functional.log_softmax``)."""
    return _log_softmax(input, _dim("log_softmax", input, dim), dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Draw a sample of the Gumbel-softmax distribution along ``dim`` (``torch.nn.functional.gumbel_softmax``). If
    ``hard``, it is one-hot and has the soft sample's gradient.
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=outside())
    noise = -empty_like(logits.detach().contiguous()).exponential_().log()
    soft = _softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = soft.max(dim, keepdim=True)[1]
    return zeros_like(soft).scatter_(dim, chosen, 1.0) - soft.detach() + soft
