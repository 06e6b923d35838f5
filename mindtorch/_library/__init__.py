"""Parts of ``torch.library`` that PyTorch keeps in ``torch._library``."""
from .._base.lazy import lazily

__getattr__, __dir__ = lazily(__name__, __file__)
