"""``torch.distributed.optim``: an optimizer whose state is spread over processes."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .._autograd.grad_mode import no_grad
from .._tensor import Tensor
from ..optim.optimizer import Optimizer
from ._collectives.engine import Work
from ._collectives.groups import resolve
from ._collectives.operations import broadcast


def shares(parameters: Iterable[Tensor], ranks: int) -> list[list[Tensor]]:
    """Return each rank's parameters: the largest first, each assigned to the rank with the fewest elements so far."""
    parts: list[list[Tensor]] = [[] for _ in range(ranks)]
    sizes = [0] * ranks
    for parameter in sorted(parameters, key=Tensor.numel, reverse=True):
        least = sizes.index(min(sizes))
        parts[least].append(parameter)
        sizes[least] += parameter.numel()
    return parts


class ZeroRedundancyOptimizer(Optimizer):
    """An optimizer that each rank runs for some parameters (``torch.distributed.optim.ZeroRedundancyOptimizer``).

    A rank keeps the state of its own parameters only, updates them, and sends them to the others. Gradients must be
    equal in all ranks, as with ``DistributedDataParallel``.

    Args:
        params: all parameters, or groups of them.
        optimizer_class: of the optimizer that is run on a rank's part; ``defaults`` are its arguments.
        process_group: the group; the world unless given.
    """

    def __init__(self, params: Any, optimizer_class: Callable[..., Optimizer], process_group: Any = None,
                 **defaults: Any):
        self.process_group = resolve(process_group)
        super().__init__(params, defaults)
        ranks = self.process_group.size()
        self.parts = shares([parameter for group in self.param_groups for parameter in group["params"]], ranks)
        mine = {id(parameter) for parameter in self.parts[self.process_group.rank()]}
        groups = [{**group, "params": [parameter for parameter in group["params"] if id(parameter) in mine]}
                  for group in self.param_groups]
        #: The optimizer of this rank's part.
        self.optim = optimizer_class(groups, **defaults)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update this rank's parameters, and receive the others'."""
        for group, own in zip(self.param_groups, self.optim.param_groups, strict=True):
            own.update({name: value for name, value in group.items() if name != "params"})  # a schedule may change them
        loss = self.optim.step(closure)
        works: list[Work | None] = []
        with no_grad():
            for rank, parameters in enumerate(self.parts):
                works += [broadcast(parameter, group=self.process_group, group_src=rank, async_op=True)
                          for parameter in parameters]
            for work in works:
                assert work is not None
                work.wait()
        return loss


__all__ = ["ZeroRedundancyOptimizer"]
