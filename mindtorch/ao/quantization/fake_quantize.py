"""Fake quantisation: numbers that are rounded as quantisation would, in training
(``torch.ao.quantization.fake_quantize``).
"""
from __future__ import annotations

from functools import partial
from typing import Any

from ..._base.formats import QSCHEMES
from ..._creation import tensor as tensor_of
from ..._dispatch.aten import fake_quantize_per_channel_affine, fake_quantize_per_tensor_affine_tensor_qparams
from ..._dtype import QUANTIZED, int32, uint8
from ...nn.module import Module
from .observer import MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver, Partial


class FakeQuantizeBase(Module):
    """The base of modules that round numbers, with switches for rounding and for observing
    (``torch.ao.quantization.FakeQuantizeBase``).
    """

    fake_quant_enabled: Any
    observer_enabled: Any

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", tensor_of([1], dtype=uint8))
        self.register_buffer("observer_enabled", tensor_of([1], dtype=uint8))

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Switch rounding on."""
        self.fake_quant_enabled[0] = int(enabled)

    def disable_fake_quant(self) -> None:
        """Switch rounding off."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Switch observing on."""
        self.observer_enabled[0] = int(enabled)

    def disable_observer(self) -> None:
        """Switch observing off."""
        self.enable_observer(False)

    @classmethod
    def with_args(cls, **kwargs: Any) -> Any:
        """Return the class with some of its arguments."""
        return Partial(partial(cls, **kwargs))


class FakeQuantize(FakeQuantizeBase):
    """Observes numbers, and rounds them to those that integers will stand for
    (``torch.ao.quantization.FakeQuantize``).
    """

    scale: Any
    zero_point: Any

    def __init__(self, observer: Any = MovingAverageMinMaxObserver, quant_min: int | None = None,
                 quant_max: int | None = None, is_dynamic: bool = False, **observer_kwargs: Any) -> None:
        super().__init__()
        if quant_min is not None and quant_max is not None:
            if quant_min > quant_max:
                raise AssertionError("quant_min must be less than or equal to quant_max")
            observer_kwargs |= {"quant_min": quant_min, "quant_max": quant_max}
        self.activation_post_process: Any = observer(**observer_kwargs)
        self.quant_min, self.quant_max = self.activation_post_process.quant_min, self.activation_post_process.quant_max
        self.is_dynamic = is_dynamic
        self.register_buffer("scale", tensor_of([1.0]))
        self.register_buffer("zero_point", tensor_of([0], dtype=int32))
        self.dtype, self.qscheme = self.activation_post_process.dtype, self.activation_post_process.qscheme
        self.ch_axis = getattr(self.activation_post_process, "ch_axis", -1)
        self.is_per_channel = self.qscheme in (QSCHEMES["per_channel_affine"], QSCHEMES["per_channel_symmetric"])

    def calculate_qparams(self) -> tuple[Any, Any]:
        """Return the scale and the zero point of the observer."""
        return self.activation_post_process.calculate_qparams()

    def forward(self, X: Any) -> Any:
        """Observe a tensor, and return it rounded, each as it is switched on."""
        if self.observer_enabled[0] == 1:
            self.activation_post_process(X.detach())
            scale, zero_point = self.calculate_qparams()
            self.scale, self.zero_point = scale.to(self.scale.device), zero_point.to(self.zero_point.device).to(int32)
        if self.fake_quant_enabled[0] != 1:
            return X
        if self.is_per_channel:
            return fake_quantize_per_channel_affine(X, self.scale, self.zero_point, self.ch_axis,
                                                    self.activation_post_process.quant_min,
                                                    self.activation_post_process.quant_max)
        return fake_quantize_per_tensor_affine_tensor_qparams(
            X, self.scale, self.zero_point, self.activation_post_process.quant_min,
            self.activation_post_process.quant_max)

    def extra_repr(self) -> str:
        """Return the switches, and how numbers are rounded."""
        return (f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
                f"quant_min={self.activation_post_process.quant_min}, "
                f"quant_max={self.activation_post_process.quant_max}, dtype={self.dtype}, qscheme={self.qscheme}, "
                f"ch_axis={self.ch_axis}, scale={self.scale}, zero_point={self.zero_point}")


default_fake_quant = FakeQuantize.with_args(observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255,
                                            dtype=QUANTIZED["quint8"], qscheme=QSCHEMES["per_tensor_affine"],
                                            reduce_range=True)
default_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=QUANTIZED["qint8"],
    qscheme=QSCHEMES["per_tensor_symmetric"], reduce_range=False)
default_per_channel_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, quant_min=-128, quant_max=127, dtype=QUANTIZED["qint8"],
    qscheme=QSCHEMES["per_channel_symmetric"], reduce_range=False, ch_axis=0)


def disable_fake_quant(mod: Any) -> None:
    """Switch rounding off in a module that has it, for ``Module.apply``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_fake_quant()


def enable_fake_quant(mod: Any) -> None:
    """Switch rounding on in a module that has it, for ``Module.apply``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_fake_quant()


def disable_observer(mod: Any) -> None:
    """Switch observing off in a module that has it, for ``Module.apply``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_observer()


def enable_observer(mod: Any) -> None:
    """Switch observing on in a module that has it, for ``Module.apply``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_observer()
