"""The functions that PyTorch keeps in C++ modules, under the names that graphs print: ``torch._C._nn.linear``."""
from __future__ import annotations

from types import ModuleType
from typing import Any

from .. import fft, linalg, special
from .._creation.conversion import parse_to
from .._methods import functions


class _Functions(ModuleType):
    """A module with the functions of a public one, with a prefix."""

    def __init__(self, name: str, public: Any, prefix: str):
        super().__init__(f"torch._C.{name}")
        self._public, self._prefix = public, prefix

    def __getattr__(self, name: str) -> Any:
        if not name.startswith(self._prefix) or name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self._public, name.removeprefix(self._prefix))


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """Return device, dtype, ``non_blocking`` and memory format of a call of ``to`` (``torch._C._nn._parse_to``)."""
    place, dtype, non_blocking, _, memory_format = parse_to(*args, **kwargs)
    return place, dtype, non_blocking, memory_format


_nn = _Functions("_nn", functions, "")
vars(_nn)["_parse_to"] = _parse_to
_linalg = _Functions("_linalg", linalg, "linalg_")
_fft = _Functions("_fft", fft, "fft_")
_special = _Functions("_special", special, "special_")
