"""Memory on the meta device: sizes without data."""
from __future__ import annotations

from ..._tensor import empty_tensor
from ..common.creation import creation_kernels

KERNELS = creation_kernels("meta", lambda spec, value, device: empty_tensor(spec, device))
