"""Factories: tensors of a size, of numbers in a row, like another tensor."""

#: What every factory takes (ATen's ``TensorOptions``).
OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

SCHEMAS = f"""
operator only, explicit:
    arange(Scalar end, *, {OPTIONS}) -> Tensor  # The numbers from `start` up to, but without, `end` in steps of `step`.
    arange.start(Scalar start, Scalar end, *, {OPTIONS}) -> Tensor
    eye(int n, *, {OPTIONS}) -> Tensor  # A matrix of `n` rows and `m` columns, as many unless given, with ones on the main diagonal and zeros elsewhere.
    lift_fresh(Tensor(a) self) -> Tensor(a)  # `self`, a tensor that was just made of data from outside the library.
    empty_permuted(int[] size, int[] physical_layout, *, {OPTIONS}) -> Tensor  # A tensor of shape `size` whose dimensions lie in memory in the order `physical_layout`, and whose elements are whatever its memory holds.
    new_empty(Tensor self, int[] size, *, {OPTIONS}) -> Tensor  # A tensor of shape `size`, with the dtype and device of `self`, whose elements are whatever its memory holds.
    new_empty_strided(Tensor self, int[] size, int[] stride, *, {OPTIONS}) -> Tensor  # A tensor of shape `size` and strides `stride`, with the dtype and device of `self`, whose elements are whatever its memory holds.
    new_full(Tensor self, int[] size, Scalar fill_value, *, {OPTIONS}) -> Tensor  # A tensor of shape `size`, with the dtype and device of `self`, in which every element is `fill_value`.
    new_zeros(Tensor self, int[] size, *, {OPTIONS}) -> Tensor  # A tensor of zeros of shape `size`, with the dtype and device of `self`.
    new_ones(Tensor self, int[] size, *, {OPTIONS}) -> Tensor  # A tensor of ones of shape `size`, with the dtype and device of `self`.
operator only:
    empty.memory_format(int[] size, *, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor  # A tensor of shape `size` whose elements are whatever its memory holds.
    empty_strided(int[] size, int[] stride, *, {OPTIONS}) -> Tensor  # A tensor of shape `size` and strides `stride` whose elements are whatever its memory holds.
    full(int[] size, Scalar fill_value, *, {OPTIONS}) -> Tensor  # A tensor of shape `size` in which every element is `fill_value`.
    zeros(int[] size, *, {OPTIONS}) -> Tensor  # A tensor of shape `size` in which every element is 0.
    ones(int[] size, *, {OPTIONS}) -> Tensor  # A tensor of shape `size` in which every element is 1.
    scalar_tensor(Scalar s, *, {OPTIONS}) -> Tensor  # A tensor without dimensions whose element is `s`.
    arange.start_step(Scalar start, Scalar end, Scalar step=1, *, {OPTIONS}) -> Tensor
    linspace(Scalar start, Scalar end, int steps, *, {OPTIONS}) -> Tensor  # `steps` numbers in equal distances from `start` to `end`, both included.
    logspace(Scalar start, Scalar end, int steps, float base=10.0, *, {OPTIONS}) -> Tensor  # `steps` powers of `base` whose exponents lie in equal distances from `start` to `end`, both included.
    eye.m(int n, int m, *, {OPTIONS}) -> Tensor
    empty_like(Tensor self, *, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor  # A tensor with the shape, dtype and device of `self` whose elements are whatever its memory holds.
    full_like(Tensor self, Scalar fill_value, *, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor  # A tensor with the shape, dtype and device of `self` in which every element is `fill_value`.
    zeros_like(Tensor self, *, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor  # A tensor of zeros with the shape, dtype and device of `self`.
    ones_like(Tensor self, *, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor  # A tensor of ones with the shape, dtype and device of `self`.
"""
