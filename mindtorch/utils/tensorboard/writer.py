"""Files for TensorBoard, which tensorboardX writes without PyTorch; mirrors ``torch.utils.tensorboard.writer``."""
from __future__ import annotations

from functools import wraps
from typing import Any

from ..._tensor import Tensor

try:
    import tensorboardX
except ImportError as error:
    raise ImportError("torch.utils.tensorboard writes its files with tensorboardX: pip install tensorboardX") from error

__all__ = ["SummaryWriter"]


def _array(value: Any) -> Any:
    return value.numpy(force=True) if isinstance(value, Tensor) else value


class SummaryWriter(tensorboardX.SummaryWriter):
    """Writes scalars, histograms, images, texts and more for TensorBoard
    (``torch.utils.tensorboard.SummaryWriter``): tensorboardX's writer, which takes tensors.
    """

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if not name.startswith("add_"):
            return found

        @wraps(found)
        def with_arrays(*args: Any, **kwargs: Any) -> Any:
            return found(*map(_array, args), **{key: _array(value) for key, value in kwargs.items()})

        return with_arrays
