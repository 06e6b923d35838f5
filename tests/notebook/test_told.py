"""All that ``%why`` and ``%check`` say of the mistakes in these tests, word for word: it stands in ``told.txt``.

After a change of the words, ``python -m tests.notebook.test_told`` writes the file anew, to be read before it is
committed.
"""
from __future__ import annotations

import contextlib
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest

import mindtorch
from mindtorch.introspect.why import Places

from .errors import ERRORS, caught, explain
from .mistakes import MISTAKES
from .silent import BUGS
from .test_check import checked
from .test_mistakes import IDS, explained

TOLD = Path(__file__).with_name("told.txt")
BEGIN = "=== "


def told(facts: Any) -> str:
    """Return what an explanation or a finding says, with what its pictures are drawn of."""
    lines = [f"{facts.kind}: {facts.title}", facts.cause, *(f"- {fix.text}: {fix.code}" for fix in facts.fixes)]
    for picture in facts.pictures:
        fields = [f"{name}={value!r}" for name, value in vars(picture).items()
                  if not (isinstance(picture, Places) and name == "storage")]
        lines.append(f"{type(picture).__name__}({', '.join(fields)})")
    text = "\n".join(line.rstrip() for line in "\n".join(lines).splitlines())
    text = text.replace(os.getcwd(), "/folder").replace(str(Path(__file__).parent), "/tests")
    return re.sub(r"0x[0-9a-f]{6,}|(?<=\.py:)\d+( in \w+, failed: \w+)?", "…", text)  # clipped where a path is long


def of_errors(number: int) -> str:
    return told(explain(caught(ERRORS[number][1])))


def of_mistakes(number: int) -> str:
    return told(explained(mindtorch, MISTAKES[number]))


def of_bugs(number: int) -> str:
    return "\n".join(map(told, checked(BUGS[number][2]).findings))


CASES = {**{f"why, error {i} {row[0]}": (of_errors, i) for i, row in enumerate(ERRORS)},
         **{f"why, mistake {name.partition(chr(10))[0]}": (of_mistakes, i) for i, name in enumerate(IDS)},
         **{f"check {i} {bug[0]}": (of_bugs, i) for i, bug in enumerate(BUGS)}}


def written() -> dict[str, str]:
    parts = [part.partition("\n") for part in TOLD.read_text(encoding="utf-8").split(f"\n{BEGIN}")[1:]]
    return {name: text.rstrip("\n") for name, _, text in parts}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("name", "text"), written().items(), ids=written())
def test_what_is_told_of_a_mistake_is_what_is_written(name: str, text: str) -> None:
    of, number = CASES[name]
    assert of(number) == text


def test_every_mistake_is_written_down() -> None:
    assert list(written()) == list(CASES)


def main() -> None:
    os.environ["MINDTORCH_NPU_FAILURE_MODE"] = "continue"  # as in tests
    text = "What is told of each mistake: see test_told.py.\n"
    for name, (of, number) in CASES.items():
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            text += f"\n{BEGIN}{name}\n{of(number)}\n"
    TOLD.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
