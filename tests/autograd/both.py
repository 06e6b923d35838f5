"""Ask both libraries the same: what a program of tensors shows, or which error it raises."""

from __future__ import annotations

import re
import types
import warnings
from collections.abc import Callable
from typing import Any

import mindtorch
from tests.support import torch

Case = Callable[[types.ModuleType], Any]


def shown(case: Case, lib: types.ModuleType) -> str:
    """Return the repr of a program's result, or its error, without addresses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            text = repr(case(lib))
        except Exception as error:  # which exception it is, is what is compared
            text = f"{type(error).__name__}: {error}"
    return re.sub(r"0x[0-9a-f]+|torch\.autograd\.function\.", "", text)


def assert_same(case: Case) -> None:
    """Assert that a program shows the same in both libraries."""
    ours, theirs = shown(case, mindtorch), shown(case, torch)
    assert ours == theirs, f"{ours}\nPyTorch: {theirs}"
