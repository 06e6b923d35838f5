"""Functions that write, as functions that only compute: ``functionalize``."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._subclasses.functional_tensor import FunctionalTensor, FunctionalTensorMode
from .._tensor import Tensor
from .._transforms.pytree import tree_leaves, tree_map


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """Return a function with the results of ``func`` in which no operator writes in place
    (``torch.func.functionalize``).

    An operator that writes becomes one that returns a new value, and every view of the written memory is computed again
    from it. Arguments that ``func`` writes are written at the end, by one ``copy_`` each. With
    ``remove='mutations_and_views'`` no operator returns a view, either: each is replaced by its ``*_copy`` form.

    Raises:
        RuntimeError: for another ``remove``; when called, if ``func`` writes a tensor that is not an argument with a
            value made from arguments.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. "
                           "Valid options are:\n     remove='mutations': all inplace and out= operators will be "
                           "removed from the program, and replaced with their out-of-place equivalents.\n     "
                           "remove='mutations_and_views': In addition to the above, all aliasing operators {view} "
                           "will be replaced with their non-aliasing counterparts, {view}_copy.\n")

    return in_mode(func, lambda: FunctionalTensorMode(copies=remove == "mutations_and_views", recording=True))


def in_mode(func: Callable[..., Any], make: Callable[[], FunctionalTensorMode]) -> Callable[..., Any]:
    """Return ``func`` on functional tensors, in a mode that is made for each call."""

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        mode = make()
        inner = tree_map(lambda leaf: mode.wrap(leaf) if isinstance(leaf, Tensor) else leaf, (args, kwargs))
        with mode:
            outputs = func(*inner[0], **inner[1])
            results = tree_map(lambda leaf: leaf.value() if isinstance(leaf, FunctionalTensor) else leaf, outputs)
        for given, leaf in zip(tree_leaves((args, kwargs)), tree_leaves(inner), strict=True):
            if isinstance(leaf, FunctionalTensor) and (value := leaf.value()) is not given:
                given.copy_(value)
        return results

    return wrapped
