"""``torch.utils.dlpack``: memory shared with other libraries."""
from .._creation.interop import DLDeviceType, from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
__dir__ = __all__.copy
