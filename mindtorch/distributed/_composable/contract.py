"""``torch.distributed._composable.contract``: what all composable functions promise."""
from .._composable_state import contract as contract
