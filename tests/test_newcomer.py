"""What the README's test command finds where PyTorch and a browser are not installed: tests, or reasons to skip them.
"""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

COLLECT = """
import sys
for name in ("torch", "playwright", "notebook", "expecttest"):
    sys.modules[name] = None  # importing it fails
import pytest
sys.exit(pytest.main(["--collect-only", "-qq", "--disable-warnings", "-p", "no:cacheprovider", "tests"]))
"""


def test_every_test_can_be_collected_without_the_optional_packages():
    root = Path(__file__).parent.parent
    found = subprocess.run([sys.executable, "-c", COLLECT], cwd=root, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stdout[-3000:]
    assert "tests/test_newcomer.py: 1" in found.stdout and "tests/test_random.py" not in found.stdout
