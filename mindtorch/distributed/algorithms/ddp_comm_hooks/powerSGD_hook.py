"""``torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook``: averages of matrices of a low rank.

A gradient M of n x m elements is nearly P Q', where P is n x r and Q is m x r. Processes exchange P = M Q and then
Q = M' P, (n + m) r elements in place of n m. What is lost is added to the gradient of the next step.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...._creation import empty
from ...._dispatch.aten import cat
from ...._tensor import Tensor
from ....linalg import qr
from ....nn.parallel.distributed import GradBucket
from ....random import fork_rng, manual_seed
from ..._collectives.groups import default_group, resolve
from ..._collectives.operations import all_reduce
from .default_hooks import allreduce_hook

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class PowerSGDState:
    """What ``powerSGD_hook`` remembers, and how it compresses
    (``torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook.PowerSGDState``).

    Args:
        process_group: the processes; the world if None.
        matrix_approximation_rank: the rank r.
        start_powerSGD_iter: how many steps average as without a hook, at first.
        min_compression_rate: matrices of which less would be saved are averaged as they are.
        use_error_feedback: add to a gradient what was lost of the one before.
        warm_start: begin with the Q of the step before, not with random numbers.
        orthogonalization_epsilon: is added to norms, against columns of zeros.
        random_seed: of the first Q, which must be equal in all processes.
        compression_stats_logging_frequency: accepted: ``compression_stats`` returns the numbers at any time.
        batch_tensors_with_same_shape: accepted: matrices are multiplied one after another.

    Raises:
        ValueError: if it is to compress in the first two steps, although it remembers something.
    """

    def __init__(self, process_group: Any, matrix_approximation_rank: int = 1, start_powerSGD_iter: int = 1_000,
                 min_compression_rate: float = 2, use_error_feedback: bool = True, warm_start: bool = True,
                 orthogonalization_epsilon: float = 0, random_seed: int = 0,
                 compression_stats_logging_frequency: int = 10_000, batch_tensors_with_same_shape: bool = False):
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError("Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, "
                             "because PowerSGD can only be applied after the first two iterations in DDP.")
        self.process_group, self.matrix_approximation_rank = process_group, matrix_approximation_rank
        self.start_powerSGD_iter, self.min_compression_rate = start_powerSGD_iter, min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.compression_stats_logging_frequency = compression_stats_logging_frequency
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.rng = np.random.RandomState(random_seed)
        self.error_dict: dict[int, Tensor] = {}  # by buckets: what was lost
        self.q_memory_dict: dict[int, list[Tensor]] = {}  # by buckets: each matrix's Q
        self.iter = 0
        self.total_numel_before_compression = self.total_numel_after_compression = 0

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "process_group"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, process_group=default_group())

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a step with its last bucket."""
        self.iter += bucket.is_last()

    def begun(self, bucket: GradBucket) -> bool:
        """Add to a bucket what was lost of the one before, and return True; return False in the steps before
        ``start_powerSGD_iter``, which average as without a hook.
        """
        if self.iter < self.start_powerSGD_iter:
            self.maybe_increase_iter(bucket)
            return False
        if bucket.index() in self.error_dict:
            bucket.buffer().add_(self.error_dict[bucket.index()])
        return True

    def compression_stats(self) -> tuple[float, int, int]:
        """Return the elements before compression in those after it, and both numbers."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return before / after if after else 0.0, before, after

    def rank_of(self, matrix: Tensor) -> int:
        """Return the rank of a matrix's approximation; 0 if too little would be saved."""
        rows, columns = matrix.shape
        rank = min(rows, columns, self.matrix_approximation_rank)
        kept = (rows + columns) * rank
        is_worth_it = kept * self.min_compression_rate < matrix.numel()
        self.total_numel_before_compression += matrix.numel()
        self.total_numel_after_compression += kept if is_worth_it else matrix.numel()
        return rank if is_worth_it else 0

    def drawn(self, matrices: Sequence[tuple[Tensor, int]]) -> list[Tensor]:
        """Return random matrices Q, equal in all processes, without a change of the program's random numbers."""
        with fork_rng(devices=[]):
            manual_seed(self.rng.randint(1_000_000_000))
            return [empty(matrix.shape[1], rank, dtype=matrix.dtype).normal_().to(matrix.device)
                    for matrix, rank in matrices]


def orthogonal(matrix: Tensor, epsilon: float) -> Tensor:
    """Return a matrix whose columns are orthonormal, and span those of a matrix."""
    if matrix.shape[1] > 2:
        return qr(matrix)[0]
    columns: list[Tensor] = []
    for column in matrix.unbind(1):
        for other in columns:
            column = column - (other * column).sum() * other
        columns.append(column / (column.norm() + epsilon))
    return cat([column.unsqueeze(1) for column in columns], 1)


def _summed(tensors: Sequence[Tensor], group: Any) -> list[Tensor]:
    """Return the sums of all processes' tensors, which travel together."""
    if not tensors:
        return []
    flat = cat([tensor.reshape(-1) for tensor in tensors], 0)
    all_reduce(flat, group=group)
    parts = flat.split([tensor.numel() for tensor in tensors])
    return [part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Any:
    """Average a bucket's matrices approximately, and its other gradients as they are
    (``torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook.powerSGD_hook``).
    """
    group, buffer, number = resolve(state.process_group), bucket.buffer(), bucket.index()
    if not state.begun(bucket):
        return allreduce_hook(group, bucket)
    before = buffer.clone()
    views = [gradient.view(gradient.shape[0], -1) if gradient.dim() else gradient.view(1, 1)
             for gradient in bucket.gradients()]
    ranks = [state.rank_of(view) for view in views]
    matrices = [(view, rank) for view, rank in zip(views, ranks, strict=True) if rank]
    shapes = [view.shape for view, _ in matrices]
    matrices.sort(key=lambda pair: shapes.index(pair[0].shape))  # equal shapes together, for the order of drawing
    others = [view for view, rank in zip(views, ranks, strict=True) if not rank]
    plain = cat([other.reshape(-1) for other in others], 0) if others else buffer.new_empty(0)
    work = all_reduce(plain, group=group, async_op=True)
    assert work is not None

    def finish(future: Any) -> Tensor:
        parts = future.value()[0].div_(group.size()).split([other.numel() for other in others]) if others else ()
        for other, part in zip(others, parts, strict=True):
            other.copy_(part.view(other.shape))
        epsilon = state.orthogonalization_epsilon
        qs = state.q_memory_dict.get(number) or state.drawn(matrices)
        qs = [orthogonal(q, epsilon) for q in qs]
        ps = [matrix @ q for (matrix, _), q in zip(matrices, qs, strict=True)]
        ps = [orthogonal(p, epsilon) for p in _summed(ps, group)]
        qs = [matrix.t() @ p for (matrix, _), p in zip(matrices, ps, strict=True)]
        qs = [q.div_(group.size()) for q in _summed(qs, group)]
        for (matrix, _), p, q in zip(matrices, ps, qs, strict=True):
            matrix.copy_(p @ q.t())
        if state.use_error_feedback:
            state.error_dict[number] = before - buffer
        if state.warm_start:
            state.q_memory_dict[number] = qs
        state.maybe_increase_iter(bucket)
        return buffer

    return work.get_future().then(finish)


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Any:
    """Average a bucket approximately, as one square matrix with zeros at its end: fewer products than
    ``powerSGD_hook``, and a worse approximation
    (``torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook.batched_powerSGD_hook``).
    """
    group, buffer, number = resolve(state.process_group), bucket.buffer(), bucket.index()
    if not state.begun(bucket):
        return allreduce_hook(group, bucket)
    side = math.isqrt(max(buffer.numel() - 1, 0)) + 1
    rank = min(side, state.matrix_approximation_rank)
    matrix = cat([buffer, buffer.new_zeros(side * side - buffer.numel())], 0).view(side, side)
    state.total_numel_before_compression += buffer.numel()
    state.total_numel_after_compression += 2 * side * rank
    known = state.q_memory_dict.get(number) or state.drawn([(matrix, rank)])
    product = matrix @ orthogonal(known[0], state.orthogonalization_epsilon)
    work = all_reduce(product, group=group, async_op=True)
    assert work is not None

    def finish(future: Any) -> Tensor:
        p = orthogonal(future.value()[0], state.orthogonalization_epsilon)
        q = matrix.t() @ p
        all_reduce(q, group=group)
        average = (p @ q.div_(group.size()).t()).view(-1)[:buffer.numel()]
        if state.use_error_feedback:
            state.error_dict[number] = buffer - average
        if state.warm_start:
            state.q_memory_dict[number] = [q]
        state.maybe_increase_iter(bucket)
        return buffer.copy_(average)

    return work.get_future().then(finish)
