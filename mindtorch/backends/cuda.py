"""``torch.backends.cuda``: there is none. Its settings may be set; those of attention hold for ``sdp_kernel`` only."""
from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from ._flags import flags_of


def is_built() -> bool:
    """Return False: mindtorch is not built for CUDA (``torch.backends.cuda.is_built``)."""
    return False


class _Matmul:
    """Settings of matrix products on a GPU (``torch.backends.cuda.matmul``)."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False
    fp32_precision = "none"


matmul = _Matmul()
_flash = _mem_efficient = _math = _cudnn = True


def _switch(name: str) -> tuple[Any, Any]:
    def enabled() -> bool:
        return bool(globals()[name])

    def enable(enabled: bool) -> None:
        if not isinstance(enabled, bool):
            raise RuntimeError(f"set_sdp_use_math expects a bool, but got {type(enabled).__name__}")
        globals()[name] = enabled

    enabled.__doc__ = "Whether this implementation of attention may be used on a GPU."
    enable.__doc__ = "Set whether this implementation of attention may be used on a GPU."
    return enabled, enable


flash_sdp_enabled, enable_flash_sdp = _switch("_flash")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _switch("_mem_efficient")
math_sdp_enabled, enable_math_sdp = _switch("_math")
cudnn_sdp_enabled, enable_cudnn_sdp = _switch("_cudnn")


def is_flash_attention_available() -> bool:
    """Return False: there is no GPU (``torch.backends.cuda.is_flash_attention_available``)."""
    return False


def sdp_kernel(enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True,
               enable_cudnn: bool = True) -> AbstractContextManager[None]:
    """Return a block with these implementations of attention on a GPU (``torch.backends.cuda.sdp_kernel``)."""
    return flags_of(__name__, {"_flash": enable_flash, "_math": enable_math, "_mem_efficient": enable_mem_efficient,
                               "_cudnn": enable_cudnn})
