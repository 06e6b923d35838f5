"""The committed list of the entries that agree: `agreeing.txt`, one row an entry: its name, its dtypes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("agreeing.txt")


def read() -> dict[str, list[str]]:
    """Read the entries and the dtypes in which each agrees."""
    rows = (line.split() for line in TABLE.read_text().splitlines()) if TABLE.exists() else ()
    return {name: dtypes for name, *dtypes in rows}


def names(dtype: str) -> list[str]:
    """List the entries that agree in `dtype`."""
    return [name for name, dtypes in read().items() if dtype in dtypes]


def update(results: Iterable[Any]) -> None:
    """Put what these results say in the list, and leave what they do not speak of."""
    table = {name: set(dtypes) for name, dtypes in read().items()}
    for result in results:
        dtypes = table.setdefault(result.name, set())
        (dtypes.add if result.status == "agrees" else dtypes.discard)(result.dtype)
    lines = [f"{name:<48} {' '.join(sorted(dtypes))}\n" for name, dtypes in sorted(table.items()) if dtypes]
    TABLE.write_text("".join(lines))


EVERY = 24  # of how many entries in another dtype than float32 and int64 one is in the sample


def sampled() -> list[tuple[str, str]]:
    """List the entries that the suite compares, with their dtype: all in float32 and int64, a sample in the others."""
    pairs = [(name, dtype) for name, dtypes in read().items() for dtype in dtypes]
    usual = [pair for pair in pairs if pair[1] in ("float32", "int64")]
    return usual + [pair for pair in pairs if pair not in set(usual)][::EVERY]
