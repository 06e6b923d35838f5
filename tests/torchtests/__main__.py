"""Run PyTorch's own test files of the compiler against mindtorch (or PyTorch), by the harness for PyTorch's tests.

The harness is a directory with ``run.py``, ``worker.py`` and ``shim.py``; ``MINDTORCH_HARNESS`` names it.
``TORCHTESTS`` names the directory of the test files. All other arguments are the harness's::

    python -m tests.torchtests mindtorch dynamo/test_misc.py --every 3 --json out.json

It leaves out FX, Dynamo and fake tensors as out of scope; ``worker.py`` beside this module has them run.
"""
from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Run the harness with this package's worker."""
    harness = Path(os.environ.setdefault("MINDTORCH_HARNESS", str(HERE.parents[1].parent / "shared" / "torchtests")))
    if not (harness / "run.py").exists():
        sys.exit(f"there is no harness in {harness}; name its directory by MINDTORCH_HARNESS")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])
    run = runpy.run_path(str(harness / "run.py"), run_name="run")
    run["main"].__globals__["HERE"] = str(HERE)  # the directory in which it looks for worker.py
    run["main"]()


if __name__ == "__main__":
    main()
