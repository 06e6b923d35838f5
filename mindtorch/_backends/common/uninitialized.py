"""Calls with parameters of lazy modules that have no shape yet: these can only be moved, converted and detached."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._base.about import about
from ..._dispatch.dispatcher import TENSOR_TYPES, resolve
from ..._dispatch.keys import UNINITIALIZED
from ..._dispatch.registry import Operator

CONVERSIONS = {"_to_copy", "to.device", "to.dtype"}  #: whose results have no shape yet either
ALLOWED = {*CONVERSIONS, "copy_", "detach"}


def refusal(name: str) -> Exception:
    """Return the error of an operator that needs a shape."""
    return about(ValueError(
        f"Attempted to use an uninitialized parameter in aten::{name}. This error happens when you are using a "
        "`LazyModule` or explicitly manipulating `torch.nn.parameter.UninitializedParameter` objects. When using "
        "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch functions"),
        "uninitialized parameter")


def on_uninitialized(op: Operator, keys: int) -> Callable[..., Any]:
    """Return the function for a key set without the ``UNINITIALIZED`` key."""

    def call(*args: Any) -> Any:
        if op.name in ALLOWED:
            # ``data`` is a plain tensor without elements
            plain = [arg.data if arg.__class__ in TENSOR_TYPES and arg._keys & UNINITIALIZED else arg for arg in args]
            made = (op.table.get(keys) or resolve(op, keys))(*plain)
            lazy = args[0]
            return lazy.__class__(made.requires_grad, made._device, made._dtype) if op.name in CONVERSIONS else made
        raise refusal(op.name)

    return call
