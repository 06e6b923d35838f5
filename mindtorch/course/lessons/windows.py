"""Lesson 25: what is a convolution made of?"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..tasks import Lab, called, lesson
from . import torch


def _x(*shape):
    count = 1
    for size in shape:
        count *= size
    return (torch.arange(float(count)) % 7 - 3).reshape(shape)


def _weight(*shape):
    return _x(*shape) % 3 - 1


#: Images, kernels, strides and paddings.
CASES = {
    "one channel, 3x3 by 2x2": lambda: (_x(1, 1, 3, 3), _weight(1, 1, 2, 2), (1, 1), (0, 0)),
    "two images": lambda: (_x(2, 1, 4, 4), _weight(1, 1, 3, 3), (1, 1), (0, 0)),
    "three channels to two": lambda: (_x(1, 3, 4, 4), _weight(2, 3, 2, 2), (1, 1), (0, 0)),
    "an image and a kernel that are not square": lambda: (_x(1, 2, 4, 6), _weight(2, 2, 3, 2), (1, 1), (0, 0)),
    "a stride of 2": lambda: (_x(1, 1, 7, 7), _weight(1, 1, 3, 3), (2, 2), (0, 0)),
    "strides of 1 and 3": lambda: (_x(1, 1, 6, 8), _weight(1, 1, 2, 2), (1, 3), (0, 0)),
    "a stride that does not fit": lambda: (_x(1, 1, 6, 6), _weight(1, 1, 3, 3), (2, 2), (0, 0)),
    "a padding of 1": lambda: (_x(1, 1, 3, 3), _weight(1, 1, 3, 3), (1, 1), (1, 1)),
    "paddings of 0 and 2": lambda: (_x(1, 2, 4, 3), _weight(1, 2, 2, 3), (1, 1), (0, 2)),
    "a transposed image": lambda: (_x(1, 2, 5, 4).transpose(2, 3), _weight(2, 2, 2, 3), (1, 1), (0, 0)),
    "a slice of a batch": lambda: (_x(3, 1, 4, 4)[1:], _weight(1, 1, 2, 2), (1, 1), (0, 0)),
    "all at once": lambda: (_x(3, 2, 7, 6)[1:], _weight(3, 2, 3, 2), (2, 1), (1, 0)),
}


def _run(function, case):
    """Return the value of a part, which must not write into its arguments."""
    return {"the result": called(lambda x, weight: function(x, weight, *CASES[case]()[2:]), *CASES[case]()[:2])}


def as_kernel(conv: Callable[..., Any]) -> Callable[..., Any]:
    """Return a part as a kernel of ``aten::convolution`` in two dimensions, for ``course.replace``."""
    def convolution(x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
                    output_padding: Any, groups: int) -> Any:
        if x.dim() != 4 or transposed or groups != 1 or tuple(dilation) != (1, 1):
            raise NotImplementedError("your convolution has two dimensions, one group and no dilation")
        out = conv(x, weight, tuple(stride), tuple(padding)).contiguous()
        return out if bias is None else out + bias[:, None, None]

    return convolution


LESSON = lesson(
    "windows", conv=partial(
        Lab, cases=tuple((case,) for case in CASES), run=_run, describe=str,
        refuses=("convolution", "_convolution", "conv2d", "unfold", "im2col")))
