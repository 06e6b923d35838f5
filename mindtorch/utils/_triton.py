"""Whether Triton is there (``torch.utils._triton``): never, since mindtorch runs no kernels that are compiled."""
from __future__ import annotations


def has_triton_package() -> bool:
    """Return False: kernels of Triton are not run, be it installed or not."""
    return False


def has_triton() -> bool:
    """Return False: there is no device for Triton's kernels."""
    return has_triton_package()
