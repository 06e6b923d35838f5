"""Reductions: sums, means, extrema, norms over some or all dimensions."""

SCHEMAS = """
method:
    sum_to_size(Tensor self, int[] size) -> Tensor  # `self` summed over those dimensions that a tensor of shape `size` lacks, or has of size 1: the reverse of broadcasting it to the shape of `self`.
function:
    segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor  # The sum, mean, product, greatest or least element, as `reduce` says, of each of the segments of `data` along `axis` that follow each other with the `lengths`, or from each of the `offsets` to the next.
function, method:
    sum(Tensor self, *, ScalarType? dtype=None) -> Tensor  # The sum of the elements of `self`, over the dimensions `dim` or over all.
    prod(Tensor self, *, ScalarType? dtype=None) -> Tensor  # The product of the elements of `self`, over the dimension `dim` or over all.
    var(Tensor self, bool unbiased=True) -> Tensor  # The variance of the elements of `self`, over the dimensions `dim` or over all: the sum of squared distances from the mean, divided by the number of elements less `correction`.
    std(Tensor self, bool unbiased=True) -> Tensor  # The standard deviation of the elements of `self`, over the dimensions `dim` or over all: the square root of the variance.
    count_nonzero(Tensor self, int? dim=None) -> Tensor  # How many elements of `self`, or how many along the dimensions `dim`, are other than zero.
    count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor
    cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor  # The covariances of the variables that are the rows of `self`, whose columns are observations of frequency `fweights` and weight `aweights`.
    corrcoef(Tensor self) -> Tensor  # The correlation coefficients of the variables that are the rows of `self`, whose columns are observations.
function, method, out, dtype of out:
    sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
    prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
function, method, out:
    nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor  # The sum of the elements of `self`, with nan counted as zero, over the dimensions `dim` or over all.
    mean(Tensor self, *, ScalarType? dtype=None) -> Tensor  # The mean of the elements of `self`, over the dimensions `dim` or over all.
    mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
    nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor  # The mean of those elements of `self` that are not nan, over the dimensions `dim` or over all.
    var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor
    var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
    std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor
    std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
    max(Tensor self) -> Tensor  # The greatest element of `self`, or along `dim` with its position, or of `self` and `other` element by element.
    max.other(Tensor self, Tensor other) -> Tensor
    min(Tensor self) -> Tensor  # The least element of `self`, or along `dim` with its position, or of `self` and `other` element by element.
    min.other(Tensor self, Tensor other) -> Tensor
    logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor  # The logarithm of the sum of the exponentials of `self` over the dimensions `dim`, computed without overflow.
function:
    var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)  # The variance and the mean of the elements of `self`, over the dimensions `dim` or over all.
    var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)
    var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)
    std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)  # The standard deviation and the mean of the elements of `self`, over the dimensions `dim` or over all.
    std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)
    std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)
function, method, out, exact dtype:
    all(Tensor self) -> Tensor  # Whether all elements of `self`, or all along `dim`, are other than zero.
    all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
    all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor
    any(Tensor self) -> Tensor  # Whether any element of `self`, or any along `dim`, is other than zero.
    any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
    any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor
    amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor  # The greatest element of `self` over the dimensions `dim`; elements that are equally great share the gradient.
    amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor  # The least element of `self` over the dimensions `dim`; elements that are equally small share the gradient.
    hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor  # The bits of the elements of `self`, as float64 or int64, combined by exclusive or over the dimensions `dim`; of `mode` there is only 0.
    aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)  # The least and the greatest element of `self`, over the dimension `dim` or over all.
    max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
    min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
    argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor  # The position of the greatest element of `self`, along `dim` or as if it had one dimension.
    argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor  # The position of the least element of `self`, along `dim` or as if it had one dimension.
out, exact dtype:
    linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor  # The norm of order `ord` of `self` as a vector: the root of order `ord` of the sum of its elements' absolute values to that power, over the dimensions `dim` or over all.
"""
