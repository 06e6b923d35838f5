"""``make_fx``: the graph of the ATen operators that a function calls (``torch.fx.experimental.proxy_tensor``).

The function runs on its arguments, real or fake. ``ProxyTorchDispatchMode`` receives every operator below autograd,
runs it, and writes a node for it. Each tensor is tracked with the proxy of the node that made it, so that the arguments
of later nodes are known; a tensor that is not tracked is a constant of the graph.
"""
from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from ..._base.interrupts import contextmanager
from ..._base.size import Size
from ..._C import _set_grad_enabled
from ..._dispatch.dispatcher import switched
from ..._dispatch.local import local
from ..._dispatch.overloads import OpOverload, ops
from ..._dispatch.python import enable_python_dispatcher
from ..._guards import ConstantSource
from ..._subclasses.fake_tensor import FakeTensor, FakeTensorMode, is_fake, unset_fake_temporarily
from ..._tensor import Tensor
from ..._transforms.pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from ...nn.module import Module
from ...nn.parameter import Parameter
from ...overrides import TorchFunctionMode
from ...utils._python_dispatch import TorchDispatchMode
from ...utils.weak import WeakTensorKeyDictionary
from .._symbolic_trace import PH, Tracer
from ..graph import Graph
from ..graph_module import GraphModule
from ..interpreter import Interpreter
from ..node import Node
from ..proxy import Proxy
from .size_nodes import SizeNodes

#: A constant of at most so many elements is computed with, so that its ``item()`` is known.
CONSTANT_NUMEL_LIMIT = 1
#: Operators whose result depends on values.
DATA_DEPENDENT = frozenset({"_local_scalar_dense", "equal", "is_nonzero", "allclose", "item"})
NO_DEFAULT: Any = object()


@dataclass
class _ProxyTensor:
    """A tensor's proxy, and its value if that is constant."""

    proxy: Proxy
    constant: Tensor | None


class PythonKeyTracer(Tracer):
    """The tracer behind ``make_fx``: it writes nodes, and knows the proxies of tensors."""

    def __init__(self) -> None:
        super().__init__(autowrap_modules=())
        self.tensor_tracker: Any = WeakTensorKeyDictionary()
        self.sizes = SizeNodes(self)
        self.torch_fn: tuple[str, str] | None = None  #: the function of the library that runs, with the call's number

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...],
                    kwargs: dict[str, Any]) -> Any:
        """Run a module's forward: its operators are recorded, not its call."""
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """Return a module's attribute as it is."""
        return attr_val

    def create_arg(self, a: Any) -> Any:
        """Return a node's argument; a parameter becomes an attribute of the graph's module."""
        if isinstance(a, Parameter):
            for name, parameter in self.root.named_parameters():
                if a is parameter:
                    return self.create_node("get_attr", name, (), {})
            name = get_fresh_qualname(self.root, "_param_constant")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        if type(a).__module__ == "torch.return_types":
            a = tuple(a)
        if is_sym_node(a):
            constant = a.node.constant
            return a if constant is None else constant
        return super().create_arg(a)

    def create_node(self, kind: str, target: Any, args: Any, kwargs: Any, name: str | None = None,
                    type_expr: Any = None) -> Node:
        """Write a node; that of a constant describes the tensor."""
        node: Node = super().create_node(kind, target, args, kwargs, name, type_expr)
        if kind == "get_attr" and isinstance(attribute := _attribute(self.root, target), Tensor):
            with disable_proxy_modes_tracing():
                node.meta["val"] = extract_val(attribute)
        if kind == "call_function" and self.torch_fn is not None:
            node.meta.setdefault("torch_fn", self.torch_fn)
        return node

    def unwrap_proxy(self, e: Any) -> Any:
        """Return the proxy of a tensor that is tracked; anything else as it is."""
        return get_proxy_slot(e, self, e, lambda tracked: tracked.proxy) if isinstance(e, Tensor) else (
            get_proxy_slot(e, self, e) if is_sym_node(e) else e)


class TorchFunctionMetadataMode(TorchFunctionMode):
    """Notes for a tracer which function of the library the program calls (``TorchFunctionMetadataMode``)."""

    def __init__(self, tracer: PythonKeyTracer) -> None:
        self.tracer = tracer
        self.calls: Counter[Any] = Counter()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Note the function, and run it."""
        self.calls[func] += 1
        self.tracer.torch_fn = f"{func.__name__}_{self.calls[func]}", f"{type(func).__name__}.{func.__name__}"
        return func(*args, **(kwargs or {}))


def _attribute(root: Any, path: str) -> Any:
    return functools.reduce(getattr, path.split("."), root)


def get_fresh_qualname(root: Any, prefix: str) -> str:
    """Return the first name of a prefix and a number that an object does not have."""
    number = 0
    while hasattr(root, f"{prefix}{number}"):
        number += 1
    return f"{prefix}{number}"


def is_sym_node(value: Any) -> bool:
    """Return True for a ``SymInt``, ``SymFloat`` or ``SymBool`` (``is_sym_node``)."""
    return type(value).__name__ in ("SymInt", "SymFloat", "SymBool")


# -- proxies of tensors ----------------------------------------------------------------------------------------------

def set_proxy_slot(obj: Any, tracer: Any, proxy: Any) -> None:
    """Track a tensor, or a symbolic number, with its proxy."""
    if isinstance(obj, Tensor):
        tracer.tensor_tracker[obj] = proxy
    else:
        tracer.sizes.track(obj, proxy)


def get_proxy_slot(obj: Any, tracer: Any, default: Any = NO_DEFAULT,
                   transform: Callable[[Any], Any] = lambda tracked: tracked) -> Any:
    """Return the proxy of an object.

    Raises:
        RuntimeError: if it is not tracked, and there is no ``default``.
    """
    if isinstance(obj, Tensor):
        value = tracer.tensor_tracker.get(obj) or _of_alias(obj, tracer)
    else:
        value = tracer.sizes.find(obj)
    if value is None:
        if default is NO_DEFAULT:
            raise RuntimeError(f"{obj} ({type(obj)}, {id(obj)})is not tracked with proxy for {tracer}")
        return default
    return transform(value)


def _of_alias(tensor: Any, tracer: Any) -> _ProxyTensor | None:
    """Return the proxy of another tensor of equal memory and layout, such as a transform's own leaf."""
    if tensor._storage is None:
        return None
    layout = (tensor.shape, tensor._strides(), tensor._offset, tensor._dtype)
    return next((tracer.tensor_tracker[alias] for alias in tensor._storage.aliases()
                 if alias in tracer.tensor_tracker
                 and (alias.shape, alias._strides(), alias._offset, alias._dtype) == layout), None)


def has_proxy_slot(obj: Any, tracer: Any) -> bool:
    """Return True if an object is tracked."""
    return get_proxy_slot(obj, tracer, None) is not None


def track_tensor(tensor: Tensor, proxy: Proxy, *, constant: Tensor | None, tracer: Any) -> None:
    """Track a tensor with its proxy; its sizes, if they are symbolic, with nodes that are made when they are used."""
    set_proxy_slot(tensor, tracer, _ProxyTensor(proxy, constant))
    tracer.sizes.bind(tensor, proxy)


def track_tensor_tree(inner_res: Any, proxy_res: Any, *, constant: Any, tracer: Any) -> Any:
    """Track the tensors of a nested value with the proxies in the same structure, and return the value."""
    if isinstance(inner_res, Tensor):
        track_tensor(inner_res, proxy_res, constant=constant, tracer=tracer)
        set_meta(proxy_res, inner_res)
    elif is_sym_node(inner_res):
        set_meta(proxy_res, inner_res)
        set_proxy_slot(inner_res, tracer, proxy_res)
    elif isinstance(inner_res, (tuple, list)):
        if isinstance(proxy_res, Proxy):
            set_meta(proxy_res, inner_res)
        for i, inner in enumerate(inner_res):
            track_tensor_tree(inner, proxy_res[i], constant=None if constant is None else constant[i], tracer=tracer)
    elif isinstance(inner_res, dict):
        for key, inner in inner_res.items():
            track_tensor_tree(inner, proxy_res[key], constant=None, tracer=tracer)
    return inner_res


def extract_val(val: Any) -> Any:
    """Return a value's description, ``meta['val']`` of its node: tensors without values, numbers as they are."""
    if isinstance(val, Tensor):
        return snapshot_fake(val)
    if isinstance(val, (list, tuple)):
        items = [extract_val(item) for item in val]
        return items if isinstance(val, list) else tuple(items)
    return val if is_sym_node(val) or isinstance(val, (int, float, bool, str)) or val is None else None


def snapshot_fake(val: Tensor) -> Tensor | None:
    """Return a fake tensor in the layout that a tensor has now."""
    if isinstance(val, FakeTensor):
        return FakeTensor(val.fake_mode, val.described(), val.device)
    with switched(dispatch_modes=()), FakeTensorMode(allow_fallback_kernels=True):
        return ops.aten.empty_strided.default(val.shape, val.stride(), dtype=val.dtype, device=val.device)


def set_meta(proxy: Proxy, val: Any) -> Proxy:
    """Describe a node's value in its ``meta``: 'val', and 'tensor_meta' for a tensor."""
    from ..passes.shape_prop import _extract_tensor_metadata

    proxy.node.meta["val"] = extract_val(val)
    if isinstance(val, Tensor):
        proxy.node.meta["tensor_meta"] = _extract_tensor_metadata(val)
    return proxy


def fetch_object_proxy(tracer: Any, t: Any) -> Any:
    """Return the proxy of a tensor, or the tensor if it has none (``fetch_object_proxy``)."""
    return get_proxy_slot(t, tracer, t)


# -- operators ---------------------------------------------------------------------------------------------------------

def proxy_call(proxy_mode: ProxyTorchDispatchMode, func: OpOverload, pre_dispatch: bool, args: Any,
               kwargs: Any) -> Any:
    """Run an operator and write its node. An operator with a decomposition runs by it instead.

    Raises:
        RuntimeError: PyTorch's, if the operator reads values of a tensor that is not constant.
    """
    decomposed = maybe_handle_decomp(proxy_mode, func, args, kwargs)
    if decomposed is not NotImplemented:
        return decomposed
    tracer = proxy_mode.tracer
    flat, spec = tree_flatten((args, kwargs))
    tracked = [fetch_object_proxy(tracer, leaf) if isinstance(leaf, Tensor) else leaf for leaf in flat]
    known = [leaf for leaf in tracked if isinstance(leaf, _ProxyTensor)]
    all_constant = all(leaf.constant is not None for leaf in known) and not any(map(is_sym_node, flat))

    def on_constants() -> Any:
        leaves = [leaf.constant if isinstance(leaf, _ProxyTensor) else leaf for leaf in tracked]
        given, named = tree_unflatten(leaves, spec)
        with switched(dispatch_modes=()):
            return func(*given, **named)

    if func._opname in DATA_DEPENDENT:
        if all_constant:
            return on_constants()
        if proxy_mode._error_on_data_dependent_ops and not any(map(is_fake, flat)):
            raise RuntimeError(
                f"It appears that you're trying to get value out of a tracing tensor with {func} - erroring out! "
                "It's likely that this is caused by data-dependent control flow or similar.  It may be possible to "
                "trace this with dynamic shapes; try setting tracing_mode='symbolic' in your make_fx call.")
    proxies = [leaf.proxy if isinstance(leaf, _ProxyTensor) else
               get_proxy_slot(leaf, tracer, leaf) if is_sym_node(leaf) else leaf for leaf in tracked]
    shown, named = tree_unflatten(proxies, spec)
    if func is ops.aten.lift_fresh.default:  # a constant of the graph must not be written
        func = ops.aten.lift_fresh_copy.default
    node = tracer.create_proxy("call_function", func, shown, named,
                               name=tracer.graph._target_to_str(func.overloadpacket.__name__))
    out = func(*args, **kwargs)
    constant = None
    if func is ops.aten.lift_fresh_copy.default:
        if out.numel() <= CONSTANT_NUMEL_LIMIT:
            with switched(dispatch_modes=()):
                constant = args[0].clone()
    elif all_constant and known and func._operator.family != "random" and all(
            leaf.numel() <= CONSTANT_NUMEL_LIMIT for leaf in tree_leaves(out) if isinstance(leaf, Tensor)):
        constant = on_constants()
    track_tensor_tree(out, node, constant=constant, tracer=tracer)
    return out


def maybe_handle_decomp(proxy_mode: ProxyTorchDispatchMode, op: OpOverload, args: Any, kwargs: Any) -> Any:
    """Run an operator by its decomposition in the mode's table; return NotImplemented if it has none."""
    decomposition = proxy_mode.decomposition_table.get(op)
    if decomposition is None:
        return NotImplemented
    with proxy_mode:
        return decomposition(*args, **kwargs)


class ProxyTorchDispatchMode(TorchDispatchMode):
    """A mode that writes a node for every operator (``torch.fx.experimental.proxy_tensor.ProxyTorchDispatchMode``)."""

    def __init__(self, tracer: Any, tracing_mode: str = "real", pre_dispatch: bool = False,
                 _allow_fake_constant: bool = False, _error_on_data_dependent_ops: bool = True) -> None:
        super().__init__()
        self.tracer = tracer
        self.tracing_mode = tracing_mode
        self.pre_dispatch = pre_dispatch
        self._allow_fake_constant = _allow_fake_constant
        self._error_on_data_dependent_ops = _error_on_data_dependent_ops
        self.enable_tracing = True
        self.grad_mode = local.grad_enabled  #: as the graph has it so far
        self.decomposition_table: Mapping[Any, Callable[..., Any]] = {}

    @classmethod
    def is_infra_mode(cls) -> bool:
        return True

    def __torch_dispatch__(self, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator and write its node."""
        if not self.enable_tracing:
            return func(*args, **(kwargs or {}))
        self.note_grad_mode()
        return proxy_call(self, func, self.pre_dispatch, args, kwargs or {})

    def record_call(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function from outside the dispatcher, and write one node for its call."""
        out = func(*args, **kwargs)
        shown, named = tree_map(self.tracer.unwrap_proxy, (args, kwargs))
        proxy = self.tracer.create_proxy("call_function", func, shown, named)
        return track_tensor_tree(out, proxy, constant=None, tracer=self.tracer)

    def note_grad_mode(self) -> None:
        """Write a node for a switch of grad mode since the last operator, if the graph is to be run under autograd. A
        backward pass switches it for itself.
        """
        if self.pre_dispatch and local.task is None and local.grad_enabled is not self.grad_mode:
            self.grad_mode = local.grad_enabled
            self.tracer.create_node("call_function", _set_grad_enabled, (self.grad_mode,), {})

    def __sym_dispatch__(self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        """Compute with symbolic numbers and write a node for it."""
        out = func(*args, **kwargs)
        if is_sym_node(out):
            shown = tuple([get_proxy_slot(arg, self.tracer, arg) if is_sym_node(arg) else arg for arg in args])
            proxy = self.tracer.create_proxy("call_function", func, shown, {})
            track_tensor_tree(out, proxy, constant=None, tracer=self.tracer)
        return out

    @contextmanager
    def enable_decompositions(self, table: Mapping[Any, Callable[..., Any]] | None) -> Iterator[Any]:
        """Run a block in which operators of a table are decomposed."""
        before, self.decomposition_table = self.decomposition_table, {**self.decomposition_table, **(table or {})}
        try:
            yield self.decomposition_table
        finally:
            self.decomposition_table = before


class DecompositionInterpreter(Interpreter):
    """Runs a graph and writes it anew, with operators of a table decomposed
    (``torch.fx.experimental.proxy_tensor.DecompositionInterpreter``).
    """

    def __init__(self, module: GraphModule, new_graph: Graph,
                 decomposition_table: Mapping[Any, Callable[..., Any]] | None = None, **kwargs: Any) -> None:
        super().__init__(module, **kwargs)
        self.new_graph = new_graph
        self.tracer = PythonKeyTracer()
        self.tracer.root, self.tracer.graph = module, new_graph
        self.mode = ProxyTorchDispatchMode(self.tracer)
        self.decomposition_table = decomposition_table or {}

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Return the input, and track it."""
        return self._track(super().placeholder(target, args, kwargs), self.new_graph.placeholder(target))

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Return the attribute, and track it."""
        return self._track(super().get_attr(target, args, kwargs), self.new_graph.get_attr(target))

    def output(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Return the outputs, and write the node that returns them."""
        out = super().output(target, args, kwargs)
        self.new_graph.output(tree_map(lambda leaf: proxy.node if isinstance(
            proxy := self.tracer.unwrap_proxy(leaf), Proxy) else leaf, out))
        return out

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run the graph on arguments, and write the new one."""
        with self.mode, self.mode.enable_decompositions(self.decomposition_table):
            return super().run(*args, **kwargs)

    def _track(self, value: Any, node: Node) -> Any:
        return track_tensor_tree(value, Proxy(node, self.tracer), constant=None, tracer=self.tracer)


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """Return the mode that records this thread's operators, or None (``get_proxy_mode``)."""
    return next((mode for mode in reversed(local.dispatch_modes) if isinstance(mode, ProxyTorchDispatchMode)), None)


get_innermost_proxy_mode = get_proxy_mode


def get_torch_dispatch_modes() -> list[TorchDispatchMode]:
    """Return this thread's modes, the innermost last (``get_torch_dispatch_modes``)."""
    return list(local.dispatch_modes)


@contextmanager
def disable_proxy_modes_tracing() -> Iterator[ProxyTorchDispatchMode | None]:
    """Run a block whose operators are not recorded (``disable_proxy_modes_tracing``)."""
    mode = get_proxy_mode()
    with switched(dispatch_modes=tuple([other for other in local.dispatch_modes if other is not mode])):
        yield mode


@contextmanager
def maybe_disable_fake_tensor_mode() -> Iterator[None]:
    """Run a block whose new tensors are real (``maybe_disable_fake_tensor_mode``)."""
    with unset_fake_temporarily():
        yield


def handle_sym_dispatch(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Have the active mode record an operation on symbolic numbers (``handle_sym_dispatch``)."""
    mode = get_proxy_mode()
    assert mode is not None
    with disable_proxy_modes_tracing():
        return mode.__sym_dispatch__(func, [], args, kwargs)


@contextmanager
def decompose(decomposition_table: Mapping[Any, Callable[..., Any]] | None) -> Iterator[Any]:
    """Run a block in which the active mode decomposes operators (``decompose``)."""
    mode = get_proxy_mode()
    assert mode is not None, "Expected proxy mode to be set"
    with mode.enable_decompositions(decomposition_table) as table:
        yield table


# -- make_fx -----------------------------------------------------------------------------------------------------------

def fake_signature(fn: Callable[..., Any], nargs: int) -> Callable[..., Any]:
    """Return a function of ``nargs`` named arguments, for one that takes any number."""
    names = ",".join(f"arg{i}" for i in range(nargs))
    made: Callable[..., Any] = eval(f"lambda {names}: fn({names})", {"fn": fn})
    return made


def wrap_key(f: Callable[..., Any], tensors: tuple[Any, ...], tracer: Any, pre_dispatch: bool) -> Callable[..., Any]:
    """Return a function of proxies that runs ``f`` on tensors, which are tracked with these proxies."""
    flat, _ = tree_flatten(tensors)

    @functools.wraps(f)
    def wrapped(*proxies: Any, **_: Any) -> Any:
        given = tree_leaves(proxies)
        assert len(given) == len(flat)
        with disable_proxy_modes_tracing():
            for tensor, proxy in zip(flat, given, strict=True):
                track_tensor_tree(tensor, proxy, constant=None, tracer=tracer)
        results = tree_map(lambda leaf: tuple(leaf) if isinstance(leaf, Size) else leaf, f(*tensors),
                           is_leaf=lambda value: isinstance(value, Size))  # which holds no proxies
        if (mode := get_proxy_mode()) is not None:
            mode.note_grad_mode()
        return tree_map(tracer.unwrap_proxy, results)

    return wrapped


def dispatch_trace(root: Any, tracer: Tracer, concrete_args: Any = None) -> GraphModule:
    """Trace a function of proxies into a module (``dispatch_trace``)."""
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


def make_fx(f: Callable[..., Any], decomposition_table: Mapping[Any, Callable[..., Any]] | None = None,
            tracing_mode: str = "real", _allow_non_fake_inputs: bool = False, *, pre_dispatch: bool = False,
            record_module_stack: bool = False, _allow_fake_constant: bool = False,
            _error_on_data_dependent_ops: bool = True, record_stack_traces: bool = False,
            proxy_module_inputs: bool = False, _disable_torch_fn_metadata_mode: bool = False
            ) -> Callable[..., GraphModule]:
    """Return a function that runs ``f`` on example arguments and returns the graph of its ATen operators, as a module
    that takes such arguments (``torch.fx.experimental.proxy_tensor.make_fx``).

    With ``tracing_mode='real'`` the operators compute on the arguments themselves, which ``f`` may write; with 'fake'
    on fake tensors; with 'symbolic' on fake tensors whose sizes are symbols, so that the graph serves for other sizes.
    Operators of ``decomposition_table`` are replaced by what their functions call. With ``pre_dispatch``, operators are
    recorded above autograd, composites whole, and switches of grad mode are nodes, too. A node's ``meta["torch_fn"]``
    names the function of the library that was called; with ``record_stack_traces``, ``stack_trace`` has the lines of
    modules' ``forward``.

    Raises:
        AssertionError: for another ``tracing_mode``.
        RuntimeError: when called, if ``f`` reads a tensor's values.
    """
    assert tracing_mode in ("real", "fake", "symbolic"), f"tracing_mode must be real/fake/symbolic, got {tracing_mode}"

    @functools.wraps(f)
    def wrapped(*args: Any) -> GraphModule:
        fake_mode = _fake_mode(tracing_mode, args, _allow_non_fake_inputs)
        placeholders = tree_map(lambda _: PH, args)
        given = args if tracing_mode == "real" else _fakes(fake_mode, args, tracing_mode)
        plain = inspect.unwrap(f)
        func = fake_signature(f, len(placeholders)) if (
            not hasattr(plain, "__code__") or plain.__code__.co_flags & inspect.CO_VARARGS) else f
        tracer = PythonKeyTracer()
        tracer.record_stack_traces = tracer._record_forward_stack_traces_only = record_stack_traces
        mode = ProxyTorchDispatchMode(tracer, tracing_mode, pre_dispatch, _allow_fake_constant,
                                      _error_on_data_dependent_ops)
        with ExitStack() as stack:
            stack.enter_context(disable_proxy_modes_tracing())  # a trace within a trace is no part of it
            if fake_mode is not None:
                stack.enter_context(fake_mode)
            if tracing_mode == "symbolic":
                stack.enter_context(enable_python_dispatcher())
            if not _disable_torch_fn_metadata_mode:
                stack.enter_context(TorchFunctionMetadataMode(tracer))
            stack.enter_context(mode)
            stack.enter_context(mode.enable_decompositions(decomposition_table))
            traced = dispatch_trace(wrap_key(func, given, tracer, pre_dispatch), tracer, tuple(placeholders))
        if tracing_mode == "symbolic":
            traced.shape_env = fake_mode.shape_env
        return traced

    return wrapped


def _fake_mode(tracing_mode: str, args: Any, allow_non_fake_inputs: bool) -> Any:
    """Return the mode of fake tensors to trace with, that of the arguments if they are fake; None for real ones."""
    if tracing_mode == "real":
        return None
    found = next((leaf.fake_mode for leaf in tree_leaves(args) if is_fake(leaf)), None)
    if found is not None:
        return found
    from .symbolic_shapes import ShapeEnv

    static = tracing_mode == "fake"  # its symbols are of numbers that data decides
    return FakeTensorMode(allow_fallback_kernels=static, allow_non_fake_inputs=allow_non_fake_inputs,
                          shape_env=ShapeEnv(), static_shapes=static)


def _fakes(mode: Any, args: Any, tracing_mode: str) -> Any:
    """Return arguments with fake tensors for tensors, and symbols for ints if sizes are symbolic."""
    count = 0

    def fake(value: Any) -> Any:
        nonlocal count
        source = ConstantSource(f"input{count}")
        if isinstance(value, Tensor):
            count += 1
            return mode.from_tensor(value, source=source)
        if type(value) is int and tracing_mode == "symbolic":
            env = mode.shape_env
            return env.create_symintnode(env.create_symbol(value, source, positive=None), hint=value, source=source)
        return value

    return tree_map(fake, args)


def get_isolated_graphmodule(func: Callable[..., Any], args: Any, kwargs: Any, tracing_mode: str = "real",
                             decomposition_table: Any = None) -> GraphModule:
    """Return the graph of a call, apart from a graph that is being traced (``get_isolated_graphmodule``)."""
    wrapped, every = wrapper_and_args_for_make_fx(func, args, kwargs)
    return make_fx(wrapped, decomposition_table=decomposition_table, tracing_mode=tracing_mode)(every)


def wrapper_and_args_for_make_fx(func: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any, list[Any]]:
    """Return a function of one list, and that list, for a call (``wrapper_and_args_for_make_fx``)."""
    flat, spec = tree_flatten((args, kwargs))

    def wrapped(flat_args: list[Any]) -> Any:
        given, named = tree_unflatten(flat_args, spec)
        return func(*given, **named)

    return wrapped, flat

