"""Sources: the place from which a compiled call reads a value, as a Python expression (``torch._dynamo.source``).

Guards check the value there, the generated code passes it to the graph, and a placeholder is named for it. The
arguments stand under their names, the function's closure as ``_C``, its globals as ``_G``.
"""
from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """An expression that begins with the expression of ``base``, or stands alone."""

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


def local(name: str) -> Source:
    """Return the source of an argument."""
    return Source(name, shown=f"L[{name!r}]")


def global_name(name: str) -> Source:
    """Return the source of a global variable."""
    return Source(f"_G[{name!r}]", shown=f"G[{name!r}]")
