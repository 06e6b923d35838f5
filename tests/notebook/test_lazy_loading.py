"""What ``%load_ext mindtorch`` loads, and what waits until it is used."""
from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from mindtorch import introspect, viz

LOADED = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("%load_ext mindtorch\\nimport mindtorch as torch\\nx = torch.ones(3)").raise_error()
def loaded():
    return {name.removeprefix("mindtorch.") for name in sys.modules if name.startswith("mindtorch.")}
"""


def run(code, tmp_path):
    done = subprocess.run([sys.executable, "-c", LOADED + code], cwd=tmp_path, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return done.stdout


def test_the_extension_loads_no_picture_and_no_facts(tmp_path):
    run(
        "drawn = {n for n in loaded() if n.startswith(('viz.', 'introspect.', 'widgets'))}\n"
        "assert drawn <= {'introspect.writes', 'viz.html', 'viz.copying'}, drawn  # the script of the buttons\n"
        "assert not {'ipywidgets', 'matplotlib'} & set(sys.modules)",
        tmp_path,
    )


def test_a_card_loads_what_it_needs_and_no_explanations(tmp_path):
    run(
        "shell.display_formatter.active_types = ['text/plain', 'text/html']\n"
        "assert 'mt-card' in shell.display_formatter.format(shell.user_ns['x'])[0]['text/html']\n"
        "assert 'viz.card' in loaded()\n"
        "assert not {'introspect.why', 'introspect.npu', 'nn', 'optim', 'viz.graph'} & loaded()",
        tmp_path,
    )


def test_a_first_card_loads_nothing_of_other_packages(tmp_path):
    code = ("import sys\nimport mindtorch as torch\nfrom mindtorch import viz\nx = torch.randn(200, 300)\n"
            "before = set(sys.modules)\nassert 'data:image/png' in viz.tensor_card(x, {id(x): 'x'})\n"
            "print({name.partition('.')[0] for name in set(sys.modules) - before} - {'mindtorch', 'cmath', 'atexit'})")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr  # among them numpy.ma and Pillow, which take as long as the card


def test_a_notebook_loads_cards_when_it_has_nothing_else_to_do(tmp_path):
    run(
        "import asyncio\n"
        "async def notebook():\n"
        "    shell.run_line_magic('reload_ext', 'mindtorch')\n"
        "    assert 'viz.card' not in loaded()\n"
        "    await asyncio.sleep(0)\n"
        "    assert 'viz.card' in loaded() and not {'introspect.why', 'nn', 'optim', 'viz.graph'} & loaded()\n"
        "asyncio.run(notebook())",
        tmp_path,
    )


@pytest.mark.parametrize("package", [introspect, viz], ids=lambda package: package.__name__)
def test_every_name_is_found_whatever_modules_are_loaded(package):
    for file in Path(package.__file__).parent.glob("[!_]*.py"):
        import_module(f"{package.__name__}.{file.stem}")
    source = ast.walk(ast.parse(Path(package.__file__).read_text()))
    names = [alias.name for node in source if isinstance(node, ast.ImportFrom) and node.level == 1
             for alias in node.names]
    assert len(names) > 20 and set(names) <= set(dir(package))
    for name in names:
        assert not isinstance(getattr(package, name), ModuleType), f"{name} is a name and a module"


def test_a_name_that_is_not_there_is_said_to_be_missing():
    with pytest.raises(AttributeError, match=r"module 'mindtorch\.viz' has no attribute 'tensors_pag'"):
        viz.tensors_pag
    with pytest.raises(ImportError):
        from mindtorch.introspect import no_such_facts  # noqa: F401


@pytest.mark.parametrize(("before", "cell", "is_started"), [
    ("", "x = torch.ones(2, device='npu')", True), ("where = torch.device('npu')", "x = torch.ones(2).to(where)", True),
    ("", "x = torch.ones(2)  # input", False)])
@pytest.mark.parametrize("magic", ["timeline", "profile"])
def test_an_npu_that_a_cell_names_is_started_before_its_time_is_taken(before, cell, is_started, magic, tmp_path):
    run(
        f"""
from mindtorch import introspect
from mindtorch._backends.npu.runtime import runtimes
shell.run_cell({before!r}).raise_error()
at = []
recording, profile = introspect.timeline, introspect.profile
introspect.timeline = lambda *given: (at.append(len(runtimes())), recording(*given))[1]
introspect.profile = lambda *given: (at.append(len(runtimes())), profile(*given))[1]
shell.run_cell_magic({magic!r}, "", {cell!r})
assert at == [{is_started:d}], at
""", tmp_path)
