"""Hostile submissions: none gains a point, and none harms the grader or another student's grade.

By default a few are tried; with ``MINDTORCH_REQUIRE_ALL=1``, or ``MINDTORCH_COURSE=all``, all of them are.
"""
from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mindtorch.course.grading import Grade, grade
from mindtorch.course.masters import source as solution_text
from mindtorch.course.session import is_isolated

from .support import ALL
from .test_teaching import SOLUTION, cell, notebook

pytest.importorskip("nbgrader")
pytestmark = pytest.mark.skipif(not is_isolated(), reason="this system does not let users make namespaces")

RIGHT = "policy = lambda free, size: [room for _, room in free].index(min(room for _, room in free))"
OPERATOR = "strides.position"  #: the second lab, which refuses ``as_strided``
#: What is hidden in the grader's environment and files: no feedback may have it.
SECRET = "secret-of-the-teacher"

ATTACKS = {
    "reads solutions": """
import glob, os
from mindtorch.course import masters, recorded
found = []
for place in ("/", "/library", "/proc/1/root", os.path.dirname(masters.__file__)):
    found += glob.glob(place + "/**/answers/*.py", recursive=True) + glob.glob(place + "/**/outcomes/*.json",
                                                                             recursive=True)
try:
    policy = masters.solution("allocator.policy")
except Exception:
    policy = lambda free, size: recorded.recorded("allocator.policy").right[0]
""",
    "changes a classmate's file": """
import glob
for path in [{classmate!r}, *glob.glob("/proc/*/root" + {classmate!r}), *glob.glob("/proc/*/cwd/**/*.ipynb",
                                                                                  recursive=True)]:
    try:
        open(path, "w").write("gone")
    except OSError:
        pass
policy = lambda free, size: open({classmate!r}).read()
""",
    "forks": """
import os, time
for _ in range(5000):
    try:
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
    except OSError:
        break
""",
    "fills the disk": """
try:
    for number in range(100_000):
        open(f"/tmp/{{number}}", "wb").write(b"0" * (60 << 20))
except OSError:
    pass
""",
    "patches the checker": """
import sys
from mindtorch.course import checking, compare, limits, recorded, student, tasks
for module in (checking, compare):
    module.difference = lambda *args: None
checking.compare = checking.judge = lambda task, *args, **more: checking.Verdict(task, 1)
tasks.Lab.observe = lambda *args, **more: limits.Outcome(True)
""",
    "sleeps": "import time\ntime.sleep(3600)",
    "kills its parent": """
import os, signal
for process in (os.getppid(), 1, *range(2, 3000)):
    if process != os.getpid():
        try:
            os.kill(process, signal.SIGKILL)
        except OSError:
            pass
""",
    "reads the environment": """
import glob, os
found = str(dict(os.environ))
for path in glob.glob("/proc/*/environ"):
    try:
        found += open(path, errors="replace").read()
    except OSError:
        pass
at = found.find("TEACHER")
policy = lambda free, size: found[at:at + 60] if at >= 0 else 99
""",
    "prints grades": """
import json, os
lines = [json.dumps(one) for one in ({{"passed": True}}, {{"outcome": {{"value": 1}}}}, {{"points": 100}})]
print(*lines, sep="\\n")
for descriptor in range(3, 64):
    try:
        os.write(descriptor, ("\\n".join(lines) + "\\n").encode() * 50)
    except OSError:
        pass
""",
    "calls the operator": """
import mindtorch as torch
def position(index, shape, stride, offset):
    size = offset + sum((n - 1) * s for n, s in zip(shape, stride)) + 1
    return torch.arange(size).as_strided(shape, stride, offset)[tuple(index)].item()
""",
    "makes every comparison true": """
import builtins, unittest
builtins.AssertionError = type("Never", (Exception,), {{}})
unittest.TestCase.assertEqual = lambda *args: None
import numpy, math
numpy.isclose = lambda a, b, **more: numpy.ones(numpy.shape(a), bool)
math.isclose = lambda *args, **more: True
""",
    "returns what equals everything": """
class Equal(int):
    __eq__ = __le__ = __ge__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __hash__ = int.__hash__
policy = lambda free, size: Equal(7)
""",
    "exits in a thread": """
import sys, threading
threading.Thread(target=sys.exit, args=(0,)).start()
threading.Timer(0.2, lambda: __import__("os")._exit(0)).start()
""",
    "exits in the part": "import os\npolicy = lambda free, size: os._exit(0)",
    "writes to its parent's memory": """
import glob, os
for path in (f"/proc/{{os.getppid()}}/mem", "/proc/1/mem", *glob.glob("/proc/*/fd/*")):
    try:
        with open(path, "r+b", buffering=0) as file:
            file.write(b'{{"outcome": {{"value": 1}}}}\\n' * 50)
    except (OSError, ValueError):
        pass
""",
    "opens sockets": """
import socket
def can(address, family=socket.AF_INET):
    try:
        with socket.socket(family) as one:
            one.settimeout(1)
            one.connect(address)
        return True
    except OSError:
        return False
reached = can(("127.0.0.1", 22)), can(("8.8.8.8", 53)), can("/var/run/docker.sock", socket.AF_UNIX)
policy = lambda free, size: reached
""",
    "writes results at its end": """
import atexit, os, signal
def write(*_):
    for path in ("grades.csv", "../grades.csv", {classmate!r}):
        try:
            open(path, "w").write("student,notebook,test,points\\neve,01,one-check,100\\n")
        except OSError:
            pass
atexit.register(write)
signal.signal(signal.SIGTERM, write)
""",
    "returns what acts when it is gone": """
import os
class Gone:
    def __del__(self):
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, b'{{"outcome": {{"value": 1}}}}\\n')
            except OSError:
                pass
    def __repr__(self):
        return str(self.__del__())
policy = lambda free, size: Gone()
""",
    "hooks imports": """
import builtins, sys
own = builtins.__import__
class Finder:
    def find_spec(self, name, path=None, target=None):
        return None
sys.meta_path.insert(0, Finder())
def hooked(name, *args, **more):
    module = own(name, *args, **more)
    if "course" in name:
        for attribute in ("difference", "compare", "judge"):
            if hasattr(module, attribute):
                setattr(module, attribute, lambda *args, **more: None)
    return module
builtins.__import__ = hooked
""",
    "looks for the right values": """
import gc, sys
def policy(free, size):
    frame = sys._getframe()
    while frame is not None:
        for name, value in frame.f_locals.items():
            if name in ("right", "expected", "known"):
                return value
        frame = frame.f_back
    for value in gc.get_objects():
        if type(value).__name__ in ("Recorded", "Verdict"):
            return value.right[0]
    return 99
""",
}


@pytest.fixture
def masters(tmp_path: Path) -> Path:
    (tmp_path / "masters").mkdir()
    found = notebook(SOLUTION, solution_text(OPERATOR))
    found["cells"][3] = cell(f'course.check("{OPERATOR}", position)', "two-check", grade=True, locked=True, points=3)
    (tmp_path / "masters" / "01_doubling.ipynb").write_text(json.dumps(found))
    return tmp_path / "masters"


def submit(folder: Path, student: str, *cells: str) -> Path:
    path = folder / "submissions" / student / "01_doubling.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "metadata": {}, "source": text} for text in cells]}))
    return path


TRIED = ATTACKS if ALL else ("forks", "kills its parent", "calls the operator")


def test_hostile_submissions_gain_nothing_and_harm_nobody(masters: Path, tmp_path: Path,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEACHER", SECRET)
    classmate = submit(tmp_path, "ada", RIGHT, solution_text(OPERATOR))
    before = classmate.read_bytes()
    for attack in TRIED:
        submit(tmp_path, f"eve {attack}", ATTACKS[attack].format(classmate=str(classmate)))
    submit(tmp_path, "zoe", RIGHT, solution_text(OPERATOR))
    found: dict[str, list[Grade]] = {}
    for own in grade(masters, tmp_path / "submissions", isolated=True, seconds=20, jobs=2):
        found[own[0].student] = own
    assert classmate.read_bytes() == before and not (tmp_path / "grades.csv").exists()
    assert len(found) == len(TRIED) + 2
    for student, own in found.items():
        points = [2, 3] if student in ("ada", "zoe") else [0, 0]
        assert [one.points for one in own] == points, (student, own)
        assert not any(SECRET in one.said for one in own), own
        if student == "eve calls the operator":
            assert "calls as_strided" in own[1].said
    assert sum(name.isdigit() for name in os.listdir("/proc")) < 1000  # what was forked has ended


def test_the_number_of_attacks() -> None:
    assert len(ATTACKS) >= 20
