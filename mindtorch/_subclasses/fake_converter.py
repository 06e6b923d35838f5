"""Real tensors as fake ones: each tensor once, and tensors that share memory share it again."""
from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from .._autograd.grad_mode import enable_grad
from .._base.symbolic import is_symbolic
from .._device import META
from .._dispatch.aten import alias
from .._dispatch.dispatcher import switched
from .._dispatch.keys import AUTOGRAD, BATCHED, MATH_BITS, SPARSES
from .._guards import AttrSource
from .._storage import UntypedStorage
from .._tensor import Tensor
from ..nn.parameter import Parameter
from .fake_class import FakeTensor, meta_tensor
from .fake_errors import UnsupportedFakeTensorException


class Memo:
    """A mapping by identity, whose entries live as long as both the key and the value."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Any], weakref.ref[Any]]] = {}

    def get(self, key: Any) -> Any:
        """Return a key's value, None if there is none."""
        entry = self._entries.get(id(key))
        return None if entry is None or entry[0]() is not key else entry[1]()

    def __setitem__(self, key: Any, value: Any) -> None:
        number = id(key)

        def forget(reference: Any) -> None:
            if any(reference is own for own in self._entries.get(number, ())):
                del self._entries[number]

        self._entries[number] = weakref.ref(key, forget), weakref.ref(value, forget)

    def __contains__(self, key: Any) -> bool:
        return self.get(key) is not None

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in [*self._entries.values()] if key() is not None)


class MetaConverter:
    """The meta storages that stand for real ones."""

    def __init__(self) -> None:
        self.storage_memo = Memo()

    def storage(self, tensor: Tensor) -> UntypedStorage:
        """Return the meta storage that stands for a tensor's."""
        real = tensor.untyped_storage()
        found = self.storage_memo.get(real)
        if found is None:
            found = UntypedStorage(real.nbytes(), device=META)
            self.storage_memo[real] = found
        return found


class FakeTensorConverter:
    """Makes fake tensors of real ones, and keeps them for as long as the real ones live
    (``torch._subclasses.fake_tensor.FakeTensorConverter``).
    """

    def __init__(self, *, copy_data: bool = False, export: bool = False) -> None:
        self.tensor_memo = Memo()
        self.meta_converter = MetaConverter()
        self.constants: dict[int, list[weakref.ref[Any]]] = {}

    def add_constant(self, fake: Any) -> None:
        """Note a fake tensor whose value is known, by the memory of its constant."""
        self.constants.setdefault(id(fake.constant.untyped_storage()), []).append(weakref.ref(fake))

    def invalidate_constants(self, constant: Tensor) -> None:
        """Forget the values of fake tensors whose constants share memory with this one."""
        for reference in self.constants.pop(id(constant.untyped_storage()), ()):
            if (fake := reference()) is not None:
                fake.constant = None

    def from_meta_and_device(self, fake_mode: Any, t: Tensor, device: Any, pytype: Any = None) -> Any:
        """Return the fake tensor on a device that a meta tensor describes."""
        found = self.tensor_memo.get(t)
        if found is None:
            found = FakeTensor(fake_mode, t, device)
            self.tensor_memo[t] = found
        return found

    def from_real_tensor(self, fake_mode: Any, t: Tensor, make_constant: bool = False, shape_env: Any = None, *,
                         source: Any = None, symbolic_context: Any = None, trace: bool = True) -> Any:
        """Return the fake tensor that stands for a real one; with a ``ShapeEnv``, with symbolic sizes.

        Raises:
            UnsupportedFakeTensorException: for a tensor inside of ``vmap`` in a block of it.
        """
        found = None if make_constant else self.tensor_memo.get(t)
        if found is not None:
            return found
        if t._keys & BATCHED:
            raise UnsupportedFakeTensorException("a tensor inside of vmap")
        made = self._faked(fake_mode, t, shape_env, source, symbolic_context)
        if make_constant:
            made.constant = t
            self.add_constant(made)
        else:
            self.tensor_memo[t] = made
        return made

    def _faked(self, fake_mode: Any, t: Tensor, shape_env: Any, source: Any, symbolic_context: Any) -> Any:
        sparse = t._keys & SPARSES != 0
        sizes, strides, offset = tuple(t.shape), t._strides(), t._offset
        if shape_env is not None and not sparse and not is_symbolic((*sizes, *strides)):
            sizes, strides, offset = shape_env.create_symbolic_sizes_strides_storage_offset(
                t, source, symbolic_context=symbolic_context)
        with switched(dispatch_modes=()):
            meta = t.detach().to(META) if sparse else meta_tensor(sizes, strides, offset, t._dtype,
                                                                  self.meta_converter.storage(t))
            fake: Any = FakeTensor(fake_mode, meta, t._device)
            fake._keys |= t._keys & MATH_BITS
            if fake_mode.propagate_real_tensors and not isinstance(t, FakeTensor):
                fake.real_tensor = t.detach()
        if isinstance(t, Parameter):
            fake._is_param = True
        if t._keys & AUTOGRAD:
            with fake_mode, enable_grad():
                if t._base is not None and not t._base.requires_grad:
                    fake = alias(fake)  # without grad mode, its views require none
                history = None if t.is_leaf else fake.detach().requires_grad_().view_as(fake)
            fake._keys |= AUTOGRAD
            if history is not None:  # a result of something, which may be written: no view of a leaf
                fake._grad_fn, fake._output_nr = history._grad_fn, history._output_nr
        if t._grad is not None and t.is_leaf:
            of_grad = None if source is None else AttrSource(source, "grad")
            fake._grad = self.from_real_tensor(fake_mode, t._grad, shape_env=shape_env, source=of_grad,
                                               symbolic_context=symbolic_context)
        return fake
