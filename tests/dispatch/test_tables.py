"""Tables that are written family by family: what is loaded, when, and what becomes of errors on the way."""
from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mindtorch import registry
from mindtorch._dispatch.tables import FamilyTable


def table_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> FamilyTable:
    """Make a table whose family ``linalg`` is in a module of this source, which finds the table as ``TABLE``."""
    package = tmp_path / "rows_of_a_test"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "linalg.py").write_text(f"from rows_of_a_test import TABLE\n{source}")
    (package / "views.py").write_text("raise AssertionError('nothing of this family was looked up')")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.startswith("rows_of_a_test")]:
        monkeypatch.delitem(sys.modules, name)
    import rows_of_a_test  # type: ignore[import-not-found]

    rows_of_a_test.TABLE = table = FamilyTable(registry)
    table.written_in("rows_of_a_test", [str(package)])
    return table


def test_a_family_is_loaded_when_one_of_its_operators_is_looked_up(tmp_path, monkeypatch) -> None:
    table = table_in(tmp_path, monkeypatch, "TABLE.update({'mm': 1, 'addmm': 2})")
    assert "rows_of_a_test.linalg" not in sys.modules
    assert table.get("add.Tensor") is None and "rows_of_a_test.linalg" not in sys.modules
    assert table["mm"] == 1 and table.get("addmm") == 2 and table.get("bmm") is None


def test_an_error_in_a_familys_module_is_no_missing_row(tmp_path, monkeypatch) -> None:
    table = table_in(tmp_path, monkeypatch, "{}['a mistake']")
    for _ in range(2):
        with pytest.raises(KeyError, match="a mistake"):
            table.get("mm")


def test_a_thread_waits_for_another_that_loads_the_family(tmp_path, monkeypatch) -> None:
    table = table_in(tmp_path, monkeypatch, "import time; time.sleep(0.2); TABLE.update({'mm': 1})")
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(table.get("mm"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1, 1, 1, 1]


def test_importing_the_library_loads_no_kernel_that_nothing_used() -> None:
    program = (
        "import sys, mindtorch as torch; torch.ones(2) + torch.ones(2)\n"
        "print(*[name for name in sys.modules if name.startswith('mindtorch')])"
    )
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    assert "mindtorch._backends.cpu.ops.pointwise" in loaded
    for unused in ("_backends.npu.runtime", "_backends.cpu.ops.factorizations", "_operators.fft",
                   "_operators.linalg", "nn", "optim", "introspect", "viz"):  # fmt: skip
        assert f"mindtorch.{unused}" not in loaded


LOOKED_UP = """
import sys
from mindtorch import registry
from mindtorch._backends.cpu.ops import CPU_KERNELS
operators = sorted(registry.operators.values(), key=lambda op: op.family, reverse={reverse})
found = {{op.name for op in operators if CPU_KERNELS.get(op.name) is not None}}
print(*set(CPU_KERNELS) - found - {{name for name in CPU_KERNELS if name not in registry.operators}})
"""


@pytest.mark.parametrize("reverse", [False, True])
def test_a_kernel_is_found_in_whatever_order_families_are_loaded(reverse: bool) -> None:
    program = LOOKED_UP.format(reverse=reverse)
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "\n"
