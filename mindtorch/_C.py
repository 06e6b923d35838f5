"""``torch._C``: the probes of the NPU backend's libraries, and the name of the device that is no part of PyTorch."""
from ._backends.npu.aclnn import is_available as _npu_aclnn_available, symbols_ok as _npu_aclnn_symbols_ok

__all__ = ["_get_privateuse1_backend_name", "_npu_aclnn_available", "_npu_aclnn_symbols_ok"]


def _get_privateuse1_backend_name() -> str:
    return "npu"
