"""The Batched key: tensors that stand for one of a batch inside ``vmap``, and how operators run on all of it at once.

A batched tensor has the shape, dtype and device of one element; its ``_batched`` names the tensor of the whole batch,
which dimension of that counts the elements, and the ``Frame`` of the ``vmap`` that made it. In nested calls that tensor
is itself batched, for the frames outside; a call is led down one frame at a time, the innermost first. History and
tangents belong to the tensor of the whole batch, below all frames: to autograd, ``vmap`` is what it calls.

An operator runs on the batch by the rule of its family, below; a composite through the operators that it is written in;
and any other once for each element, with PyTorch's warning. A rule sees each batch in front.
"""
from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from ._backends.common.pointwise import Pointwise
from ._dispatch.aten import (
    cat, expand, matmul, mm, mul_Tensor as mul, permute, reshape, stack, sum_dim_IntList as sum_dims,
)
from ._dispatch.dispatcher import TENSOR_TYPES, has_derivative, registry, set_local, tensors_of
from ._dispatch.keys import BACKENDS, BATCHED, CPU, MATH_BITS, NONCONTIGUOUS
from ._dispatch.local import local
from ._dispatch.registry import Operator
from ._layout import contiguous_strides
from ._random import get_rng_state, set_rng_state
from ._size import Size
from ._tensor import Tensor, new

_next_number = itertools.count(1).__next__


class Frame:
    """One call of ``vmap``: how many elements there are, and what random numbers they get."""

    def __init__(self, size: int, randomness: str = "error"):
        self.number, self.size, self.randomness = _next_number(), size, randomness


def batched(value: Any, dim: int, frame: Frame) -> Tensor:
    """One element of ``value``, which has them all along ``dim``."""
    out = new(Tensor)
    out._batched = value, dim, frame
    shape, stride = list(value.shape), list(value._strides())
    del shape[dim], stride[dim]
    out._shape, out._stride = Size(shape), tuple(stride)
    out._dtype, out._device = value._dtype, value._device
    out._keys = BATCHED | value._keys & (BACKENDS | MATH_BITS)
    if out._stride != contiguous_strides(out._shape):
        out._keys |= NONCONTIGUOUS
    out._version_counter = value._version_counter
    return out


def moved(value: Any, source: int, target: int) -> Any:
    """A tensor with one dimension in another place."""
    if source == target:
        return value
    order = [d for d in range(value.ndim) if d != source]
    order.insert(target, source)
    return permute(value, order)


def lowered(value: Any, frame: Frame) -> Any:
    """All elements of a tensor that is batched in this frame, in front; any other as it is."""
    found = value._batched if value.__class__ in TENSOR_TYPES else None
    if found is None or found[2].number < frame.number:
        return value
    whole, dim, own = found
    if own is frame:
        return moved(whole, dim, 0)
    below = lowered(whole, frame)
    return value if below is whole else batched(below, dim + 1, own)


def is_batched(value: Any, frame: Frame) -> bool:
    """Whether a value is a tensor that is batched in this frame."""
    return value.__class__ in TENSOR_TYPES and lowered(value, frame) is not value


def lowered_all(value: Any, frames: tuple[Frame, ...]) -> Any:
    """All elements of a tensor in all these frames, the outermost in front."""
    for frame in reversed(frames):
        value = filled(value, frame)
    return value


def raised_all(value: Any, frames: tuple[Frame, ...]) -> Any:
    """One element of what ``lowered_all`` returned."""
    for frame in frames:
        value = batched(value, 0, frame)
    return value


def filled(value: Any, frame: Frame) -> Any:
    """All elements of a tensor, in front; the same for each where it is not batched."""
    return lowered(value, frame) if is_batched(value, frame) else expand(value, (frame.size, *value.shape))


def on_batched(op: Operator, keys: int) -> Callable[..., Any]:
    """The Batched key: run an operator on all elements of the innermost frame."""
    backend = keys & BACKENDS or CPU
    kernel = op.kernel(backend & -backend)
    if kernel is not None and kernel.composite and not has_derivative(op) and op.name not in RULES:
        return kernel.fn
    functional = op.functional if op.is_inplace and op.functional is not None else op
    rule = RULES.get(functional.name) or (pointwise if isinstance(registry.meta_rows.get(functional.name), Pointwise)
                                          else by_element)

    def call(*args: Any) -> Any:
        frame = max((t._batched[2] for t in tensors_of(args) if t._keys & BATCHED), key=lambda frame: frame.number)
        if op.is_inplace and not is_batched(args[0], frame):
            raise RuntimeError(
                f"vmap: {op.name}(self, *extra_args) is not possible because there exists a Tensor `other` in "
                "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but "
                "`self` not being vmapped over in a vmap. Please try to use out-of-place operators instead of "
                f"{op.name}. If said operator is being called inside the PyTorch framework, please file a bug report "
                "instead.")
        if op.family == "random":
            return at_random(op, frame, args)
        if "inplace_view" in op.flags or op.name in IN_PLACE_VIEWS:
            view = registry[op.packet[:-1] + op.name[len(op.packet):]].call(*args)
            for name in ("_batched", "_shape", "_stride", "_keys"):
                setattr(args[0], name, getattr(view, name))
            return args[0]
        result = rule(op, frame, args)
        return args[0] if op.is_inplace else wrapped(result, frame)

    return call


IN_PLACE_VIEWS = ("squeeze_", "squeeze_.dim", "squeeze_.dims", "t_", "transpose_", "unsqueeze_")


class BatchInfo(NamedTuple):
    """What a registered rule is told of the ``vmap`` that calls it."""

    batch_size: int
    randomness: str


def registered(function: Callable[..., Any]) -> Callable[..., Any]:
    """The rule that a user's function makes: it takes ``BatchInfo``, the dimension of the batch in each argument, which
    is None where there is none, and the arguments; it returns the results and the dimensions of the batch in them.
    """

    def rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
        def place(arg: Any) -> Any:
            return [place(item) for item in arg] if isinstance(arg, list) else 0 if is_batched(arg, frame) else None

        def whole(arg: Any) -> Any:
            return [whole(item) for item in arg] if isinstance(arg, list) else lowered(arg, frame)

        def in_front(result: Any, dim: Any) -> Any:
            if result.__class__ in TENSOR_TYPES:
                return expand(result, (frame.size, *result.shape)) if dim is None else moved(result, dim, 0)
            dims = dim if isinstance(dim, (list, tuple)) else [dim] * len(result)
            return type(result)([in_front(*pair) for pair in zip(result, dims, strict=True)])

        return in_front(*function(BatchInfo(frame.size, frame.randomness), tuple(map(place, args)), *map(whole, args)))

    return rule


def wrapped(result: Any, frame: Frame) -> Any:
    """What a rule computed for all elements, in front, as batched tensors."""
    if result.__class__ in TENSOR_TYPES:
        return batched(result, 0, frame)
    items = [batched(item, 0, frame) if item.__class__ in TENSOR_TYPES else item for item in result]
    return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)


# -- rules: an operator, a frame and its arguments, to the results for all elements, in front --------------------------


def by_element(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """The visible fallback: one call for each element."""
    warnings.warn("There is a performance drop because we have not yet implemented the batching rule for "
                  f"aten::{op.name}. Please file us an issue on GitHub so that we can prioritize its implementation.",
                  UserWarning, stacklevel=3)
    return each_element(op, frame, args)


def each_element(op: Operator, frame: Frame, args: tuple[Any, ...], before: Callable[[], Any] | None = None) -> Any:
    """One call for each element, the results stacked; ``before`` each of them."""
    whole = [[(is_batched(a, frame), lowered(a, frame)) for a in arg] if isinstance(arg, list) else
             (is_batched(arg, frame), lowered(arg, frame)) for arg in args]

    def at(i: int, entry: Any) -> Any:
        if isinstance(entry, list):
            return [at(i, one) for one in entry]
        return entry[1].select(0, i) if entry[0] else entry[1]

    results = []
    frames = local.frames
    set_local("frames", frames[:frames.index(frame)] if frame in frames else frames)
    try:
        for i in range(frame.size):
            if before is not None:
                before()
            results.append(op.call(*[at(i, entry) for entry in whole]))
    finally:
        set_local("frames", frames)
    first = results[0]
    if op.is_inplace:
        return None
    if first.__class__ in TENSOR_TYPES:
        return stack(results, 0)
    columns = [stack(list(column), 0) for column in zip(*results, strict=True)]
    return type(first)(*columns) if hasattr(first, "_fields") else type(first)(columns)


def at_random(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Random numbers: refused, others for each element, or the same for all."""
    if frame.randomness == "error":
        raise RuntimeError("vmap: called random operation while in randomness error mode. Please either use the 'same' "
                           "or 'different' randomness flags on vmap or perform the randomness operation out of vmap")
    if frame.randomness == "different":
        result = each_element(op, frame, args)
        return args[0] if op.is_inplace else wrapped(result, frame)
    state = get_rng_state()
    result = each_element(op, frame, args, lambda: set_rng_state(state))
    return args[0] if op.is_inplace else wrapped(result, frame)


def pointwise(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Elements in front, and dimensions of size 1 behind it where an operand has fewer than another."""
    count = registry.meta_rows[(op.functional or op).name].count if not op.is_out else 0
    operands = [a for a in args[:count] if a.__class__ in TENSOR_TYPES]
    ndim = max(t.ndim for t in operands)
    if len({t._dtype for t in operands}) > 1 and any(not t.ndim for t in operands):
        return each_element(op, frame, args)  # in promotion, a tensor without dimensions counts less

    def aligned(value: Any) -> Any:
        if not is_batched(value, frame):
            return value
        whole = lowered(value, frame)
        missing = ndim - value.ndim
        return whole.reshape((frame.size, *(1,) * missing, *value.shape)) if missing else whole

    return op.call(*[aligned(a) for a in args[:count]], *args[count:])


#: The names of parameters that are dimensions.
DIMENSIONS = ("dim", "dims", "dim0", "dim1", "dim2", "dimension")


def along_dimensions(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Dimensions count from behind the elements; none given means all of them."""
    self, changed = args[0], [lowered(args[0], frame), *args[1:]]
    ndim = self.ndim + (op.packet == "unsqueeze")
    if not ndim:
        return each_element(op, frame, args)
    changed += [parameter.default for parameter in op.schema.parameters[len(args):]]
    for name in DIMENSIONS:
        position = op.schema.positions.get(name)
        if position is not None:
            changed[position] = shifted(changed[position], ndim)
    if op.packet == "permute":
        changed[1] = (0, *changed[1])
    return op.call(*changed)


def shifted(dim: Any, ndim: int) -> Any:
    """A dimension, or several, of one element as those of the whole batch."""
    if dim is None or dim == ():
        return tuple(range(1, ndim + 1))
    if isinstance(dim, int):
        return dim + 1 if dim >= 0 else dim if -dim <= ndim else dim - 1
    return tuple(shifted(d, ndim) for d in dim)


def over_all(name: str) -> Callable[..., Any]:
    """A reduction over all dimensions, by the operator that takes them."""

    def rule(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
        whole = lowered(args[0], frame)
        dims = tuple(range(1, whole.ndim))
        if not dims:
            return each_element(op, frame, args)
        return registry[name].call(whole, dims, False, *args[1:])

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


def product(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Matrix products, for which ``matmul`` knows batches."""
    left, right = (lowered(arg, frame) for arg in args[:2])
    if op.packet == "dot":
        return sum_dims(mul(left, right), (-1,))
    if op.packet == "mv":
        return matmul(left, right.unsqueeze(-1)).squeeze(-1)
    return matmul(left, right)


def composed(function: Callable[..., Any]) -> Callable[..., Any]:
    """An operator that is written in others, which have rules."""
    return lambda op, frame, args: lowered(filled_like(function(*args), frame), frame)


def filled_like(value: Any, frame: Frame) -> Any:
    """A tensor, batched in this frame."""
    return value if is_batched(value, frame) else batched(filled(value, frame), 0, frame)


def joined(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """Tensors joined: those that are not batched are so first."""
    dim = args[1] if len(args) > 1 else 0
    return cat([filled(t, frame) for t in args[0]], dim + 1 if dim >= 0 else dim)


def scaled(value: Any, factor: Any) -> Any:
    """A multiple of a tensor."""
    return value if factor == 1 else value * factor


def names(rule: Callable[..., Any], text: str) -> dict[str, Callable[..., Any]]:
    """One rule for the operators that a text names."""
    return dict.fromkeys(text.split(), rule)


RULES: dict[str, Callable[..., Any]] = {
    **names(along_dimensions, """
        sum.dim_IntList mean.dim prod.dim_int amax amin max.dim min.dim argmax argmin any.dim all.dim var.correction
        std.correction logsumexp cumsum cumprod cummax cummin sort sort.stable topk kthvalue _softmax _log_softmax flip
        select.int slice.Tensor unsqueeze transpose.int squeeze.dim squeeze.dims permute unbind.int split.Tensor
        split_with_sizes diagonal"""),
    "sum": over_all("sum.dim_IntList"), "mean": over_all("mean.dim"), "any": over_all("any.dims"),
    "all": over_all("all.dims"), "t": lambda op, frame, args: lowered(args[0], frame).mT,
    **names(with_size, "view _unsafe_view _reshape_alias expand new_zeros new_ones new_empty"),
    **names(as_it_is, "clone _to_copy detach alias _conj _neg_view zeros_like ones_like empty_like full_like"),
    **names(product, "mm bmm mv dot"),
    "addmm": composed(lambda self, a, b, beta=1, alpha=1: scaled(self, beta) + scaled(mm(a, b), alpha)),
    "linear": composed(lambda x, weight, bias=None: matmul(x, weight.t()) if bias is None else
                       matmul(x, weight.t()) + bias),
    "cat": joined,
}
