"""The command: its table, its exit code, and how it keeps the committed list."""

import sys
from pathlib import Path

import pytest

from tests.parity import agreeing, run
from tests.parity.test_compare import Altered
from tests.support import torch


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a separate list, and a library `wrong` in which `abs` is wrong."""
    path = tmp_path / "agreeing.txt"
    monkeypatch.setattr(agreeing, "TABLE", path)
    monkeypatch.setitem(sys.modules, "wrong", Altered(torch, abs=lambda x, **k: torch.abs(x, **k) + 1))
    return path


def test_a_row_says_what_agrees_and_what_differs(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["--lib", "wrong", "abs", "neg", "to_sparse", "lerp"]) == 0
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "float32 1/1" in rows["neg"] and "grad" in rows["neg"] and "meta 2/2" in rows["neg"]
    assert "float32 0/1" in rows["abs"] and "DIFFERS: function 0: value" in rows["abs"]
    assert "sparse layout" in rows["to_sparse"] and "int64 not applicable" in rows["lerp"]
    assert rows["float32:"] == "float32: 2 entries agree of 4 (1 differ, 0 missing, 1 excluded)"


def test_the_list_is_rewritten_where_the_run_looked(table: Path) -> None:
    table.write_text("abs float32 int64\nexp float32\n")
    assert run.main(["--lib", "wrong", "abs", "neg", "--dtype", "float32", "--update"]) == 0
    assert agreeing.read() == {"abs": ["int64"], "exp": ["float32"], "neg": ["float32"]}


def test_an_entry_of_the_list_that_differs_fails_the_run(table: Path) -> None:
    table.write_text("abs float32\nneg float32\n")
    assert run.main(["--lib", "torch", "--agreeing", "--dtype", "float32"]) == 0
    assert run.main(["--lib", "wrong", "--agreeing", "--dtype", "float32"]) == 1
    assert run.main(["--lib", "wrong", "-k", "neg", "--dtype", "float32"]) == 0


def test_families_cover_the_database() -> None:
    listed = {name for family in run.FAMILIES for name in
              [entry.name for entry in run.chosen(run.parse(["--family", family]))]}
    assert len(listed) == len({entry.name for entry in run.chosen(run.parse([]))})


def test_an_unknown_entry_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.main(["asb"])
    assert "the database has no entry asb" in capsys.readouterr().err
