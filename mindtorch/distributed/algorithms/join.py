"""``torch.distributed.algorithms.join``: ranks that have no more batches take part in the collectives of the others."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._creation import tensor
from ...nn.parallel.distributed import DistributedDataParallel
from .._collectives.groups import ProcessGroup
from .._collectives.operations import all_reduce, broadcast
from .._collectives.reduce_op import ReduceOp

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """The part of a rank without batches (``torch.distributed.algorithms.JoinHook``)."""

    def main_hook(self) -> None:
        """Make the collectives of one iteration of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Do what is left to do when all ranks have no more batches."""


class Joinable(ABC):
    """An object whose iterations make collectives (``torch.distributed.algorithms.Joinable``)."""

    _join_context: Join | None = None

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hook by which a rank without batches takes part."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of the collectives."""

    @property
    @abstractmethod
    def join_process_group(self) -> ProcessGroup:
        """The group of the collectives."""


class _DataParallelHook(JoinHook):
    """Gives zeros where the others give gradients."""

    def __init__(self, module: DistributedDataParallel):
        self.module = module

    def main_hook(self) -> None:
        """Receive buffers, and give zeros for each bucket."""
        module = self.module
        module._share_buffers(True)
        with no_grad():
            for bucket in module.buckets:
                bucket.flat.zero_()
                bucket.launch(module.process_group, module._hook, module._divisor)
            if module.find_unused_parameters:
                module._used_anywhere(set())
            for bucket in module.buckets:
                bucket.wait()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Take the parameters of a rank that trained to the end: the others made no steps meanwhile."""
        group = self.module.process_group
        last = tensor(group.rank() if is_last_joiner else -1)
        all_reduce(last, ReduceOp.MAX, group)
        with no_grad():
            for value in (*self.module.module.parameters(), *self.module.module.buffers()):
                broadcast(value, group=group, group_src=int(last))


class Join:
    """A block in which ranks may have different numbers of batches (``torch.distributed.algorithms.Join``).

    Args:
        joinables: ``DistributedDataParallel`` modules, and objects that are ``Joinable``.
        enable: False makes the block a plain one.
        throw_on_early_termination: end all ranks by an error as soon as one has no more batches.
        divide_by_initial_world_size: gradients are divided by the number of all ranks, else of those with batches.

    Raises:
        ValueError: without joinables, or if their groups differ.
        RuntimeError: in all ranks, with ``throw_on_early_termination``.
    """

    def __init__(self, joinables: Sequence[Any], enable: bool = True, throw_on_early_termination: bool = False,
                 **kwargs: Any):
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self.joinables, self.enable, self.throws = list(joinables), enable, throw_on_early_termination
        self.by_all = kwargs.get("divide_by_initial_world_size", True)
        self.hooks = [_DataParallelHook(item) if isinstance(item, DistributedDataParallel) else item.join_hook(**kwargs)
                      for item in joinables]
        groups = {item.process_group if isinstance(item, DistributedDataParallel) else item.join_process_group
                  for item in joinables}
        if len(groups) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        self.group = groups.pop()

    def _active(self, here: bool) -> int:
        """Return how many ranks have a batch."""
        count = tensor(int(here))
        all_reduce(count, group=self.group)
        found = int(count)
        for item in self.joinables:
            if isinstance(item, DistributedDataParallel):
                item._divisor = 0 if self.by_all else found
        if self.throws and found < self.group.size():
            raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks." if here
                               else f"Rank {self.group.rank()} exhausted all inputs.")
        return found

    def __enter__(self) -> Join:
        if self.enable:
            first = self.joinables[0]  # one word an iteration is enough
            if isinstance(first, DistributedDataParallel):
                first._join = lambda: self._active(True)
            else:
                first._join_context = self
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if not self.enable:
            return
        for item in self.joinables:
            if isinstance(item, DistributedDataParallel):
                item._join = None
        if kind is None:
            is_last = True
            while self._active(False):
                is_last = False
                for hook in self.hooks:
                    hook.main_hook()
            for hook in self.hooks:
                hook.post_hook(is_last)
        for item in self.joinables:
            if isinstance(item, DistributedDataParallel):
                item._divisor = 0

    @staticmethod
    def notify_join_context(joinable: Any) -> None:
        """Tell the context of an iteration, before its collectives (called by ``Joinable`` objects)."""
        context = getattr(joinable, "_join_context", None)
        if context is not None:
            context._active(True)
