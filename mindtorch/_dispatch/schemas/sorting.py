"""Sorting, and selection by order: quantiles, the k largest, the most frequent."""

SCHEMAS = """
function, method:
    argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor  # The positions of the elements of `self` in ascending, or `descending`, order along `dim`.
    median(Tensor self) -> Tensor  # The middle element of `self` in ascending order, the lower one of two, over all elements or along `dim` with its position.
    nanmedian(Tensor self) -> Tensor  # The middle one of those elements of `self` that are not nan, the lower one of two, over all elements or along `dim` with its position.
function, method, out, exact dtype:
    sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)  # The elements of `self` in ascending, or `descending`, order along `dim`, and their positions before.
    sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
    argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor
    msort(Tensor self) -> Tensor  # The elements of `self` in ascending order along the first dimension.
    topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)  # The `k` greatest elements of `self` along `dim`, or the least unless `largest`, and their positions.
    quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor  # The value below which the fraction `q` of the elements of `self` lies, along `dim` or of all.
    quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor
    nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor  # The value below which the fraction `q` of those elements of `self` lies that are not nan, along `dim` or of all.
    nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor
function, method, out, exact dtype, no overlap:
    kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)  # The `k`th smallest element of `self` along `dim`, and its position.
    median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
    nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
    mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)  # The most frequent element of `self` along `dim`, the least of several, and its position.
"""
