"""The version that programs ask for: PyTorch's, which this library follows, and its own behind a plus sign."""
from __future__ import annotations

import operator
import re
from collections.abc import Iterable
from typing import Any

from ._base.version import __version__ as own_version

_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)(?:[-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?(\d*))?"
                      r"(?:[-_.]?post(\d*))?(?:[-_.]?(dev)(\d*))?(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?\Z",
                      re.IGNORECASE)


def _key(version: str) -> tuple[Any, ...]:
    """Return the key that orders versions (PEP 440)."""
    match = _VERSION.match(version.strip())
    if match is None:
        raise ValueError(f"Invalid version: {version!r}")
    release, pre, pre_number, post, dev, dev_number, local = match.groups()
    numbers = [int(part) for part in release.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    stage = {"a": 0, "b": 1}.get(pre[0].lower(), 2) if pre else -1 if dev and post is None else 3
    before = (stage, int(pre_number or 0)) if pre else (stage, 0)
    locals_ = tuple((1, int(part), "") if part.isdigit() else (0, 0, part.lower())
                    for part in re.split(r"[-_.]", local)) if local else ()
    return (numbers, before, -1 if post is None else int(post or 0), (0, int(dev_number or 0)) if dev else (1, 0),
            locals_)


def _comparison(name: str) -> Any:
    """Return a method that compares versions, or their text if one is not a valid version."""
    compare, of_texts = getattr(operator, name), getattr(str, f"__{name}__")

    def method(self: str, other: Any) -> Any:
        if not isinstance(other, Iterable):
            return NotImplemented
        try:
            return compare(_key(str(self)), _key(other if isinstance(other, str) else ".".join(map(str, other))))
        except ValueError:
            return of_texts(self, other)

    return method


class TorchVersion(str):
    """A version as text that is compared as a version, with another, its text, or its numbers
    (``torch.torch_version.TorchVersion``): ``torch.__version__ >= "2.1"``, ``torch.__version__ > (2, 1)``.
    """

    __lt__, __le__, __gt__, __ge__ = map(_comparison, ("lt", "le", "gt", "ge"))
    __eq__ = _comparison("eq")

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


__version__ = TorchVersion(f"2.13.0+mindtorch.{own_version}")
