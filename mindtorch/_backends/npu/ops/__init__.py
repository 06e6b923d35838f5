"""The NPU kernels: ATen operators by ACLNN operators, a module per family."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._dispatch.schemas import registry
from ...._dispatch.tables import FamilyTable
from .. import creation

#: By operator name: how ACLNN computes it. Its modules are few, and are loaded together.
ACLNN_CALLS = FamilyTable(registry)
ACLNN_CALLS.written_in(__name__, __path__, together=True)
#: Operators that are more than one call of ACLNN: functions of tensors.
KERNELS: dict[str, Callable[..., Any]] = {**creation.KERNELS}
