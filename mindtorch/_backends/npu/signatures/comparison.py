"""Comparison, logic, bits, limits, choice by a mask, tests of floating point numbers."""
from __future__ import annotations

SIGNATURES = """
aclnnEqTensor          all               tensor self, tensor other, out out
aclnnEqScalar          all               tensor self, scalar other, out out
aclnnNeTensor          all               tensor self, tensor other, out out
aclnnNeScalar          all               tensor self, scalar other, out out
aclnnLtTensor          bool|real         tensor self, tensor other, out:all out
aclnnLtScalar          bool|real         tensor self, scalar other, out:all out
aclnnLeTensor          bool|real         tensor self, tensor other, out:all out
aclnnLeScalar          bool|real         tensor self, scalar other, out:all out
aclnnGtTensor          bool|real         tensor self, tensor other, out:all out
aclnnGtScalar          bool|real         tensor self, scalar other, out:all out
aclnnGeTensor          bool|real         tensor self, tensor other, out:all out
aclnnGeScalar          bool|real         tensor self, scalar other, out:all out
aclnnLogicalAnd        all               tensor self, tensor other, out out
aclnnLogicalOr         all               tensor self, tensor other, out out
aclnnLogicalXor        all               tensor self, tensor other, out out
aclnnLogicalNot        bool|real         tensor self, out out
aclnnBitwiseAndTensor  bool|integral     tensor self, tensor other, out out
aclnnBitwiseAndScalar  bool|integral     tensor self, scalar other, out out
aclnnBitwiseOrTensor   bool|integral     tensor self, tensor other, out out
aclnnBitwiseOrScalar   bool|integral     tensor self, scalar other, out out
aclnnBitwiseXorTensor  bool|integral     tensor self, tensor other, out out
aclnnBitwiseXorScalar  bool|integral     tensor self, scalar other, out out
aclnnBitwiseNot        bool|integral     tensor self, out out
aclnnMaximum           bool|real         tensor self, tensor other, out out
aclnnMinimum           bool|real         tensor self, tensor other, out out
aclnnClamp             bool|integral|reduced|float32  tensor self, scalar? clipValueMin, scalar? clipValueMax, out out
aclnnClampTensor       real              tensor self, tensor?:bool|real clipValueMin, tensor?:bool|real clipValueMax,
    out out
aclnnClampMin          real              tensor self, scalar clipValueMin, out out
aclnnClampMinTensor    real              tensor self, tensor:bool|real clipValueMin, out out
aclnnClampMax          real              tensor self, scalar clipValueMax, out out
aclnnClampMaxTensor    real              tensor self, tensor:bool|real max, out out
aclnnSWhere            all               tensor:bool condition, tensor self, tensor other, out out
aclnnInplaceMaskedFillScalar  bool|int8|int32|int64|reduced|float32  ref selfRef, tensor:bool mask, scalar value
aclnnInplaceMaskedFillTensor  bool|int8|int32|int64|reduced|float32  ref selfRef, tensor:bool mask, tensor value
aclnnIsFinite          reduced|floating  tensor self, out:bool out
aclnnIsPosInf          reduced|float32   tensor self, out:bool out
aclnnIsNegInf          reduced|float32   tensor self, out:bool out
aclnnIsClose           bool|real         tensor self, tensor other, double rtol, double atol, bool equal_nan,
    out:bool out
aclnnEqual             bool|real         tensor self, tensor other, out:bool out
"""
