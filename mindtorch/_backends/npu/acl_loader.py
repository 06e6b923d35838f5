"""Finding and importing pyACL, the Python binding of CANN's runtime, without any ``LD_LIBRARY_PATH``.

CANN's libraries need each other, and find each other by the loader's search path. Loading them by full path with
``RTLD_GLOBAL`` before anything asks for them serves as well, and needs nothing from the user's shell.
"""
from __future__ import annotations

import ctypes
import importlib
import os
import platform
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: Where CANN's installers put the toolkit, tried after the folders that the environment names.
_CANDIDATE_LIB_DIRS = (
    *(f"/usr/local/Ascend/{toolkit}latest/{arch}lib64" for toolkit in ("ascend-toolkit/", "")
      for arch in ("", "aarch64-linux/", "x86_64-linux/")),
    "/usr/local/Ascend/nnae/latest/lib64",
    *(f"/usr/local/Ascend/driver/lib64{part}" for part in ("/driver", "/common", "")),
)
#: Loaded in this order; the second exists in newer releases only.
_PRELOAD_LIBS = ("libascendcl.so", "libascendcl_impl.so")
_ACL_READY = False
_ACL_MODULE: Any = None
_ACL_LOCK = threading.Lock()


def toolkit_homes() -> list[Path]:
    """The toolkit's folders that the environment names: ``ASCEND_TOOLKIT_HOME``, then ``ASCEND_HOME_PATH``."""
    named = (os.environ.get(name) for name in ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH"))
    return [Path(home) for home in dict.fromkeys(named) if home]


def library_dirs() -> list[str]:
    """Every folder in which libraries are looked for, existing or not, in order."""
    arch = f"{platform.machine()}-linux"
    named = [str(home / part) for home in toolkit_homes() for part in ("lib64", f"{arch}/lib64")]
    return list(dict.fromkeys([*named, *_CANDIDATE_LIB_DIRS]))


def python_dirs() -> list[str]:
    """Every folder in which pyACL is looked for, existing or not, in order."""
    homes = [*toolkit_homes(), Path("/usr/local/Ascend/ascend-toolkit/latest"), Path("/usr/local/Ascend/latest")]
    return [str(home / "python" / "site-packages") for home in homes]


def _existing_dirs(paths: Iterable[str]) -> list[str]:
    """Those of the folders that exist, in order."""
    return [path for path in paths if os.path.isdir(path)]


def _prepend_ld_library_path(dirs: Iterable[str]) -> None:
    """Put folders in front of ``LD_LIBRARY_PATH``, for the processes that CANN starts (its compiler, for one)."""
    present = [path for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if path]
    wanted = [*dirs, *present]
    if wanted:
        os.environ["LD_LIBRARY_PATH"] = ":".join(dict.fromkeys(wanted))


def _preload_libs(dirs: Iterable[str]) -> list[str]:
    """Load the runtime's libraries for all that comes after, each from the first folder that has it. Returns the paths.
    Raises OSError if one is there but cannot be loaded.
    """
    folders, loaded = list(dirs), []
    for name in _PRELOAD_LIBS:
        path = next((found for folder in folders if os.path.exists(found := os.path.join(folder, name))), None)
        if path is not None:
            ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
            loaded.append(path)
    return loaded


def _import_acl() -> Any:
    """Import pyACL; the toolkit's folder joins ``sys.path`` only if it is not found without. Raises ImportError if
    there is none, or it cannot be loaded.
    """
    try:
        return importlib.import_module("acl")
    except ModuleNotFoundError as error:
        if error.name != "acl":
            raise
    for folder in _existing_dirs(python_dirs()):
        if folder not in sys.path:
            sys.path.append(folder)
    importlib.invalidate_caches()
    return importlib.import_module("acl")


def ensure_acl() -> Any:
    """The ``acl`` module, imported on first use. A failed attempt is not remembered: the next call tries again.

    Raises:
        ImportError: if CANN is not there, saying what was looked for and where.
    """
    global _ACL_READY, _ACL_MODULE
    if _ACL_READY:
        return _ACL_MODULE
    with _ACL_LOCK:
        if _ACL_READY:
            return _ACL_MODULE
        dirs = _existing_dirs(library_dirs())
        _prepend_ld_library_path(dirs)
        try:
            _preload_libs(dirs)
            module = _import_acl()
        except (ImportError, OSError) as error:
            raise ImportError(f"pyACL (the Python module 'acl' of CANN) cannot be loaded: {error}. Looked for "
                              f"{', '.join(_PRELOAD_LIBS)} in {', '.join(library_dirs())}; for the module in sys.path "
                              f"and in {', '.join(python_dirs())}. Set ASCEND_TOOLKIT_HOME to the toolkit's folder if "
                              "it is elsewhere.") from error
        _ACL_MODULE, _ACL_READY = module, True
        return module
