"""Change the library one node of the syntax tree at a time, and see whether the tests notice.

``python -m tests.mutation --sample 300 --seed 3``; with ``tests/test_views.py --again 17 40`` behind it, try mutants
of that sample on tests.
"""
from __future__ import annotations

import argparse
import importlib
import os
import tempfile
from collections import Counter
from pathlib import Path

from .equivalent import reason
from .mutants import draw
from .planting import PLAN, install, write_plan
from .runs import IMPORTED, try_all, try_fresh

TOP = Path(__file__).parents[2]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.partition("\n")[0])
    parser.add_argument("tests", nargs="*", default=["tests"], help="what to run")
    parser.add_argument("--sample", type=int, default=300, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", type=int, nargs="+", metavar="number", help="which mutants to try on the tests")
    parser.add_argument("--jobs", type=int, default=2, help="how many mutants to try at a time")
    options = parser.parse_args()
    folder = Path(tempfile.gettempdir()) / f"mindtorch-mutation-{options.seed}{'-again' * bool(options.again)}"
    folder.mkdir(exist_ok=True)
    os.chdir(TOP)
    mutants = draw(TOP, options.sample, options.seed)
    os.environ |= {PLAN: write_plan(TOP, mutants, folder), "PYTHONPATH": f"{folder}:{TOP}"}
    for name in IMPORTED:
        importlib.import_module(name)
    planted = install(os.environ[PLAN])
    found = ({number: try_fresh(planted, number, options.tests, folder) for number in options.again} if options.again
             else try_all(planted, mutants, folder, options.tests, options.jobs))
    counts: Counter[str] = Counter()
    for number, (fate, tests) in sorted(found.items()):
        if fate in ("survived", "unreached") and reason(mutants[number]) is not None:
            fate = "equivalent"
        counts[fate] += 1
        if fate in ("survived", "unreached"):
            print(f"{number} {fate} by {len(tests)} tests: {mutants[number].diff}\n")
    survived = counts["survived"] + counts["unreached"]
    share = survived / max(survived + counts["caught"] + counts["hung"], 1)  # neither of equivalent ones nor of those not imported
    print(", ".join(f"{count} {fate}" for fate, count in counts.items()) + f": {share:.1%} survived")


if __name__ == "__main__":
    main()
