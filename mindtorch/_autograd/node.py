"""Nodes of the autograd graph: the operators that computed tensors, and the edges along which gradients flow."""
from __future__ import annotations

import itertools
import re
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from .._base import forks
from .._device import CPU
from .hooks import HookDict, NodeHooks, RemovableHandle

if TYPE_CHECKING:
    Made = TypeVar("Made")

    def new(kind: type[Made], /) -> Made: ...
else:
    new = object.__new__
#: Held while a node unfolds, or while a pass looks for the nodes that it needs: two threads may share a graph.
unfolding = forks.lock()
sequence = itertools.count()
next_sequence_nr = sequence.__next__
Edge = tuple["Node", int]


@dataclass(frozen=True)
class InputMetadata:
    """The metadata of one of the forward operator's outputs, whose gradient is an input of the node."""

    shape: tuple[int, ...]
    dtype: Any
    device: Any
    is_nested_tensor = False


def described(tensor: Any) -> tuple[tuple[int, ...], Any, Any]:
    """Return the shape, dtype and device of an output. A subclass's handler is not asked for the shape."""
    array = tensor._array
    return tuple(tensor.shape if array is None else array.shape), tensor._dtype, tensor._device


class Node:
    """A node of the graph (``torch.autograd.graph.Node``).

    The engine's attributes begin with an underscore, because users set their own attributes on the nodes of an
    ``autograd.Function``. ``_order`` grows from node to node: an edge always leads to an earlier node.
    """

    #: For each input that needs a gradient: its number, the node that receives it, and that node's output number.
    _links: tuple[tuple[int, Node, int], ...] = ()
    _width = 0  #: the number of differentiable inputs
    #: Shape and dtype of the forward operator's output, if it is a single CPU tensor; otherwise ``_several`` holds
    #: (shape, dtype, device) of each output, None for one that is not a tensor.
    _out_shape: tuple[int, ...] | None = None
    _out_dtype: Any = None
    _several: tuple[tuple[Any, Any, Any] | None, ...] = ()
    _order: int = 0
    _hooks: NodeHooks | None = None
    _metadata: dict[Any, Any] | None = None
    #: Whether each gradient is a new tensor or one that arrived. A user's function may also store gradients.
    _makes_gradients = False
    _gives_own = False  #: whether each gradient is new, in memory of its own
    _ends = False  #: whether its links lead to leaves alone, each to another one
    _holds = True  #: whether it may hold tensors, which a pass frees
    #: For nodes of parts: the part of an array where a gradient belongs, given the saved values.
    _part: Callable[..., Any] | None = None
    _keeps_dtype = False  #: if False, a complex gradient for a real input is reduced to its real part, else refused

    def unfold(self) -> bool:
        """Become the nodes of several operators, and return True, if this node stands for them."""
        return False

    @property
    def _edges(self) -> tuple[Edge | None, ...]:
        """The edge of each differentiable input's gradient, None where no gradient is needed."""
        self.unfold()
        edges: list[Edge | None] = [None] * self._width
        for position, node, number in self._links:
            node.unfold()
            edges[position] = (node, number)
        return tuple(edges)

    @_edges.setter
    def _edges(self, edges: Sequence[Edge | None]) -> None:
        self._width = len(edges)
        self._links = tuple([(i, *edge) for i, edge in enumerate(edges) if edge is not None])

    @property
    def _outputs(self) -> tuple[tuple[Any, Any, Any] | None, ...]:
        """The (shape, dtype, device) of each output of the forward operator."""
        return self._several if self._out_shape is None else ((self._out_shape, self._out_dtype, CPU),)

    @_outputs.setter
    def _outputs(self, outputs: tuple[tuple[Any, Any, Any] | None, ...]) -> None:
        self._several, self._out_shape = outputs, None
        if len(outputs) == 1 and outputs[0] is not None and outputs[0][2] is CPU:
            self._out_shape, self._out_dtype = outputs[0][:2]

    def with_only(self, number: int, gradient: Any) -> list[Any]:
        """Return the gradients of all outputs when only one has arrived: None for the others."""
        grads: list[Any] = [None] * len(self._several)
        grads[number] = gradient
        return grads

    def apply(self, grads: list[Any]) -> list[Any]:
        """Return the inputs' gradients, one per edge, in a new list, from the outputs' gradients."""
        raise RuntimeError(f"{self.name()} has no derivative")

    def release_variables(self) -> None:
        """Free the values saved for backward."""

    def __call__(self, *grads: Any) -> Any:
        """Return the inputs' gradients, a single one or a tuple, from the outputs' gradients."""
        self.unfold()
        if len(grads) != len(self._outputs):
            raise TypeError(f"expected {len(self._outputs)} arguments, got {len(grads)} instead")
        outputs = self.apply(list(grads))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def name(self) -> str:
        """Return the name, such as 'AddBackward0' (``torch.autograd.graph.Node.name``)."""
        return type(self).__name__

    def forward_name(self) -> str:
        """Return the forward operator's name for messages: 'Add'."""
        return re.sub(r"Backward\d*$", "", self.name())

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes of the inputs' gradients, with output numbers (``torch.autograd.graph.Node.next_functions``)."""
        return tuple((None, 0) if edge is None else edge for edge in self._edges)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for users' notes (``torch.autograd.graph.Node.metadata``)."""
        if self._metadata is None:
            self._metadata = {}
        return self._metadata

    @property
    def requires_grad(self) -> bool:
        """Always True, as for PyTorch's nodes."""
        return True

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        return tuple(InputMetadata(*(output or ((), None, None))) for output in self._outputs)

    def _sequence_nr(self) -> int:
        return self._order

    # -- hooks -----------------------------------------------------------------------------------------------------

    def _hooks_here(self) -> NodeHooks:
        self.unfold()
        if self._hooks is None:
            self._hooks = NodeHooks()
        return self._hooks

    def run_tensor_hooks(self, grads: list[Any]) -> None:
        """Run the hooks of the outputs on their gradients."""
        if self._hooks is not None:
            self._hooks.run_tensor_hooks(grads)

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Register ``fn(grad_inputs, grad_outputs)``, called after this node has run; its result replaces grad_inputs
        (``torch.autograd.graph.Node.register_hook``).
        """
        return RemovableHandle(self._hooks_here().post, fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Register ``fn(grad_outputs)``, called before this node runs; its result replaces grad_outputs
        (``torch.autograd.graph.Node.register_prehook``).
        """
        return RemovableHandle(self._hooks_here().pre, fn)

    def hooks_of_output(self, number: int) -> HookDict:
        """Return the hooks of one output, which run before the node does."""
        return self._hooks_here().tensor.setdefault(number, HookDict())

    def retain_grad_of(self, tensor: Any) -> None:
        """Retain the gradient of an output in its ``grad``."""
        self._hooks_here().retained[tensor._output_nr] = weakref.ref(tensor)

    def forget_retained(self, number: int) -> bool:
        """Stop retaining the gradient of an output, and return whether it was retained."""
        return self._hooks is not None and self._hooks.retained.pop(number, None) is not None

    def __reduce__(self) -> Any:
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


class Sent(list[Any]):
    """A node's gradients with their links, because another thread may change the node's own before they are read."""

    links: tuple[tuple[int, Node, int], ...] = ()


class GradientEdge(NamedTuple):
    """The place of a tensor's gradient: a node and an output's number (``torch.autograd.graph.GradientEdge``)."""

    node: Node
    output_nr: int
    ownership_token: Node | None = None
