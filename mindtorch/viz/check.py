"""``%check``: what was looked at, and each silent mistake with its place, picture, cause and cure."""
from __future__ import annotations

from ..introspect.checks import CheckFacts, Finding
from .html import Markup, in_text, join, page, tag
from .palette import count_text, soft
from .why import fixes_list, picture, place_line


def check_page(facts: CheckFacts) -> Markup:
    """Draw what ``%check`` shows."""
    count = len(facts.findings)
    looked = f"looked at {', '.join(facts.checked)}"
    if count:
        mark, look, title = "✗", "mt-invalid", count_text(count, "finding")
    elif facts.checked:
        mark, look, title = "✓", "mt-fine", "nothing found"
    else:
        mark, look, title = "○", "", "nothing found"
        looked = "no model, loss or optimizer was used: %%check watches a cell that trains"
    sign = tag("span", mark, class_=f"mt-chip {look}".strip())
    head = tag("div", sign, " ", tag("b", title), " ", soft(looked), class_="mt-head",
               plain=f"{mark} {title} ({looked})\n")
    items = (tag("section", _finding(finding), class_="mt-finding") for finding in facts.findings)
    return page(tag("div", head, *items, class_="mt-box"), kind="why mt-check", sheet="why")


check_text = in_text(check_page)


def _finding(finding: Finding) -> Markup:
    return join([tag("div", tag("b", finding.title), class_="mt-head", plain=f"\n{finding.title}\n"),
                 place_line(finding.place), *map(picture, finding.pictures),
                 tag("p", tag("b", "Why ", plain="Why: "), finding.cause), fixes_list(finding.fixes)])
