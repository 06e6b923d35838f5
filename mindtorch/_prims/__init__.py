"""``torch._prims``: the name under which PyTorch's primitives have their helpers."""
from .. import _prims_common as utils

__all__ = ["utils"]
