"""The README's tables are tables, and what it says of adding an operator is so."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import mindtorch
from mindtorch import registry
from tests.dispatch.test_registry import restored  # noqa: F401

PACKAGE = Path(mindtorch.__file__).parent
README = (PACKAGE.parent / "README.md").read_text()
SECTION = re.search(r"^### Adding an operator\n(.*?)(?:^##|\Z)", README, re.M | re.S)
assert SECTION is not None
ROWS, NPU_ROWS, EXAMPLE = re.findall(r"^```(?:python|text)\n(.*?)^```", SECTION[1], re.M | re.S)


def words(text: str) -> str:
    return " ".join(text.split())


def test_each_table_has_its_rows_on_lines_of_their_own() -> None:
    lines = README.splitlines()
    rules = [i for i, line in enumerate(lines) if "|---|" in line]
    assert len(rules) > 2
    for i in rules:
        assert set(lines[i]) == {"|", "-"} and lines[i - 1].startswith("| ") and lines[i - 2][:1] in ("", "<"), lines[i]
        assert lines[i + 1].startswith("| ") and lines[i + 1].endswith(" |"), lines[i + 1]


def test_it_can_be_read_at_once_and_its_links_lead_somewhere() -> None:
    assert len(README.splitlines()) <= 250
    for path in (PACKAGE.parent / "README.md", PACKAGE.parent / "notebooks/course/README.md"):
        links = re.findall(r"\]\(([^)#]+)\)", path.read_text())
        assert len(links) > 15 and all((path.parent / link).exists() for link in links)


def test_the_rows_of_an_operator_stand_where_it_says() -> None:
    parts = re.findall(r"^# (\S+\.(?:py|txt)) .*\n((?:.+\n)+?)(?=^# \S+\.(?:py|txt) |\Z)", ROWS + NPU_ROWS, re.M)
    assert len(parts) == 4
    for path, text in parts:
        schema, row = re.fullmatch(r'(?s)(?:schemas\("""\n.*?:\n(.*)"""\)\n)?(.*)', text).groups("")  # type: ignore[union-attr]
        for piece in (schema, row):  # in the file, more rows stand between them
            assert words(piece) in words((PACKAGE / path).read_text()), path


def test_the_example_of_an_operator_of_ones_own_runs(restored: Any) -> None:  # noqa: F811
    x = mindtorch.tensor([0.5, -3.0])
    exec(EXAMPLE, {"torch": mindtorch, "x": x})
    expected = 1 - mindtorch.tanh(x.detach()) ** 2
    assert mindtorch.allclose(x.grad, expected)
    assert registry["softclip"].sentence == "`self`, smoothly limited to `limit`."
