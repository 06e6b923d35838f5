"""Which observers a layer is quantised by (``torch.ao.quantization.qconfig``)."""
from __future__ import annotations

from typing import Any, NamedTuple

from .observer import (
    default_dynamic_quant_observer, default_observer, default_per_channel_weight_observer, default_weight_observer,
)


class QConfig(NamedTuple):
    """The makers of the observers of activations and of weights (``torch.ao.quantization.QConfig``)."""

    activation: Any
    weight: Any


default_qconfig = QConfig(default_observer, default_weight_observer)
default_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_weight_observer)
per_channel_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_per_channel_weight_observer)
