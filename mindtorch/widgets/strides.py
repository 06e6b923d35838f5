"""The stride explorer: what a shape, strides and an offset read of a storage."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ipywidgets import BoundedIntText, Button, IntSlider, Layout, Play, VBox, link

from .._base.layout import contiguous_strides
from .._creation import arange
from ..introspect import StrideFacts, is_tensor, stride_facts
from ..viz import strides_page, strides_text
from ..viz.html import Markup
from .base import NAMES, Explorer, in_row

DIMENSIONS = 4  #: at most
LARGEST = 4096  #: size that can be typed


class StrideExplorer(Explorer):
    """Change a layout by sliders, and see which elements of a storage it reads, in which order, which several times,
    which outside, and PyTorch's error then.

    ``source`` is a tensor, or a number of elements. Shape and offset are by default the tensor's, and the strides the
    tensor's or, for another shape, those of a contiguous tensor. Strides and offset count elements. Its controls are
    ``sizes``, ``strides``, ``offset``, ``dimensions`` and ``read``. Raises TypeError if ``source`` is neither a tensor
    nor a number, and ValueError if there are more than 4 dimensions, or not as many strides as sizes.
    """

    def __init__(self, source: Any = 12, shape: Sequence[int] | None = None,
                 stride: Sequence[int] | None = None, offset: int | None = None):
        self.tensor = _tensor(source)
        shape = tuple(self.tensor.shape if shape is None else shape)
        if stride is None:
            stride = self.tensor.stride() if shape == tuple(self.tensor.shape) else contiguous_strides(shape)
        stride = tuple(stride)
        offset = self.tensor.storage_offset() if offset is None else offset
        if len(shape) != len(stride):
            raise ValueError(f"a shape of {len(shape)} dimensions needs as many strides, not {len(stride)}")
        if len(shape) > DIMENSIONS:
            raise ValueError(f"the stride explorer shows {DIMENSIONS} dimensions at most, not {len(shape)}")
        if any(not 0 <= size <= LARGEST for size in shape):
            raise ValueError(f"sizes must be from 0 to {LARGEST}: {shape}")
        storage = self.tensor.untyped_storage().nbytes() // self.tensor.element_size()
        far = max(min(storage, 64), 8, *(abs(step) for step in stride), 8)
        self.dimensions = BoundedIntText(len(shape), min=0, max=DIMENSIONS, description="dimensions", style=NAMES)
        ones = (1,) * DIMENSIONS
        self.sizes = [_slider(f"size {d}", 0, max(12, *shape, 12), (*shape, *ones)[d]) for d in range(DIMENSIONS)]
        low = min(-1, *stride, -1)
        self.strides = [_slider(f"stride {d}", low, far, (*stride, *ones)[d]) for d in range(DIMENSIONS)]
        self.offset = _slider("offset", min(-2, offset), max(min(storage, 64), offset, 8), offset)
        self.read = _slider("read so far", 0, 1, 0)
        self.play = Play(min=0, max=1, value=0, interval=400, description="read in order")
        link((self.play, "value"), (self.read, "value"))
        self.row_major = Button(description="contiguous", tooltip="the strides of a contiguous tensor")
        self.turned = Button(description="transpose", tooltip="the dimensions in reverse order")
        self.row_major.on_click(lambda _: self.set(self.shape, contiguous_strides(self.shape), 0))
        self.turned.on_click(lambda _: self.set(self.shape[::-1], self.stride[::-1], self.offset.value))
        self._rows = [in_row(*pair) for pair in zip(self.sizes, self.strides, strict=True)]
        self._layout: Any = None
        self.arrange()
        watched = [self.dimensions, *self.sizes, *self.strides, self.offset, self.read]
        buttons = in_row(self.dimensions, self.row_major, self.turned)
        super().__init__([buttons, VBox(self._rows), in_row(self.offset, self.read, self.play)], watched)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that the controls are set to."""
        return tuple(slider.value for slider in self.sizes[: self.dimensions.value])

    @property
    def stride(self) -> tuple[int, ...]:
        """The strides that the controls are set to."""
        return tuple(slider.value for slider in self.strides[: self.dimensions.value])

    @property
    def facts(self) -> StrideFacts:
        """The elements that the layout reads."""
        return stride_facts(self.tensor, self.shape, self.stride, self.offset.value)

    def set(self, shape: Sequence[int], stride: Sequence[int], offset: int = 0) -> None:
        """Set another layout, and widen the sliders where it needs that."""
        with self.one_change():
            self.dimensions.value = len(shape)
            sliders = [*self.sizes[:len(shape)], *self.strides[:len(stride)], self.offset]
            for slider, value in zip(sliders, (*shape, *stride, offset), strict=True):
                slider.min, slider.max = min(slider.min, value), max(slider.max, value)
                slider.value = value

    def arrange(self) -> None:
        layout = self.shape, self.stride, self.offset.value
        for d, row in enumerate(self._rows):
            row.layout.display = "flex" if d < self.dimensions.value else "none"
        if layout == self._layout:
            return
        self._layout = layout
        count = len(self.facts.positions)
        self.read.max = self.play.max = count
        self.read.value = count

    def page(self) -> Markup:
        return strides_page(self.facts, self.read.value)

    def text(self) -> str:
        return strides_text(self.facts)


def _slider(name: str, low: int, high: int, value: int) -> IntSlider:
    return IntSlider(value, min=low, max=high, description=name, style=NAMES, layout=Layout(width="21rem"))


def _tensor(source: Any) -> Any:
    if is_tensor(source):
        return source.detach()
    if isinstance(source, bool) or not isinstance(source, int):
        raise TypeError(f"the stride explorer needs a tensor or a number of elements, not {type(source).__name__}")
    if source < 0:
        raise ValueError(f"a storage cannot have {source} elements")
    return arange(source)


stride_explorer = StrideExplorer
