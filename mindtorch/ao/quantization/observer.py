"""Observers: modules that see tensors pass, and choose a scale and a zero point for them
(``torch.ao.quantization.observer``).
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..._base.formats import QSCHEMES
from ..._creation import tensor as tensor_of
from ..._dispatch import aten
from ..._dtype import QUANTIZED, DType, finfo, float32, int8, int32, int64, uint8
from ...nn.module import Module
from .._tensor import limits

QINT8, QUINT8 = QUANTIZED["qint8"], QUANTIZED["quint8"]
BY_TENSOR, BY_CHANNEL = QSCHEMES["per_tensor_affine"], QSCHEMES["per_channel_affine"]
SYMMETRIC = QSCHEMES["per_tensor_symmetric"], QSCHEMES["per_channel_symmetric"]
EPS = finfo(float32).eps
_OF_INTEGERS = {int8: QINT8, uint8: QUINT8, int32: QUANTIZED["qint32"]}


class Partial:
    """A class with some of its arguments: calling it makes an instance, ``with_args`` gives more of them."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self.p = make

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.p(*args, **kwargs)

    def with_args(self, **kwargs: Any) -> Partial:
        """Return the class with more arguments."""
        return Partial(partial(self.p, **kwargs))

    def __repr__(self) -> str:
        return repr(self.p)


class ObserverBase(Module):
    """The base of observers of a quantised dtype (``torch.ao.quantization.ObserverBase``)."""

    def __init__(self, dtype: DType, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    @classmethod
    def with_args(cls, **kwargs: Any) -> Partial:
        """Return the class with some of its arguments (``with_args``)."""
        return Partial(partial(cls, **kwargs))


class MinMaxObserver(ObserverBase):
    """Keeps the least and the greatest number that passed (``torch.ao.quantization.MinMaxObserver``)."""

    min_val: Any
    max_val: Any

    def __init__(self, dtype: DType = QUINT8, qscheme: Any = BY_TENSOR, reduce_range: bool = False,
                 quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: Any = None,
                 eps: float = EPS, is_dynamic: bool = False, **kwargs: Any) -> None:
        super().__init__(dtype, is_dynamic)
        self.qscheme, self.reduce_range = qscheme, reduce_range
        self.register_buffer("eps", tensor_of([eps]))
        least, most = limits(_OF_INTEGERS.get(dtype, dtype))
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if quant_min is not None and quant_max is not None:
            least, most = quant_min, quant_max
        if reduce_range:
            least, most = least // 2, most // 2
        self.quant_min, self.quant_max = least, most
        self.register_buffer("min_val", self._start(float("inf")))
        self.register_buffer("max_val", self._start(float("-inf")))

    def _start(self, value: float) -> Any:
        return tensor_of(value)

    def _range(self, x: Any) -> tuple[Any, Any]:
        return aten.min(x), aten.max(x)

    def forward(self, x_orig: Any) -> Any:
        """Take notice of a tensor, and return it."""
        if x_orig.numel() == 0:
            return x_orig
        x = x_orig.detach().to(self.min_val.dtype)
        self._take(*self._range(x))
        return x_orig

    def _take(self, least: Any, most: Any) -> None:
        self.min_val.copy_(aten.minimum(least, self.min_val))
        self.max_val.copy_(aten.maximum(most, self.max_val))

    def calculate_qparams(self) -> tuple[Any, Any]:
        """Return the scale and the zero point for the numbers that passed."""
        low, high = aten.minimum(self.min_val, self.min_val.new_zeros(())), aten.maximum(
            self.max_val, self.max_val.new_zeros(()))
        if not bool((self.min_val <= self.max_val).all()):  # nothing has passed
            return tensor_of([1.0]), tensor_of([0])
        span = float(self.quant_max - self.quant_min)
        if self.qscheme in SYMMETRIC:
            scale = aten.maximum(aten.maximum(-low, high) / (span / 2), self.eps)
            middle = 128 if self.dtype in (QUINT8, uint8) and not self.has_customized_qrange else (
                (self.quant_min + self.quant_max) // 2 if self.dtype in (QUINT8, uint8) else 0)
            zero_point = aten.full_like(scale, middle).to(int64)
        else:
            scale = aten.maximum((high - low) / span, self.eps)
            zero_point = (self.quant_min - (low / scale).round().to(int32)).clamp(self.quant_min, self.quant_max)
        return (scale.reshape(-1), zero_point.reshape(-1)) if scale.ndim == 0 else (scale, zero_point)

    def reset_min_max_vals(self) -> None:
        """Forget what passed."""
        self.min_val, self.max_val = self._start(float("inf")), self._start(float("-inf"))

    def extra_repr(self) -> str:
        """Return the range that passed."""
        return f"min_val={self.min_val}, max_val={self.max_val}"


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Averages the least and the greatest number of each tensor
    (``torch.ao.quantization.MovingAverageMinMaxObserver``).
    """

    def __init__(self, averaging_constant: float = 0.01, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.averaging_constant = averaging_constant

    def _take(self, least: Any, most: Any) -> None:
        if self.min_val.numel() == 0 or bool((self.min_val == float("inf")).all()):
            self.min_val, self.max_val = least.clone(), most.clone()
            return
        self.min_val.copy_(self.min_val + self.averaging_constant * (least - self.min_val))
        self.max_val.copy_(self.max_val + self.averaging_constant * (most - self.max_val))


class PerChannelMinMaxObserver(MinMaxObserver):
    """Keeps the least and the greatest number for each index of a dimension
    (``torch.ao.quantization.PerChannelMinMaxObserver``).
    """

    def __init__(self, ch_axis: int = 0, dtype: DType = QUINT8, qscheme: Any = BY_CHANNEL, **kwargs: Any) -> None:
        super().__init__(dtype=dtype, qscheme=qscheme, **kwargs)
        self.ch_axis = ch_axis

    def _start(self, value: float) -> Any:
        return tensor_of([])

    def _range(self, x: Any) -> tuple[Any, Any]:
        rows = x.movedim(self.ch_axis, 0).reshape(x.shape[self.ch_axis], -1)
        return rows.amin(1), rows.amax(1)

    def _take(self, least: Any, most: Any) -> None:
        if self.min_val.numel() == 0:
            self.min_val, self.max_val = least.clone(), most.clone()
        else:
            super()._take(least, most)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Averages the least and the greatest number of each channel
    (``torch.ao.quantization.MovingAveragePerChannelMinMaxObserver``).
    """

    def __init__(self, averaging_constant: float = 0.01, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.averaging_constant = averaging_constant

    _take = MovingAverageMinMaxObserver._take


class PlaceholderObserver(ObserverBase):
    """Stands where an observer is expected, and observes nothing (``torch.ao.quantization.PlaceholderObserver``)."""

    def __init__(self, dtype: DType = float32, custom_op_name: str = "", compute_dtype: DType | None = None,
                 quant_min: int | None = None, quant_max: int | None = None, qscheme: Any = None,
                 eps: float | None = None, is_dynamic: bool = False) -> None:
        super().__init__(dtype, is_dynamic)
        self.qscheme = BY_TENSOR if qscheme is None else qscheme
        self.quant_min, self.quant_max, self.custom_op, self.eps = quant_min, quant_max, custom_op_name, eps

    def forward(self, x: Any) -> Any:
        """Return the tensor."""
        return x

    def calculate_qparams(self) -> None:
        """Raise an error: it has observed nothing."""
        raise Exception("calculate_qparams should not be called for PlaceholderObserver")


class NoopObserver(PlaceholderObserver):
    """Observes nothing (``torch.ao.quantization.NoopObserver``)."""


class RecordingObserver(ObserverBase):
    """Keeps the tensors that passed (``torch.ao.quantization.RecordingObserver``)."""

    def __init__(self, dtype: DType = QUINT8) -> None:
        super().__init__(dtype)
        self.tensor_val: list[Any] = []

    def forward(self, x: Any) -> Any:
        """Keep a copy of the tensor, and return it."""
        self.tensor_val.append(x.clone())
        return x

    def get_tensor_value(self) -> list[Any]:
        """Return the copies."""
        return self.tensor_val


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_weight_observer = MinMaxObserver.with_args(dtype=QINT8, qscheme=QSCHEMES["per_tensor_symmetric"])
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=QINT8, qscheme=QSCHEMES["per_channel_symmetric"])
default_dynamic_quant_observer = PlaceholderObserver.with_args(dtype=QUINT8, quant_min=0, quant_max=255,
                                                               is_dynamic=True)
