"""Where a program's time goes, by the library that the processor was in: Python, NumPy, or the system's memory.

Linux's ``perf`` looks where the processor is, a thousand times a second, which changes nothing of what it looks at; a
profiler in Python would make Python slower, and NumPy not.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

#: What the names of the files that hold machine code say of it; the rest is Python: the interpreter and its modules.
KINDS = (("NumPy", re.compile(r"_multiarray_umath|_umath_linalg|_mt19937|pocketfft|openblas|scipy|ml_dtypes|libm\.")),
         ("memory", re.compile(r"\[kernel|libc[.-]|vdso|\[unknown")))
LINE = re.compile(r"^\s*([\d.]+)%\s+(\S+)", re.MULTILINE)


def shares(program: Callable[[], Any], seconds: float) -> dict[str, float]:
    """Measure the shares of Python, NumPy (with BLAS and SciPy), and memory (the system, for its pages, and the C
    library, which copies and divides them), while the program runs for so many seconds.

    Raises:
        RuntimeError: if there is no ``perf``, or it may not look.
    """
    if shutil.which("perf") is None:
        raise RuntimeError("--shares needs Linux's perf")
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "perf.data")
        watch = f"perf record -q -e cpu-clock -F 1000 -p {os.getpid()} -o {data} -- sleep {seconds}"
        watcher = subprocess.Popen(watch.split(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while watcher.poll() is None:
            end = time.perf_counter() + seconds / 20
            while time.perf_counter() < end:
                program()
        if watcher.returncode or not os.path.exists(data):
            assert watcher.stderr is not None
            raise RuntimeError(f"perf could not look: {watcher.stderr.read().strip()}")
        report = subprocess.run(["perf", "report", "-i", data, "--sort", "dso", "--stdio"], capture_output=True,
                                text=True, check=True).stdout
    found = {"Python": 0.0, "NumPy": 0.0, "memory": 0.0}
    for share, name in LINE.findall(report):
        found[next((kind for kind, pattern in KINDS if pattern.search(name)), "Python")] += float(share)
    return found
