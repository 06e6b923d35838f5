"""Helpers of modules with windows, under PyTorch's names; mirrors ``torch.nn.modules.utils``."""
from __future__ import annotations

from typing import Any

from .._sizes import (
    ntuple as _ntuple, pair as _pair, quadruple as _quadruple, reverse_repeat as _reverse_repeat_tuple,
    single as _single, triple as _triple, with_defaults as _list_with_default,
)

__all__ = [
    "_list_with_default", "_ntuple", "_pair", "_quadruple", "_reverse_repeat_tuple", "_single", "_triple",
    "consume_prefix_in_state_dict_if_present",
]


def consume_prefix_in_state_dict_if_present(state_dict: Any, prefix: str) -> None:
    """Take a prefix off the names of a state dict, in place (``torch.nn.modules.utils``)."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix):]] = state_dict.pop(key)
    metadata: Any = getattr(state_dict, "_metadata", {})
    for key in list(metadata):
        if key and key.startswith(prefix[:-1]):
            metadata[key[len(prefix):]] = metadata.pop(key)
