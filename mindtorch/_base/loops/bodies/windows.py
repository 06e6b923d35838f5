"""Windows that move by single elements, as ``Columns`` lays them out."""
from __future__ import annotations

from typing import Any

import numpy as np

from .writing import i32, loop, u64


@loop("int32[::1]", "int32[::1]", *["int64"] * 11)
def columns(x: Any, out: Any, height: Any, width: Any, top: Any, left: Any, room: Any, room_width: Any, kernel: Any,
            kernel_width: Any, down: Any, across: Any, count: Any) -> None:
    """Write im2col: for each padded plane and window offset, copy ``count`` consecutive elements."""
    wide, target = np.zeros(room, i32), 0
    for plane in range(len(x) // (height * width)):
        for row in range(height):
            source, start = (plane * height + row) * width, (top + row) * room_width + left
            for i in range(width):
                wide[u64(start + i)] = x[u64(source + i)]
        for row in range(kernel):
            for column in range(kernel_width):
                start = row * down * room_width + column * across
                for i in range(count):
                    out[u64(target + i)] = wide[u64(start + i)]
                target += count


@loop("float32[::1]", "float32[::1]", "float32[::1]", "int64", "int64", "int64")
def real_places(x: Any, bias: Any, out: Any, rows: Any, width: Any, line: Any) -> None:
    """Copy the first ``width`` elements of each line of a channel, without the padding, and add the channel's bias."""
    source, target = 0, 0
    for channel in range(len(out) // (rows * width)):
        added = bias[u64(channel % len(bias))]
        for row in range(rows):
            for i in range(width):
                out[u64(target + i)] = x[u64(source + row * line + i)] + added
            target += width
        source += (rows - 1) * line + width


@loop("int32[::1]", "int32[::1]", "int64", "int64", "int64")
def all_places(x: Any, out: Any, rows: Any, width: Any, line: Any) -> None:
    """Undo ``real_places``, with zeros in the padding."""
    source, target = 0, 0
    while source < len(x):
        for row in range(rows):
            for i in range(width):
                out[u64(target + i)] = x[u64(source + i)]
            source, target = source + width, target + width
            if row + 1 < rows:
                for i in range(line - width):
                    out[u64(target + i)] = 0
                target += line - width
