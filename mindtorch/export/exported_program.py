"""``torch.export.ExportedProgram``: a graph of ATen operators, with the module's tensors as further inputs."""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .._tensor import Tensor
from ..fx.graph_module import GraphModule
from ..nn.parameter import Parameter
from ..utils._pytree import TreeSpec
from .graph_signature import ConstantArgument, ExportGraphSignature, OutputKind


@dataclass
class ModuleCallSignature:
    """The structure of a module's arguments and results."""

    inputs: list[Any]
    outputs: list[Any]
    in_spec: TreeSpec
    out_spec: TreeSpec
    forward_arg_names: list[str] | None = None


@dataclass
class ModuleCallEntry:
    """A module of the exported one, by its name, with the signature if that is kept."""

    fqn: str
    signature: ModuleCallSignature | None = None


class ExportedProgram:
    """A program that was exported (``torch.export.ExportedProgram``). ``module()`` returns one that can be called."""

    def __init__(self, root: Any, graph: Any, graph_signature: ExportGraphSignature, state_dict: dict[str, Any],
                 range_constraints: dict[Any, Any], module_call_graph: list[ModuleCallEntry],
                 example_inputs: Any = None, constants: dict[str, Any] | None = None, *, verifiers: Any = None,
                 guards: list[str] | None = None, input_paths: list[tuple[Any, ...]] | None = None) -> None:
        self._graph_module = root if isinstance(root, GraphModule) else GraphModule(root, graph)
        self._graph_signature = graph_signature
        self._state_dict, self._constants = state_dict, constants or {}
        self._range_constraints = range_constraints
        self._module_call_graph = module_call_graph
        self._example_inputs = example_inputs
        self._guards_code, self._input_paths = guards or [], input_paths or []

    @property
    def graph_module(self) -> GraphModule:
        """The module of the graph, which takes the module's tensors before the arguments."""
        return self._graph_module

    @property
    def graph(self) -> Any:
        """The graph."""
        return self._graph_module.graph

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """The kinds of the graph's inputs and outputs."""
        return self._graph_signature

    @property
    def state_dict(self) -> dict[str, Any]:
        """The parameters and the buffers that are saved, by their names in the module."""
        return self._state_dict

    @property
    def constants(self) -> dict[str, Any]:
        """The tensors that are neither parameters nor saved buffers, by their names."""
        return self._constants

    tensor_constants = constants

    @property
    def range_constraints(self) -> dict[Any, Any]:
        """The ranges of the symbols that sizes are made of."""
        return self._range_constraints

    @property
    def module_call_graph(self) -> list[ModuleCallEntry]:
        """The modules of the exported one."""
        return self._module_call_graph

    @property
    def example_inputs(self) -> Any:
        """The arguments that the program was exported with."""
        return self._example_inputs

    @example_inputs.setter
    def example_inputs(self, value: Any) -> None:
        if not isinstance(value, tuple) or len(value) != 2:
            raise ValueError("Example inputs should be a tuple containing example arguments (as a tuple), and example "
                             "kwargs (as a dictionary).")
        self._example_inputs = value

    @property
    def call_spec(self) -> Any:
        """The structures of the arguments and of the results."""
        return self._signature.in_spec, self._signature.out_spec

    @property
    def _signature(self) -> ModuleCallSignature:
        signature = self._module_call_graph[0].signature
        assert signature is not None
        return signature

    def parameters(self) -> Iterator[Parameter]:
        """Return the parameters."""
        return (parameter for _, parameter in self.named_parameters())

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Return the parameters with their names."""
        return ((name, self._state_dict[name]) for name in self._graph_signature.parameters)

    def buffers(self) -> Iterator[Tensor]:
        """Return the buffers."""
        return (buffer for _, buffer in self.named_buffers())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """Return the buffers with their names."""
        for name in self._graph_signature.buffers:
            yield name, self._constants[name] if name in self._constants else self._state_dict[name]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise RuntimeError: the graph's inputs are not the program's arguments."""
        raise RuntimeError("Unable to call ExportedProgram directly. You should use `exported_program.module()` "
                           "instead.")

    _report: Any = None  #: of ``draft_export``
    module: Callable[..., GraphModule]  #: see ``unlift``
    run_decompositions: Callable[..., ExportedProgram]  #: see ``decompose``

    def __str__(self) -> str:
        code = self._graph_module.print_readable(print_output=False, colored=False).replace("\n", "\n    ")
        signature = str(self._graph_signature).replace("\n", "\n    ")
        return (f"ExportedProgram:\n    {code}\nGraph signature: {signature}\nRange constraints: "
                f"{self._range_constraints}\n")

    def __deepcopy__(self, memo: dict[int, Any]) -> ExportedProgram:
        return ExportedProgram(copy.deepcopy(self._graph_module, memo), None, copy.deepcopy(self._graph_signature),
                               copy.deepcopy(self._state_dict, memo), copy.deepcopy(self._range_constraints),
                               self._module_call_graph, self._example_inputs, copy.deepcopy(self._constants, memo),
                               guards=list(self._guards_code), input_paths=list(self._input_paths))

    def _update(self, graph_module: GraphModule, graph_signature: ExportGraphSignature, *, state_dict: Any = None,
                constants: Any = None, verifiers: Any = None) -> ExportedProgram:
        """Return the program with another graph."""
        return ExportedProgram(graph_module, None, graph_signature, state_dict or self._state_dict,
                               dict(self._range_constraints), list(self._module_call_graph), self._example_inputs,
                               constants or self._constants, guards=list(self._guards_code),
                               input_paths=list(self._input_paths))

    def validate(self) -> None:
        """Raise AssertionError unless the signature names the graph's inputs and outputs."""
        placeholders = [node.name for node in self.graph.nodes if node.op == "placeholder"]
        named = [spec.arg.name for spec in self._graph_signature.input_specs]
        if placeholders != named:
            raise AssertionError(f"the graph's inputs {placeholders} are not the signature's {named}")
        outputs = [getattr(arg, "name", arg) for arg in next(iter(reversed(self.graph.nodes))).args[0]]
        for spec, output in zip(self._graph_signature.output_specs, outputs, strict=True):
            if not isinstance(spec.arg, ConstantArgument) and spec.arg.name != output:
                raise AssertionError(f"the graph's output {output} is not the signature's {spec.arg.name}")


def mutated(program: ExportedProgram) -> list[tuple[int, str]]:
    """Return the outputs that are new values of buffers, by their numbers, with the buffers' names."""
    return [(i, str(spec.target)) for i, spec in enumerate(program.graph_signature.output_specs)
            if spec.kind is OutputKind.BUFFER_MUTATION]


