"""The default random number generator: ``torch.random``."""
from __future__ import annotations

from ._backends.random import default_generator, fork_rng, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]
__dir__ = __all__.copy
