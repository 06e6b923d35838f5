"""Views and in-place writes in the graph: views' bases, and how history is rewritten.

An in-place write to a view becomes a ``CopySlices`` node of the base. The views' own nodes are rebuilt from the base's
when they are read.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .._base.about import about
from .._dispatch.aten import as_strided, clone, copy_, new_empty_strided, view_as_complex, view_as_real, zero_
from .._dispatch.keys import AUTOGRAD, BATCHED, CONJUGATE, MATH_BITS
from .._dispatch.local import local
from .._dispatch.schemas import registry
from .grad_mode import enable_grad
from .node import Node, described, next_sequence_nr
from .saved import attached, freed

#: Makes the node of an operator's call; set by ``_wiring``.
start_node: Callable[[str, tuple[Any, ...]], Node]
MULTIPLE, NO_GRAD, INFERENCE_MODE, IN_FUNCTION = "multiple", "no_grad", "inference", "function"


def mark_view(out: Any, source: Any) -> None:
    """Mark ``out`` as a view of ``source``, or of its base."""
    base = source._base
    if base is None:
        base = source
    out._base = base
    out._attr_version = out._version_counter[0]
    if base._keys & AUTOGRAD:
        out._keys |= AUTOGRAD
    if not local.grad_enabled:
        out._creation_meta = INFERENCE_MODE if local.inference else NO_GRAD
    elif source._creation_meta is not None:
        out._creation_meta = source._creation_meta
    if out._dtype is not base._dtype or (out._keys ^ base._keys) & MATH_BITS:
        out._view_func = replay(out, source)


def replay(out: Any, source: Any) -> Callable[[Any], Any]:
    """Return a function that rebuilds from its base a view that changes the dtype or conjugates."""
    flipped, again = (out._keys ^ source._keys) & MATH_BITS, None
    before = replayed(source)
    if flipped:
        again = registry["_conj" if flipped == CONJUGATE else "_neg_view"].call
    elif out._dtype is not source._dtype:
        again = view_as_real if source._dtype.is_complex else view_as_complex
    if again is not None and (flipped or out.ndim != source.ndim):  # else the real or the imaginary parts
        return again if source._base is None else lambda base: again(before(base))
    layout = (out.shape, out._strides(), out._offset)
    return lambda base: as_strided(before(base) if again is None else again(before(base)), *layout)


def replayed(view: Any) -> Callable[[Any], Any]:
    """Return a function that rebuilds a view from its base, or the identity for a tensor that is not a view."""
    if view._base is None:
        return lambda base: base
    replay: Callable[[Any], Any] | None = view._view_func
    if replay is not None:
        return replay
    layout = (view.shape, view._strides(), view._offset)
    return lambda base: as_strided(base, *layout)


def refresh(view: Any) -> None:
    """Rebuild a view's node if its memory was written since. Raises RuntimeError if such writes are not allowed."""
    base, version = view._base, view._version_counter[0]
    if view._attr_version == version or (view._grad_fn is None and not base._keys & AUTOGRAD):
        return
    if view._creation_meta is not None:
        raise refusal(view, "its base or another view of its base has been")
    if view._view_func is not None:
        with enable_grad():
            node = view._view_func(base)._grad_fn
        if node is None:
            view._grad_fn, view._attr_version = None, version
            if not view._own_grad:
                view._keys &= ~AUTOGRAD
            raise RuntimeError("the base of this view of real or imaginary parts has left the graph")
    else:
        layout = (view.shape, view._strides(), view._offset)
        node = start_node("as_strided", (base, *layout))  # noqa: F821 (put here later)
        describe(node, view)
    before, number = view._grad_fn, view._output_nr
    view._grad_fn, view._output_nr, view._attr_version = node, 0, version
    if view._retains_grad and before is not None and before.forget_retained(number):
        node.retain_grad_of(view)


def describe(node: Node, tensor: Any) -> None:
    """Record the metadata of a node's only output."""
    node._outputs = (described(tensor),)


def check_inplace(tensor: Any) -> None:
    """Check that autograd can follow an in-place write.

    Raises:
        RuntimeError: PyTorch's, for a leaf that requires grad, a view of a leaf, and views that must not be written.
    """
    if not local.grad_enabled:
        return
    base = tensor._base
    if base is not None:
        if tensor._creation_meta is not None:
            raise refusal(tensor, "is being")
        if tensor._keys & AUTOGRAD and base._grad_fn is None:
            raise about(RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place "
                                     "operation."), "leaf in place", tensor=tensor)
    if tensor._keys & AUTOGRAD and tensor._grad_fn is None:  # PyTorch does not refresh the view here
        raise about(RuntimeError("a leaf Variable that requires grad is being used in an in-place operation."),
                    "leaf in place", tensor=tensor)


#: Reasons why a view must not be written, by its origin.
REASONS = {
    MULTIPLE:
        "This view is the output of a function that returns multiple views. Such functions do not allow the output "
        "views to be modified inplace. You should replace the inplace operation by an out-of-place one.",
    **{mode: "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
             f"moving both the view and the inplace either both inside the {block} block (if you don't want the "
             "inplace to be tracked) or both outside (if you want the inplace to be tracked)."
       for mode, block in ((NO_GRAD, "no_grad"), (INFERENCE_MODE, "inference_mode"))},
    IN_FUNCTION:
        "This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
        "logic to handle view+inplace would override the custom backward associated with the custom Function, leading "
        "to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
        "Function.",
}


def refusal(view: Any, modified: str) -> RuntimeError:
    """Return PyTorch's error for a view that must not be written, although it, its base or another view was."""
    reason, node = REASONS[view._creation_meta], view._grad_fn
    if node is None or view._creation_meta in (NO_GRAD, INFERENCE_MODE):
        view_in = "A view was" if node is None else (f"Output {view._output_nr} of {node.forward_name()} is a view of "
                                                     "a view which was")
        modes = (("inference mode", "in normal mode") if view._creation_meta == INFERENCE_MODE else
                 ("no_grad mode", "with grad mode enabled"))
        return RuntimeError(f"{view_in} created in {modes[0]} and {modified} modified inplace {modes[1]}. {reason}")
    name = node.forward_name()
    return about(RuntimeError(f"Output {view._output_nr} of {name} is a view and {modified} modified inplace. "
                              f"{reason}"), "one of several views", number=view._output_nr, function=name)


class CopySlices(Node):
    """The node of a base whose view was written in place: the gradient of the slice passes through the write."""

    def __init__(self, base: Any, view: Any, inner: Node):
        self._order = next_sequence_nr()
        self.inner: Node | None = inner
        self.layout = (view.shape, view._strides(), view._offset - base._offset)
        self.base_layout = (base.shape, base._strides())
        self.replay = view._view_func
        self._edges = (base._grad_edge() if base._keys & AUTOGRAD else None, *inner._edges[1:])
        describe(self, base)

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def apply(self, grads: list[Any]) -> list[Any]:
        gradient, inner = grads[0], self.inner
        if inner is None:
            raise freed(self)
        if gradient is None:
            return [None] * len(self._edges)
        shape, strides = self.base_layout
        whole = new_empty_strided(gradient, shape, strides)
        whole = copy_(whole, gradient)
        piece = as_strided(whole, *self.layout) if self.replay is None else self.replay(whole)
        results = inner.apply([clone(piece, "contiguous_format")])
        if results[0] is not None and results[0]._keys & BATCHED:  # maybe in more frames than the gradient
            whole = copy_(new_empty_strided(results[0], shape, strides), whole)
            piece = as_strided(whole, *self.layout) if self.replay is None else self.replay(whole)
        if self._edges[0] is not None:
            if results[0] is not None:
                copy_(piece, results[0])
            else:
                zero_(piece)
        return [whole if self._edges[0] is not None else None, *results[1:]]

    def view_of(self, twin: Any) -> Any:
        """Return the view that was written, with its history, from a tensor on its memory."""
        shape, strides, offset = self.layout
        with enable_grad():
            base = attached(as_strided(twin, *self.base_layout, twin._offset - offset), self, 0)
            return as_strided(base, shape, strides, twin._offset)

    def release_variables(self) -> None:
        if self.inner is not None:
            self.inner.release_variables()
            self.inner = None  # even if it saved nothing: PyTorch refuses a second pass


def rebase(tensor: Any, node: Node) -> None:
    """Make ``node`` the history of a tensor that was just written in place, and of its base and views."""
    base = tensor._base
    if base is None:
        move_history(tensor, node)
    else:
        move_history(base, CopySlices(base, tensor, node))
        tensor._keys |= AUTOGRAD  # even if ``set_`` gave it memory in which its base does not find it
        tensor._attr_version = -1  # even if it was refreshed after the write
        refresh(tensor)


def move_history(tensor: Any, node: Node) -> None:
    """Make ``node`` the history of a tensor, and move its retained gradient there.

    Raises:
        RuntimeError: as PyTorch does, if the tensor's layout was changed after ``retain_grad()``.
    """
    before, number = tensor._grad_fn, tensor._output_nr
    set_history(tensor, node)
    if tensor._retains_grad and before is not None:
        if not before.forget_retained(number):
            raise RuntimeError("the tensor retains its gradient in another layout than it has now: retain_grad() was "
                               "called, then its layout was changed in place, and now it was written in place")
        node.retain_grad_of(tensor)


def set_history(tensor: Any, node: Node) -> None:
    """Make ``node`` the history of a tensor."""
    required = tensor._keys & AUTOGRAD
    tensor._grad_fn, tensor._output_nr = node, 0
    tensor._keys |= AUTOGRAD
    if tensor._base is None:
        if not required:  # else its views already require grad
            propagate_requires_grad(tensor)
    else:
        tensor._attr_version = tensor._version_counter[0]


def propagate_requires_grad(base: Any) -> None:
    """Update whether the views of a base require grad, after the base has changed. Their nodes are built on access. If
    the base no longer requires grad, leaf views stop, too, unless they require grad themselves.
    """
    if base._storage is None:
        return
    for view in base._storage.aliases():
        if view._base is base:
            if base._keys & AUTOGRAD:
                view._keys |= AUTOGRAD
            elif view._grad_fn is None and not view._own_grad:
                view._keys &= ~AUTOGRAD


def mark_multiple(outputs: Any) -> Any:
    """Mark the views that one call returned as not writable in place."""
    if local.grad_enabled:
        for output in outputs:
            output._creation_meta = MULTIPLE
    return outputs


def warn_grad_of_non_leaf() -> None:
    """Issue PyTorch's warning about ``.grad`` of a tensor that is not a leaf."""
    warnings.warn("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                  "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated "
                  "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor "
                  "by mistake, make sure you access the leaf Tensor instead.", stacklevel=3)
