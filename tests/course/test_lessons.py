"""Every lesson: what it asks, the solutions that pass, the wrong ones whose mistake is named, and its notebook."""
from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import mindtorch
from mindtorch import course
from mindtorch._backends.npu import simulator
from mindtorch.course.checking import _alike, judge, unwritten
from mindtorch.course.compare import difference
from mindtorch.course.desk import _plain
from mindtorch.course.masters import MASTERS, hidden, mistakes, solution, source as solution_text
from mindtorch.course.recorded import from_json, recorded
from mindtorch.course.teaching import REFERENCE

from .record import record
from .support import LABS, LESSONS, cells, source


def right(task: str) -> dict[str, Any]:
    """The right solutions of a lab, by name."""
    return {name: one for name, one in vars(module(task)).items() if name.startswith("right_")}


def wrong(task: str) -> dict[str, tuple[str, Any]]:
    """The wrong solutions of a lab, by name, each with a part of the text that it gets."""
    functions = {name: one for name, one in vars(module(task)).items() if name.startswith("wrong_")}
    rows = {f"row {number}": row for number, row in enumerate(getattr(module(task), "WRONG", ()))}
    for number, (hint, before, after) in enumerate(getattr(module(task), "EDITS", ())):
        rows[f"edit {number}"] = hint, edited(module(task), before, after)
    return rows | {name: (" ".join((inspect.getdoc(one) or "").split()), one) for name, one in functions.items()}


def edited(module: ModuleType, before: str, after: str) -> Any:
    """Return the right solution ``EDITED`` of a module with one thing replaced."""
    source, name, space = inspect.getsource(module.EDITED), module.EDITED.__name__, dict(vars(module))
    assert before in source, before
    exec(source.replace(before, after), space)
    return space[name]


def module(task: str) -> ModuleType:
    return importlib.import_module(f"tests.course.solutions.{task.replace('.', '_')}")


WRONG = [(task, name) for task in LABS for name in wrong(task)]
#: Mistakes that do the same as an earlier one, whose hint fits both.
AS_BEFORE = {("npu.launch", 16), ("engines.all_reduce", 22)}
MISTAKES = [(task, number) for task in LABS for number in range(len(mistakes(task))) if (task, number) not in AS_BEFORE]


@pytest.mark.parametrize("task", LABS)
def test_right_solutions_pass(task: str) -> None:
    found = right(task)
    assert len(found) >= 2
    for name, function in {"right": solution(task), **found}.items():
        verdict = judge(task, LABS[task], function, hidden(task))
        assert verdict.passed, f"{name}: {verdict}"


@pytest.mark.parametrize("task", LABS)
def test_the_solution_that_is_shown_passes_in_a_notebook(task: str) -> None:
    space = {"torch": mindtorch, "course": course, "np": np}
    exec(solution_text(task), space)
    assert judge(task, LABS[task], space[LABS[task].function], hidden(task)).passed


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_recorded_outcomes_are_those_of_the_solutions_and_the_mistakes(lesson: Any) -> None:
    again = record(lesson)
    for lab in lesson.labs:
        known = recorded(f"{lesson.name}.{lab.name}")
        right = [from_json(one) for one in again[lab.name]["right"]]
        for outcome, value in zip(right, known.right, strict=True):
            assert difference(value, outcome.value) is None
        assert [hint for hint, _ in again[lab.name]["mistakes"]] == [mistake.hint for mistake in known.mistakes]
        for (_, outcomes), mistake in zip(again[lab.name]["mistakes"], known.mistakes, strict=True):
            for one, as_right, other in zip(outcomes, right, mistake.outcomes, strict=True):
                assert _alike(as_right if one is None else from_json(one), other), mistake.hint


@pytest.fixture
def left_behind() -> Iterator[None]:
    """Looks for the handles that a wrong solution leaves, so that they are not found in a later test."""
    yield
    simulator.check()
    simulator.clear_reports()


@pytest.mark.usefixtures("left_behind")
@pytest.mark.parametrize(("task", "name"), WRONG)
@pytest.mark.sampled(3)
def test_the_hint_names_the_mistake(task: str, name: str) -> None:
    hint, function = wrong(task)[name]
    verdict = judge(task, LABS[task], function)
    assert not verdict.passed
    assert hint and hint in str(verdict), str(verdict)


@pytest.mark.usefixtures("left_behind")
@pytest.mark.parametrize(("task", "number"), MISTAKES)
@pytest.mark.sampled(3)
def test_each_usual_mistake_gets_its_own_hint(task: str, number: int) -> None:
    mistake = mistakes(task)[number]
    verdict = judge(task, LABS[task], mistake.function)
    assert verdict.mistake == (LABS[task].hints[0] if unwritten(mistake.function) else mistake.hint), str(verdict)


@pytest.mark.parametrize("task", LABS)
def test_there_are_ten_wrong_solutions_and_hints_in_tiers(task: str) -> None:
    assert len(wrong(task)) >= 10 and len(LABS[task].hints) >= 3


@pytest.mark.parametrize("task", LABS)
def test_what_is_not_written_gets_the_first_hint(task: str) -> None:
    def unwritten(*args: Any, **kwargs: Any) -> None:
        """Nothing yet."""

    verdict = judge(task, LABS[task], unwritten)
    assert LABS[task].hints[0] in str(verdict)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_the_notebook_asks_all_and_says_the_answer(lesson: Any) -> None:
    text = "\n".join(map(source, cells(lesson)))
    assert f"# {lesson.number}. " in text and "**In PyTorch**" in text
    assert f"## The answer\n\n**{lesson.question}" in text
    for row in lesson.predictions:
        committed = text.index(f'course.predict("{lesson.name}.{row.name}", answer)')
        assert committed < text.index(f'course.explain("{lesson.name}.{row.name}")')
        assert _plain(row.answer) is not ...
    for row in lesson.puzzles:
        assert f'course.puzzle("{lesson.name}.{row.name}", answer)' in text
    for lab in lesson.labs:
        assert f'course.check("{lesson.name}.{lab.name}", {lab.function})' in text
    minutes = sum(cell["metadata"].get("course", {}).get("minutes", 0) for cell in cells(lesson))
    assert minutes == lesson.minutes and 20 <= minutes <= 56
    assert not any(cell.get("outputs") for cell in cells(lesson))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_points_are_those_of_the_labs(lesson: Any) -> None:
    facts = [cell["metadata"]["nbgrader"] for cell in cells(lesson) if "nbgrader" in cell["metadata"]]
    assert [one["points"] for one in facts if one["grade"]] == [lab.points for lab in lesson.labs]
    assert len({one["grade_id"] for one in facts}) == len(facts)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_common_cells_print_the_same_on_pytorch(lesson: Any) -> None:
    import torch

    common = [source(cell) for cell in cells(lesson) if "common" in cell["metadata"].get("tags", ())]
    assert common
    spaces: list[dict[str, Any]] = [{"torch": mindtorch}, {"torch": torch}]
    for code in common:
        ours, theirs = (_printed(code, space) for space in spaces)
        assert ours == theirs, code


def _printed(code: str, space: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, space)
    return printed.getvalue()


#: PyTorch's files that lessons name and that its wheels do not have: looked up in its repository, in 2026.
SOURCES = frozenset(f"{folder}/{name}" for folder, names in {
    "aten/src/ATen": "ExpandUtils.cpp FunctionalInverses.cpp TensorIterator.cpp TensorUtils.cpp autocast_mode.cpp",
    "aten/src/ATen/native": "BinaryOps.cpp Convolution.cpp ConvolutionMM2d.cpp TensorShape.cpp TypeProperties.cpp "
                           "cpu/Unfold2d.cpp im2col.h quantized/FakeQuantPerTensorAffine.cpp "
                           "transformers/attention.cpp ufunc/add.h",
    "c10": "core/ScalarType.cpp cuda/CUDACachingAllocator.cpp",
    "torch/csrc": "autograd/FunctionsManual.cpp autograd/engine.cpp autograd/input_buffer.cpp "
                  "autograd/saved_variable.cpp distributed/c10d/ProcessGroupGloo.cpp "
                  "distributed/c10d/ProcessGroupNCCL.cpp distributed/c10d/reducer.cpp dynamo/guards.cpp",
}.items() for name in names.split())


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_the_source_files_of_pytorch_that_are_named_exist_and_have_the_names_that_are_looked_for(lesson: Any) -> None:
    import torch

    site = Path(torch.__file__).parents[1]
    roots = {"": (MASTERS.parents[1], site, site / "torch/include"), "aten/src/": (site / "torch/include",),
             "aten/": (site / "torchgen/packaged",), "aten/src/ATen/": (site / "torchgen/packaged/ATen",),
             "tools/": (site / "torchgen/packaged",)}
    text = " ".join(paragraph for cell in cells(lesson) for paragraph in source(cell).split("\n\n")
                    if paragraph.startswith("**In PyTorch**"))
    quoted = re.findall(r"`([^`]+)`", text)
    files = [name for name in quoted if "/" in name or name.endswith((".h", ".cpp", ".py"))]
    assert files
    folders, at_hand, all_at_hand = [""], [], True
    for name in files:
        names = [f"{folder}{name}" for folder in folders]  # in full, or beside one that was named before
        paths = [path for full in names for prefix, places in roots.items() if full.startswith(prefix)
                 for place in places if (path := place / full.removeprefix(prefix)).exists()]
        assert paths or SOURCES.intersection(names), name
        at_hand += [path for path in paths[:1] if path.is_file()]
        all_at_hand &= bool(paths)
        folders.append(f"{name.rpartition('/')[0]}/")
    read = "\n".join(path.read_text("utf-8") for path in at_hand)
    for name in set(quoted) - set(files):
        if all_at_hand and re.fullmatch(r"[A-Za-z_]+", name):
            assert re.search(rf"\b{name}\b", read), name


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_the_engine_of_the_lesson_runs_pytorchs_graphs() -> None:
    import torch

    w = torch.arange(6.0).requires_grad_()
    for loss in ((w * w).sum(), (w.reshape(3, 2) * torch.ones(4, 1, 2)).exp().sum(), w.exp().unbind(0)[2]):
        [expected] = torch.autograd.grad(loss, w, retain_graph=True)
        w.grad = None
        with torch.no_grad():
            solution("engine.engine")([(loss.grad_fn, loss.output_nr)], [torch.tensor(1.0)])
        assert w.grad is not None and torch.allclose(w.grad, expected)


def test_the_gallery_says_which_picture_answers_which_question_and_which_lesson_teaches_it() -> None:
    text = source(json.loads((MASTERS.parent / "05_gallery.ipynb").read_text())["cells"][0])
    rows = re.findall(r"^\| (.+\?) \| (.+) \| (.*) \|$", text, re.MULTILINE)
    notebooks = {f"course/{path.name}": path.read_text() for path in MASTERS.glob("*.ipynb")}
    others = {name: (MASTERS.parent / name).read_text() for name in REFERENCE}
    for _, pictures, lessons in rows:
        linked = re.findall(r"\[(\d+)\]\(((?:course/)?\d+_\w+\.ipynb)\)", lessons)
        assert len(linked) == len(lessons.split(", ") if lessons else ())
        for number, name in linked:
            words = [word.split(" ")[0] for word in re.findall(r"`([^`]+)`", pictures)]
            assert int(number) == int(name.removeprefix("course/")[:2])
            text_of = (notebooks | others)[name]
            assert not words or any(word.removesuffix("()") in text_of for word in words), (name, words)
    from mindtorch._run.ipython.magics import MindtorchMagics

    told = set(re.findall(r"`%%?(\w+)", text))
    magics = {name for names in MindtorchMagics.magics.values() for name in names}
    assert magics - told == {"device", "save_picture", "compact", "mindtorch"}  # which draw nothing of their own
    for name, found in notebooks.items():
        assert "../05_gallery.ipynb" in found, name
