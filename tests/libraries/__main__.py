"""``python -m tests.libraries [name ...]``: run libraries' programs on mindtorch and on PyTorch, and print a table."""
from __future__ import annotations

import sys

from .run import compared, names

if __name__ == "__main__":
    outcomes = []
    for name in names(sys.argv[1:]):
        outcome, said = compared(name)
        outcomes.append(outcome)
        print(f"{name:26} {outcome:16} {said}", flush=True)
    ran = [outcome for outcome in outcomes if outcome != "PyTorch fails"]
    print(f"{ran.count('equal')} of {len(ran)} that run on PyTorch print the same numbers")
