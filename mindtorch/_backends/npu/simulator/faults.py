"""Faults on request: calls, operators and devices that fail, and slow motion.

Each function takes effect for what is called after it, in any thread, until it is used up or ``clear`` is called.
"""
from __future__ import annotations

import random
import threading
from dataclasses import dataclass
from typing import Literal

from .. import constants
from .errors import Fault

Phase = Literal[1, 2, "async", "call"]

#: The default codes of failing phases.
CODES: dict[Phase, int] = {1: constants.ACLNN_ERR_INNER, 2: constants.ACLNN_ERR_RUNTIME_ERROR,
                           "async": constants.ACL_ERROR_RT_AICORE_EXCEPTION,
                           "call": constants.ACL_ERROR_RT_DRV_INTERNAL_ERROR}
OUT_OF_MEMORY = constants.ACL_ERROR_RT_MEMORY_ALLOCATION


@dataclass
class Rule:
    """A fault that waits: the name of the operator or call ('*': any), and how often it strikes."""

    name: str
    phase: Phase
    code: int
    times: int | None
    probability: float
    random: random.Random

    def strikes(self, name: str, phase: Phase) -> bool:
        if phase != self.phase or self.name not in (name, "*"):
            return False
        if self.probability < 1 and self.random.random() >= self.probability:
            return False
        if self.times is not None:
            self.times -= 1
        return True


_rules: list[Rule] = []
_lock = threading.RLock()  # a finalizer may call the device at any moment
armed = False  #: whether there is any rule: nothing is looked up otherwise
lost: set[int] = set()  #: the devices that are lost
pace = 0.0  #: seconds that every operator and copy takes at least


def fail_next(call: str, times: int = 1, code: int | None = None) -> None:
    """Have the next calls of ``acl.rt.<call>`` or ``acl.<call>``, or of a C function of this name, fail with ``code``.

    Args:
        call: for example ``"malloc"``, ``"create_stream"``, ``"aclCreateTensor"``.
        times: how many calls fail.
        code: what they return; out of memory for allocations, else ACL_ERROR_RT_DRV_INTERNAL_ERROR (507899).
    """
    if code is None:
        code = OUT_OF_MEMORY if call.startswith("malloc") else CODES["call"]
    _add(Rule(call, "call", code, times, 1.0, random.Random(0)))


def out_of_memory(times: int = 1) -> None:
    """Let the next ``acl.rt.malloc`` find no memory."""
    fail_next("malloc", times)


def fail(op: str = "*", phase: Phase = "async", times: int | None = None, probability: float | None = None,
         seed: int = 0, code: int | None = None) -> None:
    """Have an ACLNN operator fail.

    Args:
        op: its name, for example ``"aclnnAdd"``; ``"*"``: any.
        phase: 1 or 2: this call returns ``code``; ``"async"``: both succeed, and the kernel fails on its stream.
        times: how often; once if neither this nor a probability is given.
        probability: of each use, from a generator of its own that starts with ``seed``.
        code: 561000, 361001 or 507015, if it is not given.
    """
    if phase not in (1, 2, "async"):
        raise ValueError(f"phase must be 1, 2 or 'async', not {phase!r}")
    if times is None and probability is None:
        times = 1
    chance = 1.0 if probability is None else probability
    _add(Rule(op, phase, CODES[phase] if code is None else code, times, chance, random.Random(seed)))


def lose_device(device: int = 0) -> None:
    """Lose a device: all calls to it, and all that is queued on it, fail (507010) until ``clear``."""
    lost.add(device)


def slow(seconds: float) -> None:
    """Make every operator and every asynchronous copy take at least this long, in seconds; 0 ends the slow motion."""
    global pace
    if seconds < 0:
        raise ValueError(f"seconds must not be negative, got {seconds}")
    pace = float(seconds)


def clear() -> None:
    """Forget all faults, and find lost devices again."""
    global armed
    with _lock:
        _rules.clear()
        armed = False
    lost.clear()
    slow(0)


def strike(name: str, phase: Phase) -> Fault | None:
    """Return the fault that a use of an operator or call meets, if any. Called only while ``armed``."""
    global armed
    with _lock:
        rule = next((rule for rule in _rules if rule.strikes(name, phase)), None)
        if rule is None:
            return None
        if rule.times == 0:
            _rules.remove(rule)
            armed = bool(_rules)
    return Fault(rule.code, f"{name}: a fault was asked for")


def _add(rule: Rule) -> None:
    global armed
    with _lock:
        _rules.append(rule)
        armed = True
