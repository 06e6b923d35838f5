"""The lessons as slides: a page of HTML for each, with the cells' outputs, and without solutions."""
from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from .._base.files import replace_text
from .teaching import STUB, notebooks

SECONDS = 300  #: that a cell may take
NETWORK = "https://unpkg.com/reveal.js@4.6.1"
#: nbconvert's page of slides, loading nothing but reveal.js: a lecture room may have no network.
TEMPLATE = """
{%- extends 'index.html.j2' -%}
{%- block html_head_js -%}{%- endblock html_head_js -%}
{%- block jupyter_widgets -%}{%- endblock jupyter_widgets -%}
{%- block html_head_js_mathjax -%}{%- endblock html_head_js_mathjax -%}
{%- block html_head_css -%}
<style>  /* lines of code have up to 120 letters */
:root { --jp-code-font-size: 15px; --jp-content-font-size1: 18px; --jp-ui-font-size1: 18px; }
.reveal .slides section section { height: 100%; overflow-y: auto; text-align: left; }
.reveal h1, .reveal h2 { text-transform: none; }
</style>
{%- endblock html_head_css -%}
{%- block footer_js -%}
<script src="{{ resources.reveal.url_prefix }}/dist/reveal.js"></script>
<script src="{{ resources.reveal.url_prefix }}/plugin/notes/notes.js"></script>
<script>
Reveal.initialize({hash: true, width: 1280, height: 800, margin: 0.02, center: false, plugins: [RevealNotes]});
</script>
{%- endblock footer_js -%}
"""


def slides(masters: Path, target: Path, run: bool = True, reveal: str = "") -> list[Path]:
    """Write each lesson as slides, by nbconvert. A heading begins a slide, a text between cells one below it, and an
    explanation comes with the next key. What is taller than a slide can be scrolled. ``run`` executes the
    notebooks first, so that pictures are in them.

    The pages load reveal.js, and nothing else, from the network; or from ``reveal``, which is an address, or a folder
    that has it (the unpacked download of ``npm pack reveal.js``). A folder is copied beside the pages, which then need
    no network. Raises ImportError if nbgrader and nbconvert are not installed (``pip install nbgrader nbconvert``), and
    ValueError if there is no lesson among the masters, or no reveal.js in the folder.
    """
    import nbformat
    from jinja2 import DictLoader
    from nbconvert.exporters import SlidesExporter
    from nbconvert.preprocessors import ExecutePreprocessor
    from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions

    target.mkdir(parents=True, exist_ok=True)
    exporter = SlidesExporter(reveal_url_prefix=_reveal(reveal, target), reveal_theme="white",
                              template_file="lesson.html.j2", extra_loaders=[DictLoader({"lesson.html.j2": TEMPLATE})])
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
            for output in cell.get("outputs", ()):  # a widget cannot run here, and leaves a still picture
                output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
        html, _ = exporter.from_notebook_node(notebook)
        path = target / f"{master.stem}.slides.html"
        replace_text(path, html)
        written.append(path)
    return written


def _reveal(given: str, target: Path) -> str:
    """Return the address of reveal.js for pages in a folder. Raise ValueError if the given folder lacks it."""
    if not given or "://" in given:
        return given or NETWORK
    source = Path(given)
    if not (source / "dist" / "reveal.js").is_file():
        raise ValueError(f"{source} has no dist/reveal.js: unpack the download of `npm pack reveal.js` there")
    for part in ("dist", "plugin"):
        shutil.copytree(source / part, target / "reveal.js" / part, dirs_exist_ok=True)
    return "reveal.js"


def _kind(cell: Any) -> str:
    """Return where a cell stands: on a slide to the right of the last or below, on the same slide, or after a key."""
    if cell.source == "course.progress()" or cell.source.startswith("Next: "):
        return "skip"
    if cell.cell_type == "markdown":
        return "slide" if cell.source.startswith("#") else "subslide"
    return "fragment" if "course.explain(" in cell.source else "-"
