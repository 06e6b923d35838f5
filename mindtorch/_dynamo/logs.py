"""Artifacts that the compiler logs if they are asked for, by ``TORCH_LOGS`` or ``set_logs``."""
from __future__ import annotations

import logging
import os
from collections.abc import Callable

ARTIFACTS = ("graph_code", "guards", "recompiles", "graph_breaks", "output_code", "bytecode", "dynamo")
enabled: set[str] = {name.strip("+ ") for name in os.environ.get("TORCH_LOGS", "").split(",")} & {*ARTIFACTS}
_logger = logging.getLogger("torch._dynamo")


def log(artifact: str, text: Callable[[], str]) -> None:
    """Log an artifact if it is asked for."""
    if artifact in enabled or "dynamo" in enabled:
        if not _logger.handlers and not logging.getLogger().handlers:
            _logger.addHandler(logging.StreamHandler())
            _logger.setLevel(logging.DEBUG)
        _logger.debug("[__%s] %s", artifact, text())
