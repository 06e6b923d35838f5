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
from collections.abc import Sequence
from pathlib import Path

from .equivalent import reason
from .mutants import Mutant, draw
from .planting import PLAN, install, write_plan
from .runs import IMPORTED, Fates, try_all, try_fresh

TOP = Path(__file__).parents[2]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.partition("\n")[0])
    parser.add_argument("tests", nargs="*", default=["tests"], help="what to run")
    parser.add_argument("--sample", type=int, default=300, help="how many mutants")
    parser.add_argument("--seed", type=int, nargs="+", default=[0], help="of each a sample")
    parser.add_argument("--again", type=int, nargs="+", metavar="number", help="which mutants to try on the tests")
    parser.add_argument("--jobs", type=int, default=2, help="how many mutants to try at a time")
    options = parser.parse_args()
    name = "-".join(["mindtorch-mutation", *map(str, options.seed), *["again"] * bool(options.again)])
    folder = Path(tempfile.gettempdir()) / name
    folder.mkdir(exist_ok=True)
    os.chdir(TOP)
    mutants = [mutant for seed in options.seed for mutant in draw(TOP, options.sample, seed)]
    os.environ |= {PLAN: write_plan(TOP, mutants, folder), "PYTHONPATH": f"{folder}:{TOP}"}
    for name in IMPORTED:
        importlib.import_module(name)
    planted = install(os.environ[PLAN])
    found = ({number: try_fresh(planted, number, options.tests, folder) for number in options.again} if options.again
             else try_all(planted, mutants, folder, options.tests, options.jobs))
    for first, seed in zip(range(0, len(mutants), options.sample), options.seed, strict=True):
        of_seed = {number: found[number] for number in range(first, first + options.sample) if number in found}
        print(f"seed {seed}:", summary(of_seed, mutants))


def summary(found: Fates, mutants: Sequence[Mutant]) -> str:
    """Print which mutants survived, and count what became of all."""
    counts: Counter[str] = Counter()
    for number, (fate, tests) in found.items():
        if fate in ("survived", "unreached") and reason(mutants[number]) is not None:
            fate = "equivalent"
        counts[fate] += 1
        if fate in ("survived", "unreached"):
            print(f"{number} {fate} by {len(tests)} tests: {mutants[number].diff}\n")
    survived = counts["survived"] + counts["unreached"]
    of = survived + counts["caught"] + counts["hung"]  # no equivalent ones, and none with which nothing is imported
    return ", ".join(f"{count} {fate}" for fate, count in counts.items()) + f": {survived / max(of, 1):.1%} survived"


if __name__ == "__main__":
    main()
