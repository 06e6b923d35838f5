"""``torch._guards``: where a value of a compiled program comes from, and what is known while a program is traced."""
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ._dispatch.local import local


@dataclass(frozen=True)
class Source:
    """The place that a value is read from, as Python code over the function's locals ``L`` and globals ``G``."""

    @property
    def name(self) -> str:
        """The code that reads the value."""
        raise NotImplementedError

    def is_ephemeral(self) -> bool:
        """Return True if the value cannot be read again when guards are checked."""
        return False


@dataclass(frozen=True)
class LocalSource(Source):
    """A local variable."""

    local_name: str
    is_input: bool = False

    @property
    def name(self) -> str:
        """The code that reads the variable."""
        return f"L[{self.local_name!r}]"


@dataclass(frozen=True)
class GlobalSource(Source):
    """A global variable."""

    global_name: str

    @property
    def name(self) -> str:
        """The code that reads the variable."""
        return f"G[{self.global_name!r}]"


@dataclass(frozen=True)
class ConstantSource(Source):
    """A value known by a name of its own."""

    source_name: str

    @property
    def name(self) -> str:
        """The name."""
        return self.source_name


@dataclass(frozen=True)
class EphemeralSource(Source):
    """A value that cannot be read again when guards are checked."""

    desc: str | None = None

    @property
    def name(self) -> str:
        """A description, which is no code."""
        return f"<ephemeral{': ' + self.desc if self.desc is not None else ''}>"

    def is_ephemeral(self) -> bool:
        """Return True."""
        return True


@dataclass(frozen=True)
class ChainedSource(Source):
    """A part of another source's value."""

    base: Source

    def is_ephemeral(self) -> bool:
        """Return True if the whole is ephemeral."""
        return self.base.is_ephemeral()


@dataclass(frozen=True)
class AttrSource(ChainedSource):
    """An attribute."""

    member: str

    @property
    def name(self) -> str:
        """The code that reads the attribute."""
        return f"{self.base.name}.{self.member}"


@dataclass(frozen=True)
class GetItemSource(ChainedSource):
    """An item of a container."""

    index: Any

    @property
    def name(self) -> str:
        """The code that reads the item."""
        return f"{self.base.name}[{self.index!r}]"


class TensorProperty(Enum):
    """A part of a tensor's layout."""

    SIZE = "size"
    STRIDE = "stride"
    STORAGE_OFFSET = "storage_offset"

    def method_name(self) -> str:
        """Return the method of tensors that returns it."""
        return self.value


@dataclass(frozen=True)
class TensorPropertySource(ChainedSource):
    """A tensor's size or stride in one dimension, or its storage offset."""

    prop: TensorProperty
    idx: int | None = None

    @property
    def name(self) -> str:
        """The code that reads the number."""
        index = "" if self.idx is None else f"[{self.idx}]"
        return f"{self.base.name}.{self.prop.method_name()}(){index}"


class TracingContext:
    """What is known while a program is traced: the fake mode of its inputs (``torch._guards.TracingContext``)."""

    _thread = threading.local()

    def __init__(self, fake_mode: Any) -> None:
        self.fake_mode = fake_mode

    @classmethod
    def try_get(cls) -> TracingContext | None:
        """Return the context of this thread's trace, None outside of one."""
        return getattr(cls._thread, "context", None)

    @classmethod
    def get(cls) -> TracingContext:
        """Return the context of this thread's trace. Raises RuntimeError outside of one."""
        if (context := cls.try_get()) is None:
            raise RuntimeError("TracingContext.get() must be called within an ongoing trace.")
        return context


@contextmanager
def tracing(context: TracingContext | None) -> Iterator[TracingContext | None]:
    """Trace a program in a block, in a context (``torch._guards.tracing``)."""
    before = TracingContext.try_get()
    TracingContext._thread.context = context
    try:
        yield context
    finally:
        TracingContext._thread.context = before


def active_fake_mode() -> Any:
    """Return the innermost ``FakeTensorMode`` that this thread has entered, None without one
    (``torch._guards.active_fake_mode``).
    """
    return next((mode for mode in reversed(local.dispatch_modes) if is_fake_mode(mode)), None)


def is_fake_mode(mode: Any) -> bool:
    """Return True for a ``FakeTensorMode``."""
    return hasattr(mode, "fake_tensor_converter")


def detect_fake_mode(inputs: Any = None) -> Any:
    """Return the ``FakeTensorMode`` of a trace: the tracing context's, an entered one, or that of fake tensors among
    the inputs; None if there is none (``torch._guards.detect_fake_mode``).

    Raises:
        AssertionError: if there are several.
    """
    from ._transforms.pytree import tree_leaves

    context = TracingContext.try_get()
    found = [] if context is None or context.fake_mode is None else [context.fake_mode]
    found += [mode for mode in reversed(local.dispatch_modes) if is_fake_mode(mode)]
    found += [leaf.fake_mode for leaf in tree_leaves(inputs) if getattr(leaf, "fake_mode", None) is not None]
    for mode in found[1:]:
        if mode is not found[0]:
            raise AssertionError("fake mode from tracing context or an input does not match another one: tensors of "
                                 "different FakeTensorModes cannot be traced together")
    return found[0] if found else None
