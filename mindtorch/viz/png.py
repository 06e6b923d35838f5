"""Pixels as a PNG. Pillow, which knows dozens of formats, takes longer to load than a card may take to draw."""
from __future__ import annotations

import struct
import zlib

import numpy as np

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
