"""The Conjugate and Negative keys: tensors whose elements are the conjugates, or the negatives, of their memory.

``conj`` of a complex tensor is a view with the Conjugate key, and the imaginary part of that view has the Negative key;
nothing is computed. Views and a few other operators handle the keys. Any other operator receives resolved copies, and
its writes to a copy are copied back (ATen's ``MathBitsFallback.h``).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._base.layout import Spec, contiguous_strides
from ..._dispatch.dispatcher import TENSOR_TYPES, key_handlers, registry, resolve
from ..._dispatch.keys import BACKENDS, CONJUGATE, MATH_BITS, NEGATIVE, NONCONTIGUOUS, PYTHON
from ..._dispatch.registry import Operator
from ..._tensor import empty_tensor
from .convert import copy_, strides_for

#: Operators that only read a tensor's shape, dtype and device.
LOOK_AT_NO_ELEMENTS = {"empty_like", "full_like", "set_", "set_.source_Tensor", "set_.source_Storage_storage_offset",
                       "set_.source_Tensor_storage_offset"}
#: Operators whose PyTorch kernels handle conjugated tensors: ``__torch_dispatch__`` receives these unresolved.
TAKE_CONJUGATES = {"addmm", "addmm_", "baddbmm", "baddbmm_", "bmm", "dot", "mm", "vdot", "repeat_interleave.Tensor"}


def on_math_bits(op: Operator, keys: int) -> Callable[..., Any]:
    """Return the function for the Conjugate and Negative keys: run the operator on resolved tensors."""
    rest = keys & ~MATH_BITS
    inner = op.table.get(rest) or resolve(op, rest)
    kernel = op.kernel((backend := keys & BACKENDS) & -backend)
    if op.name in LOOK_AT_NO_ELEMENTS or (kernel is not None and kernel.makes_view):
        return inner
    if rest & PYTHON and (not keys & NEGATIVE if op.name in TAKE_CONJUGATES else op.name in OWN):
        return key_handlers[PYTHON](op, keys & ~PYTHON)  # without a ``__torch_dispatch__``, they are resolved below
    if op.name in OWN and not rest & PYTHON:
        return OWN[op.name](inner)
    python = keys & PYTHON

    def call(*args: Any) -> Any:
        given = [_resolved_all(arg, python) for arg in args]
        result = inner(*given)
        written = {len(args) - 1} if op.is_out else op.writes
        for place in written:
            for target, values in zip(_listed(args[place]), _listed(given[place]), strict=True):
                if target is not values:
                    below(registry["copy_"], target, python)(target, values)
                    result = _exchanged(result, values, target)
        return result

    return call


def _listed(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else (value,)


def _exchanged(result: Any, old: Any, new: Any) -> Any:
    """Replace one tensor in a result by another."""
    if isinstance(result, (list, tuple)):
        kind = getattr(type(result), "_make", type(result))
        return kind([new if item is old else item for item in result])
    return new if result is old else result


def below(op: Operator, tensor: Any, python: int = 0) -> Callable[..., Any]:
    """Return an operator's function below autograd; with the Python key, ``__torch_dispatch__`` receives the call."""
    keys = tensor._keys & (BACKENDS | NONCONTIGUOUS | MATH_BITS) | python
    return op.table.get(keys) or resolve(op, keys)


def aliased(tensor: Any, bits: int) -> Any:
    """Return an alias of a tensor with some of its bits flipped, outside the graph."""
    out = tensor._saved_alias()
    out._keys ^= bits
    return out


def resolved(tensor: Any, python: int = 0) -> Any:
    """Return a tensor whose memory holds its elements: itself, or a copy outside the graph."""
    return below(registry["clone"], tensor, python)(tensor) if tensor._keys & MATH_BITS else tensor


def _resolved_all(value: Any, python: int) -> Any:
    if value.__class__ in TENSOR_TYPES:
        return resolved(value, python)
    if (kind := value.__class__) is list or kind is tuple:
        return kind([_resolved_all(item, python) for item in value])
    return value


def cloning(inner: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``clone`` to conjugate and negate for real, since it copies anyway."""

    def clone(self: Any, memory_format: Any = None) -> Any:
        values = aliased(self, self._keys & MATH_BITS)
        if self._keys & CONJUGATE:
            values = below(registry["_conj_physical"], values)(values)
        if self._keys & NEGATIVE:
            values = below(registry["neg"], values)(values)
        shape = tuple(self.shape)
        strides = strides_for(self, memory_format) or contiguous_strides(shape)
        if values._strides() == strides:
            return values
        return copy_(empty_tensor(Spec(shape, self._dtype, strides), self._device), values)

    return clone


def copying(inner: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``copy_`` to write ``src`` as the memory of ``self`` represents it: conjugated or negated as needed."""

    def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
        bits = self._keys & MATH_BITS
        if bits:
            flipped = bits if src._dtype.is_complex else bits & NEGATIVE  # a real number is its own conjugate
            inner(aliased(self, bits), resolved(aliased(src, flipped)), non_blocking)
        else:
            inner(self, resolved(src), non_blocking)
        return self

    return copy_


def of_conjugates(first: bool) -> Callable[..., Any]:
    """Return the wrapper of a dot product of vectors of which the second is conjugated, and the first or not: the
    conjugate of the ``dot`` of their memories.
    """

    def wrapper(inner: Callable[..., Any]) -> Callable[..., Any]:
        def product(self: Any, other: Any) -> Any:
            self, other = (resolved(x) if x._keys & NEGATIVE else x for x in (self, other))
            if other._keys & CONJUGATE and bool(self._keys & CONJUGATE) is first:
                left, right = aliased(self, CONJUGATE * first), aliased(other, CONJUGATE)
                return aliased(below(registry["dot"], left)(left, right), CONJUGATE)
            return inner(resolved(self), resolved(other))

        return product

    return wrapper


OWN = {"clone": cloning, "copy_": copying, "dot": of_conjugates(True), "vdot": of_conjugates(False)}
