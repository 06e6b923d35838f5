"""The ACLNN operators that mindtorch calls, one row per operator, by family. `bindings.py` explains a row.

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

#: Operators whose first phase leaves the caller's descriptors as they are, in the sources of ops-math and ops-nn: those
#: of these families, but for some. aclnnScatterAdd, in contrast, changes the sizes of an index, and aclnnMm formats.
READ_ONLY = frozenset(line.split(None, 1)[0] for family in (activation, comparison, creation, foreach, nn, pointwise,
                                                            reduction, shape)
                      for line in family.SIGNATURES.splitlines() if line.startswith("aclnn")) - {
    "aclnnBatchNormBackward", "aclnnBinaryCrossEntropy", "aclnnDropoutGenMask", "aclnnLogicalXor", "aclnnProd",
    "aclnnProdDim", "aclnnSWhere", "aclnnLogit", "aclnnLogitGrad", "aclnnRmsNorm", "aclnnRmsNormGrad",
}
