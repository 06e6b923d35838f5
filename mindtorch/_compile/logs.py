"""Artifacts that the compiler logs if they are asked for, by ``TORCH_LOGS`` or ``torch._logging.set_logs``."""
from __future__ import annotations

import logging
import os
from collections.abc import Callable

ARTIFACTS = ("bytecode", "dynamo", "graph_breaks", "graph_code", "guards", "output_code", "recompiles")
ENABLED: set[str] = {name.strip("+ ") for name in os.environ.get("TORCH_LOGS", "").split(",")} & {*ARTIFACTS}
_logger = logging.getLogger("torch._dynamo")


def log(artifact: str, text: Callable[[], str]) -> None:
    """Log an artifact if it is asked for; ``dynamo`` asks for all but programs."""
    if artifact in ENABLED or ("dynamo" in ENABLED and artifact != "output_code"):
        if not _logger.handlers and not logging.getLogger().handlers:
            _logger.addHandler(logging.StreamHandler())
        _logger.setLevel(logging.DEBUG)
        _logger.debug("[__%s] %s", artifact, text())
