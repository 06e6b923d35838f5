"""The meta backend: shapes, dtypes and strides without data.

Its rows are the truth about outputs on every device: ``registry.meta_rows`` maps an operator's name to a function
of its arguments that checks them and returns a ``Spec`` for each output.
"""
from __future__ import annotations

from typing import Any

from ..._device import META
from ..._dispatch.dispatcher import registry
from ..._dispatch.keys import META as META_KEY
from ..._dispatch.registry import Kernel, Operator
from ..._tensor import empty_tensor
from ..common.forms import writing_kernel
from ..._layout import Spec
from ..._dispatch.return_types import pack
from . import creation, ops

registry.meta_rows.update(ops.ROWS)


def _adapt(op: Operator, backend: int) -> Kernel | None:
    """A kernel on meta tensors from the operator's row."""
    row = registry.meta_rows.get(op.name)
    if backend != META_KEY or row is None:
        return None
    if op.is_inplace:
        return Kernel(writing_kernel(row), row)

    def kernel(*args: Any) -> Any:
        specs = row(*args)
        if isinstance(specs, Spec):
            return empty_tensor(specs, META)
        return pack(op, [empty_tensor(spec, META) for spec in specs])

    return Kernel(kernel, getattr(row, "origin", row))


registry.add_finder(_adapt)
__all__ = ["creation", "ops"]
