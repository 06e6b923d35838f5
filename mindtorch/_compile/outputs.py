"""The results of a compiled graph: results of the program, inputs, and views of both, made outside of it."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._dispatch.local import local
from .._functorch._aot_autograd.schemas import COMPUTED, OutputType, ViewAndMutationMeta
from .._subclasses.functional_tensor import replayed
from .joint import roots_of

BASED = {OutputType.is_input: "input", OutputType.alias_of_input: "input",
         OutputType.alias_of_intermediate_base_is_user_output: "output"}


@dataclass(eq=False)
class Output:
    """How one result of a call is made: it is an input, or a result of the program, or a view of one of them or of
    another output.
    """

    number: int  #: among the call's outputs
    source: int  #: the number of the input, of the program's result, or of the output that it is a view of
    kind: str  #: ``"input"``, ``"result"`` or ``"output"``
    views: tuple[Any, ...] | None = None  #: the steps to it, None for the tensor itself
    requires_grad: bool = False
    writes: int = 0  #: how often the function writes the input that it is a view of

    def tensor(self, inputs: Any, results: list[Any], outputs: list[Any]) -> Any:
        """Return the tensor, given the call's inputs, the results of the program and the outputs made so far."""
        found = (inputs if self.kind == "input" else results if self.kind == "result" else outputs)[self.source]
        if self.views is None:
            return found
        before = local.grad_enabled
        try:
            local.grad_enabled = self.requires_grad
            if not self.views:
                return found.view_as(found) if self.requires_grad else found.detach()
        finally:
            local.grad_enabled = before
        return replayed(found, self.views, self.writes)


def outputs_of(meta: ViewAndMutationMeta) -> list[Output]:
    """Return how the outputs of a call are made, each after the one that it is a view of."""
    first = meta.num_mutated_inp_runtime_indices
    place = {number: i for i, number in enumerate(roots_of(meta))}
    found: dict[int, Output] = {}

    def make(number: int) -> None:
        if number in found:
            return
        info = meta.output_info[number]
        if info.output_type in COMPUTED:
            found[number] = Output(number, place[first + number], "result")
            return
        kind, source = BASED.get(info.output_type, "result"), info.base_idx
        assert source is not None
        if kind == "output":
            make(source)
        elif kind == "result":
            source = place[first + meta.num_outputs + source]
        found[number] = Output(number, source, kind,
                               None if info.output_type is OutputType.is_input else info.views, info.requires_grad,
                               meta.input_info[source].writes if kind == "input" else 0)

    for number in range(meta.num_outputs):
        make(number)
    return [*found.values()]
