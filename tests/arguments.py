"""Arguments for random programs: for a tensor of PyTorch's, what a step may do with it.

Mostly arguments that are right, seldom such as make the step raise. Tables name the methods of tensors that
programs call, each with the function that draws its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.support import Outcome, torch

Draw = Callable[[st.SearchStrategy[Any]], Any]

FLOATS = [torch.float32, torch.float64, torch.bfloat16, torch.complex64]
DTYPES = [torch.float32, torch.float32, torch.float32, torch.float64, torch.int64, torch.int64, torch.int32,
          torch.uint8, torch.bool, torch.bfloat16, torch.complex64]
SHAPES = [(), (1,), (3,), (4,), (6,), (6,), (2, 3), (2, 3), (4, 4), (3, 2), (1, 4), (2, 1, 3), (2, 3, 2),
          (0,), (2, 0)]
NUMBERS = st.sampled_from([0, 1, 2, -1, -3, 0.5, -1.5, True])
FEW = st.integers(0, 3)


def seldom(strategy: st.SearchStrategy[Any], otherwise: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly `otherwise`: for the arguments that make a step raise."""
    return st.integers(0, 11).flatmap(lambda n: strategy if n == 11 else otherwise)


# ------------------------------------------------------------------------------------- arguments for a tensor

def dim(draw: Draw, t: torch.Tensor, more: int = 0) -> int:
    n = t.ndim + more
    return draw(seldom(st.integers(-n - 2, n + 1), st.integers(-n, n - 1) if n else st.just(0)))


def size(draw: Draw, t: torch.Tensor) -> tuple[int, ...]:
    """Draw a shape of as many elements: a factorisation, or the old shape shuffled; seldom a wrong one."""
    choices = [(t.numel(),), (-1,), (*t.shape, 1), (1, *t.shape), tuple(t.shape[::-1]), tuple(t.shape)]
    choices += [(k, t.numel() // k) for k in (2, 3, 4) if t.numel() % k == 0]
    choices += [(2, -1), (-1, 2, 1)]
    return draw(seldom(st.sampled_from([(5,), (-1, -1), (0, -1), (-2,)]), st.sampled_from(choices)))


def expanded(draw: Draw, t: torch.Tensor) -> tuple[int, ...]:
    sizes = [draw(st.sampled_from([-1, 3, 2])) if n == 1 else draw(seldom(FEW, st.sampled_from([n, -1])))
             for n in t.shape]
    return (*draw(st.sampled_from([(), (2,), (1,)])), *sizes)


def permutation(draw: Draw, t: torch.Tensor) -> tuple[int, ...]:
    return tuple(draw(seldom(st.just([0, 0]), st.permutations(range(t.ndim)))))


def strided(draw: Draw, t: torch.Tensor) -> tuple[Any, ...]:
    """Sizes and strides for `as_strided`: without overlap, or with stride 0, or out of bounds."""
    sizes = draw(st.sampled_from([(), (2,), (3,), (2, 2), (1, 3), (2, 1, 2)]))
    strides, step = [], draw(st.sampled_from([1, 1, 2]))
    for n in reversed(sizes):
        strides.append(draw(seldom(st.just(0), st.just(step))))
        step *= n
    offset = draw(st.sampled_from([(), (0,), (1,), (2,)]))
    strides = draw(st.permutations(strides)) if len(set(sizes)) == 1 else strides[::-1]
    return sizes, tuple(strides), *offset


def split_sizes(draw: Draw, t: torch.Tensor) -> tuple[Any, int]:
    d = dim(draw, t)
    n = t.shape[d] if -t.ndim <= d < t.ndim else 2
    return draw(st.sampled_from([1, 2, 3, [n], [1, n - 1] if n else [0, 0], [n, 1]])), d


def two_dims(draw: Draw, t: torch.Tensor) -> tuple[int, int]:
    return dim(draw, t), dim(draw, t)


def narrowed(draw: Draw, t: torch.Tensor) -> tuple[int, int, int]:
    d = dim(draw, t)
    n = t.shape[d] if -t.ndim <= d < t.ndim else 1
    start = draw(seldom(st.integers(-n - 1, n + 1), st.integers(0, n)))
    return d, start, draw(seldom(FEW, st.integers(0, max(n - start, 0))))


def selected(draw: Draw, t: torch.Tensor) -> tuple[int, int]:
    d = dim(draw, t)
    n = t.shape[d] if -t.ndim <= d < t.ndim else 1
    return d, draw(seldom(st.integers(-n - 1, n), st.integers(-n, max(n - 1, -n))))


def of_the_same_kind(dtype: torch.dtype) -> list[torch.dtype]:
    """List the dtypes that bytes may be viewed as: NaNs as integers, and numbers as bools, show unspecified bits."""
    kinds = [[torch.bool], [d for d in DTYPES if d not in FLOATS and d != torch.bool], FLOATS]
    return next((kind for kind in kinds if dtype in kind), [dtype])


Arguments = dict[str, Callable[[Draw, torch.Tensor], tuple[Any, ...]]]

RESHAPED: Arguments = {
    "view": lambda draw, t: size(draw, t),
    "reshape": lambda draw, t: (size(draw, t),),
    "flatten": lambda draw, t: (),
    "transpose": two_dims,
    "swapaxes": two_dims,
    "movedim": two_dims,
    "permute": lambda draw, t: (permutation(draw, t),),
    "expand": expanded,
    "unsqueeze": lambda draw, t: (dim(draw, t, 1),),
    "squeeze": lambda draw, t: draw(st.sampled_from([(), (dim(draw, t),)])),
    "t": lambda draw, t: (),
    "view_as": lambda draw, t: (torch.zeros([abs(n) for n in size(draw, t)]),),
    "contiguous": lambda draw, t: (),
    "view.dtype": lambda draw, t: (draw(st.sampled_from(of_the_same_kind(t.dtype))),),
}
PARTS: Arguments = {
    "narrow": narrowed,
    "select": selected,
    "diagonal": lambda draw, t: (draw(st.integers(-1, 1)), *two_dims(draw, t)),
    "unfold": lambda draw, t: (dim(draw, t), draw(FEW), draw(st.integers(1, 2))),
    "as_strided": strided,
    "unbind": lambda draw, t: (dim(draw, t),),
    "chunk": lambda draw, t: (draw(st.integers(1, 3)), dim(draw, t)),
    "split": split_sizes,
    "detach": lambda draw, t: (),
}
ATTRIBUTES = ["data", "T", "mT", "real"]


INDICES = ["int", "int", "slice", "slice", "list", "tensor", "tensor", "0-dim", "mask", "bools", "bytes"]


def one_index(draw: Draw, n: int) -> Any:
    """Draw an index for a dimension of size `n`."""
    within = st.integers(-n, n - 1) if n else st.just(0)
    kind = draw(st.sampled_from(INDICES))
    if kind == "int":
        return draw(seldom(st.integers(-n - 1, n), within))
    if kind == "slice":
        ends = st.none() | st.integers(-n - 1, n + 1)
        steps = seldom(st.sampled_from([0, -1]), st.sampled_from([None, 1, 2, 3]))
        return slice(draw(ends), draw(ends), draw(steps))
    if kind == "mask":
        return torch.tensor(draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=torch.bool)
    if kind == "bools":
        return draw(st.lists(st.booleans(), min_size=n, max_size=n))
    if kind == "bytes":
        return torch.tensor(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), dtype=torch.uint8)
    if kind == "0-dim":
        return torch.tensor(draw(within), dtype=draw(st.sampled_from([torch.int64, torch.int32])))
    distinct = draw(st.lists(seldom(st.integers(-n - 1, n), within), max_size=3,
                             unique_by=lambda i: i % max(n, 1)))
    if kind == "list":
        return distinct
    rows = draw(st.sampled_from([1, 1, 2])) if len(distinct) == 2 else 1
    return torch.tensor(distinct, dtype=torch.int64).view((rows, -1) if rows == 2 else (-1,))


def index(draw: Draw, t: torch.Tensor) -> Any:
    """Anything that can stand between the brackets after a tensor of this shape."""
    if draw(st.integers(0, 7)) == 7:
        return draw(st.sampled_from([..., None, True, False, (), t.detach() != 0,
                                     torch.tensor(True), torch.tensor(False)]))
    items = []
    dims = list(t.shape[:draw(st.integers(0, t.ndim))]) if t.ndim else []
    for n in dims:
        if (extra := draw(st.integers(0, 9))) >= 8:
            items.append([None, True][extra - 8])
        items.append(one_index(draw, n))
    if draw(st.integers(0, 3)) == 3:
        items.insert(draw(st.integers(0, len(items))), ...)
    return items[0] if len(items) == 1 and draw(st.booleans()) else tuple(items)


# ------------------------------------------------------------------------------------------ writing in place

def scalar(draw: Draw, t: torch.Tensor) -> tuple[Any, ...]:
    return (draw(NUMBERS),)


def masked(draw: Draw, t: torch.Tensor) -> tuple[Any, ...]:
    masks = st.sampled_from([t.detach() != 0, torch.tensor(True)])
    return draw(seldom(st.just(torch.tensor([True] * 5)), masks)), draw(NUMBERS)


def put(draw: Draw, t: torch.Tensor) -> tuple[Any, ...]:
    n = t.shape[0] if t.ndim else 1
    where = draw(st.lists(st.integers(-n, n - 1), max_size=3, unique_by=lambda i: i % n)) if n else []
    value = torch.tensor(draw(NUMBERS)).to(t.dtype)
    return (torch.tensor(where, dtype=torch.int64),), value, draw(st.booleans())


WRITES: Arguments = {
    "add_": scalar,
    "sub_": scalar,
    "mul_": scalar,
    "zero_": lambda draw, t: (),
    "fill_": scalar,
    "neg_": lambda draw, t: (),
    "masked_fill_": masked,
    "index_put_": put,
    "clamp_": lambda draw, t: draw(st.sampled_from([(-1, 1), (None, 2), (0,), (1.5, None)])),
    "requires_grad_": lambda draw, t: (draw(st.booleans()),),
    "detach_": lambda draw, t: (),
    "retain_grad": lambda draw, t: (),
    "t_": lambda draw, t: (),
    "transpose_": two_dims,
    "unsqueeze_": lambda draw, t: (dim(draw, t, 1),),
    "squeeze_": lambda draw, t: (),
}
WRITES_FROM = ["add_", "mul_", "sub_", "copy_"]
UNARY = ["neg", "clone", "abs", "sum", "exp", "relu", "tanh", "double", "bool"]
WITH_NUMBERS = ["add", "sub", "mul", "eq"]
BINARY = [*WITH_NUMBERS, "matmul", "maximum"]
ROUNDED = ["exp", "tanh", "matmul"]  # of which the last bit is not settled


def dense_range(t: torch.Tensor) -> range:
    """Return the storage positions from the first to the last element of `t`."""
    reach = sum((n - 1) * stride for n, stride in zip(t.shape, t.stride(), strict=True))
    return range(t.storage_offset(), t.storage_offset() + (reach + 1 if t.numel() else 0))


def overlaps_itself(t: torch.Tensor) -> bool:
    """Whether elements share memory in a way that PyTorch does not look for: writing is then undefined."""
    places = t.detach().new_empty(0, dtype=torch.int64)
    numbered = torch.arange(dense_range(t).stop).as_strided(t.shape, t.stride(), t.storage_offset())
    places = numbered.flatten().unique()
    return len(places) < t.numel() and not any(n > 1 and s == 0 for n, s in zip(t.shape, t.stride(), strict=True))


def undefined(target: torch.Tensor, source: torch.Tensor) -> bool:
    """Whether reading `source` while writing `target` is undefined: they meet, and PyTorch does not look."""
    a, b = dense_range(target), dense_range(source)
    same = ((target.dtype, target.shape, target.stride(), a)
            == (source.dtype, source.shape, source.stride(), b))
    shared = target.untyped_storage().data_ptr() == source.untyped_storage().data_ptr()
    dense = len(a) == target.numel() and len(b) == source.numel()
    return shared and not same and not dense


def partly_out_of_range(t: torch.Tensor, where: Any) -> bool:
    """Whether a list or tensor of indices is out of range: how much PyTorch has written when it raises is undefined."""
    items = where if isinstance(where, tuple) else (where,)
    listed = any(isinstance(item, (list, torch.Tensor)) for item in items)
    return listed and isinstance(Outcome.of(lambda: t.detach()[where]).error, IndexError)


def shown(value: Any) -> str:
    """Return an argument as it is written in a program."""
    if isinstance(value, torch.Tensor):
        return f"tensor({value.tolist()}, dtype={value.dtype})"
    if isinstance(value, slice):
        return f"{value.start}:{value.stop}:{value.step}".replace("None", "")
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))})"
    return "..." if value is Ellipsis else str(value)


def tame(source: torch.Tensor, target: torch.Tensor) -> bool:
    """Whether all numbers of `source` can be cast to the dtype of `target`: else the cast is undefined."""
    if target.is_floating_point() or target.is_complex() or source.numel() == 0 or source.dtype.is_complex:
        return True
    limits = torch.iinfo(torch.uint8 if target.dtype == torch.bool else target.dtype)
    low, high = source.detach().double().aminmax()
    return bool(low >= limits.min) and bool(high <= limits.max)
