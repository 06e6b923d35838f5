"""The meta kernels, a module per family."""
from __future__ import annotations

from ...._dispatch.schemas import registry

#: By operator name: a function of the operator's arguments that checks them and returns a ``Spec`` for each output.
META_KERNELS = registry.meta_rows
META_KERNELS.written_in(__name__, __path__)
