"""Jacobians and Hessians of functions: products with the rows or columns of an identity matrix, in one batch."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._methods.api import FUNCTIONS
from .arguments import Argnums, check_real, selected
from .batch import over_tangents, vmap
from .forward import jvp_with_argnums
from .pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from .reverse import apply_vjp, recorded_vjp


def basis_of(tensors: list[Any], start: int = 0, count: int | None = None) -> list[Any]:
    """Return rows of the identity matrix over all elements of these tensors, in each tensor's shape."""
    sizes = [tensor.numel() for tensor in tensors]
    count = sum(sizes) - start if count is None else count
    parts, before = [], 0
    for tensor, size in zip(tensors, sizes, strict=True):
        rows = tensor.detach().new_zeros((count, size))
        rows.diagonal(start - before).fill_(1)
        parts.append(rows.view(count, *tensor.shape))
        before += size
    return parts


def jacrev(func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None,
           _preallocate_and_copy: bool = False) -> Callable[..., Any]:
    """Return a function that returns the Jacobian of ``func`` with respect to the arguments at ``argnums``, in reverse
    mode (``torch.func.jacrev``).

    For an output of shape (*o) and an input of shape (*i), it has shape (*o, *i), nested as the outputs are, and in
    these as the inputs. ``chunk_size`` rows are computed at a time. With ``has_aux``, ``func`` returns a pair, and the
    function that of the Jacobian and the second item. Raises ValueError for a ``chunk_size`` of no row, and
    RuntimeError when called, for complex tensors, and as ``vjp`` does.
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        check_real("jacrev", args, "inputs")
        recording = recorded_vjp(func, args, argnums, has_aux)
        outputs, spec = recording.results, recording.outputs_spec
        check_real("jacrev", outputs, "outputs")
        total = sum(output.numel() for output in outputs)
        inputs, inputs_spec = tree_flatten(selected(args, argnums))
        step = total if chunk_size is None else chunk_size
        parts = []
        for start in range(0, max(total, 1), max(step, 1)):
            basis = basis_of(outputs, start, min(step, total - start))
            if step == 1:
                found = apply_vjp(recording, tree_unflatten([rows.squeeze(0) for rows in basis], spec))
                found = tree_map(lambda t: t.unsqueeze(0), found)
            else:
                found = vmap(functools.partial(apply_vjp, recording))(tree_unflatten(basis, spec))
            parts.append(tree_leaves(found))
        rows = [FUNCTIONS["cat"](list(column), 0) if len(column) > 1 else column[0]
                for column in zip(*parts, strict=True)]
        split = [row.split([output.numel() for output in outputs], 0) for row in rows]
        result = tree_unflatten([tree_unflatten([pieces[o].reshape(output.shape + x.shape)
                                                 for pieces, x in zip(split, inputs, strict=True)], inputs_spec)
                                 for o, output in enumerate(outputs)], spec)
        return (result, recording.aux()) if has_aux else result

    return wrapper


def jacfwd(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *,
           randomness: str = "error") -> Callable[..., Any]:
    """Return a function that returns the Jacobian of ``func`` with respect to the arguments at ``argnums``, in forward
    mode (``torch.func.jacfwd``).

    Shapes and ``has_aux`` are as for ``jacrev``; ``randomness`` is ``vmap``'s. Raises RuntimeError when called, for
    complex tensors, and as ``jvp`` does.
    """

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        check_real("jacfwd", args, "inputs")
        inputs, inputs_spec = tree_flatten(selected(args, argnums))
        sizes = [x.numel() for x in inputs]
        count = sum(sizes)
        basis = basis_of(inputs, count=max(count, 1))  # of a batch of no directions no value could be read

        def along(tangents: Any) -> Any:
            found = jvp_with_argnums(func, args, tangents, argnums, has_aux=has_aux)
            check_real("jacfwd", found[0], "outputs")
            return found[1:] if has_aux else found[1]

        found = over_tangents(along, tree_unflatten(basis, inputs_spec), randomness)
        columns, spec = tree_flatten(found[0] if has_aux else found)
        result = tree_unflatten([tree_unflatten(
            [piece.reshape(piece.shape[:-1] + x.shape)
             for piece, x in zip(column[:count].movedim(0, -1).split(sizes, -1), inputs, strict=True)], inputs_spec)
            for column in columns], spec)
        return (result, tree_map(lambda t: t[0], found[1])) if has_aux else result

    return wrapper


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that returns the Hessian of ``func``: ``jacfwd`` of ``jacrev`` (``torch.func.hessian``)."""
    return jacfwd(jacrev(func, argnums), argnums)
