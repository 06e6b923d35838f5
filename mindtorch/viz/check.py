"""``%check``: what was looked at, and each silent mistake with its place, picture, cause and cure."""
from __future__ import annotations

from ..introspect.checks import CheckFacts, Finding
from .html import Markup, in_text, join, page, tag
from .palette import soft
from .why import fixes_list, picture, place_line


def check_page(facts: CheckFacts) -> Markup:
    """Draw what ``%check`` shows."""
    count = len(facts.findings)
    title = f"{count} finding{'s' * (count != 1)}" if count else "nothing found"
    looked = f"looked at {', '.join(facts.checked)}" if facts.checked else "there was nothing to look at"
    sign = tag("span", "✗" if count else "✓", class_=f"mt-chip {'mt-invalid' if count else 'mt-fine'}",
               plain=f"{'✗' if count else '✓'} ")
    head = tag("div", sign, tag("b", title), " ", soft(looked), class_="mt-head",
               plain=f"{'✗' if count else '✓'} {title} ({looked})\n")
    items = (tag("section", _finding(finding), class_="mt-finding") for finding in facts.findings)
    return page(tag("div", head, *items, class_="mt-box"), kind="why mt-check", sheet="why")


check_text = in_text(check_page)


def _finding(finding: Finding) -> Markup:
    return join([tag("div", tag("b", finding.title), class_="mt-head", plain=f"\n{finding.title}\n"),
                 place_line(finding.place), *map(picture, finding.pictures),
                 tag("p", tag("b", "Why ", plain="Why: "), finding.cause), fixes_list(finding.fixes)])
