"""Change the library one node of the syntax tree at a time, and see whether the tests notice.

``python -m tests.mutation --sample 60 --seed 3 dispatcher pipeline``
"""
from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from .areas import AREAS
from .equivalent import reason
from .mutants import Mutant, mutants
from .runs import Tree

TOP = Path(__file__).parents[2]
FATES = ("caught", "equivalent", "survived")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.partition("\n")[0])
    parser.add_argument("areas", nargs="*", metavar="area", help=", ".join(AREAS))
    parser.add_argument("--sample", type=int, default=60, help="how many mutants, evenly over the areas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "mindtorch-mutation",
                        help="where the copy of the tree is, and what is known of which test covers which line")
    options = parser.parse_args()
    names = options.areas or list(AREAS)
    if unknown := set(names) - set(AREAS):
        parser.error(f"no area is called {', '.join(unknown)}; there are {', '.join(AREAS)}")
    tree = Tree(TOP, options.folder)
    everything = [source for area in AREAS.values() for source in area.sources(tree.tree)]
    rows = []
    for name in names:
        area = AREAS[name]
        sources, test_modules = area.sources(tree.tree), area.test_modules(tree.tree)
        tree.survey(everything, test_modules)
        found = [mutant for source in sources for mutant in mutants(source, (tree.tree / source).read_text())]
        chosen = random.Random(f"{options.seed} {name}").sample(found, min(len(found), options.sample // len(names)))
        rows.append((name, Counter(fate(tree, mutant, test_modules) for mutant in chosen)))
    print(table(rows))


def fate(tree: Tree, mutant: Mutant, test_modules: list[str]) -> str:
    """Return the fate of a mutant: one of ``FATES``. Print a survivor."""
    tests = tree.covering(mutant, test_modules)
    if tests and tree.catches(mutant, tests):
        print(".", end="", file=sys.stderr, flush=True)
        return "caught"
    if reason(mutant) is not None:
        print("=", end="", file=sys.stderr, flush=True)
        return "equivalent"
    print(f"survived {len(tests)} tests: {mutant.diff}\n", flush=True)
    return "survived"


def table(rows: list[tuple[str, Counter[str]]]) -> str:
    """Tabulate the fates of the mutants of each area, and the share of survivors among those that tests could catch."""
    rows = [*rows, ("all", sum((counts for _, counts in rows), Counter()))]
    lines = [f"| {name} | {counts.total()} | {' | '.join(str(counts[fate]) for fate in FATES)} "
             f"| {counts['survived'] / max(counts.total() - counts['equivalent'], 1):.0%} |" for name, counts in rows]
    return "\n".join([f"| area | mutants | {' | '.join(FATES)} | share |", "|---" * (len(FATES) + 3) + "|", *lines])


if __name__ == "__main__":
    main()
