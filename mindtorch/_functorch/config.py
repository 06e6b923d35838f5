"""Settings of ``torch._functorch``, under PyTorch's names."""
from __future__ import annotations

import sys

from ..utils._config_module import ConfigModule

#: Whether fake tensors keep the real tensors behind them, which decide questions about data.
fake_tensor_propagate_real_tensors = False
#: Whether there may be meta tensors among fake ones.
fake_tensor_allow_meta = True

sys.modules[__name__].__class__ = ConfigModule
