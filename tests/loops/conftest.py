"""Loops by NumPy, and the names of those that run."""
from __future__ import annotations

from typing import Any

import pytest

import mindtorch
from mindtorch._backends.cpu.plans import Plans
from mindtorch._base import loops
from mindtorch._base.loops import REPAID, Loop, machine_code
from mindtorch._base.loops.chains import Chained

from ..support import port, torch


@pytest.fixture(autouse=True)
def numba() -> None:
    if loops.numba() is None:
        pytest.skip("numba is not installed")


@pytest.fixture
def by_numpy(monkeypatch):
    """Return a function that runs another while no loop is compiled, without the plans of other calls."""
    def run(call):
        with monkeypatch.context() as patched:
            patched.setattr(Loop, "compiled", lambda self, size: None)
            patched.setattr(Loop, "ufunc", lambda self, size, numbers=(): None)
            patched.setattr(Chained, "ufunc", lambda self, *call: None)
            patched.setattr(Plans, "get", lambda self, key, default=None: default, raising=False)
            return call()

    return run


@pytest.fixture
def used(monkeypatch):
    """Return the names of the loops that run, all of which are taken to be repaid; restore them afterwards."""
    names, compiled = set(), Loop.compiled
    pairs = loops.arithmetic_of_lines.values()
    families = [*vars(loops).values(), *loops.at_each.values(), *loops.at_rows.values(), *loops.elements.values()]
    several = [family.loops.values() for family in families if isinstance(family, loops.ByDType)]
    for loop in [*loops.sum_half_lines.values(), *loops.angles.values(),
                 *vars(loops).values(), *(loop for group in (*pairs, *several) for loop in group)]:
        if isinstance(loop, Loop):
            monkeypatch.setattr(loop, "_function", None)
            monkeypatch.setattr(loop, "_left", 0)
            monkeypatch.setattr(loop, "_ufuncs", {})

    def noted(self: Loop, size: int) -> Any:
        found = compiled(self, size + REPAID if self.exact else size)
        if found is not None:
            names.add(self.name)
        return found

    monkeypatch.setattr(Loop, "compiled", noted)
    monkeypatch.setattr(Plans, "skip", lambda self: False)  # sizes of earlier tests may have changed at every call
    return names


@pytest.fixture
def agree(by_numpy):
    """Return a function that compares a program's results by loops with those by NumPy and by PyTorch, and returns
    them. ``scaled`` tolerates a part of the largest element. Of half precision, in which PyTorch adds some sums, it
    computes in float32.
    """
    def compare(call: Any, *given: Any, scaled: bool = False) -> list[Any]:
        mine = port(given, mindtorch)
        results = call(mindtorch, *mine)
        wide = [x.float() if isinstance(x, torch.Tensor) and x.dtype.itemsize == 2 else x for x in given]
        for others in (by_numpy(lambda: call(mindtorch, *mine)), port(call(torch, *wide), mindtorch)):
            for result, other in zip(results, others, strict=True):
                part = 4 * mindtorch.finfo(result.dtype).eps if result.dtype.itemsize == 2 else 1e-4
                largest = float(other.nan_to_num(0, 0, 0).abs().max()) if scaled else 1
                mindtorch.testing.assert_close(result, other.to(result.dtype), equal_nan=True, rtol=part,
                                               atol=part * largest)
        return results

    return compare


@pytest.fixture
def with_threads():
    """Return a function that calls another with a number of threads."""
    before = mindtorch.get_num_threads()

    def run(count: int, call: Any) -> Any:
        mindtorch.set_num_threads(count)
        return call()

    yield run
    mindtorch.set_num_threads(before)


@pytest.fixture
def nothing_kept(monkeypatch) -> None:
    monkeypatch.setattr(machine_code, "kept", lambda name: None)
