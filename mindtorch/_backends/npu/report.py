"""``python -m mindtorch npu``: report the parts of CANN found on this machine, the missing ones, and remedies."""
from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..._base.layout import Spec
from ..._device import device as Device
from ..._dtype import float32
from ..._tensor import empty_tensor
from . import acl_loader, aclnn, devices, provider
from .provider import FIRST, OPERATORS, RUNTIME
from .runtime import current_queue

#: The driver's library, without which no device is seen.
DRIVER = "libascend_hal.so"
VARIABLES = ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH", "ASCEND_OPP_PATH", "ASCEND_AICPU_PATH", "TOOLCHAIN_HOME")
PROOF = "planning an addition"  #: the fact that shows that the NPU can be used
NAMED = 12  #: operators that are listed by name


class Fact(NamedTuple):
    """Something that CANN needs: its name, what was found of it ('' if nothing), and what helps if it is missing."""

    name: str
    found: str
    cure: str = ""


def version_of(home: Path) -> str:
    """Return the version that a toolkit states, '' if it states none."""
    for path in [*home.glob("*-linux/ascend_toolkit_install.info"), home / "version.cfg", home / "version.info"]:
        if path.is_file() and (found := re.search(r"[Vv]ersion[\w.]*\s*=\s*\[?([\d.]+[\w.]*)", path.read_text())):
            return found[1]
    return ""


def on_disk() -> Iterator[Fact]:
    """Yield facts about the folders. Nothing is loaded."""
    homes = [home for home in acl_loader.toolkit_homes() if home.is_dir()]
    yield Fact("toolkit", ", ".join(f"{home} {version_of(home)}".rstrip() for home in homes),
               "Install CANN's toolkit, 8.0 or later, or set ASCEND_TOOLKIT_HOME to the folder that has lib64 and opp.")
    for home in acl_loader.named_homes():
        if not home.is_dir():
            yield Fact(f"the folder {home}", "", "The environment names it, and it is not there: unset "
                       "ASCEND_TOOLKIT_HOME and ASCEND_HOME_PATH, or correct them.")
    dirs = acl_loader.library_dirs()
    cures = {RUNTIME: "It belongs to the toolkit: install that again.",
             FIRST: "It belongs to the toolkit: install that again.",
             DRIVER: "Install the driver and firmware of the device, and put the user into its group (HwHiAiUser)."}
    for name, cure in cures.items():
        yield Fact(name, acl_loader.find_library(name, dirs) or "", cure)
    operators = [path for name in OPERATORS if (path := acl_loader.find_library(name, dirs))]
    yield Fact("operator libraries", ", ".join(operators),
               f"None of {', '.join(OPERATORS)} is there: they come with the toolkit, from 8.5 on with the operators' "
               "package.")
    packages = [str(module) for folder in acl_loader.python_dirs() for name in ("acl.so", "acl.py", "acl")
                if (module := Path(folder) / name).exists()]
    yield Fact("pyACL (acl)", ", ".join(packages), "It belongs to the toolkit, in python/site-packages.")


def variables() -> Iterator[Fact]:
    """Yield what CANN reads from the environment, after setting what is not set, and the kernels that it leads to."""
    acl_loader.export_environment()
    for name in VARIABLES:
        value = os.environ.get(name, "")
        by = "set by mindtorch" if name in acl_loader.exported else "from the environment"
        if value and not os.path.isdir(value):
            yield Fact(name, "", f"It is {value!r}, which is not a folder: unset it, or correct it.")
        elif value or name != "TOOLCHAIN_HOME":  # which only CANN's own compiler needs
            yield Fact(name, f"{value} ({by})" if value else "", "No toolkit has the folder that belongs here.")
    kernels = Path(os.environ.get("ASCEND_OPP_PATH", ""), "built-in", "op_impl", "ai_core", "tbe", "kernel")
    chips = [chip.name for chip in sorted(kernels.glob("ascend*")) if any(chip.glob("add")) or any(chip.glob("*/add"))]
    yield Fact("operator kernels", ", ".join(chips), f"None is in {kernels}. CANN refuses every operator without them. "
               "Install the package of your chip: Ascend-cann-kernels-910b, from 8.5 on Ascend-cann-910b-ops.")


def refusal() -> str:
    """Return why the device cannot plan an addition, '' if it can."""
    one = empty_tensor(Spec((1,), float32), Device("npu", 0))
    try:
        aclnn.planned("aclnnAdd", (one, one, 1, one), current_queue(0)).drop()
    except RuntimeError as error:
        return str(error)
    return ""


def when_loaded() -> Iterator[Fact]:
    """Yield the results of loading CANN and of asking it."""
    try:
        loaded = provider.cann()
    except (ImportError, OSError) as error:
        yield Fact("loading CANN", "", f"{type(error).__name__}: {error}".split(". Looked for")[0])
        return
    yield Fact("loading CANN", ", ".join(loaded.find.__self__.paths))  # type: ignore[attr-defined]
    try:
        count, name = devices.device_count(), ""
        name = devices.get_device_name() if count else ""
    except RuntimeError as error:
        yield Fact("devices", "", str(error))
        return
    yield Fact("devices", f"{count} {name}" if count else "", "The driver sees none: 'npu-smi info' shows why.")
    missing, total = aclnn.unavailable(), len(aclnn.names())
    names = ", ".join(missing[:NAMED]) + (", ..." if len(missing) > NAMED else "")
    lacking = f"; those that this release lacks run on the CPU: {names}" if missing else ""
    yield Fact("operators", f"{total - len(missing)} of {total}{lacking}" if len(missing) < total else "",
               "The libraries export none of the operators that mindtorch uses.")
    if count and len(missing) < total:
        why = refusal()
        yield Fact(PROOF, "" if why else "works", why)


def report() -> tuple[list[str], bool]:
    """Return the lines of the report, and whether there is a usable NPU. The simulator does not count."""
    lines = [f"MINDTORCH_NPU={provider.mode()}"]
    facts = [*on_disk(), *variables()]
    if provider.is_installed() and provider.mode() in ("auto", "cann"):
        facts += when_loaded()
    width = max(len(fact.name) for fact in facts)
    lines += [f"  {'found  ' if fact.found else 'missing'}  {fact.name.ljust(width)}  {fact.found or fact.cure}"
              for fact in facts]
    usable = bool(facts) and facts[-1].name == PROOF and bool(facts[-1].found)
    lines.append("CANN can be used." if usable else "CANN cannot be used: with MINDTORCH_NPU=auto, device='npu' is the "
                 "simulator.")
    return lines, usable
