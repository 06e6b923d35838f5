"""Cases for the simulated kernels, by family."""
from __future__ import annotations

from . import arrays, attention, elements, lists, networks, windows
from .draw import CASES, Case, Draw
