"""``torch.hub``: models of other people's repositories, which mindtorch does not fetch."""
from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlparse as urlparse  # which timm imports from here

from ._methods.elsewhere import refusing

_folder: str | None = None


def get_dir() -> str:
    """Return the folder of PyTorch's downloads (``torch.hub.get_dir``)."""
    home = os.environ.get("TORCH_HOME") or Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "torch"
    return _folder or str(Path(home).expanduser() / "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the folder of PyTorch's downloads (``torch.hub.set_dir``)."""
    global _folder
    _folder = os.path.expanduser(d)


def _get_torch_home() -> str:
    return os.path.dirname(get_dir())


HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  #: of a download's name: the beginning of its hash
_refused = ("download_url_to_file", "help", "list", "load", "load_state_dict_from_url")
globals().update(refusing(
    lambda name: RuntimeError(f"torch.hub.{name}: mindtorch fetches nothing from a network; download the file, and "
                              "read it with torch.load"), _refused, "hub"))
__all__ = sorted([*_refused, "get_dir", "set_dir"])
__dir__ = __all__.copy
