"""``torch.testing``: comparing tensors, and making some to compare."""
from ._comparison import assert_allclose, assert_close
from ._creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
__dir__ = __all__.copy
