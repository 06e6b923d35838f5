"""What the library itself is written in: memory, copies and a few operators."""

SCHEMAS = """
operator only:
    empty(int[] size, ScalarType? dtype=None, Device? device=None) -> Tensor  # A tensor of shape `size` whose elements are whatever its memory holds.
    empty_strided(int[] size, int[] stride, ScalarType? dtype=None, Layout? layout=None, Device? device=None) -> Tensor  # A tensor of shape `size` and strides `stride` whose elements are whatever its memory holds.
    full(int[] size, Scalar fill_value, ScalarType? dtype=None, Device? device=None) -> Tensor  # A tensor of shape `size` in which every element is `fill_value`.
    _to_copy(Tensor self, *, ScalarType? dtype=None, Device? device=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor  # A copy of `self` converted to `dtype` and moved to `device`.
    _local_scalar_dense(Tensor self) -> Scalar  # The only element of `self` as a Python number.
operator only, explicit:
    new_empty_strided(Tensor self, int[] size, int[] stride) -> Tensor  # A tensor of shape `size` and strides `stride`, with the dtype and device of `self`, whose elements are whatever its memory holds.
method:
    copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)  # Copies the elements of `src`, broadcast to its shape and converted to its dtype, into `self`.
function, method:
    clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor  # A copy of `self` in memory of its own, with the strides that `memory_format` asks for.
    ones_like(Tensor self) -> Tensor  # A tensor of ones with the shape, dtype and device of `self`.
    zeros_like(Tensor self) -> Tensor  # A tensor of zeros with the shape, dtype and device of `self`.
"""
