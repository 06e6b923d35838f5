"""Comparisons, tests, logic, bits, minimum and maximum, and choices, element by element."""

SCHEMAS = """
fmion eq.Tensor(Tensor self, Tensor other) -> Tensor
fmion ne.Tensor(Tensor self, Tensor other) -> Tensor
fmion lt.Tensor(Tensor self, Tensor other) -> Tensor
fmion le.Tensor(Tensor self, Tensor other) -> Tensor
fmion gt.Tensor(Tensor self, Tensor other) -> Tensor
fmion ge.Tensor(Tensor self, Tensor other) -> Tensor
fmion not_equal.Tensor(Tensor self, Tensor other) -> Tensor
fmion less.Tensor(Tensor self, Tensor other) -> Tensor
fmion less_equal.Tensor(Tensor self, Tensor other) -> Tensor
fmion greater.Tensor(Tensor self, Tensor other) -> Tensor
fmion greater_equal.Tensor(Tensor self, Tensor other) -> Tensor

fm  isnan(Tensor self) -> Tensor
fm  isinf(Tensor self) -> Tensor
fmox isposinf(Tensor self) -> Tensor
fmox isneginf(Tensor self) -> Tensor
fm  isfinite(Tensor self) -> Tensor
fm  isreal(Tensor self) -> Tensor
fm  isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor

fmio logical_and(Tensor self, Tensor other) -> Tensor
fmio logical_or(Tensor self, Tensor other) -> Tensor
fmio logical_xor(Tensor self, Tensor other) -> Tensor
fmio logical_not(Tensor self) -> Tensor
fmion bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor
fmion bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor
fmion bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor
fmion bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor
fmion bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor
f   bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
f   bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
f   bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
f   bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
f   bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
fmiox bitwise_not(Tensor self) -> Tensor

fmo maximum(Tensor self, Tensor other) -> Tensor
fmo minimum(Tensor self, Tensor other) -> Tensor
fmo fmax(Tensor self, Tensor other) -> Tensor
fmo fmin(Tensor self, Tensor other) -> Tensor
fmio clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor
fmio clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
fmio clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor
fmio clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
fmio clamp_min.Tensor(Tensor self, Tensor min) -> Tensor
fmiox clamp_min(Tensor self, Scalar min) -> Tensor
fmio clamp_max.Tensor(Tensor self, Tensor max) -> Tensor
fmiox clamp_max(Tensor self, Scalar max) -> Tensor
fmiox heaviside(Tensor self, Tensor values) -> Tensor
fmiox nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor

fmonx where.self(Tensor condition, Tensor self, Tensor other) -> Tensor
f   where(Tensor condition) -> Tensor[]
fmi masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
fmi masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor
"""
