"""``python -m mindtorch tour``: the tour in JupyterLab, or executed to a file."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from .._base.notebooks import IN_REPOSITORY, NOTEBOOKS

COPY = "mindtorch-notebooks"  #: where a wheel's notebooks are copied to, in the current folder


def tour(html: str | None, arguments: list[str]) -> int:
    """Open the tour in JupyterLab, or execute it to an HTML file; the arguments go to JupyterLab or nbconvert.

    The notebooks of a wheel are copied into the current folder first, and are left as they are where they were copied
    before.
    """
    notebook = _folder() / "00_tour.ipynb"
    if html is None:
        # The address that JupyterLab prints is that of its launcher, unless it is told of the notebook by this, too.
        return subprocess.call([sys.executable, "-m", "jupyterlab", f"--LabApp.default_url=/lab/tree/{notebook.name}",
                                str(notebook), *_for_this_machine(arguments)])
    target = Path(html).resolve()
    return subprocess.call([sys.executable, "-m", "nbconvert", "--to", "html", "--execute",
                            "--output-dir", str(target.parent), "--output", target.name, str(notebook), *arguments])


def _folder() -> Path:
    """Return the folder of notebooks to work in: the repository's, or a copy of the wheel's."""
    if NOTEBOOKS == IN_REPOSITORY:
        return NOTEBOOKS
    copy = Path(COPY).resolve()
    if not copy.exists():
        shutil.copytree(NOTEBOOKS, copy)
        print(f"the notebooks are in {copy}", file=sys.stderr)
    return copy


def _for_this_machine(arguments: list[str]) -> list[str]:
    """Return JupyterLab's arguments, with those that root and a machine without a screen need."""
    found = [*arguments]
    if hasattr(os, "geteuid") and os.geteuid() == 0 and "--allow-root" not in found:
        found.append("--allow-root")
    has_screen = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not has_screen and not any(word.startswith("--no-browser") for word in found):
        found.append("--no-browser")
        print("no screen was found: open the address that JupyterLab prints, or, over SSH, forward its port "
              "(ssh -L 8888:localhost:8888 this-machine)", file=sys.stderr)
    return found
