"""``torch.distributed.pipelining.stage``: one stage, and what it sends to its neighbours and receives from them."""
from __future__ import annotations

from typing import Any

from ..._autograd.engine import backward as run_backward
from ..._creation import empty
from ..._tensor import Tensor
from ...nn.module import Module
from .._collectives.groups import resolve
from .._collectives.objects import recv_object_list, send_object_list
from .._collectives.operations import irecv, isend

__all__ = ["PipelineStage"]


class PipelineStage:
    """A part of a model in this process (``torch.distributed.pipelining.PipelineStage``).

    Args:
        submodule: the part; it takes what the stage before returns.
        stage_index, num_stages: which part it is. With more parts than ranks, rank ``stage_index % ranks`` has it.
        device: of the tensors.
        input_args, output_args: examples, which are not needed: stages exchange the shapes with the first microbatch.
        group: the processes; the world unless given.

    Raises:
        ValueError: if the stage is none of the ``num_stages``, or another rank's.
    """

    def __init__(self, submodule: Module, stage_index: int, num_stages: int, device: Any = "cpu",
                 input_args: Any = None, output_args: Any = None, group: Any = None, dw_builder: Any = None):
        self.submod, self.stage_index, self.num_stages, self.device = submodule, stage_index, num_stages, device
        self.group = resolve(group)
        if not 0 <= stage_index < num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        if self.group.rank() != stage_index % self.group.size():
            raise ValueError(f"stage {stage_index} belongs to rank {stage_index % self.group.size()} of its group, not "
                             f"to rank {self.group.rank()}: the ranks take the stages in turn")
        self.is_first, self.is_last = stage_index == 0, stage_index == num_stages - 1
        self._metas: list[Any] | None = None  # shapes and dtypes of what the stage before sends
        self._announced = False
        self._works: list[Any] = []
        self.saved: dict[int, tuple[tuple[Any, ...], tuple[Tensor, ...]]] = {}

    def _rank(self, stage: int) -> int:
        """Return the process of a stage."""
        return stage % self.group.size()

    def _tag(self, stage: int, chunk: int, place: int, backward: bool) -> int:
        """Return the number of a message of this stage and a neighbour."""
        return 2 * (64 * (self.num_stages * chunk + min(stage, self.stage_index)) + place) + backward

    def _send(self, tensors: Any, to: int, chunk: int, backward: bool) -> None:
        self._works += [(isend(tensor.contiguous(), group=self.group, group_dst=self._rank(to),
                               tag=self._tag(to, chunk, place, backward)), tensor)
                        for place, tensor in enumerate(tensors)]

    def _receive(self, metas: Any, source: int, chunk: int, backward: bool) -> list[Tensor]:
        found = [empty(shape, dtype=dtype, device=self.device) for shape, dtype in metas]
        works = [irecv(tensor, group=self.group, group_src=self._rank(source),
                       tag=self._tag(source, chunk, place, backward))
                 for place, tensor in enumerate(found)]
        for work in works:
            assert work is not None
            work.wait()
        return found

    def forward(self, chunk: int, args: tuple[Any, ...], kwargs: dict[str, Any], keep: bool = True) -> Any:
        """Run a microbatch; return the output."""
        if not self.is_first:
            if self._metas is None:
                box: list[Any] = [None]
                recv_object_list(box, group=self.group, group_src=self._rank(self.stage_index - 1))
                self._metas = box[0]
            args = tuple(tensor.requires_grad_(keep and tensor.is_floating_point())
                         for tensor in self._receive(self._metas, self.stage_index - 1, chunk, False))
        output = self.submod(*args, **kwargs)
        outputs = output if isinstance(output, tuple) else (output,)
        if keep:
            self.saved[chunk] = args, outputs
        if not self.is_last:
            if not self._announced:
                metas = [(tuple(tensor.shape), tensor.dtype) for tensor in outputs]
                send_object_list([metas], group=self.group, group_dst=self._rank(self.stage_index + 1))
                self._announced = True
            self._send([tensor.detach() for tensor in outputs], self.stage_index + 1, chunk, False)
        return output

    def backward(self, chunk: int, loss: Tensor | None) -> None:
        """Run the backward pass of a microbatch: from its loss, or from the gradients of the next stage."""
        args, outputs = self.saved.pop(chunk)
        if self.is_last:
            assert loss is not None
            run_backward((loss,))
        else:
            sent = [tensor for tensor in outputs if tensor.is_floating_point()]
            gradients = self._receive([(tuple(tensor.shape), tensor.dtype) for tensor in sent],
                                      self.stage_index + 1, chunk, True)
            pairs = [pair for pair in zip(sent, gradients, strict=True) if pair[0].requires_grad]
            run_backward(tuple(tensor for tensor, _ in pairs), tuple(gradient for _, gradient in pairs))
        if not self.is_first:
            gradients = [tensor.new_zeros(tensor.shape) if tensor.grad is None else tensor.grad
                         for tensor in args if isinstance(tensor, Tensor) and tensor.requires_grad]
            self._send(gradients, self.stage_index - 1, chunk, True)

    def finish(self) -> None:
        """Wait until all that was sent has arrived."""
        for work, _ in self._works:
            work.wait()
        self._works.clear()
