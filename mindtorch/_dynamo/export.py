"""A function as one graph with the function's signature (``torch._dynamo.export``)."""
from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .._dispatch.python import enable_python_dispatcher
from .._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from .._tensor import Tensor
from .._transforms.pytree import tree_flatten
from ..fx import Graph, GraphModule, Interpreter, Node, traceback
from ..fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from ..fx.experimental.proxy_tensor import make_fx
from ..nn.module import Module
from ..nn.parameter import Parameter
from .convert_frame import Compiler
from .eval_frame import Optimized, OptimizedModule
from .exc import UserError

#: Constants that a graph may return.
CONSTANTS = (int, float, complex, str, bool, type(None))


class ExportResult(NamedTuple):
    """The graph, and the conditions for which it holds, in words (``torch._dynamo.eval_frame.ExportResult``)."""

    graph_module: GraphModule
    guards: list[str]


def export(f: Callable[..., Any], *extra_args: Any, aten_graph: bool = False, pre_dispatch: bool = False,
           decomposition_table: Mapping[Any, Callable[..., Any]] | None = None, tracing_mode: str = "symbolic",
           assume_static_by_default: bool = False, dynamic_shapes: Any = None, **extra_kwargs: Any) -> Any:
    """Return a function that captures ``f`` for its arguments and returns the graph and its guards
    (``torch._dynamo.export``). The graph's module takes the arguments of ``f``, and returns its results; parameters
    and other tensors that are no arguments are its attributes.

    With ``aten_graph`` the nodes are ATen operators; of these, ``decomposition_table`` decomposes some, and
    ``pre_dispatch`` keeps switches of grad mode. Sizes are symbols with ``tracing_mode="symbolic"``, unless
    ``assume_static_by_default``: then only sizes that ``mark_dynamic`` marks.

    Raises:
        AssertionError: for a decomposition table or ``pre_dispatch`` without ``aten_graph``.
        Unsupported: when called, at a graph break.
        UserError: for ``dynamic_shapes``, which ``torch.export.export`` takes; when called, if a result is neither
            computed nor an argument nor a constant.
    """
    assert aten_graph or decomposition_table is None, (
        "Specifying a decomposition_table table or tracing mode is illegal without setting aten_graph=True")
    assert aten_graph or not pre_dispatch, "pre_dispatch=True can only be used when aten_graph=True"
    if dynamic_shapes is not None:
        raise UserError("torch._dynamo.export takes no dynamic_shapes: all sizes are symbols. Mark sizes by "
                        "torch._dynamo.mark_dynamic and pass assume_static_by_default=True, or call "
                        "torch.export.export(module, args, dynamic_shapes=...)")
    function = f._orig_mod if isinstance(f, OptimizedModule) else getattr(f, "_torchdynamo_orig_callable", f)
    dynamic = None if assume_static_by_default or tracing_mode != "symbolic" else True

    def inner(*args: Any, **kwargs: Any) -> ExportResult:
        capture = _Capture(function, args, kwargs, dynamic)
        graph = capture.lifted()
        if aten_graph:
            graph = capture.traced(graph, decomposition_table, pre_dispatch)
        return ExportResult(capture.with_signature(graph), capture.guards)

    if not extra_args and not extra_kwargs:
        return inner
    warnings.warn("export(f, *args, **kwargs) is deprecated, use export(f)(*args, **kwargs) instead.  If you don't "
                  "migrate, we may break your export call in the future if your user defined kwargs conflict with "
                  "future kwargs added to export(f).", FutureWarning, stacklevel=2)
    return inner(*extra_args, **extra_kwargs)


class _Capture:
    """One call, captured as a graph: what went into the graph, and what the call returned."""

    def __init__(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic: bool | None) -> None:
        self.signature = inspect.signature(function.forward if isinstance(function, Module) else function)
        self.args, self.kwargs = args, kwargs
        self.flat, self.in_spec = tree_flatten((args, kwargs))
        self.module: GraphModule | None = None
        self.inputs: list[Any] = []
        self.outputs: tuple[Any, ...] = ()
        compiler = Compiler(self._backend, fullgraph=True, dynamic=dynamic)
        self.results, self.out_spec = tree_flatten(Optimized(function, compiler)(*args, **kwargs))
        self.guards = [guard for entry in compiler.entries for guard in entry.guards]

    def _backend(self, module: GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        """Keep the graph, and return a function that runs it on its fake examples: the call has no effects."""
        self.module, self.inputs = module, inputs

        def run(*_: Any) -> Any:
            examples = [node.meta["example_value"] for node in module.graph.find_nodes(op="placeholder")]
            with self._mode(examples):
                self.outputs = module(*examples)
            return self.outputs

        return run

    @staticmethod
    def _mode(examples: list[Any]) -> FakeTensorMode:
        mode: FakeTensorMode = next((example.fake_mode for example in examples if isinstance(example, FakeTensor)),
                                    FakeTensorMode())
        mode.allow_non_fake_inputs = True  # the module's attributes
        return mode

    def lifted(self) -> GraphModule:
        """Return the graph with the arguments as its only inputs: other tensors are attributes."""
        root, graph = Module(), Graph()
        known: dict[int, Node] = {}  #: by tensor
        for number, value in enumerate(self.flat):
            known.setdefault(id(value), graph.placeholder(f"arg{number}"))
        copies: dict[Node, Any] = {}
        if self.module is not None:
            nodes = [*self.module.graph.nodes]
            placeholders = [node for node in nodes if node.op == "placeholder"]
            for node, value in zip(placeholders, self.inputs, strict=True):
                if isinstance(value, Tensor):
                    copies[node] = self._input(node, value, known, root, graph)
            sources = {node.meta["source"].name: node for node in copies}
            for node in placeholders:  # sizes are read from the tensors
                if node not in copies:
                    owner, _, dim = node.meta["source"].name.rpartition(".shape")
                    copies[node] = graph.call_method("size", (copies[sources[owner]], int(dim[1:-1])))
                    copies[node].meta = {"example_value": node.meta["example_value"]}
            for name, tensor in [*self.module.named_parameters(), *self.module.named_buffers()]:
                _set(root, name, tensor)
            for node in nodes[len(placeholders):-1]:
                copies[node] = graph.node_copy(node, copies.__getitem__)
            for value, node in zip(self.outputs, nodes[-1].args[0], strict=True):
                known.setdefault(id(value), copies[node])
        graph.output([self._result(value, known) for value in self.results])
        return GraphModule(root, graph)

    def _input(self, node: Node, value: Tensor, known: dict[int, Node], root: Module, graph: Graph) -> Node:
        """Return the argument, or else the attribute, that an input of the captured graph is."""
        found = known.get(id(value))
        if found is None:
            name = re.sub(r"\W", "_", node.meta["source"].path)
            _set(root, name, value)
            found = known[id(value)] = graph.create_node("get_attr", name, name=name.lower())
            found.meta["example_value"] = node.meta["example_value"]
        else:
            found._rename(node.name)
            found.meta["example_value"] = found.meta["val"] = node.meta["example_value"]
        return found

    @staticmethod
    def _result(value: Any, known: dict[int, Node]) -> Any:
        if id(value) in known and not isinstance(value, CONSTANTS):
            return known[id(value)]
        if isinstance(value, CONSTANTS):
            return value
        raise UserError(f"It looks like one of the outputs with type `{type(value)}` is not supported or pytree-"
                        "flattenable: exported graphs return values that they compute, arguments and constants.")

    def traced(self, module: GraphModule, table: Any, pre_dispatch: bool) -> GraphModule:
        """Return the graph of the ATen operators of a graph; its nodes keep the descriptions of their origins."""
        placeholders = module.graph.find_nodes(op="placeholder")
        examples = [node.meta.get("example_value", value) for node, value in zip(placeholders, self.flat, strict=True)]
        mode = self._mode(examples)
        examples = [mode.from_tensor(value) if type(value) in (Tensor, Parameter) else value for value in examples]

        def run(*args: Any) -> Any:
            with traceback.preserve_node_meta():
                return Interpreter(module).run(*args)

        with enable_python_dispatcher(), mode:
            return make_fx(run, table, pre_dispatch=pre_dispatch, _allow_non_fake_inputs=True)(*examples)

    def with_signature(self, module: GraphModule) -> GraphModule:
        """Give a graph of flat arguments the parameters of the function."""
        parameters = [*self.signature.parameters.values()]
        named = [parameter.name for parameter in parameters
                 if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)]
        rest = next((parameter.name for parameter in parameters if parameter.kind is parameter.VAR_POSITIONAL), "args")
        count = len(self.args)
        names = [*named[:count], *[f"{rest}_{i}" for i in range(count - len(named))], *self.kwargs]
        module.graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(names, self.in_spec, self.out_spec)))
        module.recompile()
        return module


def _set(root: Module, name: str, tensor: Tensor) -> None:
    """Give a module a tensor as its attribute."""
    if isinstance(tensor, Parameter):
        root.register_parameter(name, tensor)
    else:
        root.register_buffer(name, tensor)
