"""Leaves: the nodes at the end of the graph, which add what arrives to ``.grad``."""
from __future__ import annotations

import weakref
from collections.abc import Iterable
from sys import getrefcount
from typing import Any

from .._base import forks
from .._base.about import about
from .._base.formats import contiguous_format
from .._device import CPU
from .._dispatch.aten import add__Tensor as add_, add_Tensor as add, clone, copy_, detach, new_empty_strided
from .._dispatch.dispatcher import TENSOR_TYPES, is_seen
from .._dispatch.keys import AUTOGRAD, CPU as HOST, NONCONTIGUOUS
from .._dispatch.local import local
from .hooks import checked, run_tensor_hooks
from .node import Node, new

#: Held while a gradient is added: two threads may reach one leaf. The same thread may come here again through hooks.
_lock = forks.lock()


class AccumulateGrad(Node):
    """The end of the graph at a leaf: adds what arrives to ``variable.grad``."""

    _order = 2**64 - 1  # PyTorch's: as soon as it can run it does
    variable: Any
    is_private = False  #: whether the leaf was a function transform's own, which has ended

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def __lt__(self, other: Any) -> bool:
        return False  # leaves that are ready run in any order

    def apply(self, grads: list[Any]) -> list[Any]:
        accumulate(self.variable, grads)
        return []

    def run_tensor_hooks(self, grads: list[Any]) -> None:
        """Run the hooks of the leaf on its gradient."""
        if self.variable._hooks:
            grads[0] = run_tensor_hooks(self.variable._hooks, grads[0])


def _references_of_a_local() -> int:
    alone = object()
    return getrefcount(alone)


#: What ``getrefcount`` says of an object that one local variable refers to, and nothing else.
ALONE = _references_of_a_local()
#: The references to an argument of a function that come from its call and from a local variable and a list there.
HELD = (lambda there: (lambda local: (lambda argument: getrefcount(argument))(local))(there[0]))([object()]) - ALONE
LEAF = HOST | AUTOGRAD  #: the keys of a contiguous leaf of the CPU


def grad_accumulator(tensor: Any) -> AccumulateGrad:
    """The node that accumulates a leaf's gradient: one as long as any graph refers to it."""
    node = tensor._accumulator
    if node is not None:
        node = node()
    if node is None:
        node = new(AccumulateGrad)
        node.variable = tensor
        array = tensor._array
        if array is None or tensor._device is not CPU:
            node._outputs = ((tuple(tensor.shape), tensor._dtype, tensor._device),)
        else:
            node._out_shape, node._out_dtype = array.shape, tensor._dtype
        tensor._accumulator = weakref.ref(node)
    return node


def take_first(node: AccumulateGrad, gradient: Any) -> bool:
    """Make a gradient, to which the engine and a list refer, a leaf's ``grad``, and say whether that is done: it is
    what ``accumulate`` would do where there is no more to it, in most steps of a training.
    """
    variable = node.variable
    if (variable._keys != LEAF or gradient._keys != HOST or gradient._version_counter is not None
            or getrefcount(gradient) != ALONE + HELD or gradient._array.shape != node._out_shape
            or gradient._dtype is not node._out_dtype or variable._hooks or node._hooks is not None
            or variable._post_accumulate_hooks):
        return False
    with _lock:
        if variable._grad is not None:
            return False
        variable._grad = gradient
    return True


def accumulate(variable: Any, grads: list[Any]) -> None:
    """Add the gradient in a list, from which it is taken, to a leaf's ``grad``, and run the hooks of that event."""
    if variable._keys & AUTOGRAD:
        gradient = grads.pop()
        if gradient is not None:
            with _lock:
                have = variable._grad
                if have is None:
                    alone = getrefcount(gradient) == ALONE
                    variable._grad = first_grad(variable, gradient, alone)
                elif local.grad_enabled:
                    variable._grad = add(have, gradient)
                else:
                    add_(have, gradient)
        if variable._post_accumulate_hooks:
            for hook in list(variable._post_accumulate_hooks.values()):
                result = hook(variable)
                if result is not None:
                    checked(hook, result, variable)
                    raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def first_grad(variable: Any, gradient: Any, alone: bool) -> Any:
    """The ``.grad`` of a leaf that had none.

    The gradient itself is taken if nothing else refers to it (``alone``) or to its memory, and its strides are those
    that a gradient should have: the leaf's if that is dense, contiguous otherwise.
    """
    if alone and not local.grad_enabled and (gradient._version_counter is None or memory_is_own(gradient)) and (
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


def memory_is_own(tensor: Any) -> bool:
    """Whether no other tensor shares a tensor's memory, except for a base that only it refers to. All tensors that
    share memory refer to one ``_version_counter``.
    """
    base, cell = tensor._base, tensor._version_counter
    if base is None:
        return getrefcount(cell) == ALONE + 1
    return getrefcount(cell) == ALONE + 2 and getrefcount(base) == ALONE + 1


def _has_strides_for(gradient: Any, variable: Any) -> bool:
    """Whether a gradient's strides are the leaf's, if that is dense, but for those of dimensions of size 1, which may
    be any but 0; for another leaf, whether it is contiguous (ATen's ``obeys_layout_contract``).
    """
    if not variable._is_dense():
        return gradient.is_contiguous()
    return all(step == wanted if size != 1 else step != 0 for size, step, wanted in
               zip(gradient.shape, gradient._strides(), variable._strides(), strict=True))


def check_assigned_grad(tensor: Any, value: Any) -> None:
    """Refuse what cannot be a tensor's gradient.

    Raises:
        TypeError: if it is no tensor.
        RuntimeError: if it is the tensor itself, or its shape, dtype or device is not the tensor's.
    """
    if value.__class__ not in TENSOR_TYPES:
        raise about(TypeError("assigned grad expected to be a Tensor or None but got grad of type "
                              f"{type(value).__name__}"), "assigned gradient", tensor=tensor, value=value)
    if value is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if value._dtype is not tensor._dtype:
        raise about(RuntimeError(f"attempting to assign a gradient with dtype '{value.dtype}' to a tensor with "
                                 f"grad_dtype '{tensor.dtype}'. The gradient must match the tensor's grad_dtype "
                                 "(defaults to the tensor's dtype)."), "assigned gradient", tensor=tensor, value=value)
    if value._device != tensor._device:
        raise about(RuntimeError(f"attempting to assign a gradient with device type '{value.device.type}' to a tensor "
                                 f"with device type '{tensor.device.type}'. Please ensure that the gradient and the "
                                 "tensor are on the same device"), "assigned gradient", tensor=tensor, value=value)
    if value.shape != tensor.shape:
        raise about(RuntimeError(f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
                                 f"'{list(tensor.shape)}'. Please ensure that the gradient and the tensor are the same "
                                 "size"), "assigned gradient", tensor=tensor, value=value)


def forget_gradients(leaves: Iterable[Any], set_to_none: bool) -> None:
    """Take the gradients from leaves, or set them to zero, cut off from their history."""
    for leaf in leaves:
        gradient = leaf._grad
        if set_to_none:
            leaf._grad = None
        elif gradient is not None:
            gradient = leaf._grad = gradient.detach() if gradient.requires_grad else gradient
            gradient.zero_()


def can_accumulate_inplace(gradient: Any) -> bool:
    """Whether another gradient may be added in place to this one: nothing else refers to its memory, which is dense."""
    if gradient._base is not None or (gradient._keys & NONCONTIGUOUS and not gradient._is_dense()) or (
            is_seen(gradient)):
        return False
    cell = gradient._version_counter
    return cell is None or getrefcount(cell) == ALONE + 1
