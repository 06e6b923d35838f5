"""The inputs of a compiled function: each tensor once, and one base for inputs that share memory that is written."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from ..._tensor import Tensor
from .collect_metadata_analysis import run_functionalized_fw_and_collect_metadata
from .schemas import ViewAndMutationMeta


class Fakes(NamedTuple):
    """Fake tensors in place of tensors, and their mode."""

    mode: FakeTensorMode
    args: list[Any]


def fake_inputs(args: list[Any]) -> Fakes:
    """Return fake tensors like these tensors; fake ones as they are, with their mode."""
    mode = next((arg.fake_mode for arg in args if isinstance(arg, FakeTensor)), None) or FakeTensorMode(
        allow_non_fake_inputs=True)
    return Fakes(mode, [mode.from_tensor(arg, static_shapes=True) if isinstance(arg, Tensor)
                        and not isinstance(arg, FakeTensor) else arg for arg in args])


class Inputs:
    """How the arguments of a call become the inputs of its graph."""

    def __init__(self, f: Callable[..., Any], args: list[Any], keep_input_mutations: bool):
        self.original, self.keep = f, keep_input_mutations
        first: dict[int, int] = {}
        self.place: list[int] = []  #: of each argument: which input it is
        self.taken: list[int] = []  #: the arguments that are inputs
        for i, arg in enumerate(args):
            key = id(arg) if isinstance(arg, Tensor) else -1 - i
            if key not in first:
                first[key] = len(self.taken)
                self.taken.append(i)
            self.place.append(first[key])

    def function(self, *inputs: Any) -> Any:
        """Call the function with the inputs where the arguments stood."""
        return self.original(*[inputs[place] for place in self.place])

    def prepared(self, flat: list[Any]) -> list[Any]:
        """Return the inputs for a call's arguments."""
        return [flat[i] for i in self.taken]

    def describe(self, fakes: list[Any]) -> ViewAndMutationMeta:
        """Return what the function does besides computing."""
        return run_functionalized_fw_and_collect_metadata(self.function, keep_input_mutations=self.keep)(*fakes)
