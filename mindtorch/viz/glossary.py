"""The glossary as a table: one thing a row, its name for an NPU, for a GPU and in PyTorch."""
from __future__ import annotations

from collections.abc import Sequence

from ..introspect import Term
from .html import Markup, in_text, page, row, table, tag
from .palette import breakable


def glossary_page(terms: Sequence[Term]) -> Markup:
    """Draw what ``%glossary`` shows."""
    if not terms:
        said = "no entry of the glossary has this word; %glossary shows them all"
        return page(tag("div", said, class_="mt-soft"), kind="glossary")
    rows = [row(*(breakable(name, "mt-mono") for name in (term.cann, term.cuda, term.torch)),
                tag("span", term.meaning, class_="mt-wrap")) for term in terms]
    head = ("Ascend NPU, CANN", "GPU, CUDA", "PyTorch and mindtorch", "what it is")
    return page(table(head, rows, "one thing, three names"), kind="glossary", sheet="glossary")


glossary_text = in_text(glossary_page)
