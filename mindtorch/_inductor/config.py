"""The settings of Inductor (``torch._inductor.config``): each of PyTorch's can be read, set and patched. They are about
how it writes and tunes C++ and Triton, so no program here depends on them.
"""
from __future__ import annotations

import sys
from typing import Any

from .._base.settings import Settings
from .._compile.options import DEFAULTS

_values = dict(DEFAULTS)


class Group(Settings):
    """The settings whose names begin alike: all of them, or those of ``config.cpp`` or ``config.triton``.

    Raises:
        AttributeError: if a setting that is read or set does not exist.
    """

    _begin = ""

    def __getattr__(self, name: str) -> Any:
        full = self._begin + name
        if full in _values:
            return _values[full]
        if not any(option.startswith(f"{full}.") for option in _values):
            raise AttributeError(f"torch._inductor.config.{full} does not exist in mindtorch")
        group = Group(f"{__name__}.{full}")
        vars(group)["_begin"] = f"{full}."
        return group

    def __setattr__(self, name: str, value: Any) -> None:
        full = self._begin + name
        if full not in _values:
            raise AttributeError(f"torch._inductor.config.{full} does not exist in mindtorch")
        _values[full] = value

    def __delattr__(self, name: str) -> None:
        setattr(self, name, DEFAULTS[self._begin + name])  # restores the default, as ``unittest.mock.patch`` expects

    def __dir__(self) -> list[str]:
        return [name[len(self._begin):] for name in _values if name.startswith(self._begin)]


def get_config_copy() -> dict[str, Any]:
    """Return the values of all settings by their names (``torch._inductor.config.get_config_copy``)."""
    return dict(_values)


def load_config(values: dict[str, Any]) -> None:
    """Set the settings that a dictionary names (``torch._inductor.config.load_config``)."""
    for name, value in values.items():
        setattr(sys.modules[__name__], name, value)


sys.modules[__name__].__class__ = Group
