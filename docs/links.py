"""Check a built site: every link leads to a page and a place in it, and nothing is loaded from a network."""
from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: What a page loads, by element: the attribute that has its address.
LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """The places of a page that links may lead to, its links, and the addresses of what it loads."""

    def __init__(self, file: Path):
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.ids.update(value for value in (given.get("id"), given.get("name")) if value)
        address = given.get(LOADED.get(name, "href"))
        if address and name in LOADED:
            self.loaded.append(address)
        elif address and name == "a":
            self.links.append(address)


def dead(folder: Path) -> list[str]:
    """Return each dead link of the pages in a folder, and each thing that a page loads from elsewhere, as a line."""
    pages = {file.resolve(): Page(file) for file in sorted(folder.rglob("*.html"))}
    found = {}
    for file, page in pages.items():
        for address in (*page.links, *page.loaded):
            fault = _fault(file, address, pages, address in page.loaded)
            if fault:
                found[file.relative_to(folder.resolve()), address] = fault
    return [f"{file}: {address}: {fault}" for (file, address), fault in found.items()]


def _fault(file: Path, address: str, pages: dict[Path, Page], is_loaded: bool) -> str:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return "loaded from elsewhere" if is_loaded and parts.scheme != "data" else ""
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if not target.is_file():
        return "there is no such file"
    fragment = unquote(parts.fragment)
    if fragment and target in pages and fragment not in pages[target].ids:
        return "the page has no such place"
    return ""
