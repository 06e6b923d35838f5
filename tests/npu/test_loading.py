"""The real loading path without an Ascend: small C libraries with CANN's symbols, and a stand-in for pyACL, in a folder
that
is shaped like the toolkit. Every program runs in an interpreter of its own."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mindtorch._backends.npu import acl_loader
from mindtorch._backends.npu.aclnn import HANDLE_FUNCTIONS
from mindtorch._backends.npu.bindings import names

SOURCES = Path(__file__).parent / "standin"
COMPILER = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
WRITTEN = ("Add", "Adds", "Mul", "Muls", "Relu", "InplaceFillScalar", "InplaceCopy", "Mm", "ReduceSum")


def build(folder: Path, name: str, *sources: Path) -> None:
    subprocess.run([str(COMPILER), "-shared", "-fPIC", "-O1", "-I", str(SOURCES), "-o", str(folder / name),
                    *map(str, sources)],
                   check=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toolkit: ``lib64`` with the libraries, ``python/site-packages`` with pyACL."""
    home = tmp_path_factory.mktemp("toolkit")
    libraries, packages = home / "lib64", home / "python" / "site-packages"
    libraries.mkdir()
    packages.mkdir(parents=True)
    shutil.copy(SOURCES / "acl.py", packages)
    for library, source in (("libascendcl.so", "ascendcl.c"), ("libnnopbase.so", "nnopbase.c"),
                            ("libopapi.so", "opapi.c")):
        build(libraries, library, SOURCES / source)
    # the rest of the table, as a release splits it off: every function is there, and finds no kernel
    written = {f"aclnn{name}{part}" for name in WRITTEN for part in ("", "GetWorkspaceSize")}
    made = (SOURCES / "nnopbase.c").read_text()
    functions = [*HANDLE_FUNCTIONS, *(name + part for name in names() for part in ("", "GetWorkspaceSize"))]
    rest = home / "rest.c"
    rest.write_text("".join(f"int {name}(void) {{ return 561003; }}\n" for name in functions
                            if name not in written and f"{name}(" not in made and f"({name})" not in made))
    build(libraries, "libopapi_math.so", rest)
    return home


@pytest.fixture
def toolkit(built: Path, tmp_path: Path) -> Path:
    """A copy, which a test may break."""
    return Path(shutil.copytree(built, tmp_path / "toolkit"))


def run(toolkit: Path | None, program: str, mode: str = "cann") -> list[str]:
    """The lines that a program prints after ``import mindtorch as torch``."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ASCEND", "LD_LIBRARY"))}
    environment |= {"MINDTORCH_NPU": mode, "PYTHONPATH": os.pathsep.join(sys.path)}
    if toolkit is not None:
        environment["ASCEND_TOOLKIT_HOME"] = str(toolkit)
    done = subprocess.run([sys.executable, "-c", "import mindtorch as torch\n" + program], env=environment,
                          capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


FAILURE = """
try:
    {}
except Exception as error:
    print(type(error).__name__, error)
"""


@needs_compiler
def test_the_probes_find_everything(toolkit: Path) -> None:
    assert run(toolkit, """
print(torch.npu.is_available(), torch.npu.device_count(), torch.npu.get_device_name())
print(torch._C._npu_aclnn_available(), torch._C._npu_aclnn_symbols_ok())
from mindtorch._backends.npu import provider
library = provider.load().find.__self__
print(*[path.rpartition("/")[2] for path in library.paths])
""") == ["True 1 Ascend910B3", "True True", "libnnopbase.so libopapi.so libopapi_math.so libascendcl.so"]


@needs_compiler
def test_operators_on_views_compute_through_c(toolkit: Path) -> None:
    assert run(
        toolkit,
        """
import ctypes
host = torch.arange(24.).reshape(4, 6) - 10
device = host.to("npu")
programs = [
    lambda x: x + x, lambda x: x.t() + x.t() * 2, lambda x: x[1:3, ::2] * x[:2, 1::2], lambda x: (x[:, 3] * x[:, :1]),
    lambda x: x.relu(), lambda x: x.t()[2:].relu(), lambda x: x.sum(), lambda x: x[::2].sum(0),
    lambda x: x.t().sum(1, True), lambda x: x @ x.t(), lambda x: x[1:, 2:5].t() @ x[1:, :2],
    lambda x: x[0].expand(3, 6) + 1, lambda x: x + -3,
]
for program in programs:
    expected, found = program(host), program(device)
    assert str(found.device) == "npu:0" and found.stride() == expected.stride()
    assert torch.equal(found.cpu(), expected), (found, expected)
device[1:3, ::2].fill_(7)
host[1:3, ::2].fill_(7)
assert torch.equal(device.cpu(), host)
count = ctypes.CDLL(None).standin_count
count.restype = ctypes.c_int64
print("handles left:", count())
""",
    ) == ["handles left: 0"]


@needs_compiler
@pytest.mark.parametrize(("codes", "call", "message"), [
    ((561000, 0), "aclnnAddGetWorkspaceSize failed on npu:0 with ACLNN_ERR_INNER (561000)", "planning failed as asked"),
    ((0, 361001), "aclnnAdd failed on npu:0 with ACLNN_ERR_RUNTIME_ERROR (361001)", "running failed as asked"),
])
def test_a_wrong_return_code_is_an_error_with_the_device_s_words(toolkit: Path, codes, call: str, message: str) -> None:
    found = run(toolkit, f"""
import ctypes
a = torch.ones(3).to("npu")
everything = ctypes.CDLL(None)
everything.standin_fail{codes}
{FAILURE.format("a + a")}
everything.standin_fail(0, 0)
print((a + a).tolist(), everything.standin_count())
""")
    assert found == [f"AclError {call}: {message}", "[2.0, 2.0, 2.0] 0"]


@needs_compiler
def test_a_missing_symbol_is_named(toolkit: Path) -> None:
    (toolkit / "lib64" / "libopapi_math.so").unlink()
    found = run(toolkit, "print(torch._C._npu_aclnn_available(), torch._C._npu_aclnn_symbols_ok())"
                         "\nx = torch.ones(2).to('npu')" + FAILURE.format("x.exp()"))
    assert found[0] == "True False" and "aclnnExpGetWorkspaceSize is in none of CANN's operator libraries" in found[1]


@needs_compiler
def test_the_libraries_need_each_other_in_the_right_order(toolkit: Path) -> None:
    (toolkit / "lib64" / "libnnopbase.so").unlink()
    found = run(
        toolkit,
        "print(torch.npu.is_available(), torch._C._npu_aclnn_available())"
        + FAILURE.format("torch.ones(2, device='npu')"),
    )
    assert found[0] == "False False" and "libnnopbase.so is in none of" in found[1]


@needs_compiler
def test_a_failing_import_is_a_clear_error_or_the_simulator(toolkit: Path) -> None:
    (toolkit / "python" / "site-packages" / "acl.py").write_text("raise ImportError('no driver')")
    found = run(toolkit, "print(torch.npu.is_available())" + FAILURE.format("torch.ones(2, device='npu')"))
    assert found[0] == "False" and "no driver" in found[1] and "MINDTORCH_NPU=cann" in found[1]
    found = run(toolkit, """
import warnings
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    print(torch.npu.get_device_name())
print(any("the NPU is simulated" in str(warning.message) for warning in warned))
""", mode="auto")
    assert found == ["Ascend910B (simulated)", "True"]


@pytest.mark.parametrize(("mode", "words"), [
    ("off", "the NPU is switched off: MINDTORCH_NPU=off"),
    ("cann", "Looked for libascendcl.so, libascendcl_impl.so in"),
    ("nonsense", "MINDTORCH_NPU='nonsense' is not one of auto, sim, cann, off"),
])
def test_without_cann(mode: str, words: str) -> None:
    found = run(None, "print(torch.npu.is_available())" + FAILURE.format("torch.ones(2, device='npu')"), mode)
    assert found[0] == "False" and words in found[1]


def test_auto_without_cann_is_the_simulator() -> None:
    assert run(None, "print(torch.npu.get_device_name())", "auto") == ["Ascend910B (simulated)"]


# -- the loader's parts ----------------------------------------------------------------------------------------------


@pytest.fixture
def loader(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A loader that nothing was asked of yet; what it does is noted."""
    steps: list[str] = []
    monkeypatch.setattr(acl_loader, "_ACL_READY", False)
    monkeypatch.setattr(acl_loader, "_ACL_MODULE", None)
    monkeypatch.setattr(acl_loader, "_existing_dirs", lambda paths: ["/somewhere"])
    monkeypatch.setattr(acl_loader, "_prepend_ld_library_path", lambda dirs: steps.append(f"path {dirs}"))
    monkeypatch.setattr(acl_loader, "_preload_libs", lambda dirs: steps.append(f"preload {dirs}"))
    monkeypatch.setattr(acl_loader, "_import_acl", lambda: steps.append("import") or "the module")
    return steps


def test_the_module_is_imported_once_after_the_libraries(loader: list[str]) -> None:
    assert acl_loader.ensure_acl() == acl_loader.ensure_acl() == "the module"
    assert loader == ["path ['/somewhere']", "preload ['/somewhere']", "import"]


def test_a_failed_attempt_is_not_remembered(loader: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ImportError("not yet")

    with monkeypatch.context() as broken:
        broken.setattr(acl_loader, "_import_acl", fail)
        with pytest.raises(ImportError, match="not yet"):
            acl_loader.ensure_acl()
    assert acl_loader.ensure_acl() == "the module"


def test_threads_import_it_once(loader: list[str]) -> None:
    threads = [threading.Thread(target=acl_loader.ensure_acl) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loader.count("import") == 1


def test_the_toolkit_s_packages_join_the_path_only_if_the_import_fails_without(tmp_path: Path,
                                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    packages = tmp_path / "python" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "acl.py").write_text("here = True")
    monkeypatch.setenv("ASCEND_TOOLKIT_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "acl", sys)  # importable already
    assert acl_loader._import_acl() is sys and str(packages) not in sys.path
    monkeypatch.delitem(sys.modules, "acl")
    assert acl_loader._import_acl().here and sys.path[-1] == str(packages)
    monkeypatch.delitem(sys.modules, "acl")


def test_folders_are_put_in_front_of_the_library_path_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/b:/c")
    acl_loader._prepend_ld_library_path(["/a", "/b"])
    assert os.environ["LD_LIBRARY_PATH"] == "/a:/b:/c"
