"""What readers call: predictions are committed, checks answer in one line, hints come in tiers, progress is kept."""
from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mindtorch as torch
from mindtorch import course
from mindtorch.course.compare import difference
from mindtorch.course.limits import TimeIsUp, attempt, limited
from mindtorch.course.masters import solution
from mindtorch.course.record import Record
from mindtorch.course.sealing import seal
from mindtorch.viz.course import difference_page

position = solution("strides.position")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


TRACED_AFTER_A_LIMIT = """
import sys
from mindtorch.course.limits import TimeIsUp, limited
for seconds in (60, 0.02):
    try:
        with limited(seconds):
            while seconds < 1:
                pass
    except TimeIsUp:
        print("time is up")
sys.setprofile(lambda *_: None)
print((lambda: "profiled")())
"""


def test_code_can_be_traced_after_a_limit_of_time() -> None:
    """CPython 3.11 does not get beyond a traced function's first instruction while an exception seems on its way."""
    ended = subprocess.run([sys.executable, "-c", TRACED_AFTER_A_LIMIT], capture_output=True, text=True, timeout=60)
    assert ended.stdout.split("\n") == ["time is up", "profiled", ""], ended.stderr


def test_nothing_is_said_before_an_answer_is_committed() -> None:
    with pytest.raises(course.NotYet, match="What are the strides") as said:
        course.predict("strides.t", ...)
    assert "(1, 4)" not in str(said.value)


def test_an_answer_is_committed_before_the_right_one_is_shown() -> None:
    with pytest.raises(course.NotYet, match="Answer first"):
        course.explain("strides.t")
    committed = repr(course.predict("strides.t", (4, 1)))
    assert "your answer: (4, 1)" in committed and "(1, 4)" not in committed and "swaps sizes" not in committed
    shown = repr(course.explain("strides.t"))
    assert "✗ your answer: (4, 1)" in shown and "right is: (1, 4)" in shown and "swaps sizes" in shown


def test_the_first_answer_stays() -> None:
    course.predict("strides.t", (4, 1))
    assert "your first answer: (4, 1)" in repr(course.predict("strides.t", [1, 4]))
    assert "your first answer: (4, 1)" in repr(course.predict("strides.t"))
    assert json.loads(Path("course.json").read_text())["predictions"] == {"strides.t": [4, 1]}


def test_an_answer_is_of_a_kind_that_can_be_kept() -> None:
    with pytest.raises(course.NotYet, match="not set"):
        course.predict("strides.t", {1, 4})
    course.predict("strides.expand", torch.tensor(0))
    assert "✓ your answer: 0" in repr(course.explain("strides.expand"))


@pytest.mark.parametrize(("task", "answer", "said"), [
    ("strides.t", 4, "The answer is 2 values in parentheses, not 4"), ("strides.t", (1, 4, 0), "2 values"),
    ("strides.expand", "none", "a number"), ("views.columns", 1, "True or False"),
    ("allocator.holes", 0, "a text"), ("strides.expand", True, "a number"),
])
def test_an_answer_of_another_kind_is_not_committed(task: str, answer: object, said: str) -> None:
    with pytest.raises(course.NotYet, match=said):
        course.predict(task, answer)
    assert Record().predictions == {}


def test_a_right_part_passes_in_one_line() -> None:
    assert repr(course.check("strides.position", position)) == "✓ strides.position: right, in all 10 cases"


def test_the_solution_is_shown_to_who_passed_or_has_the_key(folder: Path) -> None:
    with pytest.raises(course.NotYet, match="shown when your own has passed"):
        course.solution("strides.position")
    record = Record()
    record.sealed = {"strides.position": seal("def position(): ...", "sesame strides.position")}
    record.write()
    with pytest.raises(course.NotYet, match="not the teacher's key"):
        course.solution("strides.position", key="simsim")
    assert "def position" in repr(course.solution("strides.position", key="sesame"))
    course.check("strides.position", position)
    assert "def position" in repr(course.solution("strides.position"))


def test_hints_come_one_after_the_other() -> None:
    pages = [repr(course.hint("strides.position")) for _ in range(4)]
    assert pages[0] in pages[1].replace("hint 2", "hint 1").replace("1 more", "2 more")
    assert "hint 3" in pages[2] and pages[3] == pages[2]


def test_progress_is_shown_and_kept() -> None:
    course.predict("strides.t", (1, 4))
    with pytest.raises(course.NotYet):
        course.check("strides.position", lambda *args: 0)
    course.check("strides.position", position)
    shown = repr(course.progress())
    assert "1 of 1 right, 2 to make" in shown and "✓ position (2 tries)" in shown


def test_a_name_that_is_meant_is_suggested() -> None:
    with pytest.raises(course.NotYet, match=r"no lab 'strides.postion'; did you mean 'strides.position'"):
        course.check("strides.postion", position)
    with pytest.raises(course.NotYet, match=r"^there is no lab 'x'$"):
        course.hint("x")
    with pytest.raises(course.NotYet, match=r"the name comes first, a text .* not <function"):
        course.check(position, "strides.position")  # type: ignore[arg-type]


def test_a_record_that_cannot_be_read_is_put_aside(folder: Path) -> None:
    (folder / "course.json").write_text("[1, 2")
    with pytest.warns(UserWarning, match="is not a record of the course"):
        course.predict("strides.t", (1, 4))
    assert (folder / "course.unreadable").read_text() == "[1, 2"
    (folder / "course.json").write_text('{"predictions": 7, "passed": ["x"]}')
    assert Record().predictions == {} and Record().passed == ["x"]


def test_a_folder_that_cannot_be_written_to_is_said_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.warns(UserWarning, match="cannot be written"):
        course.predict("strides.t", (4, 1))
    assert "your first answer: (4, 1)" in repr(course.predict("strides.t"))


# -- what readers' code does -------------------------------------------------------------------------------------------


def forever(*args: object) -> None:
    while True:
        pass


def test_what_never_ends_is_ended() -> None:
    assert attempt(forever, seconds=0.1).endless

    def stubborn() -> None:
        while True:
            try:
                forever()
            except TimeIsUp:
                return

    with limited(0.1):
        stubborn()
    time.sleep(0.3)  # nothing comes later


def test_errors_become_a_sentence_with_the_readers_line() -> None:
    def divide(*args: object) -> float:
        return 1 / 0

    with pytest.raises(course.NotYet) as said:
        course.check("strides.position", divide)
    assert "it raised ZeroDivisionError: division by zero (in its line `return 1 / 0`)" in str(said.value)
    assert "calls itself without an end" in attempt(lambda: (f := lambda: f())()).failure
    assert attempt(exit).failure.startswith("it raised SystemExit")


@pytest.mark.parametrize("mine", [..., None, 3])
def test_what_is_no_function_is_said_to_be_none(mine: object) -> None:
    with pytest.raises(course.NotYet, match=r"to be written|must be a function"):
        course.check("strides.position", mine)


def test_a_notebook_shows_the_sentence_alone() -> None:
    assert course.NotYet("so")._render_traceback_() == ["NotYet: so"]
    assert course.Refused("no")._render_traceback_() == ["Refused: no"]


@pytest.mark.parametrize(("expected", "got", "said"), [
    (torch.ones(2), torch.ones(3), "shape is [3], where [2]"),
    (torch.ones(2), torch.ones(2).double(), "dtype is torch.float64, where torch.float32"),
    (torch.ones(2), [1.0, 1.0], "where a tensor float32[2] is right"),
    (torch.ones(2, 2), torch.tensor([[1., 1], [0, 1]]), "1 of 4 values are wrong, the first at [1, 0]: 0, where 1"),
    ((1, 2), [1, 3], "(1, 3), where (1, 2) is right"),
    ((1, 2), (1,), "with 1 entries where 2"),
    (True, 1, "where True or False is right"),
    (3, 4, "it returned 4, where 3 is right"),
    (0.5, None, "returned nothing"),
    ({"a": 1}, {"a": 2}, "a: 2, where 1 is right"), ({"a": 1}, {"b": 2}, "b: 2"), ({"a": 1}, 2, "it returned 2"),
    ({"waits": []}, {"waits": [(1, 2), (3, 4)]}, "waits: (1, 2), (3, 4)"), ({"a": 1}, {"a": None}, "a: none, where 1"),
    ((1, 2), "1, 2", "where a tuple or a list is right"),
])
def test_differences_are_told_in_a_sentence(expected: object, got: object, said: str) -> None:
    found = difference(expected, got)
    assert found is not None and said in found.text


@pytest.mark.parametrize(("expected", "got"), [
    ((1, 2), [1, 2]), (True, np.True_), (3, torch.tensor(3)), (0.1 + 0.2, 0.3), (torch.ones(2), torch.ones(2) + 1e-8),
    (torch.tensor([torch.nan]), torch.tensor([torch.nan])), ((), torch.Size([])),
])
def test_what_is_the_same_in_other_words_is_the_same(expected: object, got: object) -> None:
    assert difference(expected, got) is None


def test_the_picture_shows_both_and_where_they_differ() -> None:
    page = difference_page(torch.tensor([1., 2, 3]), torch.tensor([1., 2, 4]), "f(x)")
    assert page.count("<table") == 3 and "yours" in page and "where they differ" in page


@pytest.mark.parametrize(("written", "said"), [
    ("def position(index, shape, stride, offset):\n"
     "    return offset + sum((i + n if i < 0 else i) * s for i, n, s in zip(index, shape, stride))", "yours, from"),
    ("def position(index, shape, stride, offset):\n    return offset", "missing; yours does not pass yet"),
    ("1 / 0", "missing; its cell in 01_strides.ipynb raised ZeroDivisionError"),
    (None, "missing; 01_strides.ipynb is not in this folder"),
])
def test_a_part_of_an_earlier_lesson_is_the_readers_if_it_passes(written: str | None, said: str, folder: Path,
                                                                capsys: pytest.CaptureFixture[str]) -> None:
    if written is not None:
        cell = {"cell_type": "code", "metadata": {"nbgrader": {"grade_id": "strides-position"}}, "source": [written]}
        (folder / "01_strides.ipynb").write_text(json.dumps({"cells": [cell]}))
    found = course.part("strides.position")
    assert found is None if said.startswith("missing") else found((1, -1), (3, 4), (4, 1), 2) == 9
    assert f"strides.position: {said}" in capsys.readouterr().out


def test_a_value_that_is_nested_too_deeply_is_wrong_and_no_error() -> None:
    deep: Any = 0
    for _ in range(30):
        deep = [deep]
    with pytest.raises(course.NotYet, match="where"):
        course.check("strides.position", lambda *args: deep)


def test_a_part_that_writes_into_what_it_is_given_is_told_so_and_harms_no_later_one() -> None:
    def writes(grad: Any, result: Any) -> Any:
        return grad.mul_(result > 0)

    with pytest.raises(course.NotYet, match="wrote into its argument"):
        course.check("derivatives.relu", writes)
    with pytest.raises(course.NotYet, match="where 0 is right"):
        course.check("derivatives.relu", lambda grad, result: grad)


def test_notebooks_of_one_folder_keep_each_others_predictions(tmp_path):
    first, second = Record(tmp_path), Record(tmp_path)
    first.predictions["a"], second.predictions["b"] = 1, 2
    second.passed.append("lab")
    first.write()
    second.write()
    first.predictions["c"] = 3
    first.write()
    found = Record(tmp_path)
    assert found.predictions == {"a": 1, "b": 2, "c": 3} and found.passed == ["lab"]
