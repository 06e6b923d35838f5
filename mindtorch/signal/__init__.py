"""Signal processing under PyTorch's names: ``torch.signal``."""
from . import windows as windows

__all__ = ["windows"]
