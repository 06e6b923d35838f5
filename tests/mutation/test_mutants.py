"""Which mutants a piece of source has."""
from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .equivalent import EQUIVALENT, reason
from .mutants import Mutant, draw, mutants
from .planting import ACTIVE, CHOICE, LOG, PLAN, Planted, plant, write_plan
from .runs import Known, fork, words_in

TREE = Path(__file__).parents[2]


@pytest.mark.parametrize(("source", "expected"), [
    ("a < b", {"(a <= b)", "(a > b)", "pass"}),
    ("a == b", {"(a != b)", "pass"}),
    ("x = a and not b", {"x = (a or not b)", "x = a and (b)", "pass"}),
    ("x = a + 2", {"x = (a - 2)", "x = a + 3", "pass"}),
    ("x += y", {"x -= y", "pass"}),
    ("f(a, *b, c=True)", {"(f(*b, c=True))", "(f(a, c=True))", "(f(a, *b))", "f(a, *b, c=False)", "pass"}),
    ("if a: pass", {"if (not a): pass"}),
    ("[x for x in y if x]", {"[x for x in y if (not x)]", "pass"}),
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


def test_a_sample_is_of_all_modules_and_the_same_for_a_seed() -> None:
    drawn = draw(TREE, 20, 3)
    assert len(set(drawn)) == 20 and drawn == draw(TREE, 20, 3) != draw(TREE, 20, 4)
    assert len({mutant.path.split("/")[1] for mutant in drawn}) > 5
    assert all(compile(mutant.mutated, mutant.path, "exec", dont_inherit=True) for mutant in drawn)


PLANTED = """'Text.'
LIMIT = 2


def count(values, more=lambda: 1):
    'Text.'
    total = 0
    for value in values:
        if value > LIMIT and value != 5:
            total += value
        elif value: total -= 1
    return total * more()


def nothing():
    'Text.'
"""


def outcome(namespace: dict[str, Any]) -> object:
    try:
        return namespace["count"]([2, 3, 5, 0])
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("mutant", mutants("module.py", PLANTED), ids=lambda mutant: mutant.change[1])
def test_a_planted_mutant_does_what_the_changed_module_does_and_nothing_while_it_is_not_active(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(LOG, raising=False)
    monkeypatch.setenv(ACTIVE, "")
    changed: dict[str, Any] = {}
    exec(mutant.mutated, changed)
    every = {other.index: other.index for other in mutants("module.py", PLANTED)}
    for numbers in {mutant.index: mutant.index}, every:
        code = compile(plant(PLANTED, numbers, -1), "module.py", "exec", dont_inherit=True)
        for active, expected in (mutant.index, outcome(changed)), (None, 1):
            planted = Planted({})
            planted.active = active
            namespace: dict[str, Any] = {CHOICE: planted.choose}
            exec(code, namespace)
            assert outcome(namespace) == expected and mutant.index in planted.reached


def test_functions_note_their_module_where_a_mutant_runs_with_the_import() -> None:
    limit, total = (next(mutant for mutant in mutants("module.py", PLANTED) if mutant.change[0] == before)
                    for before in ("LIMIT = 2", "total = 0"))
    for mutant, noted in (limit, {-1}), (total, set()):
        reached: set[int] = set()
        namespace: dict[str, Any] = {CHOICE: reached.add}
        exec(compile(plant(PLANTED, {mutant.index: 0}, -1), "module.py", "exec", dont_inherit=True), namespace)
        reached.clear()
        namespace["nothing"]()
        assert reached == noted


def test_processes_that_a_test_starts_have_the_active_mutant(tmp_path: Path) -> None:
    source = (TREE / "mindtorch/version.py").read_text()
    mutant = next(each for each in mutants("mindtorch/version.py", source) if each.text == "True")
    folder, log = tmp_path, tmp_path / "log"
    environment = os.environ | {PLAN: write_plan(TREE, [mutant], folder), ACTIVE: "0", LOG: str(log),
                                "PYTHONPATH": f"{folder}:{TREE}"}
    program = "import mindtorch.version; print(mindtorch.version.debug)"
    said = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout == "True\n" and log.read_text() == "0\n"


def test_the_nearest_tests_mention_what_the_statement_does_and_are_known_to_reach_it() -> None:
    mutant = mutants("mindtorch/places.py", "def move_to(place):\n    place.left = 1")[0]
    texts = {"far": "places", "near": "places MoveTo left", "nearer": "places move_to left place", "other": "names"}
    known = Known({name: words_in(text) for name, text in texts.items()})
    assert list(known.nearest(mutant, 0)) == ["nearer", "near", "far"]
    known.reached = {"nearer": frozenset({1}), "far": frozenset({0, 1})}
    known.broken = {"near"}
    assert list(known.nearest(mutant, 0)) == ["far"]
    assert list(known.nearest(mutant, -1)) == ["nearer", "far"]  # of the import of the module: not known from functions


def test_of_a_test_some_parameters_are_near() -> None:
    mutant = mutants("mindtorch/places.py", "left = 1")[0]
    known = Known({f"test[{i}]": words_in("left") for i in range(9)} | {"another": words_in("right")})
    assert len(list(known.nearest(mutant, 0))) == 3


@pytest.mark.parametrize(("task", "ended"), [
    (lambda: 0, True), (lambda: 1, False), (lambda: 1 // 0, False), (lambda: os.kill(os.getpid(), 9) or 0, False),
])
def test_a_run_is_good_if_it_ends_with_0(task: Callable[[], int], ended: bool, tmp_path: Path) -> None:
    assert fork(task, tmp_path / "output").good == ended
