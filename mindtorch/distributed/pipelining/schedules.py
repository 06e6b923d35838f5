"""``torch.distributed.pipelining.schedules``: in which order a stage runs the passes of microbatches.

=========  =====================================================================================
GPipe      all forward passes, then all backward passes: every microbatch is kept
1F1B       a few forward passes, then one backward pass for each one, so that as few are kept
=========  =====================================================================================

With several stages a process, the looped schedules take them in turn:

===============  ===============================================================================
LoopedBFS        all microbatches through one stage, then through the next
Interleaved1F1B  1F1B, with rounds of microbatches through all stages: less waiting at the ends
===============  ===============================================================================
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._dispatch.aten import cat, stack
from ..._tensor import Tensor
from .stage import PipelineStage

__all__ = ["Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B", "ScheduleLoopedBFS"]
#: A pass: whether it is a backward pass, the stage, and the microbatch.
Pass = tuple[bool, PipelineStage, int]


class _Schedule:
    """Runs a batch as microbatches through a stage.

    Args:
        stages: the stages of this process.
        n_microbatches: into how many parts the batch is divided, along the first dimension.
        loss_fn: ``loss_fn(output, target)``, in the last stage.
        scale_grads: divide gradients by the number of microbatches, as fits a loss that is a mean.
    """

    def __init__(self, stages: Sequence[PipelineStage], n_microbatches: int,
                 loss_fn: Callable[..., Tensor] | None = None, scale_grads: bool = True):
        self._stages, self._n_microbatches, self._loss_fn = list(stages), n_microbatches, loss_fn
        self.scale_grads = scale_grads

    def order(self) -> Iterator[Pass]:
        """Yield the passes."""
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
        inputs, named = self._split(args, kwargs)
        targets = self._parts(target)
        found: dict[int, Tensor] = {}
        outputs: dict[int, Any] = {}
        for is_backward, stage, chunk in self.order():
            if is_backward:
                stage.backward(chunk, found.get(chunk))
                continue
            output = stage.forward(chunk, inputs[chunk], named[chunk])
            if stage.is_last:
                outputs[chunk] = output
                if self._loss_fn is not None:
                    found[chunk] = self._loss_fn(output, targets[chunk])
        for stage in self._stages:
            stage.finish()
            for parameter in stage.submod.parameters() if self.scale_grads else ():
                if parameter.grad is not None:
                    parameter.grad.div_(self._n_microbatches)
        if losses is not None and found:
            losses[:] = [found[chunk].detach() for chunk in sorted(found)]
        return _merged(outputs) if outputs else None

    @no_grad()
    def eval(self, *args: Any, **kwargs: Any) -> Any:
        """Run a batch forward only; return the output in the last stage, None in the others."""
        inputs, named = self._split(args, kwargs)
        outputs: dict[int, Any] = {}
        for stage in self._stages:
            for chunk in range(self._n_microbatches):
                output = stage.forward(chunk, inputs[chunk], named[chunk], keep=False)
                if stage.is_last:
                    outputs[chunk] = output
        for stage in self._stages:
            stage.finish()
        return _merged(outputs) if outputs else None


def _merged(outputs: dict[int, Any]) -> Any:
    parts = [outputs[chunk] for chunk in sorted(outputs)]
    if isinstance(parts[0], tuple):
        return tuple(_merged(dict(enumerate(column))) for column in zip(*parts, strict=True))
    parts = [part.detach() for part in parts]
    return cat(parts, 0) if parts[0].dim() else stack(parts, 0)


class _OneStage(_Schedule):
    """A schedule of processes with one stage each."""

    def __init__(self, stage: PipelineStage, n_microbatches: int, loss_fn: Callable[..., Tensor] | None = None,
                 args_chunk_spec: Any = None, kwargs_chunk_spec: Any = None, output_merge_spec: Any = None,
                 scale_grads: bool = True):
        super().__init__([stage], n_microbatches, loss_fn, scale_grads)


class ScheduleGPipe(_OneStage):
    """All forward passes, then all backward passes (``torch.distributed.pipelining.ScheduleGPipe``)."""

    def order(self) -> Iterator[Pass]:
        """Yield the passes."""
        for is_backward in (False, True):
            yield from ((is_backward, self._stages[0], chunk) for chunk in range(self._n_microbatches))


class Schedule1F1B(_OneStage):
    """One forward pass, one backward pass, after as many forward passes as stages are behind
    (``torch.distributed.pipelining.Schedule1F1B``).
    """

    def order(self) -> Iterator[Pass]:
        """Yield the passes."""
        stage, = self._stages
        ahead = min(self._n_microbatches, stage.num_stages - stage.stage_index)
        yield from ((False, stage, chunk) for chunk in range(ahead))
        for chunk in range(self._n_microbatches):
            yield True, stage, chunk
            if chunk + ahead < self._n_microbatches:
                yield False, stage, chunk + ahead


class ScheduleLoopedBFS(_Schedule):
    """All microbatches through a stage, then through the next one of this process
    (``torch.distributed.pipelining.ScheduleLoopedBFS``).
    """

    def __init__(self, stages: Sequence[PipelineStage], n_microbatches: int,
                 loss_fn: Callable[..., Tensor] | None = None, output_merge_spec: Any = None,
                 scale_grads: bool = True, backward_requires_autograd: bool = True, defer_pp_recv: bool = False):
        super().__init__(stages, n_microbatches, loss_fn, scale_grads)

    def order(self) -> Iterator[Pass]:
        """Yield the passes."""
        for stage in self._stages:
            yield from ((False, stage, chunk) for chunk in range(self._n_microbatches))
        for stage in reversed(self._stages):
            yield from ((True, stage, chunk) for chunk in reversed(range(self._n_microbatches)))


class ScheduleInterleaved1F1B(_Schedule):
    """1F1B with several stages a process, through which rounds of microbatches go in turn
    (``torch.distributed.pipelining.ScheduleInterleaved1F1B``; Narayanan et al., arXiv 2104.04473).

    Raises:
        ValueError: if the number of microbatches is no multiple of the number of rounds.
    """

    def __init__(self, stages: Sequence[PipelineStage], n_microbatches: int,
                 loss_fn: Callable[..., Tensor] | None = None, args_chunk_spec: Any = None,
                 kwargs_chunk_spec: Any = None, output_merge_spec: Any = None, scale_grads: bool = True,
                 backward_requires_autograd: bool = True, defer_pp_recv: bool = False):
        super().__init__(stages, n_microbatches, loss_fn, scale_grads)
        self._group = stages[0].group
        rounds = max(1, n_microbatches // self._group.size())
        self._in_round = n_microbatches // rounds
        if n_microbatches % rounds:
            raise ValueError("Interleaved 1F1B requires the number of microbatches to be a multiple of the number of "
                             f"rounds ({rounds}), but got {n_microbatches}.")

    def _turns(self, stages: Sequence[PipelineStage]) -> list[tuple[PipelineStage, int]]:
        """Return stages and microbatches: a round through each stage, then the next round."""
        return [(stage, start + chunk) for start in range(0, self._n_microbatches, self._in_round)
                for stage in stages for chunk in range(self._in_round)]

    def order(self) -> Iterator[Pass]:
        """Yield the passes."""
        forward, backward = self._turns(self._stages), iter(self._turns(self._stages[::-1]))
        behind = self._group.size() - 1 - self._group.rank()
        ahead = (len(self._stages) - 1) * self._in_round + 2 * behind  # passes before the first gradient comes
        for number, (stage, chunk) in enumerate(forward):
            yield False, stage, chunk
            if number >= ahead:
                yield True, *next(backward)
        yield from ((True, *turn) for turn in backward)
