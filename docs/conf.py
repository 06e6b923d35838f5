"""Sphinx's settings: MyST and notebooks, the furo theme, nothing that is loaded from a network."""
from __future__ import annotations

from pathlib import Path

import mindtorch

project = "mindtorch"
author = "the mindtorch developers"
copyright = author
version = release = str(mindtorch.__version__)

extensions = ["myst_nb"]
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # `docs.notebooks` has executed them
nb_mime_priority_overrides = [("html", "text/html", 0), ("html", "application/vnd.jupyter.widget-view+json", None)]
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # stills of widgets need no script
nb_merge_streams = True
suppress_warnings = ["myst.header", "mystnb.unknown_mime_type", "misc.highlighting_failure"]
add_module_names = False
python_maximum_signature_line_length = 100
toc_object_entries = False

html_theme = "furo"
html_title = "mindtorch"
html_static_path = [str(Path(__file__).parent / "static")]
html_logo = str(Path(__file__).parent / "static" / "logo.svg")
html_favicon = html_logo
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5cad", "color-brand-content": "#0b5cad"},
    "dark_css_variables": {"color-brand-primary": "#7cc0ff", "color-brand-content": "#7cc0ff"},
}
