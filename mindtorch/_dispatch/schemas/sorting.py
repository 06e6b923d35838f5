"""Sorting, and selection by order: quantiles, the k largest, the most frequent."""

SCHEMAS = """
fmo sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
fmo sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
fm  argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor
fmo argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor
fmo msort(Tensor self) -> Tensor
fmo topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)
fmo kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)
fmo median(Tensor self) -> Tensor
fmo median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
fmo nanmedian(Tensor self) -> Tensor
fmo nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
fmo mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)
fmo quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor
fmo quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor
fmo nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor
fmo nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor
"""
