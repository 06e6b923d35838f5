"""What introspection asks of a tensor library: few questions, which ``native`` answers for mindtorch's own tensors and
``pytorch`` for PyTorch's. ``libraries.library_of`` chooses by an object's type; nothing else here knows the difference.

Of a tensor it asks how it is laid out, which memory lies under it and who else sees that, what autograd knows of it,
and what its values are, if they are there; of a node of the graph, where gradients go and what is kept for backward; of
the library, which storages are alive, and what it dispatches while somebody looks. Shapes, strides and offsets count
elements. No answer waits for a device, runs the program's code, or changes anything.
"""
from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._base.call_site import place_of
from .._dispatch.observers import ActivityObserver, DispatchEvent, Observer
from .._dtype import DType
from .off_host import Pending


class Layout(NamedTuple):
    """Where a tensor's elements lie. The parameter of a lazy module that was not called yet is not ``materialized``:
    its shape is (0,) here. ``without`` says why there are no elements to be read, or no strides, '' if there are.
    ``sizes`` is the shape of a nested tensor, of which ``shape`` is that of all its elements.
    """

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    dtype: DType
    device: str
    materialized: bool = True
    without: str = ""
    sizes: tuple[Any, ...] = ()

    @property
    def strided(self) -> bool:
        """True if strides describe where the elements lie."""
        return len(self.stride) == len(self.shape)


class Record(NamedTuple):
    """What autograd knows of a tensor: the ``base`` that it is a view of, the names of nodes from its ``grad_fn`` on
    along their first inputs (of a leaf's, the leaf itself), how many hooks see its gradient. ``version``
    is None where writes are not counted.
    """

    requires_grad: bool
    version: int | None
    base: Any
    history: tuple[Any, ...]
    hooks: int
    inference: bool


class Kept(NamedTuple):
    """What a node keeps for backward: a ``tensor`` with the version that it had, and whether it was written since; or,
    if that is None, something that ``text`` describes (``is_tensor`` if it is a tensor all the same).
    """

    name: str
    text: str
    tensor: Any = None
    version: int | None = None
    stale: bool = False
    is_tensor: bool = False


class Hook(NamedTuple):
    """A function that backward calls with a gradient: its name, and where it is written ('' if not in Python)."""

    name: str
    place: str


def hook_of(function: Any) -> Hook:
    """Return a hook's name and place; of a method, a ``partial`` or a wrapper, those of the function inside."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(getattr(function, "__func__", function))
    name = getattr(function, "__qualname__", type(function).__qualname__).rpartition("<locals>.")[2]
    code = getattr(function if hasattr(function, "__code__") else type(function).__call__, "__code__", None)
    return Hook(name, "" if code is None else place_of(code.co_filename, code.co_firstlineno))


def called(library: Library, observer: TrainingObserver, module: Any, args: Any) -> None:
    """Report a module's call, as a hook before it; its keyword arguments are the caller's."""
    observer.call(library, module, args, sys._getframe(1).f_locals.get("kwargs") or {})


class NodeLook(NamedTuple):
    """A node of the graph: its ``name``, the next nodes with their output numbers (None where no gradient is needed),
    what it keeps (None if that was freed), shape and dtype of its forward outputs. ``variable`` is the leaf that it
    accumulates the gradient of; ``hooks`` are called with gradients that come by; ``order`` grows with the time at
    which nodes were made; ``formulas`` are what it computes for its inputs, as (names, formula), if that is known.
    """

    name: str
    edges: tuple[tuple[Any, int] | None, ...]
    kept: tuple[Kept, ...] | None
    outputs: tuple[tuple[tuple[int, ...], str], ...]
    variable: Any
    hooks: tuple[Hook, ...]
    order: int
    formulas: tuple[tuple[str, str], ...] = ()


class LiveStorage(NamedTuple):
    """A storage that is alive, and the live tensors that see it."""

    device: str
    address: int
    bytes: int
    tensors: list[Any]


class Named(dict[int, str]):
    """Names of tensors by the tensors' ``id``, and the ``tensors`` themselves by their names."""

    def __init__(self, named: Mapping[str, Any]):
        super().__init__((id(tensor), name) for name, tensor in reversed(list(named.items())))  # the first name counts
        self.tensors = dict(named)


class BackwardPass(NamedTuple):
    """A backward pass: its ``number`` or another thing that no other pass has, the ``node`` that runs (None between
    two), and the nodes that it began with.
    """

    number: Any
    node: Any
    roots: Callable[[], Sequence[Any]]


class TrainingObserver(Protocol):
    """An observer of a program that trains."""

    def operator(self, library: Library, event: DispatchEvent, args: tuple[Any, ...], result: Any) -> None:
        """Receive an operator that ran."""

    def function(self, name: str, given: Mapping[str, Any], site: tuple[str, int, str]) -> None:
        """Receive a call of a function that is no operator of the library, with its arguments by name."""

    def call(self, library: Library, module: Any, args: Any, kwargs: Mapping[str, Any]) -> None:
        """Receive a module's call."""

    def before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Receive a step that an optimizer is about to take."""

    def after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Receive a step that an optimizer has taken."""


class ModuleObserver(Protocol):
    """An observer of calls of modules."""

    def entered(self, module: Any, args: tuple[Any, ...]) -> None:
        """Receive the beginning of a module's call."""

    def left(self, module: Any, args: tuple[Any, ...], result: Any) -> None:
        """Receive the end of a module's call; while it is called for an exception, this is the current one."""


class CallObserver(ModuleObserver, Protocol):
    """An observer of a program's calls: of functions and of tensors' methods, and of modules."""

    def called(self, function: Any) -> None:
        """Receive the beginning of a function's call."""

    def returned(self, function: Any, given: Any, result: Any, error: BaseException | None = None) -> None:
        """Receive a function's arguments, and its result or its error."""


#: Told of an operator that wrote in place, and of what it wrote to: which writes are counted together, as ``counted``
#: tells, and the version that this one led to.
WriteObserver = Callable[[DispatchEvent, Sequence[tuple[Any, int]]], None]


class Library(Protocol):
    """The questions of introspection; each question in the module's docstring is a method."""

    def layout(self, tensor: Any) -> Layout:
        """Where the elements lie."""

    def owner(self, tensor: Any) -> Any:
        """Return the object that stands for a tensor's memory: while it lives, no other memory has it."""

    def aliases(self, tensor: Any, names: Mapping[int, str]) -> list[Any]:
        """Return the known or named live tensors that see the same memory, including this one."""

    def seen_by(self, storage: Any, names: Mapping[int, str]) -> list[Any]:
        """Return the known or named live tensors that see a storage."""

    def storage_bytes(self, tensor: Any) -> int:
        """Return the size in bytes of the storage under a tensor."""

    def is_shared(self, tensor: Any) -> bool:
        """Return True if other processes see the memory."""

    def address(self, tensor: Any) -> int:
        """Return the address of the first element, or 0 without memory."""

    def record(self, tensor: Any, length: int) -> Record:
        """Return autograd's view of a tensor, with at most ``length`` nodes of its history."""

    def grad(self, tensor: Any) -> Any:
        """Return the gradient that a tensor holds, or None."""

    def pending(self, tensor: Any) -> Pending | None:
        """Return the work that the values wait for; None if they are there or, on the meta device, never will be."""

    def values(self, tensor: Any) -> np.ndarray | None:
        """Return the values if they can be read now. They may be the tensor's memory: neither write nor keep them."""

    def sample(self, tensor: Any) -> np.ndarray | None:
        """Return the values, or an even sample off the host; RuntimeError if the device refuses."""

    def elements(self, tensor: Any, indices: Sequence[tuple[int, ...]]) -> list[Any] | None:
        """Return the values at some indices as Python numbers."""

    def is_near(self, tensor: Any) -> bool:
        """Return True if the host can read the values without copying them."""

    def root(self, tensor: Any) -> Any:
        """Return the node behind a tensor that requires grad; for a leaf, the node that accumulates its gradient."""

    def node(self, node: Any) -> NodeLook:
        """Describe a node."""

    def links(self, node: Any) -> tuple[list[Any], Any]:
        """Return the next nodes, and the leaf whose gradient a node accumulates, or None: less than ``node`` tells."""

    def given(self, event: DispatchEvent, args: Sequence[Any]) -> Mapping[str, Any] | None:
        """Return an operator's arguments by name; None if the library reports its functions by themselves."""

    def counted(self, tensor: Any) -> Any:
        """Return a key equal for tensors whose writes are counted together; None if that is unknown."""

    def place(self, tensor: Any) -> Any:
        """Equal for tensors with the same elements of the same memory, such as the twins of outputs that nodes keep."""

    def output_number(self, tensor: Any) -> int:
        """Return which output of its ``grad_fn`` a tensor is."""

    def storages(self, objects: Iterable[Any]) -> list[LiveStorage]:
        """Return the storages among live objects and under the tensors among them."""

    def training(self, observer: TrainingObserver) -> AbstractContextManager[Any]:
        """Report operators, calls of modules and optimizer steps of a block; nodes made in it know their lines."""

    def calls(self, observer: CallObserver) -> AbstractContextManager[None]:
        """Report a block's calls of functions and modules, as the program writes them."""

    def modules(self, observer: ModuleObserver) -> AbstractContextManager[None]:
        """Report a block's calls of modules."""

    def backward_pass(self) -> BackwardPass | None:
        """Return the backward pass that this thread runs, or None."""

    def is_grad_enabled(self) -> bool:
        """Return True if operators are recorded."""

    def drops(self, packet: str, args: Sequence[Any]) -> bool:
        """Return True if an operator that was just run drops elements at random, as dropout does."""

    def observing(self, observer: Observer, activities: ActivityObserver | None) -> AbstractContextManager[Any]:
        """Report a block's dispatched operators to ``observer``, and device activities to ``activities``."""

    def watching_writes(self, observer: WriteObserver) -> AbstractContextManager[Any]:
        """Report every write in place of a block to an observer."""
