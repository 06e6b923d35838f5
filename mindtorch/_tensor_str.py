"""``torch._tensor_str``: the text of tensors, and the parts of it that other libraries put together anew."""
from __future__ import annotations

from ._tensor import Tensor
from ._tensor.printing import PRINT_OPTS as PRINT_OPTS, _append, _contents, _str as _str, printoptions as printoptions


def _tensor_str(self: Tensor, indent: int) -> str:
    """Return the text of a dense tensor's values, in which lines begin with ``indent`` spaces."""
    return _contents(self, indent)


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """Return a text with suffixes, each on a new line if the one before is full, and a bracket at the end."""
    return f"{_append(tensor_str, suffixes, indent, force_newline)})"


def _str_intern(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """Return the text of a tensor, with other contents if given."""
    return _str(self, tensor_contents=tensor_contents)
