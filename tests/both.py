"""Small programs show the same in both libraries, or raise the same error with the same first line, and warn alike."""
from __future__ import annotations

import re
import types
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch
from tests.support import torch

Program = Callable[[Any], Any]


def outcome(program: Program, lib: types.ModuleType) -> list[str]:
    """Return the repr of a program's result, or the first line of its error, with the reprs of its warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            text = repr(program(lib))
        except Exception as error:  # which exception it is, is what is compared
            text = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    lines = [f"{w.category.__name__}: {str(w.message).partition(' (Triggered')[0].splitlines()[0]}" for w in told
             if "ComplexHalf support is experimental" not in str(w.message)]
    return [re.sub(r"0x[0-9a-f]+", "0x", line).replace("mindtorch", "torch") for line in [text, *lines]]


def each_program(*programs: Program) -> pytest.MarkDecorator:
    """Run a test with each of these programs."""
    return pytest.mark.parametrize("program", programs, ids=[str(i) for i in range(len(programs))])


def assert_same_outcome(program: Program) -> None:
    """Both libraries do the same."""
    found = []
    for lib in (mindtorch, torch):
        lib.set_warn_always(True)
        found.append(outcome(program, lib))
        lib.set_warn_always(False)
    assert found[0] == found[1]
