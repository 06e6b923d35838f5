"""Views and in-place writes in the graph: who is whose base, and how history is rewritten.

An in-place write to a view becomes a ``CopySlices`` node of the base; the views' own nodes are made anew, from the
base's, when somebody asks for them.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .._dispatch.keys import AUTOGRAD
from .._dispatch.local import local
from .._dispatch.schemas import registry
from .._dtype import FLOATING
from .node import Node, next_sequence_nr
from .saved import FREED

#: Makes the node of an operator's call; ``derivative``, which builds on this module, puts it here.
start_node: Callable[[str, tuple[Any, ...]], Node]
MULTIPLE, NO_GRAD, IN_FUNCTION = "multiple", "no_grad", "function"


def mark_view(out: Any, source: Any) -> None:
    """Say that ``out`` is a view of ``source``, or of what that is a view of."""
    base = source._base
    out._base = source if base is None else base
    out._attr_version = out._cell[0]
    if not local.grad_enabled:
        out._creation = NO_GRAD
    elif source._creation is not None:
        out._creation = source._creation


def refresh(view: Any) -> None:
    """Bring a view's node up to date after its memory was written in place through another tensor."""
    base = view._base
    version = view._cell[0]
    if view._attr_version == version or not base._keys & AUTOGRAD or view._dtype.category < FLOATING:
        return
    node = start_node("as_strided", (base, view.shape, view._strides(), view._offset))
    describe(node, view)
    view._grad_fn, view._output_nr, view._attr_version = node, 0, version


def describe(node: Node, tensor: Any) -> None:
    """Note in a node what its output is like."""
    node._outputs = ((tuple(tensor.shape), tensor._dtype, tensor._device),)


def check_inplace(tensor: Any) -> None:
    """Refuse a write in place that autograd could not follow.

    Raises:
        RuntimeError: PyTorch's, for a leaf that requires grad, a view of one, and views that must not be written.
    """
    if not local.grad_enabled or not tensor._keys & AUTOGRAD and tensor._base is None:
        return
    base = tensor._base
    if base is not None:
        _check_view(tensor, base)
    if tensor._keys & AUTOGRAD and tensor.grad_fn is None:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if base is not None and base._keys & AUTOGRAD and base._grad_fn is None:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")


def _check_view(tensor: Any, base: Any) -> None:
    reason = tensor._creation
    if reason is None or not (tensor._keys | base._keys) & AUTOGRAD and reason != IN_FUNCTION:
        return
    name = tensor._grad_fn.forward_name() if tensor._grad_fn is not None else "a view operation"
    if reason == MULTIPLE:
        raise RuntimeError(
            f"Output {tensor._output_nr} of {name} is a view and is being modified inplace. This view is the output of a "
            "function that returns multiple views. Such functions do not allow the output views to be modified inplace. "
            "You should replace the inplace operation by an out-of-place one."
        )
    if reason == NO_GRAD:
        raise RuntimeError(
            "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this use "
            "case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the "
            "inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside "
            "(if you want the inplace to be tracked)."
        )
    raise RuntimeError(
        f"Output {tensor._output_nr} of {name} is a view and is being modified inplace. This view was created inside a "
        "custom Function (or because an input was returned as-is) and the autograd logic to handle view+inplace would "
        "override the custom backward associated with the custom Function, leading to incorrect gradients. This behavior "
        "is forbidden. You can fix this by cloning the output of the custom Function."
    )


class CopySlices(Node):
    """The node of a base of which a view was written in place: the gradient of the slice goes through the write."""

    def __init__(self, base: Any, view: Any, inner: Node):
        self._order = next_sequence_nr()
        self.inner: Node | None = inner
        self.layout = (view.shape, view._strides(), view._offset - base._offset)
        self.base_layout = (base.shape, base._strides())
        base_edge = base._grad_edge() if base._keys & AUTOGRAD else None
        self._edges = (base_edge, *inner._edges[1:])
        describe(self, base)

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def apply(self, grads: list[Any]) -> list[Any]:
        gradient, inner = grads[0], self.inner
        if inner is None:
            raise RuntimeError(FREED)
        if gradient is None:
            return [None] * len(self._edges)
        shape, strides = self.base_layout
        whole = registry["new_empty_strided"].call(gradient, shape, strides)
        whole = registry["copy_"].call(whole, gradient)
        piece = registry["as_strided"].call(whole, *self.layout)
        results = inner.apply([registry["clone"].call(piece)])
        if self._edges[0] is not None:
            if results[0] is not None:
                piece_grad = results[0]
                if piece_grad.shape != piece.shape:
                    piece_grad = registry["expand"].call(piece_grad, piece.shape)
                registry["copy_"].call(piece, piece_grad)
            else:
                registry["zero_"].call(piece)
        return [whole if self._edges[0] is not None else None, *results[1:]]

    def release_variables(self) -> None:
        if self.inner is not None:
            self.inner.release_variables()
            if getattr(self.inner, "saved", ()) is None:
                self.inner = None


def rebase(tensor: Any, node: Node) -> None:
    """Make ``node`` the history of a tensor that was just written in place, and of all that see its memory."""
    base = tensor._base
    if base is None:
        tensor._grad_fn, tensor._output_nr = node, 0
        tensor._keys |= AUTOGRAD
        spread(tensor)
        return
    copy = CopySlices(base, tensor, node)
    base._grad_fn, base._output_nr = copy, 0
    base._keys |= AUTOGRAD
    spread(base)


def spread(base: Any) -> None:
    """Let the views of a base require grad, since it does now; their nodes are made when asked for."""
    if base._storage is not None:
        for other in base._storage.aliases():
            if other._base is base and other._dtype.category >= FLOATING:
                other._keys |= AUTOGRAD


def mark_multiple(outputs: Any) -> Any:
    """Say of the views that one call returned that they must not be written in place."""
    for output in outputs:
        if output._creation is None:
            output._creation = MULTIPLE
    return outputs


def warn_grad_of_non_leaf() -> None:
    """PyTorch's warning about ``.grad`` of a tensor that is not a leaf."""
    warnings.warn(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated "
        "during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use "
        ".retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf "
        "Tensor instead.", stacklevel=3,
    )  # fmt: skip

