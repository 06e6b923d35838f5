"""The rows of the NPU backend: ATen operators by ACLNN operators, one row an operator, by family."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import creation
from . import basic
from .row import Aclnn

ROWS: dict[str, Aclnn] = {}
#: Operators that are more than one call of ACLNN: functions of tensors.
KERNELS: dict[str, Callable[..., Any]] = {**creation.KERNELS}
for _family in (basic,):
    ROWS.update(_family.ROWS)
