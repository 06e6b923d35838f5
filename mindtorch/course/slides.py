"""The lessons as slides: a page of HTML for each, with what the cells show, and without solutions."""
from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from .teaching import STUB, notebooks

SECONDS = 300  #: that a cell may take


def slides(masters: Path, target: Path, run: bool = True, reveal: str = "") -> list[Path]:
    """Write each lesson as slides, by nbconvert: a heading begins a slide, and what a prediction says comes with the
    next key. ``run`` executes the notebooks first, so that pictures are in them. The pages load reveal.js from
    the network, or from ``reveal``, the address of a folder that has it.

    Raises:
        ImportError: if nbgrader and nbconvert are not installed (``pip install mindtorch[course]``).
        ValueError: if there is no lesson among the masters.
    """
    import nbformat
    from nbconvert.exporters import SlidesExporter
    from nbconvert.preprocessors import ExecutePreprocessor
    from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions

    target.mkdir(parents=True, exist_ok=True)
    exporter = SlidesExporter(**({"reveal_url_prefix": reveal} if reveal else {}))
    written = []
    for master in notebooks(masters):
        notebook = nbformat.read(master, as_version=4)
        if run:
            with tempfile.TemporaryDirectory() as folder:
                resources = {"metadata": {"path": folder}}
                notebook, _ = ExecutePreprocessor(timeout=SECONDS).preprocess(notebook, resources)
        for step in (ClearSolutions(code_stub={"python": STUB}), ClearHiddenTests()):
            notebook, _ = step.preprocess(notebook, {})
        for cell in notebook.cells:
            cell.metadata["slideshow"] = {"slide_type": _kind(cell)}
        html, _ = exporter.from_notebook_node(notebook)
        path = target / f"{master.stem}.slides.html"
        path.write_text(html, "utf-8")
        written.append(path)
    return written


def _kind(cell: Any) -> str:
    """Where a cell stands: on a slide of its own, on the same as the one before, or there after a key."""
    if cell.cell_type == "markdown":
        return "slide" if cell.source.startswith("#") else "fragment"
    return "fragment" if "course.predict(" in cell.source else "-"
