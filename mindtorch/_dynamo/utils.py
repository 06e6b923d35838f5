"""Counters of the compiler (``torch._dynamo.utils``)."""
from __future__ import annotations

import collections

#: What was compiled and why not, by kind: ``frames``, ``stats``, ``graph_break``.
counters: collections.defaultdict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
