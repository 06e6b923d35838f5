"""Operators are imported by name from ``_dispatch.aten``."""
from __future__ import annotations

import pytest

import mindtorch
from mindtorch import registry
from mindtorch._dispatch import aten


def test_a_name_is_the_operator_with_its_overloads_dot_as_an_underscore() -> None:
    assert aten.rsqrt is registry.operators["rsqrt"].call
    assert aten.add_Tensor is registry.operators["add.Tensor"].call
    assert aten.add__Tensor is registry.operators["add_.Tensor"].call
    assert aten.sum_dim_IntList is registry.operators["sum.dim_IntList"].call
    assert aten.max_dim_out is registry.operators["max.dim_out"].call


def test_a_packets_name_is_the_operator_of_that_name_or_else_the_first_overload() -> None:
    assert aten.add is registry.operators["add.Tensor"].call
    assert aten.where is registry.operators["where"].call is not aten.where_self


def test_every_operator_can_be_imported() -> None:
    packets = {"scatter.reduce": "scatter_reduce.two"}  # a packet has the name that this overload would have
    operators = registry.operators
    assert not [name for name in operators
                if getattr(aten, name.replace(".", "_")) is not operators[packets.get(name, name)].call]


def test_a_name_that_no_operator_has_cannot_be_imported() -> None:
    with pytest.raises(ImportError, match="cannot import name 'rsqurt'"):
        from mindtorch._dispatch.aten import rsqurt  # noqa: F401


#: Overloads that PyTorch has not: numbers before tensors, and operators that it writes in Python.
OURS_ALONE = {"add.Scalar_Tensor", "div.Scalar_Tensor", "floor_divide.Scalar_Tensor", "mul.Scalar_Tensor",
              "sub.Scalar_Tensor", "true_divide.Scalar_Tensor", "gradient.default", "ldexp_.Tensor", "nonzero.python",
              "nonzero.python_out", "norm.python", "norm.python_out", "unique_consecutive.python"}


def test_overloads_have_pytorchs_names() -> None:
    theirs = pytest.importorskip("torch").ops.aten
    packets = [name for name in registry.packets if hasattr(theirs, name) and hasattr(mindtorch.ops.aten, name)]
    unknown = {f"{name}.{overload}" for name in packets
               for overload in {*getattr(mindtorch.ops.aten, name).overloads()} - {*getattr(theirs, name).overloads()}}
    assert len(packets) > 1000 and unknown == OURS_ALONE


def test_tags_are_pytorchs() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch, the reference of these tests, is not installed")
    assert mindtorch.Tag.__members__.keys() == torch.Tag.__members__.keys()
    compared = 0
    for name in {operator.packet for operator in registry.operators.values() if "::" not in operator.name}:
        theirs = getattr(torch.ops.aten, name, None)
        for overload in theirs.overloads() if theirs is not None else ():
            own = getattr(getattr(mindtorch.ops.aten, name), overload, None)
            if own is not None:
                assert {tag.name for tag in own.tags} == {tag.name for tag in getattr(theirs, overload).tags}, own
                compared += 1
    assert compared > 1200
