"""What the checks of derivatives leave out: one row each, with its reason."""

from __future__ import annotations

# Entries of PyTorch's database whose derivatives cannot be checked by differences.
FIRST: dict[str, str] = {}

# Entries whose second derivatives cannot.
SECOND: dict[str, str] = {}

# Entries that need other tolerances than the usual: (atol, rtol), reason.
TOLERANCES: dict[str, tuple[float, float]] = {}

# Rows of the table of derivatives that no sample reaches.
UNREACHED: dict[str, str] = {}
