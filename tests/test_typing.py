"""What editors and type checkers know: Jedi (as IPython asks it), pyright and mypy, with the stubs that the build
makes.
"""
from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import jedi
import pytest

import mindtorch as torch
from mindtorch._methods import removed

ROOT = Path(torch.__file__).resolve().parent.parent
#: Expressions, and what type they are of.
CHAINS = {
    "torch.randn(3).relu().view(-1).sum(dim=0)": "Tensor",
    "x.relu()": "Tensor",
    "x + 1": "Tensor",
    "x @ x - 1": "Tensor",
    "x[0, None].T": "Tensor",
    "x.max(0).values": "Tensor",
    "x.split(1)[0]": "Tensor",
    "x.float().to('cpu')": "Tensor",
    "torch.add(x, x, alpha=2)": "Tensor",
    "torch.nn.functional.gelu(x)": "Tensor",
    "torch.fft.rfft(x).real": "Tensor",
    "torch.special.expit(x)": "Tensor",
    "torch.zeros_like(x, dtype=torch.float64)": "Tensor",
    "x.new_zeros(2, 3)": "Tensor",
}
#: Jedi does not look into types that are made at run time, as those of these tuples are.
TUPLES = {"torch.linalg.svd(x).S": "Tensor", "torch.max(x, 0).values": "Tensor", "torch.frexp(x)[0]": "Tensor"}
TYPOS = {"x.rleu()": "rleu", "torch.softmaxx(x)": "softmaxx", "torch.npu.synchronise()": "synchronise",
         "torch.nn.functional.sotfmax(x)": "sotfmax", "x.sum(dmi=0)": "sum"}
PROGRAM = ["import mindtorch as torch", "x = torch.randn(3)"]


@pytest.fixture
def names():
    x = torch.randn(3, requires_grad=True)
    x.sum().backward()
    return {"torch": torch, "x": x}


@pytest.mark.parametrize("chain", [*CHAINS, "x.grad"])
@pytest.mark.sampled(3)
def test_jedi_completes_the_methods_of_what_an_expression_returns(chain, names):
    found = {completion.name for completion in jedi.Interpreter(f"({chain}).", [names]).complete()}
    assert {"relu", "backward", "shape"} <= found


def test_jedi_completes_parameters(names):
    found = {completion.name for completion in jedi.Interpreter("x.sum(d", [names]).complete()}
    assert {"dim=", "dtype="} <= found
    assert "alpha=" in {completion.name for completion in jedi.Interpreter("torch.add(x, x, al", [names]).complete()}


@pytest.mark.parametrize("namespace", ["torch.npu", "torch.nn.functional", "torch", "torch.linalg", "torch.nn"])
def test_jedi_completes_public_names_only(namespace, names):
    found = {completion.name for completion in jedi.Interpreter(f"{namespace}.", [names]).complete()}
    assert not found & {"Any", "annotations", "Callable", "math", "make_function", "TYPE_CHECKING"}


CHECKERS = {"pyright": ["--pythonpath", sys.executable], "mypy": ["--config-file=mypy.ini", "--cache-dir=cache"]}


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """Make a folder in which the wheel that the build makes is unpacked: the files that users of the package have."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder), "."]
    source = folder / "source"
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout.splitlines()
    for file in files:
        shipped = ("mindtorch", "notebooks", "setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")
        if (ROOT / file).is_file() and file.partition("/")[0] in shipped:
            (source / file).parent.mkdir(parents=True, exist_ok=True)
            (source / file).write_bytes((ROOT / file).read_bytes())
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=300)
    zipfile.ZipFile(next(folder.glob("*.whl"))).extractall(folder / "unpacked")
    return folder / "unpacked"


def test_the_wheel_has_stubs_that_are_not_in_the_repository(installed):
    stubs = {str(path.relative_to(installed)) for path in installed.rglob("*.pyi")}
    assert {"mindtorch/__init__.pyi", "mindtorch/_tensor/methods.pyi", "mindtorch/_methods/functions.pyi"} <= stubs
    tracked = subprocess.run(["git", "ls-files", "*.pyi"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert not tracked


def test_the_wheel_has_the_notebooks_and_the_masters_of_the_course(installed):
    for path in (ROOT / "notebooks").rglob("*.ipynb"):
        if ".ipynb_checkpoints" not in path.parts:
            assert (installed / "mindtorch" / path.relative_to(ROOT)).read_bytes() == path.read_bytes()
    entries = next(installed.glob("*.dist-info")) / "entry_points.txt"
    assert "mindtorch = mindtorch._run.command:main" in entries.read_text()


def test_stubs_are_made_where_none_of_the_dependencies_is_installed(tmp_path):
    program = f"""
import pathlib, runpy, sys
sys.modules.update(dict.fromkeys(("numpy", "scipy", "ml_dtypes", "IPython", "ipywidgets", "matplotlib")))
runpy.run_path("setup.py", run_name="build")["write_stubs"](pathlib.Path({str(tmp_path)!r}))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "def relu(" in (tmp_path / "mindtorch/_tensor/methods.pyi").read_text()


@pytest.fixture(scope="module", params=CHECKERS)
def said(request, installed) -> str:
    """Return the report of a type checker on all chains and typos: one run, since most of it is spent on the library.
    """
    program = installed / "program.py"
    program.write_text("\n".join([*PROGRAM, *(f"reveal_type({chain})" for chain in CHAINS | TUPLES), *TYPOS, ""]))
    (installed / "mypy.ini").write_text("[mypy]\n[mypy-mindtorch.*]\nignore_errors = True\n")  # skips function bodies
    command = [sys.executable, "-m", request.param, *CHECKERS[request.param], program.name]
    return subprocess.run(command, cwd=installed, capture_output=True, text=True, timeout=600).stdout


def test_checkers_know_the_type_of_every_chain(said):
    types = re.findall(r'(?:is|type is) "(?:mindtorch\._tensor\.)?(\w+)"', said)
    assert types == [*CHAINS.values(), *TUPLES.values()], said


def test_checkers_find_misspelt_names_and_no_other_mistakes(said):
    errors = {int(line): text for line, text in re.findall(r"program\.py:(\d+):(.*error.*)", said)}
    first = len(PROGRAM) + len(CHAINS | TUPLES) + 1
    assert errors.keys() == set(range(first, first + len(TYPOS))), said
    for line, name in enumerate(TYPOS.values(), first):
        assert name in errors[line]


def test_the_stub_has_what_tensors_have(installed):
    """No method is missing in the stub, and none is there that tensors lack."""
    stub = (installed / "mindtorch/_tensor/methods.pyi").read_text()
    declared = set(re.findall(r"^    def (\w+)", stub, re.MULTILINE)) - {"__init__"}
    source = Path(sys.modules["mindtorch._tensor"].__file__).read_text()
    own = set(re.findall(r"^    def (\w+)", source, re.M))
    own |= {"ndimension", "nelement"}  # other names of methods
    own |= removed.INSTEAD.keys()  # they only raise an error
    attached = {name for name, value in vars(torch.Tensor).items() if callable(value) or isinstance(value, property)}
    assert {name for name in attached - own if name[0] != "_"} <= declared
    assert declared <= set(dir(torch.Tensor))
