"""One model in several processes, each with a part of the batch: gradients are averaged while backward runs.

A backward pass reaches the last layer's parameters first. Parameters are put into buckets in this order; when all
gradients of a bucket are there, they are sent as one all-reduce, while backward goes on with the layers before. At the
end of the pass the averages are put where the gradients were.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..._autograd.grad_mode import is_grad_enabled, no_grad
from ..._base.forks import load_module
from ..._base.interrupts import contextmanager
from ..._creation import tensor as make_tensor
from ..._dispatch.local import local
from ..._tensor import Tensor
from ...distributed._collectives.engine import purpose
from ...distributed._collectives.groups import ProcessGroup, resolve
from ...distributed._collectives.operations import all_reduce, broadcast
from ..module import Module

MEGABYTE = 2**20
FIRST_BUCKET = MEGABYTE  # small, so that communication begins early


class Bucket:
    """Gradients that one all-reduce averages: parameters of one dtype and device, and their places in ``flat``."""

    def __init__(self, number: int, parameters: Sequence[Tensor]):
        self.number, self.parameters = number, list(parameters)
        with no_grad():
            self.flat = parameters[0].new_zeros(sum(parameter.numel() for parameter in parameters))
        ends, self.views = 0, {}
        for parameter in parameters:
            ends += parameter.numel()
            self.views[parameter] = self.flat[ends - parameter.numel():ends].view(parameter.shape)
        self.ready: set[Tensor] = set()
        self.work: Any = None  # or the future of a hook's result

    def launch(self, group: ProcessGroup, hook: Callable[[Bucket], Any] | None = None, size: int = 0) -> None:
        """Start averaging ``flat``, or what a hook does in its place, whose result is put there."""
        before = purpose.set(f"bucket {self.number}")
        try:
            if hook is not None:
                self.work = hook(self)
                return
            self.flat.div_(size or group.size())
            self.work = all_reduce(self.flat, group=group, async_op=True)
        finally:
            purpose.reset(before)

    def wait(self) -> None:
        """Wait until ``flat`` has the averages."""
        assert self.work is not None
        found = self.work.wait()
        if isinstance(found, Tensor) and found is not self.flat:
            self.flat.copy_(found)


def buckets_of(parameters: Sequence[Tensor], capacity: float) -> list[Bucket]:
    """Return parameters in buckets of at most ``capacity`` bytes, the last parameters first, as backward reaches them.
    """
    lists: list[list[Tensor]] = []
    size, limit = 0.0, float(min(FIRST_BUCKET, capacity))
    for parameter in reversed(parameters):
        nbytes = parameter.numel() * parameter.element_size()
        last = lists[-1][-1] if lists else None
        if last is None or size + nbytes > limit or (last.dtype, last.device) != (parameter.dtype, parameter.device):
            limit = capacity if lists else limit
            lists.append([])
            size = 0
        lists[-1].append(parameter)
        size += nbytes
    return [Bucket(number, parameters) for number, parameters in enumerate(lists)]


class GradBucket:
    """Gradients as a communication hook takes them (``torch.distributed.GradBucket``)."""

    def __init__(self, bucket: Bucket, is_last: bool):
        self._bucket, self._is_last = bucket, is_last

    def index(self) -> int:
        """Return the number of the bucket, in the order of the backward pass."""
        return self._bucket.number

    def buffer(self) -> Tensor:
        """Return the gradients, one after another."""
        return self._bucket.flat

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace the gradients."""
        self._bucket.flat.copy_(buffer)

    def gradients(self) -> list[Tensor]:
        """Return the gradients as parts of the buffer."""
        return list(self._bucket.views.values())

    def parameters(self) -> list[Tensor]:
        """Return the parameters that they belong to."""
        return list(self._bucket.parameters)

    def is_last(self) -> bool:
        """Return whether it is the last bucket of the backward pass."""
        return self._is_last


class DistributedDataParallel(Module):
    """A module whose gradients are averages over processes (``torch.nn.parallel.DistributedDataParallel``).

    Each process has the whole module, and gives it a part of the batch. Parameters and buffers are rank 0's from the
    start.

    Args:
        module: which is called.
        broadcast_buffers: give all ranks the buffers of rank 0 before each forward pass that comes after one with
            gradients, also without them.
        process_group: the group; the world unless given.
        bucket_cap_mb: the size of buckets in megabytes, 25 unless given; the first has 1.
        find_unused_parameters: parameters that the loss does not depend on count as zeros; if they are unused in all
            ranks, their gradients stay as they were.
        gradient_as_bucket_view: gradients are views of the buckets, which saves their memory.
        static_graph: the same parameters are unused in every step; here as ``find_unused_parameters``.
        device_ids, output_device, dim, check_reduction, init_sync: as PyTorch's; a process has one device.

    Raises:
        RuntimeError: if no parameter requires a gradient; in the next forward pass, if some parameter had none.
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0,
                 broadcast_buffers: bool = True, init_sync: bool = True, process_group: Any = None,
                 bucket_cap_mb: float | None = None, find_unused_parameters: bool = False,
                 check_reduction: bool = False, gradient_as_bucket_view: bool = False, static_graph: bool = False):
        super().__init__()
        parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        if not parameters:
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameters that "
                               "require a gradient.")
        self.module, self.process_group = module, resolve(process_group)
        self.broadcast_buffers, self.gradient_as_bucket_view = broadcast_buffers, gradient_as_bucket_view
        self.find_unused_parameters = find_unused_parameters or static_graph
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._hook: Callable[[Bucket], Any] | None = None
        self._join: Callable[[], Any] | None = None  # of a Join context, told of each forward pass
        self._divisor = 0  # by which gradients are divided in it, if not by the number of processes
        self.buckets = buckets_of(parameters, (25 if bucket_cap_mb is None else bucket_cap_mb) * MEGABYTE)
        self._bucket_of = {parameter: bucket for bucket in self.buckets for parameter in bucket.parameters}
        self._next = 0  # the first bucket that is not on its way: all ranks send them in one order
        self._running = False  # whether a backward pass has reached a parameter, and not ended
        self._unfinished: list[Tensor] = []
        if init_sync:
            self._broadcast([*module.parameters(), *module.buffers()])
        for parameter in parameters:
            parameter.register_post_accumulate_grad_hook(self._arrived)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module."""
        self.begin_forward()
        return self.module(*inputs, **kwargs)

    def begin_forward(self) -> None:
        """Check that the last backward pass reached all parameters, and give all ranks the buffers of rank 0."""
        reduces = is_grad_enabled() and self.require_backward_grad_sync
        if reduces:
            if self._join is not None:
                self._join()
            if self._unfinished:
                names = [name for name, parameter in self.module.named_parameters()
                         if any(parameter is other for other in self._unfinished)]
                raise RuntimeError(
                    "Expected to have finished reduction in the prior iteration before starting a new one. This error "
                    "indicates that your module has parameters that were not used in producing loss. You can enable "
                    "unused parameter detection by passing the keyword argument `find_unused_parameters=True` to "
                    f"`torch.nn.parallel.DistributedDataParallel`. Parameters without gradients: {', '.join(names)}")
        self._share_buffers(reduces)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Only add up gradients in each process during the block; the first backward pass after it averages them.
        Forward passes belong into the block, too.
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True,
             throw_on_early_termination: bool = False) -> Any:
        """Return a block in which ranks may have different numbers of batches: ``torch.distributed.algorithms.Join``
        (``torch.nn.parallel.DistributedDataParallel.join``).
        """
        return load_module("...distributed.algorithms.join", __package__).Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size)

    def register_comm_hook(self, state: Any, hook: Callable[[Any, Any], Any]) -> None:
        """Let ``hook(state, bucket)`` average each bucket; it returns a future of the averages
        (``torch.nn.parallel.DistributedDataParallel.register_comm_hook``).

        Raises:
            TypeError: if it cannot be called.
            RuntimeError: if there is a hook.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self._hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self._hook = lambda bucket: hook(state, GradBucket(bucket, bucket is self.buckets[-1]))

    def _share_buffers(self, reduces: bool) -> None:
        """Give all ranks the buffers of rank 0, if a forward pass with a backward one may have changed them."""
        if self.broadcast_buffers and self.require_forward_param_sync:
            self._broadcast(list(self.module.buffers()))
        self.require_forward_param_sync = reduces

    def _broadcast(self, tensors: Sequence[Tensor]) -> None:
        with no_grad():
            works = [broadcast(tensor, group=self.process_group, group_src=0, async_op=True) for tensor in tensors]
            for work in works:
                assert work is not None
                work.wait()

    def _arrived(self, parameter: Tensor) -> None:
        """Count a complete gradient (called by the engine after adding it to ``.grad``)."""
        if not self.require_backward_grad_sync:
            return
        if not self._running:
            assert local.task is not None
            self._running, self._next, self._unfinished = True, 0, []
            for bucket in self.buckets:
                bucket.ready.clear()
                bucket.work = None
            local.task.callbacks += (self._finish,)
        bucket = self._bucket_of[parameter]
        self._fill(bucket, parameter)
        while self._next < len(self.buckets) and len(self.buckets[self._next].ready) == len(
                self.buckets[self._next].parameters):
            self.buckets[self._next].launch(self.process_group, self._hook, self._divisor)
            self._next += 1

    def _fill(self, bucket: Bucket, parameter: Tensor) -> None:
        view = bucket.views[parameter]
        with no_grad():
            if parameter.grad is None:
                view.zero_()
            elif parameter.grad.data_ptr() != view.data_ptr():
                view.copy_(parameter.grad)
        bucket.ready.add(parameter)

    def _finish(self) -> None:
        """Wait for the averages after the backward pass, and store them as gradients."""
        self._running = False
        used = {parameter for bucket in self.buckets for parameter in bucket.ready}
        if self.find_unused_parameters:
            used = self._used_anywhere(used)
            for bucket in self.buckets[self._next:]:
                for parameter in bucket.parameters:
                    if parameter not in bucket.ready:
                        self._fill(bucket, parameter)
                bucket.launch(self.process_group, self._hook, self._divisor)
        with no_grad():
            for bucket in self.buckets:
                if bucket.work is None:
                    self._unfinished += [other for other in bucket.parameters if other not in bucket.ready]
                    continue
                bucket.wait()
                for parameter in bucket.parameters:
                    if parameter in used:
                        self._give(parameter, bucket.views[parameter])

    def _used_anywhere(self, used: set[Tensor]) -> set[Tensor]:
        """Return the parameters that some rank's loss depends on."""
        parameters = list(self._bucket_of)
        flags = make_tensor([int(parameter in used) for parameter in parameters], device=parameters[0].device)
        all_reduce(flags, group=self.process_group)
        return {parameter for parameter, flag in zip(parameters, flags.tolist(), strict=True) if flag}

    def _give(self, parameter: Tensor, average: Tensor) -> None:
        if self.gradient_as_bucket_view:
            parameter.grad = average
        elif parameter.grad is None:
            parameter.grad = average.clone()
        else:
            parameter.grad.copy_(average)
