"""``Tensor.apply_``, ``map_``, ``map2_``: a function of Python called with each element, which is slow."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._base.errors import type_string
from .._creation.interop import from_numpy
from .._dispatch.aten import copy_, expand
from .._dispatch.keys import AUTOGRAD
from .._tensor import Tensor, tensor_method


def _write_each(name: str, self: Tensor, others: tuple[Tensor, ...], function: Callable[..., Any]) -> Tensor:
    """Write ``function(element, ...)`` over each element; RuntimeError for tensors with grad or off the CPU."""
    if any(tensor._keys & AUTOGRAD for tensor in (self, *others)):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    if self.is_meta:
        return self
    if self._device.type != "cpu":
        raise TypeError(f"{name} is only implemented on CPU tensors")
    for other, called in zip(others, ("other",) if len(others) == 1 else ("x", "y"), strict=False):
        if type_string(other) != type_string(self):
            raise TypeError(f"{name}: expected {type_string(self)} for '{called}' (got {type_string(other)})")
    columns = [tensor.reshape(-1).tolist() for tensor in (self, *(expand(other, self.shape) for other in others))]
    made = [function(*elements) for elements in zip(*columns, strict=True)]
    for number in made:
        if not isinstance(number, (int, float, complex)):
            raise TypeError(f"must be real number, not {type(number).__name__}")
    return copy_(self, from_numpy(np.array(made, self._dtype.np).reshape(self.shape)))


@tensor_method("apply_")
def apply_(self: Tensor, callable: Any) -> Tensor:
    """Write ``callable(element)`` in the place of each element (``torch.Tensor.apply_``)."""
    return _write_each("apply_", self, (), callable)


@tensor_method("map_")
def map_(self: Tensor, tensor: Tensor, callable: Any) -> Tensor:
    """Write ``callable(element, other)`` over each element; ``other`` is broadcast (``torch.Tensor.map_``)."""
    return _write_each("map_", self, (tensor,), callable)


@tensor_method("map2_")
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:
    """Apply ``callable`` to the elements of three tensors and write the results in place (``torch.Tensor.map2_``)."""
    return _write_each("map2_", self, (x, y), callable)
