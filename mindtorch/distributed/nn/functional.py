"""``torch.distributed.nn.functional``: each collective returns new tensors, and another collective is its derivative.

What one rank sends to all gets the sum of all gradients, and the other way round: broadcast and reduce, scatter and
gather, all-gather and reduce-scatter are each other's derivatives; all-reduce and all-to-all are their own.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._autograd.function import Function
from ..._tensor import Tensor
from .._collectives import operations as plain
from .._collectives.groups import get_group_rank, resolve
from .._collectives.reduce_op import ReduceOp


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, src: int, group: Any) -> Tensor:
        ctx.src, ctx.group = src, group
        out = tensor.clone()
        plain.broadcast(out, src, group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        total = _Reduce.apply(grad, ctx.src, ReduceOp.SUM, ctx.group)
        return (total if resolve(None).rank() == ctx.src else total.new_zeros(total.shape)), None, None


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dst: int, op: ReduceOp, group: Any) -> Tensor:
        ctx.dst, ctx.group = dst, group
        out = tensor.clone()
        plain.reduce(out, dst, op, group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _Broadcast.apply(grad.contiguous(), ctx.dst, ctx.group), None, None, None


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, op: ReduceOp, group: Any) -> Tensor:
        ctx.op, ctx.group = op, group
        out = tensor.clone()
        plain.all_reduce(out, op, group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _AllReduce.apply(grad, ctx.op, ctx.group), None, None


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        out = tensors[0].new_zeros(tensors[0].shape)
        here = resolve(None).rank() == src
        plain.scatter(out, [tensor.contiguous() for tensor in tensors] if here else None, src, group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, *_Gather.apply(grad, ctx.src, ctx.group)


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dst: int, group: Any) -> tuple[Tensor, ...]:
        ctx.dst, ctx.group = dst, group
        out = [tensor.new_zeros(tensor.shape) for _ in range(group.size())]
        plain.gather(tensor.contiguous(), out if resolve(None).rank() == dst else None, dst, group)
        return tuple(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return _Scatter.apply(ctx.dst, ctx.group, *grads), None, None


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: Any) -> tuple[Tensor, ...]:
        ctx.group = group
        out = [tensor.new_empty(tensor.shape) for _ in range(group.size())]
        plain.all_gather(out, tensor.contiguous(), group)
        return tuple(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return _ReduceScatter.apply(ReduceOp.SUM, ctx.group, *grads), None


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: ReduceOp, group: Any, *tensors: Tensor) -> Tensor:
        ctx.group = group
        out = tensors[0].new_empty(tensors[group.rank()].shape)
        plain.reduce_scatter(out, [tensor.contiguous() for tensor in tensors], op, group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, *_AllGather.apply(grad, ctx.group)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, shapes: Sequence[Any], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.group, ctx.shapes = group, [tensor.shape for tensor in tensors]
        out = [tensors[0].new_empty(shape) for shape in shapes]
        plain.all_to_all(out, [tensor.contiguous() for tensor in tensors], group)
        return tuple(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, *_AllToAll.apply(ctx.group, ctx.shapes, *grads)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: Any, shape: Any, out_sizes: Any, in_sizes: Any) -> Tensor:
        ctx.group, ctx.shape, ctx.sizes = group, tensor.shape, (in_sizes, out_sizes)
        out = tensor.new_empty(shape)
        plain.all_to_all_single(out, tensor.contiguous(), out_sizes, in_sizes, group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return _AllToAllSingle.apply(grad, ctx.group, ctx.shape, *ctx.sizes), None, None, None, None


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """Return the source's tensor in all ranks (``torch.distributed.nn.functional.broadcast``)."""
    return _Broadcast.apply(tensor, src, resolve(group))


def reduce(tensor: Tensor, dst: int, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return the reduction of all ranks' tensors in one rank (``torch.distributed.nn.functional.reduce``)."""
    return _Reduce.apply(tensor, dst, op, resolve(group))


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return the reduction of all ranks' tensors (``torch.distributed.nn.functional.all_reduce``)."""
    return _AllReduce.apply(tensor, op, resolve(group))


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """Return this rank's of the source's tensors (``torch.distributed.nn.functional.scatter``); all ranks give tensors
    of these shapes.
    """
    return _Scatter.apply(src, resolve(group), *tensors)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """Return all ranks' tensors in one rank, zeros in the others (``torch.distributed.nn.functional.gather``)."""
    get_group_rank(resolve(group), dst)
    return _Gather.apply(tensor, dst, resolve(group))


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """Return all ranks' tensors (``torch.distributed.nn.functional.all_gather``)."""
    return _AllGather.apply(tensor, resolve(group))


def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM,
                   group: Any = None) -> Tensor:
    """Return the reduction of all ranks' tensors at this rank (``torch.distributed.nn.functional.reduce_scatter``);
    ``output`` is not used.
    """
    return _ReduceScatter.apply(op, resolve(group), *input_list)


def all_to_all(output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor],
               group: Any = None) -> tuple[Tensor, ...]:
    """Return a tensor from each rank, having sent each one (``torch.distributed.nn.functional.all_to_all``); of the
    outputs only the shapes are used.
    """
    return _AllToAll.apply(resolve(group), [out.shape for out in output_tensor_list], *input_tensor_list)


def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None,
                      group: Any = None) -> Tensor:
    """Return rows from each rank, having sent each some (``torch.distributed.nn.functional.all_to_all_single``); of the
    output only the shape is used.
    """
    return _AllToAllSingle.apply(input, resolve(group), output.shape, output_split_sizes, input_split_sizes)
