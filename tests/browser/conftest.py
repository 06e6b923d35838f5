"""A server of JupyterLab and Notebook 7, and Chromium: started once, whichever modules open notebooks in them, and
ended after these tests, since others may need an event loop, beside which Playwright's cannot run.
"""
from __future__ import annotations

import pytest

from . import lab


@pytest.fixture(scope="package")
def folder(tmp_path_factory):
    """Return the folder that the server serves."""
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="package")
def address(folder):
    with lab.jupyter(folder) as address:
        yield address


@pytest.fixture(scope="package")
def context(address):
    """Return a window, whose pages share what they have loaded from the server."""
    with lab.chromium() as browser:
        context = browser.new_context(viewport={"width": 1200, "height": 900})
        context.set_default_timeout(300_000)  # on a busy machine
        yield context


@pytest.fixture(scope="module")
def tab(context):
    """Return a page that is closed after the module."""
    page = context.new_page()
    yield page
    page.close()


@pytest.fixture(scope="module")
def written(folder, address):
    """Return a function that writes a notebook of code cells, and returns its address in JupyterLab."""
    def write(name, sources):
        lab.write_notebook(folder / name, sources)
        return address("JupyterLab", name)

    return write
