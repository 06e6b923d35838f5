"""Parameters that are gathered together, and whose gradients are reduced together."""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ...._autograd.function import Function
from ...._autograd.grad_mode import no_grad
from ...._dispatch.aten import cat
from ...._dispatch.local import local as thread
from ...._tensor import Tensor
from ....nn.module import Module
from ....nn.parameter import Parameter
from ..._collectives.engine import Work, purpose
from ..._collectives.operations import all_gather_into_tensor, all_reduce, reduce_scatter_tensor
from ..._collectives.reduce_op import ReduceOp
from ...device_mesh import DeviceMesh
from ...tensor._api import DTensor
from ...tensor.placement_types import padded
from ._fsdp_api import MixedPrecisionPolicy
from ._fsdp_param import FSDPParam, ParamModuleInfo


class FSDPParamGroup:
    """The parameters that are gathered and reduced together, of one module."""

    def __init__(self, name: str, parameters: Sequence[FSDPParam], mesh: DeviceMesh,
                 policy: MixedPrecisionPolicy):
        self.name, self.parameters, self.mesh, self.policy = name, list(parameters), mesh, policy
        self.path = ""  # of the module in the outermost one that is sharded
        self.shards = mesh.get_group(mesh.ndim - 1)
        self.replicas = mesh.get_group(0) if mesh.ndim > 1 else None
        self.reshard_after_forward = self.reshard_after_backward = True
        self.reduce_grads = self.all_reduce_grads = True
        self.divide_factor: float | None = None
        self.wholes: list[Tensor] | None = None  # the parameters, gathered
        self.versions: tuple[int, ...] = ()
        self.pending: tuple[Tensor, Work | None] | None = None
        self.saved: dict[int, int] = {}  # addresses of gathered parameters, while a forward pass runs
        self.unreduced: dict[int, Tensor] = {}  # gradients that wait for a pass that reduces
        self.runs = False  # whether a forward pass runs
        self.ending = False

    def _parts(self) -> list[Tensor]:
        return [parameter.sharded._local_tensor for parameter in self.parameters]

    def begin(self) -> None:
        """Start to gather."""
        if self.pending is not None or self.fresh():
            return
        with no_grad():
            dtype = self.policy.param_dtype
            flat = [padded(part, p.dim, p.chunk[p.dim]).reshape(-1) for part, p in zip(self._parts(), self.parameters,
                                                                                     strict=True)]
            row = cat([part if dtype is None else part.to(dtype) for part in flat], 0)
            out = row.new_empty(row.numel() * self.shards.size())
            before = purpose.set(f"gather {self.name} {self.path}".rstrip())
            try:
                self.pending = out, all_gather_into_tensor(out, row, group=self.shards, async_op=True)
            finally:
                purpose.reset(before)
        self.versions = tuple(part._version for part in self._parts())

    def fresh(self) -> bool:
        """Return True if the parameters are gathered, and have not changed since."""
        return self.wholes is not None and self.versions == tuple(part._version for part in self._parts())

    def gather(self) -> list[Tensor]:
        """Return the whole parameters."""
        if self.fresh():
            assert self.wholes is not None
            return self.wholes
        self.begin()
        assert self.pending is not None
        (out, work), self.pending = self.pending, None
        if work is not None:
            work.wait()
        with no_grad():
            rows, start, self.wholes = out.view(self.shards.size(), -1), 0, []
            for parameter in self.parameters:
                size = math.prod(parameter.chunk)
                self.wholes.append(parameter.whole(rows[:, start:start + size]).detach())
                start += size
        return self.wholes

    def show(self) -> None:
        """Let the modules see whole parameters, which the graph knows."""
        wholes = self.gather()
        self.saved = {whole.untyped_storage().data_ptr(): index for index, whole in enumerate(wholes)
                      if whole.numel()}
        outputs = Gather.apply(self, *[parameter.sharded for parameter in self.parameters])
        for parameter, output in zip(self.parameters, outputs, strict=True):
            parameter.show(output)

    def hide(self, free: bool) -> None:
        """Let the modules see the parts again; free the whole parameters if asked."""
        self.saved = {}
        for parameter in self.parameters:
            parameter.hide()
        if free:
            self.wholes = None

    def pack(self, tensor: Tensor) -> Any:
        """Return the part of a tensor that the graph saves: of a whole parameter, only which elements."""
        if self.saved and type(tensor) in (Tensor, Parameter):
            index = self.saved.get(tensor.untyped_storage().data_ptr())
            if index is not None:
                return self, index, tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset()
        return tensor

    @staticmethod
    def unpack(packed: Any) -> Any:
        """Return a saved tensor; whole parameters are gathered again."""
        if isinstance(packed, Tensor):
            return packed
        group, index, *layout = packed
        group.free_at_the_end()
        return group.gather()[index].as_strided(*layout)

    def free_at_the_end(self) -> None:
        """Free the whole parameters when the backward pass ends, if no gradient of theirs has done so before."""
        if not self.ending and thread.task is not None:
            self.ending = True
            thread.task.callbacks += (self._end,)

    def _end(self) -> None:
        self.ending = False
        if self.reshard_after_backward:
            self.hide(free=True)

    def reduce(self, gradients: Sequence[Any]) -> list[Any]:
        """Return the gradients of the parts: averages over processes of the gradients of the whole parameters."""
        found: dict[int, Tensor] = {}
        for index, gradient in enumerate(gradients):
            if gradient is not None:
                new = self.parameters[index].gradient(gradient)
                new = new if self.policy.reduce_dtype is None else new.to(self.policy.reduce_dtype)
                old = self.unreduced.pop(index, None)
                found[index] = new if old is None else old + new
        for index, old in self.unreduced.items():
            found.setdefault(index, old)
        self.unreduced.clear()
        if not self.reduce_grads:
            self.unreduced = found
            return [None] * len(gradients)
        if not found:
            return [None] * len(gradients)
        rows = []
        for index in sorted(found):
            p = self.parameters[index]
            full = padded(found[index], p.dim, p.chunk[p.dim] * p.ranks)
            rows.append(cat([piece.reshape(1, -1) for piece in full.split(p.chunk[p.dim], p.dim)], 0))
        whole = cat(rows, 1).contiguous() if len(rows) > 1 else rows[0].contiguous()
        part = whole.new_empty(whole.shape[1])
        op = ReduceOp.AVG if self.divide_factor is None else ReduceOp.SUM
        before = purpose.set(f"reduce {self.name} {self.path}".rstrip())
        try:
            reduce_scatter_tensor(part, whole.view(-1), op, group=self.shards)
            if self.replicas is not None and self.all_reduce_grads:
                all_reduce(part, op, group=self.replicas)
        finally:
            purpose.reset(before)
        if self.divide_factor is not None:
            part.div_(self.divide_factor)
        out: list[Any] = [None] * len(gradients)
        start = 0
        for index in sorted(found):
            p = self.parameters[index]
            sharded, size = p.sharded, math.prod(p.chunk)
            piece = part[start:start + size].view(p.chunk).narrow(p.dim, 0, p.rows(self.shards.rank())[0])
            out[index] = DTensor(piece.to(sharded.dtype).clone(), sharded._spec)
            start += size
        return out


class Gather(Function):
    """From parts to whole parameters; in backward from their gradients to the parts', averaged over processes."""

    @staticmethod
    def forward(ctx: Any, group: FSDPParamGroup, *sharded: Tensor) -> tuple[Tensor, ...]:
        ctx.group = group
        ctx.set_materialize_grads(False)
        wholes = group.gather()
        outputs = tuple(parameter.given(whole.view(whole.shape))
                        for parameter, whole in zip(group.parameters, wholes, strict=True))
        ctx.mark_non_differentiable(*[output for output, parameter in zip(outputs, sharded, strict=True)
                                      if not parameter.requires_grad])
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        group: FSDPParamGroup = ctx.group
        with no_grad():
            reduced = group.reduce(gradients)
        if group.reshard_after_backward:
            group.hide(free=True)
        return None, *reduced


def _get_param_module_infos(params: Sequence[Any], modules: Iterable[Module]) -> list[ParamModuleInfo]:
    """Return the modules and names that have each parameter, also several times."""
    found: dict[Any, ParamModuleInfo] = {}
    for module in modules:
        for _, inner in module.named_modules(remove_duplicate=False):
            for name, parameter in inner._parameters.items():
                if parameter is None:
                    continue
                if parameter in found:
                    found[parameter].shared_modules.append(inner)
                    found[parameter].shared_param_names.append(name)
                else:
                    found[parameter] = ParamModuleInfo(inner, name)
    return [found[parameter] for parameter in params]


def cast(value: Any, dtype: Any) -> Any:
    """Return a floating-point tensor in another dtype; everything else as it is."""
    return value.to(dtype) if isinstance(value, Tensor) and value.is_floating_point() else value


