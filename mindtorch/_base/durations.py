"""Times formatted for people; only tables that copy PyTorch's exactly do without."""
from __future__ import annotations

import math

UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))  #: with their nanoseconds


def time_text(nanoseconds: float, digits: int = 3) -> str:
    """Format a time in a suitable unit, with ``digits`` significant digits: ``139 ns``, ``6.07 µs``, ``12.4 ms``."""
    rounded = float(f"{nanoseconds:.{digits}g}")  # before choosing the unit: 999.9 ns are 1 µs
    unit, size = next((unit for unit in UNITS if abs(rounded) >= unit[1]), UNITS[-1])
    number = rounded / size
    return f"{number:,.0f} {unit}" if abs(number) >= 10**digits else f"{number:.{digits}g} {unit}"


def period_text(start: float, end: float) -> str:
    """Format a period with enough digits that both ends differ: ``5.00123 s to 5.00125 s``."""
    digits = digits_of(end, end - start)
    return f"{time_text(start, digits)} to {time_text(end, digits)}"


def digits_of(nanoseconds: float, step: float) -> int:
    """Return the number of significant digits that distinguish a time from one a ``step`` later; at least three."""
    lengths = [math.floor(math.log10(max(1.0, abs(time)))) for time in (nanoseconds, step)]
    return max(3, lengths[0] - lengths[1] + 1)
