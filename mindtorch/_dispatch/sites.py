"""Source locations of kernels in the package."""
from __future__ import annotations

import linecache
import os
import re
from functools import cache

from .._base.call_site import PACKAGE
from .registry import Kernel


def kernel_site(kernel: Kernel, name: str) -> tuple[str, int]:
    """Return file and line of a kernel: of its definition, or of its row, for NumPy's functions and other names of
    operators.
    """
    file, line = kernel.location
    if ".py: " in file:  # another operator's entry, which is generated
        return _row_site(re.escape(name), re.escape(name), "operators") or (file, line)
    borrowed = not line or (getattr(kernel.origin, "__module__", None) or "").startswith(("numpy", "scipy"))
    backend = getattr(kernel.origin, "backend", "cpu")
    function = re.escape(getattr(kernel.origin, "__name__", name))
    return (_row_site(re.escape(name), function, backend) if borrowed else None) or (file, line)


@cache
def _row_site(name: str, function: str, backend: str) -> tuple[str, int] | None:
    """Find an operator's row in a backend's tables: a dict's key, a function of that name, or a word in a text."""
    folder = os.path.join(PACKAGE, "_operators" if backend == "operators" else f"_backends/{backend}/ops")
    row = re.compile({"cpu": rf'"{name}":|\b(?:np|sp|special)\.{function}(?=[,)])|"{function}"[,)]',
                      "operators": rf'"{name}":|operator\("(?:\S+ )*{name}[ "]'}.get(
                          backend, rf'(?<![\w."]){name} [A-Z]|"{name}":'))
    for file in sorted(os.listdir(folder)):
        path = os.path.join(folder, file)
        for number, text in enumerate(linecache.getlines(path), 1):
            if row.search(text):
                return path, number
    return None
