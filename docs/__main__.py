"""Build the site: ``python -m docs`` writes ``docs/_build/html``, which can be read from the file system.

The pages in ``text``, the executed notebooks, the reference made from schemas and docstrings, and a page for each room
of the house are put together as one tree of sources, which Sphinx turns into HTML. Then every link is checked. Executed
notebooks are kept until they, or the library, change.
"""
from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

from . import inside, links, notebooks, reference

HERE = Path(__file__).parent
REPOSITORY = HERE.parent
NOTEBOOKS = REPOSITORY / "notebooks"
#: Documents that the site shows as they stand in the repository.
COPIED = {"CHANGELOG.md": "changelog.md", "tests/differences.md": "differences.md",
          "tests/torchtests.md": "torchtests.md", "tests/npu/simulator.md": "simulator.md"}


def sources(execute: bool, jobs: int, cache: Path) -> dict[str, bytes]:
    """Return all sources of the site by their paths."""
    found = {str(file.relative_to(HERE / "text")): file.read_bytes() for file in sorted((HERE / "text").rglob("*.md"))}
    found.update({name: (REPOSITORY / path).read_bytes() for path, name in COPIED.items()})
    found.update({f"notebooks/pictures/{file.name}": file.read_bytes() for file in NOTEBOOKS.rglob("*.png")})
    found.update({path: page.make().encode() for path, page in {**inside.pages(), **reference.pages()}.items()})
    found[f"notebooks/{notebooks.COURSE}"] = notebooks.course_page(NOTEBOOKS).encode()
    every = notebooks.paths(NOTEBOOKS)
    done = notebooks.outputs(NOTEBOOKS, every, jobs, cache) if execute else {
        path: (NOTEBOOKS / path).read_text(encoding="utf-8") for path in every}
    found.update({f"notebooks/{path}": notebooks.shown(text).encode() for path, text in done.items()})
    return found


def write(folder: Path, found: dict[str, bytes]) -> None:
    """Write sources; files that have not changed keep their time, so Sphinx reads the others only."""
    for old in [path for path in folder.rglob("*") if path.is_file()]:
        if str(old.relative_to(folder)) not in found:
            old.unlink()
    for name, content in found.items():
        target = folder / name
        if not target.exists() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


def build(target: Path, found: dict[str, bytes]) -> list[str]:
    """Build a site into a folder's ``html``, and return the mistakes found: Sphinx's warnings, and dead links."""
    source, html, log = target / "source", target / "html", target / "warnings.txt"
    target.mkdir(parents=True, exist_ok=True)
    write(source, found)
    status = build_main(["-q", "-b", "html", "-c", str(HERE), "-d", str(target / "doctrees"), "-w", str(log),
                         str(source), str(html)])
    said = [line for line in log.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [*said, *([f"Sphinx ended with status {status}"] if status else []), *links.dead(html)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m docs", description="Build the site, and check its links.")
    parser.add_argument("target", nargs="?", type=Path, default=HERE / "_build", help="a folder (docs/_build)")
    parser.add_argument("--quick", action="store_true", help="show the notebooks without executing them")
    parser.add_argument("--fresh", action="store_true", help="keep nothing of an earlier build")
    parser.add_argument("--jobs", type=int, default=2, help="how many notebooks run at a time (2)")
    options = parser.parse_args()
    if options.fresh:
        shutil.rmtree(options.target, ignore_errors=True)
    mistakes = build(options.target, sources(not options.quick, options.jobs, options.target / "executed"))
    for mistake in mistakes:
        print(mistake, file=sys.stderr)
    print(f"{options.target / 'html' / 'index.html'}: {len(mistakes) or 'no'} mistake{'s' * (len(mistakes) != 1)}")
    return bool(mistakes)


if __name__ == "__main__":
    sys.exit(main())
