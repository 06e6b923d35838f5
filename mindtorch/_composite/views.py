"""Views in terms of the basic ones, and the copies of what views see."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from .._autograd.node import next_sequence_nr
from .._autograd.views import propagate_requires_grad
from .._base.about import about
from .._base.errors import NAMES, check
from .._base.layout import Ints, broadcast_shapes, infer_size, overlaps_itself, view_strides, wrap_dim
from .._creation.conversion import contiguous
from .._dispatch.aten import (
    _conj, _neg_view, _reshape_alias, _unsafe_view, add_, alias, as_strided, clone, copy_, diagonal, expand, permute,
    select_int as select, slice_Tensor as slice_, split_Tensor as split, split_with_sizes, transpose_,
    transpose_int as transpose, unfold, unsafe_split_Tensor, unsafe_split_with_sizes, unsqueeze, view, view_as_real,
)
from .._dispatch.dispatcher import TENSOR_TYPES, is_seen
from .._dispatch.keys import AUTOGRAD, DUAL, NONCONTIGUOUS
from .._dispatch.schemas import registry
from .._dispatch.schemas.views import COPIES
from . import COMPOSITES
from .creation import fresh

Row = Callable[..., Any]


# -- shapes ------------------------------------------------------------------------------------------------------------

def reshape(self: Any, shape: Ints) -> Any:
    """``torch.reshape``: a view if the strides allow it, else a copy."""
    if not self._keys & NONCONTIGUOUS or self.is_contiguous():
        return view(self, shape)
    wanted = infer_size(shape, self.numel())
    stride = view_strides(tuple(self.shape), self._strides(), wanted)
    if stride is None:
        return _unsafe_view(clone(self, "contiguous_format"), wanted)
    return view(self, wanted) if is_seen(self) else _reshape_alias(self, wanted, stride)


def flatten(self: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """``torch.flatten``: a range of dimensions as one. Raises RuntimeError if the range ends before it starts."""
    shape = tuple(self.shape)
    start, end = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    check(start <= end, "flatten() has invalid args: start_dim cannot come after end_dim", kind="flatten order")
    if not shape:
        return reshape(self, (1,))
    if start == end:
        return self
    size = 1
    for n in shape[start:end + 1]:
        size *= n
    return reshape(self, (*shape[:start], size, *shape[end + 1:]))


def unflatten(self: Any, dim: int, sizes: Ints) -> Any:
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


def broadcast_tensors(tensors: list[Any]) -> tuple[Any, ...]:
    """``torch.broadcast_tensors``: all expanded to their common shape; what has it already, as it is."""
    shape = broadcast_shapes(*(t.shape for t in tensors))
    return tuple(t if t.shape == shape else expand(t, shape) for t in tensors)


def atleast(ndim: int) -> Row:
    """``torch.atleast_1d`` to ``atleast_3d`` of one tensor."""

    def row(self: Any) -> Any:
        have = self.dim()
        if have >= ndim:
            return self
        if not have:
            return reshape(self, (1,) * ndim)
        if have == 1:
            self = unsqueeze(self, 0)
        return unsqueeze(self, -1) if ndim == 3 else self

    return row


# -- order of dimensions -----------------------------------------------------------------------------------------------

def movedim(self: Any, source: Ints, destination: Ints) -> Any:
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


def numpy_T(self: Any) -> Any:
    """``Tensor.T``: all dimensions reversed."""
    if self.dim() not in (0, 2):
        warnings.warn("The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and "
                      "it will throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
                      "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.",
                      stacklevel=3)
    return permute(self, tuple(range(self.dim()))[::-1])


def transposed(name: str, conjugated: bool) -> Row:
    """The last two dimensions exchanged, as ``Tensor.mT`` and, conjugated too, ``Tensor.mH`` do."""

    def row(self: Any) -> Any:
        check(self.dim() >= 2 or not self.dim(),
              lambda: f"tensor.{name} is only supported on matrices or batches of matrices. Got {self.dim()}-D tensor.")
        if not self.dim():
            warnings.warn(f"Tensor.{name} is deprecated on 0-D tensors. Consider using x.conj().", stacklevel=3)
            return self
        swapped = transpose(self, -2, -1)
        return swapped.conj() if conjugated and self._dtype.is_complex else swapped

    return row


def matrix_H(self: Any) -> Any:
    """``Tensor.H``: a matrix transposed and conjugated."""
    hint = " For batches of matrices, consider using tensor.mH" if self.dim() > 2 else ""
    check(self.dim() in (0, 2),
          lambda: f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor.{hint}")
    return adjoint(self)


adjoint = transposed("adjoint()", True)


# -- parts -------------------------------------------------------------------------------------------------------------

def real(self: Any) -> Any:
    """``torch.real``: the real parts; a real tensor is its own."""
    if not self._dtype.is_complex:
        return self
    return select(view_as_real(_conj(self) if self.is_conj() else self), -1, 0)


def imag(self: Any) -> Any:
    """``torch.imag``: the imaginary parts. Raises RuntimeError if the tensor is not complex."""
    check(self._dtype.is_complex, "imag is not implemented for tensors with non-complex dtypes.")
    if self.is_conj():
        return select(_neg_view(view_as_real(_conj(self))), -1, 1)
    return select(view_as_real(self), -1, 1)


def narrow(self: Any, dim: int, start: int, length: int) -> Any:
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


def narrow_tensor(self: Any, dim: int, start: Any, length: int) -> Any:
    """``torch.narrow`` from a start that is an integer tensor without dimensions."""
    check(not start.dim() and start._dtype.category == 1, "start must be an 0-dim integral Tensor.")
    return narrow(self, dim, start.item(), length)


def chunked(split_one: Row, split_sizes: Row) -> Row:
    """``torch.chunk`` and ``unsafe_chunk``: so many pieces at most, of one size but for the last."""

    def row(self: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
        check(self.dim(), "chunk expects at least a 1-dimensional tensor")
        check(chunks > 0, lambda: f"chunk expects `chunks` to be greater than 0, got: {chunks}")
        size = self.size(dim)
        return split_one(self, -(-size // chunks), dim) if size else split_sizes(self, (0,) * chunks, dim)

    return row


def pieces(self: Any, starts: Iterable[int], ends: Iterable[int], dim: int) -> tuple[Any, ...]:
    return tuple(slice_(self, dim, start, end, 1) for start, end in zip(starts, ends, strict=True))


#: From so many pieces on there is no memory for them, each of which is a tensor; PyTorch fails to allocate them.
MOST = 1 << 28


def _splittable(self: Any, dim: int) -> int:
    check(self.dim(),
          lambda: f"tensor_split expected at least a 1-dimensional tensor, but got a tensor with {self.dim()} dims")
    return wrap_dim(dim, self.dim())


def tensor_split_sections(self: Any, sections: int, dim: int = 0) -> tuple[Any, ...]:
    """``torch.tensor_split``: so many pieces, the first ones longer by 1 where needed."""
    dim = _splittable(self, dim)
    check(sections > 0, lambda: f"number of sections must be larger than 0, got {sections}")
    check(sections < MOST, lambda: f"tensor_split: there is not enough memory for {sections} tensors")
    least, longer = divmod(self.shape[dim], sections)
    ends = [(i + 1) * least + min(i + 1, longer) for i in range(sections)]
    return pieces(self, [0, *ends[:-1]], ends, dim)


def tensor_split_indices(self: Any, indices: Ints, dim: int = 0) -> tuple[Any, ...]:
    """``torch.tensor_split``: split before each of these indices."""
    dim = _splittable(self, dim)
    return pieces(self, (0, *indices), (*indices, self.shape[dim]), dim)


def tensor_split_tensor(self: Any, tensor_indices_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
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
    return (tensor_split_indices(self, tuple(values), dim) if given.dim() else tensor_split_sections(self, values, dim))


def split_along(name: str, least: int, axis: int) -> dict[str, Row]:
    """``torch.hsplit``, ``vsplit`` or ``dsplit``: into equal sections, or before indices."""

    def dim_of(self: Any) -> int:
        check(self.dim() >= least, lambda: f"torch.{name} requires a tensor with at least {least} dimension, but got a "
              f"tensor with {self.dim()} dimensions!")
        return 0 if self.dim() == 1 else axis

    def sections_row(self: Any, sections: int) -> tuple[Any, ...]:
        dim = dim_of(self)
        size = self.shape[dim]
        check(sections != 0 and size % sections == 0, lambda: f"torch.{name} attempted to split along dimension {dim}, "
              f"but the size of the dimension {size} is not divisible by the split_size {sections}!")
        return tensor_split_sections(self, sections, dim)

    def indices_row(self: Any, indices: Ints) -> tuple[Any, ...]:
        return tensor_split_indices(self, indices, dim_of(self))

    return {f"{name}.int": sections_row, f"{name}.array": indices_row}


# -- copies ------------------------------------------------------------------------------------------------------------

def copy_of(name: str) -> Row:
    """The ``*_copy`` of a view: contiguous, and of the same dtype. ``view_copy`` sees any layout in any shape."""
    call = registry["reshape" if name == "view" else name].call

    def row(*args: Any) -> Any:
        seen = call(*args)
        if seen.__class__ in TENSOR_TYPES:
            return clone(seen, "contiguous_format")
        return tuple([clone(piece, "contiguous_format") for piece in seen])

    return row


def narrow_copy(self: Any, dim: int, start: int, length: int) -> Any:
    """``torch.narrow_copy``: ``narrow``, copied."""
    ndim = self.dim()
    check(ndim, "narrow() cannot be applied to a 0-dim tensor.")
    check(dim < ndim, lambda: f"narrow_copy(): dim {dim} is out of range for {ndim} dimensions")
    size = self.size(dim)
    check(-size <= start <= size, lambda: f"start out of range (expected to be in range of [{-size}, {size}], but got "
          f"{start})", IndexError)
    return clone(narrow(self, dim, start, length), "contiguous_format")


def clone_preserve_strides(self: Any) -> Any:
    """A copy of a tensor with all its storage, so that strides and offset stay; a plain one if it overlaps itself."""
    shape, stride = self.shape, self._strides()
    if overlaps_itself(shape, stride):
        return clone(self)
    whole = as_strided(self, (self.untyped_storage().nbytes() // self.element_size(),), (1,), 0)
    return clone(whole)._alias(shape, stride, self._offset)


def scatter(name: str) -> Row:
    """The ``*_scatter`` of a view: a copy of ``self`` in which ``src`` stands where the view is."""
    call = registry[name].call

    def row(self: Any, src: Any, *args: Any) -> Any:
        out = clone_preserve_strides(self)
        piece = call(out, *args)
        check(piece.shape == src.shape, lambda: "expected src to have a size equal to the slice of self. src size = "
              f"{list(src.shape)}, slice size = {list(piece.shape)}")
        copy_(piece, src)
        return fresh(out)

    return row


def view_backward(name: str) -> Row:
    """The gradient of a view of ``input_sizes``: zeros, but for where the view is."""
    call = registry[name].call

    def row(grad_output: Any, input_sizes: Ints, *args: Any) -> Any:
        out = grad_output.new_zeros(input_sizes)
        copy_(call(out, *args), grad_output)
        return fresh(out)

    return row


def unfold_backward(grad_in: Any, input_sizes: Ints, dim: int, size: int, step: int) -> Any:
    """The gradient of ``unfold``: windows may overlap, and their elements add up."""
    out = grad_in.new_zeros(input_sizes)
    windows = unfold(out, dim, size, step)
    for i in reversed(range(size)):  # which adds up an element's windows in their order
        add_(select(windows, -1, i), select(grad_in, -1, i))
    return fresh(out)


def detach_(self: Any) -> Any:
    """``Tensor.detach_``: leave the graph. Raises RuntimeError for a view."""
    check(self._base is None, "Can't detach views in-place. Use detach() instead. If you are using "
          "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as True, gradients are views "
          "of DDP buckets, and hence detach_() cannot be called on these gradients. To fix this error, please refer to "
          "the Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution.")
    if self._grad_fn is not None:
        self._detached_at = next_sequence_nr()
        if self._version_counter is None:
            self._version_counter = [0, self._storage]
    self._keys &= ~(AUTOGRAD | DUAL)
    self._grad_fn, self._output_nr, self._tangents = None, 0, None
    propagate_requires_grad(self)
    return self


COMPOSITES.add(reshape, broadcast_tensors, numpy_T, matrix_H, real, imag, narrow, contiguous, detach_, unfold_backward,
               narrow_copy)
COMPOSITES.update({
    "reshape_as": lambda self, other: reshape(self, other.shape),
    "view_as": lambda self, other: view(self, other.shape),
    "ravel": lambda self: view(contiguous(self), (-1,)),
    "flatten.using_ints": flatten,
    "unflatten.int": unflatten,
    "expand_as": lambda self, other: expand(self, other.shape),
    "broadcast_to": expand,
    **dict.fromkeys(("swapaxes", "swapdims"), transpose),
    **dict.fromkeys(("swapaxes_", "swapdims_"), transpose_),
    **dict.fromkeys(("movedim.intlist", "moveaxis.intlist"), movedim),
    **dict.fromkeys(("movedim.int", "moveaxis.int"), lambda self, source, destination: movedim(
        self, (source,), (destination,))),
    "mT": transposed("mT", False),
    "mH": transposed("mH", True),
    "adjoint": adjoint,
    "resolve_conj": lambda self: clone(self) if self.is_conj() else self,
    "resolve_neg": lambda self: clone(self) if self.is_neg() else self,
    "narrow.Tensor": narrow_tensor,
    "linalg_diagonal": lambda A, offset=0, dim1=-2, dim2=-1: diagonal(A, offset, dim1, dim2),
    "split.sizes": lambda self, split_size, dim=0: split_with_sizes(self, split_size, dim),
    "chunk": chunked(split, split_with_sizes),
    "unsafe_chunk": chunked(unsafe_split_Tensor, unsafe_split_with_sizes),
    "tensor_split.sections": tensor_split_sections,
    "tensor_split.indices": tensor_split_indices,
    "tensor_split.tensor_indices_or_sections": tensor_split_tensor,
    **split_along("hsplit", 1, 1),
    **split_along("vsplit", 2, 0),
    **split_along("dsplit", 3, 2),
    "atleast_1d": atleast(1),
    "atleast_2d": atleast(2),
    "atleast_3d": atleast(3),
    "select_backward": view_backward("select.int"),
    "slice_backward": view_backward("slice.Tensor"),
    "diagonal_backward": view_backward("diagonal"),
    "select_scatter": scatter("select.int"),
    "slice_scatter": scatter("slice.Tensor"),
    "diagonal_scatter": scatter("diagonal"),
    "as_strided_scatter": scatter("as_strided"),
    **{name: copy_of(name.replace("_copy", "", 1)) for name in COPIES},
})
