"""Reductions: sums, means, extrema, norms over some or all dimensions."""

SCHEMAS = """
fm   sum(Tensor self, *, ScalarType? dtype=None) -> Tensor
fmod sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
fmo  nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
fmo  mean(Tensor self, *, ScalarType? dtype=None) -> Tensor
fmo  mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
fmo  nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
fm   prod(Tensor self, *, ScalarType? dtype=None) -> Tensor
fmod prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
fm   var(Tensor self, bool unbiased=True) -> Tensor
fmo  var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor
fmo  var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
fm   std(Tensor self, bool unbiased=True) -> Tensor
fmo  std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor
fmo  std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
f    var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)
f    var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)
f    var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)
f    std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)
f    std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)
f    std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)
fmoe all(Tensor self) -> Tensor
fmoe all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
fmoe all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor
fmoe any(Tensor self) -> Tensor
fmoe any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
fmoe any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor
fm   count_nonzero(Tensor self, int? dim=None) -> Tensor
fm   count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor
fmoe amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor
fmoe amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor
fmoe aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)
fmo  max(Tensor self) -> Tensor
fmo  max.other(Tensor self, Tensor other) -> Tensor
fmoe max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
fmo  min(Tensor self) -> Tensor
fmo  min.other(Tensor self, Tensor other) -> Tensor
fmoe min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
fmoe argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor
fmoe argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor
fmo  logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor
oe   linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
fm   cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor
fm   corrcoef(Tensor self) -> Tensor
"""
