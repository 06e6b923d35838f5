"""``rearrange``: views and transpositions by a pattern of names, as in einops."""
from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

from .._methods.functions import stack
from .._tensor import Tensor

ELLIPSIS, COMPOSED = "...", "(...)"  #: all other dimensions, one by one, and as a part of one
Axes = tuple[tuple[str, ...], ...]  #: the names of each dimension: several if they are composed, none for size 1


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """Reorder, compose and divide the dimensions of a tensor, or of several stacked ones (``torch.func.rearrange``).

    ``rearrange(images, "b (h r) w c -> b c (r w) h", r=2)`` names the dimensions on the left side, where parentheses
    divide one, and orders them on the right side, where parentheses compose several; ``...`` stands for all others.

    Raises:
        ValueError: for a pattern that cannot be read or does not fit the number of dimensions.
        TypeError: for a length that is not an integer.
        RuntimeError: for lengths that do not fit the sizes.
    """
    if not isinstance(tensor, Tensor):
        tensor = stack(tensor)
    left, right = sides(pattern)
    named = {name for axis in left for name in axis}
    if unknown := axes_lengths.keys() - named:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")
    for length in axes_lengths.values():
        if not isinstance(length, int):
            raise TypeError(f"rearrange axis lengths must be integers, got: {type(length)}")
    rest = tensor.ndim - len(left) + 1 if (ELLIPSIS,) in left else 0
    if tensor.ndim != len(left) + rest - ((ELLIPSIS,) in left) or rest < 0:
        raise ValueError(f"Number of dimensions in pattern ({len(left)}) must be equal to the number of dimensions in "
                         f"the tensor ({tensor.ndim})")
    others = [(f"{ELLIPSIS}{i}",) for i in range(rest)]
    left, right = (tuple([axis for given in side for axis in (others if given == (ELLIPSIS,) else [given])])
                   for side in (left, right))
    lengths = {name: size for axis, size in zip(left, tensor.shape, strict=True)
               for name, size in divided(axis, size, axes_lengths).items()}
    places = {name: place for place, name in enumerate([name for axis in left for name in axis])}
    target = [[name for part in axis for name in (sum(others, ()) if part == COMPOSED else [part])] for axis in right]
    parts = tensor.reshape(list(lengths.values()))
    moved = parts.permute([places[name] for axis in target for name in axis])
    return moved.reshape([prod([lengths[name] for name in axis]) for axis in target])


def divided(axis: tuple[str, ...], size: int, given: dict[str, int]) -> dict[str, int]:
    """Return the lengths of the names that compose a dimension of this size; one of them may be left to it."""
    known = prod([given[name] for name in axis if name in given])
    missing = [name for name in axis if name not in given]
    if len(missing) > 1:
        raise RuntimeError(f"cannot infer the sizes of two dimensions at once {missing[0]} and {missing[1]}")
    if missing and (not known or size % known):
        raise RuntimeError(f"inferred dimension does not evenly fit into larger dimension: {size} vs {known}")
    if not missing and known != size:
        raise RuntimeError(f"Dimension sizes do not match ({size} != {known}) when matching dimension pack {axis}")
    return {name: given[name] if name in given else size // known for name in axis}


@lru_cache(256)
def sides(pattern: str) -> tuple[Axes, Axes]:
    """Return the dimensions on both sides of a pattern. Raises ValueError if it cannot be read."""
    if pattern.count("->") != 1:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = [axes(side) for side in pattern.split("->")]
    before, after = [{name.strip("()") for axis in side for name in axis} for side in (left, right)]
    if ELLIPSIS in before and (ELLIPSIS,) not in left:
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    if ELLIPSIS in after - before:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if before != after:
        raise ValueError("Identifiers only on one side of rearrange expression (should be on both): "
                         f"{before ^ after}")
    return left, right


def axes(side: str) -> Axes:
    """Return the dimensions of one side of a pattern. Raises ValueError if it cannot be read."""
    found: list[tuple[str, ...]] = []
    names = set[str]()
    group: list[str] | None = None
    for token in side.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            if group is not None:
                raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
            group = []
        elif token == ")":
            if group is None:
                raise ValueError("Brackets are not balanced")
            found.append(tuple(group))
            group = None
        elif token.isdecimal():
            if token != "1":
                raise ValueError("rearrange only supports unnamed axes of size 1")
            if group is None:
                found.append(())
        else:
            check_name(token, names)
            names.add(token)
            if group is None:
                found.append((token,))
            else:
                group.append(COMPOSED if token == ELLIPSIS else token)
    if group is not None:
        raise ValueError(f"Imbalanced parentheses in expression: '{side}'")
    return tuple(found)


def check_name(token: str, names: set[str]) -> None:
    """Raise ValueError if a name of a pattern is none, or was there before."""
    if token != ELLIPSIS:
        if "." in token:
            raise ValueError("Expression may contain dots only inside ellipsis (...)")
        if not token.isidentifier():
            raise ValueError(f"Invalid axis identifier: {token}\nnot a valid python identifier")
        if token.startswith("_") or token.endswith("_"):
            raise ValueError(f"Invalid axis identifier: {token}\naxis name should not start or end with underscore")
    if token in names:
        raise ValueError(f"Indexing expression contains duplicate dimension '{token}'")
