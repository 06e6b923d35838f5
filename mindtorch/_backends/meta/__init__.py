"""The meta backend: shapes, dtypes and strides without data.

Its rows decide the outputs on every device: ``registry.meta_rows`` maps an operator's name to a function that checks
the arguments and returns a ``Spec`` for each output, or None for one that was not requested.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..._base.about import about
from ..._base.backend import FLASH, Backend, register
from ..._base.layout import Spec
from ..._device import META
from ..._dispatch.keys import META as META_KEY
from ..._dispatch.registry import Kernel, Operator
from ..._dispatch.return_types import pack
from ..._dispatch.schemas import registry
from ..._tensor import Tensor, empty_tensor
from ..common.inplace_and_out import writing_kernel
from .creation import KERNELS


class MetaBackend(Backend):
    """A device without memory."""

    name, key = "meta", META_KEY

    def kernel(self, op: Operator) -> Kernel | None:
        own = KERNELS.get(op.name)
        if own is not None:
            return Kernel(own, own)
        row = registry.meta_rows.get(op.name)
        if row is None:
            return None
        return Kernel(writing_kernel(row) if op.is_inplace else _describing(op, row), getattr(row, "origin", row))

    def read(self, tensor: Tensor, operation: str) -> np.ndarray:
        if operation in ("item", "bool"):
            raise about(RuntimeError("Tensor.item() cannot be called on meta tensors"), "meta data", self=tensor)
        raise about(NotImplementedError("Cannot copy out of meta tensor; no data!"), "meta data", self=tensor)

    def write(self, target: Tensor, source: Tensor, non_blocking: bool) -> None:
        """Do nothing: there is no memory to write to."""

    def attention_kernel(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> int:
        return FLASH


def _describing(op: Operator, row: Any) -> Any:
    """Return an operator's kernel on meta tensors: tensors of the specifications that its row returns."""

    def kernel(*args: Any) -> Any:
        specs = row(*args)
        if isinstance(specs, Spec):
            return empty_tensor(specs, META)
        return pack(op, [empty_tensor(spec, META) if spec.__class__ is Spec else spec for spec in specs])

    return kernel


register(MetaBackend())
