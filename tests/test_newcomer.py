"""What the README's test command finds where PyTorch and a browser are not installed: tests, or reasons to skip them.
"""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

IMPORT = """
import sys
for name in ("torch", "playwright", "notebook", "expecttest"):
    sys.modules[name] = None  # importing it fails
from importlib import import_module
from pathlib import Path
import pytest
import tests.conftest
for path in sorted(Path("tests").rglob("test_*.py")):
    try:
        print(import_module(".".join(path.with_suffix("").parts)).__name__)
    except pytest.skip.Exception:
        pass
"""


def test_every_module_of_tests_can_be_imported_without_the_optional_packages() -> None:
    """They are imported as pytest does, but without what it makes of them, which takes most of the time."""
    root = Path(__file__).parent.parent
    found = subprocess.run([sys.executable, "-c", IMPORT], cwd=root, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr[-3000:]
    assert "tests.test_newcomer\n" in found.stdout and "tests.test_random\n" not in found.stdout
