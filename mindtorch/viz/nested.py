"""A jagged nested tensor: a bar for each of its parts, and the dense tensors that it consists of."""
from __future__ import annotations

from typing import Any

from ..introspect import tensor_facts
from ..introspect.nested import NestedFacts, nested_facts
from ..introspect.tensor import values_without_waiting
from .grid import value_grids
from .html import Markup, tag
from .palette import count_text, mono, shape_text, soft

WIDTH = 208  #: pixels of the longest bar
HEIGHT = 14  #: pixels of a bar, with the gap below it
MOST = 24  #: bars at most


def nested_parts(tensor: Any) -> Markup:
    """Draw the lengths of a nested tensor's parts beside the tensors that hold them."""
    facts = nested_facts(tensor, values_without_waiting)
    held = [tag("div", tag("div", mono(f"{name}()"), " ", soft(shape_text(tuple(part.shape)))),
                value_grids(part, tensor_facts(part))[0] if facts.parts is not None else None, class_="mt-part")
            for name, part in facts.tensors]
    return tag("div", bars(facts), tag("div", *held, class_="mt-parts"), class_="mt-pair")


def bars(facts: NestedFacts) -> Markup | None:
    """Draw each part as a bar as long as it is; a hole behind it is pale."""
    if not facts.parts:
        return None
    shown = facts.parts[:MOST]
    ends = [start for start, _ in facts.parts[1:]] + [facts.parts[-1][0] + facts.parts[-1][1]]
    most = max(max(end - start, size) for (start, size), end in zip(facts.parts, ends, strict=True)) or 1
    marks = []
    for row, ((start, size), end) in enumerate(zip(shown, ends, strict=False)):
        said = f"part {row}: size {size:,} along dimension {facts.dim}, from {start:,} on"
        place = {"x": "0", "y": f"{row * HEIGHT + 1}", "height": f"{HEIGHT - 3}"}
        if end - start > size:
            marks.append(tag("rect", tag("title", f"{end - start - size} unused behind part {row}"), **place,
                             width=f"{WIDTH * (end - start) / most:.2f}", opacity="0.25"))
        marks.append(tag("rect", tag("title", said), **place, width=f"{max(WIDTH * size / most, 0.8):.2f}"))
    lengths = [size for _, size in facts.parts]
    whole = f"{count_text(len(lengths), 'part')} of {min(lengths):,} to {max(lengths):,}"
    left = f" · the first {MOST} are drawn" if len(lengths) > MOST else ""
    holes = " · with holes" if facts.holes else ""
    height = HEIGHT * len(shown)
    drawing = tag("svg", *marks, class_="mt-spy", width=f"{WIDTH}", height=f"{height}",
                  viewBox=f"0 0 {WIDTH} {height}", role="img", plain="", aria_label=f"jagged: {whole}")
    return tag("figure", drawing, tag("figcaption", whole, " along dimension ", str(facts.dim), holes, left),
               class_="mt-figure")
