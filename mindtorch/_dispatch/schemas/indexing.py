"""Reading and writing elements by index, by mask, or all of them."""

SCHEMAS = """
operator only:
    index.Tensor(Tensor self, Tensor?[] indices) -> Tensor  # The elements of `self` at `indices`, one tensor of integers or bools for each leading dimension, or None for all of it.
    index_select_backward(Tensor grad, int[] self_sizes, int dim, Tensor index) -> Tensor
    masked_scatter_backward(Tensor grad_output, Tensor mask, int[] sizes) -> Tensor
function, method, in-place:
    index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor  # `self` with `values` written at `indices`, or added there if `accumulate`.
    index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor  # `self` with the slices along `dim` at the positions `index` filled with `value`.
    index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
    put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor  # `self` with the elements of `source` written, or added if `accumulate`, at the positions `index`, counted as if it had one dimension.
    masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor  # `self` with its elements where `mask` is true replaced by those of `source`, in order.
function, method, out, exact dtype, no overlap:
    index_select(Tensor self, int dim, Tensor index) -> Tensor  # The slices of `self` along `dim` at the positions `index`.
    gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor  # The elements of `self` whose position along `dim` is given by `index` and otherwise their own.
    take(Tensor self, Tensor index) -> Tensor  # The elements at the positions `index` of `self`, counted as if it had one dimension.
    take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor  # The elements of `self` at the positions `indices` along `dim`, with the other dimensions broadcast.
    masked_select(Tensor self, Tensor mask) -> Tensor  # The elements of `self` where `mask` is true, in one dimension.
function, method, in-place, out, exact dtype, no overlap:
    index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor  # `self` with the slices along `dim` at the positions `index` replaced by those of `source`.
    index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor  # `self` with the slices of `source`, multiplied by `alpha`, added along `dim` at the positions `index`.
    index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor  # `self` with the slices of `source` combined into it along `dim` at the positions `index`, by the operation `reduce`.
    scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor  # `self` with the elements of `src` written along `dim` at the positions `index`.
    scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor
    scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
    scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor
    scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor  # `self` with the elements of `src` added along `dim` at the positions `index`.
    scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor  # `self` with the elements of `src` combined into it along `dim` at the positions `index`, by the operation `reduce`.
function:
    _unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor  # The elements of `self` at `indices` where `mask` is true, and `fill` elsewhere.
    _unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor  # `self` with `values` added at `indices` where `mask` is true.
    fill.Tensor(Tensor self, Tensor value) -> Tensor  # A tensor with the layout of `self` in which every element is `value`.
    fill.Scalar(Tensor self, Scalar value) -> Tensor
function, method:
    fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)  # Sets every element of `self` to `value`.
    fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)
    zero_(Tensor(a!) self) -> Tensor(a!)  # Sets every element of `self` to zero.
"""
