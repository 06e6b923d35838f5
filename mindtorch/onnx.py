"""``torch.onnx``: programs that import it run; what it would export is left out."""
from typing import NoReturn

from ._base.left_out import reason


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(reason(f"onnx.{name}"))
