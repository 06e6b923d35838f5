"""Nodes of the autograd graph: what computed a tensor, and where gradients go from there."""
from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

from .._dispatch.keys import INFERENCE
from .._dispatch.local import local

new = object.__new__
next_sequence_nr = itertools.count().__next__
ACCUMULATE_FIRST = 2**64 - 1  # PyTorch's sequence number of AccumulateGrad: runs before everything that is ready
Edge = tuple["Node", int]

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)


class RemovableHandle:
    """What registering a hook returns: ``remove()`` takes the hook away again, and so does leaving a with block."""

    _ids = itertools.count().__next__

    def __init__(self, hooks: dict[int, Any], hook: Any):
        self.id = RemovableHandle._ids()
        self._hooks = weakref.ref(hooks) if not isinstance(hooks, dict) else lambda: hooks
        hooks[self.id] = hook

    def remove(self) -> None:
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class SavedTensor:
    """A tensor kept for backward, with the version that it had."""

    __slots__ = ("tensor", "version", "output_nr", "hooks", "packed")
    tensor: Any
    version: int
    output_nr: int | None  #: which output of the node it is, or None for an input
    hooks: Any

    def unpack(self, node: Node) -> Any:
        """The tensor.

        Raises:
            RuntimeError: PyTorch's, if it was written in place since, or was freed.
        """
        if self.hooks is not None:
            return self._unpack_with_hooks(node)
        tensor = self.tensor
        if tensor is None:
            raise RuntimeError(FREED)
        cell = tensor._cell
        if cell is not None and cell[0] != self.version:
            raise self.modified_error(node)
        if self.output_nr is not None and local.grad_enabled:
            tensor = tensor._shallow()
            tensor._grad_fn, tensor._output_nr = node, self.output_nr
            tensor._keys |= 8  # Autograd
        return tensor

    def _unpack_with_hooks(self, node: Node) -> Any:
        tensor = self.hooks[1](self.packed)
        if not hasattr(tensor, "_keys"):
            raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(tensor)}")
        return tensor

    def set_hooks(self, pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
        """Keep what ``pack`` makes of the tensor in its place; ``unpack`` gets it back."""
        self.packed, self.hooks = pack(self.tensor), (pack, unpack)
        self.tensor = None

    def modified_error(self, node: Node) -> RuntimeError:
        """PyTorch's error for a saved tensor that was written in place."""
        tensor = self.tensor
        shape = str(list(tensor.shape))
        origin = f", which is output {tensor._output_nr} of {tensor._grad_fn.name()}," if tensor._grad_fn is not None else ""
        if self.output_nr is not None:
            origin = f", which is output {self.output_nr} of {node.name()},"
        kind = {"float32": "FloatTensor", "float64": "DoubleTensor"}.get(tensor._dtype.name, f"{tensor._dtype.name} tensor")
        return RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[torch.{kind} {shape}]{origin} is at version {tensor._cell[0]}; expected version {self.version} instead. "
            "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
            "torch.autograd.set_detect_anomaly(True)."
        )


def save(tensor: Any, output_nr: int | None = None) -> SavedTensor:
    """Keep a tensor for backward.

    Raises:
        RuntimeError: if it was made in inference mode.
    """
    if tensor._keys & INFERENCE:
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
            "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it "
            "in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
        )
    saved = new(SavedTensor)
    saved.tensor = tensor
    cell = tensor._cell
    saved.version = 0 if cell is None else cell[0]
    saved.output_nr = output_nr
    saved.hooks = None
    if local.saved_tensor_hooks:
        saved.set_hooks(*local.saved_tensor_hooks[-1])
    return saved


class Node:
    """A node of the graph, PyTorch's ``torch.autograd.graph.Node``.

    ``edges`` holds where the gradient of each differentiable input goes (None where none is needed);
    ``shapes``, ``dtypes`` and ``device`` describe the outputs of the forward operator, whose gradients come in.
    """

    edges: tuple[Edge | None, ...] = ()
    shapes: tuple[Any, ...] = ()
    dtypes: tuple[Any, ...] = ()
    device: Any = None
    sequence_nr: int = 0
    tensor_hooks: dict[int, dict[int, Any]] | None = None
    retained: dict[int, Any] | None = None
    pre_hooks: dict[int, Any] | None = None
    post_hooks: dict[int, Any] | None = None
    _metadata: dict[str, Any] | None = None
    traceback: list[str] | None = None
    parent: Node | None = None

    def name(self) -> str:
        """PyTorch's name, such as 'AddBackward0'."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that the gradients of the inputs go to, with the output number there."""
        return tuple((None, 0) if edge is None else edge for edge in self.edges)

    @property
    def metadata(self) -> dict[str, Any]:
        """A dictionary for whoever wants to note something."""
        if self._metadata is None:
            self._metadata = {}
        return self._metadata

    def apply(self, grads: list[Any]) -> Any:
        """The gradients of the inputs, one an edge, from those of the outputs."""
        raise RuntimeError(f"{self.name()} has no derivative")

    def release(self) -> None:
        """Free what was saved for backward."""

    def __call__(self, *grads: Any) -> Any:
        outputs = self.apply(list(grads))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _sequence_nr(self) -> int:
        return self.sequence_nr

    @property
    def has_hooks(self) -> bool:
        return bool(self.tensor_hooks or self.retained or self.pre_hooks)

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Have ``hook(grad_inputs, grad_outputs)`` called after this node ran; what it returns replaces grad_inputs."""
        if self.post_hooks is None:
            self.post_hooks = {}
        return RemovableHandle(self.post_hooks, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Have ``hook(grad_outputs)`` called before this node runs; what it returns replaces grad_outputs."""
        if self.pre_hooks is None:
            self.pre_hooks = {}
        return RemovableHandle(self.pre_hooks, hook)

    def register_tensor_hook(self, tensor: Any, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Have ``hook(grad)`` called with the gradient of one output, before the node runs."""
        if self.tensor_hooks is None:
            self.tensor_hooks = {}
        hooks = self.tensor_hooks.setdefault(tensor._output_nr, {})
        if tensor._hooks is None:
            tensor._hooks = hooks
        return RemovableHandle(hooks, hook)

    def retain_grad_of(self, tensor: Any) -> None:
        """Have an output's gradient kept in its ``grad``."""
        if self.retained is None:
            self.retained = {}
        self.retained[tensor._output_nr] = weakref.ref(tensor)

    def run_pre_hooks(self, grads: list[Any]) -> list[Any]:
        """Run tensor hooks, retain gradients, then run node hooks: PyTorch's order."""
        for number, hooks in (self.tensor_hooks or {}).items():
            for hook in list(hooks.values()):
                if grads[number] is not None:
                    grads[number] = replaced(hook(grads[number]), grads[number])
        for number, reference in (self.retained or {}).items():
            tensor = reference()
            if tensor is not None and grads[number] is not None:
                retained = grads[number] if tensor._grad is None else tensor._grad + grads[number]
                tensor._grad = retained._shallow() if not retained._keys & 8 else retained
        for hook in list((self.pre_hooks or {}).values()):
            result = hook(tuple(grads))
            if result is not None:
                grads = list(result) if isinstance(result, (tuple, list)) else [result]
        return grads

    def run_post_hooks(self, grad_inputs: Any, grad_outputs: list[Any]) -> Any:
        for hook in list((self.post_hooks or {}).values()):
            result = hook(tuple(grad_inputs), tuple(grad_outputs))
            if result is not None:
                grad_inputs = result if isinstance(result, (tuple, list)) else (result,)
        return grad_inputs

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


def replaced(result: Any, grad: Any) -> Any:
    """What a hook's result makes of a gradient."""
    if result is None:
        return grad
    if not hasattr(result, "_keys"):
        raise TypeError(f"hook returned an object of type {type(result).__name__}; expected a Tensor or None")
    if result.shape != grad.shape:
        raise RuntimeError(f"hook has changed the size of value: got {list(result.shape)}, expected {list(grad.shape)}")
    return result


class AccumulateGrad(Node):
    """The end of the graph at a leaf: adds what arrives to ``variable.grad``."""

    sequence_nr = ACCUMULATE_FIRST
    variable: Any

    @property
    def shapes(self) -> tuple[Any, ...]:  # type: ignore[override]
        return (self.variable.shape,)

    @property
    def dtypes(self) -> tuple[Any, ...]:  # type: ignore[override]
        return (self.variable._dtype,)

    @property
    def device(self) -> Any:  # type: ignore[override]
        return self.variable._device


def grad_accumulator(tensor: Any) -> AccumulateGrad:
    """The node that accumulates a leaf's gradient: one as long as any graph refers to it."""
    node = tensor._accumulator
    if node is not None:
        node = node()
    if node is None:
        node = new(AccumulateGrad)
        node.variable = tensor
        tensor._accumulator = weakref.ref(node)
    return node
