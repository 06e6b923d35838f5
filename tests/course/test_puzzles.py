"""Puzzles: right answers in both libraries, a hint for each usual wrong one, pictures, and their cells in notebooks."""
from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from mindtorch import course
from mindtorch.course.compare import difference
from mindtorch.course.desk import _kind as kind
from mindtorch.course.puzzles import Puzzle
from mindtorch.course.record import Record

from .support import LESSONS, cells, source

LADDERS = [lesson for lesson in LESSONS if lesson.puzzles]
HAS_TORCH = importlib.util.find_spec("torch") is not None


def masters_answer(lesson: Any, puzzle: Puzzle) -> Any:
    """Return the answer in the lesson's master."""
    [cell] = [cell for cell in cells(lesson)
              if cell["metadata"].get("nbgrader", {}).get("grade_id") == f"{lesson.name}-puzzle-{puzzle.name}"]
    text = source(cell)
    assert re.match(r"answer = \.\.\.  # .+\n### BEGIN SOLUTION\n", text)
    assert text.endswith(f'\n### END SOLUTION\ncourse.puzzle("{lesson.name}.{puzzle.name}", answer)')
    names = puzzle.names()
    exec(text.rpartition("\n")[0], names)
    return names["answer"]


@pytest.mark.parametrize("lesson", LADDERS, ids=lambda lesson: lesson.name)
def test_a_puzzle_has_a_right_answer_wrong_ones_with_hints_of_their_own_and_a_picture(lesson: Any) -> None:
    assert len({puzzle.name for puzzle in lesson.puzzles}) == len(lesson.puzzles) >= 6
    for puzzle in lesson.puzzles:
        names = puzzle.names()
        assert puzzle.judge(masters_answer(lesson, puzzle), names) == "", puzzle.name
        assert puzzle.wrong and puzzle.hint and puzzle.reason
        for text, hint in puzzle.wrong:
            assert puzzle.cases or kind(eval(text, dict(names))) == kind(puzzle.answer(names)), (puzzle.name, text)
            assert puzzle.judge(eval(text, dict(names)), names).endswith(hint), (puzzle.name, text)
        assert "<" in puzzle.picture(names), puzzle.name


@pytest.mark.skipif(not HAS_TORCH, reason="PyTorch is not installed")
@pytest.mark.parametrize("lesson", LADDERS, ids=lambda lesson: lesson.name)
def test_answers_to_puzzles_are_those_of_pytorch(lesson: Any) -> None:
    import torch

    for puzzle in lesson.puzzles:
        if puzzle.own or puzzle.cases:
            continue
        ours, theirs = (puzzle.answer(puzzle.names(library)) for library in (course.lessons.torch, torch))
        assert type(ours) is type(theirs) and difference(ours, theirs) is None, (puzzle.name, ours, theirs)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_puzzle_is_shown_then_answered_until_it_is_right(folder: Path) -> None:
    asked = repr(course.puzzle("strides.step"))
    assert "torch.arange(12.)" in asked and "How many places" in asked and "4" not in asked.partition("How")[2]
    wrong = repr(course.puzzle("strides.step", 1))
    assert "✗ your answer: 1" in wrong and "Go one step down." in wrong and "first stride" not in wrong
    assert "✗ your answer: 7" in repr(course.puzzle("strides.step", 7))
    assert Record().solved == []
    assert "✓ your answer: 4" in repr(course.puzzle("strides.step", 4))
    assert "1 of 6" in repr(course.progress())
    assert json.loads((folder / "course.json").read_text())["solved"] == ["strides.step"]


@pytest.mark.parametrize("answer", [(5, 3, 1), [5, 3, 1]])
def test_a_usual_wrong_answer_of_several_numbers_gets_its_hint_in_parentheses_and_in_brackets(
        folder: Path, answer: Any) -> None:
    assert "A size of 1 is stretched" in repr(course.puzzle("broadcasting.aligned", answer))


def test_a_table_stays_closed_until_the_answer_is_right(folder: Path) -> None:
    puzzle = next(puzzle for puzzle in LESSONS[6].puzzles if puzzle.is_table and not puzzle.cases)
    names = puzzle.names()
    task = f"{LESSONS[6].name}.{puzzle.name}"
    assert "<details" in course.puzzle(task, eval(puzzle.wrong[0][0], dict(names)))._repr_html_()
    assert "<details" not in course.puzzle(task, puzzle.answer(names))._repr_html_()


@pytest.mark.parametrize(("task", "answer", "said"), [
    ("strides.step", "four", "a number"), ("strides.skipped", 4, "2 values in parentheses"),
    ("strides.step", {4}, "set"),
])
def test_an_answer_of_another_kind_gets_a_sentence(folder: Path, task: str, answer: Any, said: str) -> None:
    with pytest.raises(course.NotYet, match=said):
        course.puzzle(task, answer)


def test_a_function_is_asked_for_and_its_failing_call_is_shown(folder: Path) -> None:
    assert "The answer is a function, not 3." in repr(course.puzzle("views.sizes", 3))
    assert "it raised ZeroDivisionError" in repr(course.puzzle("views.sizes", lambda shape, stride: 1 / 0))
    assert "with 3 entries where 2" in repr(course.puzzle("views.sizes", lambda shape, stride: list(shape)))
