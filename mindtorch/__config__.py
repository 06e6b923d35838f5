"""``torch.__config__``: the libraries that mindtorch computes with."""
from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from ._base.loops import machine_code
from ._methods.settings import get_num_interop_threads, get_num_threads
from .torch_version import __version__


def show() -> str:
    """Return the versions of Python and of the libraries that compute, one in each line (``torch.__config__.show``)."""
    lines = [f"Python {platform.python_version()} ({platform.machine()})", f"NumPy {np.__version__}"]
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    lines.append(f"BLAS {blas['name']} {blas['version']}")
    for package in ("scipy", "ml_dtypes"):
        try:
            lines.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            lines.append(f"{package} is not installed")
    lines.append(f"loops of numba: {len(machine_code.kept_names())} on the disk for this processor")
    return "".join([f"mindtorch {__version__} runs with:\n", *(f"  - {line}\n" for line in lines)])


def parallel_info() -> str:
    """Describe the threads that operators run on (``torch.__config__.parallel_info``)."""
    return (f"mindtorch runs blocks of large arrays on threads of its own:\n"
            f"\ttorch.get_num_threads() : {get_num_threads()}\n"
            f"\ttorch.get_num_interop_threads() : {get_num_interop_threads()}\n")


__all__ = ["parallel_info", "show"]
