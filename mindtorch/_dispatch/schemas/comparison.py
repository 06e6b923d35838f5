"""Comparisons, tests, logic, bits, minimum and maximum, and choices, element by element."""

SCHEMAS = """
function, method, in-place, out, wrapped numbers:
    eq.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` equals that of `other`.
    ne.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` differs from that of `other`.
    lt.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` is less than that of `other`.
    le.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` is less than or equal to that of `other`.
    gt.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` is greater than that of `other`.
    ge.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` is greater than or equal to that of `other`.
    not_equal.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` differs from that of `other`; another name for `ne`.
    less.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` is less than that of `other`; another name for `lt`.
    less_equal.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` is less than or equal to that of `other`; another name for `le`.
    greater.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` is greater than that of `other`; another name for `gt`.
    greater_equal.Tensor(Tensor self, Tensor other) -> Tensor  # Whether each element of `self` is greater than or equal to that of `other`; another name for `ge`.

function, method:
    isnan(Tensor self) -> Tensor  # Whether each element of `self` is nan.
    isinf(Tensor self) -> Tensor  # Whether each element of `self` is plus or minus infinity.
    isfinite(Tensor self) -> Tensor  # Whether each element of `self` is neither infinite nor nan.
    isreal(Tensor self) -> Tensor  # Whether each element of `self` has no imaginary part.
    isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor  # Whether each element of `self` differs from that of `other` by no more than `atol` plus `rtol` times the absolute value of `other`.
function, method, out, exact dtype, no overlap:
    isposinf(Tensor self) -> Tensor  # Whether each element of `self` is plus infinity.
    isneginf(Tensor self) -> Tensor  # Whether each element of `self` is minus infinity.

function, method, in-place, out:
    logical_and(Tensor self, Tensor other) -> Tensor  # Whether the elements of `self` and `other` are both other than zero.
    logical_or(Tensor self, Tensor other) -> Tensor  # Whether at least one of the elements of `self` and `other` is other than zero.
    logical_xor(Tensor self, Tensor other) -> Tensor  # Whether exactly one of the elements of `self` and `other` is other than zero.
    logical_not(Tensor self) -> Tensor  # Whether each element of `self` is zero.
function, method, in-place, out, wrapped numbers:
    bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor  # The bits that are set in both `self` and `other`, element by element; of bools, the logical and.
    bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor  # The bits that are set in `self` or `other`, element by element; of bools, the logical or.
    bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor  # The bits that are set in just one of `self` and `other`, element by element; of bools, the exclusive or.
    bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor  # The bits of each element of `self` moved left by `other` places: `self` times 2 to the power `other`.
    bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor  # The bits of each element of `self` moved right by `other` places, with copies of the sign coming in.
function:
    bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
    bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
    bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
    bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
    bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor
function, method, in-place, out, exact dtype, no overlap:
    bitwise_not(Tensor self) -> Tensor  # The inverted bits of each element of `self`; of bools, the logical not.

function, method, out:
    maximum(Tensor self, Tensor other) -> Tensor  # The greater of the elements of `self` and `other`; nan if one of them is nan.
    minimum(Tensor self, Tensor other) -> Tensor  # The lesser of the elements of `self` and `other`; nan if one of them is nan.
    fmax(Tensor self, Tensor other) -> Tensor  # The greater of the elements of `self` and `other`; where one is nan, the other.
    fmin(Tensor self, Tensor other) -> Tensor  # The lesser of the elements of `self` and `other`; where one is nan, the other.
function, method, in-place, out:
    clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor  # Each element of `self`, limited to the range from `min` to `max`.
    clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor  # Each element of `self`, limited to the range from `min` to `max`; another name for `clamp`.
    clamp_min.Tensor(Tensor self, Tensor min) -> Tensor  # Each element of `self`, or `min` where it is less.
    clamp_max.Tensor(Tensor self, Tensor max) -> Tensor  # Each element of `self`, or `max` where it is greater.
function, method, in-place, out, exact dtype:
    clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
    clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
function, method, in-place, out, exact dtype, no overlap:
    clamp_min(Tensor self, Scalar min) -> Tensor
    clamp_max(Tensor self, Scalar max) -> Tensor
    heaviside(Tensor self, Tensor values) -> Tensor  # The step function of each element of `self`: 0 where it is negative, 1 where it is positive, and the element of `values` where it is zero.
    nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor  # `self` with nan replaced by `nan`, infinity by `posinf` and minus infinity by `neginf`; by default with zero and the dtype's greatest and least number.

function, method, out, wrapped numbers, exact dtype:
    where.self(Tensor condition, Tensor self, Tensor other) -> Tensor  # The element of `self` where `condition` is true, otherwise that of `other`; of a condition alone, the indices where it is true.
function:
    where(Tensor condition) -> Tensor[]
function, method, in-place:
    masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor  # `self` with `value` in place of its elements where `mask` is true.
    masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
"""
