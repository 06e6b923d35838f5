"""mindtorch in IPython: what ``%load_ext mindtorch`` brings and ``%unload_ext mindtorch`` takes away."""
from .extension import load, unload

__all__ = ["load", "unload"]
