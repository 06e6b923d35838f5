"""``torch.nn.parallel``: modules on several devices, as in a PyTorch that has one."""
from __future__ import annotations

from typing import Any

from .module import Module


class DataParallel(Module):
    """Calls a module; with several GPUs, of which there are none, it would split the batch among them
    (``torch.nn.DataParallel``).
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0):
        super().__init__()
        self.module, self.device_ids = module, []  # type: ignore[var-annotated]

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module returns."""
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(Module):
    """Needs a group of processes, of which there is none (``torch.nn.parallel.DistributedDataParallel``).

    Raises:
        RuntimeError: always.
    """

    def __init__(self, module: Module, *args: Any, **kwargs: Any):
        raise RuntimeError("DistributedDataParallel: the distributed package is not available; programs run in one "
                           "process")


__all__ = ["DataParallel", "DistributedDataParallel"]
__dir__ = __all__.copy
