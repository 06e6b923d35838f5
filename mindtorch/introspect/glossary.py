"""The same thing under three names: what CANN, CUDA and PyTorch call it. mindtorch's names are PyTorch's."""
from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Term:
    """One thing: its names on an Ascend NPU, on a GPU by CUDA and in PyTorch, '–' where it has none, and what it is."""

    cann: str
    cuda: str
    torch: str
    meaning: str


ENTRIES = re.split(r"\n(?! )", Path(__file__).with_suffix(".txt").read_text("utf-8").strip())
GLOSSARY = tuple(Term(*(re.sub(r"\s+", " ", part).strip() for part in entry.split("|"))) for entry in ENTRIES)
