"""mindtorch: a PyTorch-shaped tensor library whose insides can be seen."""
from __future__ import annotations

from typing import Any

from . import _composite as _composite
from ._api import FUNCTIONS as _FUNCTIONS
from ._autograd import derivatives as _derivatives
from ._autograd.engine import backward as backward
from ._autograd.grad_mode import (
    enable_grad as enable_grad, inference_mode as inference_mode, is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled, no_grad as no_grad, set_grad_enabled as set_grad_enabled,
)  # fmt: skip
from ._backends import cpu as _cpu, meta as _meta
from ._backends.common import convert as _convert, forms as _forms, mixed as _mixed, view as _view
from ._creation import empty as empty, from_numpy as from_numpy, full as full, ones as ones, tensor as tensor, zeros as zeros
from ._device import device as device, get_default_device as get_default_device, set_default_device as set_default_device
from ._dispatch.schemas import registry as registry
from ._dtype import (
    DTYPE_ALIASES as _DTYPE_ALIASES, DTYPES as _DTYPES, DType as dtype, can_cast as can_cast, finfo as finfo,
    get_default_dtype as get_default_dtype, iinfo as iinfo, promote_types as promote_types,
    set_default_dtype as set_default_dtype,
)  # fmt: skip
from ._size import Size as Size
from ._storage import TypedStorage as TypedStorage, UntypedStorage as UntypedStorage
from ._tensor import Tensor as Tensor

__version__ = "0.1.0"
globals().update(_DTYPES)
globals().update(_DTYPE_ALIASES)
globals().update(_FUNCTIONS)
registry.on_define.append(lambda packet: globals().update({packet: _FUNCTIONS[packet]} if packet in _FUNCTIONS else {}))


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'mindtorch' has no attribute '{name}': mindtorch does not have this name of PyTorch")
