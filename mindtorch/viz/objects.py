"""The picture of a tensor or a module, for whatever asks objects for HTML."""
from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from ..introspect import is_tensor, module_facts, module_name, names_of
from .card import tensor_card
from .html import Markup
from .module import module_page


def picture(value: Any, namespace: Mapping[str, Any] | None = None, *, compact: bool = False) -> Markup:
    """Draw a tensor's card (maybe ``compact``) or a module's tree; names come from the running program."""
    space = vars(sys.modules["__main__"]) if namespace is None else namespace
    if is_tensor(value):
        return tensor_card(value, names_of(space), compact=compact)
    return module_page(module_facts(value, module_name(value, space)))
