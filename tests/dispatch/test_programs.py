"""The operators that a mode sees of whole programs, forward and backward, are PyTorch's, in its order."""
from __future__ import annotations

import importlib
import itertools

import pytest

import mindtorch

from .programs import DIFFERENT, PROGRAMS, recorded

torch = pytest.importorskip("torch", reason="PyTorch says what operators it calls")
CAUSES = {program: cause for cause, programs in DIFFERENT.items() for program in programs}


def record(t, program):
    t.manual_seed(0)
    return recorded(t, importlib.import_module(f"{t.__name__}.utils._python_dispatch").TorchDispatchMode, program)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_calls_the_same_operators(program):
    ours, theirs = record(mindtorch, program), record(torch, program)
    if program in CAUSES:
        assert ours != theirs, "the program agrees: it leaves the list"
    else:
        assert ours == theirs


def test_the_list_of_what_differs_names_programs():
    listed = list(itertools.chain.from_iterable(DIFFERENT.values()))
    assert set(listed) <= set(PROGRAMS) and len(listed) == len(set(listed))
