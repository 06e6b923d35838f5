"""What words and magics mean, as tables: the glossary (names for an NPU, for a GPU, in PyTorch), the list of magics."""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..introspect import Term
from .html import Markup, in_text, page, row, table, tag
from .palette import breakable, mono


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


def magics_page(rows: Iterable[tuple[str, str, str]]) -> Markup:
    """Draw the list of magics: rows of a question, a magic and what it does."""
    drawn = (row(question, mono(magic), does) for question, magic, does in rows)
    return page(table(("question", "magic", "what it does"), drawn, "%name --help lists a magic's options"),
                kind="magics")
