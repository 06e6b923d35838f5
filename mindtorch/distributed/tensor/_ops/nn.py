"""Layers and losses."""
from __future__ import annotations

import math
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from ...._dispatch.overloads import ops
from ...._tensor import Tensor
from ..._functional_collectives import all_reduce
from .._dtensor_spec import local_shape_and_offset
from ..placement_types import Partial, Shard
from .pointwise import by_element
from .rows import Call, R, Row, Run, rule

aten: Any = ops.aten
#: Whether losses are computed where their classes are divided (``torch.distributed.tensor.parallel.loss_parallel``).
classes_divided: ContextVar[bool] = ContextVar("classes_divided", default=False)
SUM = 2  # PyTorch's number for reduction="sum"

# -- convolution, pooling, norms ---------------------------------------------------------------------------------------


@rule("convolution")
def convolution(call: Call) -> Iterator[Row]:
    yield call.row(Shard(0), input=Shard(0))
    if call["groups"] == 1 and not call["transposed"]:
        yield call.row(Shard(1), weight=Shard(0), bias=Shard(0))
    elif call["groups"] == 1 and call.even(1, 1):  # an empty filter is refused
        yield call.row(Shard(1), weight=Shard(1), bias=Shard(0))


@rule("convolution_backward")
def convolution_backward(call: Call) -> Iterator[Row]:
    yield call.row((Shard(0), Partial(), Partial()), grad_output=Shard(0), input=Shard(0))


#: Operators that treat each sample, or each channel of it, by itself.
SAMPLES = """max_pool2d_with_indices max_pool2d_with_indices_backward max_pool3d_with_indices avg_pool2d
avg_pool2d_backward avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool2d_backward adaptive_max_pool2d
reflection_pad2d replication_pad2d pixel_shuffle col2im im2col"""
UPSAMPLED = " ".join(f"{name} {name}_backward" for name in (
    "upsample_linear1d", "upsample_bilinear2d", "_upsample_bilinear2d_aa", "upsample_bicubic2d",
    "_upsample_bicubic2d_aa", "upsample_trilinear3d", *(f"{kind}{dims}d" for dims in (1, 2, 3) for kind in (
        "upsample_nearest", "_upsample_nearest_exact"))))


@rule(f"{SAMPLES} {UPSAMPLED}")
def samples(call: Call) -> Iterator[Row]:
    if call.ndim() == 4 or "upsample" in call.name:
        yield call.all(Shard(0))
        if not call.name.startswith(("pixel", "col", "im")):
            yield call.all(Shard(1))


@rule("native_layer_norm _fused_rms_norm")
def layer_norm(call: Call) -> Iterator[Row]:
    for dim in range(call.ndim() - len(call["normalized_shape"])):
        yield call.row(Shard(dim), input=Shard(dim))


@rule("native_layer_norm_backward _fused_rms_norm_backward")
def layer_norm_backward(call: Call) -> Iterator[Row]:
    for dim in range(call.ndim() - len(call["normalized_shape"])):
        yield call.row((Shard(dim), Partial(), Partial()), grad_out=Shard(dim), input=Shard(dim), mean=Shard(dim),
                       rstd=Shard(dim))


@rule("native_batch_norm native_batch_norm_backward native_group_norm native_group_norm_backward")
def batch_norm(call: Call) -> Iterator[Row]:
    """Yield nothing: statistics are taken over all samples."""
    yield from ()


# -- embedding ---------------------------------------------------------------------------------------------------------


@rule("embedding")
def embedding(call: Call) -> Iterator[Row]:
    columns = call.ndim(call.places["indices"][0])
    yield call.row(Shard(columns), weight=Shard(1))
    for dim in range(columns):
        yield call.row(Shard(dim), indices=Shard(dim))
    yield call.row(Partial(), _own_rows, weight=Shard(0))


def _rows_here(spec: Any) -> tuple[int, int]:
    """Return the number of rows of a table on this process, and the first."""
    shape, offset = local_shape_and_offset(spec.shape, spec.mesh, spec.placements)
    return shape[0], offset[0]


def _own_rows(run: Run) -> Tensor:
    """Look up the indices whose rows are here; the others give zeros."""
    rows, first = _rows_here(run.specs[0])
    weight, indices = run.args["weight"], run.args["indices"] - first
    here = (indices >= 0) & (indices < rows)
    if not rows:
        return weight.new_zeros((*indices.shape, weight.shape[1]))
    return aten.embedding(weight, indices.masked_fill(~here, 0)).masked_fill(~here.unsqueeze(-1), 0.0)


@rule("embedding_dense_backward")
def embedding_backward(call: Call) -> Iterator[Row]:
    columns = call.ndim(call.places["indices"][0])
    yield call.row(Shard(1), grad_output=Shard(columns))
    for dim in range(columns):
        yield call.row(Partial(), grad_output=Shard(dim), indices=Shard(dim))
    yield call.row(Partial(), grad_output=Partial())


# -- losses ------------------------------------------------------------------------------------------------------------


@rule("mse_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits")
def loss(call: Call) -> Iterator[Row]:
    if call["reduction"] == 0:
        yield from by_element(call)
        return
    for dim in range(call.ndim()):
        alike = all(spec.shape == call.specs[0].shape for spec in call.specs)
        if alike and (call["reduction"] == SUM or call.even(dim)):
            yield call.all(Shard(dim), Partial("sum" if call["reduction"] == SUM else "avg"))


@rule("mse_loss_backward smooth_l1_loss_backward huber_loss_backward binary_cross_entropy_backward")
def loss_backward(call: Call) -> Iterator[Row]:
    if call["reduction"] == 0:
        yield from by_element(call)
        return
    for dim in range(call.ndim(1)):
        if all(spec.shape == call.shape(1) for spec in call.specs[1:]):
            yield Row((Shard(dim),), (R, *[Shard(dim)] * (len(call.specs) - 1)), _of_the_whole)


def _of_the_whole(run: Run) -> Tensor:
    """Divide the gradient of a mean by the number of elements of the whole, not of this process's part."""
    given = dict(run.args)
    if given["reduction"] != SUM:
        name = next(iter(given))
        given[name] = given[name] / math.prod(run.specs[1].shape)
    given["reduction"] = SUM
    return run.func(*given.values())


def _classes(call: Call) -> int:
    return 0 if call.ndim(call.places["self"][0]) == 1 else 1


@rule("nll_loss_forward nll_loss2d_forward")
def nll_loss(call: Call) -> Iterator[Row]:
    if call["reduction"] == 0:
        for dim in range(call.ndim()):
            if dim != _classes(call):
                place = Shard(dim - (dim > 1))
                yield call.row((place, R), self=Shard(dim), target=place)
        return
    if call.ndim() > 1:
        yield call.row((R, R), _nll_of_samples, self=Shard(0), target=Shard(0))
    if classes_divided.get() and call["weight"] is None:
        yield call.row((R, R), _nll_of_classes, self=Shard(_classes(call)))


def _total(run: Run, tensor: Tensor, op: str = "sum") -> Tensor:
    for i in run.mesh_dims:
        tensor = all_reduce(tensor, op, (run.specs[0].mesh, i))
    return tensor


def _nll_of_samples(run: Run) -> tuple[Tensor, Tensor]:
    """Add up the losses and the weights of all processes' samples."""
    given = {**run.args, "reduction": SUM}
    losses, weights = run.func(*given.values())
    ignored = run.args["target"] != run.args["ignore_index"]
    here = (ignored.sum().to(losses.dtype) if run.args["weight"] is None else
            run.args["weight"][run.args["target"].masked_fill(~ignored, 0)].mul(ignored).sum())
    losses, weights = _total(run, losses), _total(run, here)
    return (losses / weights if run.args["reduction"] == 1 else losses), weights


def _class_here(run: Run) -> tuple[Tensor, Tensor]:
    """Return the targets as indices of this process's classes, and which are here."""
    spec = run.specs[0 if run.func._schema.name.endswith("forward") else 1]
    dim = 0 if spec.ndim == 1 else 1
    shape, offset = local_shape_and_offset(spec.shape, spec.mesh, spec.placements)
    target = run.args["target"] - offset[dim]
    here = (target >= 0) & (target < shape[dim]) & (run.args["target"] != run.args["ignore_index"])
    return target.masked_fill(~here, 0).unsqueeze(dim), here.unsqueeze(dim)


def _nll_of_classes(run: Run) -> tuple[Tensor, Tensor]:
    """Pick each sample's class on the process that has it."""
    logits, (target, here) = run.args["self"], _class_here(run)
    dim = 0 if logits.dim() == 1 else 1
    losses = _total(run, -logits.gather(dim, target).masked_fill(~here, 0.0).sum())
    weights = (run.args["target"] != run.args["ignore_index"]).sum().to(logits.dtype)
    return (losses / weights if run.args["reduction"] == 1 else losses), weights


@rule("nll_loss_backward nll_loss2d_backward")
def nll_loss_backward(call: Call) -> Iterator[Row]:
    for dim in range(call.ndim(1)):
        if call.ndim(1) > 1 and dim != _classes(call):
            place = Shard(dim - (dim > 1))
            yield call.row(Shard(dim), self=Shard(dim), target=place,
                           **({"grad_output": place} if call["reduction"] == 0 else {}))
    if classes_divided.get() and call["weight"] is None and call["reduction"] != 0:
        yield call.row(Shard(_classes(call)), _nll_backward_of_classes, self=Shard(_classes(call)))


def _nll_backward_of_classes(run: Run) -> Tensor:
    logits, (target, here) = run.args["self"], _class_here(run)
    gradient = -run.args["grad_output"]
    if run.args["reduction"] == 1:
        gradient = gradient / run.args["total_weight"]
    dim = 0 if logits.dim() == 1 else 1
    return logits.new_zeros(logits.shape).scatter(dim, target, here * gradient)


@rule("_log_softmax _softmax")
def softmax(call: Call) -> Iterator[Row]:
    dim = call["dim"] % max(call.ndim(), 1)
    yield from (call.all(Shard(other)) for other in range(call.ndim()) if other != dim)
    if classes_divided.get() and call.name == "_log_softmax":
        yield call.row(Shard(dim), _log_softmax_of_classes, self=Shard(dim))


def _log_softmax_of_classes(run: Run) -> Tensor:
    x, dim = run.args["self"], run.args["dim"]
    shifted = x - _total(run, x.amax(dim, keepdim=True), "max")
    return shifted - _total(run, shifted.exp().sum(dim, keepdim=True)).log()


@rule("_log_softmax_backward_data _softmax_backward_data")
def softmax_backward(call: Call) -> Iterator[Row]:
    dim = call["dim"] % max(call.ndim(), 1)
    yield from (call.all(Shard(other)) for other in range(call.ndim()) if other != dim)
    if classes_divided.get() and call.name == "_log_softmax_backward_data":
        yield call.row(Shard(dim), _log_softmax_backward_of_classes, grad_output=Shard(dim), output=Shard(dim))


def _log_softmax_backward_of_classes(run: Run) -> Tensor:
    gradient, out, dim = run.args["grad_output"], run.args["output"], run.args["dim"]
    return gradient - out.exp() * _total(run, gradient.sum(dim, keepdim=True))
