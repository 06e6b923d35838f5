"""``torch.export.draft_export``: what it takes from the example, and what it says of that."""
from __future__ import annotations

import importlib
import logging
from typing import Any

import pytest

import mindtorch
from tests.support import torch

LIBRARIES = (mindtorch, torch)


def drafted(lib: Any, name: str, free: bool = False) -> Any:
    class Drafted(lib.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any, i: Any) -> Any:
            if name == "number":
                return x + 1 if i.item() > 2 else x - 1
            if name == "truth":
                return x * 2 if x.sum() > 0 else x
            if name == "float":
                return x * 2 if x.max().item() < 1.5 else x
            return x.reshape(2, 2) + i

    export = importlib.import_module(f"{lib.__name__}.export")
    shapes = {"x": {0: export.Dim("b")}, "i": None} if free else None
    return export.draft_export(Drafted(), (lib.ones(4), lib.tensor(3)), dynamic_shapes=shapes)


@pytest.mark.parametrize("name,free", [("number", False), ("truth", False), ("float", False), ("size", True),
                                       ("size", False)])
def test_the_failures_are_pytorchs(name: str, free: bool, caplog: Any) -> None:
    logging.getLogger("torch").setLevel(logging.ERROR)
    ours, theirs = (drafted(lib, name, free) for lib in LIBRARIES)
    kinds = [[str(failure.failure_type) for failure in program._report.failures] for program in (ours, theirs)]
    assert kinds[0] == kinds[1] and ours._report.successful() is theirs._report.successful()
    assert ours._report.successful() or str(ours._report) in caplog.text
    x, i = mindtorch.ones(4), mindtorch.tensor(3)
    found = theirs.module()(torch.ones(4), torch.tensor(3)).tolist()
    assert ours.module()(x, i).tolist() == found


@pytest.mark.parametrize("name,x,i", [("number", 1.0, 2), ("truth", -1.0, 3), ("float", 2.0, 3)])
def test_a_program_asserts_what_was_taken_from_the_example(name: str, x: float, i: int) -> None:
    with pytest.raises(RuntimeError, match="Runtime assertion failed"):
        drafted(mindtorch, name).module()(mindtorch.full((4,), x), mindtorch.tensor(i))


def test_what_no_example_answers_is_an_error() -> None:
    with pytest.raises(ValueError, match="Expected `mod`"):
        mindtorch.export.draft_export(lambda x: x, (mindtorch.ones(1),))  # type: ignore[arg-type]
