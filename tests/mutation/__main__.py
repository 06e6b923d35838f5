"""Change the library one node of the syntax tree at a time, and see whether the tests notice.

``python -m tests.mutation --sample 60 --seed 3 dispatcher pipeline``
"""
from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from .areas import AREAS
from .mutants import Mutant, mutants
from .runs import Tree

TOP = Path(__file__).parents[2]


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
    rows = []
    for name in names:
        area = AREAS[name]
        sources, test_modules = area.sources(tree.tree), area.test_modules(tree.tree)
        tree.survey(sources, test_modules)
        found = [mutant for source in sources for mutant in mutants(source, (tree.tree / source).read_text())]
        chosen = random.Random(f"{options.seed} {name}").sample(found, min(len(found), options.sample // len(names)))
        survivors = [mutant for mutant in chosen if not caught(tree, mutant, test_modules)]
        rows.append((name, len(chosen), len(survivors)))
    print(table(rows))


def caught(tree: Tree, mutant: Mutant, test_modules: list[str]) -> bool:
    """Whether the tests notice a mutant. A survivor is printed."""
    tests = tree.covering(mutant, test_modules)
    if tests and tree.catches(mutant, tests):
        print(".", end="", file=sys.stderr, flush=True)
        return True
    print(f"survived {len(tests)} tests: {mutant.diff}\n", flush=True)
    return False


def table(rows: list[tuple[str, int, int]]) -> str:
    rows.append(("all", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    lines = [f"{name:12} | {count:7} | {count - survived:6} | {survived:4} ({survived / max(count, 1):.0%})"
             for name, count, survived in rows]
    return "\n".join([f"{'module':12} | mutants | caught | survived", *lines])


if __name__ == "__main__":
    main()
