"""The Ascend backend's public names under the name of the chip, and the parts that it is made of."""
from .npu import creation as creation, ops as ops
from .npu.api import *  # noqa: F403
from .npu.api import __all__ as _public, _model_dir as _model_dir, _probe_model_dirs as _probe_model_dirs, get_runtime
from .npu.runtime import _Runtime as _Runtime

__all__ = [*_public, "get_runtime"]
