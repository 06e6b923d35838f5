"""Convolutions of ``torch.nn.functional``, which are ``torch``'s."""
from ..._methods.functions import conv1d, conv2d, conv3d, conv_tbc, conv_transpose1d, conv_transpose2d, conv_transpose3d

__all__ = ["conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]
__dir__ = __all__.copy
