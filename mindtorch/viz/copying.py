"""Buttons below a picture in a page, by mouse or keyboard: they copy it as an SVG or a PNG.

What they do is a script's, which a notebook has once, where it loads the extension, and pictures do without. Where a
page runs no scripts, they are not shown.
"""
from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from .html import Markup, tag

KINDS = {"png": "PNG", "svg": "SVG"}


def copyable(picture: str) -> Markup:
    """Add buttons to a picture, which a page shows that has a ``copying_page``."""
    return Markup(picture + _buttons())


def without_buttons(picture: str) -> str:
    """Return the picture without buttons, as it is saved."""
    return picture.removesuffix(_buttons())


def copying_page(said: str) -> Markup:
    """Draw a line of text, with the script that shows the buttons of all pictures of a page."""
    style = json.dumps(Path(__file__).with_suffix(".css").read_text("utf-8"))
    code = Path(__file__).with_suffix(".js").read_text("utf-8").replace("STYLE", style)
    return Markup(f"{tag('div', said)}<script>{code}</script>", said)


@cache
def _buttons() -> Markup:
    buttons = (tag("button", type="button", value=kind, aria_label=f"copy {name}", title=f"copy this picture as {name}")
               for kind, name in KINDS.items())
    # JupyterLab leaves the keys alone that are pressed in here
    return tag("div", tag("span", tag("output"), *buttons), class_="mt-copy", hidden="",
               data_lm_suppress_shortcuts="true")
