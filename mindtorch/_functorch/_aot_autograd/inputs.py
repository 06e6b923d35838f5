"""The inputs of a compiled function: each tensor once, and one base for inputs that share memory that is written."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from ..._tensor import Tensor
from ...fx.experimental.symbolic_shapes import ShapeEnv
from .collect_metadata_analysis import run_functionalized_fw_and_collect_metadata
from .schemas import AOTConfig, MutationType, ViewAndMutationMeta


class Fakes(NamedTuple):
    """Fake tensors in place of tensors, and their mode."""

    mode: FakeTensorMode
    args: list[Any]


def fake_inputs(args: list[Any], config: AOTConfig) -> Fakes:
    """Return fake tensors like these tensors; fake ones as they are, with their mode."""
    mode = next((arg.fake_mode for arg in args if isinstance(arg, FakeTensor)), None) or FakeTensorMode(
        allow_non_fake_inputs=True, shape_env=ShapeEnv() if config.dynamic_shapes else None)
    return Fakes(mode, [mode.from_tensor(arg, static_shapes=True) if isinstance(arg, Tensor)
                        and not isinstance(arg, FakeTensor) else arg for arg in args])


class Member(NamedTuple):
    """An input that is a view of another input, their base, in a layout."""

    base: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int


class Inputs:
    """How the arguments of a call become the inputs of its graph.

    A tensor that is given twice is one input. Tensors that share memory which the function writes are views of one
    input, their base (PyTorch's synthetic base).
    """

    def __init__(self, f: Callable[..., Any], args: list[Any], config: AOTConfig):
        self.original, self.keep = f, config.keep_inference_input_mutations
        self.aliases_as_eager = config.aliases_as_eager
        first: dict[int, int] = {}
        self.place: list[int] = []  #: of each argument: its number among the different ones
        self.taken: list[int] = []  #: the different arguments
        for i, arg in enumerate(args):
            key = id(arg) if isinstance(arg, Tensor) else -1 - i
            if key not in first:
                first[key] = len(self.taken)
                self.taken.append(i)
            self.place.append(first[key])
        self.groups: list[list[int]] = []  #: the different arguments that have a base
        self.alone = [*range(len(self.taken))]  #: the others
        self.members: dict[int, Member] = {}

    def function(self, *inputs: Any) -> Any:
        """Call the function with the inputs where the arguments stood."""
        different: list[Any] = [None] * len(self.taken)
        for number, value in zip(self.alone, inputs[len(self.groups):], strict=True):
            different[number] = value
        for number, member in self.members.items():
            different[number] = inputs[member.base].as_strided(*member[1:])
        return self.original(*[different[place] for place in self.place])

    def prepared(self, flat: list[Any]) -> list[Any]:
        """Return the inputs for a call's arguments: bases, then the other tensors."""
        different = [flat[i] for i in self.taken]
        return [*[base_of([different[number] for number in group]) for group in self.groups],
                *[different[number] for number in self.alone]]

    def check_exported(self, flat: list[Any], meta: ViewAndMutationMeta) -> None:
        """Raise RuntimeError if an argument that is given twice, or that shares memory, is written."""
        written = [number for number, info in enumerate(meta.input_info)
                   if info.mutation_type is not MutationType.NOT_MUTATED]
        if any(self.place.count(number) > 1 for number in written):
            raise RuntimeError("Encountered duplicated inputs that are mutated in the graph you are trying to export: "
                               "pass a copy in place of one of them")
        memories = [id(flat[i].untyped_storage()) if isinstance(flat[i], Tensor) else None for i in self.taken]
        if any(memories.count(memories[number]) > 1 for number in written):
            raise RuntimeError("Encountered aliased inputs that are mutated in the graph you are trying to export: "
                               "pass their base, and take the views inside the function")

    def merge(self, flat: list[Any], meta: ViewAndMutationMeta) -> bool:
        """Give a common base to arguments that share memory if one is written; return True if any do."""
        if self.aliases_as_eager:
            return False
        by_memory: dict[int, list[int]] = {}
        for number, i in enumerate(self.taken):
            if isinstance(flat[i], Tensor):
                by_memory.setdefault(id(flat[i].untyped_storage()), []).append(number)
        self.groups = [group for group in by_memory.values()
                       if len(group) > 1 and any(meta.input_info[number].mutates_data for number in group)]
        merged = {number for group in self.groups for number in group}
        self.alone = [number for number in self.alone if number not in merged]
        for base, group in enumerate(self.groups):
            for number in group:
                tensor = flat[self.taken[number]]
                self.members[number] = Member(base, tuple(tensor.shape), tensor._strides(), tensor._offset)
        return bool(self.groups)

    def describe(self, fakes: list[Any]) -> ViewAndMutationMeta:
        """Describe the function's side effects."""
        return run_functionalized_fw_and_collect_metadata(
            self.function, keep_input_mutations=self.keep, aliases_as_eager=self.aliases_as_eager)(*fakes)


def base_of(tensors: list[Any]) -> Any:
    """Return a tensor that tensors on one memory are views of.

    Raises:
        RuntimeError: if one of them requires grad, and autograd has no such tensor that does.
    """
    bases = [tensor if tensor._base is None else tensor._base for tensor in tensors]
    recorded = any(tensor.requires_grad for tensor in tensors)
    if all(base is bases[0] for base in bases) and bases[0].requires_grad == recorded:
        return bases[0]
    if recorded:
        raise RuntimeError("aot_autograd: inputs share memory that the function writes, one of them requires grad, and "
                           "they are no views of one tensor that does: pass that tensor, and take the views inside the "
                           "function")
    first = tensors[0]
    return first.as_strided((first.untyped_storage().nbytes() // first.element_size(),), (1,), 0)
