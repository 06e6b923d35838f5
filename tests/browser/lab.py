"""JupyterLab or Notebook 7 in headless Chromium: start it, run a notebook in it, look at what is on the page."""
from __future__ import annotations

import importlib.util
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbconvert import HTMLExporter

REPOSITORY = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]
SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},  # cells out of sight are in the page too
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}
ERROR = "[data-mime-type='application/vnd.jupyter.error'], [data-mime-type='application/vnd.jupyter.stderr']"
PLACES = {
    "JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime",
    "JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces", "IPYTHONDIR": "ipython",
}
#: The path of a notebook in each front end.
FRONT_ENDS = {"JupyterLab": "lab/tree", "Notebook": "notebooks"}
NEEDED = {"Playwright": "playwright", "JupyterLab": "jupyterlab", "Notebook": "notebook"}
#: The marks of a module of tests that look at pages.
MARKS = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
    *(
        pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"{name} is not installed")
        for name, module in NEEDED.items()
    ),
]
CONTRAST = Path(__file__).with_name("contrast.js").read_text()
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark", "contrast": "JupyterLab Dark High Contrast"}


def write_notebook(path: Path, sources: Iterable[str]) -> None:
    """A notebook of code cells."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)


@contextmanager
def jupyter(folder: Path) -> Iterator[Callable[[str, str], str]]:
    """Serve a folder, with settings of its own, while the block lasts; yield a function that returns the address of a
    notebook in one of ``FRONT_ENDS``.
    """
    home = folder / ".jupyter"
    for name, content in SETTINGS.items():
        target = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(content))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_hex()
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1",
        f"--port={port}", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={folder}",
        f"--IdentityProvider.token={token}", "--LabApp.expose_app_in_browser=True",
        "--JupyterNotebookApp.expose_app_in_browser=True",
    ]
    with open(folder / "server.log", "wb") as log:
        server = subprocess.Popen(command, env=environment(home), stdout=log, stderr=log, cwd=folder)
        try:
            _wait_until_up(server, f"http://127.0.0.1:{port}/api?token={token}")
            yield lambda name, notebook: f"http://127.0.0.1:{port}/{FRONT_ENDS[name]}/{notebook}?reset&token={token}"
        finally:
            server.terminate()  # which also ends its kernels
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def environment(home: Path) -> dict[str, str]:
    """The environment of a Jupyter program that keeps all its files in a folder."""
    places = {name: str(home / folder) for name, folder in PLACES.items()}
    return {**os.environ, **places, "PYTHONPATH": str(REPOSITORY)}


def execute(notebook: Path) -> None:
    """Have nbconvert run a notebook in its place, with the state of its widgets."""
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", notebook.name]
    home = notebook.parent / ".jupyter"
    subprocess.run(command, check=True, timeout=300, cwd=notebook.parent, env=environment(home), capture_output=True)


def html(notebook: Path, **options: Any) -> Path:
    """Have nbconvert make a page of a notebook, beside it."""
    page = notebook.with_suffix(".html")
    page.write_text(HTMLExporter(**options).from_filename(str(notebook))[0], "utf-8")
    return page


def _wait_until_up(server: subprocess.Popen[bytes], address: str) -> None:
    for _ in range(1200):  # on a busy machine a server takes a minute
        assert server.poll() is None, "the server ended at once: see server.log in the test's folder"
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server does not answer")


@contextmanager
def chromium() -> Iterator[Any]:
    """A headless browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def open_notebook(page: Any, address: str) -> None:
    """Open a notebook in the light theme, whichever the server keeps from another page, and wait for its kernel."""
    page.goto(address)
    kernel = "window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel"
    page.wait_for_function(f"{kernel}?.connectionStatus === 'connected'")
    set_theme(page, "light")


def run_all(page: Any, address: str, failing: int = 0) -> None:
    """Open a notebook and run all its cells.

    Raises:
        AssertionError: unless ``failing`` cells fail.
    """
    open_notebook(page, address)
    page.evaluate("() => void jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(
        """([error, failing]) => {
          const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')];
          const all = prompts.length && prompts.every(prompt => /\\d/.test(prompt.textContent));
          return all || document.querySelectorAll(error).length > failing;
        }""",
        arg=[ERROR, failing],
    )
    errors = page.locator(ERROR).all_inner_texts()
    assert len(errors) == failing, "\n".join(errors)


def set_theme(page: Any, theme: str) -> None:
    """Switch JupyterLab to one of its ``THEMES``."""
    page.evaluate("theme => jupyterapp.commands.execute('apputils:change-theme', {theme})", THEMES[theme])
    page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=THEMES[theme])
