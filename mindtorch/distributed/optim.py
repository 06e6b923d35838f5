"""``torch.distributed.optim``: an optimizer whose state is spread over processes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._autograd.grad_mode import no_grad
from .._tensor import Tensor
from ..optim.optimizer import Optimizer
from ._collectives.engine import Work
from ._collectives.groups import ProcessGroup, resolve
from ._collectives.objects import gather_object
from ._collectives.operations import broadcast
from .algorithms.join import Joinable, JoinHook


class _ZeROJoinHook(JoinHook):
    """Takes part in the steps of ranks that have batches left."""

    def __init__(self, optimizer: ZeroRedundancyOptimizer):
        self.optimizer = optimizer
        super().__init__()

    def main_hook(self) -> None:
        """Make a step, in which this rank sends its parameters and receives the others'."""
        self.optimizer.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
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
        ranks = self.process_group.size()
        #: Each rank's parameters.
        self.parts: list[list[Tensor]] = [[] for _ in range(ranks)]
        self._sizes = [0] * ranks
        self._whole: dict[int, Any] | None = None  # states by the parameters' numbers, once they are consolidated here
        super().__init__(params, defaults)
        #: The optimizer of this rank's part.
        self.optim = optimizer_class([self._own(group) for group in self.param_groups], **defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group, and assign its parameters: the largest first, each to the rank with the fewest elements."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for parameter in sorted(group["params"], key=Tensor.numel, reverse=True):
            least = self._sizes.index(min(self._sizes))
            self.parts[least].append(parameter)
            self._sizes[least] += parameter.numel()
        if hasattr(self, "optim"):
            self.optim.add_param_group(self._own(group))

    def _own(self, group: dict[str, Any]) -> dict[str, Any]:
        """Return a group with this rank's parameters only."""
        mine = {id(parameter) for parameter in self.parts[self.process_group.rank()]}
        return {**group, "params": [parameter for parameter in group["params"] if id(parameter) in mine]}

    def _numbers(self) -> dict[Any, int]:
        """Return the parameters' numbers in ``state_dict``."""
        parameters = (parameter for group in self.param_groups for parameter in group["params"])
        return {parameter: number for number, parameter in enumerate(parameters)}

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

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Send all states to one rank, for its ``state_dict``; all ranks make this call."""
        numbers = self._numbers()
        own = {numbers[parameter]: state for parameter, state in self.optim.state.items()}
        everyone: list[Any] | None = [None] * self.process_group.size() if self.process_group.rank() == to else None
        gather_object(own, everyone, group=self.process_group, group_dst=to)
        if everyone is not None:
            self._whole = dict(sorted(item for states in everyone for item in states.items()))

    def state_dict(self) -> dict[str, Any]:
        """Return the states of all parameters, as they were when they were consolidated.

        Raises:
            RuntimeError: if they were not, on this rank.
        """
        if self._whole is None:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to="
                f"{self.process_group.rank()})` on all ranks beforehand if you meant to save the global state.")
        return {**super().state_dict(), "state": dict(self._whole)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the groups' settings, and the states of this rank's parameters, from the state of all."""
        super().load_state_dict(state_dict)
        for parameter in self.parts[self.process_group.rank()]:
            if parameter in self.state:
                self.optim.state[parameter] = self.state[parameter]
        self.state.clear()

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hook by which a rank without batches takes part in a ``Join`` block."""
        return _ZeROJoinHook(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> ProcessGroup:
        """The group."""
        return self.process_group


__all__ = ["ZeroRedundancyOptimizer"]
