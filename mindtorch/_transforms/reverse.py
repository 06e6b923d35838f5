"""Derivatives of functions in reverse mode: ``grad``, ``grad_and_value``, ``vjp``.

A transform records the function in the ordinary graph, below copies of its arguments that are leaves of its own, or
identities of tensors that are part of a graph already; so nested transforms are graphs of graphs, and levels cannot be
confused, since gradients are asked for by node. What leaves a transform is cut off from its graph unless the graph
leads on to a leaf outside of it.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._autograd.accumulate import AccumulateGrad, grad_accumulator
from .._autograd.engine import AS_OUTPUT, grad as gradients_of
from .._autograd.grad_mode import enable_grad
from .._autograd.saved import disable_saved_tensors_hooks
from .._creation import zeros_like
from .._dispatch.aten import ones_like
from .._dispatch.keys import AUTOGRAD
from .._dispatch.local import local
from .._dtype import FLOATING
from .._tensor import Tensor
from .arguments import (
    Argnums, called, check_tensor_output, differentiating, only_tensors, replaced, selected, without_aux,
)
from .batching import batched, lowered_all, opened, raised_all
from .pytree import tree_flatten, tree_map, tree_unflatten

HOOKS = ("torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your "
         "use case.")


class Recording:
    """A recorded call of a function: its arguments, made leaves, and its results."""

    def __init__(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
                 argnums: Argnums | None, has_aux: bool, api: str):
        self._leaves: list[AccumulateGrad] = []
        self._frames = local.frames
        self._places: list[list[int]] = []  # along which dimensions of the inputs the elements of the frames lie
        self._is_recorded = local.grad_enabled  # by enclosing transforms and the program
        with disable_saved_tensors_hooks(HOOKS), enable_grad(), differentiating():
            chosen = tree_map(self._enter, selected(args, argnums))
            self.inputs, self.inputs_spec = tree_flatten(chosen)
            chosen = tree_unflatten(map(self._raised, self.inputs, self._places), self.inputs_spec)
            self.raw, self._aux = without_aux(called(api, func, replaced(args, chosen, argnums), kwargs), has_aux, api)
            self.results, self.outputs_spec = tree_flatten(self.raw)
            self.outputs = [lowered_all(output, self._frames) if isinstance(output, Tensor) else output
                            for output in self.results]

    def _enter(self, value: Any) -> Any:
        """Return a tensor to differentiate by, with the tangents of the one given."""
        if not isinstance(value, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
        if value._dtype.category < FLOATING:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        value, places = opened(value, self._frames)
        self._places.append(places)
        if value._keys & AUTOGRAD:
            return value.view_as(value)
        return self.own_leaf(_cut(value))

    def _raised(self, value: Any, places: list[int]) -> Any:
        """Return one element of an input, or of its gradient."""
        return raised_all(value, self._frames, places)

    def own_leaf(self, tensor: Any) -> Any:
        """Return a tensor made a leaf of this transform."""
        tensor._keys |= AUTOGRAD
        self._leaves.append(grad_accumulator(tensor))
        return tensor

    def end(self) -> None:
        """Mark this transform's leaves as private, so that other transforms ignore them."""
        for leaf in self._leaves:
            leaf.is_private = True

    def gradients(self, vectors: list[Any] | None, retain_graph: bool, create_graph: bool = True) -> Any:
        """Return the gradients of the outputs, weighted by ``vectors``; zeros where independent."""
        given = ([ones_like(y, *AS_OUTPUT) for y in self.outputs] if vectors is None else
                 [lowered_all(v, self._frames) for v in vectors])
        pairs = [(y, v) for y, v in zip(self.outputs, given, strict=True) if y._keys & AUTOGRAD]
        follows = create_graph and (any(_innermost(v)._keys & AUTOGRAD for v in given)
                                    or any(self._reaches_outside(y) for y, _ in pairs))
        found: Any = [None] * len(self.inputs)
        if pairs:
            found = gradients_of([y for y, _ in pairs], self.inputs, [v for _, v in pairs],
                                 retain_graph=retain_graph or follows, create_graph=follows, allow_unused=True)
        return tree_unflatten([self._raised(self.linked(zeros_like(x) if g is None else g), places) for x, g, places
                               in zip(self.inputs, found, self._places, strict=True)], self.inputs_spec)

    def left(self, value: Any) -> Any:
        """Return an output as the transform hands it out: outside of the graph if it was called under ``no_grad``."""
        return self.linked(value, self._is_recorded)

    def linked(self, value: Any, is_recorded: bool = True) -> Any:
        """Return a tensor, cut off from the graph unless that leads outside of the transform and is recorded there."""
        if only_tensors(value)._batched is not None:
            whole, dim, frame = value._batched
            return batched(self.linked(whole, is_recorded), dim, frame)
        return _cut(value) if value._keys & AUTOGRAD and not (is_recorded and self._reaches_outside(value)) else value

    def aux(self) -> Any:
        """Return the function's auxiliary output."""
        return tree_map(self.left, self._aux)

    def _reaches_outside(self, tensor: Any) -> bool:
        """Return True if a tensor's graph leads to a leaf of an enclosing transform or of the program."""
        edge = tensor._grad_edge()
        nodes = [] if edge is None else [edge[0]]
        seen = set(nodes)
        own = set(self._leaves)
        while nodes:
            node = nodes.pop()
            if node.__class__ is AccumulateGrad and node not in own and not node.is_private:
                return True
            for _, target, _ in node._links:
                if target not in seen:
                    seen.add(target)
                    nodes.append(target)
        return False


def _innermost(tensor: Any) -> Any:
    """Return the tensor below all frames."""
    while tensor._batched is not None:
        tensor = tensor._batched[0]
    return tensor


def _cut(tensor: Any) -> Any:
    """Return a tensor outside the graph, with its tangents."""
    out = tensor._shallow_copy_and_detach()
    if tensor._tangents is not None:
        for level, tangent in tensor._tangents.items():
            level.attach(out, tangent)
    return out


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return ``func(*primals)``, and a function that multiplies a vector with its Jacobian (``torch.func.vjp``).

    ``func`` returns tensors, possibly nested in tuples, lists and dicts. The function takes cotangents in the same
    structure and returns a tuple of tensors in the shapes of ``primals``. With ``has_aux``, ``func`` returns a pair,
    whose second item is returned unchanged as a third result. Raises ValueError for primals that are not tensors, and
    RuntimeError for integers, and outputs that are not floating-point or complex tensors, and TypeError for cotangents
    that are not tensors.
    """
    recording = recorded_vjp(func, primals, None, has_aux)
    results = tree_unflatten(map(recording.left, recording.results), recording.outputs_spec)

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        return apply_vjp(recording, cotangents, retain_graph, create_graph)

    return (results, vjp_fn, recording.aux()) if has_aux else (results, vjp_fn)


def recorded_vjp(func: Callable[..., Any], args: tuple[Any, ...], argnums: Argnums | None, has_aux: bool) -> Recording:
    """Return a function, recorded to be differentiated, and its output checked."""
    api = "vjp(f, *primals)"
    recording = Recording(func, args, {}, argnums, has_aux, api)
    check_tensor_output(recording.outputs, api)
    for output in recording.outputs:
        if output._dtype.category < FLOATING:
            raise RuntimeError("vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor "
                               f"with dtype {output.dtype}")
    recording.end()
    return recording


def apply_vjp(recording: Recording, cotangents: Any, retain_graph: bool = True,
              create_graph: bool | None = None) -> Any:
    """Return the product of cotangents and the Jacobian of a recorded function."""
    vectors, spec = tree_flatten(cotangents)
    if spec != recording.outputs_spec:
        raise RuntimeError("Expected pytree structure of cotangents to be the same as pytree structure of outputs to "
                           f"the function. cotangents: {spec}, primal output: {recording.outputs_spec}")
    for vector in vectors:
        if not isinstance(vector, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(vector).__name__}")
    return recording.gradients(vectors, retain_graph, local.grad_enabled if create_graph is None else create_graph)


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that returns the gradient of ``func``, whose output is a scalar, and that output
    (``torch.func.grad_and_value``).

    The gradient is with respect to the arguments at ``argnums``, in their structure. With ``has_aux``, ``func`` returns
    a pair of output and anything, and in place of the output is that pair. Raises RuntimeError when it is called, if
    ``func`` does not return a scalar tensor, and ValueError if an argument to differentiate by is not a tensor.
    """
    api = "grad_and_value(f)(*args)"

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        is_recorded = local.grad_enabled
        recording = Recording(func, args, kwargs, argnums, has_aux, api)
        output = recording.raw
        if not isinstance(output, Tensor):
            raise RuntimeError(f"{api}: Expected f(*args) to return a Tensor, got {type(output)}")
        if output.ndim:
            raise RuntimeError(f"{api}: Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} "
                               "dims. Maybe you wanted to use the vjp or jacrev APIs instead?")
        with enable_grad(), differentiating():
            gradient = recording.gradients(None, retain_graph=False, create_graph=is_recorded)
        value = recording.left(output)
        result = (value, recording.aux()) if has_aux else value
        recording.end()
        return gradient, result

    return wrapper


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that returns the gradient of ``func``, whose output is a scalar (``torch.func.grad``).

    The gradient is with respect to the arguments at ``argnums``, in their structure. With ``has_aux``, ``func`` returns
    a pair, and the function that of the gradient and the second item. Raises RuntimeError when it is called, if
    ``func`` does not return a scalar tensor, and ValueError if an argument to differentiate by is not a tensor.
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper
