"""Outputs of a cell in several ranks, side by side."""
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..introspect import RankOutput
from .html import Markup, in_text, page, tag
from .palette import HOURGLASS

COLOURS = re.compile(r"\x1b\[[0-9;]*m")  #: by which a terminal is told of colours
IMAGES = ("image/png", "image/jpeg")


def ranks_page(outputs: Sequence[RankOutput]) -> Markup:
    """Draw the outputs of ranks side by side, and each error once below; silent ranks have no column."""
    columns = [_column(output) for output in outputs if output.stdout or output.stderr or output.shown]
    silent = [output.rank for output in outputs if not (output.stdout or output.stderr or output.shown or output.error)]
    running = [output.rank for output in outputs if not output.done]
    said = [f"{listed(silent)}: no output" if silent and columns else None,
            tag("span", HOURGLASS, f" {listed(running)} running", plain=f"{listed(running)} running")
            if running else None]
    if not any(said) and not columns and not any(output.error for output in outputs):
        said = [f"{listed([output.rank for output in outputs])}: done"]
    body = [tag("div", *columns, class_="mt-columns") if columns else None, *_errors(outputs),
            *(tag("div", line, class_="mt-soft") for line in said if line)]
    return page(*body, kind="ranks", sheet="ranks")


ranks_text = in_text(ranks_page)


def _column(output: RankOutput) -> Markup:
    parts = [tag("div", f"rank {output.rank}", class_="mt-of")]
    parts += [tag("pre", text, class_=look) for text, look in ((output.stdout, "out"), (output.stderr, "err")) if text]
    parts += [tag("div", _shown(data), class_="mt-shown") for data in output.shown]
    return tag("div", *parts, class_="mt-column")


def _shown(data: dict[str, Any]) -> Markup:
    """Draw the richest MIME type of a bundle."""
    text = str(data.get("text/plain", ""))
    for kind in ("text/html", "image/svg+xml"):
        if kind in data:
            return Markup(data[kind], f"{text}\n")  # a rank's output is as trustworthy as the notebook's
    for kind in IMAGES:
        if kind in data:
            return tag("img", src=f"data:{kind};base64,{data[kind].strip()}", alt=text, plain=f"{text}\n")
    return tag("pre", text)


def _errors(outputs: Sequence[RankOutput]) -> Iterator[Markup]:
    """Yield each error once, with the ranks that have it."""
    alike: dict[str, list[RankOutput]] = {}
    for output in outputs:
        if output.error:
            alike.setdefault(output.error, []).append(output)
    for error, some in alike.items():
        kind, _, rest = COLOURS.sub("", error).partition(": ")
        told = [tag("div", tag("b", listed([output.rank for output in some])), class_="mt-of"),
                tag("pre", tag("b", kind), f": {rest}" if rest else "", class_="mt-alert")]
        if trace := COLOURS.sub("", some[0].trace):
            head = tag("summary", f"traceback of rank {some[0].rank}")
            told.append(tag("details", head, tag("pre", trace), plain=""))
        yield tag("div", *told, class_="mt-failed")


def listed(ranks: Sequence[int]) -> str:
    """Return ranks in a sentence: ``ranks 0, 2``."""
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"
