"""NPU rows of what joins, repeats and rearranges elements, and of indexing."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...._base.layout import Spec
from ...._dtype import bool_, int64, uint8
from ...._tensor import Tensor
from . import ACLNN_CALLS
from .pointwise import named
from .row import Aclnn, Call, Each, OnCopy

#: ACLNN's codes of what a scatter does with what is there.
REDUCTIONS = {"add": 1, "sum": 1, "multiply": 2, "prod": 2}


def reduces(*args: Any) -> bool:
    return args[-1] in REDUCTIONS


def spelled(self: Tensor, indices: Sequence[Tensor | None]) -> tuple[Any, list[Any], bool]:
    """Return the tensor, its indices as ACLNN takes them, and whether an index selects nothing. ACLNN takes a tensor of
    integers for each dimension, and for a mask as many as it has dimensions; an empty one leaves a dimension out
    (op-plugin's convention). A 0-d mask gets a dimension of its own in the tensor.
    """
    found: list[Any] = []
    nothing = False
    for index in indices:
        if index is None:
            found.append(self.new_empty((0,), dtype=int64))
            continue
        index = index.to(self._device)
        if index._dtype in (bool_, uint8):
            if not index.ndim:
                self, index = self.unsqueeze(len(found)), index.view(1)
            chosen = index.nonzero().unbind(1)
        else:
            chosen = (index,)
        nothing = nothing or not chosen[0].numel()
        found.extend(chosen)
    return self, found, nothing


def index(self: Tensor, indices: Sequence[Tensor | None], out: Tensor) -> Iterator[Call]:
    """Yield the call. Outputs without elements, as empty indices select, do not get here."""
    self, found, _ = spelled(self, indices)
    yield "aclnnIndex", (self, found, out)


def index_put(self: Tensor, indices: Sequence[Tensor | None], values: Any, accumulate: bool) -> Iterator[Call]:
    """Nothing is called where an index chooses nothing."""
    self, found, nothing = spelled(self, indices)
    if not nothing:
        yield "aclnnIndexPutImpl", (self, found, values.to(self._device), accumulate, False)


def into(name: str, code: Callable[..., Any] = lambda: 0) -> Aclnn:
    """Make a row that scatters into the first tensor; the code of its reduction comes last."""
    return Aclnn(name, lambda self, dim, index, source, *reduce: (self, dim, index, source, code(*reduce)),
                 when=lambda *args: len(args) == 4 or reduces(*args))


def numbers(index: Tensor) -> tuple[int, ...]:
    """Return the indices of a vector, which the host has to read."""
    return tuple(index.reshape(-1).tolist())


def repeated(self: Tensor, count: Any, dim: int | None) -> tuple[int, ...]:
    """Return the shape of a tensor whose elements are repeated, flattened or along one dimension."""
    if dim is None:
        return (count,)
    dim %= self.ndim
    return (*self.shape[:dim], count, *self.shape[dim + 1:])


def interleaved(self: Tensor, repeats: Tensor, dim: int | None, output_size: int | None) -> Spec:
    times = 1 if repeats.numel() > 1 else self.numel() if dim is None else self.shape[dim]
    return Spec(repeated(self, repeats.sum().item() * times if output_size is None else output_size, dim), self._dtype)


def interleave(self: Tensor, repeats: Tensor, dim: int | None, size: Any, out: Tensor) -> Iterator[Call]:
    yield (("aclnnRepeatInterleave", (self, repeats, out.numel(), out)) if dim is None
           else ("aclnnRepeatInterleaveWithDim", (self, repeats, dim % self.ndim, out.shape[dim], out)))


def one_for_each(self: Tensor, repeats: Tensor, dim: int | None, size: Any) -> bool:
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
    "index.Tensor": Each("", index),
    "index_put_": Each("", index_put),
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
