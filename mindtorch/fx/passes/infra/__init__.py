"""``torch.fx.passes.infra``: sequences of passes, and parts of a graph that a backend takes. Each module is loaded when
it is first used.
"""
from typing import TYPE_CHECKING

from ...._base.lazy import lazily as _lazily

_getattr, __dir__ = _lazily(__name__, __file__)
if not TYPE_CHECKING:
    __getattr__ = _getattr
