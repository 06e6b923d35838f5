"""Random numbers, PyTorch's: generators and the samplers that draw from them."""
from .default import default_generator, fork_rng, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from .generator import Generator
