"""What programs call in torch.distributed takes what it takes in PyTorch."""
from __future__ import annotations

import importlib
import inspect

import pytest

import mindtorch.distributed as dist

pytorch = pytest.importorskip("torch.distributed", reason="PyTorch, the reference of these tests, is not installed")
FUNCTIONS = [name for name in dist.__all__ if inspect.isfunction(getattr(dist, name))
             and not inspect.isbuiltin(getattr(pytorch, name))]  # of which PyTorch does not know the arguments


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_arguments_are_those_of_pytorch(name: str) -> None:
    ours, theirs = (inspect.signature(getattr(library, name)).parameters for library in (dist, pytorch))
    assert list(ours) == [parameter for parameter in theirs if not parameter.startswith("_")]
    for parameter, mine in ours.items():
        default = theirs[parameter].default
        if default is None or isinstance(default, (bool, int, str)):
            assert mine.default == default, parameter


def test_the_state_of_power_sgd_has_pytorchs_arguments_and_defaults() -> None:
    module = "distributed.algorithms.ddp_comm_hooks.powerSGD_hook"
    ours, theirs = (inspect.signature(importlib.import_module(f"{library}.{module}").PowerSGDState).parameters
                    for library in ("mindtorch", "torch"))
    assert {name: each.default for name, each in ours.items()} == {name: each.default for name, each in theirs.items()}


def test_there_are_these_functions() -> None:
    assert len(FUNCTIONS) > 45 and {"new_subgroups", "all_reduce", "is_xccl_available"} <= set(FUNCTIONS)


def test_every_public_name_of_pytorch_is_here_or_says_why_not() -> None:
    modules = ("autograd", "config", "constants", "c10d_logger", "log", "logging", "logging_handlers", "remote_device",
               "sys", "timedelta", "torch", "traceback", "typing", "utils", "RankType")  # that it only imports
    for name in dir(pytorch):
        if not name.startswith("_") and name not in modules and not hasattr(dist, name):
            with pytest.raises(AttributeError, match="mindtorch leaves out"):
                getattr(dist, name)


def test_backends_and_levels_have_names(monkeypatch) -> None:
    assert dist.Backend("GLOO") == dist.Backend.GLOO == "gloo" == dist.get_default_backend_for_device("cpu:0")
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "detail")
    assert dist.get_debug_level() is dist.DebugLevel.DETAIL
    assert dist.supports_complex(dist.ReduceOp.SUM) and not dist.supports_complex(dist.ReduceOp.MAX)
