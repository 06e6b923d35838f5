"""Layers replaced by quantised ones (``torch.ao.quantization.quantize``)."""
from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from ..._dtype import QUANTIZED, DType
from ...nn.modules import LSTM, Linear
from ..nn.quantized import dynamic
from .qconfig import QConfig, default_dynamic_qconfig

#: Which quantised layer takes the place of a layer.
DYNAMIC: dict[Any, Any] = {Linear: dynamic.Linear, LSTM: dynamic.LSTM}


def quantize_dynamic(model: Any, qconfig_spec: Any = None, dtype: DType = QUANTIZED["qint8"],
                     mapping: Mapping[Any, Any] | None = None, inplace: bool = False) -> Any:
    """Return a copy of a model (or, ``inplace``, the model) whose Linear and LSTM layers have int8 weights, and
    quantise their inputs at each call (``torch.ao.quantization.quantize_dynamic``).

    ``qconfig_spec`` is a set of the layers' types or names, or a dictionary of these and their ``QConfig``. Raises
    ValueError for dtypes other than qint8.
    """
    if dtype is not QUANTIZED["qint8"]:
        raise ValueError(f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig please: "
                         "weights are quantised to torch.qint8 here")
    given = {Linear, LSTM} if qconfig_spec is None else qconfig_spec
    chosen = given if isinstance(given, dict) else dict.fromkeys(given, default_dynamic_qconfig)
    model = model if inplace else copy.deepcopy(model)
    model.eval()
    return _replaced(model, "", chosen, DYNAMIC if mapping is None else mapping, None)


def _replaced(module: Any, name: str, chosen: Mapping[Any, QConfig], mapping: Mapping[Any, Any],
              above: QConfig | None) -> Any:
    """Return the layer that takes the place of a module, or the module with its own parts replaced."""
    config = chosen.get(name, chosen.get(type(module), above))
    if config is not None and type(module) in mapping:
        module.qconfig = config
        return mapping[type(module)].from_float(module)
    for part, child in list(module.named_children()):
        named = chosen.get(f"{name}.{part}".lstrip("."), None)
        setattr(module, part, _replaced(child, f"{name}.{part}".lstrip("."), chosen, mapping, named or above))
    return module
