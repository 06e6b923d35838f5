"""``torch.types``: the types that annotations of PyTorch's programs name."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, TypeAlias

from ._base.formats import layout as _Layout
from ._base.size import Size
from ._device import device as _Device
from ._dtype import DType as _DType
from ._storage import UntypedStorage as Storage
from ._tensor import Tensor

__all__ = ["Device", "FileLike", "Number", "Storage"]

_bool, _bytes, _complex, _float, _int, _str = bool, bytes, complex, float, int, str
_device, _dtype, _layout = _Device, _DType, _Layout

#: What stands for an element.
Number: TypeAlias = int | float | bool
_Number = (int, float, bool)
#: What says where a tensor is: a device, its name, the index of an accelerator, or None for the default.
Device: TypeAlias = _Device | str | int | None
#: What ``torch.save`` writes to and ``torch.load`` reads from.
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
