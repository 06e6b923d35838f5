"""Norms as torch.norm has them, and distances. The overload ``norm.python`` is PyTorch's Python function."""

SCHEMAS = """
fmoe  norm.python(Tensor self, Any p="fro", int[1]? dim=None, bool keepdim=False, ScalarType? dtype=None) -> Tensor
oe    norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor
fm    dist(Tensor self, Tensor other, Scalar p=2) -> Tensor
f     pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=1e-06, bool keepdim=False) -> Tensor
f     cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor
f     cdist(Tensor x1, Tensor x2, float p=2., str compute_mode='use_mm_for_euclid_dist_if_necessary') -> Tensor
-     _cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor
-     _cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor
f     _euclidean_dist(Tensor x1, Tensor x2) -> Tensor
f     pdist(Tensor self, float p=2.) -> Tensor
-     _pdist_forward(Tensor self, float p=2.) -> Tensor
-     _pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor
fmioe renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor
"""
