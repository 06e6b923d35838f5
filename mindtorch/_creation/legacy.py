"""``torch.Tensor(...)``, ``torch.LongTensor(...)`` and subclasses of the tensor."""
from __future__ import annotations

from typing import Any

import numpy as np

from .._dtype import DTYPES, DType, get_default_dtype
from .._errors import NAMES
from .._size import Size
from .._tensor import Tensor, new, tensor_method
from .data import tensor
from .factories import empty


def legacy_constructor(cls: Any, *data: Any, dtype: DType | None = None, device: Any = None, **kwargs: Any) -> Any:
    """``torch.Tensor(2, 3)`` (uninitialised) and ``torch.Tensor([1, 2])`` (float32, whatever the numbers)."""
    if (cls is not Tensor and "__init__" in cls.__dict__) or "__new__" in cls.__dict__:
        out = cls.__new__(cls, *data, **({"dtype": dtype} if dtype else {}), **({"device": device} if device else {}),
                          **kwargs)
        if isinstance(out, cls) and cls.__init__ is not object.__init__:
            cls.__init__(out, *data, **kwargs)
        return out
    dtype = dtype or get_default_dtype()
    if len(data) == 1 and isinstance(data[0], Tensor):
        made = data[0]._shallow_copy_and_detach() if data[0].dtype is dtype else data[0].to(dtype)
    elif len(data) == 1 and isinstance(data[0], (list, tuple, np.ndarray)) and data[0].__class__ is not Size:
        made = tensor(data[0], dtype=dtype, device=device)
    else:
        made = empty(*(data or (0,)), dtype=dtype, device=device)
    return made if cls is Tensor else as_subclass(made, cls)


def _make_subclass(cls: Any, data: Tensor, require_grad: bool = False) -> Any:
    """A leaf on a tensor's data, as an instance of a subclass (``torch.Tensor._make_subclass``)."""
    return as_subclass(data.detach(), cls).requires_grad_(require_grad)


@tensor_method("as_subclass")
def as_subclass(self: Tensor, cls: Any) -> Any:
    """This tensor's data as an instance of a subclass (``torch.Tensor.as_subclass``)."""
    out = new(cls)
    out.__dict__.update(self.__dict__)
    out._hooks = out._accumulator = None
    self.untyped_storage().add_alias(out)
    out._storage, out._version_counter = self._storage, self._version_counter
    return out


Tensor._make_subclass = staticmethod(_make_subclass)  # type: ignore[attr-defined]
type(Tensor).construct = staticmethod(legacy_constructor)


class TypedTensor(type):
    """The type of ``torch.LongTensor`` and its like: calling one makes a tensor, which is an instance of it."""

    dtype: DType

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        return legacy_constructor(Tensor, *args, dtype=cls.dtype, device=device)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.device.type == "cpu"


def typed_constructor(name: str, dtype: DType) -> TypedTensor:
    """``torch.LongTensor`` and the like."""
    doc = f"An uninitialised {dtype.name} tensor of these sizes, or one of these values (``torch.{name}``)."
    return TypedTensor(name, (), {"__doc__": doc, "dtype": dtype, "__module__": __name__.partition(".")[0]})


LEGACY_TENSORS = {f"{name}Tensor": typed_constructor(f"{name}Tensor", DTYPES[dtype]) for dtype, name in NAMES.items()}
