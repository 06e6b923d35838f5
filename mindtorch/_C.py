"""``torch._C``: the probes of the NPU backend's libraries."""
from ._backends.npu.aclnn import is_available as _npu_aclnn_available, symbols_ok as _npu_aclnn_symbols_ok

__all__ = ["_npu_aclnn_available", "_npu_aclnn_symbols_ok"]
