"""Factories that are written in others: memory with the dtype and on the device of a tensor, or in a given order."""
from __future__ import annotations

from typing import Any

from .._base.errors import check
from .._base.layout import Ints, ordered_strides
from .._dispatch.aten import arange_start_step, empty_memory_format as empty, empty_strided, eye_m, full, ones, zeros
from .._dtype import DType
from . import COMPOSITES


def fresh(out: Any) -> Any:
    """A new tensor, after the writes in place that filled it: these do not count in its version."""
    return out._forget_writes()


def new_empty_strided(self: Any, size: Ints, stride: Ints, *options: Any) -> Any:
    """Uninitialised memory of a layout, of this tensor's dtype and on its device."""
    return empty_strided(size, stride, *options_of(self, *options))


def options_of(self: Any, dtype: DType | None = None, layout: Any = None, device: Any = None,
               pin_memory: bool | None = None) -> tuple[Any, ...]:
    """The options of a factory: those of a tensor where they are not given."""
    return dtype or self._dtype, layout, device or self._device, pin_memory


def empty_permuted(size: Ints, physical_layout: Ints, *options: Any) -> Any:
    check(sorted(physical_layout) == list(range(len(size))),
          lambda: "Number of dimensions in size does not match the length of the physical_layout; i.e. "
                  f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(physical_layout)}, or "
                  f"it is no permutation: {tuple(physical_layout)}")
    return empty_strided(size, ordered_strides(size, physical_layout), *options)


COMPOSITES.add(new_empty_strided, empty_permuted)
COMPOSITES.update({
    "arange": lambda end, *options: arange_start_step(0, end, 1, *options),
    "arange.start": lambda start, end, *options: arange_start_step(start, end, 1, *options),
    "eye": lambda n, *options: eye_m(n, n, *options),
    "lift_fresh": lambda self: self,
    "new_empty": lambda self, size, *options: empty(size, *options_of(self, *options)),
    "new_full": lambda self, size, fill_value, *options: full(size, fill_value, *options_of(self, *options)),
    "new_ones": lambda self, size, *options: ones(size, *options_of(self, *options)),
    "new_zeros": lambda self, size, *options: zeros(size, *options_of(self, *options)),
})
