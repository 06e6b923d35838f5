"""What programs call in torch.distributed takes what it takes in PyTorch."""
from __future__ import annotations

import inspect

import pytest

import mindtorch.distributed as dist

pytorch = pytest.importorskip("torch.distributed", reason="PyTorch, the reference of these tests, is not installed")
FUNCTIONS = [name for name in dist.__all__ if inspect.isfunction(getattr(dist, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_arguments_are_those_of_pytorch(name: str) -> None:
    ours, theirs = (inspect.signature(getattr(library, name)).parameters for library in (dist, pytorch))
    assert list(ours) == [parameter for parameter in theirs if not parameter.startswith("_")]
    for parameter, mine in ours.items():
        default = theirs[parameter].default
        if default is None or isinstance(default, (bool, int, str)):
            assert mine.default == default, parameter


def test_there_are_these_functions() -> None:
    assert len(FUNCTIONS) > 45 and {"new_subgroups", "all_reduce", "is_xccl_available"} <= set(FUNCTIONS)
