"""Warnings that are issued once in a process, as PyTorch's ``TORCH_WARN_ONCE``."""
from __future__ import annotations

import warnings
from typing import ClassVar

from .call_site import outside


class Told:
    """The warnings issued so far, and whether to repeat them (``torch.set_warn_always``)."""

    always = False
    once: ClassVar[set[str]] = set()


def warn_once(message: str, category: type[Warning] = UserWarning, *, about: str | None = None,
              always: bool = False) -> None:
    """Warn about the user's line, unless these words, or ``about``, were used in an earlier warning."""
    if always or Told.always or (about or message) not in Told.once:
        Told.once.add(about or message)
        warnings.warn(message, category, stacklevel=outside())
