"""``torch.export.unflatten``: an exported program as a tree of modules again, each with its part of the graph."""
from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from itertools import groupby
from typing import Any

from .._transforms.pytree import TreeSpec, tree_flatten, tree_unflatten
from ..fx.graph import Graph
from ..fx.interpreter import Interpreter
from ..fx.node import Node, map_arg
from ..nn.module import Module
from .exported_program import ExportedProgram
from .graph_signature import InputKind, OutputKind
from .unlift import GuardsFn, assigned, check_structure, copy_


class FlatArgsAdapter(ABC):
    """Converts arguments of another structure to those that a program was exported for
    (``torch.export.FlatArgsAdapter``).
    """

    @abstractmethod
    def adapt(self, target_spec: TreeSpec, input_spec: TreeSpec, input_args: list[Any],
              metadata: dict[str, Any] | None = None, obj: Any | None = None) -> list[Any]:
        """Return the leaves of ``target_spec``, given those of ``input_spec``."""


class InterpreterModule(Module):
    """A module of an unflattened program (``torch.export.unflatten.InterpreterModule``): it runs its graph, node by
    node, and calls the modules inside it.
    """

    def __init__(self, graph: Graph | None = None) -> None:
        super().__init__()
        self.graph = graph or Graph()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the graph; its inputs may be given by name."""
        names = [str(node.target) for node in self.graph.nodes if node.op == "placeholder"]
        given = [*args, *[kwargs[name] for name in names[len(args):]]]
        return Interpreter(self, graph=self.graph).run(*given, enable_io_processing=False)


class UnflattenedModule(InterpreterModule):
    """The root of an unflattened program: takes the original's arguments (``torch.export.UnflattenedModule``).

    Raises:
        ValueError: from a call with arguments of another structure, unless ``flat_args_adapter`` converts them.
        AssertionError: from a call with sizes that the program was not exported for.
    """

    def __init__(self, export_module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None) -> None:
        super().__init__()
        self.flat_args_adapter, self.module_call_graph = flat_args_adapter, export_module.module_call_graph
        signature = export_module._signature
        self.in_spec, self.out_spec = signature.in_spec, signature.out_spec
        self._guards = GuardsFn(export_module._guards_code, export_module._input_paths).forward
        _Writer(self, export_module).write()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program."""
        named = {name: kwargs[name] for name in self.in_spec.children_specs[1].context if name in kwargs}
        leaves, found = tree_flatten((args, named if len(named) == len(kwargs) else kwargs))
        if found != self.in_spec:
            if self.flat_args_adapter is None:
                check_structure(self.in_spec, self, args, kwargs)
            else:
                leaves = self.flat_args_adapter.adapt(self.in_spec, found, leaves, obj=self)
        self._guards(*leaves)
        results = Interpreter(self, graph=self.graph).run(*leaves, enable_io_processing=False)
        return tree_unflatten([*results], self.out_spec)


def unflatten(module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None) -> UnflattenedModule:
    """Return a module with the original's modules under their names, to be changed or replaced one by one
    (``torch.export.unflatten``).

    A module that is called again for another graph, or from a module that does not own it, is there twice.
    """
    return UnflattenedModule(module, flat_args_adapter)


class _Writer:
    """Divides a program's graph among modules."""

    def __init__(self, root: UnflattenedModule, program: ExportedProgram) -> None:
        self.root, self.program = root, program
        self.inputs = [node for node in program.graph.nodes if node.op == "placeholder"]
        self.specs = program.graph_signature.input_specs
        #: The attribute that an input of the graph stands for.
        self.targets = {node: str(spec.target) for node, spec in zip(self.inputs, self.specs, strict=True)
                        if spec.kind is not InputKind.USER_INPUT}
        tensors = {**program.state_dict, **program.constants}
        #: All names of the tensor: one that several modules share has one in each.
        self.names = {node: [target, *[name for name, tensor in tensors.items() if tensor is tensors[target]]]
                      for node, target in self.targets.items()}
        self.known: dict[str, tuple[Any, ...]] = {}  #: by path: the operators of the module's graph

    def write(self) -> None:
        """Write all graphs."""
        program, graph = self.program, self.root.graph
        tensors = {**program.state_dict, **program.constants}
        for name, _ in program.graph_module.named_children():
            self.root.add_module(name, getattr(program.graph_module, name))
        for target in dict.fromkeys(self.targets.values()):
            self._place(target.rpartition(".")[0])
            assigned(self.root, target, tensors[target])
        known = _placeholders(graph, [node for node in self.inputs if node not in self.targets])
        nodes = [*program.graph.nodes]
        self._fill(graph, "", True, 0, [node for node in nodes if node.op not in ("placeholder", "output")], known)
        by_name, results = {node.name: node for node in self.inputs}, []
        attributes = {target: node for node, target in self.targets.items()}
        returned: Any = nodes[-1].args[0]
        for value, spec in zip(returned, program.graph_signature.output_specs, strict=True):
            made = self._read(graph, "", value, known) if isinstance(value, Node) else value
            if spec.kind is OutputKind.BUFFER_MUTATION:
                graph.call_function(copy_, (self._read(graph, "", attributes[str(spec.target)], known), made))
            elif spec.kind is OutputKind.USER_INPUT_MUTATION:
                graph.call_function(copy_, (known[by_name[str(spec.target)]], made))
            else:
                results.append(made)
        graph.output(tuple(results))

    def _fill(self, graph: Graph, path: str, owns: bool, depth: int, nodes: list[Node], known: dict[Node, Node]
              ) -> None:
        """Write the nodes of a module's call, which is at a path and reads its own tensors there if it ``owns`` them.
        """
        for key, group in groupby(nodes, lambda node: _stack(node)[depth:depth + 1]):
            part = [*group]
            if not key:
                for node in part:
                    known[node] = graph.node_copy(node, lambda one: self._read(graph, path, one, known))
                continue
            [(_, name)] = key
            inside = {*part}
            used = dict.fromkeys(one for node in part for one in node.all_input_nodes if one not in inside)
            outputs = [node for node in part if not inside.issuperset(node.users)]
            is_own = owns and name.startswith(path and f"{path}.")
            place = name if is_own else ".".join(filter(None, (path, name.replace(".", "_"))))
            inputs = [one for one in used if not (is_own and self._name(one, f"{name}."))]
            said = _said(part, inputs, outputs, self.targets, depth + 1)
            while place in self.known and self.known[place] != said:
                place, is_own = f"{place}@1", False
                inputs = [*used]
                said = _said(part, inputs, outputs, self.targets, depth + 1)
            module = self._place(place)
            if place not in self.known:
                self.known[place] = said
                inner = _placeholders(module.graph, inputs)
                self._fill(module.graph, place, is_own, depth + 1, part, inner)
                made = [inner[one] for one in outputs]
                module.graph.output(made[0] if len(made) == 1 else tuple(made))
            call = graph.call_module(place.removeprefix(path and f"{path}."),
                                     tuple([self._read(graph, path, one, known) for one in inputs]))
            for number, one in enumerate(outputs):
                known[one] = call if len(outputs) == 1 else graph.call_function(operator.getitem, (call, number))
                known[one].meta["val"] = one.meta.get("val")
            call.meta.setdefault("val", [one.meta.get("val") for one in outputs])

    def _name(self, node: Node, prefix: str) -> str:
        """Return a name of an attribute that begins with a prefix, without it; empty if it has none."""
        found = [name for name in self.names.get(node, ()) if name.startswith(prefix)]
        return found[0].removeprefix(prefix) if found else ""

    def _read(self, graph: Graph, path: str, node: Node, known: dict[Node, Node]) -> Node:
        """Return the node of a value in a graph, at first use of an attribute the node that gets it."""
        if node not in known:
            target = self._name(node, path and f"{path}.")
            known[node] = graph.create_node("get_attr", target, name=target.replace(".", "_"))
            known[node].meta = {**node.meta}
        return known[node]

    def _place(self, path: str) -> Any:
        """Return the module at a path, made if it is missing."""
        module: Any = self.root
        for name in path.split(".") if path else ():
            if name not in module._modules:
                module.add_module(name, InterpreterModule())
            module = module._modules[name]
        return module


def _placeholders(graph: Graph, values: list[Node]) -> dict[Node, Node]:
    """Return the new inputs of a graph that stand for values of another one."""
    made = {value: graph.placeholder(value.name) for value in values}
    for value, node in made.items():
        node.meta = {**value.meta}
    return made


def _stack(node: Node) -> list[tuple[str, str]]:
    """Return the calls of modules that a node is part of, from the root's children inwards: keys and names."""
    return [(key, name) for key, (name, _) in node.meta.get("nn_module_stack", {}).items() if name]


def _said(nodes: list[Node], inputs: list[Node], outputs: list[Node], targets: dict[Node, str], depth: int
          ) -> tuple[Any, ...]:
    """Return the key that distinguishes graphs of calls of a module."""
    numbers = {node: f"%{number}" for number, node in enumerate((*inputs, *nodes))}

    def spelled(values: Any) -> str:
        return str(map_arg(values, lambda node: numbers.get(node) or targets[node]))

    return (len(inputs), [numbers[node] for node in outputs],
            *[(node.op, str(node.target), spelled(node.args), spelled(node.kwargs),
               [name for _, name in _stack(node)[depth:]]) for node in nodes])


__all__ = ["FlatArgsAdapter", "InterpreterModule", "UnflattenedModule", "unflatten"]
