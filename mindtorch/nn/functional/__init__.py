"""``torch.nn.functional``: the functions that modules are made of."""
from .activation import *  # noqa: F403
from .dropout import *  # noqa: F403
from .linear import *  # noqa: F403
from .loss import *  # noqa: F403
from .rearrange import *  # noqa: F403
