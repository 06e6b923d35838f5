"""The notebooks as pages: executed, with solutions folded, and kept until they or the library change."""
from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

SOLUTION = re.compile(r"^ *### (BEGIN|END) SOLUTION\n?", re.M)
HIDDEN = re.compile(r"^ *### BEGIN HIDDEN TESTS\n.*?^ *### END HIDDEN TESTS\n?", re.M | re.S)
LIBRARY = Path(__file__).parents[1] / "mindtorch"
SOURCES = {".py", ".css", ".js", ".txt", ".toml", ".json"}
COURSE = "course/README.md"


def paths(folder: Path) -> list[str]:
    """Return the paths of the notebooks in a folder."""
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*.ipynb")
                  if ".ipynb_checkpoints" not in file.parts)


def course_page(folder: Path) -> str:
    """Return the course's first page, which leads to all lessons."""
    lessons = [path.removeprefix("course/") for path in paths(folder) if path.startswith("course/")]
    text = (folder / COURSE).read_text(encoding="utf-8")
    return f"{text}\n```{{toctree}}\n:hidden:\n\n" + "\n".join(lessons) + "\n```\n"


def outputs(folder: Path, wanted: Iterable[str], jobs: int, cache: Path) -> dict[str, str]:
    """Return executed notebooks by their paths; those are run whose text, or the library, has changed.

    Raises:
        nbclient.exceptions.CellExecutionError: if a cell fails that should not.
    """
    library = digest(*(file.read_bytes() for file in sorted(LIBRARY.rglob("*")) if file.suffix in SOURCES))
    cache.mkdir(parents=True, exist_ok=True)

    def run(path: str) -> str:
        source = (folder / path).read_bytes()
        stem = path.replace("/", "-").removesuffix(".ipynb")
        kept = cache / f"{stem}-{digest(source, library.encode())}.ipynb"
        if not kept.exists():
            notebook = nbformat.reads(source.decode(), 4)
            with tempfile.TemporaryDirectory() as place:  # a reader's progress is kept beside the notebooks
                copied = Path(shutil.copytree(folder, Path(place) / "notebooks"))
                where = {"metadata": {"path": str((copied / path).parent)}}
                NotebookClient(notebook, timeout=600, resources=where).execute()
            for old in cache.glob(f"{stem}-*.ipynb"):
                old.unlink()
            nbformat.write(notebook, kept)
        return kept.read_text(encoding="utf-8")

    found = list(wanted)
    with ThreadPoolExecutor(jobs) as workers:
        return dict(zip(found, workers.map(run, found), strict=True))


def digest(*contents: bytes) -> str:
    """Return a name for contents."""
    total = hashlib.sha256()
    for content in contents:
        total.update(hashlib.sha256(content).digest())
    return total.hexdigest()[:16]


def shown(text: str) -> str:
    """Return a notebook as the site shows it: without hidden tests and markers, with solutions folded."""
    notebook: Any = nbformat.reads(text, 4)
    for cell in notebook.cells:
        source = HIDDEN.sub("", cell.source)
        if cell.cell_type == "code" and SOLUTION.search(source):
            cell.metadata.setdefault("tags", []).append("hide-input")
            cell.metadata.setdefault("mystnb", {})["code_prompt_show"] = "Show a solution"
        cell.source = SOLUTION.sub("", source).rstrip("\n")
    return nbformat.writes(notebook)
