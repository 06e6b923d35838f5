"""Run a program in a process of its own, on mindtorch or on PyTorch, and compare what they print."""
from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from .programs import PROGRAMS

HEAD = "import torch\ntorch.manual_seed(0)\n"
ON_MINDTORCH = "import mindtorch\nmindtorch.install_as_torch()\n"
#: The wheels of torchvision and torchaudio on PyPI ask for CUDA. Beside a PyTorch without it, torchvision's operators
#: in C++ are named here, so that the rest of it can be imported (calling one is an error), and torchaudio runs as it
#: does without its extension.
ON_PYTORCH = """import importlib.util, pathlib, sys, torch, types
def loads(library, pattern):
    spec = importlib.util.find_spec(library)
    try:
        torch.ops.load_library(next(pathlib.Path(spec.origin).parent.glob(pattern))) if spec else None
    except OSError:
        return False
    return True
if not loads("torchvision", "_C*.so"):
    from mindtorch._run.torchvision import SCHEMAS
    library = torch.library.Library("torchvision", "DEF")
    for schema in SCHEMAS.replace("\\n  ", " ").strip().splitlines():
        library.define(schema)
if not loads("torchaudio", "lib/_torchaudio*.so"):
    sys.modules["torchaudio._extension"] = extension = types.ModuleType("torchaudio._extension")
    extension._IS_TORCHAUDIO_EXT_AVAILABLE = extension._IS_ALIGN_AVAILABLE = False
    extension.fail_if_no_align = extension._check_cuda_version = lambda *args: args[0] if args else None
"""
NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.?\d*(?:e-?\d+)?|inf|nan)(?![\w.])")
TOLERANCE = 1e-4


def names(wanted: Iterable[str] = ()) -> list[str]:
    """Return the programs of libraries, all unless some are named."""
    wanted = [*wanted]
    return [name for name in PROGRAMS if not wanted or name in wanted or name.partition(":")[0] in wanted]


def printed(program: str, on_mindtorch: bool, timeout: int = 240, args: Iterable[str] = ()) -> tuple[bool, str]:
    """Return whether a program ran, and its output, or its last line of errors."""
    program = (ON_MINDTORCH if on_mindtorch else ON_PYTORCH) + HEAD + program
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    try:
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", program, *args], capture_output=True, text=True,
                              timeout=timeout, env={**os.environ, "PYTHONPATH": path, "TOKENIZERS_PARALLELISM": "false",
                                                    "HF_HUB_OFFLINE": "1"})
    except subprocess.TimeoutExpired:
        return False, f"not done within {timeout} s"
    if done.returncode:
        return False, (done.stderr.strip().splitlines() or ["it failed"])[-1][:200]
    return True, done.stdout


#: One process runs several libraries' programs one after the other, since importing PyTorch takes longer than they do.
TOGETHER = """
import contextlib, io, json, sys
from tests.libraries.programs import PROGRAMS
said = {}
for name in sys.argv[1:]:
    torch.manual_seed(0)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            exec(compile(PROGRAMS[name], name, "exec"), {"torch": torch, "__name__": "__main__"})
            said[name] = True, out.getvalue()
        except Exception as error:
            said[name] = False, f"{type(error).__name__}: {error}"
print(json.dumps(said))
"""


def printed_together(names: Iterable[str], on_mindtorch: bool) -> dict[str, tuple[bool, str]]:
    """Return for each of several libraries whether its program ran, and its output or its error."""
    ran, said = printed(TOGETHER, on_mindtorch, args=names)
    if not ran:
        raise RuntimeError(said)
    return {name: tuple(outcome) for name, outcome in json.loads(said.splitlines()[-1]).items()}


def difference(found: str, expected: str) -> str:
    """Return how two outputs differ, '' if the words are equal and the numbers close."""
    words, others = NUMBER.sub("#", found), NUMBER.sub("#", expected)
    if words.split() != others.split():
        return "other words"
    for ours, theirs in zip(NUMBER.findall(found), NUMBER.findall(expected), strict=True):
        a, b = float(ours), float(theirs)
        if not (math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE) or (math.isnan(a) and math.isnan(b))):
            return f"{ours} for {theirs}"
    return ""


def outcome(expected: tuple[bool, str], found: tuple[bool, str]) -> tuple[str, str]:
    """Return 'equal', 'differs', 'fails' or 'PyTorch fails', and a reason where it is not 'equal'."""
    if not expected[0]:
        return "PyTorch fails", expected[1]
    if not found[0]:
        return "fails", found[1]
    said = difference(found[1], expected[1])
    return ("differs", said) if said else ("equal", "")


def compared(name: str) -> tuple[str, str]:
    """Return the outcome of a library's program, and a reason where it is not 'equal'."""
    expected = printed(PROGRAMS[name], on_mindtorch=False)
    return outcome(expected, printed(PROGRAMS[name], on_mindtorch=True) if expected[0] else (False, ""))
