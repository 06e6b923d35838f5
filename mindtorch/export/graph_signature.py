"""Kinds of the inputs and outputs of an exported graph (``torch.export.graph_signature``)."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any


@dataclass
class TensorArgument:
    """A tensor, by its node's name."""

    name: str


@dataclass
class SymIntArgument:
    """An integer that may be symbolic, by its node's name."""

    name: str


@dataclass
class SymFloatArgument:
    """A float that may be symbolic, by its node's name."""

    name: str


@dataclass
class SymBoolArgument:
    """A condition that may be symbolic, by its node's name."""

    name: str


@dataclass
class ConstantArgument:
    """A Python value that is part of the program."""

    name: str
    value: int | float | bool | str | None


Argument = TensorArgument | SymIntArgument | SymFloatArgument | SymBoolArgument | ConstantArgument


class InputKind(Enum):
    """The kind of an input of the graph."""

    USER_INPUT = 1
    PARAMETER = 2
    BUFFER = 3
    CONSTANT_TENSOR = 4
    CUSTOM_OBJ = 5
    TOKEN = 6


class OutputKind(Enum):
    """The kind of an output of the graph."""

    USER_OUTPUT = 1
    LOSS_OUTPUT = 2
    BUFFER_MUTATION = 3
    PARAMETER_MUTATION = 4
    GRADIENT_TO_PARAMETER = 5
    GRADIENT_TO_USER_INPUT = 6
    USER_INPUT_MUTATION = 7
    TOKEN = 8


@dataclass
class InputSpec:
    """An input of the graph; ``target`` is the attribute of the module that it stands for."""

    kind: InputKind
    arg: Any
    target: str | None
    persistent: bool | None = None

    def __post_init__(self) -> None:
        if self.kind is InputKind.BUFFER and self.persistent is None:
            raise AssertionError("Failed to specify persistent flag on BUFFER.")

    def __str__(self) -> str:
        target = "" if self.target is None else f" target='{self.target}'"
        persistent = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{persistent}"


@dataclass
class OutputSpec:
    """An output of the graph; ``target`` is the attribute, or the input, that it is written to."""

    kind: OutputKind
    arg: Any
    target: str | None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target='{self.target}'"
        return f"{self.arg.name}: {self.kind.name}{target}"


def _names(specs: list[Any], *kinds: Any) -> Iterator[tuple[str, str]]:
    return ((spec.arg.name, spec.target) for spec in specs if spec.kind in kinds)


@dataclass
class ExportGraphSignature:
    """The inputs and outputs of an exported graph, in order (``torch.export.ExportGraphSignature``)."""

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters in the module."""
        return tuple(target for _, target in _names(self.input_specs, InputKind.PARAMETER))

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of the buffers in the module."""
        return tuple(target for _, target in _names(self.input_specs, InputKind.BUFFER))

    @property
    def non_persistent_buffers(self) -> tuple[str, ...]:
        """The names of the buffers that are not saved."""
        return tuple(str(spec.target) for spec in self.input_specs if spec.persistent is False)

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """The names of the constants."""
        return tuple(target for _, target in _names(self.input_specs, InputKind.CONSTANT_TENSOR))

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """The names of the arguments' nodes, and the values of those that are constants."""
        return tuple(_shown(spec.arg) for spec in self.input_specs if spec.kind is InputKind.USER_INPUT)

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The names of the results' nodes, and the values of those that are constants."""
        return tuple(_shown(spec.arg) for spec in self.output_specs
                     if spec.kind in (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT))

    @property
    def inputs_to_parameters(self) -> Mapping[str, str]:
        """The parameters by their nodes."""
        return MappingProxyType(dict(_names(self.input_specs, InputKind.PARAMETER)))

    @property
    def inputs_to_buffers(self) -> Mapping[str, str]:
        """The buffers by their nodes."""
        return MappingProxyType(dict(_names(self.input_specs, InputKind.BUFFER)))

    @property
    def inputs_to_lifted_tensor_constants(self) -> Mapping[str, str]:
        """The constants by their nodes."""
        return MappingProxyType(dict(_names(self.input_specs, InputKind.CONSTANT_TENSOR)))

    @property
    def inputs_to_lifted_custom_objs(self) -> Mapping[str, str]:
        """Nothing: there are no custom objects."""
        return MappingProxyType({})

    @property
    def buffers_to_mutate(self) -> Mapping[str, str]:
        """The buffers that are written, by the nodes of their new values."""
        return MappingProxyType(dict(_names(self.output_specs, OutputKind.BUFFER_MUTATION)))

    @property
    def user_inputs_to_mutate(self) -> Mapping[str, str]:
        """The arguments that are written, by the nodes of their new values."""
        return MappingProxyType(dict(_names(self.output_specs, OutputKind.USER_INPUT_MUTATION)))

    @property
    def backward_signature(self) -> None:
        """None: the graph has no backward pass."""

    def __str__(self) -> str:
        inputs, outputs = ("\n".join(map(str, specs)) for specs in (self.input_specs, self.output_specs))
        return f"\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n"


def _shown(arg: Any) -> Any:
    return arg.value if isinstance(arg, ConstantArgument) else arg.name
