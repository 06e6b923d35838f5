"""mindtorch in IPython: ``%load_ext mindtorch`` and ``%unload_ext mindtorch``."""
from .extension import load, unload

__all__ = ["load", "unload"]
