"""The graph that a frame becomes, with its inputs, guards and side effects (``torch._dynamo.output_graph``)."""
from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain, count
from typing import Any

from .._base.interrupts import contextmanager
from .._C import _set_grad_enabled
from .._compile.breaks import is_library
from .._dispatch.local import local
from .._guards import Source
from .._subclasses.fake_errors import BEYOND_FAKE_TENSORS
from .._tensor import Tensor
from ..fx import Graph, GraphModule, Node
from ..fx.node import map_arg
from ..nn.module import Module
from . import fakes
from .exc import BackendCompilerFailed, Break
from .guards import Guards, Namespace
from .side_effects import SideEffects
from .sizes import History, SizeInput, Sizes
from .variables.base import Translator, Variable
from .variables.containers import DictVariable, ListVariable, TupleVariable
from .variables.functions import CellVariable
from .variables.tensor import TensorVariable

#: Where the modules are whose class names the source of a node, unless they are containers.
NN = f"{Module.__module__.rpartition('.')[0]}.modules"


class Scope:
    """The graph of a function: its inputs for values from outside, by their nodes, and the graphs of functions in it.
    """

    def __init__(self, graph: Graph, sources: tuple[Any, ...] = ()) -> None:
        self.graph, self.sources = graph, sources  #: the calls around it, as ``source_fn_stack`` has them
        self.lifted: dict[Node, Node] = {}
        self.modules: dict[str, GraphModule] = {}
        self.versions: dict[Node, int] = {}  #: of tensors, before the first call that takes them

    def input(self, name: str, example: Any) -> Node:
        """Add an input behind those that there are."""
        names = {node.target for node in self.graph.nodes if node.op == "placeholder"}
        first = next((node for node in self.graph.nodes if node.op != "placeholder"), self.graph._root)
        name = re.sub(r"\W", "_", name)
        free = next(one for one in chain([name], (f"{name}_{number}" for number in count(1))) if one not in names)
        with self.graph.inserting_before(first):
            node = self.graph.placeholder(free)
        node.meta["example_value"] = example
        if isinstance(example, Tensor):
            self.versions[node] = example._version
        return node


class OutputGraph:
    """The results of interpreting a frame so far."""

    def __init__(self, history: History) -> None:
        self.graph = Graph()
        self.scopes = [Scope(self.graph)]  #: of the functions that are captured as graphs, the outermost first
        self.sizes = Sizes(self, history)
        self.space = Namespace()
        self.guards = Guards(self.space)
        self.side_effects = SideEffects()
        self.known: dict[int, Variable] = {}  #: objects with an identity, by id
        self.kept: list[Any] = []
        self.inputs: list[TensorVariable | SizeInput] = []
        self.attributes: dict[str, Tensor] = {}
        self.contexts: list[Any] = []  #: modes that are entered
        self.mode = fakes.Mode()
        self.grad_mode = local.grad_enabled
        self.compiled: list[GraphModule] = []
        self._last_input: Node | None = None
        self._inputs_of: dict[int, TensorVariable] = {}  #: by id of the example
        self.line: Any = None  #: where the program is: a function that returns the stack of frames
        self.module_stack: dict[str, tuple[str, type]] = {}  #: the modules whose calls are interpreted
        self.module_calls: Counter[int] = Counter()
        self.bodies: Counter[str] = Counter()  #: how many graphs of functions there are, by label

    # -- values ----------------------------------------------------------------------------------------------------

    def object(self, value: Any) -> str:
        """Return the name of an object in generated code."""
        return self.space.name(value)

    def remember(self, value: Any, variable: Variable) -> Variable:
        """Note the variable of an object with an identity."""
        self.known[id(value)] = variable
        self.kept.append(value)
        return variable

    def cell(self, real: Any, source: Source) -> CellVariable:
        """Return the variable of a cell that exists."""
        found = self.known.get(id(real))
        if isinstance(found, CellVariable):
            return found
        made = CellVariable(None, real, source)
        self.remember(real, made)
        return made

    def input(self, value: Tensor, source: Source) -> Variable:
        """Return the variable of a tensor that the call reads."""
        dynamic = self.sizes.history.dimensions(source, value)
        example = self.mode.input(value, source.name, dynamic)
        self.guards.tensor(source, value, dynamic)
        self.sizes.note(source, value, example, dynamic)
        found = TensorVariable(None, example, source, value)
        found.output = self
        self._inputs_of[id(example)] = found
        return self.remember(value, found)

    def placeholder(self, variable: TensorVariable) -> Node:
        """Make the input of the graph for a tensor, at its first use."""
        assert variable.source is not None
        node = self._placeholder(variable.source.placeholder, variable)
        node.meta["example_value"] = variable.example
        node.meta["source"] = variable.source
        return node

    def size_placeholder(self, size: SizeInput) -> Node:
        """Make the input of the graph for a size, at its first use."""
        node = self._placeholder(str(size.symbol), size)
        node.meta["example_value"] = self.mode.shape_env.create_symintnode(size.symbol, hint=size.real)
        node.meta["source"] = size.source
        return node

    def _placeholder(self, name: str, variable: Any) -> Node:
        graph = self.scopes[0].graph
        first = next(iter(graph.nodes), None)
        if self._last_input is not None:
            place: Any = graph.inserting_after(self._last_input)
        else:
            place = graph.inserting_before(first) if first is not None else graph.inserting_before()
        with place:
            node = graph.placeholder(name)
        self.inputs.append(variable)
        self._last_input = node
        return node

    def attribute(self, value: Tensor) -> Variable:
        """Return the variable of a tensor that is an attribute of the module, not an input."""
        known = self.known.get(id(value))
        if known is not None:
            return known
        name = f"_tensor_constant{len(self.attributes)}"
        self.attributes[name] = value
        node = self.scopes[0].graph.create_node("get_attr", name)
        node.meta["example_value"] = example = self.mode.input(value)
        return self.remember(value, TensorVariable(node, example))

    # -- nodes -----------------------------------------------------------------------------------------------------

    def node(self, op: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], example: Any) -> Node:
        """Add a node to the graph."""
        node = self.graph.create_node(op, target, map_arg(args, self.own), map_arg(kwargs, self.own))
        node.meta["example_value"] = example
        frames = [] if self.line is None else self.line()
        node.meta["stack_trace"] = "".join(f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}\n'
                                           f"    {frame.line}\n" for frame in frames)
        outside = [frame for frame in frames if not is_library(frame.filename)]
        if outside:
            node.meta["site"] = outside[-1].filename, outside[-1].lineno, outside[-1].name
        source = target
        if self.module_stack:
            node.meta["nn_module_stack"] = self.module_stack.copy()
            innermost = [*self.module_stack.values()][-1][1]
            if innermost.__module__.startswith(NN) and not innermost.__module__.startswith(f"{NN}.container"):
                source = innermost
        if op.startswith("call"):
            node.meta["source_fn_stack"] = [*self.scopes[-1].sources, (node.name, source)]
        return node

    def own(self, node: Node, depth: int = -1) -> Node:
        """Return a node as the function that is captured has it: a value from outside is an input of its graph.

        Raises:
            Break: if the node is in the graph of a function that has ended.
        """
        scope = self.scopes[depth]
        if node.graph is scope.graph:
            return node
        if scope is self.scopes[0]:
            raise Break(f"{node} is used outside of the function whose graph computes it", skip=True)
        if node not in scope.lifted:
            self.own(node, depth - 1)
            scope.lifted[node] = made = scope.input(node.name, node.meta["example_value"])
            if node in scope.versions:
                scope.versions[made] = scope.versions[node]
        return scope.lifted[node]

    def _note_version(self, node: Node) -> Node:
        """Note the version of a tensor before a call takes it."""
        example = node.meta["example_value"]
        if isinstance(example, Tensor):
            self.scopes[-1].versions.setdefault(node, example._version)
        return node

    def body_name(self, label: str) -> str:
        """Return a new name for the graph of a function."""
        self.bodies[label] += 1
        return f"{label}_{self.bodies[label] - 1}"

    @contextmanager
    def scope(self, *sources: Any) -> Iterator[Scope]:
        """Write the nodes of this block to a graph of their own, as parts of the calls of these operators."""
        named = [(operator.name(), operator) for operator in sources]
        scope, computed = Scope(Graph(), (*self.scopes[-1].sources, *named)), dict(self.sizes.computed)
        self.scopes.append(scope)
        self.graph = scope.graph
        try:
            yield scope
        finally:
            self.scopes.pop()
            self.graph, self.sizes.computed = self.scopes[-1].graph, computed

    @contextmanager
    def inside(self, module: Module, source: Source | None) -> Iterator[None]:
        """Describe the nodes of a module's call by the module."""
        key, number = str(id(module)), self.module_calls[id(module)]
        key += f"@{number}" if number else ""
        self.module_calls[id(module)] += 1
        self.module_stack[key] = ("" if source is None else source.path, type(module))
        try:
            yield
        finally:
            del self.module_stack[key]

    def call(self, tx: Translator, op: str, target: Any, args: list[Variable],
             kwargs: dict[str, Variable]) -> Variable:
        """Add a call to the graph, and return what it makes."""
        given = tuple(arg.argument() for arg in args)
        named = {name: arg.argument() for name, arg in kwargs.items()}
        function: Callable[..., Any] = _method(target) if op == "call_method" else target
        if len(self.scopes) > 1:
            map_arg((given, named), self._note_version)
        result = self.mode.run(function, map_arg(given, _example), map_arg(named, _example))
        if not fakes.has_tensors(result):
            if result is None or not isinstance(result, (tuple, list)):
                return self._plain(tx, op, target, given, named, result)
            return tx.made(result)
        return self._wrap(tx, self.node(op, target, given, named, result), result)

    def item(self, tx: Translator, tensor: TensorVariable) -> Variable:
        """Return the number in a tensor of one element, as a symbol that the graph computes."""
        self.mode.start_symbols()
        found = self.mode.run(Tensor.item, (tensor.example,), {})
        symbolic: Any = getattr(found, "node", None)  # None for a number that is known
        if symbolic is not None and symbolic.expr not in self.sizes.computed:
            self.sizes.computed[symbolic.expr] = self.node("call_method", "item", (tensor.argument(),), {}, found)
        return tx.made(found)

    def _plain(self, tx: Translator, op: str, target: Any, args: Any, kwargs: Any, result: Any) -> Variable:
        if result is None:
            self.node(op, target, args, kwargs, None)
        return tx.made(result)

    def _wrap(self, tx: Translator, node: Node, result: Any) -> Variable:
        if isinstance(result, Tensor):
            made = TensorVariable(node, result)
            self.sizes.note_result(node, result)
            made.returned = self._inputs_of.get(id(result))
            return made
        if isinstance(result, (tuple, list)):
            items = []
            for number, item in enumerate(result):
                if fakes.has_tensors(item):
                    one = self.node("call_function", operator.getitem, (node, number), {}, item)
                    items.append(self._wrap(tx, one, item))
                else:
                    items.append(tx.made(item))
            if isinstance(result, list):
                return ListVariable(items)
            return TupleVariable(items, kind=type(result) if hasattr(type(result), "_fields") else tuple)
        if type(result) is dict:
            return DictVariable([(tx.made(key), self._wrap(
                tx, self.node("call_function", operator.getitem, (node, key), {}, item), item)
                if fakes.has_tensors(item) else tx.made(item)) for key, item in result.items()])
        raise Break(f"a call in the graph returns a {type(result).__name__}")

    # -- the end ---------------------------------------------------------------------------------------------------

    def finish(self, outputs: list[Any]) -> GraphModule | None:
        """Return the module of the graph with these outputs, or None if it does nothing."""
        for context in reversed(self.contexts):
            context.suspend(self)
        nodes = [variable.argument() for variable in outputs]
        self.graph.output(map_arg(tuple(nodes), self.own))
        self._drop_unused()
        self._drop_switches()
        if not any(node.op.startswith("call") for node in self.graph.nodes) and not outputs:
            return None
        if any(node.target is _set_grad_enabled for node in self.graph.nodes):
            for one in self.inputs:
                if isinstance(one, TensorVariable) and one.source is not None and one.real.requires_grad:
                    self.guards.base(one.source, one.real)
        module = GraphModule({**self.attributes, **self.scopes[0].modules}, self.graph)
        self.compiled.append(module)
        return module

    def _drop_switches(self) -> None:
        """Drop switches of grad mode behind which nothing runs before the next, or that change nothing."""
        now, last = self.grad_mode, None
        for node in [*self.graph.nodes]:
            if node.op == "output" or (node.op.startswith("call") and node.target is not _set_grad_enabled):
                if last is not None and last.args[0] is now:
                    self.graph.erase_node(last)
                now, last = (now if last is None else bool(last.args[0])), None
            elif node.target is _set_grad_enabled:
                if last is not None:
                    self.graph.erase_node(last)
                last = node

    def _drop_unused(self) -> None:
        for node in reversed([*self.graph.nodes]):
            pure = node.op == "get_attr" or node.target is operator.getitem
            if not node.users and pure:
                self.graph.erase_node(node)
        for node in [*self.graph.nodes]:
            if node.op == "placeholder" and not node.users:
                self.graph.erase_node(node)
                self.inputs = [variable for variable in self.inputs if variable._node is not node]

    def forget(self) -> None:
        """Release the tensors of the call: they are freed with it, not when the garbage is collected."""
        self.known, self.kept, self.inputs, self.contexts, self.line = {}, [], [], [], None
        self._inputs_of = {}
        self.guards.forget()

    def call_backend(self, backend: Any, module: GraphModule) -> Any:
        """Return the function that a backend makes of the graph.

        Raises:
            BackendCompilerFailed: if the backend raises.
            Break: if the graph is beyond what fake tensors can stand for.
        """
        examples = [variable.real for variable in self.inputs]
        before, local.grad_enabled = local.grad_enabled, self.grad_mode
        try:
            made = backend(module, examples)
        except BEYOND_FAKE_TENSORS as error:
            raise Break(f"the backend cannot trace the graph: {error}", skip=True) from error
        except Exception as error:
            raise BackendCompilerFailed(backend, error) from error
        finally:
            local.grad_enabled = before
        if not callable(made):
            raise BackendCompilerFailed(backend, AssertionError("compiler_fn did not return callable"))
        return made


def _example(node: Node) -> Any:
    return node.meta["example_value"]


def _method(name: str) -> Callable[..., Any]:
    def call(owner: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(owner, name)(*args, **kwargs)

    return call
