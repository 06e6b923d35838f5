"""``torch.distributed.pipelining.schedules``: in which order a stage runs the passes of microbatches.

=========  =====================================================================================
GPipe      all forward passes, then all backward passes: every microbatch is kept
1F1B       a few forward passes, then one backward pass for each one, so that as few are kept
=========  =====================================================================================
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._dispatch.aten import cat, stack
from ..._tensor import Tensor
from .stage import PipelineStage

__all__ = ["Schedule1F1B", "ScheduleGPipe"]


class _Schedule:
    """Runs a batch as microbatches through a stage.

    Args:
        stage: the stage of this process.
        n_microbatches: into how many parts the batch is divided, along the first dimension.
        loss_fn: ``loss_fn(output, target)``, in the last stage.
        scale_grads: divide gradients by the number of microbatches, as fits a loss that is a mean.
    """

    def __init__(self, stage: PipelineStage, n_microbatches: int, loss_fn: Callable[..., Tensor] | None = None,
                 args_chunk_spec: Any = None, kwargs_chunk_spec: Any = None, output_merge_spec: Any = None,
                 scale_grads: bool = True):
        self._stage, self._n_microbatches, self._loss_fn = stage, n_microbatches, loss_fn
        self.scale_grads = scale_grads

    def order(self) -> Iterator[tuple[bool, int]]:
        """Yield the passes: whether it is a backward pass, and the microbatch."""
        raise NotImplementedError

    def _parts(self, value: Any) -> list[Any]:
        if not isinstance(value, Tensor):
            return [value] * self._n_microbatches
        parts = list(value.tensor_split(self._n_microbatches))
        if len({part.shape for part in parts}) > 1:
            raise RuntimeError(f"a batch of {value.shape[0]} cannot be divided into {self._n_microbatches} microbatches"
                               " of one size")
        return parts

    def _split(self, args: Any, kwargs: Any) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
        columns, named = [self._parts(arg) for arg in args], {key: self._parts(arg) for key, arg in kwargs.items()}
        return ([tuple(column[i] for column in columns) for i in range(self._n_microbatches)],
                [{key: parts[i] for key, parts in named.items()} for i in range(self._n_microbatches)])

    def step(self, *args: Any, target: Any = None, losses: list[Tensor] | None = None, **kwargs: Any) -> Any:
        """Run a batch forward and backward.

        Args:
            args, kwargs: the batch, in the first stage (keywords in all).
            target: what the loss is computed with, in the last stage.
            losses: a list that is given the microbatches' losses there.

        Returns:
            The output in the last stage; None in the others.
        """
        stage, trains = self._stage, self._loss_fn is not None or not self._stage.is_last
        inputs, named = self._split(args, kwargs)
        targets = self._parts(target)
        found: dict[int, Tensor] = {}
        outputs: dict[int, Any] = {}
        for is_backward, chunk in self.order():
            if is_backward:
                stage.backward(chunk, found.get(chunk))
                continue
            outputs[chunk] = stage.forward(chunk, inputs[chunk], named[chunk])
            if stage.is_last and trains:
                assert self._loss_fn is not None
                found[chunk] = self._loss_fn(outputs[chunk], targets[chunk])
        stage.finish()
        if self.scale_grads:
            for parameter in stage.submod.parameters():
                if parameter.grad is not None:
                    parameter.grad.div_(self._n_microbatches)
        if losses is not None and stage.is_last:
            losses[:] = [found[chunk].detach() for chunk in sorted(found)]
        return _merged(outputs) if stage.is_last else None

    @no_grad()
    def eval(self, *args: Any, **kwargs: Any) -> Any:
        """Run a batch forward only; return the output in the last stage, None in the others."""
        inputs, named = self._split(args, kwargs)
        outputs = {chunk: self._stage.forward(chunk, inputs[chunk], named[chunk], keep=False)
                   for chunk in range(self._n_microbatches)}
        self._stage.finish()
        return _merged(outputs) if self._stage.is_last else None


def _merged(outputs: dict[int, Any]) -> Any:
    parts = [outputs[chunk] for chunk in sorted(outputs)]
    if isinstance(parts[0], tuple):
        return tuple(_merged(dict(enumerate(column))) for column in zip(*parts, strict=True))
    parts = [part.detach() for part in parts]
    return cat(parts, 0) if parts[0].dim() else stack(parts, 0)


class ScheduleGPipe(_Schedule):
    """All forward passes, then all backward passes (``torch.distributed.pipelining.ScheduleGPipe``)."""

    def order(self) -> Iterator[tuple[bool, int]]:
        """Yield the passes."""
        for is_backward in (False, True):
            yield from ((is_backward, chunk) for chunk in range(self._n_microbatches))


class Schedule1F1B(_Schedule):
    """One forward pass, one backward pass, after as many forward passes as stages are behind
    (``torch.distributed.pipelining.Schedule1F1B``).
    """

    def order(self) -> Iterator[tuple[bool, int]]:
        """Yield the passes."""
        ahead = min(self._n_microbatches, self._stage.num_stages - self._stage.stage_index)
        yield from ((False, chunk) for chunk in range(ahead))
        for chunk in range(self._n_microbatches):
            yield True, chunk
            if chunk + ahead < self._n_microbatches:
                yield False, chunk + ahead
