"""``torch.utils.model_zoo``: old names of functions of ``torch.hub``."""
from __future__ import annotations

from .. import hub

try:
    from tqdm import tqdm
except ImportError:  # then without a progress bar, as in PyTorch
    def tqdm(iterable: object = (), **options: object) -> object:
        """Return the iterable itself."""
        return iterable

load_url = vars(hub)["load_state_dict_from_url"]
__all__ = ["load_url", "tqdm"]
__dir__ = __all__.copy
