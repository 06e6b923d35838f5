"""``torch.distributed.fsdp``: parameters that are divided among processes.

A sharded module keeps one part (shard) of its parameters, laid end to end. All shards are gathered before its forward
pass and freed after it, even if the graph saved them: backward gathers them again. Gradients are reduced and scattered:
each rank gets the average gradient of its shard, which an optimizer updates.

A rank moves a model's parameters three times (two all-gathers, one reduce-scatter); ``DistributedDataParallel`` moves
them twice (an all-reduce). In return it holds only its shard of parameters, gradients and optimizer state.
"""
from __future__ import annotations

from typing import Any

from .._autograd.function import Function
from .._autograd.grad_mode import no_grad
from .._tensor import Tensor
from ..autograd.graph import saved_tensors_hooks
from ..nn.module import Module
from ..nn.parameter import Parameter
from ._collectives.groups import ProcessGroup, resolve
from ._collectives.operations import all_gather_into_tensor, reduce_scatter_tensor
from ._collectives.reduce_op import ReduceOp


class Shards:
    """The parameters that are gathered together for one module; ``shard`` is this rank's part of them."""

    def __init__(self, module: Module, group: ProcessGroup):
        self.group = group
        #: Where each parameter belongs (module and name), its shape, and where it begins in the whole.
        self.places: list[tuple[Module, str, Any, int]] = []
        size, flats = 0, []
        for owner in module.modules():
            for name, parameter in list(owner._parameters.items()):
                if parameter is not None and not isinstance(parameter, Shard):
                    self.places.append((owner, name, parameter.shape, size))
                    flats.append(parameter.detach().reshape(-1))
                    size += parameter.numel()
                    del owner._parameters[name]
        if len({(flat.dtype, flat.device) for flat in flats}) != 1:
            raise ValueError("fully_shard: the parameters that are sharded together must have one dtype and one device")
        self.length = -(-size // group.size())  # the last part ends with zeros
        start, part = group.rank() * self.length, flats[0].new_zeros(self.length)
        for flat, (_, _, _, begin) in zip(flats, self.places, strict=True):
            low, high = max(begin, start), min(begin + flat.numel(), start + self.length)
            if low < high:
                part[low - start:high - start] = flat[low - begin:high - begin]
        self.shard = Shard(part)
        module.register_parameter("shard", self.shard)
        self.memory = 0  # the address of the whole while a forward pass runs
        self.again: Tensor | None = None  # the whole, for a backward pass

    def gather(self) -> Tensor:
        """Return the whole parameter."""
        with no_grad():
            whole = self.shard.new_empty(self.length * self.group.size())
            all_gather_into_tensor(whole, self.shard, group=self.group)
        return whole

    def unshard(self) -> None:
        """Store whole parameters as the modules' attributes."""
        for (owner, name, _, _), parameter in zip(self.places, _Gather.apply(self.shard, self), strict=True):
            owner.__dict__[name] = parameter

    def reshard(self) -> None:
        """Take them away."""
        self.memory = 0
        for owner, name, _, _ in self.places:
            owner.__dict__.pop(name, None)

    def pack(self, tensor: Tensor) -> Any:
        """Return what the graph saves of a tensor: for a whole parameter, only the range of its elements."""
        if self.memory and tensor.untyped_storage().data_ptr() == self.memory:
            return tensor.shape, tensor.stride(), tensor.storage_offset()
        return tensor

    def unpack(self, packed: Any) -> Tensor:
        if isinstance(packed, Tensor):
            return packed
        if self.again is None:
            self.again = self.gather()
        return self.again.as_strided(*packed)

    def full(self) -> dict[tuple[int, str], Tensor]:
        """Return the whole parameters, by their modules' identities and names."""
        whole = self.gather()
        return {(id(owner), name): whole[begin:begin + shape.numel()].view(shape).clone()
                for owner, name, shape, begin in self.places}


class Shard(Parameter):  # type: ignore[metaclass]
    """A rank's part of parameters that are laid end to end."""


class _Gather(Function):
    """From a part to the whole parameters; in backward from their gradients to the part's, averaged over ranks."""

    @staticmethod
    def forward(ctx: Any, shard: Tensor, shards: Shards) -> tuple[Tensor, ...]:
        ctx.shards = shards
        whole = shards.gather()
        shards.memory = whole.untyped_storage().data_ptr()
        return tuple(whole[begin:begin + shape.numel()].view(shape) for _, _, shape, begin in shards.places)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        shards = ctx.shards
        shards.again = None  # all that was computed with the parameters has its gradients
        part = shards.shard.new_empty(shards.length)
        whole = part.new_zeros(shards.length * shards.group.size())
        for gradient, (_, _, shape, begin) in zip(gradients, shards.places, strict=True):
            whole[begin:begin + shape.numel()] = gradient.reshape(-1)
        reduce_scatter_tensor(part, whole, ReduceOp.AVG, group=shards.group)
        return part, None


def fully_shard(module: Module, mesh: ProcessGroup | None = None) -> Module:
    """Keep a part of a module's parameters in each process (``torch.distributed.fsdp.fully_shard``).

    Shard the layers of a model first, and then the model, for its other parameters: parameters that are sharded
    together are gathered together. All ranks must start with equal parameters. Instead of PyTorch's ``DTensor`` for
    each parameter, a sharded module has one parameter ``shard``, of one dimension, for the optimizer.

    Args:
        module: the module, changed in place.
        mesh: the group of processes; the world unless given.

    Returns:
        The module.

    Raises:
        ValueError: if its parameters differ in dtype or device.
    """
    if all(isinstance(parameter, Shard) for parameter in module.parameters()):
        return module
    shards, inner = Shards(module, resolve(mesh)), module.forward

    def forward(*args: Any, **kwargs: Any) -> Any:
        with saved_tensors_hooks(shards.pack, shards.unpack):
            shards.unshard()
            try:
                return inner(*args, **kwargs)
            finally:
                shards.reshard()

    module.__dict__["_shards"], module.__dict__["forward"] = shards, forward
    return module


def full_state_dict(module: Module) -> dict[str, Tensor]:
    """Return the whole parameters and buffers of a model with sharded modules, as before sharding; all ranks make this
    call.
    """
    found: dict[tuple[int, str], Tensor] = {}
    for owner in module.modules():
        if (shards := owner.__dict__.get("_shards")) is not None:
            found |= shards.full()
    out = {name: tensor for name, tensor in module.state_dict().items() if name.rpartition(".")[2] != "shard"}
    names = {id(owner): prefix for prefix, owner in module.named_modules()}
    return out | {".".join(filter(None, (names[owner], name))): tensor for (owner, name), tensor in found.items()}


__all__ = ["full_state_dict", "fully_shard"]
