"""``torch.fx.experimental``: tracers and passes."""
from ..._base.lazy import lazily

__getattr__, __dir__ = lazily(__name__, __file__)
