"""Pictures as files: a page of HTML, or an SVG or PNG that a browser measures or paints."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from .._base.files import replace_text
from .html import VOID

KINDS = (".svg", ".png", ".html")  #: of files, by the ends of their names
#: Browsers that can paint a page without a window, as they are called on Linux, Windows and macOS.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge",
            "microsoft-edge", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
FLAGS = ("--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
         "--disable-extensions", "--disable-sync", "--force-color-profile=srgb")
SECONDS = 120  #: after which a browser that does not answer is given up
WIDTH = 1016  #: pixels of a page: the widest picture, and a margin of 8 at each side
SCALE = 2  #: pixels of a PNG for one of the page, so that it is sharp on a projector
SIZE = re.compile(r'data-size="(\d+) (\d+)"')
MEASURE = """<script>addEventListener("load", () => {
  const box = document.body.getBoundingClientRect();
  document.documentElement.dataset.size = `${Math.ceil(box.width)} ${Math.ceil(box.height)}`;
});</script>"""
GROUNDS = {False: "#ffffff", True: "#111111"}  #: behind pictures, by whether they are dark


def save_picture(picture: str, path: str | os.PathLike[str], *, dark: bool = False) -> Path:
    """Write a picture of this package to a file of the kind that its name ends in, and return the file's path.

    ``.html`` is a page of its own, which follows the reader's light or dark theme unless it is ``dark``. ``.svg`` has
    the same HTML in a ``foreignObject``: browsers show it, and what shows SVG as browsers do. ``.png`` has twice the
    page's pixels, for slides. The last two need Chromium, Chrome or Edge, without a window. Raises ValueError if the
    name ends in none of these, and RuntimeError if there is no such browser, or it fails, and OSError if the file
    cannot be written.
    """
    target = Path(path).expanduser()
    if target.suffix not in KINDS:
        raise ValueError(f"a picture is saved as {', '.join(KINDS[:-1])} or {KINDS[-1]}, not as {target.name!r}")
    if target.suffix == ".html":
        replace_text(target, _page(picture, dark))
        return target
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        page.write_text(_page(picture, dark, MEASURE), encoding="utf-8")
        size = SIZE.search(_browse(folder, f"--window-size={WIDTH},800", "--dump-dom", page.as_uri()))
        if size is None:
            raise RuntimeError("the browser did not tell how large the picture is")
        width, height = map(int, size.groups())
        if target.suffix == ".svg":
            replace_text(target, _svg(picture, width, height, dark))
            return target
        painted = Path(folder, "picture.png")
        _browse(folder, f"--window-size={width},{height}", f"--force-device-scale-factor={SCALE}",
                f"--screenshot={painted}", page.as_uri())
        shutil.move(painted, target)
    return target


def _page(picture: str, dark: bool, more: str = "") -> str:
    """Return a whole page, as wide as its picture."""
    theme = ' data-jp-theme-light="false"' if dark else ""
    ground = f";background:{GROUNDS[dark]}" if dark or more else ""
    scheme = "dark" if dark else "light" if more else "light dark"
    return (f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="{scheme}">'
            f'<title>mindtorch</title>{more}</head><body{theme} style="margin:0;padding:8px;width:fit-content'
            f';box-sizing:border-box;max-width:{WIDTH}px{ground}">{picture}</body></html>')


def _svg(picture: str, width: int, height: int, dark: bool) -> str:
    """Wrap a picture in an SVG of a size in pixels. HTML in it must be well-formed XML with SVG's namespace."""
    closed = re.sub(rf"<({'|'.join(sorted(VOID))})\b([^>]*)>", r"<\1\2/>", picture)
    closed = closed.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ')
    theme = f'data-jp-theme-light="{str(not dark).lower()}"'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
            f'<rect width="100%" height="100%" fill="{GROUNDS[dark]}"/><foreignObject width="100%" height="100%">'
            f'<div xmlns="http://www.w3.org/1999/xhtml" {theme} style="padding:8px">{closed}</div>'
            '</foreignObject></svg>\n')


def _browse(folder: str, *options: str) -> str:
    """Run a windowless browser with its profile in a folder, and return what it prints."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise RuntimeError("an SVG or PNG needs a browser to measure the picture, and none of Chromium, Chrome and "
                           "Edge is in PATH: install one, such as with 'apt install chromium', or save the "
                           "picture as .html, which needs none")
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    command = [browser, *FLAGS, *(["--no-sandbox"] if is_root else []), f"--user-data-dir={folder}/profile", *options]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)
    except (subprocess.SubprocessError, OSError) as error:
        raise RuntimeError(f"{Path(browser).name} did not paint the picture: {error}") from error
    return done.stdout.decode(errors="replace")
