"""Derivatives of functions in forward mode: ``jvp``, ``linearize``."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._autograd.engine import grad as gradients_of
from .._autograd.forward import Level, check_tangent, set_tangent, tangent_of
from .._autograd.grad_mode import enable_grad
from .._creation import zeros_like
from .._dispatch.keys import AUTOGRAD
from .._dispatch.local import local
from .._tensor import Tensor
from .arguments import (
    Argnums, called, check_tensor_output, differentiating, only_tensors, replaced, selected, without_aux,
)
from .batching import lowered_all, opened, placed, raised_all
from .pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from .reverse import recorded_vjp

API = "jvp(f, primals, tangents)"


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """Return ``func(*primals)``, and the product of its Jacobian with ``tangents`` (``torch.func.jvp``).

    ``primals`` is a tuple, and ``tangents`` has its structure and shapes; both results have those of the output. An
    output that does not depend on the primals has a derivative of zeros; with ``strict`` it is an error. With
    ``has_aux``, ``func`` returns a pair, whose second item is returned unchanged as a third result. Raises RuntimeError
    if primals and tangents do not fit, or are not tensors; for outputs that are not tensors; in strict mode, and
    NotImplementedError for an operator without a derivative.
    """
    return jvp_with_argnums(func, primals, tangents, None, strict, has_aux)


def jvp_with_argnums(func: Callable[..., Any], primals: Any, tangents: Any, argnums: Argnums | None,
                     strict: bool = False, has_aux: bool = False) -> Any:
    """Compute ``jvp`` with respect to the arguments at ``argnums`` only."""
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{API}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    values, spec = tree_flatten(selected(primals, argnums))
    directions, directions_spec = tree_flatten(tangents)
    if spec != directions_spec:
        raise RuntimeError(f"{API}: Expected primals and tangents to have the same python structure. For example, if "
                           "primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
                           f"{spec} and tangents with structure {directions_spec}")
    for name, given in (("primals", values), ("tangents", directions)):
        if not given:
            raise RuntimeError(f"{API}: Expected {name} to contain at least one Tensor.")
        for value in given:
            if not isinstance(value, Tensor):
                raise RuntimeError(f"{API}: Expected {name} to only contain Tensors, got {type(value)}")
    level, frames = Level(), local.frames
    try:
        duals = []
        for value, direction in zip(values, directions, strict=True):
            check_tangent(value, direction)
            whole, places = opened(value, frames)
            dual = whole.view_as(whole)
            set_tangent(dual, level, placed(direction, frames, places))
            duals.append(raised_all(dual, frames, places))
        with differentiating():
            raw = called(API, func, replaced(primals, tree_unflatten(duals, spec), argnums), {})
        raw, aux = without_aux(raw, has_aux, API)
        outputs, outputs_spec = tree_flatten(raw)
        check_tensor_output(outputs, API)
        found = [tangent_of(lowered_all(output, frames), level) for output in outputs]
    finally:
        level.end()
    if strict and any(tangent is None for tangent in found):
        raise RuntimeError("jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This "
                           "is not allowed with strict=True.")
    derivative = tree_unflatten([zeros_like(output) if tangent is None else raised_all(tangent, frames)
                                 for output, tangent in zip(outputs, found, strict=True)], outputs_spec)
    return (raw, derivative, tree_map(only_tensors, aux)) if has_aux else (raw, derivative)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return ``func(*primals)``, and a function that multiplies the Jacobian there with tangents, any number of times
    (``torch.func.linearize``).

    The function is recorded once; a product is the derivative of the recorded vector-Jacobian product in its vector.

    Raises:
        RuntimeError: as ``vjp`` does, and for tangents that do not fit.
    """
    recording = recorded_vjp(func, primals, None, False)
    with enable_grad():
        starts = [zeros_like(output).detach().requires_grad_() for output in recording.outputs]
        rows = tree_leaves(recording.gradients(starts, retain_graph=True))
        for start in starts:  # from now on: the rows must keep their graph
            recording.own_leaf(start)
        recording.end()
    values = [(x.shape, x.device, x.dtype) for x in recording.inputs]

    def jvp_fn(*tangents: Any) -> Any:
        directions, spec = tree_flatten(tangents)
        if spec != recording.inputs_spec:
            raise RuntimeError(f"Expected the tangents {spec} to have the same argspec as the primals "
                               f"{recording.inputs_spec}")
        for i, (given, wanted) in enumerate(zip(directions, values, strict=True)):
            for name, have, want in zip(("shape", "device", "dtype"), (given.shape, given.device, given.dtype), wanted,
                                        strict=True):
                if have != want:
                    raise RuntimeError(f"tangent:{i} with {name} {have} in flattened pytree doesn't match the {name} "
                                       f"{want} of the corresponding primal.")
        pairs = [(row, t) for row, t in zip(rows, directions, strict=True) if row._keys & AUTOGRAD]
        found: Any = [None] * len(starts)
        if pairs:
            found = gradients_of([row for row, _ in pairs], starts, [t for _, t in pairs], retain_graph=True,
                                 create_graph=local.grad_enabled, allow_unused=True)
        return tree_unflatten([recording.left(zeros_like(y) if d is None else d)
                               for y, d in zip(recording.outputs, found, strict=True)], recording.outputs_spec)

    return tree_unflatten(map(recording.left, recording.results), recording.outputs_spec), jvp_fn
