"""Cases of reductions, sorting, products, shapes, indexing and filling."""
from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from .draw import aten, case, unary

# -- reduction ---------------------------------------------------------------------------------------------------------

case(
    "ReduceSum", lambda x: (x(3, 4, 5), (0, 2), True, x.dtype), lambda a, d, k, t: torch.sum(a, d, k, dtype=t),
    "int32|int64|reduced|float32|complex64"
)
case("ReduceSum", lambda x: (x(3, 4), (), False, torch.int64), lambda a, d, k, t: torch.sum(a), "bool|int32")
case("ReduceSum", lambda x: (x(), (), False, x.dtype), lambda a, d, k, t: a, "float32")
case(
    "ReduceNansum",
    lambda x: (x.special(5, 8), (1,), False, x.dtype),
    lambda a, d, k, t: torch.nansum(a, d, k, dtype=t),
    "float32",
)
case("Mean", lambda x: (x(3, 4, 5), (1,), False, x.dtype), lambda a, d, k, t: torch.mean(a, d, k, dtype=t),
     "reduced|float32|complex64")
case("Prod", lambda x: (x(3, 4), x.dtype), lambda a, t: torch.prod(a, dtype=t), "int64|reduced|float32")
case("ProdDim", lambda x: (x(3, 4), 1, True, x.dtype), lambda a, d, k, t: torch.prod(a, d, k, dtype=t),
     "int64|reduced|float32")
case("VarCorrection", lambda x: (x(3, 4), (1,), 2, False), lambda a, d, c, k: torch.var(a, d, correction=c, keepdim=k))
case("VarMean", lambda x: (x(3, 4), (0,), 0, True), lambda a, d, c, k: torch.var_mean(a, d, correction=c, keepdim=k))
case("Std", lambda x: (x(3, 4), (0,), 1, True), lambda a, d, c, k: torch.std(a, d, correction=c, keepdim=k))
case(
    "StdMeanCorrection",
    lambda x: (x(3, 4), (1,), 1, False),
    lambda a, d, c, k: torch.std_mean(a, d, correction=c, keepdim=k),
)
case("All", lambda x: (x(3, 4), (1,), True), lambda a, d, k: torch.all(a, d[0], k).bool())
case("Any", lambda x: (x(3, 4), (), False), lambda a, d, k: torch.any(a).bool())
case("Amax", lambda x: (x(3, 4, 5), (0, 1), False), torch.amax)
case("Amin", lambda x: (x(3, 4, 5), (-1,), True), torch.amin)
case("AminmaxAll", lambda x: (x(3, 4),), torch.aminmax)
case("AminmaxDim", lambda x: (x(3, 4), 1, True), lambda a, d, k: torch.aminmax(a, dim=d, keepdim=k))
unary("Max Min")
case("MaxDim", lambda x: (x(3, 7), 1, False), torch.max, "int64|reduced|float32")
case("MinDim", lambda x: (x(3, 7), 0, True), torch.min, "int64|reduced|float32")
case("ArgMax", lambda x: (x(3, 7), 1, False), torch.argmax, "float32")
case("ArgMin", lambda x: (x(3, 7), 1, True), torch.argmin, "float32")
case("LogSumExp", lambda x: (x(3, 4), (1,), True), torch.logsumexp, "reduced|float32")
for p in (2.0, 1.0, 3.0, 0.0, float("inf")):
    case("Norm", lambda x, p=p: (x(3, 4), p, (1,), True), lambda a, p, d, k: torch.norm(a, p, d, k), "float32")
case("LinalgVectorNorm", lambda x: (x(3, 4), 2.0, (0, 1), False, x.dtype),
     lambda a, p, d, k, t: torch.linalg.vector_norm(a, p, d, k, dtype=t))
case("Cumsum", lambda x: (x(3, 4), 1, x.dtype), lambda a, d, t: torch.cumsum(a, d, dtype=t))
case("Cumprod", lambda x: (x(3, 4), 0, x.dtype), lambda a, d, t: torch.cumprod(a, d, dtype=t), "int64|float32")
case("Cummax", lambda x: (x(3, 7), 1), torch.cummax, "int64|float32")
case("Cummin", lambda x: (x(3, 7), 1), torch.cummin, "int64|float32")
unary("Median NanMedian", only="int32|reduced|float32")
case("MedianDim", lambda x: (x(3, 7), 1, True), torch.median, "reduced|float32")
case("NanMedianDim", lambda x: (x.special(5, 8), 1, False), torch.nanmedian, "float32")

# -- sorting and searching ---------------------------------------------------------------------------------------------

case("Sort", lambda x: (x(3, 7), True, 1, False), lambda a, s, d, down: torch.sort(a, stable=s, dim=d, descending=down))
case(
    "Sort",
    lambda x: (x(3, 7), True, 0, True),
    lambda a, s, d, down: torch.sort(a, stable=s, dim=d, descending=down),
    "float32",
)
case("Argsort", lambda x: (x(3, 7), -1, True), torch.argsort, "float32")
case("Topk", lambda x: (x(3, 7), 3, 1, True, True), torch.topk, "float32")
case("Kthvalue", lambda x: (x(3, 7), 2, 1, True), torch.kthvalue, "float32")


def searched(sequence: Any, values: Any, out_int32: bool, right: bool, sorter: Any) -> Any:
    return torch.searchsorted(sequence, values, out_int32=out_int32, right=right, sorter=sorter)


for right in (False, True):
    case("SearchSorted", lambda x, r=right: (x(3, 7).sort(-1)[0], x(3, 2), False, r, None), searched, "int32|float32")
case("SearchSorted", lambda x: (s := x(7), x(3, 2), False, True, s.argsort()), searched, "float32")
case("SearchSorteds", lambda x: (x(7).sort()[0], 0.3, True, False, None), searched, "float32")
case("Unique2", lambda x: (x.below(4, 3, 5).to(x.dtype), True, True, True), aten._unique2, "int32|int64|float32")
case(
    "UniqueConsecutive",
    lambda x: (x.below(2, 9).to(x.dtype), True, True, 1000),
    lambda a, i, c, _: torch.unique_consecutive(a, i, c),
    "int32|int64|float32",
)
case("UniqueConsecutive", lambda x: (x.below(2, 6, 2).to(x.dtype), True, True, 0), torch.unique_consecutive, "float32")
case(
    "IsInTensorScalar",
    lambda x: (x.below(3, 3, 4).to(x.dtype), 1, False, False),
    lambda a, b, u, inv: torch.isin(a, b, assume_unique=u, invert=inv),
    "int32|float32",
)
case(
    "IsInScalarTensor",
    lambda x: (1, x.below(3, 5).to(x.dtype), False, True),
    lambda a, b, u, inv: torch.isin(a, b, assume_unique=u, invert=inv),
    "int32|float32",
)
case("Histc", lambda x: (x(40), 5, -1.0, 1.0), torch.histc, "float32")
case("Nonzero", lambda x: (x(3, 4),), torch.nonzero)
case("MaskedSelect", lambda x: (x(3, 4), x.mask(4)), torch.masked_select)

# -- linear algebra ----------------------------------------------------------------------------------------------------

MIXED = 0  # cubeMathType, which comes after the output
case("Mm", lambda x: (x(3, 4), x(4, 5), MIXED), lambda a, b, _: a @ b)
case("Matmul", lambda x: (x(2, 3, 4), x(4, 5), MIXED), lambda a, b, _: a @ b)
case("Matmul", lambda x: (x(4), x(4), MIXED), lambda a, b, _: a @ b, "float32")
case("BatchMatMul", lambda x: (x(2, 3, 4), x(2, 4, 5), MIXED), lambda a, b, _: torch.bmm(a, b))
case(
    "Addmm",
    lambda x: (x(5), x(3, 4), x(4, 5), 2.0, 3.0, MIXED),
    lambda c, a, b, be, al, _: torch.addmm(c, a, b, beta=be, alpha=al),
)
case(
    "Baddbmm",
    lambda x: (x(2, 3, 5), x(2, 3, 4), x(2, 4, 5), 2.0, 3.0, MIXED),
    lambda c, a, b, be, al, _: torch.baddbmm(c, a, b, beta=be, alpha=al),
)
case(
    "Addbmm",
    lambda x: (x(3, 5), x(2, 3, 4), x(2, 4, 5), 2.0, 3.0, MIXED),
    lambda c, a, b, be, al, _: torch.addbmm(c, a, b, beta=be, alpha=al),
    "float32",
)
case(
    "Addmv",
    lambda x: (x(3), x(3, 4), x(4), 2, 3, MIXED),
    lambda c, a, b, al, be, _: torch.addmv(c, a, b, beta=be, alpha=al),
    "int32|float32",
)
case(
    "Addr", lambda x: (x(3, 4), x(3), x(4), 2, 3), lambda c, a, b, be, al: torch.addr(c, a, b, beta=be, alpha=al),
    "int32|float32"
)
case("Addr", lambda x: (x(3, 4), x(3), x(4), None, None), lambda c, a, b, be, al: torch.addr(c, a, b), "float32")
case("Dot", lambda x: (x(5), x(5)), torch.dot, "int32|reduced|float32")
case("Mv", lambda x: (x(3, 4), x(4), MIXED), lambda a, b, _: torch.mv(a, b))
case("LinalgCross", lambda x: (x(4, 3), x(4, 3), 1), lambda a, b, d: torch.linalg.cross(a, b, dim=d), "int32|float32")
case("Trace", lambda x: (x(3, 4),), torch.trace, "int32|float32")
case("PdistForward", lambda x: (x(4, 3), 1.5), aten._pdist_forward, "float32")
case("Renorm", lambda x: (x(3, 4), 2.0, 0, 1.0), torch.renorm, "reduced|float32")

# -- shape -------------------------------------------------------------------------------------------------------------

case("Cat", lambda x: ([x(2, 3), x(2, 1), x(2, 4)], -1), torch.cat)
case("Stack", lambda x: ([x(2, 3), x(2, 3)], 1), torch.stack)
case("SplitTensor", lambda x: (x(7, 2), 3, 0), lambda a, n, d: (list(torch.split(a, n, d)),))
case("SplitWithSize", lambda x: (x(2, 7), (2, 4, 1), -1), lambda a, n, d: (list(torch.split(a, list(n), d)),))
case("Repeat", lambda x: (x(2, 3), (2, 1, 3)), lambda a, n: a.repeat(n))
case("RepeatInterleave", lambda x: (x(4), x.below(4, 4), 0), lambda a, r, _: torch.repeat_interleave(a, r))
case(
    "RepeatInterleaveWithDim",
    lambda x: (x(2, 3), x.below(4, 3), 1, 0),
    lambda a, r, d, _: torch.repeat_interleave(a, r, d),
)
case(
    "RepeatInterleaveTensor",
    lambda x: (torch.tensor([1, 0, 3]).to(x.dtype), 4),
    lambda r, n: torch.repeat_interleave(r),
)
case("Flip", lambda x: (x(3, 4), (0, -1)), torch.flip, "bool|int32|reduced|float32")
case("Roll", lambda x: (x(3, 4), (1, -2), (0, 1)), torch.roll)
case("Roll", lambda x: (x(3, 4), (5,), ()), torch.roll, "float32")
case("Tril", lambda x: (x(3, 4), 1), torch.tril)
case("InplaceTril", lambda x: (x(3, 4), 1), torch.tril)
case("InplaceTriu", lambda x: (x(3, 4), -1), torch.triu)
case("Triu", lambda x: (x(2, 3, 4), -1), torch.triu)
case("Diag", lambda x: (x(3), 1), torch.diag)
case("Diag", lambda x: (x(3, 4), -1), torch.diag)
case("DiagFlat", lambda x: (x(2, 2), 1), torch.diagflat)
case("ConstantPadNd", lambda x: (x(3, 4), (1, 2, -1, 1), 3), aten.constant_pad_nd, "int32|reduced|float32|complex64")
for n in (1, 2, 3):
    shape, pads = (2, 3, 4, 5)[: n + 1], (1, 2, 1, 0, 1, 1)[: 2 * n]
    for name, op in ((f"ReflectionPad{n}d", f"reflection_pad{n}d"), (f"ReplicationPad{n}d", f"replication_pad{n}d")):
        forward, backward = getattr(aten, op), getattr(aten, f"{op}_backward")
        case(name, lambda x, s=shape, p=pads: (x(*s), p), forward, "reduced|float32")
        case(
            f"{name}Backward",
            lambda x, s=shape, p=pads, f=forward: (torch.randn_like(f(x(*s), p)), x(*s), p),
            backward,
            "float32",
        )

# -- indexing ----------------------------------------------------------------------------------------------------------

none = torch.empty(0, dtype=torch.int64)
case("Index", lambda x: (x(4, 5, 3), [x.below(4, 2, 1), x.below(5, 6)]), lambda a, i: a[i[0], i[1]],
     "bool|int64|reduced|float32")
case("Index", lambda x: (x(4, 5), [none, x.below(5, 6) - 5]), lambda a, i: a[:, i[1]], "float32")
case("Index", lambda x: (x(4, 5), [x.mask(4, 5)]), lambda a, i: a[i[0]], "float32")
case(
    "IndexPutImpl",
    lambda x: (x(4, 5), [x.permutation(4)[:2], none], x(2, 5), False, False),
    lambda a, i, v, acc, _: a.index_put_((i[0],), v),
    "int64|reduced|float32",
)
case(
    "IndexPutImpl",
    lambda x: (x(4, 5), [x.below(4, 9)], x(5), True, False),
    lambda a, i, v, acc, _: a.index_put_((i[0],), v, True),
    "int64|reduced|float32",
)
case("IndexSelect", lambda x: (x(4, 5), 1, x.below(5, 7)), torch.index_select)
case(
    "IndexAdd",
    lambda x: (x(4, 5), 0, x.below(4, 6), x(6, 5), 2),
    lambda a, d, i, s, al: torch.index_add(a, d, i, s, alpha=al),
    "int64|reduced|float32",
)
case(
    "IndexFillTensor", lambda x: (x(4, 5), 1, (0, 3), 7), lambda a, d, i, v: a.index_fill(d, torch.tensor(i), v),
    "int64|reduced|float32"
)
case(
    "InplaceIndexFillTensor", lambda x: (x(4, 5), 1, (0, 3), 7), lambda a, d, i, v: a.index_fill(d, torch.tensor(i), v),
    "int64|reduced|float32"
)
case("InplaceIndexCopy", lambda x: (x(4, 5), 0, x.permutation(4)[:2], x(2, 5)), torch.Tensor.index_copy_)
case("Gather", lambda x: (x(4, 5), 1, x.below(5, 4, 3)), torch.gather)
for reduce, how in ((0, None), (1, "sum"), (2, "prod")):

    def scattered(a: Any, d: int, i: Any, source: Any, _: int, how: str | None = how) -> Any:
        """Into the tensor itself."""
        if how is None:
            return a.scatter_(d, i, source)
        source = source if isinstance(source, torch.Tensor) else torch.full_like(i, source, dtype=a.dtype)
        return a.scatter_reduce_(d, i, source, how)

    for name in ("Scatter", "InplaceScatter"):
        case(
            name,
            lambda x, r=reduce: (x(4, 5), 1, torch.stack([x.permutation(5)[:3] for _ in range(4)]), x(4, 3), r),
            scattered,
            "int64|float32",
        )
        case(f"{name}Value", lambda x, r=reduce: (x(4, 5), 0, x.below(4, 1, 5), 3, r), scattered, "int64|float32")
case("ScatterAdd", lambda x: (x(4, 5), 0, x.below(4, 6, 5), x(6, 5)), torch.scatter_add, "int64|reduced|float32")
case("Take", lambda x: (x(4, 5), x.below(20, 2, 3)), torch.take)
case("InplacePut", lambda x: (x(4, 5), x.permutation(20)[:6].reshape(2, 3), x(2, 3), False), torch.Tensor.put_)
case("InplacePut", lambda x: (x(4, 5), x.below(20, 9), x(9), True), torch.Tensor.put_, "int64|float32")
case("InplaceMaskedScatter", lambda x: (x(4, 5), x.mask(4, 5), x(20)), torch.Tensor.masked_scatter_)
case("Embedding", lambda x: (x(6, 3), x.below(6, 2, 4)), lambda w, i: w[i])
for padding, scale in (((1 << 64) - 1, False), (2, True)):
    case(
        "EmbeddingDenseBackward",
        lambda x, p=padding, s=scale: (x(9, 3), x.below(4, 9), 4, p, s),
        lambda g, i, n, p, s: aten.embedding_dense_backward(g, i, n, p if p < 1 << 63 else -1, s),
        "float32",
    )
case("EmbeddingRenorm", lambda x: (x(6, 3) * 2, x.below(6, 4), 1.0, 2.0),
     lambda w, i, m, p: aten.embedding_renorm_(w, i, m, p), "float32")
case(
    "OneHot",
    lambda x: (
        x.below(4, 2, 3).to(x.dtype),
        4,
        torch.ones(1, dtype=torch.int64),
        torch.zeros(1, dtype=torch.int64),
        -1,
    ),
    lambda a, n, on, off, axis: F.one_hot(a.long(), n),
    "int32|int64",
)
case(
    "OneHot",
    lambda x: (x.below(4, 5).to(x.dtype), 3, torch.full((1,), 2.0), torch.full((1,), -1.0), 0),
    lambda a, n, on, off, axis: (a == torch.arange(n)[:, None]) * 3.0 - 1,
    "int64",
)

# -- creation ----------------------------------------------------------------------------------------------------------

case("InplaceCopy", lambda x: (x(4),), lambda a: a.expand(3, 4))
case("Cast", lambda x: (x(3, 4), torch.float64), lambda a, t: a.to(t))
case("Cast", lambda x: (x(3, 4) * 3, torch.int32), lambda a, t: a.to(t), "int64|reduced|float32")
case("Cast", lambda x: (x.special(5, 8), torch.bool), lambda a, t: a.to(t), "int32|reduced|float32")
case("InplaceZero", lambda x: (), lambda: torch.zeros(3, 4))
case("InplaceOne", lambda x: (), lambda: torch.ones(3, 4))
case("InplaceFillScalar", lambda x: (2.5,), lambda v: torch.full((3, 4), v))
case("InplaceFillTensor", lambda x: (x.positive(1),), lambda v: v.expand(3, 4))
case("Arange", lambda x: (2, 11, 3), torch.arange)
case("Arange", lambda x: (1.0, -1.0, -0.25), torch.arange, "reduced|float32")
case("Linspace", lambda x: (-1.0, 2.0, 7), torch.linspace)
case("Eye", lambda x: (3, 5), torch.eye)
