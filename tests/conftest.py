"""Every test starts from the same seeds. PyTorch, the reference, runs in one thread where it is installed.

With ``MINDTORCH_REQUIRE_ALL=1`` a skipped test is a failure: where everything is installed, nothing may be left out.
Of the cases of a test that is marked ``sampled(n)``, every n-th runs; with ``MINDTORCH_FULL=1`` all of them.
"""
from __future__ import annotations

import gc
import importlib.util
import os
import random
import runpy
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

os.environ.setdefault("MINDTORCH_NPU_SANITIZER", "1")  # read when the simulator is loaded
os.environ.setdefault("MINDTORCH_LOOPS", "wait")  # what a test sees does not depend on what was compiled before

import mindtorch

from . import FULL, garbage
from .operators import forget

ROOT = Path(__file__).resolve().parent.parent


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in a script's background; tests and their processes interrupt
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure() -> None:
    """Write the stubs anew where the sources have changed since the install wrote them."""
    sources, stub = [ROOT / "setup.py", *ROOT.glob("mindtorch/**/*.py")], ROOT / "mindtorch/__init__.pyi"
    if not stub.exists() or max(source.stat().st_mtime for source in sources) > stub.stat().st_mtime:
        runpy.run_path(str(ROOT / "setup.py"))["write_stubs"](ROOT)


settings.register_profile("same every time", derandomize=True, deadline=None)
settings.load_profile("same every time")

REQUIRE_ALL = os.environ.get("MINDTORCH_REQUIRE_ALL") == "1"
torch = None
if importlib.util.find_spec("torch") is not None:
    import torch  # type: ignore[no-redef]

    torch.set_num_threads(1)
    for device in torch.cuda, torch.mtia, torch.xpu:  # absent; each seed would format and keep its caller's stack
        device.manual_seed_all = lambda seed: None


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage while tests are, of which a million objects stay: that took a quarter of the time."""
    gc.disable()
    yield
    gc.enable()


@pytest.hookimpl(trylast=True)  # after ``-k``: a case that is asked for runs
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Check that names of tests are equal in every process: pytest-xdist runs none where they differ. Leave out cases
    of tests that run in a sample.
    """
    if not FULL:
        left = left_out(items)
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in {*left}]
    passing = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if passing:
        raise pytest.UsageError(f"the names of these tests hold an address; give them ids: {passing}")


def left_out(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the cases that are not among every n-th of a test marked ``sampled(n)``."""
    before = Counter[str]()
    left = list[pytest.Item]()
    for item in items:
        if (mark := item.get_closest_marker("sampled")) is not None:
            test = item.nodeid.partition("[")[0]
            if before[test] % mark.args[0]:
                left.append(item)
            before[test] += 1
    return left


@pytest.fixture(scope="module", autouse=True)
def frozen() -> None:
    """Freeze all that earlier modules left, which each collection and each search for tensors would visit."""
    garbage.freeze()


#: RuntimeWarnings that code of the library let through, by test: NumPy's, about infinities and NaN.
LET_THROUGH: list[str] = []


def pytest_warning_recorded(warning_message: warnings.WarningMessage, nodeid: str) -> None:
    if warning_message.category is RuntimeWarning and str(ROOT / "mindtorch") in warning_message.filename:
        LET_THROUGH.append(f"{nodeid}: {warning_message.filename}:{warning_message.lineno} {warning_message.message}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    if LET_THROUGH:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in LET_THROUGH:
        terminalreporter.write_line(f"NumPy's warning reached the user: {line}", red=True)


@pytest.fixture(autouse=True)
def same_seeds() -> None:
    random.seed(0)
    np.random.seed(0)
    mindtorch.manual_seed(0)
    if torch is not None:
        torch.manual_seed(0)


@pytest.fixture(autouse=True)
def forget_operators() -> Iterator[None]:
    """Operators that a test defines are gone after it, and their names with them."""
    before, shown = set(mindtorch.registry.packets), list(mindtorch.__all__)
    yield
    for packet in set(mindtorch.registry.packets) - before:
        forget(packet)
    mindtorch.__all__[:] = shown  # a test may have forgotten an operator without this name of it


def npu_memory_in_use() -> int:
    """Return the bytes of device memory that tensors hold, over all devices that were started."""
    if "mindtorch._backends.npu.devices" not in sys.modules:
        return 0
    from mindtorch._backends.npu import allocator, runtime

    return sum(allocator.allocator_of(each)._now.get("allocated_bytes", 0) for each in runtime.runtimes())


@pytest.fixture(autouse=True)
def clean_npu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the sanitizer watch the simulated NPU in every test; it must not find anything. A stream goes on
    after a failure, unless a test wants it otherwise: the device is the same for all tests.
    """
    monkeypatch.setenv("MINDTORCH_NPU_FAILURE_MODE", "continue")
    before = npu_memory_in_use()
    yield
    if npu_memory_in_use() > before:
        garbage.freeze()  # else the next test may see this memory being freed
    simulator = sys.modules.get("mindtorch._backends.npu.simulator")
    if simulator is not None and (found := simulator.reports()):
        simulator.clear_reports()
        pytest.fail("the sanitizer reports:\n" + "\n".join(map(str, found)))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    report = (yield).get_result()
    if REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped although MINDTORCH_REQUIRE_ALL is set: {report.longrepr}"
