"""Buttons below a picture in a page, by mouse or keyboard: they copy it as an SVG or a PNG.

What they do is a script's, which the picture itself does without. Where a page runs no scripts, they are not shown.
"""
from __future__ import annotations

from functools import cache
from pathlib import Path

from .html import Markup, join, stylesheet, tag

KINDS = {"png": "PNG", "svg": "SVG"}


def copyable(picture: str, script: bool = True) -> Markup:
    """Add buttons to a picture. On a page that already has the script, pass ``script=False``."""
    return Markup(picture + _buttons(script))


def without_buttons(picture: str) -> str:
    """Return the picture without buttons, as it is saved."""
    return picture.removesuffix(_buttons(True))


@cache
def _buttons(script: bool) -> Markup:
    buttons = (tag("button", type="button", value=kind, aria_label=f"copy {name}", title=f"copy this picture as {name}")
               for kind, name in KINDS.items())
    # JupyterLab leaves the keys alone that are pressed in here
    bar = tag("div", tag("span", tag("output"), *buttons), class_="mt-copy", data_lm_suppress_shortcuts="true")
    code = Path(__file__).with_suffix(".js").read_text("utf-8") if script else ""
    return join([bar, stylesheet("copying"), Markup(f"<script>{code}</script>") if script else None])
