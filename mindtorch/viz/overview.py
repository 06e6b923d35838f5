"""Overviews, which a grid of values leaves out: a heat map of the whole, a histogram, and the tensor as pictures."""
from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..introspect import Overview, Statistics, TensorFacts, brightness, picture_layout, pictures, tensor_overview
from ..introspect.overview import SAMPLES
from .html import Markup, join, tag
from .palette import QUIET, count_text, number_text, shape_text

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOURS = {1: 0, 3: 2, 4: 6}  #: the format's colour type by the channels of a pixel: grey, RGB, RGB with opacity


def png(pixels: np.ndarray) -> bytes:
    """Write uint8 pixels [height, width, channels], of 1, 3 or 4 channels, in PNG's format."""
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, COLOURS[channels], 0, 0, 0)
    rows = np.ascontiguousarray(pixels).reshape(height, width * channels)
    lines = np.pad(rows, ((0, 0), (1, 0)))  # each begins with the number of its filter: none
    return SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(lines.tobytes())) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


POSITIVE, NEGATIVE = (217, 115, 13), (61, 125, 230)  #: on white and on black; how opaque tells how large
BROKEN = (150, 60, 160)  #: where a block has a NaN
ZOOM, SMALL = 256, 80  #: pixels, about, that the longer side of an image is enlarged to, and of one of several
BARS = 220, 56  #: width and height of a histogram, in pixels


def overviews(tensor: Any, facts: TensorFacts, is_whole: bool) -> Markup | None:
    """Draw where a tensor's values are large (unless the grid ``is_whole``), their histogram and images."""
    s = facts.statistics
    if s is None:
        return None
    found = None if is_whole else tensor_overview(tensor, s.examined == s.total and not s.nans + s.infinities)
    parts = [None if found is None or len(facts.shape) < 2 else _heat_map(found, facts),
             _histogram(s) if s.histogram else None]
    shown = [part for part in parts if part is not None]
    switch = _pictures(tensor, facts, s)
    return join([tag("div", *shown, class_="mt-overview") if shown else None, switch]) if shown or switch else None


def _heat_map(found: Overview, facts: TensorFacts) -> Markup:
    means, block = found.means, found.block
    finite = np.abs(means[np.isfinite(means)])
    scale = finite.max() if finite.size and finite.max() else 1.0
    level = np.nan_to_num(np.abs(means) / scale, nan=1.0, posinf=1.0)
    colours = np.where((means < 0)[..., None], NEGATIVE, POSITIVE)
    colours = np.where(np.isnan(means)[..., None], BROKEN, colours)
    pixels = np.concatenate([colours, (level * 235)[..., None]], axis=-1).astype(np.uint8)
    matrix = shape_text(facts.shape[-2:])
    slices = math.prod(facts.shape[:-2])
    first = f" (the first of {slices:,} slices)" if slices > 1 else ""
    each = "one element" if block == (1, 1) else f"the mean of about {block[0]} × {block[1]} elements"
    if found.is_sampled:
        each = f"the mean of at most {SAMPLES ** 2} elements sampled from about {block[0]} × {block[1]}"
    said = f"all of {matrix}{first}; each point is {each}; {_colours(found, finite, slices > 1)}"
    return tag("figure", _image(pixels, f"{said}{_strongest(means, block)}", bordered=True), tag("figcaption", said),
               class_="mt-figure")


def _colours(found: Overview, finite: np.ndarray, is_slice: bool) -> str:
    """Name the meaning of the colours that occur."""
    means = found.means
    words = ["orange is positive"] * bool((means > 0).any()) + ["blue is negative"] * bool((means < 0).any())
    words += ["violet has a NaN"] * bool(np.isnan(means).any())
    words += ["full colour has an infinity"] * bool(np.isinf(means).any())
    largest = f", full colour is ±{number_text(float(finite.max()))}" if finite.size and finite.max() else ""
    none = "those sampled" if found.is_sampled else "all of this slice" if is_slice else "all"
    return (", ".join(words) or f"{none} are zero") + largest


def _strongest(means: np.ndarray, block: tuple[int, int]) -> str:
    """Where a heat map has its strongest colour, for those who do not see it."""
    known = np.where(np.isfinite(means), np.abs(means), -1.0)
    row, column = np.unravel_index(int(known.argmax()), known.shape)
    if known[row, column] <= 0:
        return ""
    place = shape_text([int(row) * block[0], int(column) * block[1]])
    return f"; strongest near {place}, {number_text(float(means[row, column]))}"


def _histogram(s: Statistics) -> Markup:
    width, height = BARS
    step, highest = width / len(s.histogram), max(s.histogram)
    bars = [tag("rect", x=f"{i * step:.1f}", y=f"{height - h:.1f}", width=f"{step - 0.7:.1f}", height=f"{h:.1f}")
            for i, count in enumerate(s.histogram) if (h := max(1.0, height * count / highest) if count else 0)]
    low, high = number_text(s.minimum), number_text(s.maximum)
    part = s.histogram.index(highest) / (len(s.histogram) - 1)
    near = number_text(s.minimum * (1 - part) + s.maximum * part)
    said = f"how often each value occurs, from {low} to {high}; most often, {count_text(highest, 'time')}, near {near}"
    svg = tag("svg", tag("title", said), *bars, class_="mt-bars", role="img", aria_label=said,
              viewBox=f"0 0 {width} {height}", width=width, height=height, fill=QUIET)
    ends = tag("div", tag("span", low), tag("span", high), class_="mt-ends")
    of = "" if s.sampled == s.total else f", of {s.sampled:,} sampled"
    return tag("figure", svg, ends, tag("figcaption", f"how often each value occurs{of}"), class_="mt-figure")


def _pictures(tensor: Any, facts: TensorFacts, s: Statistics) -> Markup | None:
    """Draw the switch that shows the tensor as pictures, closed at first."""
    layout = picture_layout(facts.shape)
    found = pictures(tensor, s) if layout else []
    if not found:
        return None
    names = {"N": "pictures", "C": "channels", "H": "height", "W": "width"}
    black, white = ("0", "255") if facts.dtype == "uint8" else map(number_text, brightness(facts.dtype, s))
    said = [f"read as [{', '.join(names[letter] for letter in layout)}]", f"{black} is black, {white} is white"]
    said += list(_left_out(found, facts, layout))
    size = ZOOM if len(found) == 1 else SMALL
    images = [_image(pixels, f"picture {i} of {facts.name or 'the tensor'}: {_shades(pixels)}", size)
              for i, pixels in enumerate(found)]
    body = tag("div", *images, class_="mt-overview")
    noun = "a picture" if layout[0] != "N" else "pictures"
    return tag("details", tag("summary", f"as {noun}"), body, tag("div", " · ".join(said), class_="mt-soft"))


def _shades(pixels: np.ndarray) -> str:
    """Describe a picture in words: its size, and the brightness of its parts."""
    height, width = pixels.shape[:2]
    shades = pixels[..., :3].mean(-1) / 255
    parts = {f"{row} {column}": part.mean()
             for row, rows in zip(("top", "bottom"), np.array_split(shades, 2), strict=True)
             for column, part in zip(("left", "right"), np.array_split(rows, 2, 1), strict=True) if part.size}
    brightest, darkest = max(parts, key=parts.__getitem__), min(parts, key=parts.__getitem__)
    return (f"{height} by {width} pixels, on average {shades.mean():.0%} of white, brightest {brightest} "
            f"({parts[brightest]:.0%}), darkest {darkest} ({parts[darkest]:.0%})")


def _left_out(found: list[np.ndarray], facts: TensorFacts, layout: str) -> Iterator[str]:
    sizes = dict(zip(layout, facts.shape, strict=True))
    if len(found) < sizes.get("N", 1):
        yield f"{len(found)} of {sizes['N']:,}"
    step = -(-sizes["H"] // found[0].shape[0])
    if step > 1:
        yield f"one pixel of every {step} × {step}"


def _image(pixels: np.ndarray, alt: str, size: int = ZOOM, bordered: bool = False) -> Markup:
    """Draw pixels [height, width, channels] as an enlarged image that is part of the page."""
    height, width = pixels.shape[:2]
    zoom = max(1, size // max(height, width))
    data = base64.b64encode(png(pixels)).decode()
    return tag("img", src=f"data:image/png;base64,{data}", alt=alt, title=alt, width=width * zoom, height=height * zoom,
               class_="mt-pixels mt-framed" if bordered else "mt-pixels")
