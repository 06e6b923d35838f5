"""Leaves: the nodes at the end of the graph, which add gradients to ``.grad``."""
from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from types import NoneType
from typing import Any

from .._base import forks
from .._base.about import about
from .._base.formats import contiguous_format
from .._device import CPU
from .._dispatch.aten import (
    _coalesced_, _nnz, add__Tensor as add_, add_Tensor as add, clone, copy_, detach, new_empty_strided,
)
from .._dispatch.dispatcher import TENSOR_TYPES, is_seen
from .._dispatch.keys import AUTOGRAD, BATCHED, CPU as HOST, NONCONTIGUOUS, SPARSE, SPARSES
from .._dispatch.local import local
from .._dtype import DType
from .hooks import checked, run_tensor_hooks
from .node import Node, new

#: Held while a gradient is added: two threads may reach one leaf. Reentrant, because a hook may start a backward pass.
_lock = forks.lock()


class AccumulateGrad(Node):
    """The node of a leaf: adds gradients to ``variable.grad``."""

    _order = 2**64 - 1  # PyTorch's: the node runs as soon as it is ready
    variable: Any
    is_private = False  #: whether the leaf belonged to a function transform that has ended
    own = False  #: whether only the engine refers to the gradient that arrives next

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def __lt__(self, other: Any) -> bool:
        return False  # leaves that are ready run in any order

    def apply(self, grads: list[Any]) -> list[Any]:
        own, self.own = self.own, False
        accumulate(self.variable, grads[0], own)
        return []

    def run_tensor_hooks(self, grads: list[Any]) -> None:
        """Run the hooks of the leaf on its gradient."""
        if self.variable._hooks:
            grads[0] = run_tensor_hooks(self.variable._hooks, grads[0])


LEAF = HOST | AUTOGRAD  #: the keys of a contiguous leaf on the CPU


def grad_accumulator(tensor: Any) -> AccumulateGrad:
    """Return the node that accumulates a leaf's gradient, always the same object while a graph refers to it."""
    node: AccumulateGrad | None
    if (kept := tensor._accumulator) is None or (node := kept()) is None:
        node = new(AccumulateGrad)
        node.variable, tensor._accumulator = tensor, weakref.ref(node)
        dtype = tensor._dtype if tensor._grad_dtype is ... else tensor._grad_dtype
        if (array := tensor._array) is None or tensor._device is not CPU:
            node._outputs = ((tuple(tensor.shape), dtype, tensor._device),)
        else:
            node._out_shape, node._out_dtype = array.shape, dtype
    return node


def grad_dtype(tensor: Any) -> Any:
    """Return the dtype of a leaf's gradients, to which the engine casts; None for any dtype."""
    (_, dtype, _), = grad_accumulator(tensor)._outputs  # type: ignore[misc]
    return dtype


def set_grad_dtype(tensor: Any, dtype: Any) -> None:
    """Have the engine convert a leaf's gradients to a dtype, or leave theirs for None.

    Raises:
        RuntimeError: if it is neither, or not the dtype of the gradient that the leaf has.
    """
    if not isinstance(dtype, (DType, NoneType)):
        raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(dtype).__name__}")
    if None is not dtype is not getattr(tensor._grad, "_dtype", dtype):
        raise RuntimeError(
            f"Cannot set grad_dtype to '{dtype}' because there is already a gradient with dtype '{tensor._grad.dtype}'."
            " Please clear the gradient (.grad = None) before changing grad_dtype, or ensure the new grad_dtype "
            "matches the existing gradient's dtype.")
    tensor._grad_dtype = dtype
    grad_accumulator(tensor)._outputs = ((tuple(tensor.shape), dtype, tensor._device),)


def links_of(inputs: Sequence[Any], wanted: Sequence[int]) -> tuple[list[tuple[int, Node, int]], bool]:
    """Return a node's links to the ``wanted`` ones of its inputs, and whether these are leaves alone."""
    links: list[tuple[int, Node, int]] = []
    ends = True
    for number in wanted:
        tensor = inputs[number]
        if tensor._base is None and tensor._grad_fn is None:
            links.append((number, grad_accumulator(tensor), 0))
        elif (edge := tensor._grad_edge()) is not None:
            ends = ends and edge[0].__class__ is AccumulateGrad
            links.append((number, edge[0], edge[1]))
    return links, ends


def accumulate(variable: Any, gradient: Any, own: bool, seen: bool = True) -> None:
    """Add a gradient to a leaf's ``.grad``, then run the leaf's post-accumulate hooks. If nothing else refers to the
    gradient's memory (``own``), it may become ``.grad`` without a copy. ``seen`` means that operators may be observed,
    so they must be called.
    """
    if variable._keys & AUTOGRAD and gradient is not None:
        with _lock:
            if (have := variable._grad) is None:
                taken = own and not seen and not local.grad_enabled and gradient._keys == HOST and (
                    variable._keys == LEAF and gradient._base is None)
                variable._grad = gradient if taken else first_grad(variable, gradient, own)
            elif local.grad_enabled or have._keys & SPARSES:
                dense_first = have._keys & SPARSES and not gradient._keys & SPARSES
                variable._grad = add(gradient, have) if dense_first else add(have, gradient)
            else:
                add_(have, gradient)
    if variable._post_accumulate_hooks and variable._keys & AUTOGRAD:
        for hook in list(variable._post_accumulate_hooks.values()):
            if (result := hook(variable)) is not None and checked(hook, result, variable) is not variable:
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def first_grad(variable: Any, gradient: Any, own: bool) -> Any:
    """Return the first ``.grad`` of a leaf: the gradient itself, if it is ``own`` and has the expected strides (the
    leaf's if the leaf is dense, contiguous otherwise), or else a copy.
    """
    if gradient._keys & SPARSES:
        if local.grad_enabled:
            return gradient
        if own and gradient._keys & SPARSE:
            return _coalesced_(detach(gradient), _nnz(gradient) < 2)  # for a kept one PyTorch forgets it
        return detach(gradient) if own else clone(gradient)
    if own and not local.grad_enabled and (
            not (gradient._keys | variable._keys) & NONCONTIGUOUS or _has_strides_for(gradient, variable)):
        if gradient._base is not None:
            gradient._base = gradient._creation_meta = None
        if gradient._keys & AUTOGRAD:
            gradient._keys &= ~AUTOGRAD
            gradient._grad_fn = None
        return detach(gradient) if is_seen(gradient) else gradient
    if not variable._is_dense() or not (local.grad_enabled or variable._keys & NONCONTIGUOUS or is_seen(gradient)):
        return clone(gradient, contiguous_format)
    return copy_(new_empty_strided(gradient, tuple(variable.shape), variable._strides()), gradient)


def _has_strides_for(gradient: Any, variable: Any) -> bool:
    """Return True if a gradient's strides are those of a dense leaf, or contiguous for any other leaf (ATen's
    ``obeys_layout_contract``). In dimensions of size 1, all strides but 0 are allowed.
    """
    if not variable._is_dense():
        return bool(gradient.is_contiguous())
    return all(step == wanted if size != 1 else step != 0 for size, step, wanted in
               zip(gradient.shape, gradient._strides(), variable._strides(), strict=True))


def check_assigned_grad(tensor: Any, value: Any) -> None:
    """Check a value assigned to ``.grad``.

    Raises:
        TypeError: if it is not a tensor.
        RuntimeError: if it is the tensor itself, or differs from the tensor in shape, dtype or device.
    """
    if value.__class__ not in TENSOR_TYPES:
        raise about(TypeError("assigned grad expected to be a Tensor or None but got grad of type "
                              f"{type(value).__name__}"), "assigned gradient", tensor=tensor, value=value)
    if value is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if None is not (dtype := grad_dtype(tensor)) is not value._dtype:
        raise about(RuntimeError(f"attempting to assign a gradient with dtype '{value.dtype}' to a tensor with "
                                 f"grad_dtype '{dtype}'. The gradient must match the tensor's grad_dtype (defaults to "
                                 "the tensor's dtype). You can set the tensor's grad_dtype attribute with a specific "
                                 "dtype, or None to allow any dtype."), "assigned gradient", tensor=tensor, value=value)
    if value._device != tensor._device:
        raise about(RuntimeError(f"attempting to assign a gradient with device type '{value.device.type}' to a tensor "
                                 f"with device type '{tensor.device.type}'. Please ensure that the gradient and the "
                                 "tensor are on the same device"), "assigned gradient", tensor=tensor, value=value)
    if value.shape != tensor.shape:
        raise about(RuntimeError(f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
                                 f"'{list(tensor.shape)}'. Please ensure that the gradient and the tensor are the same "
                                 "size"), "assigned gradient", tensor=tensor, value=value)


def forget_gradients(leaves: Iterable[Any], set_to_none: bool) -> None:
    """Drop the gradients of leaves, or detach them and set them to zero."""
    for leaf in leaves:
        gradient = leaf._grad
        if set_to_none:
            leaf._grad = None
        elif gradient is not None:
            if gradient.requires_grad:
                gradient.detach_()
            gradient.zero_()


def can_accumulate_inplace(gradient: Any, added: Any = None) -> bool:
    """Return True if a gradient that only the engine refers to may be added to in place: it is dense and not a view.
    Batched tensors are windows on others, of which this is not known, and do not fit into one that is not batched.
    """
    if added is not None and added._keys & BATCHED:
        return False
    return gradient._base is None and not gradient._keys & (BATCHED | SPARSES) and not is_seen(gradient) and (
        not gradient._keys & NONCONTIGUOUS or gradient._is_dense())
