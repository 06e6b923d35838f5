"""NPU rows of what joins, repeats and rearranges elements, and of indexing."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...._dtype import bool_, int64, uint8
from ...._layout import Spec
from . import ACLNN_CALLS
from .pointwise import named
from .row import Aclnn, Call, Each, OnCopy

#: ACLNN's codes of what a scatter does with what is there.
REDUCTIONS = {"add": 1, "sum": 1, "multiply": 2, "prod": 2}


def reduces(*args: Any) -> bool:
    return args[-1] in REDUCTIONS


def positions(self: Any, index: Any) -> list[Any]:
    """One index as ACLNN takes it: a vector of integers, a mask's as many as it has dimensions; an empty one means that
    a dimension is left out (op-plugin's convention).
    """
    if index is None:
        return [self.new_empty((0,), dtype=int64)]
    if index._dtype in (bool_, uint8):
        return list(index.to(self._device).nonzero().unbind(1)) if index.ndim else [index.to(self._device)]
    return [index.to(self._device)]


def spelled(self: Any, indices: Any) -> list[Any]:
    return [position for index in indices for position in positions(self, index)]


def by_integers(self: Any, indices: Any, *rest: Any) -> bool:
    """Whether what is left out can be told from what is empty, and no mask is a single truth value."""
    return all(index is None or (index.numel() and (index.ndim or index._dtype not in (bool_, uint8)))
               for index in indices)


def index_put(self: Any, indices: Any, values: Any, accumulate: bool) -> Iterator[Call]:
    """Nothing is called where masks choose nothing."""
    found = spelled(self, indices)
    if all(len(position) or index is None for position, index in zip(found, indices, strict=False)):
        yield "aclnnIndexPutImpl", (self, found, values.to(self._device), accumulate, False)


def into(name: str, code: Callable[..., Any] = lambda: 0) -> Aclnn:
    """A scatter into the first tensor; the code of its reduction comes last."""
    return Aclnn(name, lambda self, dim, index, source, *reduce: (self, dim, index, source, code(*reduce)),
                 when=lambda *args: len(args) == 4 or reduces(*args))


def numbers(index: Any) -> tuple[int, ...]:
    """The indices of a vector, which the host has to know."""
    return tuple(index.reshape(-1).tolist())


def repeated(self: Any, count: Any, dim: int | None) -> tuple[int, ...]:
    """The shape of a tensor whose elements are repeated in all, or in one dimension so often."""
    if dim is None:
        return (count,)
    dim %= self.ndim
    return (*self.shape[:dim], count, *self.shape[dim + 1:])


def interleaved(self: Any, repeats: Any, dim: int | None, output_size: int | None) -> Spec:
    times = 1 if repeats.numel() > 1 else self.numel() if dim is None else self.shape[dim]
    return Spec(repeated(self, repeats.sum().item() * times if output_size is None else output_size, dim), self._dtype)


def interleave(self: Any, repeats: Any, dim: int | None, size: Any, out: Any) -> Iterator[Call]:
    yield (("aclnnRepeatInterleave", (self, repeats, out.numel(), out)) if dim is None
           else ("aclnnRepeatInterleaveWithDim", (self, repeats, dim % self.ndim, out.shape[dim], out)))


def one_for_each(self: Any, repeats: Any, dim: int | None, size: Any) -> bool:
    return self.ndim > 0 and repeats.ndim == 1 and repeats.numel() in (
        1, self.numel() if dim is None else self.shape[dim])


ACLNN_CALLS.update({
    **named("""
        cat Cat                      stack Stack                  flip Flip                    tril Tril
        triu Triu                    constant_pad_nd ConstantPadNd                             repeat Repeat
        tril_ InplaceTril            triu_ InplaceTriu            trace Trace                  diag Diag
        diagflat DiagFlat            index_select IndexSelect     scatter_add ScatterAdd       take Take
        put_ InplacePut              index_copy_ InplaceIndexCopy masked_scatter_ InplaceMaskedScatter
        masked_fill_.Scalar InplaceMaskedFillScalar
    """),
    # negative padding crops, which ACLNN's operators do with constants only
    **{f"{kind}_pad{dims}d{form}": Aclnn(f"aclnn{kind.title()}Pad{dims}d{form.title()[1:]}",
                                         when=lambda *args: min(args[-1]) >= 0)
       for kind in ("reflection", "replication") for dims in (1, 2, 3) for form in ("", "_backward")},
    "roll": Aclnn("aclnnRoll", when=lambda self, shifts, dims: len(shifts) == len(dims) > 0),
    "gather": Aclnn("aclnnGather", lambda self, dim, index, sparse_grad, out: (self, dim, index, out)),
    "scatter.src": Aclnn("aclnnScatter", lambda self, dim, index, src, out: (self, dim, index, src, 0, out)),
    "scatter.value": Aclnn("aclnnScatterValue", lambda self, dim, index, value, out: (self, dim, index, value, 0, out)),
    "scatter.reduce": Aclnn("aclnnScatter", lambda self, dim, index, src, reduce, out: (
        self, dim, index, src, REDUCTIONS[reduce], out), when=reduces),
    "scatter_.src": into("aclnnInplaceScatter"),
    "scatter_.value": into("aclnnInplaceScatterValue"),
    "scatter_.reduce": into("aclnnInplaceScatter", REDUCTIONS.get),
    "scatter_.value_reduce": into("aclnnInplaceScatterValue", REDUCTIONS.get),
    "scatter_add_": Aclnn("aclnnScatterAdd", lambda self, dim, index, src: (self, dim, index, src, self)),
    "index.Tensor": Aclnn("aclnnIndex", lambda self, indices, out: (
        self, spelled(self, indices), out), when=by_integers),
    "index_put_": Each("", index_put, when=by_integers),
    # which writes into a contiguous ``self``, whatever ``out`` is
    "index_add_": Aclnn("aclnnIndexAdd", lambda self, dim, index, source, alpha: (
        self, dim, index, source, alpha, self), when=lambda self, *rest: self.ndim > 0),
    "index_fill.int_Scalar": Aclnn("aclnnIndexFillTensor", lambda self, dim, index, value, out: (
        self, dim, numbers(index), value, out), when=lambda self, dim, index, value: self.ndim > 0),
    "index_fill_.int_Scalar": Aclnn("aclnnInplaceIndexFillTensor", lambda self, dim, index, value: (
        self, dim, numbers(index), value), when=lambda self, dim, index, value: self.ndim > 0),
    "index_fill_.int_Tensor": Aclnn("aclnnInplaceIndexFillTensor", lambda self, dim, index, value: (
        self, dim, numbers(index), value.item()), when=lambda self, dim, index, value: self.ndim > 0),
    "masked_fill.Scalar": OnCopy("aclnnInplaceMaskedFillScalar"),
    "masked_fill.Tensor": OnCopy("aclnnInplaceMaskedFillTensor",
                                 when=lambda self, mask, value: value.device == self.device),
    "masked_fill_.Tensor": Aclnn("aclnnInplaceMaskedFillTensor",
                                 when=lambda self, mask, value: value.device == self.device),
    "split_copy.Tensor": Aclnn("aclnnSplitTensor", lambda self, size, dim, *outs: (self, size, dim, list(outs))),
    "split_with_sizes_copy": Aclnn("aclnnSplitWithSize", lambda self, sizes, dim, *outs: (
        self, sizes, dim, list(outs))),
    "repeat_interleave.Tensor": Aclnn(
        "aclnnRepeatInterleaveTensor", lambda repeats, size, out: (repeats, out.numel(), out),
        spec=lambda repeats, size: Spec((repeats.sum().item() if size is None else size,), repeats._dtype)),
    "repeat_interleave.self_Tensor": Each("", interleave, spec=interleaved, when=one_for_each),
    "fill_.Scalar": Aclnn("aclnnInplaceFillScalar"),
    "fill_.Tensor": Aclnn("aclnnInplaceFillTensor", when=lambda self, value: value.device == self.device),
    "zero_": Aclnn("aclnnInplaceZero"),
})
