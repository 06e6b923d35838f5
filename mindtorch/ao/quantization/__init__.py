"""Observers, fake quantisation, and dynamically quantised layers: ``torch.ao.quantization``."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._base.lazy import lazily
from ..._base.left_out import Absent

if TYPE_CHECKING:
    from .fake_quantize import (
        FakeQuantize as FakeQuantize, FakeQuantizeBase as FakeQuantizeBase, default_fake_quant as default_fake_quant,
        default_per_channel_weight_fake_quant as default_per_channel_weight_fake_quant,
        default_weight_fake_quant as default_weight_fake_quant, disable_fake_quant as disable_fake_quant,
        disable_observer as disable_observer, enable_fake_quant as enable_fake_quant,
        enable_observer as enable_observer,
    )
    from .observer import (
        MinMaxObserver as MinMaxObserver, MovingAverageMinMaxObserver as MovingAverageMinMaxObserver,
        MovingAveragePerChannelMinMaxObserver as MovingAveragePerChannelMinMaxObserver, NoopObserver as NoopObserver,
        ObserverBase as ObserverBase, PerChannelMinMaxObserver as PerChannelMinMaxObserver,
        PlaceholderObserver as PlaceholderObserver, RecordingObserver as RecordingObserver,
        default_observer as default_observer,
        default_per_channel_weight_observer as default_per_channel_weight_observer,
        default_placeholder_observer as default_placeholder_observer,
        default_weight_observer as default_weight_observer,
    )
    from .qconfig import (
        QConfig as QConfig, default_dynamic_qconfig as default_dynamic_qconfig, default_qconfig as default_qconfig,
        per_channel_dynamic_qconfig as per_channel_dynamic_qconfig,
    )
    from .quantize import quantize_dynamic as quantize_dynamic
    from .stubs import DeQuantStub as DeQuantStub, QuantStub as QuantStub, QuantWrapper as QuantWrapper

_getattr, __dir__ = lazily(__name__, __file__)
if not TYPE_CHECKING:
    _absent = Absent("ao.quantization")

    def __getattr__(name: str) -> Any:
        """Return a name, or what stands for one that is left out and raises the reason when it is called."""
        try:
            return _getattr(name)
        except AttributeError:
            return getattr(_absent, name)
