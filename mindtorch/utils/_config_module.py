"""Modules of settings, which can be changed for a block (``torch.utils._config_module``)."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any


class ConfigModule(ModuleType):
    """The class of a module of settings: ``sys.modules[__name__].__class__ = ConfigModule``."""

    @contextmanager
    def patch(self, arg1: str | Mapping[str, Any] | None = None, arg2: Any = None, **changes: Any) -> Iterator[None]:
        """Change settings for a block or, as a decorator, for a function: ``patch(name=value)``, ``patch("name",
        value)`` or ``patch({"name": value})``.

        Raises:
            AttributeError: for a setting that does not exist.
        """
        changes |= {arg1: arg2} if isinstance(arg1, str) else dict(arg1 or {})
        before = {name: getattr(self, name) for name in changes}
        try:
            vars(self).update(changes)
            yield
        finally:
            vars(self).update(before)

    def get_config_copy(self) -> dict[str, Any]:
        """Return the settings by their names."""
        return {name: value for name, value in vars(self).items()
                if not name.startswith("_") and isinstance(value, (bool, int, float, str, type(None)))}
