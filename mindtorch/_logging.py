"""``torch._logging``: what the compiler logs."""
from __future__ import annotations

from typing import Any

from ._compile.logs import ARTIFACTS, ENABLED

__all__ = ["set_logs"]
__dir__ = __all__.copy


def set_logs(*, modules: Any = None, **artifacts: Any) -> None:
    """Log these artifacts from now on, and no others (``torch._logging.set_logs``).

    ``graph_code``, ``guards``, ``recompiles``, ``graph_breaks``, ``output_code`` and ``bytecode`` (the Python around
    the graphs) are switched by True and False; ``dynamo`` takes a level of ``logging`` too, and stands for all but
    ``output_code``. The environment variable ``TORCH_LOGS`` names them, divided by commas.

    Raises:
        ValueError: if there is no such artifact.
    """
    unknown = [name for name in artifacts if name not in ARTIFACTS]
    if unknown:
        raise ValueError(f"Unrecognized log or artifact name passed to set_logs: {unknown[0]}; there are "
                         f"{', '.join(ARTIFACTS)}")
    ENABLED.clear()
    ENABLED.update(name for name, wanted in artifacts.items() if wanted)
