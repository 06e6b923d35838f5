"""Graph breaks: why and where a function cannot become a graph (TorchDynamo's graph breaks)."""
from __future__ import annotations

from dataclasses import dataclass

from .._base.call_site import place_of

LIBRARY = __file__.rsplit("_compile", 1)[0]  #: the folder of the library's own code


@dataclass(frozen=True)
class GraphBreak:
    """The reason that a call is not one graph, and the user's line that caused it."""

    reason: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        return self.reason + (f" ({place_of(self.file, self.line)})" if self.file else "")


class TorchDynamoException(RuntimeError):
    """The base of TorchDynamo's errors (``torch._dynamo.exc.TorchDynamoException``)."""


class Unsupported(TorchDynamoException):
    """Raised if ``fullgraph=True`` forbids a graph break (``torch._dynamo.exc.Unsupported``)."""


class FailOnRecompileLimitHit(TorchDynamoException):
    """Raised if guards failed too often with ``fullgraph=True`` (``torch._dynamo.exc.FailOnRecompileLimitHit``)."""


class InvalidBackend(TorchDynamoException):
    """Raised if there is no backend of that name (``torch._dynamo.exc.InvalidBackend``)."""


class CannotCompile(Exception):
    """Raised by a part of the compiler that cannot continue; the function then runs as it is written."""


def is_library(file: str) -> bool:
    """Return whether a file belongs to the library, or to Python's import system, which loads names on first use."""
    return file.startswith(LIBRARY) or file.startswith("<frozen ")
