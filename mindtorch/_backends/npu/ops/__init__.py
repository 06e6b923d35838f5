"""The rows of the NPU backend: ATen operators by ACLNN operators, one row an operator, by family."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import creation
from . import activation, linalg, nn, pointwise, random, reduction, shape
from .row import Aclnn

ROWS: dict[str, Aclnn] = {}
#: Operators that are more than one call of ACLNN: functions of tensors.
KERNELS: dict[str, Callable[..., Any]] = {**creation.KERNELS}
for _family in (activation, linalg, nn, pointwise, random, reduction, shape):
    ROWS.update(_family.ROWS)
