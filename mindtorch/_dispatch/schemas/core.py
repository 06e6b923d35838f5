"""What the library itself is written in: memory, copies and a few operators."""

SCHEMAS = """
-   empty(int[] size, ScalarType? dtype=None, Device? device=None) -> Tensor
-   empty_strided(int[] size, int[] stride, ScalarType? dtype=None, Layout? layout=None, Device? device=None) -> Tensor
-   full(int[] size, Scalar fill_value, ScalarType? dtype=None, Device? device=None) -> Tensor
-   new_empty_strided(Tensor self, int[] size, int[] stride) -> Tensor
m   copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)
fm  clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor
-   _to_copy(Tensor self, *, ScalarType? dtype=None, Device? device=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor
fm  ones_like(Tensor self) -> Tensor
fm  zeros_like(Tensor self) -> Tensor
"""
