"""What the programs have in common."""
from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Mapping
from typing import Any


def report(names: Mapping[str, Any]) -> None:
    """Run all checks of a program, and write a line for each: what the tests read."""
    for name, check in list(names.items()):
        if name.startswith("check_"):
            try:
                check()
                error = None
            except Exception:
                error = traceback.format_exc()
            sys.stdout.write(f"CHECKED {json.dumps([name, error])}\n")
            sys.stdout.flush()
