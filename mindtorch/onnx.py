"""``torch.onnx``: programs can import it; exporting is left out."""
from typing import NoReturn

from ._base.left_out import reason


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(reason(f"onnx.{name}"))
