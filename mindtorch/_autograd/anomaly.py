"""Anomaly mode: find the forward call whose backward failed or produced a NaN."""
from __future__ import annotations

import os
import re
import traceback
import warnings
from typing import Any

import numpy as np

from .._base.about import about, check_flags, tell
from .._base.interrupts import attributes, leaving
from .._dispatch.local import local

#: The library's private packages, whose frames do not help the reader of a traceback.
_MACHINERY = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_")


class AnomalyMode:
    """Anomaly mode, shared by all threads: nodes record their forward calls, and gradients are checked for NaN."""

    enabled = False
    check_nan = True


def is_anomaly_enabled() -> bool:
    """Return True if anomaly mode is on (``torch.is_anomaly_enabled``)."""
    return AnomalyMode.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Return True if anomaly mode checks gradients for NaN (``torch.is_anomaly_check_nan_enabled``)."""
    return AnomalyMode.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly mode on or off (``torch.set_anomaly_enabled``)."""
    check_flags("set_anomaly_enabled", first=1, enabled=enabled, check_nan=check_nan)
    AnomalyMode.enabled, AnomalyMode.check_nan = enabled, check_nan


class set_detect_anomaly:
    """Switches anomaly mode on or off, at once or for a ``with`` block (``torch.autograd.set_detect_anomaly``)."""

    def __init__(self, mode: bool, check_nan: bool = True):
        self.before = AnomalyMode.enabled, AnomalyMode.check_nan
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    @leaving(lambda block: lambda gone: block.__exit__())
    def __exit__(self, *exc: object) -> None:
        AnomalyMode.enabled, AnomalyMode.check_nan = self.before


class detect_anomaly:
    """A block in which backward explains its failures (``torch.autograd.detect_anomaly``). If a node raises, a warning
    shows its forward call; a NaN in a gradient is an error, unless ``check_nan`` is False.
    """

    def __init__(self, check_nan: bool = True):
        self.check_nan = check_nan
        warnings.warn("Anomaly Detection has been enabled. This mode will increase the runtime and should only be "
                      "enabled for debugging.", stacklevel=2)

    def __enter__(self) -> None:
        self.before = AnomalyMode.enabled, AnomalyMode.check_nan
        set_anomaly_enabled(True, self.check_nan)

    @leaving(attributes(AnomalyMode, "enabled", "check_nan"))
    def __exit__(self, *exc: object) -> None:
        AnomalyMode.enabled, AnomalyMode.check_nan = self.before


def remember_call(node: Any) -> None:
    """Record in a node the traceback of its forward call, and the node whose backward made that call, if any."""
    frames = traceback.extract_stack()
    while frames and frames[-1].filename.startswith(_MACHINERY):
        frames.pop()
    node.metadata["traceback_"] = traceback.format_list(frames)
    if local.task is not None and local.task.node is not None:
        node.metadata["parent_"] = local.task.node


def tell_node(error: Exception, node: Any) -> None:
    """Add to an error from backward the node that raised it, and the forward call if anomaly mode has recorded it."""
    outputs = ", ".join(f"{dtype.name}{list(shape)}" for shape, dtype, _ in filter(None, node._outputs))
    found = re.search(r'File "(.+)", line (\d+), in (.+)', node.metadata.get("traceback_", [""])[-1])
    called = ", called at {}:{} in {}".format(*found.groups()) if found else (
        "; torch.autograd.set_detect_anomaly(True) names the line that called it")
    forward = f"the backward of {node.forward_name()} -> {outputs}{called}"
    tell(error, id(node), f"in {node.name()}, {forward if node._links else f'the gradient of a leaf {outputs}'}")


def explain_failure(node: Any) -> None:
    """Warn with the forward call of the node whose backward failed."""
    said, effect = "Error detected in", "caused the error"
    hint = " Enable detect anomaly during forward pass for more information."
    while node is not None:
        lines = node.metadata.get("traceback_")
        if lines is None:
            warnings.warn(f"{said} {node.name()}. No forward pass information available.{hint}", stacklevel=5)
            return
        warnings.warn(f"{said} {node.name()}. Traceback of forward call that {effect}:\n{''.join(lines)}", stacklevel=5)
        node = node.metadata.get("parent_")
        said, effect, hint = "\n\nPrevious calculation was induced by", "induced the previous calculation", ""


def check_nan(node: Any, gradients: list[Any]) -> None:
    """Check gradients for NaN.

    Raises:
        RuntimeError: PyTorch's, with the node's name.
    """
    for i, gradient in enumerate(gradients):
        if gradient is not None and not gradient.is_meta and np.isnan(gradient._host("isnan")).any():
            raise about(RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output."),
                        "nan in backward", node=node, number=i)
