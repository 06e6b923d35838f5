"""The ACLNN operators that mindtorch calls, one row per operator, by family. `bindings.py` says how a row reads.

Dtypes are those of the Atlas A2 (Ascend 910B) in CANN's operator documentation and, where that names only what all
products have in common, in the checks of the operators' sources (the repositories ops-math, ops-nn, ops-cv and
ops-transformer).
"""
from __future__ import annotations

from . import (
    activation, attention, comparison, creation, foreach, indexing, linalg, nn, pointwise, reduction, shape, sorting,
    windows,
)

TABLE = "".join(family.SIGNATURES for family in (pointwise, comparison, activation, reduction, sorting, linalg, shape,
                                                 indexing, creation, nn, windows, attention, foreach))
