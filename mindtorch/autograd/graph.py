"""``torch.autograd.graph``: nodes, edges, and the tensors saved for backward."""
from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._autograd.hooks import RemovableHandle
from .._autograd.node import GradientEdge as GradientEdge, Node as Node
from .._autograd.saved import disable_saved_tensors_hooks, pop_hooks, push_hooks
from .._base.interrupts import contextmanager, leaving
from .._dispatch.dispatcher import state_of
from .._dispatch.keys import INFERENCE
from .._dispatch.local import local
from .._tensor import Tensor

__all__ = ["allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge", "increment_version",
           "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]
__dir__ = __all__.copy


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the place where a tensor's gradient is computed (``torch.autograd.graph.get_gradient_edge``). Raises
    RuntimeError if the tensor does not require grad.
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node, output_nr = tensor._grad_edge()  # type: ignore[misc]
    node.unfold()
    return GradientEdge(node, output_nr)


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Count a write to a tensor, or to several, that autograd could not see
    (``torch.autograd.graph.increment_version``). Tensors of inference mode count none.
    """
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not t._keys & INFERENCE:
            t._bump()


class saved_tensors_hooks:
    """A block in which backward keeps ``pack_hook(tensor)`` in a tensor's place, and ``unpack_hook`` makes it a tensor
    again (``torch.autograd.graph.saved_tensors_hooks``).
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        push_hooks(self.pack_hook, self.unpack_hook)

    @leaving(state_of("saved_tensor_hooks"))
    def __exit__(self, *exc: object) -> None:
        pop_hooks()


class save_on_cpu(saved_tensors_hooks):
    """A block in which tensors kept for backward are moved to host memory (``torch.autograd.graph.save_on_cpu``)."""

    def __init__(self, pin_memory: bool = False, device_type: str = "npu"):
        super().__init__(lambda tensor: (tensor.device, tensor.to("cpu", copy=True)),
                         lambda packed: packed[1].to(packed[0]))


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_MutationOnSaved]:
    """Run a block in which tensors saved for backward may be written in place, since they are copied at once
    (``torch.autograd.graph.allow_mutation_on_saved_tensors``).

    Raises:
        RuntimeError: inside another such block.
    """
    if any(isinstance(getattr(pack, "__self__", None), _MutationOnSaved) for pack, _ in local.saved_tensor_hooks):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = _MutationOnSaved()
    with saved_tensors_hooks(context.keep, context.copy_of):
        try:
            yield context
        finally:
            context.clear()


class _MutationOnSaved:
    """The copies that are kept while a block allows writes, which do not outlive it."""

    def __init__(self) -> None:
        self._alive = True

    def keep(self, tensor: Tensor) -> Tensor:
        return tensor.detach().clone()

    def copy_of(self, kept: Tensor) -> Tensor:
        if not self._alive:
            raise AssertionError("Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which "
                                 "the graph was originally recorded.")
        return kept

    def clear(self) -> None:
        """End the block: the copies are of no use any more."""
        self._alive = False


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all") -> Any:
    """Have ``fn`` called once a backward pass has computed the gradients of all ``tensors`` that it reaches, with their
    sequence (None where none came); or, with ``mode='any'``, with the first gradient
    (``torch.autograd.graph.register_multi_grad_hook``). Raises ValueError if the mode is neither 'all' nor 'any'.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock = threading.Lock()
    nodes = [get_gradient_edge(tensor).node for tensor in tensors] if mode == "all" else []
    passes: weakref.WeakKeyDictionary[Any, dict[int, Tensor | None]] = weakref.WeakKeyDictionary()

    def hook_of(i: int) -> Callable[[Tensor | None], None]:
        def hook(gradient: Tensor | None) -> None:
            with lock:
                arrived = passes.setdefault(local.task, {})
                arrived[i] = gradient
            if mode == "any":
                if len(arrived) == 1:
                    fn(gradient)
            elif len(arrived) == local.task.run_of(nodes):
                fn([arrived.get(j) for j in range(len(nodes))])

        return hook

    return _Handles([tensor.register_hook(hook_of(i)) for i, tensor in enumerate(tensors) if nodes
                     or tensor.requires_grad])


class _Handles:
    """Several handles as one."""

    def __init__(self, handles: Sequence[RemovableHandle]):
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _Handles:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()
