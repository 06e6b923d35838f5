"""A sample of random programs with aliases, threads, interrupts and faults: they do what PyTorch's do."""
from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.fuzz.programs import WAYS, case

SAMPLE = 150  #: programs that are run in each way


def differing(way: str) -> str:
    """Return the differences in the sample of one way."""
    found = []
    for number in range([*WAYS].index(way), SAMPLE * len(WAYS), len(WAYS)):
        outcome = case(number, seed=7)
        if outcome.found:
            found.append(f"case {number}: {outcome.shown}\n    {'; '.join(outcome.found)}")
    return "\n".join(found)


@pytest.mark.parametrize("way", [way for way in WAYS if way != "interrupted"])
def test_programs_do_what_pytorchs_do(way: str) -> None:
    assert differing(way) == ""


@pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="needs signals")
def test_an_interrupted_program_leaves_the_grad_mode_to_the_next_one() -> None:
    script = ("import mindtorch\nfrom tests.fuzz.programs import case\n"
              "print(case(21643, seed=31).found, mindtorch.is_grad_enabled())")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.strip()) == (0, "[] True"), done.stdout + done.stderr


@pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="needs signals")
def test_interrupted_programs_do_what_pytorchs_do() -> None:
    """In a process of its own: where a line is traced when the interrupt is raised, Python 3.11 has been seen to go
    round in circles in its evaluation loop for ever, in a process with many threads.
    """
    done = subprocess.run([sys.executable, "-c", "from tests.fuzz.test_programs import differing\n"
                           "print(differing('interrupted'))"], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stdout + done.stderr
