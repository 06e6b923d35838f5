"""``torch.distributed._functional_collectives``: collectives that return new tensors, as operators of a namespace.

``torch.ops._c10d_functional`` has a row for each, so that whatever observes operators observes communication: a trace,
``%%dispatch``, ``CommDebugMode``. DTensor communicates by these operators only. Each is done when it returns;
``wait_tensor`` is there for programs that wait.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._dispatch.aten import cat
from .._tensor import Tensor
from ..library import Library, ops, register_autograd
from ._collectives import groups, operations
from ._collectives.groups import ProcessGroup
from ._collectives.reduce_op import ReduceOp
from .device_mesh import DeviceMesh

_REDUCTIONS = {op.name.lower(): op for op in ReduceOp}
_library = Library("_c10d_functional", "DEF")
_old_names = Library("c10d_functional", "DEF")  # by which ``CommDebugMode`` counts, as PyTorch's does


def resolve_group(group: Any) -> ProcessGroup:
    """Return the group that an argument denotes: a group, its name, a mesh of one dimension, or a mesh and a dimension.
    """
    if isinstance(group, str):
        return groups.group_of_name(group)
    if isinstance(group, DeviceMesh):
        return group.get_group()
    if isinstance(group, tuple):
        return group[0].get_group(group[1])
    if isinstance(group, list):
        return groups.group_of_ranks(group)
    return groups.resolve(group)


def _all_reduce(input: Tensor, reduce_op: str, group_name: str) -> Tensor:
    out = input.clone(memory_format=None).contiguous()
    operations.all_reduce(out, _REDUCTIONS[reduce_op], resolve_group(group_name))
    return out


def _broadcast(input: Tensor, src: int, group_name: str) -> Tensor:
    out = input.clone().contiguous()
    operations.broadcast(out, src, resolve_group(group_name))
    return out


def _all_gather(input: Tensor, group_size: int, group_name: str) -> Tensor:
    out = input.new_empty(_rows(input, group_size))
    operations.all_gather_into_tensor(out, input.contiguous(), resolve_group(group_name))
    return out


def _reduce_scatter(input: Tensor, reduce_op: str, group_size: int, group_name: str) -> Tensor:
    out = input.new_empty((input.shape[0] // group_size, *input.shape[1:]))
    operations.reduce_scatter_tensor(out, input.contiguous(), _REDUCTIONS[reduce_op], resolve_group(group_name))
    return out


def _all_to_all(input: Tensor, output_split_sizes: Sequence[int], input_split_sizes: Sequence[int],
                group_name: str) -> Tensor:
    out = input.new_empty((sum(output_split_sizes), *input.shape[1:]))
    operations.all_to_all_single(out, input.contiguous(), output_split_sizes, input_split_sizes,
                                 resolve_group(group_name))
    return out


def _rows(input: Tensor, parts: int) -> tuple[int, ...]:
    return (parts * (input.shape[0] if input.dim() else 1), *input.shape[1:])


#: The operators: schema, what it does on data, and the output's shape.
ROWS = (
    ("all_reduce(Tensor input, str reduce_op, str group_name) -> Tensor", _all_reduce,
     lambda input, *_: input.new_empty(input.shape)),
    ("broadcast(Tensor input, int src, str group_name) -> Tensor", _broadcast,
     lambda input, *_: input.new_empty(input.shape)),
    ("all_gather_into_tensor(Tensor input, int group_size, str group_name) -> Tensor", _all_gather,
     lambda input, size, _: input.new_empty(_rows(input, size))),
    ("reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, str group_name) -> Tensor", _reduce_scatter,
     lambda input, _, size, name: input.new_empty((input.shape[0] // size, *input.shape[1:]))),
    ("all_to_all_single(Tensor input, int[] output_split_sizes, int[] input_split_sizes, str group_name) -> Tensor",
     _all_to_all, lambda input, sizes, *_: input.new_empty((sum(sizes), *input.shape[1:]))),
    ("wait_tensor(Tensor input) -> Tensor", lambda input: input.clone(), lambda input: input.new_empty(input.shape)),
    ("_wrap_tensor_autograd(Tensor input) -> Tensor", lambda input: input.clone(),
     lambda input: input.new_empty(input.shape)),
)
for _schema, _kernel, _meta in ROWS:
    _name = _library.define(_schema)
    _library.impl(_name, _kernel, "CPU")
    _library.impl(_name, _kernel, "NPU")
    _library.impl(_name, _meta, "Meta")
    _old_names.define(_schema)
_functional: Any = ops._c10d_functional
_in_place = Library("c10d", "DEF")  # PyTorch's collectives in C++: programs key tables by them, and nothing calls them
for _name in ("allgather_", "allreduce_", "alltoall_", "broadcast_", "gather_", "recv_", "reduce_", "reduce_scatter_",
              "scatter_", "send"):
    _in_place.define(f"{_name}(Tensor[] tensors, Any[] others) -> Tensor[]")


def _derivative(name: str, keep: Any, backward: Any) -> None:
    """Give an operator a derivative: ``keep`` returns what it needs of the inputs."""

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.kept = keep(*inputs)

    register_autograd(f"_c10d_functional::{name}", lambda ctx, grad: backward(grad.contiguous(), *ctx.kept),
                      setup_context=setup)


_derivative("all_reduce", lambda input, op, name: (op, name),
            lambda grad, op, name: (_functional.all_reduce(grad, op, name), None, None))
_derivative("all_gather_into_tensor", lambda input, size, name: (size, name),
            lambda grad, size, name: (_functional.reduce_scatter_tensor(grad, "sum", size, name), None, None))
_derivative("reduce_scatter_tensor", lambda input, op, size, name: (op, size, name),
            lambda grad, op, size, name: (_functional.all_gather_into_tensor(
                grad / size if op == "avg" else grad, size, name), None, None, None))
_derivative("all_to_all_single", lambda input, out, into, name: (out, into, name),
            lambda grad, out, into, name: (_functional.all_to_all_single(grad, into, out, name), None, None, None))
_derivative("_wrap_tensor_autograd", lambda input: (), lambda grad: grad)


class AsyncCollectiveTensor(Tensor):
    """The class of PyTorch's results that are not there yet (``AsyncCollectiveTensor``). No tensor here is one, as a
    collective is done when it returns; programs ask by ``isinstance``.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> AsyncCollectiveTensor:
        raise RuntimeError("AsyncCollectiveTensor: collectives are done when they return, and return plain tensors")


def wait_tensor(tensor: Tensor) -> Tensor:
    """Return the tensor: its collective is done."""
    return tensor


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """Return the reduction of the tensors of all ranks: "sum", "avg", "product", "min", "max", "band", "bor", "bxor".
    """
    return _functional.all_reduce(self, reduceOp.lower(), resolve_group(group).group_name)


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """Return the tensor of a rank of the world."""
    return _functional.broadcast(self, src, resolve_group(group).group_name)


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """Return the tensors of all ranks, one after another along a dimension."""
    group = resolve_group(group)
    whole = _functional.all_gather_into_tensor(self, group.size(), group.group_name)
    return cat(list(whole.chunk(group.size(), 0)), gather_dim) if gather_dim else whole


def reduce_scatter_tensor(self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Tensor:
    """Return this rank's part, along a dimension, of the reduction of the tensors of all ranks."""
    group = resolve_group(group)
    if self.shape[scatter_dim] % group.size():
        raise AssertionError(f"input dimension {scatter_dim} ({self.shape[scatter_dim]} must be a multiple of "
                             f"group_size {group.size()})")
    rows = cat(list(self.chunk(group.size(), scatter_dim)), 0) if scatter_dim else self
    return _functional.reduce_scatter_tensor(rows, reduceOp.lower(), group.size(), group.group_name)


def all_to_all_single(self: Tensor, output_split_sizes: Any, input_split_sizes: Any, group: Any,
                      tag: str = "") -> Tensor:
    """Return rows from all ranks, having sent each some: as many as the split sizes say, or equal parts."""
    group = resolve_group(group)
    equal = [self.shape[0] // group.size()] * group.size()
    return _functional.all_to_all_single(self, list(output_split_sizes or equal), list(input_split_sizes or equal),
                                         group.group_name)


all_gather_tensor_autograd, reduce_scatter_tensor_autograd = all_gather_tensor, reduce_scatter_tensor
all_gather_single, reduce_scatter_single = all_gather_tensor, reduce_scatter_tensor
all_to_all_single_autograd = all_to_all_single


def all_reduce_coalesced(self: Sequence[Tensor], reduceOp: str, group: Any, tag: str = "") -> list[Tensor]:
    """Return the reductions of several tensors."""
    return [all_reduce(tensor, reduceOp, group) for tensor in self]


def all_gather_into_tensor_coalesced(self: Sequence[Tensor], group: Any, tag: str = "") -> list[Tensor]:
    """Return the tensors of all ranks, for each of several."""
    return [all_gather_tensor(tensor, 0, group) for tensor in self]


def reduce_scatter_tensor_coalesced(inputs: Sequence[Tensor], reduceOp: str, scatter_dim: Sequence[int], group: Any,
                                    tag: str = "") -> list[Tensor]:
    """Return this rank's parts of the reductions of several tensors."""
    return [reduce_scatter_tensor(tensor, reduceOp, dim, group)
            for tensor, dim in zip(inputs, scatter_dim, strict=True)]


def permute_tensor(self: Tensor, src_dst: Sequence[int], group: Any, tag: str = "") -> Tensor:
    """Return the tensor of the rank that sends to this one, where rank ``i`` sends to ``src_dst[i]``."""
    group = resolve_group(group)
    here, rows = group.rank(), self.shape[0]
    sizes_in = [rows if rank == src_dst[here] else 0 for rank in range(group.size())]
    sizes_out = [rows if src_dst[rank] == here else 0 for rank in range(group.size())]
    return all_to_all_single(self, sizes_out, sizes_in, group)


__all__ = [
    "AsyncCollectiveTensor",
    "all_gather_into_tensor_coalesced", "all_gather_single", "all_gather_tensor", "all_gather_tensor_autograd",
    "all_reduce", "all_reduce_coalesced", "all_to_all_single", "all_to_all_single_autograd", "broadcast",
    "permute_tensor", "reduce_scatter_single", "reduce_scatter_tensor", "reduce_scatter_tensor_autograd",
    "reduce_scatter_tensor_coalesced", "wait_tensor",
]
