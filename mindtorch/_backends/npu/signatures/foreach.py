"""Operators on lists of tensors."""
from __future__ import annotations

SIGNATURES = """
aclnnForeachAddListV2         int32|reduced|float32  tensors x1, tensors x2, scalar alpha, outs out
aclnnForeachAddScalarV2       int32|reduced|float32  tensors x, scalar scalar, outs out
aclnnForeachAddScalarList     int32|reduced|float32  tensors x, scalars scalars, outs out
aclnnForeachSubListV2         int32|reduced|float32  tensors x1, tensors x2, scalar alpha, outs out
aclnnForeachSubScalarV2       int32|reduced|float32  tensors x, scalar scalar, outs out
aclnnForeachSubScalarList     int32|reduced|float32  tensors x, scalars scalars, outs out
aclnnForeachMulList           int32|reduced|float32  tensors x1, tensors x2, outs out
aclnnForeachMulScalarV2       int32|reduced|float32  tensors x, scalar scalar, outs out
aclnnForeachMulScalarList     int32|reduced|float32  tensors x, scalars scalars, outs out
aclnnForeachDivList           reduced|float32  tensors x1, tensors x2, outs out
aclnnForeachDivScalarV2       reduced|float32  tensors x, scalar scalar, outs out
aclnnForeachDivScalarList     reduced|float32  tensors x, scalars scalars, outs out
aclnnForeachMaximumList       int32|reduced|float32  tensors x1, tensors x2, outs out
aclnnForeachMinimumList       int32|reduced|float32  tensors x1, tensors x2, outs out
aclnnForeachAddcmulScalarV2   reduced|float32  tensors x1, tensors x2, tensors x3, scalar scalar, outs out
aclnnForeachAddcdivScalarV2   reduced|float32  tensors x1, tensors x2, tensors x3, scalar scalar, outs out
aclnnForeachLerpList          reduced|float32  tensors x1, tensors x2, tensors weight, outs out
aclnnForeachLerpScalar        reduced|float32  tensors x1, tensors x2, scalar weight, outs out
aclnnForeachAbs               reduced|float32  tensors x, outs out
aclnnForeachExp               reduced|float32  tensors x, outs out
aclnnForeachNeg               int32|reduced|float32  tensors x, outs out
aclnnForeachReciprocal        reduced|float32  tensors x, outs out
aclnnForeachSigmoid           reduced|float32  tensors x, outs out
aclnnForeachSqrt              reduced|float32  tensors x, outs out
aclnnForeachTanh              reduced|float32  tensors x, outs out
aclnnForeachNorm              reduced|float32  tensors x, scalar scalar, outs out
aclnnForeachCopy              all              tensors x, outs out
"""
