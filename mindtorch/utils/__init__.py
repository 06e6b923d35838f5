"""``torch.utils``: tools around the library."""
from typing import TYPE_CHECKING

from .._base.lazy import lazily

if TYPE_CHECKING:
    from .._tensor.swap import swap_tensors as swap_tensors
    from . import checkpoint, data, deterministic, dlpack, hooks, serialization, tensorboard
else:
    __getattr__, __dir__ = lazily(__name__, __file__, ": mindtorch does not have this name of PyTorch")
    __all__ = __dir__()
