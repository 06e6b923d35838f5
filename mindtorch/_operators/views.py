"""Views: other layouts over the same storage, the same as in-place changes of layout, and copies of what they see."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from math import prod
from typing import Any

from .._autograd.derivative import node_name
from .._autograd.node import next_sequence_nr
from .._autograd.utils import may_overlap, reduce_grad, reshaped, spread, transposed as aten_transposed
from .._autograd.views import propagate_requires_grad
from .._base.about import about
from .._base.errors import NAMES, check
from .._base.formats import contiguous_format
from .._base.layout import (
    Ints, broadcast_shapes, infer_size, is_contiguous, overlaps_itself, remembered, storage_size, view_strides,
    wrap_dim,
)
from .._creation.conversion import contiguous
from .._dispatch.aten import (
    _conj, _neg_view, _reshape_alias, _unsafe_view, add_, alias, as_strided, cat, clone, copy_, diagonal,
    diagonal_backward, expand, narrow as narrow_by_number, new_empty_strided, permute, select_backward,
    select_int as select, slice_backward, slice_Tensor as slice_, slice_Tensor as slice_of, split_Tensor as split,
    split_with_sizes, stack, tensor_split_indices as split_before, tensor_split_sections as split_evenly, transpose_,
    transpose_int as transpose, unfold, unfold_backward, unsafe_split_Tensor, unsafe_split_with_sizes, unsqueeze, view,
    view_as_complex, view_as_real, zero_, zeros,
)
from .._dispatch.dispatcher import TENSOR_TYPES, is_seen
from .._dispatch.keys import AUTOGRAD, DUAL, NONCONTIGUOUS, PYTHON
from .._dispatch.registry import Operator
from .._dispatch.schemas import registry
from .._tensor import Tensor
from .._transforms.batching.frames import Frame, lowered
from .._transforms.batching.rules import along_dimensions, as_it_is, composed, with_defaults, with_own_self, with_size
from . import composites, operator, schemas
from .creation import fresh

Row = Callable[..., Any]


def composite_reshape(self: Tensor, shape: Ints) -> Tensor:
    """``torch.reshape``: a view if the strides allow it, else a copy."""
    if not self._keys & NONCONTIGUOUS:
        return view(self, shape)
    wanted, stride = reshaping(tuple(self.shape), self._strides(), tuple(shape))
    if stride is None:
        return _unsafe_view(clone(self, "contiguous_format"), wanted)
    return view(self, wanted) if not stride or is_seen(self) else _reshape_alias(self, wanted, stride)


@remembered
def reshaping(shape: Ints, stride: Ints, size: Ints) -> tuple[Ints, Ints | None]:
    """Return the shape that ``reshape`` gives, and the strides: none where ``view`` keeps the elements contiguous, and
    None where it needs a copy.
    """
    if is_contiguous(shape, stride):
        return size, ()
    wanted = infer_size(size, prod(shape))
    return wanted, view_strides(shape, stride, wanted)


def split_along(name: str, least: int, axis: int) -> tuple[Row, Row]:
    """``torch.hsplit``, ``vsplit`` or ``dsplit``: into equal sections, or before indices."""

    def dim_of(self: Tensor) -> int:
        check(self.dim() >= least, lambda: f"torch.{name} requires a tensor with at least {least} dimension, but got a "
              f"tensor with {self.dim()} dimensions!")
        return 0 if self.dim() == 1 else axis

    def sections_row(self: Tensor, sections: int) -> tuple[Any, ...]:
        dim = dim_of(self)
        size = self.shape[dim]
        check(sections != 0 and size % sections == 0, lambda: f"torch.{name} attempted to split along dimension {dim}, "
              f"but the size of the dimension {size} is not divisible by the split_size {sections}!")
        return tensor_split_sections(self, sections, dim)

    def indices_row(self: Tensor, indices: Ints) -> tuple[Any, ...]:
        return tensor_split_indices(self, indices, dim_of(self))

    return sections_row, indices_row


def copy_of(name: str) -> Row:
    """Return the ``*_copy`` of a view: contiguous, and of its dtype. ``view_copy`` takes any layout to any shape."""
    call = registry["reshape" if name == "view" else name].call

    def row(*args: Any) -> Any:
        seen = call(*args)
        if seen.__class__ in TENSOR_TYPES:
            return clone(seen, "contiguous_format")
        return tuple([clone(piece, "contiguous_format") for piece in seen])

    return row


schemas("""
function, method:
    _conj(Tensor(a) self) -> Tensor(a)  # A view of the conjugates of the elements of `self`, which are computed when they are read.
    _neg_view(Tensor(a) self) -> Tensor(a)  # A view of the negatives of the elements of `self`, which are computed when they are read.
method:
    view(Tensor(a) self, int[] size) -> Tensor(a)  # A view of `self` with the shape `size`, or with the bytes of its elements read as `dtype`.
    view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)
    expand(Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)  # A view of `self` with the shape `size`, along which dimensions of size one are repeated.
    unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)  # A view of the windows of `size` elements that begin every `step` elements along `dimension` of `self`, as its last dimension.
operator only:
    unfold_backward(Tensor grad_in, int[] input_sizes, int dim, int size, int step) -> Tensor
    _reshape_alias(Tensor(a) self, int[] size, int[] stride) -> Tensor(a)  # A view of `self` with the shape `size` and the strides `stride`.
    alias(Tensor(a) self) -> Tensor(a)  # A view of all of `self`.
""")  # noqa: E501


def composite_unfold_backward(grad_in: Any, input_sizes: Ints, dim: int, size: int, step: int) -> Any:
    """Return the gradient of ``unfold``: windows may overlap, and their elements add up."""
    out = grad_in.new_zeros(input_sizes)
    windows = unfold(out, dim, size, step)
    for i in reversed(range(size)):  # which adds up an element's windows in their order
        add_(select(windows, -1, i), select(grad_in, -1, i))
    return fresh(out)


operator("_conj", batching=as_it_is, self=lambda grad: grad.conj())
operator("_neg_view", batching=as_it_is, self=lambda grad: -grad)
operator("view _reshape_alias", batching=with_size, self=lambda grad, self_shape: reshaped(grad, self_shape))
operator("view.dtype", batching=as_it_is, differentiable=False)
operator("expand", batching=with_size, self=lambda grad, self_shape: reduce_grad(grad, self_shape))
operator("unfold", batching=along_dimensions,
         self=lambda grad, self_shape, dimension, size, step:
             unfold_backward(grad, self_shape, dimension, size, step))
operator("unfold_backward", composite=composite_unfold_backward,
         grad_in=lambda grad, dim, size, step: grad.unfold(dim, size, step))
operator("alias", batching=as_it_is, self=lambda grad: grad)

schemas("""
operator only:
    slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor(a)  # A view of every `step`th element of `self` along `dim` from `start` up to, but without, `end`.
    select_backward(Tensor grad_output, int[] input_sizes, int dim, int index) -> Tensor
    slice_backward(Tensor grad_output, int[] input_sizes, int dim, int start, int end, int step) -> Tensor
    diagonal_backward(Tensor grad_output, int[] input_sizes, int offset, int dim1, int dim2) -> Tensor
function, method:
    select.int(Tensor(a) self, int dim, int index) -> Tensor(a)  # A view of the slice of `self` at `index` along `dim`, without that dimension.
    diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)  # A view of the diagonals `offset` of `self` in the dimensions `dim1` and `dim2`, as its last dimension.
    narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a)  # A view of `length` elements of `self` along `dim` from `start` on.
    narrow.Tensor(Tensor(a) self, int dim, Tensor start, int length) -> Tensor(a)
function, method, out, exact dtype, no overlap:
    narrow_copy(Tensor self, int dim, int start, int length) -> Tensor  # A copy of `length` elements of `self` along `dim` from `start` on.
""")  # noqa: E501


def narrow(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    """``torch.narrow``: ``length`` indices from ``start``. Raises IndexError or RuntimeError if one is out of range."""
    check(self.dim(), "narrow() cannot be applied to a 0-dim tensor.")
    check(length >= 0, "narrow(): length must be non-negative.")
    size = self.size(dim)
    check(-size <= start <= size,
          lambda: f"start out of range (expected to be in range of [{-size}, {size}], but got {start})", IndexError)
    start += size if start < 0 else 0
    check(start + length <= size,
          lambda: about(RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size})."),
                        "narrow", start=start, length=length, size=size))
    return slice_(self, dim, start, start + length, 1)


def narrow_tensor(self: Tensor, dim: int, start: Any, length: int) -> Any:
    """``torch.narrow`` from a start that is an integer tensor without dimensions."""
    check(not start.dim() and start._dtype.category == 1, "start must be an 0-dim integral Tensor.")
    return narrow_by_number(self, dim, start.item(), length)


def narrow_copy(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    """``torch.narrow_copy``: ``narrow``, copied."""
    ndim = self.dim()
    check(ndim, "narrow() cannot be applied to a 0-dim tensor.")
    check(dim < ndim, lambda: f"narrow_copy(): dim {dim} is out of range for {ndim} dimensions")
    size = self.size(dim)
    check(-size <= start <= size, lambda: f"start out of range (expected to be in range of [{-size}, {size}], but got "
          f"{start})", IndexError)
    return clone(narrow(self, dim, start, length), "contiguous_format")


def view_backward(name: str) -> Row:
    """Return the gradient of a view of ``input_sizes``: zeros outside of the view."""
    call = registry[name].call

    def row(grad_output: Tensor, input_sizes: Ints, *args: Any) -> Any:
        out = grad_output.new_zeros(input_sizes)
        copy_(call(out, *args), grad_output)
        return fresh(out)

    return row


def slice_grad(grad: Tensor, self_shape: Any, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    first, last = 0 if start is None else start, self_shape[dim] if end is None else end
    return slice_backward(grad, self_shape, dim, first, last, step)


composites(narrow)
operator("slice.Tensor", batching=along_dimensions, self=slice_grad)
operator("select.int", batching=along_dimensions,
         self=lambda grad, self_shape, dim, index: select_backward(grad, self_shape, dim, index))
operator("diagonal", batching=along_dimensions,
         self=lambda grad, self_shape, offset, dim1, dim2:
             diagonal_backward(grad, self_shape, offset, dim1, dim2))
operator("narrow.Tensor", composite=narrow_tensor)
operator("select_backward", composite=view_backward("select.int"),
         grad_output=lambda grad, dim, index: grad.select(dim, index))
operator("slice_backward", composite=view_backward("slice.Tensor"), grad_output=registry["slice.Tensor"])
operator("diagonal_backward", composite=view_backward("diagonal"),
         grad_output=lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2))
operator("narrow_copy", composite=narrow_copy,
         self=lambda grad, self_shape, dim, start, length:
             slice_grad(grad, self_shape, dim, start, start + length, 1))

schemas("""
function, method:
    as_strided(Tensor(a) self, int[] size, int[] stride, int? storage_offset=None) -> Tensor(a)  # A view of the storage of `self` with the shape `size`, the strides `stride` and the offset `storage_offset`, all counted in elements.
function, method, inplace_view:
    as_strided_(Tensor(a!) self, int[] size, int[] stride, int? storage_offset=None) -> Tensor(a!)  # Gives `self` the shape `size`, the strides `stride` and the offset `storage_offset` on its storage.
""")  # noqa: E501


def as_strided_grad(grad: Tensor, self_shape: Any, self_stride: Any, self_offset: int, size: Any, stride: Any,
                    storage_offset: int | None) -> Tensor:
    """Return the gradient of ``as_strided`` for an input of this shape, stride and offset. It is written through the
    view's layout into a storage of zeros, and read through the input's. Elements that the view shows several times
    add up; elements that the input shows several times share the gradient evenly.
    """
    if 0 in size or 0 in self_shape:
        return zero_(new_empty_strided(grad, self_shape, self_stride))
    storage_offset = self_offset if storage_offset is None else storage_offset
    for d in range(len(size) - 1, -1, -1):
        if size[d] == 1:
            grad = grad.squeeze(d)
        elif stride[d] == 0:
            grad = grad.sum(d)
    kept = [d for d, n in enumerate(size) if n != 1 and stride[d] != 0]
    size, stride = tuple(size[d] for d in kept), tuple(stride[d] for d in kept)
    longer = [d for d, n in enumerate(self_shape) if n != 1]
    inner = tuple(self_shape[d] for d in longer), tuple(self_stride[d] for d in longer)
    start = min(self_offset, storage_offset)
    length = max(storage_size(size, stride, storage_offset - start), storage_size(*inner, self_offset - start))
    storage: Tensor = spread(grad, length, size, stride, storage_offset - start)
    if may_overlap(*inner):
        storage.div_(spread(grad.new_ones(inner[0]), length, *inner, self_offset - start))
    return storage.as_strided(self_shape, self_stride, self_offset - start)


def as_strided_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """``as_strided``: each element begins as far behind the one before it as it does in the batch."""
    self, size, stride, offset = with_defaults(op, args)
    whole = lowered(self, frame)
    start = whole.storage_offset() if offset is None else offset
    if whole._keys & DUAL and frame.size and not whole.stride(0):  # elements share memory, and have tangents each
        return stack([op.call(element, size, stride, start) for element in whole.unbind()])
    return op.call(whole, (frame.size, *size), (whole.stride(0), *stride), start)


operator("as_strided", batching=as_strided_batch_rule, self=as_strided_grad)

schemas("""
function, method:
    detach(Tensor(a) self) -> Tensor(a)  # A view of `self` outside of the autograd graph.
    detach_(Tensor(a!) self) -> Tensor(a!)  # Takes `self` out of the autograd graph, of which it becomes a leaf.
    permute(Tensor(a) self, int[] dims) -> Tensor(a)  # A view of `self` with its dimensions in the order `dims`.
    transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)  # A view of `self` with the dimensions `dim0` and `dim1` exchanged.
method, inplace_view:
    transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)  # Exchanges the dimensions `dim0` and `dim1` of `self` in place.
""")  # noqa: E501


def detach_(self: Tensor) -> Tensor:
    """``Tensor.detach_``: leave the graph. Raises RuntimeError for a view."""
    check(self._base is None, "Can't detach views in-place. Use detach() instead. If you are using "
          "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as True, gradients are views "
          "of DDP buckets, and hence detach_() cannot be called on these gradients. To fix this error, please refer to "
          "the Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution.")
    if self._grad_fn is not None:
        self._detached_at = next_sequence_nr()
        if self._version_counter is None:
            self._start_counter()
    self._keys &= ~(AUTOGRAD | DUAL)
    self._grad_fn, self._output_nr, self._tangents = None, 0, None
    propagate_requires_grad(self)
    return self


def unpermute(grad: Tensor, dims: Any) -> Any:
    """Undo a permutation."""
    ndim = len(dims)
    order = [0] * ndim
    for new, old in enumerate(dims):
        order[old % ndim] = new
    return grad.permute(order)


composites(detach_)
operator("detach", batching=as_it_is, differentiable=False)
operator("permute", batching=along_dimensions, self=unpermute)
operator("transpose.int", batching=along_dimensions, self=registry["transpose.int"])

schemas("""
function, method:
    t(Tensor(a) self) -> Tensor(a)  # A view of the matrix `self` transposed; of a vector, as it is.
    adjoint(Tensor(a) self) -> Tensor(a)  # The conjugate of `self` with its last two dimensions exchanged.
    unsqueeze(Tensor(a) self, int dim) -> Tensor(a)  # A view of `self` with a dimension of size one inserted at `dim`.
    squeeze(Tensor(a) self) -> Tensor(a)  # A view of `self` without its dimensions of size one, or without those in `dim`.
    squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)
    squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)
method, inplace_view:
    t_(Tensor(a!) self) -> Tensor(a!)  # Transposes the matrix `self` in place.
    unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)  # Inserts a dimension of size one into `self` at `dim`.
    squeeze_(Tensor(a!) self) -> Tensor(a!)  # Removes from `self` its dimensions of size one, or those in `dim`.
    squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)
    squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)
operator only:
    mT(Tensor(a) self) -> Tensor(a)  # A view of `self` with its last two dimensions exchanged.
    matrix_H(Tensor(a) self) -> Tensor(a)  # The conjugate transpose of the matrix `self`.
    mH(Tensor(a) self) -> Tensor(a)  # The conjugate of `self` with its last two dimensions exchanged.
""")  # noqa: E501


def warn_of_number(name: str, instead: str) -> None:
    """Warn that a number is transposed."""
    warnings.warn(f"{name} is deprecated on 0-D tensors. {instead}", stacklevel=4)


IDENTITY, CONJUGATE = "This function is the identity in these cases.", "Consider using x.conj()."


def transposed(name: str, conjugated: bool) -> Row:
    """Exchange the last two dimensions, as ``Tensor.mT`` and, conjugated too, ``Tensor.mH`` do."""

    def row(self: Tensor) -> Any:
        check(self.dim() >= 2 or not self.dim(),
              lambda: f"tensor.{name} is only supported on matrices or batches of matrices. Got {self.dim()}-D tensor.")
        if not self.dim():
            warn_of_number(name if name.endswith(")") else f"Tensor.{name}", CONJUGATE if conjugated else IDENTITY)
            return self
        swapped = transpose(self, -2, -1)
        return swapped.conj() if conjugated and self._dtype.is_complex else swapped

    return row


def matrix_H(self: Any) -> Any:
    """``Tensor.H``: a matrix transposed and conjugated."""
    hint = " For batches of matrices, consider using tensor.mH" if self.dim() > 2 else ""
    check(self.dim() in (0, 2),
          lambda: f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor.{hint}")
    if not self.dim():
        warn_of_number("Tensor.H", CONJUGATE)
        return self
    return adjoint(self)


adjoint = transposed("adjoint()", True)


def unsqueeze_to(grad: Tensor, shape: Any, dims: Any = None) -> Any:
    """Put back the dimensions of size 1 (all, or those of ``dims``) that squeezing took."""
    wanted = range(len(shape)) if dims is None else [d % max(len(shape), 1) for d in dims]
    for d, size in enumerate(shape):
        if size == 1 and d in wanted:
            grad = grad.unsqueeze(d)
    return grad


def t_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """``t``, which leaves a vector as it is."""
    whole, ndim = lowered(args[0], frame), args[0].ndim
    check(ndim <= 2, lambda: f"{op.packet}() expects a tensor with <= 2 dimensions, but self is {ndim}D")
    return whole.mT if whole.ndim == 3 else alias(whole)


def squeeze_batch_rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """``squeeze`` of all dimensions of size 1, but for the batch's."""
    return lowered(args[0], frame).squeeze([d + 1 for d, n in enumerate(args[0].shape) if n == 1])


composites(matrix_H)
operator("adjoint", composite=adjoint)
operator("t", batching=t_batch_rule, self=lambda grad: aten_transposed(grad))
operator("mT", composite=transposed("mT", False))
operator("mH", composite=transposed("mH", True))
operator("unsqueeze", batching=along_dimensions, self=lambda grad, dim: grad.squeeze(dim))
operator("squeeze", batching=squeeze_batch_rule, self=lambda grad, self_shape: unsqueeze_to(grad, self_shape))
operator("squeeze.dim", batching=along_dimensions, node="SqueezeBackward1",
         self=lambda grad, self_shape, dim: unsqueeze_to(grad, self_shape, (dim,)))
operator("squeeze.dims", batching=along_dimensions, node="SqueezeBackward2",
         self=lambda grad, self_shape, dim: unsqueeze_to(grad, self_shape, dim))

schemas("""
function, method:
    unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]  # Views of the slices of `self` along `dim`, without that dimension.
""")  # noqa: E501


def zeros_beside(known: Tensor, shape: Ints) -> Tensor:
    """Return the gradient of an output that nothing used: as PyTorch makes it, or as a subclass does (DTensor)."""
    return zeros(shape, known._dtype, None, known._device) if type(known) is Tensor else known.new_zeros(shape)


def unbind_grad(grads: Any, dim: int) -> Tensor:
    known = next(g for g in grads if g is not None)
    return stack([expand(zeros_beside(known, ()), known.shape) if g is None else g for g in grads], dim)


operator("unbind.int", batching=along_dimensions, self=unbind_grad)

schemas("""
function, method:
    split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[]  # Views of `self` in pieces of `split_size` elements along `dim`; the last may be smaller.
    split_with_sizes(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]  # Views of `self` in pieces along `dim` of the sizes `split_sizes`.
    split.sizes(Tensor(a -> *) self, int[] split_size, int dim=0) -> Tensor(a)[]
    tensor_split.sections(Tensor(a -> *) self, int sections, int dim=0) -> Tensor(a)[]  # Views of `self` in `sections` pieces along `dim` whose sizes differ by one at most, or split before the positions `indices`.
    tensor_split.indices(Tensor(a -> *) self, int[] indices, int dim=0) -> Tensor(a)[]
    tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]
""")  # noqa: E501


def pieces(self: Tensor, starts: Iterable[int], ends: Iterable[int], dim: int) -> tuple[Any, ...]:
    return tuple(slice_(self, dim, start, end, 1) for start, end in zip(starts, ends, strict=True))


#: From so many pieces on there is no memory for them, each of which is a tensor; PyTorch fails to allocate them.
MOST = 1 << 28


def _splittable(self: Tensor, dim: int) -> int:
    check(self.dim(),
          lambda: f"tensor_split expected at least a 1-dimensional tensor, but got a tensor with {self.dim()} dims")
    return wrap_dim(dim, self.dim())


def tensor_split_sections(self: Tensor, sections: int, dim: int = 0) -> tuple[Any, ...]:
    """``torch.tensor_split``: so many pieces, the first ones longer by 1 where needed."""
    dim = _splittable(self, dim)
    check(sections > 0, lambda: f"number of sections must be larger than 0, got {sections}")
    check(sections < MOST, lambda: f"tensor_split: there is not enough memory for {sections} tensors")
    least, longer = divmod(self.shape[dim], sections)
    ends = [(i + 1) * least + min(i + 1, longer) for i in range(sections)]
    return pieces(self, [0, *ends[:-1]], ends, dim)


def tensor_split_indices(self: Tensor, indices: Ints, dim: int = 0) -> tuple[Any, ...]:
    """``torch.tensor_split``: split before each of these indices."""
    dim = _splittable(self, dim)
    return pieces(self, (0, *indices), (*indices, self.shape[dim]), dim)


def tensor_split_tensor(self: Tensor, tensor_indices_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """``torch.tensor_split`` with indices or a number of sections in an int64 tensor."""
    given = tensor_indices_or_sections
    check(self.dim(),
          lambda: f"tensor_split expected at least a 1-dimensional tensor, but got a tensor with {self.dim()} dims")
    check(given.device.type == "cpu",
          lambda: f"tensor_split expected tensor_indices_or_sections to be on cpu, but it's on {given.device}")
    check(given._dtype.name == "int64", lambda: "tensor_split expected tensor_indices_or_sections to have dtype of "
          f"long, but got {NAMES[given._dtype.name]}")
    check(given.dim() < 2, lambda: "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
          f"one-dimensional tensor, but got a tensor with {given.dim()} dims")
    values = given.tolist()
    return (split_before(self, tuple(values), dim) if given.dim() else split_evenly(self, values, dim))  # type: ignore[no-any-return]


def split_grad(grads: Any, sizes: Any, dim: int, shape: Any) -> Tensor:
    """Return the pieces' gradients joined, zeros for pieces without one."""
    dim %= len(shape)
    known = next(g for g in grads if g is not None)
    pieces = [zeros_beside(known, (*shape[:dim], n, *shape[dim + 1:])) if g is None else g
              for g, n in zip(grads, sizes, strict=True)]
    return cat(pieces, dim)


def piece_sizes(size: int, split_size: int) -> list[int]:
    """Return the sizes of the pieces of a dimension."""
    step = max(split_size, 1)
    return [min(step, size - i) for i in range(0, max(size, 1), step)]


operator("split.Tensor", batching=along_dimensions,
         self=lambda grads, self_shape, split_size, dim:
             split_grad(grads, piece_sizes(self_shape[dim], split_size), dim, self_shape))
operator("split_with_sizes", batching=along_dimensions,
         self=lambda grads, self_shape, split_sizes, dim:
             split_grad(grads, split_sizes, dim, self_shape))
operator("split.sizes", composite=lambda self, split_size, dim=0: split_with_sizes(self, split_size, dim))
operator("tensor_split.sections", composite=tensor_split_sections)
operator("tensor_split.indices", composite=tensor_split_indices)
operator("tensor_split.tensor_indices_or_sections", composite=tensor_split_tensor)

schemas("""
function:
    view_as_real(Tensor(a) self) -> Tensor(a)  # A view of the complex tensor `self` with a last dimension for real and imaginary part.
    view_as_complex(Tensor(a) self) -> Tensor(a)  # A view of `self` as complex numbers, whose real and imaginary parts are in the last dimension.
method:
    swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)  # Exchanges the dimensions `axis0` and `axis1` of `self` in place; another name for `transpose_`.
    swapdims_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)  # Exchanges the dimensions `dim0` and `dim1` of `self` in place; another name for `transpose_`.
function, method:
    swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)  # A view of `self` with the dimensions `axis0` and `axis1` exchanged; another name for `transpose`.
    swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)  # A view of `self` with the dimensions `dim0` and `dim1` exchanged; another name for `transpose`.
    reshape(Tensor(a) self, int[] shape) -> Tensor(a)  # `self` with the shape `shape`: a view where its strides allow one, otherwise a copy.
    ravel(Tensor(a) self) -> Tensor(a)  # `self` in one dimension: a view where its strides allow one, otherwise a copy.
    flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)  # `self` with the dimensions from `start_dim` to `end_dim` merged into one: a view where its strides allow one, otherwise a copy.
    unflatten.int(Tensor(a) self, int dim, int[] sizes) -> Tensor(a)  # A view of `self` with the dimension `dim` split into dimensions of the sizes `sizes`.
    broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)  # A view of `self` broadcast to the shape `size`.
""")  # noqa: E501


def flatten(self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """``torch.flatten``: a range of dimensions as one. Raises RuntimeError if the range ends before it starts."""
    shape = tuple(self.shape)
    wanted = flattened(shape, start_dim, end_dim)
    return self if len(wanted) == len(shape) else composite_reshape(self, wanted)


@remembered
def flattened(shape: Ints, start_dim: int, end_dim: int) -> Ints:
    """Return a shape with a range of its dimensions as one."""
    start, end = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    check(start <= end, "flatten() has invalid args: start_dim cannot come after end_dim", kind="flatten order")
    return (*shape[:start], prod(shape[start:end + 1]), *shape[end + 1:])


def unflatten(self: Tensor, dim: int, sizes: Ints) -> Tensor:
    """``torch.unflatten``: one dimension as several, one perhaps -1. Raises RuntimeError unless their product fits."""
    dim = wrap_dim(dim, self.dim())
    check(sizes, "unflatten: sizes must be non-empty")
    check(self.dim(), "unflatten got an unexpected error: the tensor has no dimensions")
    shape = tuple(self.shape)
    try:
        inner = infer_size(sizes, shape[dim])
    except RuntimeError as error:
        if str(error).startswith(("only one dimension", "invalid shape")):
            raise about(RuntimeError(f"unflatten got an unexpected error:\n{error}: sizes {list(sizes)}"),
                        "unflatten", sizes=tuple(sizes), dim=dim, size=shape[dim]) from error
        raise about(RuntimeError(f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} "
                                 f"({shape[dim]}) in the input tensor"),
                    "unflatten", sizes=tuple(sizes), dim=dim, size=shape[dim]) from error
    return view(self, (*shape[:dim], *inner, *shape[dim + 1:]))


operator("view_as_real", batching=as_it_is, self=lambda grad: view_as_complex(grad.contiguous()))
operator("view_as_complex", batching=as_it_is, autocast="cpu float32",
         self=lambda grad: view_as_real(grad.contiguous().resolve_conj()))
operator("swapaxes_ swapdims_", composite=transpose_)
operator("swapaxes swapdims", composite=transpose)
operator("reshape", composite=composite_reshape)
operator("ravel", composite=lambda self: view(contiguous(self), (-1,)))
operator("flatten.using_ints", composite=flatten)
operator("unflatten.int", composite=unflatten)
operator("broadcast_to", composite=expand)

schemas("""
function, method:
    movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)  # A view of `self` with the dimensions `source` moved to the positions `destination` and the others in order.
    movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)
    moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)  # A view of `self` with the dimensions `source` moved to the positions `destination`; another name for `movedim`.
    moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)
    resolve_conj(Tensor(a) self) -> Tensor(a)  # `self` with its conjugation carried out, if it is pending.
    resolve_neg(Tensor(a) self) -> Tensor(a)  # `self` with its negation carried out, if it is pending.
    chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]  # Views of `self` in at most `chunks` pieces along `dim`, all but the last equally large.
    unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]  # `self` in at most `chunks` pieces along `dim`, which autograd does not treat as views.
    hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]  # Views of `self` split along the second dimension, or the only one, into `sections` equal pieces, or before the positions `indices`.
    hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]
    vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]  # Views of `self` split along the first dimension into `sections` equal pieces, or before the positions `indices`.
    vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]
    dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]  # Views of `self` split along the third dimension into `sections` equal pieces, or before the positions `indices`.
    dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]
method:
    reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)  # `self` with the shape of `other`: a view where its strides allow one, otherwise a copy.
    view_as(Tensor(a) self, Tensor other) -> Tensor(a)  # A view of `self` with the shape of `other`.
""")  # noqa: E501


def movedim(self: Tensor, source: Ints, destination: Ints) -> Tensor:
    """``torch.movedim``: dimensions to other places. Raises RuntimeError for lists that repeat or differ in length."""
    check(len(source) == len(destination), lambda: "movedim: Invalid source or destination dims: source "
          f"({list(source)} dims) should contain the same number of dims as destination ({list(destination)} dims)")
    ndim = self.dim()
    places = [[wrap_dim(dim, ndim) for dim in dims] for dims in (source, destination)]
    for name, given, dims in zip(("source", "destination"), (source, destination), places, strict=True):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(given)})")
    if not ndim:
        return alias(self)
    order = [-1] * ndim
    for old, new in zip(*places, strict=True):
        order[new] = old
    rest = iter(d for d in range(ndim) if d not in places[0])
    return permute(self, tuple(next(rest) if d == -1 else d for d in order))


def chunked(split_one: Row, split_sizes: Row) -> Row:
    """``torch.chunk`` and ``unsafe_chunk``: so many pieces at most, of one size but for the last."""

    def row(self: Tensor, chunks: int, dim: int = 0) -> tuple[Any, ...]:
        check(self.dim(), "chunk expects at least a 1-dimensional tensor")
        check(chunks > 0, lambda: f"chunk expects `chunks` to be greater than 0, got: {chunks}")
        size = self.size(dim)
        pieces: tuple[Any, ...] = (
            split_one(self, -(-size // chunks), dim) if size else split_sizes(self, (0,) * chunks, dim))
        return pieces

    return row


operator("movedim.int moveaxis.int",
         composite=lambda self, source, destination: movedim(self, (source,), (destination,)))
operator("movedim.intlist moveaxis.intlist", composite=movedim)
operator("resolve_conj", composite=lambda self: clone(self) if self.is_conj() else self)
operator("resolve_neg", composite=lambda self: clone(self) if self.is_neg() else self)
operator("chunk", composite=chunked(split, split_with_sizes))
operator("unsafe_chunk", composite=chunked(unsafe_split_Tensor, unsafe_split_with_sizes))
operator("reshape_as", composite=lambda self, other: composite_reshape(self, other.shape))
operator("view_as", composite=lambda self, other: view(self, other.shape))

schemas("""
method:
    expand_as(Tensor(a) self, Tensor other) -> Tensor(a)  # A view of `self` with the shape of `other`, along which dimensions of size one are repeated.
    contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)  # `self` where its elements lie in memory in the order of `memory_format`, otherwise a copy that does.
operator only:
    broadcast_tensors(Tensor[] tensors) -> Tensor[]  # Views of the `tensors` broadcast to the shape that all of them have in common.
    numpy_T(Tensor(a) self) -> Tensor(a)  # A view of `self` with its dimensions in reverse order.
    linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)  # A view of the diagonals `offset` of `A` in the dimensions `dim1` and `dim2`, as its last dimension.
    atleast_1d(Tensor self) -> Tensor  # `self` with at least one dimension; a scalar gets one of size one.
    atleast_2d(Tensor self) -> Tensor  # `self` with at least two dimensions; those of size one are added in front.
    atleast_3d(Tensor self) -> Tensor  # `self` with at least three dimensions; those of size one are added, to a matrix at the end.
function:
    real(Tensor(a) self) -> Tensor(a)  # A view of the real parts of `self`, which is `self` where it is not complex.
""")  # noqa: E501


def broadcast_tensors(tensors: list[Any]) -> tuple[Any, ...]:
    """``torch.broadcast_tensors``: all expanded to their common shape; what has it already, as it is."""
    shape = broadcast_shapes(*(t.shape for t in tensors))
    return tuple(t if t.shape == shape else expand(t, shape) for t in tensors)


def atleast(ndim: int) -> Row:
    """``torch.atleast_1d`` to ``atleast_3d`` of one tensor."""

    def row(self: Tensor) -> Any:
        have = self.dim()
        if have >= ndim:
            return self
        if not have:
            return composite_reshape(self, (1,) * ndim)
        if have == 1:
            self = unsqueeze(self, 0)
        return unsqueeze(self, -1) if ndim == 3 else self

    return row


def numpy_T(self: Tensor) -> Tensor:
    """``Tensor.T``: all dimensions reversed."""
    if not self.dim():
        warn_of_number("Tensor.T", IDENTITY)
    elif self.dim() != 2:
        warnings.warn("The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and "
                      "it will throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
                      "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.",
                      stacklevel=3)
    return permute(self, tuple(range(self.dim()))[::-1])


def real(self: Tensor) -> Tensor:
    """``torch.real``: the real parts; a real tensor is its own."""
    if not self._dtype.is_complex:
        return self
    return select(view_as_real(_conj(self) if self.is_conj() else self), -1, 0)


operator("contiguous", composite=lambda self, memory_format=contiguous_format: contiguous(
    self, memory_format=memory_format))
composites(broadcast_tensors, numpy_T, real)
operator("expand_as", composite=lambda self, other: expand(self, other.shape))
operator("linalg_diagonal", composite=lambda A, offset=0, dim1=-2, dim2=-1: diagonal(A, offset, dim1, dim2))
operator("atleast_1d", composite=atleast(1))
operator("atleast_2d", composite=atleast(2))
operator("atleast_3d", composite=atleast(3))

schemas("""
function:
    imag(Tensor(a) self) -> Tensor(a)  # A view of the imaginary parts of the complex tensor `self`.
operator only:
    _unsafe_view(Tensor self, int[] size) -> Tensor  # A tensor on the memory of `self` with the shape `size`, which autograd does not treat as a view.
function, method:
    unsafe_split.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]  # `self` in pieces of `split_size` elements along `dim`, which autograd does not treat as views.
    unsafe_split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]  # `self` in pieces along `dim` of the sizes `split_sizes`, which autograd does not treat as views.
""")  # noqa: E501


def imag(self: Tensor) -> Tensor:
    """``torch.imag``: the imaginary parts. Raises RuntimeError if the tensor is not complex."""
    check(self._dtype.is_complex, "imag is not implemented for tensors with non-complex dtypes.")
    if self.is_conj():
        return select(_neg_view(view_as_real(_conj(self))), -1, 1)
    return select(view_as_real(self), -1, 1)


composites(imag)
operator("_unsafe_view", batching=with_size, self=lambda grad, self_shape: reshaped(grad, self_shape))
operator("unsafe_split.Tensor", batching=along_dimensions)

schemas("""
function, method, out, exact dtype, no overlap:
    select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor  # A copy of `self` with `src` written at `index` along `dim`.
    slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor  # A copy of `self` with `src` written to every `step`th position along `dim` from `start` up to, but without, `end`.
    diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor  # A copy of `self` with `src` written to the diagonals `offset` in the dimensions `dim1` and `dim2`.
    as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor  # A copy of `self` with `src` written to its view of shape `size`, strides `stride` and offset `storage_offset`.
function, out, exact dtype, no overlap:
    _conj_copy(Tensor self) -> Tensor  # A contiguous copy of the conjugates of the elements of `self`, which are computed when they are read.
    _neg_view_copy(Tensor self) -> Tensor  # A contiguous copy of the negatives of the elements of `self`, which are computed when they are read.
    view_copy(Tensor self, int[] size) -> Tensor  # A contiguous copy of `self` with the shape `size`, or with the bytes of its elements read as `dtype`.
    view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor
    expand_copy(Tensor self, int[] size, *, bool implicit=False) -> Tensor  # A contiguous copy of `self` with the shape `size`, along which dimensions of size one are repeated.
    unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor  # A contiguous copy of the windows of `size` elements that begin every `step` elements along `dimension` of `self`, as its last dimension.
""")  # noqa: E501


def clone_preserve_strides(self: Tensor) -> Any:
    """Copy a tensor with all its storage, which keeps strides and offset; copy it plainly if it overlaps itself."""
    shape, stride = self.shape, self._strides()
    if overlaps_itself(shape, stride):
        return clone(self)
    whole = as_strided(self, (self.untyped_storage().nbytes() // self.element_size(),), (1,), 0)
    copy = clone(whole)
    if copy._keys & PYTHON:  # of a class that has to make the result itself
        return as_strided(copy, shape, stride, self._offset)
    return copy._alias(shape, stride, self._offset)


def replace(piece: Tensor, src: Tensor) -> None:
    """Write a tensor into a view of its shape. Raises RuntimeError if the shapes differ."""
    check(piece.shape == src.shape, lambda: "expected src to have a size equal to the slice of self. src size = "
          f"{list(src.shape)}, slice size = {list(piece.shape)}")
    copy_(piece, src)


def scatter(name: str) -> Row:
    """Return the ``*_scatter`` of a view: a copy of ``self`` with ``src`` in the view's place."""
    call = registry[name].call

    def row(self: Tensor, src: Any, *args: Any) -> Any:
        out = clone_preserve_strides(self)
        replace(call(out, *args), src)
        return fresh(out)

    return row


def as_strided_scatter_grad(grad: Tensor, self_shape: Any, self_stride: Any, size: Any, stride: Any,
                            storage_offset: int | None) -> Tensor:
    """PyTorch's gradient of ``as_strided_scatter`` for ``self``: what was written has it, not what was kept."""
    out = zero_(new_empty_strided(grad, self_shape, self_stride))
    copy_(out.as_strided(size, stride, storage_offset), grad.contiguous().as_strided(size, stride, storage_offset))
    return out


def decomposed_scatter(view: Callable[..., Any]) -> Callable[..., Any]:
    """Return a copy of a tensor with another in a view's place."""

    def write(self: Tensor, src: Any, *args: Any) -> Any:
        out = self.clone()
        replace(view(out, *args), src)
        return out

    return with_own_self(write)


operator("select_scatter", composite=scatter("select.int"), batching=composed(decomposed_scatter(select)),
         self=lambda grad, src_shape, dim, index: grad.select_scatter(grad.new_zeros(src_shape), dim, index),
         src=lambda grad, dim, index: grad.select(dim, index))
operator("slice_scatter", composite=scatter("slice.Tensor"), batching=composed(decomposed_scatter(slice_of)),
         self=lambda grad, src_shape, dim, start, end, step:
             grad.slice_scatter(grad.new_zeros(src_shape), dim, start, end, step), src=registry["slice.Tensor"])
operator("diagonal_scatter", composite=scatter("diagonal"), batching=composed(decomposed_scatter(diagonal)),
         self=lambda grad, src_shape, offset, dim1, dim2:
             grad.diagonal_scatter(grad.new_zeros(src_shape), offset, dim1, dim2),
         src=lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2))
operator("as_strided_scatter", composite=scatter("as_strided"), self=as_strided_scatter_grad,
         src=lambda grad, size, stride, storage_offset: grad.contiguous().as_strided(size, stride, storage_offset))

schemas("""
function, out, exact dtype, no overlap:
    _reshape_alias_copy(Tensor self, int[] size, int[] stride) -> Tensor  # A contiguous copy of `self` with the shape `size` and the strides `stride`.
    alias_copy(Tensor self) -> Tensor  # A contiguous copy of all of `self`.
    slice_copy.Tensor(Tensor self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor  # A contiguous copy of every `step`th element of `self` along `dim` from `start` up to, but without, `end`.
    as_strided_copy(Tensor self, int[] size, int[] stride, int? storage_offset=None) -> Tensor  # A contiguous copy of the storage of `self` with the shape `size`, the strides `stride` and the offset `storage_offset`, all counted in elements.
    detach_copy(Tensor self) -> Tensor  # A contiguous copy of `self` outside of the autograd graph.
    permute_copy(Tensor self, int[] dims) -> Tensor  # A contiguous copy of `self` with its dimensions in the order `dims`.
    transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor  # A contiguous copy of `self` with the dimensions `dim0` and `dim1` exchanged.
    t_copy(Tensor self) -> Tensor  # A contiguous copy of the matrix `self` transposed; of a vector, as it is.
    unsqueeze_copy(Tensor self, int dim) -> Tensor  # A contiguous copy of `self` with a dimension of size one inserted at `dim`.
    squeeze_copy(Tensor self) -> Tensor  # A contiguous copy of `self` without its dimensions of size one, or without those in `dim`.
    squeeze_copy.dim(Tensor self, int dim) -> Tensor
    squeeze_copy.dims(Tensor self, int[] dim) -> Tensor
    select_copy.int(Tensor self, int dim, int index) -> Tensor  # A contiguous copy of the slice of `self` at `index` along `dim`, without that dimension.
    diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor  # A contiguous copy of the diagonals `offset` of `self` in the dimensions `dim1` and `dim2`, as its last dimension.
    unbind_copy.int(Tensor self, int dim=0) -> Tensor[]  # Contiguous copies of the slices of `self` along `dim`, without that dimension.
    split_copy.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]  # Contiguous copies of `self` in pieces of `split_size` elements along `dim`; the last may be smaller.
    split_with_sizes_copy(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]  # Contiguous copies of `self` in pieces along `dim` of the sizes `split_sizes`.
    view_as_real_copy(Tensor self) -> Tensor  # A contiguous copy of the complex tensor `self` with a last dimension for real and imaginary part.
    view_as_complex_copy(Tensor self) -> Tensor  # A contiguous copy of `self` as complex numbers, whose real and imaginary parts are in the last dimension.
""")  # noqa: E501


for name, least, axis in (("hsplit", 1, 1), ("vsplit", 2, 0), ("dsplit", 3, 2)):
    sections, indices = split_along(name, least, axis)
    operator(f"{name}.int", composite=sections)
    operator(f"{name}.array", composite=indices)

for name, row in (("unsafe_split.Tensor", "split.Tensor"), ("unsafe_split_with_sizes", "split_with_sizes")):
    operator(name, **registry.derivatives[row].formulas)

for name, row, number in (("as_strided_", "as_strided", 1), ("squeeze_", "squeeze", 3),
                          ("squeeze_.dim", "squeeze.dim", 4), ("squeeze_.dims", "squeeze.dims", 5), ("t_", "t", 1),
                          ("transpose_", "transpose.int", 1), ("unsqueeze_", "unsqueeze", 1)):
    operator(name, node=f"{node_name(registry[row])[:-1]}{number}", **registry.derivatives[row].formulas)

for name in [op.name for op in registry.operators.values() if op.packet.endswith("_copy") and not op.functional
             and op.family == "views" and op.packet != "narrow_copy"]:
    viewed = registry[name.replace("_copy", "", 1)]
    row = registry.derivatives[viewed.name]
    operator(name, composite=copy_of(viewed.name), node=f"{row.node or node_name(viewed)}_copy", **row.formulas)
