"""Sorting, and selection by order: quantiles, the k largest, the most frequent."""

SCHEMAS = """
fmoe sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
fmoe sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
fm   argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor
fmoe argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor
fmoe msort(Tensor self) -> Tensor
fmoe topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)
fmox kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)
fm   median(Tensor self) -> Tensor
fmox median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
fm   nanmedian(Tensor self) -> Tensor
fmox nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
fmox mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)
fmoe quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor
fmoe quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor
fmoe nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor
fmoe nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor
"""
