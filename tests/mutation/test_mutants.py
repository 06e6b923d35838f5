"""Which mutants a piece of source has."""
from __future__ import annotations

from pathlib import Path

import pytest

from .areas import AREAS
from .equivalent import EQUIVALENT, reason
from .mutants import mutants

TREE = Path(__file__).parents[2]


@pytest.mark.parametrize(("source", "expected"), [
    ("a < b", {"(a <= b)", "(a > b)", "pass"}),
    ("a == b", {"(a != b)", "pass"}),
    ("x = a and not b", {"x = (a or not b)", "x = a and (b)", "pass"}),
    ("x = a + 2", {"x = (a - 2)", "x = a + 3", "pass"}),
    ("x += y", {"x -= y", "pass"}),
    ("f(a, *b, c=True)", {"(f(*b, c=True))", "(f(a, c=True))", "(f(a, *b))", "f(a, *b, c=False)", "pass"}),
    ("if a: pass", {"if (not (a)): pass"}),
    ("[x for x in y if x]", {"[x for x in y if (not (x))]", "pass"}),
    ("def f(a: int = 1) -> 'F':\n  'Text.'\n  return a",
     {"def f(a: int = 2) -> 'F':\n  'Text.'\n  return a", "def f(a: int = 1) -> 'F':\n  'Text.'\n  return None"}),
    ("s = 'é', b", {"s = 'é?', b", "pass"}),
    ("s = f'{a}é'", {"s = (f'{a}é?')", "pass"}),
    ("__all__ = ['a']", set()),
    ("def f():\n    return None", set()),
])
def test_each_change_is_of_one_node_and_leaves_the_other_text_alone(source: str, expected: set[str]) -> None:
    assert {mutant.mutated for mutant in mutants("module.py", source)} == expected


def test_a_mutant_says_where_it_is_and_what_it_changes() -> None:
    mutant = mutants("module.py", "a = 'é'\nif a:\n    b = 'é' + 1\n")[-1]
    assert mutant.diff == "module.py:3\n-    b = 'é' + 1\n+    b = 'é' + 2" and list(mutant.lines) == [3]


def test_equivalent_mutants_are_of_the_library_as_it_is() -> None:
    for row in EQUIVALENT:
        path = f"mindtorch/{row.path}"
        found = [mutant for mutant in mutants(path, (TREE / path).read_text())
                 if mutant.change == (row.before, row.after)]
        assert found and {reason(mutant) for mutant in found} == {row.reason}, row


def test_a_mutant_that_nobody_has_looked_at_is_not_called_equivalent() -> None:
    assert reason(mutants("mindtorch/module.py", "a = 1")[0]) is None


@pytest.mark.parametrize("name", AREAS)
def test_areas_are_of_files_that_exist(name: str) -> None:
    area = AREAS[name]
    assert area.sources(TREE) and area.test_modules(TREE)
