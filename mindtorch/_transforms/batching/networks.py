"""Convolutions and normalisations of a batch, whose parameters may differ from element to element."""
from __future__ import annotations

from typing import Any

from ..._dispatch.aten import native_group_norm, native_layer_norm
from ..._dispatch.registry import Operator
from .frames import Frame, filled, is_batched, lowered, moved
from .rules import composed


def by_channel(value: Any, ndim: int, at: int = 1) -> Any:
    """A vector that has a number for each channel, to be multiplied with tensors of so many dimensions."""
    return value.reshape([-1 if d == at else 1 for d in range(ndim)])


def beside(value: Any, frame: Frame) -> Any:
    """The elements' channels beside each other: ``[N, elements * C, ...]``."""
    return moved(filled(value, frame), 0, 1).flatten(1, 2)


def apart(value: Any, frame: Frame) -> Any:
    """The elements in front again, whose channels are beside each other."""
    return moved(value.unflatten(1, (frame.size, value.shape[1] // frame.size)), 1, 0)


def convolved(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """With one weight for all, the elements are samples alike; weights of their own make groups of channels."""
    input, weight, bias, *settings, groups = args
    if is_batched(bias, frame) and not is_batched(weight, frame):
        out = op.call(input, weight, None, *settings, groups)
        return lowered(out + by_channel(bias, input.ndim), frame)
    if not is_batched(weight, frame):
        whole = lowered(input, frame)
        out = op.call(whole.flatten(0, 1), weight, bias, *settings, groups)
        return out.unflatten(0, (frame.size, input.shape[0]))
    offset = None if bias is None else filled(bias, frame).flatten()
    weights = lowered(weight, frame).flatten(0, 1)
    if groups == 1 and not is_batched(input, frame) and not settings[3]:
        return apart(op.call(input, weights, offset, *settings, 1), frame)
    return apart(op.call(beside(input, frame), weights, offset, *settings, groups * frame.size), frame)


def convolution_gradients(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """The three gradients: the weight's, which differ from element to element, by groups of channels."""
    grad, input, weight, _, *settings, groups, wanted = args
    of_bias = filled(grad.sum([d for d in range(grad.ndim) if d != 1]), frame) if wanted[2] else None
    if not is_batched(weight, frame) and not wanted[1]:
        of_input = op.call(filled(grad, frame).flatten(0, 1), filled(input, frame).flatten(0, 1), weight,
                                        None, *settings, groups, [True, False, False])[0] if wanted[0] else None
        return None if of_input is None else of_input.unflatten(0, (frame.size, input.shape[0])), None, of_bias
    of_input, of_weight, _ = op.call(
        beside(grad, frame), beside(input, frame), filled(weight, frame).flatten(0, 1), None, *settings,
        groups * frame.size, [*wanted[:2], False])
    return (None if of_input is None else apart(of_input, frame),
            None if of_weight is None else of_weight.unflatten(0, (frame.size, weight.shape[0])), of_bias)


def layer_normalised(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    input, shape, weight, bias, eps = args
    if not (is_batched(weight, frame) or is_batched(bias, frame)):
        return op.call(lowered(input, frame), shape, weight, bias, eps)

    def affine(*_: Any) -> Any:
        out, mean, rstd = native_layer_norm(input, shape, None, None, eps)
        out = out if weight is None else out * weight
        return out if bias is None else out + bias, mean, rstd

    return composed(affine)(op, frame, args)


def group_normalised(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    input, weight, bias, samples, channels, places, groups, eps = args
    if not (is_batched(weight, frame) or is_batched(bias, frame)):
        together = lowered(input, frame).flatten(0, 1).contiguous()
        results = op.call(together, weight, bias, samples * frame.size, channels, places, groups, eps)
        return tuple([t.unflatten(0, (frame.size, samples)) for t in results])

    def affine(*_: Any) -> Any:
        out, mean, rstd = native_group_norm(input, None, None, samples, channels, places, groups, eps)
        out = out if weight is None else out * by_channel(weight, input.ndim)
        return out if bias is None else out + by_channel(bias, input.ndim), mean, rstd

    return composed(affine)(op, frame, args)


def layer_norm_gradients(grad: Any, input: Any, shape: Any, mean: Any, rstd: Any, weight: Any, bias: Any,
                         wanted: Any) -> Any:
    rows = list(range(input.ndim - len(shape)))
    normal = (input - mean) * rstd
    through = grad if weight is None else grad * weight
    over = list(range(len(rows), input.ndim))
    return (rstd * (through - through.mean(over, True) - normal * (through * normal).mean(over, True))
            if wanted[0] else None,
            (grad * normal).sum(rows) if wanted[1] and rows else grad * normal if wanted[1] else None,
            grad.sum(rows) if wanted[2] and rows else grad if wanted[2] else None)


def group_norm_gradients(grad: Any, input: Any, mean: Any, rstd: Any, weight: Any, samples: int, channels: int,
                         places: int, groups: int, wanted: Any) -> Any:
    shape = (samples, groups, channels // groups * places)
    x, middle, scale = input.reshape(shape), mean.unsqueeze(-1), rstd.unsqueeze(-1)
    normal = (x - middle) * scale
    through = (grad if weight is None else grad * by_channel(weight, grad.ndim)).reshape(shape)
    by_place = (samples, channels, places)
    return ((scale * (through - through.mean([2], True) - normal * (through * normal).mean([2], True)))
            .reshape(input.shape) if wanted[0] else None,
            (grad.reshape(by_place) * normal.reshape(by_place)).sum([0, 2]) if wanted[1] else None,
            grad.reshape(by_place).sum([0, 2]) if wanted[2] else None)


def batch_normalised(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    """The channels of all elements are channels alike.

    Raises:
        RuntimeError: if running averages are to be written that all elements share.
    """
    input, weight, bias, mean, var, training, momentum, eps = args
    if training and mean is not None and is_batched(input, frame) and not is_batched(mean, frame):
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in "
            "place, were not batched.\nPlease see https://pytorch.org/functorch/stable/batch_norm.html for more "
            "details on how to use batch norm with vmap.")
    weight, bias, *running = [None if p is None else filled(p, frame) for p in (weight, bias, mean, var)]
    rows = [None if p is None else p.flatten() for p in (weight, bias, *running)]
    out, *moments = op.call(beside(input, frame), *rows, training, momentum, eps)
    for average, row in zip(running, rows[2:], strict=True):
        if training and average is not None and row is not None and row._base is None:  # a copy was written
            average.copy_(row.reshape(average.shape))
    return apart(out, frame), *[t.reshape((frame.size, t.numel() // frame.size)) for t in moments]


def batch_norm_gradients(op: Operator, frame: Frame, args: tuple[Any, ...]) -> Any:
    grad, input, *vectors, training, eps, wanted = args
    rows = [v if v is None or not v.numel() else filled(v, frame).flatten() for v in vectors]
    found = op.call(beside(grad, frame), beside(input, frame), *rows, training, eps, wanted)
    return (None if found[0] is None else apart(found[0], frame),
            *[None if t is None else t.reshape((frame.size, t.numel() // frame.size)) for t in found[1:]])
