"""Warnings that are told once in a process, as PyTorch's ``TORCH_WARN_ONCE``."""
from __future__ import annotations

import warnings
from typing import ClassVar

from ._call_site import outside


class Told:
    """What was told, and whether to tell it at every occasion (``torch.set_warn_always``)."""

    always = False
    messages: ClassVar[set[str]] = set()


def warn_once(message: str, category: type[Warning] = UserWarning, *, always: bool = False) -> None:
    """Warn about the user's line, unless that was done in these words before, or do so ``always``."""
    if always or Told.always or message not in Told.messages:
        Told.messages.add(message)
        warnings.warn(message, category, stacklevel=outside())
