"""What the library itself is written in: memory, copies and a few operators."""

SCHEMAS = """
operator only:
    _to_copy(Tensor self, *, ScalarType? dtype=None, Device? device=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor  # A copy of `self` converted to `dtype` and moved to `device`.
    _local_scalar_dense(Tensor self) -> Scalar  # The only element of `self` as a Python number.
method:
    copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)  # Copies the elements of `src`, broadcast to its shape and converted to its dtype, into `self`.
function, method:
    clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor  # A copy of `self` in memory of its own, with the strides that `memory_format` asks for.
"""
