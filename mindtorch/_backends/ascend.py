"""The Ascend backend's public names under the name of the chip."""
from .npu.api import *  # noqa: F403
from .npu.api import __all__ as _public, get_runtime

__all__ = [*_public, "get_runtime"]
