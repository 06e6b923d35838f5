"""Settings of ``torch._functorch``, under PyTorch's names."""
from __future__ import annotations

import sys

from ..utils._config_module import ConfigModule

#: Whether fake tensors keep the real tensors behind them, which decide questions about data.
fake_tensor_propagate_real_tensors = False
#: Whether there may be meta tensors among fake ones.
fake_tensor_allow_meta = True
#: Whether a compiled function checks that its inputs require grad only where they did when it was traced.
debug_assert = False
#: How much of what the backward pass needs may be saved: from 0, the inputs alone, to 1, all that saves time.
activation_memory_budget = 1.0
#: Values further from the backward pass than so many operators are not computed again.
max_dist_from_bw = 1000
#: Which values the min-cut partitioner saves although they could be computed again.
ban_recompute_used_far_apart = True
ban_recompute_long_fusible_chains = True
ban_recompute_materialized_backward = True
ban_recompute_not_in_allowlist = True
ban_recompute_reductions = True
#: Whether views are always made again.
recompute_views = False

sys.modules[__name__].__class__ = ConfigModule
