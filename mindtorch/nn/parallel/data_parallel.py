"""Modules on several devices of one process."""
from __future__ import annotations

from typing import Any

from ..module import Module


class DataParallel(Module):
    """Calls a module; PyTorch splits the batch over GPUs, and there are none here (``torch.nn``)."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0):
        super().__init__()
        self.module, self.device_ids = module, []  # type: ignore[var-annotated]

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*inputs, **kwargs)
