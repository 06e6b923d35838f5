"""``torch.distributed.tensor.parallel``: one linear layer in several processes.

Between a layer that is cut by columns and one that is cut by rows each rank has a part of the features, and computes
with it alone: ``y = relu(x @ A) @ B`` is the sum over ranks of ``relu(x @ A_r) @ B_r``. Two functions, each the other's
derivative, stand before and behind: the first copies forward and sums gradients, the second sums forward and copies
them.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..._autograd.function import Function
from ..._autograd.grad_mode import no_grad
from ..._tensor import Tensor
from ...nn.functional import linear
from ...nn.module import Module
from ...nn.modules.linear import Linear
from ...nn.parameter import Parameter
from .._collectives.groups import ProcessGroup, resolve
from .._collectives.operations import all_reduce


class Copy(Function):
    """The input of all ranks; its gradient is the sum of theirs."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: ProcessGroup) -> Tensor:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        total = gradient.clone()
        all_reduce(total, group=ctx.group)
        return total, None


class Sum(Function):
    """The sum over ranks; each summand's gradient is that of the sum."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: ProcessGroup) -> Tensor:
        total = x.clone()
        all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return gradient, None


class _Cut(Module):
    """A part of a linear layer: of the weight's dimension ``dim``, 0 for output and 1 for input features."""

    dim: int

    def __init__(self, layer: Linear, group: ProcessGroup):
        super().__init__()
        if layer.weight.shape[self.dim] % group.size():
            raise ValueError(f"{layer.weight.shape[self.dim]} features cannot be cut into {group.size()} equal parts")
        self.group = group
        with no_grad():
            self.weight = Parameter(layer.weight.chunk(group.size(), self.dim)[group.rank()].clone())
        self.register_parameter("bias", None if layer.bias is None else self._bias(layer.bias))

    def _bias(self, bias: Tensor) -> Parameter:
        raise NotImplementedError


class ColumnLinear(_Cut):
    """A part of a linear layer's output features: from ``(..., in)`` to ``(..., out / ranks)``."""

    dim = 0

    def _bias(self, bias: Tensor) -> Parameter:
        return Parameter(bias.detach().chunk(self.group.size())[self.group.rank()].clone())

    def forward(self, x: Tensor) -> Tensor:
        """Return this rank's output features."""
        return linear(Copy.apply(x, self.group), self.weight, self.bias)


class RowLinear(_Cut):
    """A part of a linear layer's input features: from ``(..., in / ranks)`` to ``(..., out)``."""

    dim = 1

    def _bias(self, bias: Tensor) -> Parameter:
        return Parameter(bias.detach().clone())

    def forward(self, x: Tensor) -> Tensor:
        """Return all output features, a sum to which every rank contributes."""
        out = Sum.apply(linear(x, self.weight), self.group)
        return out if self.bias is None else out + self.bias


class ColwiseParallel:
    """Cut a linear layer by output features (``torch.distributed.tensor.parallel.ColwiseParallel``)."""

    layer = ColumnLinear


class RowwiseParallel:
    """Cut a linear layer by input features (``torch.distributed.tensor.parallel.RowwiseParallel``)."""

    layer = RowLinear


def parallelize_module(module: Module, device_mesh: ProcessGroup | None,
                       parallelize_plan: Mapping[str, ColwiseParallel | RowwiseParallel]) -> Module:
    """Replace linear layers by the parts of this rank (``torch.distributed.tensor.parallel.parallelize_module``).

    Args:
        module: the module, changed in place; all ranks have equal parameters.
        device_mesh: the group of processes; the world if None.
        parallelize_plan: by the name of a layer, how it is divided.

    Returns:
        The module.

    Raises:
        TypeError: if a layer is not linear.
        ValueError: if its features cannot be cut into equal parts.
    """
    for name, style in parallelize_plan.items():
        layer = module.get_submodule(name)
        if not isinstance(layer, Linear):
            raise TypeError(f"parallelize_module cuts linear layers; {name!r} is a {type(layer).__name__}")
        owner, _, last = name.rpartition(".")
        setattr(module.get_submodule(owner), last, style.layer(layer, resolve(device_mesh)))
    return module


__all__ = ["ColwiseParallel", "RowwiseParallel", "parallelize_module"]
