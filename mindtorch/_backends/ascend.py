"""The Ascend backend under the name of the chip: its public names, its parts, and its operators and factories by name.

``add`` and all other operators are those of ``torch.ops.aten``; ``sum_`` is ``sum``. ``zeros_create`` and its like are
factories whose device is an NPU unless another one is given.
"""
from functools import partial

from .._creation import empty, full, ones, tensor, zeros
from .._dispatch.dispatcher import registry
from .._dispatch.overloads import OpOverloadPacket, packet_of
from .npu import creation as creation, ops as ops
from .npu.api import *  # noqa: F403
from .npu.api import __all__ as _public, _model_dir as _model_dir, _probe_model_dirs as _probe_model_dirs, get_runtime
from .npu.runtime import _Runtime as _Runtime

__all__ = [*_public, "get_runtime"]
empty_create, full_create, ones_create, tensor_create, zeros_create = (
    partial(factory, device="npu") for factory in (empty, full, ones, tensor, zeros))


def __getattr__(name: str) -> OpOverloadPacket:
    packet = "sum" if name == "sum_" else name
    if packet not in registry.packets:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return packet_of("aten", packet)
