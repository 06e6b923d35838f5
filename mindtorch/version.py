"""``torch.version``: which PyTorch this follows, and that it was built without GPUs."""
from .torch_version import __version__ as __version__

cuda = hip = rocm = xpu = git_version = None
debug = False
__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]
