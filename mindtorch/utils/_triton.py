"""Report that Triton is missing (``torch.utils._triton``): mindtorch has no device for its kernels."""
from __future__ import annotations


def has_triton_package() -> bool:
    """Return False: kernels of Triton are not run, be it installed or not."""
    return False


def has_triton() -> bool:
    """Return False: there is no device for Triton's kernels."""
    return has_triton_package()
