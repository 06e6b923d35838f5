"""Anomaly mode: where the operator was called whose backward failed or made a NaN."""
from __future__ import annotations

import traceback
import warnings
from typing import Any


class AnomalyMode:
    """Whether forward calls are remembered in their nodes, and gradients are searched for NaN."""

    enabled = False
    check_nan = True


def remember_call(node: Any) -> None:
    """Note in a node which lines called its operator."""
    node.traceback = traceback.format_list(traceback.extract_stack()[:-3])


def explain_failure(node: Any, error: BaseException) -> None:
    """With anomaly mode on, warn where the operator was called whose backward failed."""
    if AnomalyMode.enabled:
        lines = "".join(node.traceback) if node.traceback else "  (no forward call was recorded for it)\n"
        warnings.warn(f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{lines}",
                      stacklevel=2)

