"""The arguments that a transform differentiates with respect to, and the requirements on outputs."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from .._base.about import sketch_call, tell
from .._base.interrupts import contextmanager
from .._dispatch.local import local
from .._tensor import Tensor
from .pytree import tree_leaves

Argnums = int | tuple[int, ...]


def chosen(args: tuple[Any, ...], argnums: Argnums) -> list[int]:
    """Return the positions that ``argnums`` means; RuntimeError in PyTorch's words, for invalid ones."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not numbers:
        raise RuntimeError("argnums must be non-empty")
    for number in numbers:
        if not isinstance(number, int):
            raise RuntimeError(f"argnum must be int, got: {type(number)}")
        if not -len(args) <= number < len(args):
            raise RuntimeError(f"Got argnum={number}, but only {len(args)} positional inputs")
    positions = [number % len(args) for number in numbers]
    if len(set(positions)) != len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return positions


def selected(args: tuple[Any, ...], argnums: Argnums | None) -> Any:
    """Return the arguments that ``argnums`` means: one, or a tuple of them; all for None."""
    if argnums is None:
        return args
    values = tuple(args[i] for i in chosen(args, argnums))
    return values[0] if isinstance(argnums, int) else values


def replaced(args: tuple[Any, ...], values: Any, argnums: Argnums | None) -> tuple[Any, ...]:
    """Replace the arguments at ``argnums`` by other values."""
    if argnums is None:
        return tuple(values)
    changed = list(args)
    for i, value in zip(chosen(args, argnums), (values,) if isinstance(argnums, int) else values, strict=True):
        changed[i] = value
    return tuple(changed)


def name_of(func: Callable[..., Any]) -> str:
    """Return a function's name, as messages have it."""
    if hasattr(func, "__name__"):
        return func.__name__
    return f"functools.partial({name_of(func.func)}, ...)" if isinstance(func, functools.partial) else repr(func)


@contextmanager
def differentiating() -> Iterator[None]:
    """Run a block whose calls are differentiated by a transform; Functions ask for this."""
    local.transforms += 1
    try:
        yield
    finally:
        local.transforms -= 1


def called(api: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a transform's function; an error notes the transform."""
    try:
        return func(*args, **kwargs)
    except Exception as error:
        tell(error, object(), f"in {api.partition('(')[0]} of {name_of(func)}, called with {sketch_call(args, kwargs)}")
        raise


def without_aux(result: Any, has_aux: bool, api: str) -> tuple[Any, Any]:
    """Split a function's result from its auxiliary output; RuntimeError if ``has_aux`` and the result is not a pair."""
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(f"{api}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def only_tensors(value: Any) -> Any:
    """Return a tensor; refuse anything else. Raises RuntimeError in PyTorch's words."""
    if not isinstance(value, Tensor):
        raise RuntimeError(f"Expected tensors, got unsupported type {type(value)}")
    return value


def check_tensor_output(leaves: list[Any], api: str) -> None:
    """Refuse a function that returns nothing, or anything but tensors. Raises RuntimeError in PyTorch's words."""
    if not leaves or (len(leaves) == 1 and leaves[0] is None):
        raise RuntimeError(f"{api}: Expected f to be a function that has non-empty output (got output = {leaves})")
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{api}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}")


def check_real(api: str, values: Any, what: str) -> None:
    """Refuse complex tensors. Raises RuntimeError."""
    for i, value in enumerate(tree_leaves(values)):
        if isinstance(value, Tensor) and value.is_complex():
            raise RuntimeError(f"{api}: Expected all {what} to be real but received complex tensor at flattened input "
                               f"idx: {i}")
