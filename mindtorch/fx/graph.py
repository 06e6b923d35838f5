"""``Graph``: a function as a list of nodes in the order of execution, which prints itself as Python."""
from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from .._creation import conversion as _conversion
from ..nn.module import Module
from ..nn.parameter import Parameter
from ._codegen import (
    CodeGen as CodeGen, PythonCode as PythonCode, _BoxedCodeGen as _BoxedCodeGen, _Namespace as _Namespace,
    _PyTreeCodeGen as _PyTreeCodeGen, _PyTreeInfo as _PyTreeInfo, inplace_methods as inplace_methods,
    magic_methods as magic_methods, reflectable_magic_methods as reflectable_magic_methods, snake_case,
)
from ._names import short_name
from ._tabular import table
from .node import LEGAL_OPS, ROOT, Argument, Node, Target, map_arg, nodes_between

if TYPE_CHECKING:
    from .graph_module import GraphModule

__all__ = ["CodeGen", "Graph", "PythonCode"]
__dir__ = __all__.copy
Transformer = Callable[[list[str]], list[str]]
NO_DEFAULT = inspect.Signature.empty


class _node_list:
    """The nodes of a graph, in order; the graph may change while they are iterated."""

    def __init__(self, graph: Graph):
        self.graph = graph

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        return nodes_between(self.graph._root._next, self.graph._root)

    def __reversed__(self) -> Iterator[Node]:
        return nodes_between(self.graph._root._prev, self.graph._root, backwards=True)


class _InsertPoint:
    """The place for new nodes from now on; as a block, until the block ends."""

    def __init__(self, graph: Graph, new_insert: Callable[[Node], None]):
        self.graph, self.orig_insert, graph._insert = graph, graph._insert, new_insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        self.graph._insert = self.orig_insert


class Graph:
    """A function as nodes in the order of execution (``torch.fx.Graph``): placeholders first, one output last.

    ``owning_module`` has the modules, parameters and buffers that nodes name. ``lint`` checks the graph, and
    ``python_code`` prints it as the Python that a ``GraphModule`` runs.
    """

    def __init__(self, owning_module: GraphModule | None = None, tracer_cls: type | None = None,
                 tracer_extras: dict[str, Any] | None = None):
        self._root = Node(self, "", ROOT, "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self.owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()
        self._co_fields: dict[str, Any] = {}

    # -- reading -----------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> _node_list:
        """The nodes, in the order of execution."""
        return _node_list(self)

    def output_node(self) -> Node:
        """Return the last node, which must be the output (``torch.fx.Graph.output_node``)."""
        last = self._root._prev
        assert last.op == "output", f"the last node of the graph is no output, but {last.op or 'missing'}"
        return last

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """Return the nodes of this kind and, if it is given, this target, in order (``torch.fx.Graph.find_nodes``).

        Raises:
            AssertionError: for ``call_function`` without a target.
        """
        assert op != "call_function" or target is not None, "find_nodes(op='call_function') needs a target"
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def process_inputs(self, *args: Any) -> Any:
        """Convert the arguments of a call to the values of the placeholders (``torch.fx.Graph.process_inputs``)."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """Convert the value of the output node to the result of a call (``torch.fx.Graph.process_outputs``)."""
        return self._codegen.process_outputs(out)

    # -- adding nodes ------------------------------------------------------------------------------------------

    def create_node(self, op: str, target: Target, args: tuple[Argument, ...] | None = None,
                    kwargs: dict[str, Argument] | None = None, name: str | None = None,
                    type_expr: Any = None) -> Node:
        """Add a node at the insertion point, the end at first (``torch.fx.Graph.create_node``). Its name is ``name`` or
        that of the target, with a number if it is taken.
        """
        assert args is None or isinstance(args, tuple), f"args must be a tuple, got {type(args)}"
        assert kwargs is None or isinstance(kwargs, dict), f"kwargs must be a dict, got {type(kwargs)}"
        name = self._graph_namespace.create_name(self._target_to_str(target) if name is None else name, None)
        node = Node(self, name, op, target, args or (), kwargs or {}, type_expr)
        for hook in getattr(self.owning_module, "_create_node_hooks", ()):
            hook(node)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._len += 1
        return node

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = NO_DEFAULT) -> Node:
        """Add a parameter of the function (``torch.fx.Graph.placeholder``)."""
        args = () if default_value is NO_DEFAULT else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Add the reading of a parameter, buffer or module by its path (``torch.fx.Graph.get_attr``). A path that the
        owning module does not have is a UserWarning.
        """
        if self.owning_module is not None and not _has_state(self.owning_module, qualified_name):
            warnings.warn("Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! "
                          "Call GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to "
                          "add the necessary Parameter, or nn.Module.register_buffer to add the necessary buffer",
                          stacklevel=2)
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name: str, args: tuple[Argument, ...] | None = None,
                    kwargs: dict[str, Argument] | None = None, type_expr: Any = None) -> Node:
        """Add the call of a module by its path (``torch.fx.Graph.call_module``).

        Raises:
            AttributeError: if the owning module does not have it.
        """
        if self.owning_module is not None:
            self.owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args: tuple[Argument, ...] | None = None,
                    kwargs: dict[str, Argument] | None = None, type_expr: Any = None) -> Node:
        """Add the call of a method of ``args[0]`` (``torch.fx.Graph.call_method``)."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function: Callable[..., Any], args: tuple[Argument, ...] | None = None,
                      kwargs: dict[str, Argument] | None = None, type_expr: Any = None,
                      name: str | None = None) -> Node:
        """Add the call of a function (``torch.fx.Graph.call_function``)."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """Add the return of a value (``torch.fx.Graph.output``)."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """Add nodes before a node, or before all, from now on or in a block (``torch.fx.Graph.inserting_before``)."""
        if n is None:
            return self.inserting_after(self._root)
        assert n.graph is self, "Node to insert before is not in graph."
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """Add nodes after a node, or after all, from now on or in a block (``torch.fx.Graph.inserting_after``)."""
        if n is None:
            return self.inserting_before(self._root)
        assert n.graph is self, "Node to insert after is not in graph."
        return _InsertPoint(self, n.append)

    def _target_to_str(self, target: Target) -> str:
        name = target if isinstance(target, str) else short_name(target)
        magic = isinstance(target, str) and name.startswith("__") and name.endswith("__")
        return snake_case(name[2:-2] if magic else name)

    # -- copying -----------------------------------------------------------------------------------------------

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda node: node) -> Node:
        """Add a copy of a node of any graph; ``arg_transform`` maps the nodes in its arguments to those of this graph
        (``torch.fx.Graph.node_copy``).
        """
        args, kwargs = map_arg((node.args, node.kwargs), arg_transform)
        copied = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copied.meta = copy.copy(node.meta)
        return copied

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Add copies of a graph's nodes, except the output, whose value is returned; with ``return_output_node``, also
        the node. ``val_map`` maps nodes of ``g`` to copies: those it has are not copied, and those that are copied are
        added (``torch.fx.Graph.graph_copy``).
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], val_map.__getitem__)
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def __deepcopy__(self, memo: dict[Any, Any] | None = None) -> Graph:
        graph = Graph(tracer_cls=self._tracer_cls)
        copied = graph.graph_copy(self, memo if memo is not None else {}, return_output_node=True)
        graph._codegen = copy.deepcopy(self._codegen)
        if copied is not None:
            value, old = copied
            graph.output(value, old.type).meta = copy.copy(old.meta)
        return graph

    # -- removing ----------------------------------------------------------------------------------------------

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node that no other uses (``torch.fx.Graph.erase_node``).

        Raises:
            RuntimeError: if it has users, or belongs to another graph.
        """
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the "
                               f"graph: {to_erase.users}!")
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._update_args_kwargs(*map_arg((to_erase.args, to_erase.kwargs), lambda node: None))

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove the nodes without users and effects, and return True if there were any; ``is_impure_node`` decides
        which have effects (``torch.fx.Graph.eliminate_dead_code``). Graphs of modules that are read go through it, too.
        """
        self.lint()
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not (is_impure_node or Node.is_impure)(node):
                self.erase_node(node)
                changed = True
        read = {node.target for node in self.find_nodes(op="get_attr")}
        for name, child in self.owning_module.named_children() if self.owning_module is not None else ():
            if name in read and isinstance(graph := getattr(child, "graph", None), Graph):
                changed |= graph.eliminate_dead_code()
                child.recompile()
        return changed

    def _clear_nodes(self) -> None:
        for node in reversed(self.nodes):
            node.meta.clear()
            self.erase_node(node)

    # -- checking ----------------------------------------------------------------------------------------------

    def lint(self) -> None:
        """Check that nodes are used after they are defined, in their own graph, that names are unique, and that the
        owning module has what nodes name (``torch.fx.Graph.lint``).

        Raises:
            RuntimeError: naming the node that is wrong.
        """
        names: set[str] = set()
        defined: set[Node] = set()
        for node in self.nodes:
            if node.op not in LEGAL_OPS:
                raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for used in node._input_nodes:
                if used.graph is not self:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' does not belong to this Graph, but was "
                                       "used as an argument! If you are copying nodes from another graph, make sure to "
                                       f"use ``arg_transform`` on node_copy() to remap values\n{self}")
                if used not in defined:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' was used before it has been defined! "
                                       f"Please check that Nodes in the graph are topologically ordered\n{self}")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            defined.add(node)
            names.add(node.name)
        if self.owning_module is not None:
            for node in self.nodes:
                _check_target(node, self.owning_module)

    # -- code and text -----------------------------------------------------------------------------------------

    def set_codegen(self, codegen: CodeGen) -> None:
        """Set the object that prints the graph as Python (``torch.fx.Graph.set_codegen``)."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable[[Transformer | None], Transformer]) -> ExitStack:
        """Transform the lines of the generated code, from now on or in a block. ``make_transformer`` receives the
        transformer that it replaces, or None (``torch.fx.Graph.on_generate_code``).
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)
        block = ExitStack()
        block.callback(setattr, self._codegen, "_body_transformer", before)
        return block

    def python_code(self, root_module: str, *, verbose: bool = False, include_stride: bool = False,
                    include_device: bool = False, colored: bool = False, expanded_def: bool = False,
                    additional_meta: list[str] | None = None) -> PythonCode:
        """Return the graph as Python source and the globals that it needs; ``root_module`` is the name of the module in
        it (``torch.fx.Graph.python_code``).
        """
        namespace = _Namespace()
        shown = [(node, node._repr_fn) for node in self.nodes]
        for node, _ in shown:  # names that are no Python names, or those of globals, are changed in the code
            node._repr_fn = lambda node: namespace.create_name(node.name, node)
        try:
            return self._codegen._gen_python_code(self.nodes, root_module, namespace, verbose=verbose,
                                                  include_stride=include_stride, include_device=include_device,
                                                  colored=colored, expanded_def=expanded_def,
                                                  additional_meta=additional_meta)
        finally:
            for node, before in shown:
                node._repr_fn = before

    def __str__(self) -> str:
        placeholders: list[str] = []
        lines = [node.format_node(placeholders) for node in self.nodes]
        return "\n    ".join([f"graph({', '.join(placeholders)}):", *filter(None, lines)])

    def _repr_html_(self) -> str:
        return _conversion.draw(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": str(self)}

    def print_tabular(self) -> None:
        """Print the nodes as a table (``torch.fx.Graph.print_tabular``)."""
        print(table(("opcode", "name", "target", "args", "kwargs"),
                    [(node.op, node.name, node.target, node.args, node.kwargs) for node in self.nodes]))


def _has_state(module: Module, path: str) -> bool:
    """Return True if a module has a parameter, buffer or module of that path; warn if it lacks the module before it."""
    before, _, name = path.rpartition(".")
    try:
        owner = module.get_submodule(before)
    except AttributeError:
        warnings.warn(f"Failed to fetch module {before}!", stacklevel=4)
        return False
    return isinstance(getattr(owner, name, None), (Module, Parameter)) or name in owner._buffers


def _check_target(node: Node, module: Module) -> None:
    """Raise RuntimeError if a module lacks the attribute that a node names."""
    if node.op not in ("get_attr", "call_module"):
        return
    found: Any = module
    path = str(node.target).split(".")
    for at, name in enumerate(path):
        seen, found = ".".join(path[:at]), getattr(found, name, None)
        if found is None:
            raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {name} of {seen}")
        if node.op == "call_module" and not isinstance(found, Module):
            raise RuntimeError(f"Node {node} target {node.target} {name} of {seen} does not reference an nn.Module")
