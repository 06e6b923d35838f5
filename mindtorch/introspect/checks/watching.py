"""Rules of checks: the events of a program that trains, and the findings that they make."""
from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..._dispatch.observers import DispatchEvent
from ..libraries import library_of
from ..library import Library
from ..why.explanation import CLASH, GOOD, Call, Fix, Step, Steps
from ..why.wrote import is_tensor
from .finding import Finding, line_of


class Watched(Protocol):
    """Facts about the cell while it runs, for rules that need more than events."""

    namespace: Mapping[str, Any]
    files: set[str]  #: of the lines that ran operators
    models: weakref.WeakKeyDictionary[Any, None]  #: that were called, in their order
    passes: int  #: backward passes so far
    steps: int
    sizes: list[int]  #: of the graphs of backward passes, in nodes
    stepped: dict[int, int]  #: the last step that changed a parameter, by its address
    leaves: dict[int, Any]  #: that backward passes reached, by identity
    optimizers: weakref.WeakKeyDictionary[Any, None]  #: that took steps

    def found(self, finding: Finding) -> None:
        """Note a finding, once for each kind and line."""

    def later(self, finding: Finding) -> None:
        """Note a finding that counts only where something is trained."""

    def parameter_ids(self) -> set[int]:
        """Return the identities of the parameters of models that were called."""

    def here(self) -> Any:
        """Return the program's line that is running."""


class Ran(NamedTuple):
    """An operator that ran in the forward pass: its name without overload, its arguments and its result."""

    library: Library
    packet: str
    args: tuple[Any, ...]
    result: Any
    event: DispatchEvent

    @property
    def place(self) -> Call:
        return line_of(*self.event.site)


class Pass(NamedTuple):
    """A backward pass: its number from 1 on, its nodes by identity, the leaves that it reaches, its line."""

    number: int
    library: Library
    roots: list[Any]
    nodes: dict[int, Any]
    leaves: list[Any]
    place: Call


class Watcher:
    """A family of rules; each method is called as the program goes, and reports through ``record.found``."""

    def __init__(self, record: Watched):
        self.record = record

    def operator(self, ran: Ran) -> None:
        """Receive an operator of the forward pass."""

    def function(self, name: str, given: Mapping[str, Any], place: Call) -> None:
        """Receive a call of a loss function, or of attention, with its arguments by name."""

    def call(self, module: Any, args: Any, kwargs: Mapping[str, Any], recorded: bool) -> None:
        """Receive a call of a module."""

    def backward(self, run: Pass) -> None:
        """Receive a backward pass that begins."""

    def before_step(self, optimizer: Any) -> None:
        """Receive a step that is about to be taken."""

    def after_step(self, optimizer: Any) -> None:
        """Receive a step that was taken."""

    def finish(self) -> None:
        """Report what only the whole record shows; nothing is observed any more."""


class Marks:
    """Tensors with a note on each, forgotten when they die."""

    def __init__(self) -> None:
        self._notes: dict[int, tuple[weakref.ref[Any], Any]] = {}

    def put(self, tensor: Any, note: Any) -> None:
        self._notes[id(tensor)] = weakref.ref(tensor), note

    def get(self, tensor: Any) -> Any:
        ref, note = self._notes.get(id(tensor), (None, None))
        return note if ref is not None and ref() is tensor else None


class Places:
    """Pieces of memory with a note on each, found by the tensors that lie in them."""

    MOST = 200

    def __init__(self) -> None:
        self._notes: deque[tuple[weakref.ref[Any], int, int, Any]] = deque(maxlen=self.MOST)

    def put(self, library: Library, tensor: Any, note: Any) -> None:
        start = library.address(tensor)
        if start:
            self._notes.append((weakref.ref(tensor), start, start + tensor.numel() * tensor.element_size(), note))

    def get(self, library: Library, tensor: Any) -> Any:
        at = library.address(tensor)
        return next((note for ref, start, end, note in reversed(self._notes)
                     if start <= at < end and ref() is not None), None) if at else None


def values_of(tensor: Any) -> np.ndarray | None:
    """Return a tensor's values if they can be read now: neither to be kept nor written."""
    return library_of(tensor).values(tensor) if is_tensor(tensor) else None


def shape_of(value: Any) -> tuple[int, ...] | None:
    """Return a tensor's shape, or None of another thing."""
    return tuple(map(int, value.shape)) if is_tensor(value) else None


def told(kind: str, title: str, cause: str, place: Call | None, fixes: list[tuple[str, str]],
         steps: list[tuple[str, str, str]]) -> Finding:
    """Build a finding whose picture is a row of steps: title, detail, ``+`` for good or ``-`` for the clash."""
    marks = {"+": GOOD, "-": CLASH, "": ""}
    return Finding(kind, title, cause, tuple(Fix(*fix) for fix in fixes),
                   (Steps(tuple(Step(name, detail, marks[mark]) for name, detail, mark in steps)),), place)
