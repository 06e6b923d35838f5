"""How operators run on all elements of a batch: one rule a family.

A rule takes an operator, the frame and the arguments, and returns the results for all elements, which lie in front.
"""
from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from math import prod
from typing import Any

from ..._base.layout import broadcast_shapes
from ..._dispatch.aten import alias, arange, cat, linalg_vector_norm as vector_norm, matmul, reshape, stack
from ..._dispatch.dispatcher import TENSOR_TYPES, registry, tensors_of
from ..._dispatch.keys import BATCHED
from ..._dispatch.registry import Operator
from ..._dtype import bool_ as boolean, int64
from .frames import Frame, batched, filled, is_batched, lowered

Rule = Callable[[Operator, Frame, tuple[Any, ...]], Any]


# -- the fallback: one call for each element ---------------------------------------------------------------------------

def by_element(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """The visible fallback: one call for each element."""
    warnings.warn("There is a performance drop because we have not yet implemented the batching rule for "
                  f"aten::{op.name}. Please file us an issue on GitHub so that we can prioritize its implementation.",
                  UserWarning, stacklevel=3)
    return each_element(op, frame, args)


def each_element(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """One call for each element, the results stacked."""
    whole = [[(is_batched(a, frame), lowered(a, frame)) for a in arg] if isinstance(arg, list) else
             (is_batched(arg, frame), lowered(arg, frame)) for arg in args]

    def at(i: int, entry: Any) -> Any:
        if isinstance(entry, list):
            return [at(i, one) for one in entry]
        if not entry[0]:
            return entry[1]
        return entry[1].select(0, i) if frame.size else entry[1].new_zeros(entry[1].shape[1:])

    with frame.left():  # of an empty batch, an element of zeros shows what the results are like
        results = [op.call(*[at(i, entry) for entry in whole]) for i in range(frame.size or 1)]
    first = results[0]
    if op.is_inplace:
        return None
    if first.__class__ in TENSOR_TYPES:
        return stack(results, 0)[:frame.size]
    columns = [None if column[0] is None else stack(list(column), 0)[:frame.size]
               for column in zip(*results, strict=True)]
    return like(first, columns)


# -- arguments and results ---------------------------------------------------------------------------------------------

def is_tensor(value: Any) -> bool:
    return value.__class__ in TENSOR_TYPES


def like(result: Any, items: list[Any]) -> Any:
    """Several results in the form of others: a tuple, one with names, or a list."""
    return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)


def each_result(result: Any, function: Callable[[Any], Any]) -> Any:
    """A function of each tensor among the results."""
    if is_tensor(result):
        return function(result)
    return like(result, [function(item) if is_tensor(item) else item for item in result])


def with_defaults(op: Operator, args: tuple[Any, ...]) -> list[Any]:
    """All arguments, those that were not given too."""
    return [*args, *(parameter.default for parameter in op.schema.parameters[len(args):])]


def aligned(value: Any, ndim: int, frame: Frame) -> Any:
    """A batched operand with its elements in front, behind them dimensions of size 1 up to ``ndim``; others as is."""
    if not is_batched(value, frame):
        return value
    whole = lowered(value, frame)
    missing = ndim - value.ndim
    return whole.reshape((frame.size, *(1,) * missing, *value.shape)) if missing else whole


def filled_like(value: Any, frame: Frame) -> Any:
    """A tensor, batched in this frame."""
    return value if is_batched(value, frame) else batched(filled(value, frame), 0, frame)


# -- families ----------------------------------------------------------------------------------------------------------

def pointwise(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Elements in front, and dimensions of size 1 behind it where an operand has fewer than another."""
    count = registry.meta_rows[(op.functional or op).name].count if not op.is_out else 0
    operands = [a for a in args[:count] if is_tensor(a)]
    ndim = max(t.ndim for t in operands)
    if len({t._dtype for t in operands}) > 1 and any(not t.ndim for t in operands):
        return each_element(op, frame, args)  # in promotion, a tensor without dimensions counts less
    return op.call(*[aligned(a, ndim, frame) for a in args[:count]], *args[count:])


def elementwise(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Operators on elements that have no pointwise row: all tensors are operands."""
    ndim = max(a.ndim for a in args if is_tensor(a))
    return op.call(*[aligned(a, ndim, frame) if is_tensor(a) else a for a in args])


def loss(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Losses of elements, which are reduced for each element of the batch."""
    given, where = with_defaults(op, args), op.schema.positions["reduction"]
    reduction, given[where] = given[where], 0
    ndim = given[0].ndim
    each = op.call(*[a if not is_tensor(a) else filled(a, frame) if a.shape == given[0].shape else
                     aligned(a, ndim, frame) for a in given])
    if reduction == 0 or each.ndim == 1:
        return each
    dims = tuple(range(1, each.ndim))
    return each.mean(dims) if reduction == 1 else each.sum(dims)


#: The names of parameters that are dimensions.
DIMENSIONS = ("dim", "dims", "dim0", "dim1", "dim2", "dimension")


def along_dimensions(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Dimensions count from behind the elements; none given means all of them, but for views."""
    ndim = args[0].ndim + (op.packet == "unsqueeze")
    if not ndim:
        return each_element(op, frame, args)
    several = sum(map(is_tensor, args)) > 1
    changed = [filled(a, frame) if several and is_tensor(a) else lowered(a, frame) for a in with_defaults(op, args)]
    for name in DIMENSIONS:
        position = op.schema.positions.get(name)
        if position is not None:
            changed[position] = shifted(changed[position], ndim, empty_is_all=op.packet not in ("flip", "squeeze"))
    if op.packet == "permute":
        changed[1] = (0, *changed[1])
    return op.call(*changed)


def rolled(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """``roll``, which without dimensions rolls the elements as one line."""
    self, shifts, dims = with_defaults(op, args)
    if dims or not self.ndim:
        return along_dimensions(op, frame, args)
    lines = lowered(self, frame).reshape((frame.size, self.numel()))
    return op.call(lines, shifts, (1,)).reshape((frame.size, *self.shape))


def shifted(dim: Any, ndim: int, empty_is_all: bool = True) -> Any:
    """A dimension, or several, of one element as those of the whole batch."""
    if dim is None or (dim == () and empty_is_all):
        return tuple(range(1, ndim + 1))
    if isinstance(dim, int):
        return dim + 1 if dim >= 0 else dim if -dim <= ndim else dim - 1
    return tuple(shifted(d, ndim) for d in dim)


def over_all(name: str) -> Rule:
    """A reduction over all dimensions, by the operator that takes them."""

    def rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
        whole = lowered(args[0], frame)
        dims = tuple(range(1, whole.ndim))
        if not dims:
            return each_element(op, frame, args)
        return registry[name].call(whole, dims, False, *args[1:])

    return rule


def flat(name: str = "", values: bool = False) -> Rule:
    """A reduction over all dimensions, where the operator ``name`` reduces one; of its results, the values."""

    def rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
        given = with_defaults(op, args)
        position = op.schema.positions.get("dim")
        if position is not None and given[position] is not None:
            return along_dimensions(op, frame, args)
        whole = lowered(given[0], frame)
        rows = whole.reshape((frame.size, prod(given[0].shape)))
        if position is None:
            result = registry[name].call(rows, 1, False, *given[1:])
            return result[0] if values else result
        given[0], given[position] = rows, 1
        keepdim = given[op.schema.positions["keepdim"]]
        return each_result(op.call(*given), lambda t: t.reshape((frame.size, *(1,) * (whole.ndim - 1))) if keepdim
                           else t)

    return rule


def with_size(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Shapes of one element; an expansion may add dimensions in front of it."""
    whole, size = lowered(args[0], frame), tuple(args[1])
    if op.packet == "expand":
        missing = len(size) - args[0].ndim
        whole = whole.reshape((frame.size, *(1,) * missing, *args[0].shape)) if missing else whole
    elif -1 in size and not args[0].numel():
        return each_element(op, frame, args)
    elif op.packet in ("view", "_reshape_alias"):
        return reshape(whole, (frame.size, *size))
    return op.call(whole, (frame.size, *size), *args[2:])


def as_it_is(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """An operator that treats all elements alike."""
    return op.call(lowered(args[0], frame), *args[1:])


def transposed(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """``t``, which leaves a vector as it is."""
    whole = lowered(args[0], frame)
    return whole.mT if whole.ndim == 3 else alias(whole)


def squeezed(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """``squeeze`` of all dimensions of size 1, but for the batch's."""
    return lowered(args[0], frame).squeeze([d + 1 for d, n in enumerate(args[0].shape) if n == 1])


def strided(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """``as_strided``: each element begins as far behind the one before it as it does in the batch."""
    self, size, stride, offset = with_defaults(op, args)
    whole = lowered(self, frame)
    start = whole.storage_offset() if offset is None else offset
    return op.call(whole, (frame.size, *size), (whole.stride(0), *stride), start)


def trailing(*cores: int, flags: dict[str, Any] | None = None) -> Rule:
    """Operators on the last dimensions, before which there may be any: of each tensor so many, 2 where nothing is said.

    The dimensions before are broadcast against each other, so they are made as many. ``flags`` are arguments with
    which the results have the same shapes whatever is asked for.
    """

    def rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
        given = with_defaults(op, args)
        for name, value in (flags or {}).items():
            given[op.schema.positions[name]] = value
        places = [i for i, a in enumerate(given) if is_tensor(a)]
        core = dict(zip(places, (*cores, *(2,) * len(places)), strict=False))
        if op.packet == "_linalg_solve_ex" and is_vector(given[0], given[1]):
            core[1] = 1
        ndim = max(given[i].ndim - core[i] for i in places)
        if ndim < 0:
            return each_element(op, frame, args)
        for i in places:
            whole = filled(given[i], frame)
            missing = ndim - (given[i].ndim - core[i])
            given[i] = whole.reshape((frame.size, *(1,) * missing, *given[i].shape)) if missing else whole
        return op.call(*given)

    return rule


def is_vector(left: Any, right: Any) -> bool:
    """Whether the right side of equations is one vector for each matrix."""
    return right.ndim == 1 or (right.ndim + 1 == left.ndim and tuple(right.shape) == tuple(left.shape[:-1]))


def product(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Matrix products, for which ``matmul`` knows batches."""
    left, right = (lowered(arg, frame) for arg in args[:2])
    if op.packet == "dot":
        return (left * right).sum(-1)
    if op.packet == "mv":
        return matmul(left, right.unsqueeze(-1)).squeeze(-1)
    return matmul(left, right)


def composed(function: Callable[..., Any]) -> Rule:
    """An operator that is written in others, which have rules; an in-place form is written afterwards."""

    def rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
        result = function(*args)
        if op.is_inplace:
            return args[0].copy_(result)
        return each_result(result, lambda t: lowered(filled_like(t, frame), frame))

    return rule


def joined(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Tensors joined: those that are not batched are so first; a vector of nothing joins with any."""
    dim = args[1] if len(args) > 1 else 0
    tensors = [t for t in args[0] if t.shape != (0,)] or args[0]
    return cat([filled(t, frame) for t in tensors], shifted(dim, tensors[0].ndim))


def stacked(tensors: Any, dim: int = 0) -> Any:
    return cat([t.unsqueeze(dim) for t in tensors], dim)


def by_sample(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Operators on samples of some dimensions, as many as the name says and one of channels.

    Samples of all elements are samples alike: where there is a dimension of them, the elements go into it.
    """
    given = with_defaults(op, args)
    ndim = int(re.findall(r"(\d)d", op.packet)[-1]) + 1
    has_samples = given[0].ndim == ndim + 1
    count = given[0].shape[0]
    for i, value in enumerate(given):
        if is_tensor(value):
            whole = filled(value, frame)
            given[i] = whole.flatten(0, 1) if has_samples else whole
    if (where := op.schema.positions.get("input_size")) is not None:
        given[where] = (frame.size * given[where][0], *given[where][1:])
    result = op.call(*given)
    return each_result(result, lambda t: t.reshape((frame.size, count, *t.shape[1:]))) if has_samples else result


# -- indices -----------------------------------------------------------------------------------------------------------

#: What an operator does with one index for all places along other dimensions, where each place has an index.
AT_EACH_PLACE = {"index_select": "gather", "index_add": "scatter_add", "index_copy": "scatter.src",
                 "index_fill.int_Scalar": "scatter.value", "index_fill.int_Tensor": "scatter.value",
                 "index_reduce": "scatter_reduce.two"}


def along_index(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Places along a dimension that a vector names: the same for all elements, or others for each."""
    self, dim, index, *rest = args
    if not self.ndim or (rest and is_batched(rest[0], frame) and rest[0].ndim != self.ndim):
        return each_element(op, frame, args)
    if not is_batched(index, frame):
        source = [filled(a, frame) if is_tensor(a) and a.ndim else a for a in rest]
        return op.call(filled(self, frame), shifted(dim, self.ndim), index, *source)
    dim %= self.ndim
    shape = [index.numel() if d == dim else n for d, n in enumerate(self.shape)]
    places = index.reshape([-1 if d == dim else 1 for d in range(self.ndim)]).expand(shape)
    functional = (op.functional if op.is_inplace else op).name  # type: ignore[union-attr]
    if functional == "index_add" and len(rest) > 1:
        rest = [rest[0] * rest[1]]
    elif functional == "index_fill.int_Tensor":
        rest = [rest[0].item()]
    result = registry[AT_EACH_PLACE[functional]].call(self, dim, places, *rest)
    return self.copy_(result) if op.is_inplace else lowered(filled_like(result, frame), frame)


def taken(self: Any, index: Any) -> Any:
    """``take``: places among all elements, as if they stood in one row."""
    return self.reshape(-1).gather(0, from_start(index, self).reshape(-1)).reshape(index.shape)


def from_start(index: Any, self: Any) -> Any:
    """Places in one row, of which those below 0 count from behind."""
    return index.where(index >= 0, index + self.numel())


def put(self: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """``put``: elements written to places among all, as if they stood in one row."""
    row, at, values = self.reshape(-1), from_start(index, self).reshape(-1), source.reshape(-1)
    return (row.scatter_add(0, at, values) if accumulate else row.scatter(0, at, values)).reshape(self.shape)


def masked_fill(self: Any, mask: Any, value: Any) -> Any:
    return self.where(~mask, value).to(self._dtype)


def unbatchable(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """How many results there are depends on the values, which differ from element to element. Raises RuntimeError."""
    raise RuntimeError("vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap "
                       f"over aten::{op.packet}. Please file an issue at https://github.com/pytorch/pytorch/issues if "
                       "you need this feature.")


def selected(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """``masked_select`` by one mask for all elements.

    Raises:
        RuntimeError: for masks of their own, which may select more from one element than from another.
    """
    self, mask = args
    if is_batched(mask, frame):
        raise RuntimeError("vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support "
                           "this because for each batch this would return a differently shaped Tensor. Please file an "
                           "issue at https://github.com/pytorch/pytorch/issues if you need this feature.")
    shape = broadcast_shapes(self.shape, mask.shape)
    return lowered(self.expand(shape)[mask.expand(shape)], frame)


def bagged(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """``embedding_bag`` cannot know of a tensor in ``vmap`` whether it is differentiated."""
    return by_element(registry["_embedding_bag"], frame, args)


def masked_scatter(self: Any, mask: Any, source: Any) -> Any:
    """The elements of ``source`` in their order, where ``mask`` is true."""
    shape = broadcast_shapes(self.shape, mask.shape)
    self, row = self.expand(shape), mask.expand(shape).reshape(-1)
    order = (row.cumsum(0) - 1).clamp(min=0)
    return source.reshape(-1).gather(0, order.clamp(max=source.numel() - 1)).reshape(self.shape).where(
        row.reshape(self.shape), self)


class Places:
    """The indices of ``x[i, :, j]``, each with its elements in front, and one that counts the elements.

    So the dimensions of the indices lie in front of the result, behind the batch's.
    """

    def __init__(self, tensor: Any, indices: Any, frame: Frame):
        self.named: list[tuple[int, Any]] = []
        position = 0
        for index in indices:
            if index is None:
                position += 1
            elif index._dtype is boolean:
                if is_batched(index, frame):
                    raise RuntimeError("vmap: We do not support batching operators that can support dynamic shape. "
                                       "Attempting to batch over indexing with a boolean mask.")
                found = index.nonzero().unbind(1)
                self.named += [(position + i, part) for i, part in enumerate(found)]
                position += index.ndim
            else:
                self.named.append((position, index))
                position += 1
        self.shape = broadcast_shapes(*[index.shape for _, index in self.named])
        self.ndim = len(self.shape)
        at = [where for where, _ in self.named]
        self.first = at[0] if at == list(range(at[0], at[-1] + 1)) else 0  # where the dimensions of the indices lie
        count = arange(frame.size, int64, None, tensor._device).reshape((frame.size, *(1,) * self.ndim))
        whole: list[Any] = [None] * (tensor.ndim + 1)
        whole[0] = count
        for where, index in self.named:
            whole[where + 1] = aligned(index, self.ndim, frame)
        self.whole = whole


def indexed(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """``x[i, :, j]``: with the index that counts the elements, the dimensions of the indices lie in front."""
    self = args[0]
    places = Places(self, args[1], frame)
    result = op.call(filled(self, frame), places.whole)
    before, count = places.first + 1, places.ndim
    return result.permute((0, *range(count + 1, count + before), *range(1, count + 1),
                           *range(count + before, result.ndim)))


def index_written(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """``x[i, :, j] = values``."""
    self, indices, values, *rest = args
    places = Places(self, indices, frame)
    kept = [n for d, n in enumerate(self.shape) if d not in dict(places.named)]
    if places.first:  # the dimensions of the indices lie in front there
        before, count = places.first + 1, places.ndim
        whole = filled(values.expand((*kept[:places.first], *places.shape, *kept[places.first:])), frame)
        values = whole.permute((0, *range(before, before + count), *range(1, before),
                                *range(before + count, whole.ndim)))
    else:
        values = aligned(values, places.ndim + len(kept), frame)
    return op.call(filled(self, frame), places.whole, values, *rest)


def embedded(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """``embedding``: rows of one table, or of one for each element, which are rows of one above another."""
    weight, indices, *rest = args
    if not is_batched(weight, frame):
        return op.call(weight, lowered(indices, frame), *rest)
    found = op.call(lowered(weight, frame).flatten(0, 1), numbered(indices, weight.shape[0], frame))
    if not rest or rest[0] < 0:
        return found
    return found.where((filled(indices, frame) != rest[0]).unsqueeze(-1), found.detach())


def one_hot(self: Any, num_classes: int = -1) -> Any:
    """Class numbers as rows of zeros with a one; the values, which differ from element to element, are not checked."""
    if self._dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if num_classes <= 0:
        raise RuntimeError("When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes "
                           "argument.")
    return (self.unsqueeze(-1) == arange(num_classes, int64, None, self._device)).long()


def embedding_gradient(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """The gradient of ``embedding``: of a table for each element, one above another."""
    grad, indices, rows, padding, scale = args
    if padding >= 0:
        grad = grad.masked_fill((indices == padding).unsqueeze(-1), 0)
    table = op.call(filled(grad, frame), numbered(indices, rows, frame), rows * frame.size, -1, scale)
    return table.reshape((frame.size, rows, *table.shape[1:]))


def numbered(indices: Any, rows: int, frame: Frame) -> Any:
    """Rows of one table for each element as rows of all tables."""
    whole = filled(indices, frame)
    count = arange(frame.size, whole._dtype, None, whole._device) * rows
    return whole + count.reshape((frame.size, *(1,) * indices.ndim))


def searched(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """``searchsorted``: rows of values in rows that are sorted; one sorted row serves all values."""
    given = with_defaults(op, args)
    sequence, values = given[:2]
    sorter = op.schema.positions.get("sorter")
    if sequence.ndim == 1 and not (is_batched(sequence, frame) or (sorter and is_batched(given[sorter], frame))):
        return op.call(sequence, lowered(values, frame), *given[2:])
    rows = filled(values, frame)
    if sequence.ndim == 1:
        rows = rows.reshape((frame.size, prod(values.shape)))
    if sorter is not None and given[sorter] is not None:
        given[sorter] = filled(given[sorter], frame)
    return op.call(filled(sequence, frame).contiguous(), rows.contiguous(), *given[2:]).reshape(
        (frame.size, *values.shape))


def renormalised(self: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    """``renorm``: slices along a dimension whose norm is too large, made as large as they may be."""
    norms = vector_norm(self, p, [d for d in range(self.ndim) if d != dim % self.ndim], True, None)
    return self * (maxnorm / (norms + 1e-7)).where(norms > maxnorm, 1)


def block_diagonal(tensors: Any) -> Any:
    """Matrices along the diagonal of one, with zeros beside them."""
    blocks = [t.reshape((1,) * (2 - t.ndim) + tuple(t.shape)) for t in tensors]
    width, before, rows = sum(block.shape[1] for block in blocks), 0, []
    for block in blocks:
        count, columns = block.shape
        after = width - before - columns
        rows.append(cat([block.new_zeros((count, before)), block, block.new_zeros((count, after))], 1))
        before += columns
    return cat(rows, 0)


def scattered(view: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of a tensor in which another stands where a view of it is."""

    def write(self: Any, src: Any, *args: Any) -> Any:
        out = self.clone()
        view(out, *args).copy_(src)
        return out

    return with_own_self(write)


def with_own_self(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that may write what others of its arguments have to a copy of its first: that is batched as they are.
    """

    def call(self: Any, *args: Any) -> Any:
        found = {t._batched[2] for t in tensors_of(args) if t._keys & BATCHED}
        for frame in sorted(found, key=lambda frame: frame.number):
            self = filled_like(self, frame) if is_tensor(self) else self
        return function(self, *args)

    return call


def distance(self: Any, other: Any, p: Any = 2) -> Any:
    """``dist``: the norm of the difference."""
    return vector_norm(self - other, p, None, False, None)


def trilinear(i1: Any, i2: Any, i3: Any, expand1: Any, expand2: Any, expand3: Any, sumdim: Any,
              unroll_dim: int = 1) -> Any:
    """The sum over ``sumdim`` of the product of three tensors, each seen with the dimensions ``expand`` besides."""
    operands = []
    for operand, dims in ((i1, expand1), (i2, expand2), (i3, expand3)):
        for d in sorted(dims):
            operand = operand.unsqueeze(d)
        operands.append(operand)
    return (operands[0] * operands[1] * operands[2]).sum(list(sumdim))


def nll(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple[Any, Any]:
    """``nll_loss``: the loss, and the weight of the targets that count."""
    channel = 0 if self.ndim == 1 else 1
    counts = target != ignore_index
    classes = target.where(counts, 0)
    weights = counts.to(self._dtype)
    if weight is not None:
        weights = weights * weight.detach().gather(0, classes.reshape(-1)).reshape(classes.shape)
    losses = -self.gather(channel, classes.unsqueeze(channel)).squeeze(channel) * weights
    losses = losses.masked_fill(~counts, 0)
    total = weights.sum()
    if reduction == 0:
        return losses, total * 0
    return (losses.sum() / total if reduction == 1 else losses.sum()), total


def scaled(value: Any, factor: Any) -> Any:
    """A multiple of a tensor."""
    return value if factor == 1 else value * factor


def added(product: Callable[[Any, Any], Any]) -> Rule:
    """``beta * self + alpha * (left @ right)``; a factor of 0 leaves out what it multiplies."""

    def sums(self: Any, left: Any, right: Any, beta: Any = 1, alpha: Any = 1) -> Any:
        found = scaled(product(left, right), alpha)
        return found + scaled(self, beta) if beta != 0 else found

    return composed(sums)
