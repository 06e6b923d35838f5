"""Norms as torch.norm has them, and distances. The overload ``norm.python`` is PyTorch's Python function."""

SCHEMAS = """
function, method, out, exact dtype:
    norm.python(Tensor self, Any p="fro", int[1]? dim=None, bool keepdim=False, ScalarType? dtype=None) -> Tensor  # The `p`-norm of `self` over the dimensions `dim`, or over all elements; for 'fro' the 2-norm, for 'nuc' the sum of a matrix's singular values.
out, exact dtype:
    norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor
function, method:
    dist(Tensor self, Tensor other, Scalar p=2) -> Tensor  # The `p`-norm of `self` minus `other`.
function:
    pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=1e-06, bool keepdim=False) -> Tensor  # The `p`-norm of `x1` minus `x2` plus `eps`, over the last dimension.
    cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor  # The cosine of the angle between `x1` and `x2` along `dim`, with `eps` as the smallest length that is divided by.
    cdist(Tensor x1, Tensor x2, float p=2., str compute_mode='use_mm_for_euclid_dist_if_necessary') -> Tensor  # The `p`-norm distance between each row of `x1` and each row of `x2`, batch by batch.
    _euclidean_dist(Tensor x1, Tensor x2) -> Tensor  # The Euclidean distance between each row of `x1` and each row of `x2`, computed through a matrix product.
    pdist(Tensor self, float p=2.) -> Tensor  # The `p`-norm distances between every two different rows of the matrix `self`.
operator only:
    _cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor  # The `p`-norm distance between each row of `x1` and each row of `x2`, batch by batch, for `cdist`.
    _cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor
    _pdist_forward(Tensor self, float p=2.) -> Tensor  # The `p`-norm distances between every two different rows of the matrix `self`, for `pdist`.
    _pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor
function, method, in-place, out, exact dtype:
    renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor  # `self` with each slice along `dim` whose `p`-norm exceeds `maxnorm` scaled down to it.
"""
