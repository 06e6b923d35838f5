"""PyTorch's tensors: its answers to what introspection asks. See ``library.Library``.

PyTorch is not imported here: what it answers for exists only where the program has imported it. What is asked of its
tensors runs outside of the program's modes, so that no mode sees it, and no class's own ``__torch_function__`` or
``__torch_dispatch__`` is run.
"""
from .answers import PyTorch
from .dispatching import asked, user_site
from .loaded import is_pytorchs, is_pytorchs_node, is_pytorchs_tensor, library_path, pytorch
from .nodes import watching_nodes
from .profiling import Measured, Overhead, Ran, measured

__all__ = ["Measured", "Overhead", "PyTorch", "Ran", "asked", "is_pytorchs", "is_pytorchs_node",
           "is_pytorchs_tensor", "library_path", "measured", "pytorch", "user_site", "watching_nodes"]
