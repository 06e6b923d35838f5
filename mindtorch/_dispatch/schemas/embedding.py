"""Rows of a table looked up by index, and bags of them. ``mode`` of a bag: 0 sum, 1 mean, 2 max."""

SCHEMAS = """
function:
    embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor  # The rows of `weight` at `indices`.
    embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)  # Scales the rows of `self` at `indices` whose `norm_type`-norm exceeds `max_norm` down to it.
    embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor result0, Tensor result1, Tensor result2, Tensor result3)  # The sums, means or maxima of bags of rows of `weight` at `indices`, where each bag begins at one of `offsets`; the bag of each index, the sizes of the bags, and which index has the maximum.
    embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor result0, Tensor result1, Tensor result2, Tensor result3)
operator only:
    _embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor result0, Tensor result1, Tensor result2, Tensor result3)  # What `embedding_bag` computes, for one that has a gradient.
    _embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor result0, Tensor result1, Tensor result2, Tensor result3)  # What `embedding_bag` computes, for one that has no gradient.
    one_hot(Tensor self, int num_classes=-1) -> Tensor  # A vector of `num_classes` zeros for each element of `self`, with a one at the position that the element gives.
    embedding_dense_backward(Tensor grad_output, Tensor indices, int num_weights, int padding_idx, bool scale_grad_by_freq) -> Tensor
    _embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, Tensor bag_size, Tensor maximum_indices, int num_weights, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor
    _embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, Tensor offsets, Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor
"""
