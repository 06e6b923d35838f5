"""Reading and writing elements by index, by mask, or all of them."""

SCHEMAS = """
-     index.Tensor(Tensor self, Tensor?[] indices) -> Tensor
fmi   index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor
fmox  index_select(Tensor self, int dim, Tensor index) -> Tensor
-     index_select_backward(Tensor grad, int[] self_sizes, int dim, Tensor index) -> Tensor
fmi   index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor
fmi   index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
fmiox index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor
fmiox index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor
fmiox index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor
fmox  gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor
fmiox scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor
fmiox scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor
fmiox scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
fmiox scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor
fmiox scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor
fmiox scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor
fmox  take(Tensor self, Tensor index) -> Tensor
fmi   put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor
fmox  take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor
fmox  masked_select(Tensor self, Tensor mask) -> Tensor
fmi   masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor
f     _unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor
f     _unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor
-     masked_scatter_backward(Tensor grad_output, Tensor mask, int[] sizes) -> Tensor
f     embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor
-     embedding_dense_backward(Tensor grad_output, Tensor indices, int num_weights, int padding_idx, bool scale_grad_by_freq) -> Tensor
f     embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)
-     one_hot(Tensor self, int num_classes=-1) -> Tensor
f     fill.Tensor(Tensor self, Tensor value) -> Tensor
f     fill.Scalar(Tensor self, Scalar value) -> Tensor
fm    fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)
fm    fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)
fm    zero_(Tensor(a!) self) -> Tensor(a!)
"""
