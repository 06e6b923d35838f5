"""Activation modules, as ``torch.nn.modules.activation``. Each wraps the function of its name."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..._creation import full
from ..._tensor import Tensor
from .. import functional as F
from .. import init as _init
from ..module import Module
from ..parameter import Parameter


class _Activation(Module):
    """A module that calls one function with its settings, which ``__constants__`` names in that order."""

    function: Callable[..., Tensor]

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.__dict__.update(settings)

    def forward(self, input: Tensor) -> Tensor:
        settings = self.__dict__
        return self.function(input, *[settings[name] for name in self.__constants__])

    def extra_repr(self) -> str:
        shown = [name for name in self.__constants__ if name != "inplace" or self.inplace]
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)


class _Silent(_Activation):
    """An activation whose repr shows no settings."""

    def extra_repr(self) -> str:
        return ""


class ReLU(_Activation):
    """max(0, x)."""

    __constants__ = ("inplace",)
    function = staticmethod(F.relu)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class Threshold(_Activation):
    """x where it is greater than ``threshold``, else ``value``."""

    __constants__ = ("threshold", "value", "inplace")
    function = staticmethod(F.threshold)

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(threshold=threshold, value=value, inplace=inplace)


class RReLU(_Activation):
    """``LeakyReLU`` with slopes drawn from [lower, upper) in training, their mean otherwise."""

    __constants__ = ("lower", "upper", "inplace")

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__(lower=lower, upper=upper, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Hardtanh(_Activation):
    """x limited to [min_val, max_val].

    Raises:
        AssertionError: if the interval is empty.
    """

    __constants__ = ("min_val", "max_val", "inplace")
    function = staticmethod(F.hardtanh)

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False,
                 min_value: float | None = None, max_value: float | None = None) -> None:
        for old, new, value in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if value is not None:
                warnings.warn(f"keyword argument `{old}` is deprecated and rename to `{new}`", FutureWarning,
                              stacklevel=2)
        super().__init__(min_val=min_val if min_value is None else min_value,
                         max_val=max_val if max_value is None else max_value, inplace=inplace)
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")


class ReLU6(Hardtanh):
    """min(max(0, x), 6)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class Tanh(Module):
    """tanh(x)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class LogSigmoid(Module):
    """log(sigmoid(x)), without loss of accuracy."""

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(Module):
    """x / (1 + |x|)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Hardsigmoid(_Silent):
    """x / 6 + 1/2, limited to [0, 1]."""

    __constants__ = ("inplace",)
    function = staticmethod(F.hardsigmoid)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class Hardswish(_Silent):
    """x·hardsigmoid(x)."""

    __constants__ = ("inplace",)
    function = staticmethod(F.hardswish)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class SiLU(_Activation):
    """x·sigmoid(x)."""

    __constants__ = ("inplace",)
    function = staticmethod(F.silu)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class Mish(_Activation):
    """x·tanh(softplus(x))."""

    __constants__ = ("inplace",)
    function = staticmethod(F.mish)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class ELU(_Activation):
    """x where positive, else alpha·(exp(x) - 1)."""

    __constants__ = ("alpha", "inplace")
    function = staticmethod(F.elu)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha, inplace=inplace)


class CELU(_Activation):
    """max(0, x) + min(0, alpha·(exp(x / alpha) - 1))."""

    __constants__ = ("alpha", "inplace")
    function = staticmethod(F.celu)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha, inplace=inplace)


class SELU(_Activation):
    """The self-normalising scaled ``ELU``."""

    __constants__ = ("inplace",)
    function = staticmethod(F.selu)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class GLU(_Activation):
    """The first half along ``dim`` times the sigmoid of the second."""

    __constants__ = ("dim",)
    function = staticmethod(F.glu)

    def __init__(self, dim: int = -1) -> None:
        super().__init__(dim=dim)


class GELU(_Activation):
    """x times the normal distribution function of x; ``approximate='tanh'`` for its usual approximation."""

    __constants__ = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__(approximate=approximate)

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input) if self.approximate == "none" else F.gelu(input, approximate=self.approximate)


class LeakyReLU(_Activation):
    """x where positive, else negative_slope·x."""

    __constants__ = ("negative_slope", "inplace")
    function = staticmethod(F.leaky_relu)

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__(negative_slope=negative_slope, inplace=inplace)


class Hardshrink(_Activation):
    """x where |x| > lambd, else 0."""

    __constants__ = ("lambd",)
    function = staticmethod(F.hardshrink)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Softshrink(_Activation):
    """x moved by lambd towards 0, and 0 where |x| <= lambd."""

    __constants__ = ("lambd",)
    function = staticmethod(F.softshrink)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Softplus(_Activation):
    """log(1 + exp(beta·x)) / beta; x itself where beta·x > threshold."""

    __constants__ = ("beta", "threshold")
    function = staticmethod(F.softplus)

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__(beta=beta, threshold=threshold)


class PReLU(Module):
    """``LeakyReLU`` with a learnt slope, or one a channel."""

    __constants__ = ("num_parameters",)

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(full((num_parameters,), float(init), device=device, dtype=dtype))

    def reset_parameters(self) -> None:
        """Set the slopes back to ``init``."""
        _init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class _OverDim(Module):
    """A softmax: its warning about a missing dimension points at the caller of the module."""

    __constants__ = ("dim",)
    function: Callable[..., Tensor]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return self.function(input, self.dim, 5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_OverDim):
    """exp(x) over its sum along ``dim``."""

    function = staticmethod(F.softmax)


class Softmin(_OverDim):
    """``Softmax`` of -x."""

    function = staticmethod(F.softmin)


class LogSoftmax(_OverDim):
    """The logarithm of ``Softmax``, without loss of accuracy."""

    function = staticmethod(F.log_softmax)


class Softmax2d(Module):
    """``Softmax`` over the channels of (N, C, H, W) or (C, H, W).

    Raises:
        ValueError: for any other number of dimensions, when it is called.
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)
