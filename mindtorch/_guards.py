"""``torch._guards``: where a value of a compiled program comes from, and what is known while a program is traced."""
from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ._dispatch.local import local


@dataclass(unsafe_hash=True)
class Source:
    """The place from which a program reads a value: an expression that begins with that of ``base``, or stands alone
    (``torch._guards.Source``).

    Guards check the value there, generated code passes it to the graph, and a placeholder is named for it. Arguments
    stand under their names, the function's closure as ``_C``, its globals as ``_G``.
    """

    form: str  #: with ``base``, the part behind it
    base: Source | None = None
    before: str = ""  #: the part in front of ``base``
    shown: str = ""  #: PyTorch's spelling, if it differs: ``L['x']``

    @property
    def expression(self) -> str:
        """The expression in Python."""
        return self.form if self.base is None else f"{self.before}{self.base.expression}{self.form}"

    @property
    def name(self) -> str:
        """The expression as guards print it: ``L['x'].weight``."""
        return self.shown or (self.form if self.base is None else f"{self.before}{self.base.name}{self.form}")

    def attribute(self, name: str) -> Source:
        """Return the source of an attribute."""
        return Source(f".{name}" if name.isidentifier() else f".__dict__[{name!r}]", self)

    def item(self, key: str) -> Source:
        """Return the source of an item; ``key`` is an expression."""
        return Source(f"[{key}]", self)

    def wrapped(self, function: str) -> Source:
        """Return the source of ``function(self)``."""
        return Source(")", self, f"{function}(")

    @property
    def placeholder(self) -> str:
        """The name of an input of the graph that is read here."""
        name = re.sub(r"\b_modules\b", "modules", self.name).replace("_parameters", "parameters")
        name = name.replace("_buffers", "buffers")
        return re.sub(r"[^0-9A-Za-z]+", "_", name)

    @property
    def path(self) -> str:
        """The expression with the parts of modules as their attributes: ``L['self'].conv.weight``."""
        return re.sub(r"\.(?:_modules|_parameters|_buffers|__dict__)\['(\w+)'\]", r".\1", self.name)

    def is_ephemeral(self) -> bool:
        """Return True if the value cannot be read again when guards are checked."""
        return self.base is not None and self.base.is_ephemeral()


class LocalSource(Source):
    """A local variable."""

    def __init__(self, local_name: str, is_input: bool = False) -> None:
        super().__init__(local_name, shown=f"L[{local_name!r}]")
        self.local_name, self.is_input = local_name, is_input


class GlobalSource(Source):
    """A global variable."""

    def __init__(self, global_name: str) -> None:
        super().__init__(f"_G[{global_name!r}]", shown=f"G[{global_name!r}]")


class ConstantSource(Source):
    """A value known by a name of its own."""

    def __init__(self, source_name: str) -> None:
        super().__init__(source_name)


class EphemeralSource(Source):
    """A value that cannot be read again when guards are checked; its name describes it."""

    def __init__(self, desc: str | None = None) -> None:
        super().__init__(f"<ephemeral{': ' + desc if desc is not None else ''}>")

    def is_ephemeral(self) -> bool:
        """Return True."""
        return True


class AttrSource(Source):
    """An attribute."""

    def __init__(self, base: Source, member: str) -> None:
        super().__init__(f".{member}", base)


class GetItemSource(Source):
    """An item of a container."""

    base: Source

    def __init__(self, base: Source, index: Any) -> None:
        super().__init__(f"[{index!r}]", base)


class TensorProperty(Enum):
    """A part of a tensor's layout."""

    SIZE = "size"
    STRIDE = "stride"
    STORAGE_OFFSET = "storage_offset"

    def method_name(self) -> str:
        """Return the method of tensors that returns it."""
        return self.value


class TensorPropertySource(Source):
    """A tensor's size or stride in one dimension, or its storage offset."""

    base: Source

    def __init__(self, base: Source, prop: TensorProperty, idx: int | None = None) -> None:
        super().__init__(f".{prop.method_name()}(){'' if idx is None else f'[{idx}]'}", base)
        self.prop, self.idx = prop, idx


class TracingContext:
    """The state of a program's trace: the fake mode of its inputs (``torch._guards.TracingContext``)."""

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
