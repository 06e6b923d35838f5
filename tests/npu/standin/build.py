"""Building the stand-in toolkit with the system's compiler, in a folder that is shaped like CANN's."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from mindtorch._backends.npu.bindings import names
from mindtorch._backends.npu.descriptors import HANDLE_FUNCTIONS

#: Where the kernel package puts its kernels, by chip.
KERNELS = Path("opp", "built-in", "op_impl", "ai_core", "tbe", "kernel")
SOURCES = Path(__file__).parent
COMPILER = shutil.which("cc") or shutil.which("gcc")


def library(folder: Path, name: str, source: Path) -> None:
    subprocess.run([str(COMPILER), "-shared", "-fPIC", "-O1", "-I", str(SOURCES), "-o", str(folder / name), str(source),
                    "-lm", "-lpthread"], check=True)


def toolkit(home: Path) -> Path:
    """Make a toolkit: ``lib64`` with the libraries, ``python/site-packages`` with pyACL, ``opp`` with the folder of a
    kernel.
    """
    libraries, packages = home / "lib64", home / "python" / "site-packages"
    for folder in (libraries, packages, home / KERNELS / "ascend910b" / "ops_math" / "add"):
        folder.mkdir(parents=True)
    shutil.copy(SOURCES / "acl.py", packages)
    for name, source in (("libascendcl.so", "ascendcl.c"), ("libnnopbase.so", "nnopbase.c"),
                         ("libopapi.so", "opapi.c")):
        library(libraries, name, SOURCES / source)
    # the rest of the table, as a release splits it off: every function is there, and finds no kernel
    made = (SOURCES / "nnopbase.c").read_text() + (SOURCES / "opapi.c").read_text()
    operators = [name + part for name in names() for part in ("", "GetWorkspaceSize")]
    for name, functions in (("libaclnn_rand.so", [*HANDLE_FUNCTIONS]), ("libopapi_math.so", operators)):
        rest = home / "rest.c"
        rest.write_text("".join(f"int {name}(void) {{ return 561003; }}\n" for name in functions
                                if f"({name.removesuffix('GetWorkspaceSize')}," not in made and f"{name}(" not in made))
        library(libraries, name, rest)
    return home


def environment(home: Path | None, mode: str = "cann") -> dict[str, str]:
    """The environment of a program that knows of CANN no more than where the toolkit is."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ASCEND", "LD_LIBRARY"))}
    kept |= {"MINDTORCH_NPU": mode, "PYTHONPATH": os.pathsep.join(sys.path)}
    kept.pop("MINDTORCH_NPU_FAILURE_MODE", None)
    return kept if home is None else kept | {"ASCEND_TOOLKIT_HOME": str(home)}


def run(module: str) -> int:
    """Run a module with a toolkit that is built for it. Returns its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        home = toolkit(Path(folder) / "toolkit")
        return subprocess.run([sys.executable, "-m", module], env=environment(home)).returncode
