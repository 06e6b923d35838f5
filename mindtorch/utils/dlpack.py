"""``torch.utils.dlpack``: tensors that share memory with those of other libraries."""
from .._creation import from_dlpack as from_dlpack, to_dlpack as to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
