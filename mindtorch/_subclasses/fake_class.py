"""``FakeTensor``: a tensor with a shape and a device, and no memory."""
from __future__ import annotations

from typing import Any

from .._device import META, resolve_device
from .._dispatch.dispatcher import tensors_of
from .._dispatch.keys import BACKEND_OF_DEVICE, MATH_BITS, META as META_KEY, NONCONTIGUOUS, PYTHON, SPARSES
from .._dispatch.torch_function import disabled_torch_function
from .._storage import UntypedStorage
from .._tensor import Tensor, new
from .._tensor.printing import _str as text_of
from .._tensor.sparse import become, sparse_tensor
from .._transforms.pytree import tree_leaves


class FakeTensor(Tensor):
    """A tensor that stands for one on ``fake_device``: operators compute its shape, strides and dtype, and no values
    (``torch._subclasses.fake_tensor.FakeTensor``).

    ``constant`` is the real tensor of a small one whose value is known. The storage has a size and no memory; fake
    tensors share it where the real ones do.
    """

    fake_mode: Any
    constant: Tensor | None = None
    real_tensor: Tensor | None = None
    item_memo: Any = None  #: the version, and the number that ``item`` returned for it
    nonzero_memo: Any = None
    unique_memo: Any = None

    __torch_function__ = disabled_torch_function  # type: ignore[assignment]

    def __new__(cls, fake_mode: Any, elem: Tensor, device: Any, constant: Tensor | None = None,
                real_tensor: Tensor | None = None, pytype: Any = None) -> Any:
        """Return the fake tensor on a device that a meta tensor describes; it shares its storage and version."""
        where = resolve_device(device)
        out: Any = new(cls)
        out.fake_mode, out.constant, out.real_tensor = fake_mode, constant, real_tensor
        if elem._keys & SPARSES:
            out._dtype, out._device = elem._dtype, where
            out._keys = BACKEND_OF_DEVICE[where.type] | PYTHON | elem._keys & (NONCONTIGUOUS | SPARSES)
            return become(out, elem)
        out._shape, out._stride, out._offset, out._dtype = elem.shape, elem._stride, elem._offset, elem._dtype
        out._device, out._storage = where, elem.untyped_storage()
        out._keys = BACKEND_OF_DEVICE[where.type] | PYTHON | elem._keys & (NONCONTIGUOUS | MATH_BITS)
        if elem._version_counter is None:
            elem._version_counter = [0, out._storage]
        out._version_counter = elem._version_counter
        out._storage.add_alias(out)
        return out

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: ``__new__`` has made it."""

    @property
    def fake_device(self) -> Any:
        """The device that the tensor is said to be on."""
        return self._device

    @staticmethod
    def from_tensor(t: Tensor, fake_mode: Any) -> Any:
        """Return the fake tensor that stands for a real one in a mode."""
        return fake_mode.from_tensor(t)

    def described(self) -> Tensor:
        """Return a meta tensor of the same layout, on the same storage, with the same version."""
        if self._keys & SPARSES:
            return sparse_tensor(self._sparse, self.shape)
        storage: Any = self._storage
        out = new(Tensor)
        out._device, out._dtype, out._storage, out._offset = META, self._dtype, storage, self._offset
        out._shape, out._stride = self._shape, self._stride
        out._keys = META_KEY | self._keys & (NONCONTIGUOUS | MATH_BITS)
        if self._version_counter is None:
            self._version_counter = [0, storage]
        out._version_counter = self._version_counter
        storage.add_alias(out)
        return out

    def take_layout(self, meta: Tensor) -> None:
        """Take over the layout of the meta tensor that an operator changed in place."""
        if self._keys & SPARSES:
            become(self, meta)
        elif self._shape is not meta._shape or self._stride is not meta._stride or self._offset is not meta._offset or (
                self._storage is not meta._storage):
            self._set_layout(meta._storage, meta.shape, meta._strides(), meta._offset)

    def tolist(self) -> Any:
        """Return the numbers as nested lists; they are known, or symbols for data."""
        return self.item() if not self.dim() else [part.tolist() for part in self]

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return text_of(self, tensor_contents=None if self._keys & SPARSES else "...")

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator in the mode of the fake tensors among its arguments."""
        modes = [leaf.fake_mode for leaf in tree_leaves([args, kwargs]) if isinstance(leaf, FakeTensor)]
        for mode in modes:
            if mode is not modes[0]:
                raise AssertionError("Mixing fake modes NYI")
        with modes[0]:
            return func(*args, **(kwargs or {}))


def meta_tensor(sizes: Any, strides: Any, offset: Any, dtype: Any, storage: UntypedStorage) -> Tensor:
    """Return a meta tensor of a layout on a storage."""
    out = new(Tensor)
    out._device, out._dtype, out._keys = META, dtype, META_KEY
    out._set_layout(storage, sizes, strides, offset)
    return out


def fakes_among(values: Any) -> list[FakeTensor]:
    """Return the fake tensors among canonical arguments."""
    return [tensor for tensor in tensors_of(values) if isinstance(tensor, FakeTensor)]


