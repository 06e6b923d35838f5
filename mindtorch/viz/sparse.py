"""A sparse tensor's parts, and a picture of where its values stand."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..introspect import tensor_facts
from ..introspect.sparse import SparseFacts, sparse_facts
from .grid import value_grids
from .html import Markup, tag
from .palette import count_text, mono, shape_text, size_text, soft

SIDE = 208  #: pixels of the longer side of a picture
SMALLEST = 6  #: pixels of the shorter side at least


def sparse_parts(tensor: Any) -> Markup:
    """Draw the pattern of a sparse tensor beside the dense tensors that it consists of."""
    facts = sparse_facts(tensor)
    parts = [tag("div", tag("div", mono(f"{name}()"), " ", soft(shape_text(tuple(part.shape)))),
                 value_grids(part, tensor_facts(part))[0], class_="mt-part")
             if facts.counts is not None else
             tag("div", mono(f"{name}()"), " ", soft(shape_text(tuple(part.shape)))) for name, part in facts.parts]
    return tag("div", pattern(facts), tag("div", *parts, class_="mt-parts"), class_="mt-pair")


def pattern(facts: SparseFacts) -> Markup | None:
    """Draw the matrix with a mark wherever values stand; darker where a cell of the picture has many."""
    if facts.counts is None or not facts.counts.size:
        return None
    rows, columns = facts.counts.shape
    step = SIDE / max(rows, columns)
    width, height = max(step * columns, SMALLEST), max(step * rows, SMALLEST)
    most, gap = int(facts.counts.max()), 0.12 if step >= 4 else 0.0
    share = np.array(facts.size) / (rows, columns)
    marks = []
    for row, column in np.argwhere(facts.counts):
        count = int(facts.counts[row, column])
        strong = 1.0 if most == 1 else 0.35 + 0.65 * count / most
        at = f"[{int(row * share[0])}, {int(column * share[1])}]" + ("" if share.max() == 1 else " on")
        marks.append(tag("rect", tag("title", f"{at}: {count_text(count, 'value')}"),
                         x=f"{column * width / columns + gap * step / 2:.2f}",
                         y=f"{row * height / rows + gap * step / 2:.2f}",
                         width=f"{max(width / columns - gap * step, 0.8):.2f}",
                         height=f"{max(height / rows - gap * step, 0.8):.2f}", opacity=f"{strong:.2f}"))
    stored = f"{facts.nnz:,} of {facts.elements:,}"
    part = facts.nnz / facts.elements if facts.elements else 0
    state = {True: "coalesced", False: "not coalesced", None: None}[facts.coalesced]
    said = f"{stored} stored ({part:.3g} of all)"
    caption = tag("figcaption", " · ".join(filter(None, (said, state, f"{size_text(facts.bytes)} in all parts"))))
    drawing = tag("svg", *marks, class_="mt-spy", width=f"{width:.0f}", height=f"{height:.0f}",
                  viewBox=f"0 0 {width:.2f} {height:.2f}", role="img", plain="",
                  aria_label=f"{facts.layout}: {stored} elements are stored")
    return tag("figure", drawing, caption, class_="mt-figure")
