"""``vmap``: a function of one element as a function of a batch.

The functions with PyTorch's private names are those of ``torch._functorch.vmap``; tensordict replaces three of them.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._backends.random import get_rng_state, set_rng_state
from .._methods.api import FUNCTIONS
from .._tensor import Tensor
from .arguments import called, name_of as _get_name
from .batching import Frame, batched, filled, frame_at, is_batched, moved
from .pytree import broadcast_to as _broadcast_to_and_flatten, tree_flatten, tree_leaves, tree_unflatten


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
         chunk_size: int | None = None) -> Callable[..., Any]:
    """Return a function that applies ``func`` to every element of a batch at once (``torch.vmap``).

    ``in_dims`` and ``out_dims`` say along which dimension of each argument and result the elements lie, None for one
    that all share; each is an int for all, or nested as the arguments are. ``randomness`` is what random numbers are in
    ``func``: an 'error', 'different' for each element, or the 'same' for all. ``chunk_size`` elements are computed at a
    time. Raises ValueError when called, for arguments or results that ``in_dims`` or ``out_dims`` do not fit; for a
    ``chunk_size`` of no element, and RuntimeError for another ``randomness``.
    """
    check_randomness(randomness)
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        for dim in tree_leaves(out_dims):
            if not isinstance(dim, int) and dim is not None:
                raise ValueError(f"vmap({_get_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None "
                                 "or a python collection of ints representing where in the outputs the vmapped "
                                 "dimension should appear.")
        size, dims, values, spec = _process_batched_inputs(in_dims, args, func)
        if chunk_size is None or chunk_size >= size:
            return _mapped(func, Frame(size, randomness), dims, values, spec, kwargs, out_dims)
        state, parts, out_spec = get_rng_state(), [], None
        for start in range(0, size, chunk_size):
            count = min(chunk_size, size - start)
            if randomness == "same":
                set_rng_state(state)
            chunk = [v if d is None else v.narrow(d, start, count) for v, d in zip(values, dims, strict=True)]
            found = _mapped(func, Frame(count, randomness), dims, chunk, spec, kwargs, out_dims)
            leaves, out_spec = tree_flatten(found)
            parts.append(leaves)
        assert out_spec is not None
        where = _broadcast_to_and_flatten(out_dims, out_spec) or []
        return tree_unflatten([FUNCTIONS["cat"](list(column), d) for column, d in
                               zip(zip(*parts, strict=True), where, strict=True)], out_spec)

    return wrapper


def chunk_vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error",
               chunks: int = 2) -> Callable[..., Any]:
    """Return ``vmap`` of ``func`` that computes a batch in so many chunks (``functorch.experimental.chunk_vmap``)."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        size = _process_batched_inputs(in_dims, args, func)[0]
        return vmap(func, in_dims, out_dims, randomness, chunk_size=max(-(-size // chunks), 1))(*args, **kwargs)

    return wrapper


def check_randomness(randomness: str) -> None:
    if randomness not in ("error", "different", "same"):
        raise RuntimeError("Only allowed values for randomness are 'error', 'different', or 'same'. Got "
                           f"{randomness}")


def over_tangents(func: Callable[..., Any], tangents: Any, randomness: str) -> Any:
    """Run a forward-mode derivative along all tangents of a batch at once."""
    check_randomness(randomness)
    size, dims, values, spec = _process_batched_inputs(0, (tangents,), func)
    return _mapped(func, Frame(size, randomness, tangents_only=True), dims, values, spec, {}, 0)


def _process_batched_inputs(in_dims: Any, args: tuple[Any, ...],
                            func: Callable[..., Any]) -> tuple[int, list[Any], list[Any], Any]:
    """Return the number of elements, the dimension of each leaf of the arguments, these leaves, and their spec."""
    where = f"vmap({_get_name(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(f"{where}expected `in_dims` to be int or a (potentially nested) tuple matching the structure "
                         f"of inputs, got: {type(in_dims)}.")
    if not args:
        raise ValueError(f"vmap({_get_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you "
                         "are trying to vmap over a function with no inputs. The latter is unsupported.")
    values, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(in_dims, spec)
    if dims is None:
        raise ValueError(f"{where}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                         f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}.")
    for i, (value, dim) in enumerate(zip(values, dims, strict=True)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(f"{where}Got in_dim={dim} for an input but in_dim must be either an integer dimension or "
                             "None.")
        if not isinstance(value, Tensor):
            raise ValueError(f"{where}Got in_dim={dim} for an input but the input is of type {type(value)}. We cannot "
                             "vmap over non-Tensor arguments, please use None as the respective in_dim")
        if not -value.ndim <= dim < value.ndim:
            raise ValueError(f"{where}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality "
                             f"{value.ndim} so expected in_dim to satisfy -{value.ndim} <= in_dim < {value.ndim}.")
        dims[i] = dim % value.ndim
    sizes = [value.shape[dim] for value, dim in zip(values, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError("vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                         f"{sizes} for the mapped dimension")
    return sizes[0], dims, values, spec


def _mapped(func: Callable[..., Any], frame: Frame, dims: list[Any], values: list[Any], spec: Any,
            kwargs: dict[str, Any], out_dims: Any) -> Any:
    """Run ``func`` once over the elements of these arguments."""
    with frame.entered():
        inputs = _create_batched_inputs(dims, values, frame.level, spec)
        return _unwrap_batched(called("vmap", func, inputs, kwargs), out_dims, frame.level, frame.size, func)


def _create_batched_inputs(dims: list[Any], values: list[Any], level: int, spec: Any) -> Any:
    """Return the arguments, with an element of each that has a dimension of the batch in its place."""
    return tree_unflatten([v if d is None else _add_batch_dim(v, d, level)
                           for v, d in zip(values, dims, strict=True)], spec)


def _unwrap_batched(raw: Any, out_dims: Any, level: int, size: int, func: Callable[..., Any]) -> Any:
    """Return the results for all elements, which lie along ``out_dims``."""
    outputs, spec = tree_flatten(raw)
    single = isinstance(raw, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1
    where = list(out_dims) if single else _broadcast_to_and_flatten(out_dims, spec)
    if where is None:
        raise ValueError(f"vmap({_get_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible "
                         f"with the structure of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but "
                         f"outputs has structure {spec}.")
    return tree_unflatten([_maybe_remove_batch_dim(_get_name(func), output, level, size, dim)
                           for output, dim in zip(outputs, where, strict=True)], spec)


def _maybe_remove_batch_dim(name: str, output: Any, level: int, size: int, dim: int | None) -> Any:
    """Return a result for all elements, which lie along ``dim``."""
    if dim is None:
        if isinstance(output, Tensor) and is_batched(output, frame_at(level)):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return output
    if not isinstance(output, Tensor):
        raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(output)}. Did you mean "
                         "to set out_dims= to None for output?")
    return _remove_batch_dim(output, level, size, dim)


def _add_batch_dim(tensor: Tensor, dim: int, level: int) -> Tensor:
    """Return one element of ``tensor``, which has those of the ``vmap`` at this level along ``dim``."""
    return batched(tensor, dim % tensor.ndim, frame_at(level))


def _remove_batch_dim(tensor: Tensor, level: int, size: int, dim: int) -> Tensor:
    """Return all ``size`` elements of the ``vmap`` at this level, along ``dim``."""
    whole = filled(tensor, frame_at(level))
    if not -whole.ndim <= dim < whole.ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-whole.ndim}, {whole.ndim - 1}], but "
                         f"got {dim})")
    return moved(whole, 0, dim % whole.ndim)
