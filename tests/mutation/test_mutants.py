"""Which mutants a piece of source has."""
from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from .areas import AREAS
from .equivalent import EQUIVALENT, reason
from .hits import Hits, statement_at
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


NOTED = """'Text.'
total = 0


def count(values):
    'Text.'
    global total
    for value in values:
        if (value >
                1):
            total += 1
        elif value: total -= 1
    return lambda: total
"""


def test_hits_are_the_statements_of_functions_that_ran_since_they_were_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "noted_module.py"
    file.write_text(NOTED)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    hits = Hits([str(file)])
    hits.install()
    module = importlib.import_module("noted_module")
    found = hits.lines[str(file)]
    assert found == set() and module.count.__code__.co_firstlineno == 5
    module.count([2])
    assert found == {8, 9, 11, 13} and module.total == 1
    hits.clear()
    module.count([0, 1])
    assert found == {8, 9, 12, 13} and module.total == 0


@pytest.mark.parametrize(("line", "lines", "is_function", "is_imported"), [
    (2, range(2, 3), False, True), (5, range(5, 14), True, True), (9, range(9, 13), False, False),
    (10, range(9, 13), False, False), (11, range(11, 12), False, False), (12, range(12, 13), False, False),
])
def test_the_statement_at_a_line_is_the_innermost(
    line: int, lines: range, is_function: bool, is_imported: bool
) -> None:
    assert statement_at(NOTED, line) == (lines, is_function, is_imported)
