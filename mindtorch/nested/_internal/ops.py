"""Functions and operators of jagged tensors.

``FUNCTIONS`` has the rows above autograd: a function of the values, whose gradients are those of the functions that it
calls. ``below_autograd`` runs what is left there: pointwise operators, copies and factories, on the values.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from ..._backends.common.pointwise import Pointwise
from ..._base.layout import wrap_dim
from ..._base.symbolic import SymInt
from ..._creation import arange, full
from ..._dispatch import aten
from ..._dispatch.schemas import registry
from ..._dispatch.torch_function import DisableTorchFunctionSubclass
from ..._dtype import BOOL, FLOATING, DType, finfo, iinfo
from ..._tensor import Tensor
from .nested_tensor import NestedTensor, described, jagged, jagged_from_list, like, parts_of, share_symint, values_of

FUNCTIONS: dict[str, Callable[..., Any]] = {}


def row(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function that takes the called function and its arguments."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS.update(dict.fromkeys(names, function))
        return function

    return enter


def above_autograd(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function of jagged tensors by its row; without one, as it is written."""
    rule = FUNCTIONS.get(getattr(func, "__name__", ""))
    if rule is not None:
        return rule(func, *args, **{name: value for name, value in kwargs.items() if name != "_stacklevel"})
    written = getattr(func, "__wrapped__", None)
    if written is not None and inspect.isfunction(written):  # a Python function: its calls come back here
        return written(*args, **kwargs)
    with DisableTorchFunctionSubclass():
        return func(*args, **kwargs)


# -- checks ------------------------------------------------------------------------------------------------------------


def check_contiguous(tensor: Any, schema: str, name: str = "self") -> None:
    """Raise ValueError, in PyTorch's words, for a tensor with holes, or whose sizes differ in a later dimension."""
    if isinstance(tensor, NestedTensor) and (tensor._lengths is not None or tensor._ragged_idx != 1):
        raise ValueError(f"NestedTensor {schema}: expected {name} to be a contiguous jagged layout NestedTensor")


def inner_dim(tensor: NestedTensor, dim: int, what: str, extra: int = 0, ragged: bool = False) -> int:
    """Return a dimension as one of the values. Raises RuntimeError for the batch, and (unless ``ragged``) for the
    dimension whose sizes differ.
    """
    wrapped = wrap_dim(dim, tensor.ndim + extra)
    if wrapped == tensor._ragged_idx and not ragged:
        raise RuntimeError(f"{what}(): not supported for NestedTensor on ragged dim")
    if wrapped == 0:
        raise RuntimeError(f"{what}(): not supported for NestedTensor on dim=0")
    return wrapped - 1


def matches(tensor: NestedTensor, size: Sequence[Any]) -> bool:
    """Return True if a size begins as the tensor's does, up to the dimension whose sizes differ."""
    end = tensor._ragged_idx + 1
    return len(size) >= end and all(mine == given or given == -1
                                    for mine, given in zip(tensor._size[:end], size[:end], strict=True))


# -- padding -----------------------------------------------------------------------------------------------------------


def places(tensor: NestedTensor) -> tuple[Tensor, Tensor]:
    """Return for each place along the values' packed dimension its part, and its place within that."""
    at = arange(tensor._values.shape[tensor._ragged_idx - 1], device=tensor.device)
    part = aten.searchsorted(tensor._offsets[1:].contiguous(), at, False, True).clamp(max=len(tensor) - 1)
    return part, at - tensor._offsets[part]


def to_padded_tensor(tensor: NestedTensor, padding: float, output_size: Sequence[int] | None = None) -> Tensor:
    """Return the parts in one strided tensor, each filled up to the longest, or to ``output_size``."""
    if tensor._lengths is not None:
        raise RuntimeError("to_padded_tensor(): not supported for nested tensors with holes")
    at = tensor._ragged_idx
    longest = output_size[at] if output_size is not None else (
        tensor._maybe_max_seqlen if tensor._maybe_max_seqlen is not None else tensor._values.shape[0])
    values = values_of(tensor).movedim(at - 1, 0)
    part, place = places(tensor)
    kept = place < longest
    if not bool(kept.all()):
        values, part, place = values[kept], part[kept], place[kept]
    if tensor.dtype.category < FLOATING and padding in (inf, -inf):
        padding = ends(tensor.dtype)[padding > 0]
    padded = full((len(tensor), longest, *values.shape[1:]), padding, dtype=tensor.dtype, device=tensor.device)
    return padded.index_put((part, place), values).movedim(1, at)


def ends(dtype: DType) -> tuple[int, int]:
    """Return the ends of the range of an integer dtype, or of bool."""
    return (0, 1) if dtype.category == BOOL else (iinfo(dtype).min, iinfo(dtype).max)


def from_padded(padded: Tensor, tensor: NestedTensor) -> Any:
    """Return a jagged tensor, in the structure of a tensor, of what it has in a padded one."""
    at = tensor._ragged_idx
    return like(tensor, padded.movedim(at, 1)[places(tensor)].movedim(0, at - 1))


def by_part(tensor: NestedTensor, dense: Tensor) -> Any:
    """Return values in which each part has its row of a strided tensor, of size 1 where sizes differ."""
    at = tensor._ragged_idx
    return dense.movedim(at, 1)[:, 0][places(tensor)[0]].movedim(0, at - 1)


# -- functions of the values -------------------------------------------------------------------------------------------


@row("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout", "glu", "bernoulli")
def on_values(func: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply a function to the values."""
    return like(tensor, func(values_of(tensor), *args, **kwargs))


@row("linear")
def linear(func: Any, input: Any, weight: Any, bias: Any = None) -> Any:
    """Apply a linear map to the last dimension."""
    check_contiguous(input, "linear_default(input: jt, weight: t, bias: t?)", "input")
    return on_values(func, input, weight, bias)


@row("embedding")
def embedding(func: Any, first: Any, second: Any, *args: Any, **kwargs: Any) -> Any:
    """Look up rows: ``F.embedding(indices, weight)`` or ``torch.embedding(weight, indices)``."""
    if isinstance(first, NestedTensor):
        return on_values(func, first, second, *args, **kwargs)
    return like(second, func(first, values_of(second), *args, **kwargs))


@row("layer_norm")
def layer_norm(func: Any, input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5,
               *args: Any) -> Any:
    """Normalize over the last dimensions, and over those whose sizes differ."""
    if input.ndim <= 2:
        raise RuntimeError("layer_norm(): not supported for NestedTensor objects with 2 or fewer dimensions")
    if len(normalized_shape) == input.ndim:
        raise RuntimeError("layer_norm(): not supported when normalizing over the batch dimension for NestedTensor")
    if not any(isinstance(size, SymInt) for size in normalized_shape):
        return on_values(func, input, normalized_shape, weight, bias, eps)
    if input._lengths is not None:
        raise RuntimeError("layer_norm(): not supported where lengths is not None if operating on the ragged dimension "
                           "for NestedTensor")
    last = tuple(range(1, input.ndim))
    inside = like(input, aten.ones_like(values_of(input)))
    padded, mask = (to_padded_tensor(each, 0, (0, input._get_max_seqlen())) for each in (input, inside))
    count = mask.sum(last, True)
    away = (padded - padded.sum(last, True) / count) * mask
    return from_padded(away / (away.square().sum(last, True) / count + eps).sqrt(), input)


@row("rms_norm")
def rms_norm(func: Any, input: Any, normalized_shape: Any, *args: Any, **kwargs: Any) -> Any:
    """Normalize over the last dimensions."""
    if len(normalized_shape) > input.ndim - input._ragged_idx - 1:
        raise ValueError("rms_norm(): Normalization over the ragged dim not supported for nested tensors")
    return on_values(func, input, normalized_shape, *args, **kwargs)


@row("softmax", "log_softmax")
def softmax(func: Any, input: Any, dim: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply softmax along a dimension, within each part."""
    name = func.__name__
    if isinstance(dim, tuple):
        raise RuntimeError(f"{name}(): not supported for dimensions of type 'tuple' for NestedTensor")
    dim, at = wrap_dim(dim, input.ndim), input._ragged_idx
    if dim == 0:
        raise RuntimeError(f"{name}(): not supported when reducing across the batch dimension for NestedTensor")
    if dim != at:
        return on_values(func, input, dim - 1, *args, **kwargs)
    if name == "log_softmax":
        raise RuntimeError("log_softmax(): not supported when reducing along the ragged dimension for NestedTensor")
    if at > 1:
        raise RuntimeError("softmax(): not supported when reducing along the ragged dimension for ragged_idx > 1 for "
                           "NestedTensor")
    if input._lengths is not None:
        raise RuntimeError("softmax(): not supported where lengths is not None if reducing across the ragged dimension "
                           "for NestedTensor")
    longest = (0, input._get_max_seqlen())
    return from_padded(func(to_padded_tensor(input, -inf, longest), dim, *args, **kwargs), input)


# -- reductions --------------------------------------------------------------------------------------------------------


def widest(dtype: Any, largest: bool) -> Any:
    """Return the padding that no maximum (or minimum) takes."""
    return (finfo(dtype).max if largest else finfo(dtype).min) if dtype.category >= FLOATING else (
        inf if largest else -inf)


#: By reduction: the padding that does not change it.
IDENTITIES: dict[str, Callable[[Any], Any]] = {
    "sum": lambda dtype: 0, "mean": lambda dtype: 0, "prod": lambda dtype: 1, "any": lambda dtype: False,
    "all": lambda dtype: True, **{name: lambda dtype: widest(dtype, False) for name in ("max", "amax", "argmax")},
    **{name: lambda dtype: widest(dtype, True) for name in ("min", "amin", "argmin")},
}


@row(*IDENTITIES)
def reduction(func: Any, input: Any, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
    """Reduce over some dimensions: over all, over the batch and the one whose sizes differ, over that one, or over
    others. Raises RuntimeError for other combinations.
    """
    name, at = func.__name__, input._ragged_idx
    if isinstance(dim, Tensor):  # max and min of two tensors
        return (aten.maximum if name == "max" else aten.minimum)(input, dim)
    if dim is None or dim == () or dim == []:
        out = func(values_of(input), **kwargs)
        return out.reshape((1,) * input.ndim) if keepdim else out
    listed = isinstance(dim, (tuple, list))
    dims = [wrap_dim(d, input.ndim) for d in (dim if listed else (dim,))]
    if at in dims and input._lengths is not None:
        raise RuntimeError(f"{name}(): reducing across the ragged dimension is not supported for non-contiguous nested "
                           "tensors with holes")
    inner = [*dict.fromkeys(at - 1 if d == 0 else d - 1 for d in dims)]
    if at in dims and 0 in dims:
        out = func(values_of(input), tuple(inner), keepdim, **kwargs)
        return out.unsqueeze(0) if keepdim else out
    if at in dims:
        if len(dims) > 1:
            if name == "mean":
                raise AssertionError("Cannot reduce on both ragged and non-batch dimensions without also reducing on "
                                     "batch")
            raise RuntimeError(f"{name}(): reducing along a ragged and non-batch dimension is not supported for nested "
                               "tensors")
        padded = to_padded_tensor(input, IDENTITIES[name](input.dtype))
        if name != "mean":
            return func(padded, (at,) if listed else at, keepdim, **kwargs)
        lengths = input._all_lengths().reshape(-1, *[1] * (input.ndim - 1))
        mean = aten.sum_dim_IntList(padded, (at,), True, **kwargs) / lengths
        return mean if keepdim else mean.squeeze(at)
    if 0 in dims:
        raise RuntimeError(f"{name}(): reducing along the batch dimension but not the ragged dimension is not "
                           "supported for nested tensors")
    out = func(values_of(input), tuple(inner) if listed else inner[0], keepdim, **kwargs)
    ragged = at - (0 if keepdim else len([d for d in inner if d < at - 1]))
    if isinstance(out, tuple):
        return type(out)(*(like(input, each, ragged) for each in out))
    return like(input, out, ragged)


# -- shapes ------------------------------------------------------------------------------------------------------------


@row("transpose", "swapaxes", "swapdims")
def transpose(func: Any, input: Any, dim0: int, dim1: int) -> Any:
    """Exchange two dimensions other than the batch."""
    dims, at = [wrap_dim(d, input.ndim) for d in (dim0, dim1)], input._ragged_idx
    if at in dims:
        if 0 in dims:
            raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
        to = dims[1] if dims[0] == at else dims[0]
        return like(input, values_of(input).transpose(dims[0] - 1, dims[1] - 1), to)
    return like(input, func(values_of(input), *(inner_dim(input, d, "transpose") for d in dims)))


@row("permute")
def permute(func: Any, input: Any, *dims: Any) -> Any:
    """Put the dimensions other than the batch into another order."""
    order = tuple(dims[0]) if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    if len(order) != input.ndim:
        raise ValueError(f"permute(): number of dimensions in the tensor input ({input.ndim}) does not match the "
                         f"length of the desired ordering of dimensions ({len(order)}).")
    wrapped = [wrap_dim(d, input.ndim) for d in order]
    if len({*wrapped}) != len(wrapped):
        raise ValueError("permute(): duplicate dims are not allowed.")
    if input._lengths is not None:
        raise ValueError("permute(): not supported on jagged layout nested tensor with holes")
    if wrapped[0] != 0:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    return like(input, values_of(input).permute([d - 1 for d in wrapped[1:]]), wrapped.index(input._ragged_idx))


@row("view", "reshape")
def view(func: Any, input: Any, *size: Any) -> Any:
    """Give the dimensions behind the one whose sizes differ another shape."""
    if len(size) == 1 and not isinstance(size[0], (int, SymInt)):
        size = size[0]
        if not isinstance(size, (tuple, list)):  # a dtype
            return on_values(func, input, size)
    if input._ragged_idx != 1 and tuple(input._size) != tuple(size):
        raise RuntimeError(f"view(): does not support ragged_idx != 1 except when inp._size == size. inp._size is "
                           f"({input._size}) and size is ({tuple(size)}).")
    if len(size) < 3 or not matches(input, size):
        raise RuntimeError(f"view(): cannot view shape {input._size} as {[*size]}")
    values, at = values_of(input), input._ragged_idx
    return like(input, func(values, [values.shape[at - 1] if d == at else size[d] for d in range(1, len(size))]))


@row("flatten")
def flatten(func: Any, input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Make one dimension of several that are neither the batch nor the one whose sizes differ."""
    ends = [inner_dim(input, d, "flatten") for d in (start_dim, end_dim)]
    return input if ends[0] == ends[1] else on_values(func, input, *ends)


@row("unflatten")
def unflatten(func: Any, input: Any, dim: int, sizes: Any) -> Any:
    """Make several dimensions of one."""
    return on_values(func, input, inner_dim(input, dim, "unflatten"), sizes)


@row("unsqueeze")
def unsqueeze(func: Any, input: Any, dim: int) -> Any:
    """Insert a dimension of size 1 behind the batch."""
    at = inner_dim(input, dim, "unsqueeze", 1, True)
    return like(input, func(values_of(input), at), input._ragged_idx + (at <= input._ragged_idx - 1))


@row("squeeze")
def squeeze(func: Any, input: Any, dim: int) -> Any:
    """Remove a dimension of size 1."""
    at = inner_dim(input, dim, "squeeze")
    out = func(values_of(input), at)
    removed = out.ndim < input.ndim - 1 and at < input._ragged_idx - 1
    return like(input, out, input._ragged_idx - removed)


@row("narrow", "split_with_sizes")
def along(func: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply a function along a dimension of the values."""
    if func.__name__ == "narrow":
        return on_values(func, input, inner_dim(input, args[0], "narrow"), *args[1:], **kwargs)
    return split(func, input, *args, **kwargs)


@row("split")
def split(func: Any, input: Any, split_size: Any, dim: int = 0) -> tuple[Any, ...]:
    """Split a dimension that is neither the batch nor the one whose sizes differ."""
    name = "split" if isinstance(split_size, int) else "split_with_sizes"
    at = inner_dim(input, dim, name)
    return tuple([like(input, each) for each in func(values_of(input), split_size, at)])


@row("chunk")
def chunk(func: Any, input: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """Divide a dimension, or the parts, into chunks."""
    check_contiguous(input, "chunk_default(self: jt, chunks: any, dim: any?)")
    if wrap_dim(dim, input.ndim) != 0:
        at = inner_dim(input, dim, "chunk")
        return tuple([like(input, each) for each in func(values_of(input), chunks, at)])
    lengths = input._offsets.diff().chunk(chunks)
    pieces = values_of(input).split([int(each.sum()) for each in lengths])
    return tuple([jagged(piece, aten.cat([each.new_zeros(1), each.cumsum(0)], 0))
                  for piece, each in zip(pieces, lengths, strict=True)])


@row("unbind")
def unbind(func: Any, input: Any, dim: int = 0) -> tuple[Any, ...]:
    """Return the parts, views of the values."""
    if dim != 0:
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    return parts_of(input)


@row("select")
def select(func: Any, input: Any, dim: int, index: int) -> Any:
    """Return one part, or one index of another dimension."""
    if wrap_dim(dim, input.ndim) == 0:
        return parts_of(input)[index]
    at = inner_dim(input, dim, "select")
    if input._lengths is not None:
        raise ValueError("select(): not yet supported on dim != 0 for non-contiguous nested tensor with holes")
    return like(input, func(values_of(input), at, index), input._ragged_idx - (at < input._ragged_idx - 1))


@row("__getitem__")
def getitem(func: Any, input: Any, index: Any) -> Any:
    """Return one part, or a tensor of what integers, slices, None and ... select of the later dimensions."""
    items = list(index) if isinstance(index, tuple) else [index]
    if Ellipsis in [item for item in items if not isinstance(item, Tensor)]:
        gap = next(i for i, item in enumerate(items) if item is Ellipsis)
        counted = sum(item is not None for item in items) - 1
        items[gap:gap + 1] = [slice(None)] * (input.ndim - counted)
    out, dim = input, 0
    for item in items:
        if item is None:
            out, dim = out.unsqueeze(dim), dim + 1
        elif isinstance(item, int):
            out = out.select(dim, item)
        elif isinstance(item, slice):
            if item != slice(None):
                if isinstance(out, NestedTensor):
                    check_contiguous(out, "slice_tensor(self: jt, dim: any?, start: any?, end: any?, step: any?)")
                    at = inner_dim(out, dim, "slice")
                    out = like(out, aten.slice(values_of(out), at, item.start, item.stop, item.step or 1))
                else:
                    out = out[(slice(None),) * dim + (item,)]
            dim += 1
        else:
            raise NotImplementedError("index: a nested tensor takes integers, slices, None and ... as indices; "
                                      "x.unbind() has its parts, and x.values() all elements")
    return out


@row("__len__")
def length(func: Any, input: Any) -> int:
    """Return the number of parts."""
    return len(input)


@row("__iter__")
def iterate(func: Any, input: Any) -> Any:
    """Return an iterator over the parts."""
    return iter(parts_of(input))


@row("cat", "concat", "concatenate")
def cat(func: Any, tensors: Sequence[Any], dim: int = 0) -> Any:
    """Concatenate along a dimension that is neither the batch nor the one whose sizes differ."""
    first = next(t for t in tensors if isinstance(t, NestedTensor))
    every = [t if isinstance(t, NestedTensor) else like(first, t.expand_as(values_of(first))) for t in tensors]
    return like(every[0], func([values_of(t) for t in every], inner_dim(first, dim, "cat")))


@row("stack")
def stack(func: Any, tensors: Sequence[Any], dim: int = 0) -> Any:
    """Stack tensors of one structure along a new dimension."""
    first = tensors[0]
    for tensor in tensors:
        if not isinstance(tensor, NestedTensor):
            raise RuntimeError("stack(): expected all nested tensors inputs")
        if tensor.ndim != first.ndim:
            raise RuntimeError("stack(): expected all nested tensors to have the same dim")
        if not matches(tensor, first._size):
            raise RuntimeError("stack(): expected all nested tensors to have the same nested structure")
    return like(first, func([values_of(t) for t in tensors], inner_dim(first, dim, "stack", 1)))


@row("expand", "broadcast_to")
def expand(func: Any, input: Any, *size: Any) -> Any:
    """Repeat dimensions of size 1 behind the one whose sizes differ."""
    size = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], (int, SymInt)) else size
    if not matches(input, size):
        raise RuntimeError(f"expand(): cannot expand shape {input._size} -> {[*size]}")
    return like(input, values_of(input).expand([-1 if d == input._ragged_idx else size[d]
                                                for d in range(1, len(size))]))


@row("expand_as")
def expand_as(func: Any, input: Any, other: Any) -> Any:
    """Expand to the shape of a nested tensor."""
    if isinstance(input, NestedTensor):
        return input.expand(other.shape)
    return like(other, input.expand_as(values_of(other)))


# -- products ----------------------------------------------------------------------------------------------------------


@row("matmul", "__matmul__", "__rmatmul__", "bmm")
def matmul(func: Any, input: Any, other: Any) -> Any:
    """Multiply matrices: a jagged tensor by a strided one, or two jagged ones.

    Raises RuntimeError for shapes whose product would not be jagged in one dimension.
    """
    name = getattr(func, "__name__", "")
    if name == "bmm" and (input.ndim != 3 or other.ndim != 3):
        raise ValueError(f"bmm(): {'input' if input.ndim != 3 else 'mat2'} must be 3D")
    if name == "__rmatmul__":
        input, other = other, input
    left, right = isinstance(input, NestedTensor), isinstance(other, NestedTensor)
    if left and right:
        if input.ndim > 3 and other.ndim > 3 and matches(input, other._size):
            return like(input, aten.matmul(values_of(input), values_of(other)))
        if (input.ndim == other.ndim == 3 and (input._ragged_idx, other._ragged_idx) == (2, 1)
                and input._size[2] == other._size[1]):
            return aten.stack([aten.matmul(a, b) for a, b in zip(parts_of(input), parts_of(other), strict=True)], 0)
    elif left and input._ragged_idx < input.ndim - 1:
        if 3 <= input.ndim == other.ndim:
            return from_padded(aten.matmul(to_padded_tensor(input, 0.0), other), input)
        if other.ndim == 2 < input.ndim:
            return like(input, aten.matmul(values_of(input), other))
    elif right and other._ragged_idx >= 2:
        if 3 <= other.ndim == input.ndim:
            return from_padded(aten.matmul(input, to_padded_tensor(other, 0.0)), other)
        if input.ndim == 2 < other.ndim:
            return like(other, aten.matmul(input, values_of(other)))
    shapes = [each._size if isinstance(each, NestedTensor) else each.shape for each in (input, other)]
    raise RuntimeError(f"matmul(): not supported between inputs of shapes {shapes[0]} and {shapes[1]}")


@row("scaled_dot_product_attention")
def attention(func: Any, query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
              is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> Any:
    """Attend within each part. Shapes are ``(B, heads, j1, E)``, or ``(B, j1, ..., E)`` with strided sequences."""
    tensors = query, key, value
    if not all(isinstance(t, NestedTensor) for t in tensors):
        raise ValueError("Expected query, key, and value to be nested tensors, but got "
                         + ", ".join(f"{name}.is_nested: {t.is_nested}" for name, t in zip(
                             ("query", "key", "value"), tensors, strict=True)) + " instead.")
    if len({t.dtype for t in tensors}) > 1:
        raise ValueError("Expected query, key, and value to have the same dtype, but got query.dtype: "
                         f"{query.dtype}, key.dtype: {key.dtype}, and value.dtype: {value.dtype} instead.")
    if attn_mask is not None:
        raise ValueError("Masks are not yet supported!")
    options = {"dropout_p": dropout_p, "is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa}
    if query.ndim > 3 and query._ragged_idx == 1:
        return like(query, func(*map(values_of, tensors), attn_mask=None, **options))
    outs = [func(*(part.unsqueeze(0) for part in parts), **options).squeeze(0).movedim(query._ragged_idx - 1, 0)
            for parts in zip(*map(parts_of, tensors), strict=True)]
    return like(query, aten.cat(outs, 0).movedim(0, query._ragged_idx - 1))


# -- what copies and selects -------------------------------------------------------------------------------------------


@row("to_padded_tensor")
def padded(func: Any, input: Any, padding: float, output_size: Any = None) -> Any:
    """Fill the parts up to one size."""
    return to_padded_tensor(input, padding, output_size)


@row("to", "cpu", "npu", "float", "double", "half", "bfloat16", "long", "int", "short", "bool", "type")
def convert(func: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    """Convert the values, and move the offsets with them."""
    args = tuple(arg._values if isinstance(arg, NestedTensor) else arg for arg in args)
    values = values_of(input)
    converted = func(values, *args, **kwargs)
    if converted is values:
        return input
    if converted.device == input.device:
        return like(input, converted)
    offsets = input._offsets.to(converted.device)
    lengths = None if input._lengths is None else input._lengths.to(converted.device)
    share_symint(input._offsets if input._lengths is None else input._lengths, offsets if lengths is None else lengths)
    return jagged(converted, offsets, lengths, input._ragged_idx, input._metadata_cache)


@row("contiguous")
def contiguous(func: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the tensor, or a copy without holes."""
    if input.is_contiguous():
        return input
    return on_values(func, input) if input._lengths is None else jagged_from_list(parts_of(input), None)[0]


@row("masked_select")
def masked_select(func: Any, input: Any, mask: Any) -> Any:
    """Return the elements that a mask of the same structure selects, in each part."""
    if input.ndim > 2:
        raise RuntimeError("masked_select only support 2-D selections currently")
    if input.shape != mask.shape:
        raise RuntimeError(f"Mask with shape {mask.shape} is not compatible with input's shape {input.shape}")
    chosen = values_of(mask)
    counts = aten.cat([input._offsets.new_zeros(1), chosen.cumsum(0)], 0)
    return jagged(func(values_of(input), chosen), counts[input._offsets])


# -- operators below autograd ------------------------------------------------------------------------------------------

#: Operators, besides pointwise ones, that make or fill a tensor of one's structure.
COPIES = frozenset(("detach", "alias", "clone", "_to_copy", "empty_like", "zeros_like", "ones_like", "rand_like",
                    "randn_like",
                    "full_like", "randint_like", "zero_", "fill_", "lift_fresh", "bernoulli", "bernoulli_", "normal_",
                    "uniform_", "masked_fill", "masked_fill_"))


def below_autograd(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an operator on the values. Raises NotImplementedError for one that nested tensors do not have."""
    name = func.__name__.partition(".")[0]
    nested = [arg for arg in args if isinstance(arg, NestedTensor)]
    if nested and name in FUNCTIONS and name not in COPIES and not is_pointwise(func):  # an overload that is called
        return FUNCTIONS[name](func.overloadpacket, *args, **kwargs)
    if name == "_nested_get_values":
        return args[0]._values.detach()
    if name == "copy_":
        return copy_(*args[:2])
    if not nested or not (name in COPIES or is_pointwise(func)):
        raise NotImplementedError(f"{func} is not implemented for nested tensors of the layout torch.jagged; "
                                  "x.values() and x.unbind() are strided tensors, which have all operators")
    sizes = [arg for arg in args if isinstance(arg, SymInt)]
    if sizes:
        raise RuntimeError(f"NestedTensor {func.__name__}: invalid argument {sizes[0]}")
    if "layout" in kwargs:
        kwargs = {key: value for key, value in kwargs.items() if key != "layout"}
    out = func(*operands(func, nested[0], args), **kwargs)
    if name.endswith("_") and not name.endswith("__"):
        return args[0]
    wrapped = tuple([NestedTensor(each, **described(nested[0])) for each in (out if isinstance(out, tuple) else [out])])
    return wrapped if isinstance(out, tuple) else wrapped[0]


def is_pointwise(func: Any) -> bool:
    """Return True if an operator, or the one that it is the in-place form of, computes each element from its place."""
    packet, dot, overload = func._operator.name.partition(".")
    rows = registry.meta_rows
    return isinstance(rows.get(packet + dot + overload) or rows.get(packet.rstrip("_") + dot + overload), Pointwise)


def operands(func: Any, nested: NestedTensor, args: tuple[Any, ...]) -> list[Any]:
    """Return arguments with values in place of jagged tensors, and strided tensors as they are broadcast to these."""
    found: list[Any] = []
    for arg in args:
        if isinstance(arg, NestedTensor):
            if not matches(nested, arg._size):
                raise RuntimeError(mismatch(func, args))
            arg = arg._values
        elif isinstance(arg, Tensor) and arg.ndim:
            arg = beside(func, nested, arg, args)
        found.append(arg)
    return found


def beside(func: Any, nested: NestedTensor, dense: Tensor, args: tuple[Any, ...]) -> Tensor:
    """Return a strided tensor as it is broadcast to a jagged tensor's values."""
    if dense.ndim > nested.ndim:
        raise NotImplementedError("NYI: broadcasting NT with T with larger dim")
    squeezed = dense
    while squeezed.ndim and squeezed.shape[0] == 1:
        squeezed = squeezed.squeeze(0)
    if nested.ndim >= squeezed.ndim + 2:
        return squeezed
    if dense.ndim != nested.ndim or dense.shape[0] != nested.shape[0] or dense.shape[nested._ragged_idx] != 1:
        raise RuntimeError(mismatch(func, args))
    return by_part(nested, dense)


def mismatch(func: Any, args: tuple[Any, ...]) -> str:
    """Format the error for shapes that are not broadcast to each other."""
    shapes = [arg._size if isinstance(arg, NestedTensor) else arg.shape for arg in args if isinstance(arg, Tensor)]
    return (f"cannot call binary pointwise function {func.__name__} with inputs of shapes {shapes[0]} and "
            f"{shapes[-1]}")


def copy_(target: NestedTensor, source: NestedTensor) -> NestedTensor:
    """Copy a jagged tensor's elements into another of the same sizes."""
    if target._size != source._size:
        mine, given = parts_of(target), parts_of(source)
        if [part.shape for part in mine] != [part.shape for part in given]:
            raise RuntimeError("copy_(): expected compatible input and src shapes, but got: "
                               f"{target.shape} and {source.shape}")
        for part, other in zip(mine, given, strict=True):
            part.copy_(other)
    else:
        target._values.copy_(source._values)
    return target


NestedTensor._above_autograd = staticmethod(above_autograd)
NestedTensor._below_autograd = staticmethod(below_autograd)
NestedTensor._padded = to_padded_tensor
