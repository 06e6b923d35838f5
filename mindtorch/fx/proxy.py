"""``Proxy``: a value that is not there yet; what a program does with it becomes nodes of a graph."""
from __future__ import annotations

import copy
import dis
import enum
import operator
import sys
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from .._base.formats import layout, memory_format
from .._base.symbolic import SymBool, SymFloat, SymInt
from .._device import device
from .._dispatch.local import local
from .._dispatch.overloads import OpOverload
from .._dispatch.torch_function import in_full
from .._dtype import DType
from .._tensor import Tensor
from ..nn.parameter import Parameter
from . import traceback as fx_traceback
from ._codegen import magic_methods, reflectable_magic_methods
from ._names import IN_PYTHON
from .graph import Graph
from .node import Argument, Node, Target, map_aggregate, map_arg
from .operator_schemas import check_for_mutable_operation

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope", "ScopeContextManager", "TraceError",
           "TracerBase"]
__dir__ = __all__.copy
LIBRARY = str(Path(__file__).parents[1])
#: The values that nodes may have as arguments, besides nodes, None, ``...`` and containers.
base_types = (str, int, float, bool, complex, DType, Tensor, device, memory_format, layout, OpOverload, SymInt,
              SymFloat, SymBool)
#: What a node takes over from the node that an interpreter runs while it is recorded.
COPIED_META = ("nn_module_stack", "torch_fn", "source_fn_stack", "original_aten", "recompute", "ac_graph_id",
               "has_backward_hook", "from_node", "quantization_tag", "_numeric_debug_handle", "custom",
               "partitioner_tag", "site")


class TraceError(ValueError):
    """A program that depends on a value that is not there yet (``torch.fx.proxy.TraceError``)."""


class Scope:
    """The module that is being traced: its path and type (``torch.fx.proxy.Scope``)."""

    def __init__(self, module_path: str, module_type: Any):
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """A block in which a scope is another one (``torch.fx.proxy.ScopeContextManager``)."""

    def __init__(self, scope: Scope, current_scope: Scope):
        self._scope, self._before = scope, copy.copy(scope)
        vars(scope).update(vars(current_scope))

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *exc: object) -> None:
        vars(self._scope).update(vars(self._before))


class TracerBase:
    """A recorder of nodes (``torch.fx.proxy.TracerBase``). Subclasses change what a value, a condition or an iteration
    of a proxy means.
    """

    graph: Graph
    #: Whether nodes keep the stack of the program that recorded them.
    record_stack_traces = False
    _record_forward_stack_traces_only = False
    #: Whether an operator that writes its arguments is an error.
    check_mutable_operations = False
    #: Whether ``assert`` of a proxy is recorded.
    trace_asserts = False
    #: Whether buffers that a module reads are recorded, as parameters are.
    proxy_buffer_attributes = False
    traced_func_name = "forward"

    def __init__(self) -> None:
        self.scope = Scope("", None)
        self.module_stack: OrderedDict[str, tuple[str, Any]] = OrderedDict()
        self.node_name_to_scope: dict[str, tuple[str, Any]] = {}

    def create_node(self, kind: str, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Argument],
                    name: str | None = None, type_expr: Any = None) -> Node:
        """Add a node to the graph, with its metadata (``torch.fx.Tracer.create_node``).

        Raises:
            RuntimeError: if it writes an argument and ``check_mutable_operations`` is set.
        """
        if kind == "call_function" and self.check_mutable_operations:
            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if fx_traceback.has_preserved_node_meta():
            meta = fx_traceback.get_current_meta()
            if meta.get("stack_trace"):
                node.stack_trace = meta["stack_trace"]
            node.meta.update({key: copy.copy(meta[key]) for key in COPIED_META if key in meta})
            if local.task is not None and local.task.node is not None:
                node.meta["seq_nr"] = local.task.node._order
        elif self.module_stack:
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        if self.record_stack_traces and not node.stack_trace:
            frames = self._filter_traceback_frames(traceback.extract_stack())
            if frames:
                node.stack_trace = "".join(frames.format()).strip()
        return node

    def _filter_traceback_frames(self, frames: traceback.StackSummary) -> traceback.StackSummary:
        """Return the frames from the first ``forward`` on, without those of the library; or those of ``forward`` alone.
        """
        if self._record_forward_stack_traces_only:
            return traceback.StackSummary.from_list([frame for frame in frames if frame.name == "forward"])
        first = next((at for at, frame in enumerate(frames) if frame.name == "forward"), len(frames))
        return traceback.StackSummary.from_list([frame for frame in frames[first:]
                                                 if not frame.filename.startswith(LIBRARY)])

    def proxy(self, node: Node) -> Proxy:
        """Return the proxy of a node (``torch.fx.Tracer.proxy``)."""
        return Proxy(node, self)

    def create_proxy(self, kind: str, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any],
                     name: str | None = None, type_expr: Any = None,
                     proxy_factory_fn: Callable[[Node], Proxy] | None = None) -> Proxy:
        """Add a node for a call with any arguments, and return its proxy (``torch.fx.Tracer.create_proxy``)."""
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Argument:
        """Return a value as an argument of nodes: proxies as their nodes (``torch.fx.Tracer.create_arg``).

        Raises:
            NotImplementedError: for a value that a graph cannot hold.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(item) for item in a]
            return type(a)(*items) if hasattr(a, "_fields") else type(a)(items)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return {self._key(key): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, (slice, range)):
            return type(a)(*map(self.create_arg, (a.start, a.stop, a.step)))
        if is_dataclass(a) and not isinstance(a, type):
            values = {field.name: self.create_arg(getattr(a, field.name)) for field in fields(a)}
            return self.create_node("call_function", type(a), (), values)
        if a is None or a is ... or isinstance(a, (*base_types, enum.Enum)):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key(self, key: Any) -> Any:
        def refuse(node: Node) -> Any:
            raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}")

        return key if isinstance(key, str) else map_arg(self.create_arg(key), refuse)

    def to_bool(self, obj: Proxy) -> bool:
        """Return the truth of a proxy, which a condition needs (``torch.fx.Tracer.to_bool``).

        Raises:
            TraceError: always; subclasses may decide.
        """
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Iterate a proxy (``torch.fx.Tracer.iter``).

        Raises:
            TraceError: always; subclasses may know the items.
        """
        raise TraceError("Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or "
                         "as a *args or **kwargs function argument. See the torch.fx docs on pytorch.org for a more "
                         "detailed explanation of what types of control flow can be traced, and check out the Proxy "
                         "docstring for help troubleshooting Proxy iteration errors")

    def keys(self, obj: Proxy) -> Any:
        """Return the keys of a proxy, which ``**`` needs: a call of ``keys`` (``torch.fx.Tracer.keys``)."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """A tracer that adds to a graph (``torch.fx.proxy.GraphAppendingTracer``)."""

    def __init__(self, graph: Graph):
        super().__init__()
        self.graph = graph


def assert_fn(x: Any) -> None:
    """Raise AssertionError unless a value is true: the node of an ``assert``."""
    assert x, "Assertion failed"


def _instructions(frame: FrameType) -> tuple[list[dis.Instruction], int]:
    """Return the instructions of a frame, and the number of the one that runs."""
    instructions = list(dis.get_instructions(frame.f_code))
    return instructions, next(at for at, found in enumerate(instructions) if found.offset == frame.f_lasti)


class Proxy:
    """A value that is not there yet (``torch.fx.Proxy``). Functions, methods, attributes and Python's operators of it
    become nodes, and proxies of their results.
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None):
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __deepcopy__(self, memo: dict[Any, Any]) -> Proxy:
        copied = Proxy.__new__(Proxy)
        for name, value in self.__dict__.items():
            copied.__dict__[name] = copy.deepcopy(value, memo)
        return copied

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = sys._getframe(1)
        instructions, at = _instructions(frame)
        if instructions[at].opname == "UNPACK_SEQUENCE":  # ``a, b = proxy``
            return (self[i] for i in range(instructions[at].argval))  # type: ignore[index]  # ``__getitem__``: below
        return self.tracer.iter(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and _is_in_assert(sys._getframe(1)):
            self.tracer.create_proxy("call_function", assert_fn, (self,), {})
            return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """Return the keys, as the tracer knows them."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want this call to be "
                           "recorded, please call torch.fx.wrap('len') at module scope")

    @classmethod
    def __torch_function__(cls, orig_method: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        """Record the call of a function of the library."""
        kwargs = kwargs or {}
        tracers: dict[TracerBase, None] = {}

        def find(leaf: Any) -> Any:
            if isinstance(leaf, cls):
                tracers[leaf.tracer] = None
            return leaf

        map_aggregate((args, kwargs), find)
        if len(tracers) > 1:
            raise RuntimeError(f"Found multiple different tracers {list(tracers)} while trying to trace operations "
                               f"{orig_method}")
        tracer = next(iter(tracers))
        name = orig_method.__name__
        if name == "__get__" or getattr(orig_method, "__qualname__", "") == f"Tensor.{name}":
            return tracer.create_proxy("call_method", name, args, kwargs)
        if name in IN_PYTHON and hasattr(orig_method, "packet"):
            args, found = in_full(orig_method, args, kwargs)
            kwargs = {key: found[key] for key in IN_PYTHON[name]}
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


def _is_in_assert(frame: FrameType) -> bool:
    """Return True if a frame evaluates the condition of an ``assert``: a jump over the raising of AssertionError."""
    instructions, at = _instructions(frame)
    jump = next((found for found in instructions[at:at + 3] if found.opname == "POP_JUMP_IF_TRUE"), None)
    if jump is None:
        return False
    over = [found for found in instructions if jump.offset < found.offset < jump.argval]
    return any("ASSERTION" in found.opname or found.argval is AssertionError or found.argrepr == "AssertionError"
               for found in over) and any(found.opname == "RAISE_VARARGS" for found in over)


class Attribute(Proxy):
    """An attribute of a proxy: called, it is a method; used otherwise, a node that reads it
    (``torch.fx.proxy.Attribute``).
    """

    def __init__(self, root: Proxy, attr: str):
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute, which is made when it is first used."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter whose sizes are known while a program is traced (``torch.fx.proxy.ParameterProxy``)."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Parameter):
        super().__init__(node, tracer)
        assert isinstance(param, Parameter), f"Expected Parameter, got {type(param)}"
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"


def _known(name: str, is_property: bool) -> Any:
    """Return an attribute of ``ParameterProxy`` that is read from the parameter."""
    if is_property:
        return property(lambda self: getattr(self.param, name))
    return lambda self: getattr(self.param, name)()


for _name in ("shape", "ndim"):
    setattr(ParameterProxy, _name, _known(_name, True))
for _name in ("size", "dim", "numel", "nelement"):
    setattr(ParameterProxy, _name, _known(_name, False))


def _magic(name: str, reflected: bool) -> Callable[..., Any]:
    """Return the method of a Python operator; ``reflected``, the one for a proxy on its right side."""
    function = getattr(operator, name)

    def method(*args: Any) -> Proxy:
        return args[0].tracer.create_proxy("call_function", function, args[::-1] if reflected else args, {})

    method.__name__ = f"__{'r' * reflected}{name.strip('_')}__"
    return method


for _names, _reflected in ((magic_methods, False), (reflectable_magic_methods, True)):
    for _name in _names:
        if _name != "div":  # an operator of Python 2, which graphs may still print
            _method = _magic(_name, _reflected)
            setattr(Proxy, _method.__name__, _method)
