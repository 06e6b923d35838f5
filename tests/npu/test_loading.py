"""The real loading path without an Ascend: small C libraries with CANN's symbols, and a stand-in for pyACL, in a folder
that is shaped like the toolkit. Every program runs in an interpreter of its own.
"""
from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mindtorch._backends.npu import acl_loader, report
from tests.npu.standin import build, mistakes

needs_compiler = pytest.mark.skipif(build.COMPILER is None, reason="there is no C compiler")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build.toolkit(tmp_path_factory.mktemp("built") / "toolkit")


@pytest.fixture
def toolkit(built: Path, tmp_path: Path) -> Path:
    """A copy, which a test may break."""
    return Path(shutil.copytree(built, tmp_path / "toolkit"))


def execute(arguments: list[str], toolkit: Path | None, mode: str = "cann",
            **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], env=build.environment(toolkit, mode) | variables,
                          capture_output=True, text=True, timeout=300)


def run(toolkit: Path | None, program: str, mode: str = "cann") -> list[str]:
    """The lines that a program prints after ``import mindtorch as torch``."""
    done = execute(["-c", "import mindtorch as torch\n" + program], toolkit, mode)
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
""") == ["True 2 Ascend910B3", "True True",
         "libnnopbase.so libopapi.so libaclnn_rand.so libopapi_math.so libascendcl.so"]


@needs_compiler
def test_from_a_bare_shell_the_backend_does_right_what_a_strict_device_wants(toolkit: Path) -> None:
    done = execute(["-m", "tests.npu.standin.acceptance"], toolkit)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


@needs_compiler
def test_each_deliberate_mistake_in_the_backend_is_caught(toolkit: Path) -> None:
    """``python -m tests.npu.standin.mistakes`` prints the table."""
    done = execute(["-m", "tests.npu.standin.mistakes"], toolkit)
    table = done.stdout.splitlines()
    assert done.returncode == 0 and len(table) == len(mistakes.MISTAKES) >= 20, done.stdout + done.stderr
    assert not [line for line in table if " caught by " not in line]


@needs_compiler
def test_operators_that_a_release_lacks_run_on_the_cpu_and_are_named(toolkit: Path) -> None:
    (toolkit / "lib64" / "libopapi_math.so").unlink()
    found = run(toolkit, """
import warnings
print(torch._C._npu_aclnn_available(), torch._C._npu_aclnn_symbols_ok())
from mindtorch._backends.npu import aclnn
print("aclnnExp" in aclnn.unavailable(), "aclnnAdd" in aclnn.unavailable())
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    print((torch.zeros(2).to("npu").exp() + 1).tolist(), [str(w.message).split(":")[2][:21] for w in told])
""")
    assert found == ["True True", "True False", "[2.0, 2.0] ['exp has no NPU kernel']"]


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
    ("cann", "libplatform.so, libascendcl.so, libascendcl_impl.so in"),
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
    monkeypatch.setattr(acl_loader, "_existing_dirs", lambda: ["/somewhere"])
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


# -- folders of the releases -------------------------------------------------------------------------------------------

LAYOUTS = {
    "8.0 to 8.3": ("ascend-toolkit/8.1.RC1", "ascend-toolkit/latest"),
    "8.5": ("cann-8.5.0", "cann"),
    "without the toolkit's folder": ("8.2.0", "latest"),
    "nnae": ("nnae/8.0.0", "nnae/latest"),
    "without a link": ("cann-8.10.0", None),
}


def tree(root: Path, folder: str, link: str | None) -> Path:
    """The folders of a toolkit, without a library that could be loaded."""
    home = root / folder
    arch = f"{platform.machine()}-linux"
    for part in (f"{arch}/lib64", "opp", "toolkit", "python/site-packages/acl"):
        (home / part).mkdir(parents=True)
    for name in ("libascendcl.so", "libnnopbase.so", "libopapi.so"):
        (home / arch / "lib64" / name).touch()
    (home / arch / "ascend_toolkit_install.info").write_text("package_name=Ascend-cann-toolkit\nversion=8.5.0\n")
    if link is None:
        (root / "cann-8.9.0" / "opp").mkdir(parents=True)  # an older one
        return home
    (root / link).symlink_to(home)
    return root / link


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_release_s_folders_are_found_and_what_set_env_sets_is_set(layout: str, tmp_path: Path,
                                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    home = tree(tmp_path / "Ascend", *LAYOUTS[layout])
    monkeypatch.setattr(acl_loader, "_ROOTS", (str(tmp_path / "Ascend"),))
    monkeypatch.setattr(acl_loader, "exported", {})
    for name in report.VARIABLES:
        monkeypatch.setenv(name, "")  # so that it is restored
        monkeypatch.delenv(name)
    assert acl_loader.toolkit_homes()[0] == home
    acl_loader.export_environment()
    assert {name: os.environ.get(name) for name in report.VARIABLES} == {
        "ASCEND_TOOLKIT_HOME": str(home), "ASCEND_HOME_PATH": str(home), "ASCEND_OPP_PATH": f"{home}/opp",
        "ASCEND_AICPU_PATH": str(home), "TOOLCHAIN_HOME": f"{home}/toolkit"}
    facts = {fact.name: fact.found for fact in [*report.on_disk(), *report.variables()]}
    assert facts["toolkit"].startswith(f"{home} 8.5.0") and facts["libascend_hal.so"] == ""
    assert facts["libascendcl.so"] == str(home / f"{platform.machine()}-linux" / "lib64" / "libascendcl.so")
    assert facts["pyACL (acl)"].startswith(str(home)) and facts["ASCEND_OPP_PATH"] == f"{home}/opp (set by mindtorch)"


def test_what_the_user_has_set_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tree(tmp_path, *LAYOUTS["8.5"])
    monkeypatch.setattr(acl_loader, "_ROOTS", (str(tmp_path),))
    monkeypatch.setattr(acl_loader, "exported", {})
    for name in report.VARIABLES:
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("ASCEND_OPP_PATH", "/elsewhere/opp")
    acl_loader.export_environment()
    assert os.environ["ASCEND_OPP_PATH"] == "/elsewhere/opp" and os.environ["ASCEND_AICPU_PATH"] == str(home)
    wrong = next(fact for fact in report.variables() if fact.name == "ASCEND_OPP_PATH")
    assert not wrong.found and "'/elsewhere/opp', which is not a folder" in wrong.cure


@needs_compiler
def test_libraries_that_a_library_needs_are_found_without_a_search_path(tmp_path: Path) -> None:
    """As those of CANN need libraries beside them, without saying where they are."""
    sources = {"far": "int far(void) { return 7; }", "near": "int far(void); int near(void) { return far(); }"}
    for name, text in sources.items():
        (tmp_path / f"{name}.c").write_text(text)
        needs = [] if name == "far" else ["-L", str(tmp_path), "-lmt_far"]
        subprocess.run([str(build.COMPILER), "-shared", "-fPIC", f"-Wl,-soname,libmt_{name}.so",
                        "-o", str(tmp_path / f"libmt_{name}.so"), str(tmp_path / f"{name}.c"), *needs], check=True)
    path = str(tmp_path / "libmt_near.so")
    with pytest.raises(OSError, match=r"libmt_far\.so"):
        acl_loader.load_library(path, [])
    assert acl_loader.load_library(path, [str(tmp_path)]).near() == 7


@needs_compiler
def test_the_report_says_what_is_found_and_what_is_missing(toolkit: Path) -> None:
    done = execute(["-m", "mindtorch", "npu"], toolkit)
    assert done.returncode == 0 and done.stdout.endswith("CANN can be used.\n"), done.stdout + done.stderr
    assert "missing  libascend_hal.so" in done.stdout and "2 Ascend910B3" in done.stdout
    assert f"{toolkit}/opp (set by mindtorch)" in done.stdout
    assert "found    operator kernels      ascend910b" in done.stdout
    assert "found    planning an addition  works" in done.stdout
    done = execute(["-m", "mindtorch", "npu"], toolkit / "nowhere", "auto")
    assert done.returncode == 1 and "CANN cannot be used" in done.stdout
    assert f"missing  the folder {toolkit / 'nowhere'}" in done.stdout


@needs_compiler
@pytest.mark.parametrize("missing", ["", "built-in/op_impl/ai_core/tbe/kernel/ascend910b"])
def test_without_kernels_programs_run_on_the_cpu_and_the_report_says_why(toolkit: Path, missing: str) -> None:
    """The toolkit's own package makes ``opp``; that of the chip puts kernels there."""
    shutil.rmtree(toolkit / "opp" / missing)
    (toolkit / "opp").mkdir(exist_ok=True)
    done = execute(["-m", "mindtorch", "npu"], toolkit)
    assert done.returncode == 1 and done.stdout.endswith("device='npu' is the simulator.\n"), done.stdout + done.stderr
    assert "missing  operator kernels" in done.stdout and "Install the package of your chip" in done.stdout
    assert "(561112): the kernel package is not installed" in done.stdout
    found = run(toolkit, """
import warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    x = torch.arange(6.0).reshape(2, 3).to("npu")
    x[:, 1:] = (x.t() @ x).relu().sum(0)[1:] + torch.ones(2, device="npu")
    print(x.tolist(), x.half().t().tolist(), (x > 40).nonzero().tolist(), torch.equal(x, x))
print(all("is refused by aclnn" in str(w.message) or "runs on the CPU" in str(w.message) for w in told), len(told) > 5)
""")
    assert found == ["[[0.0, 52.0, 67.0], [3.0, 52.0, 67.0]] [[0.0, 3.0], [52.0, 52.0], [67.0, 67.0]] "
                     "[[0, 1], [0, 2], [1, 1], [1, 2]] True", "True True"]
