"""Print what check finds in each program, on mindtorch and on PyTorch: ``python -m tests.notebook.trainings [words]``.

A word chooses the programs whose family or title has it; ``mindtorch`` or ``torch`` alone runs on that library alone.
"""
from __future__ import annotations

import sys
import time
from collections import Counter
from importlib import import_module, util

from . import checked, programs, verdict

NAMES = ("mindtorch", "torch")
words = [word for word in sys.argv[1:] if word not in NAMES]
libraries = [name for name in sys.argv[1:] if name in NAMES] or [name for name in NAMES if util.find_spec(name)]
counts: dict[str, Counter[str]] = {name: Counter() for name in libraries}
began = time.perf_counter()
for program in programs():
    if words and not any(word in str(program) for word in words):
        continue
    found = {name: checked(program.text, import_module(name)) for name in libraries}
    judged = {name: verdict(program, facts) for name, facts in found.items()}
    for name, result in judged.items():
        counts[name][result] += 1
    print(f"{' '.join(f'{judged[name]:8}' for name in libraries)} {program}", flush=True)
    for name, facts in found.items():
        if words or judged[name] not in ("cause", "clean"):
            print("".join(f"{'':10}{name}: {finding.title}{f' (line {finding.place.line})' if finding.place else ''}\n"
                          for finding in facts.findings), end="")
for name, count in counts.items():
    print(f"{name}: {', '.join(f'{number} {what}' for what, number in sorted(count.items()))}")
print(f"{time.perf_counter() - began:.0f} s")
