"""Finding CANN and importing pyACL, the Python binding of its runtime, from a shell that knows nothing of CANN.

CANN's ``set_env.sh`` sets a dozen variables. Of these, the ones that CANN reads are set here before anything of it is
loaded, unless the user has set them. Its libraries find each other by the loader's search path, which a process cannot
change for itself: loading them by full path with ``RTLD_GLOBAL``, those first that others need, serves as well.
"""
from __future__ import annotations

import ctypes
import importlib
import os
import platform
import re
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: Where CANN's installers put everything: as root, and as another user.
_ROOTS = ("/usr/local/Ascend", "~/Ascend")
#: The toolkit's folder in there: from release 8.5 on, before it, without the toolkit's own folder, and that of nnae, a
#: part of the toolkit; then folders of versions, the newest first, where the link to one of them is missing.
_HOMES = ("cann", "ascend-toolkit/latest", "latest", "nnae/latest", "cann-*", "ascend-toolkit/[0-9]*", "nnae/[0-9]*")
_ARCH = platform.machine()
#: Where libraries are, tried after the folders that the environment names: of toolkits, and of the driver.
_CANDIDATE_LIB_DIRS = (
    *(f"{root}/{home}/{arch}lib64" for root in _ROOTS[:1] for home in _HOMES[:4]
      for arch in ("", "aarch64-linux/", "x86_64-linux/")),
    *(f"{_ROOTS[0]}/driver/lib64{part}" for part in ("/driver", "/common", "")),
)
#: Loaded in this order, where they are: the first two are looked up by name by libraries that come later, and the last
#: exists in newer releases only.
_PRELOAD_LIBS = ("libascend_protobuf.so", "libplatform.so", "libascendcl.so", "libascendcl_impl.so")
#: Further folders of a toolkit that CANN's ``set_env.sh`` puts into ``LD_LIBRARY_PATH``: plug-ins, and how to cut
#: operators into pieces.
_PLUGIN_DIRS = ("lib64/plugin/opskernel", "lib64/plugin/nnengine",
                f"opp/built-in/op_impl/ai_core/tbe/op_tiling/lib/linux/{_ARCH}", "tools/aml/lib64",
                "tools/aml/lib64/plugin")
_ACL_READY = False
_ACL_MODULE: Any = None
_ACL_LOCK = threading.Lock()
exported: dict[str, str] = {}  #: the variables that were set here, and not by the user


def named_homes() -> list[Path]:
    """Return the toolkit's folders that the environment names: ``ASCEND_TOOLKIT_HOME``, then ``ASCEND_HOME_PATH``."""
    named = (os.environ.get(name) for name in ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH"))
    return [Path(home) for home in dict.fromkeys(named) if home]


def toolkit_homes() -> list[Path]:
    """Return the toolkit's folders: those that the environment names, then those in the usual places that exist."""
    found = [home for root in _ROOTS for pattern in _HOMES
             for home in sorted(Path(root).expanduser().glob(pattern), key=_version, reverse=True) if home.is_dir()]
    return list(dict.fromkeys([*named_homes(), *found]))


def _version(home: Path) -> list[int]:
    """Return the numbers in a folder's name: 8.10 is newer than 8.9."""
    return [int(number) for number in re.findall(r"\d+", home.name)]


def environment() -> dict[str, str]:
    """Return the variables of CANN's ``set_env.sh`` for the first toolkit, preferably one with compiled operators."""
    homes = [home for home in toolkit_homes() if home.is_dir()]
    home = next((home for home in homes if (home / "opp").is_dir()), next(iter(homes), None))
    if home is None:
        return {}
    wanted = {"ASCEND_TOOLKIT_HOME": home, "ASCEND_HOME_PATH": home, "ASCEND_OPP_PATH": home / "opp",
              "ASCEND_AICPU_PATH": home, "TOOLCHAIN_HOME": home / "toolkit"}
    return {name: str(path) for name, path in wanted.items() if path.is_dir()}


def export_environment() -> None:
    """Set what CANN reads and the user has not set; without ``ASCEND_OPP_PATH`` every operator fails (561107)."""
    for name, value in environment().items():
        if not os.environ.get(name):
            os.environ[name] = exported[name] = value


def library_dirs() -> list[str]:
    """Every folder in which libraries are looked for, existing or not, in order."""
    homes = [str(home / part) for home in toolkit_homes() for part in ("lib64", f"{_ARCH}-linux/lib64")]
    plugins = [str(home / part) for home in toolkit_homes() for part in _PLUGIN_DIRS]
    return list(dict.fromkeys([*homes, *_CANDIDATE_LIB_DIRS, *plugins]))


def python_dirs() -> list[str]:
    """Every folder in which pyACL is looked for, existing or not, in order."""
    usual = [Path(_ROOTS[0]) / home for home in _HOMES[:3]]
    return list(dict.fromkeys(str(home / "python" / "site-packages") for home in [*toolkit_homes(), *usual]))


def _existing_dirs() -> list[str]:
    """Return the folders with libraries that exist, in order."""
    return [path for path in library_dirs() if os.path.isdir(path)]


def _prepend_ld_library_path(dirs: Iterable[str]) -> None:
    """Put folders in front of ``LD_LIBRARY_PATH``, for the processes that CANN starts (its compiler, for one)."""
    present = [path for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if path]
    wanted = [*dirs, *present]
    if wanted:
        os.environ["LD_LIBRARY_PATH"] = ":".join(dict.fromkeys(wanted))


def find_library(name: str, dirs: Iterable[str]) -> str | None:
    """Return the path of a library in the first of the folders that has it."""
    return next((path for folder in dirs if os.path.exists(path := os.path.join(folder, name))), None)


def load_library(path: str, dirs: Iterable[str]) -> Any:
    """Load a library globally, after those in the folders that it needs; OSError names what is missing."""
    dirs, tried = list(dirs), set()
    while True:
        try:
            return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            missing = re.match(r"(\S+): cannot open shared object file", str(error))
            needed = None if missing is None or missing[1] in tried else find_library(missing[1], dirs)
            if missing is None or needed is None or needed == path:
                raise
            tried.add(missing[1])
            load_library(needed, dirs)


def _preload_libs(dirs: Iterable[str]) -> list[str]:
    """Load the runtime's libraries globally, each from the first folder that has it; return their paths."""
    folders = list(dirs)
    paths = [path for name in _PRELOAD_LIBS if (path := find_library(name, folders)) is not None]
    for path in paths:
        load_library(path, folders)
    return paths


def _import_acl() -> Any:
    """Import pyACL, from the toolkit's folder if it is not on ``sys.path``; ImportError if that fails."""
    try:
        return importlib.import_module("acl")
    except ModuleNotFoundError as error:
        if error.name != "acl":
            raise
    for folder in python_dirs():
        if os.path.isdir(folder) and folder not in sys.path:
            sys.path.append(folder)
    importlib.invalidate_caches()
    return importlib.import_module("acl")


def ensure_acl() -> Any:
    """Return ``acl``, imported on first use; ImportError lists what was looked for, and the next call retries."""
    global _ACL_READY, _ACL_MODULE
    if _ACL_READY:
        return _ACL_MODULE
    with _ACL_LOCK:
        if _ACL_READY:
            return _ACL_MODULE
        export_environment()
        dirs = _existing_dirs()
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
