"""What the library itself is written in: memory, copies, views and a few sums."""

SCHEMAS = """
-   empty(int[] size, ScalarType? dtype=None, Device? device=None) -> Tensor
-   empty_strided(int[] size, int[] stride, ScalarType? dtype=None, Layout? layout=None, Device? device=None) -> Tensor
-   full(int[] size, Scalar fill_value, ScalarType? dtype=None, Device? device=None) -> Tensor
-   new_empty_strided(Tensor self, int[] size, int[] stride) -> Tensor
m   copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)
fm  clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor
-   _to_copy(Tensor self, *, ScalarType? dtype=None, Device? device=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor
fm  detach(Tensor(a) self) -> Tensor(a)
fm  as_strided(Tensor(a) self, int[] size, int[] stride, int? storage_offset=None) -> Tensor(a)
m   view(Tensor(a) self, int[] size) -> Tensor(a)
fm  t(Tensor(a) self) -> Tensor(a)
m   expand(Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)
fm  reshape(Tensor(a) self, int[] shape) -> Tensor(a)
fmion add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
fmion mul.Tensor(Tensor self, Tensor other) -> Tensor
fmi relu(Tensor self) -> Tensor
fmo sum(Tensor self, *, ScalarType? dtype=None) -> Tensor
fmo sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
fm  threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor
fm  ones_like(Tensor self) -> Tensor
fm  zeros_like(Tensor self) -> Tensor
mi  zero_(Tensor(a!) self) -> Tensor(a!)
"""
