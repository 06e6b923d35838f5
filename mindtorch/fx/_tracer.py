"""``Tracer``: runs a module or a function with proxies, and records what it does as a graph."""
from __future__ import annotations

import copy
import functools
import inspect
import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any, ClassVar

from .._methods.checks import _assert
from .._tensor import Tensor
from .._transforms.pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten
from ..nn.module import Module
from ..nn.modules.container import Sequential
from ..nn.parameter import Parameter
from ._codegen import _PyTreeCodeGen, _PyTreeInfo
from ._names import PACKAGE
from ._patching import _autowrap_check, _find_proxy, _new_patcher, _patch_wrapped_functions, wrap
from .graph import Graph
from .node import Argument
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase, base_types

VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
#: The constants that become attributes of the traced module, and the prefix of their names.
CONSTANTS: dict[type, str] = {Tensor: "_tensor_constant", TreeSpec: "_tree_spec_constant"}
_call, _getattr = Module.__call__, Module.__getattr__
_proxyable_classes: set[type] = set()
_tracing = 0


def is_fx_tracing() -> bool:
    """Return True while a program is traced (``torch.fx._symbolic_trace.is_fx_tracing``)."""
    return _tracing > 0


is_fx_symbolic_tracing = is_fx_tracing


class ProxyableClassMeta(type):
    """A class that is made by one node if a proxy is among its arguments (``torch.fx.ProxyableClassMeta``)."""

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]):
        _proxyable_classes.add(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs) if is_fx_tracing() else None
        if proxy is not None:
            return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


class PHBase:
    """A placeholder in ``concrete_args`` (``torch.fx._symbolic_trace.PHBase``)."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A placeholder whose attributes its node receives (``torch.fx._symbolic_trace.PHWithMeta``)."""

    def __init__(self, ph_key: str | None = None):
        self.ph_key = ph_key


def _with_arguments(function: FunctionType, analysed: FunctionType, count: int) -> Callable[..., Any]:
    """Return a function whose ``*args``, ``**kwargs`` and keyword-only parameters are plain ones, ``count`` in all. A
    decorator's function takes those of the one that it wraps, and hands them on by name.
    """
    code = analysed.__code__
    if function is not analysed and not code.co_flags & VARIADIC:
        names, positional = code.co_varnames[count - code.co_kwonlyargcount:count], count - code.co_kwonlyargcount
        return lambda *args: function(*args[:positional], **dict(zip(names, args[positional:], strict=True)))
    if getattr(function, "overridable", False):  # proxies have no place in the wrapper, which asks arguments
        function = analysed
    code = function.__code__
    code = code.replace(co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0,
                        co_flags=code.co_flags & ~VARIADIC)
    return FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)


@wrap
def _assert_is_none(value: Any, msg: str) -> None:
    assert value is None, msg


_assert_is_none.__module__ = f"{PACKAGE}.fx._symbolic_trace"  # where PyTorch has it


class Tracer(TracerBase):
    """A recorder of modules and functions (``torch.fx.Tracer``): ``trace`` returns the graph. Subclasses override
    ``is_leaf_module``, which modules become one node, and the methods of ``TracerBase``.

    Args:
        autowrap_modules: modules whose functions become one node, if the traced program imports them.
        autowrap_functions: functions that do.
        param_shapes_constant: whether the sizes of parameters are known, and not recorded.
    """

    root: Module
    tensor_attrs: dict[Any, str]
    _qualname_counter: ClassVar[dict[str, int]] = defaultdict(int)

    def __init__(self, autowrap_modules: tuple[ModuleType, ...] = (math,),
                 autowrap_functions: tuple[Callable[..., Any], ...] = (), param_shapes_constant: bool = False):
        super().__init__()
        functions = [value for module in autowrap_modules for name, value in vars(module).items()
                     if not name.startswith("_") and callable(value)]
        self._autowrap_function_ids = {id(function) for function in (*functions, *autowrap_functions)}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.num_calls: dict[str, int] = {}

    # -- values that are not proxies -----------------------------------------------------------------------------------

    def get_fresh_qualname(self, prefix: str) -> str:
        """Return a name with a number that the traced module does not have (``torch.fx.Tracer.get_fresh_qualname``)."""
        number = self._qualname_counter[prefix] if hasattr(self.root, f"{prefix}0") else 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        self._qualname_counter[prefix] = number
        return f"{prefix}{number}"

    def create_arg(self, a: Any) -> Argument:
        """Return a value as an argument of nodes: parameters, buffers and modules as nodes that read them, and other
        tensors as constants (``torch.fx.Tracer.create_arg``).

        Raises:
            NameError: for a parameter that the traced module does not have.
        """
        if isinstance(a, (Tensor, Module)):
            named = (self.root.named_modules() if isinstance(a, Module) else
                     self.root.named_parameters() if isinstance(a, Parameter) else self.root.named_buffers())
            path = next((path for path, value in named if value is a), None)
            if path is not None:
                return self.create_node("get_attr", path, (), {})
            if isinstance(a, Parameter):
                raise NameError("parameter is not a member of this module")
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(map(self.create_arg, a)), {})
        for kind, prefix in CONSTANTS.items():
            if isinstance(a, kind):
                if a not in self.tensor_attrs:
                    self.tensor_attrs[a] = self._constant(prefix, a)
                return self.create_node("get_attr", self.tensor_attrs[a], (), {})
        if type(a) in _proxyable_classes:
            return self.create_node("get_attr", self._constant(f"_{type(a).__name__}_constant_", a), (), {})
        return super().create_arg(a)

    def _constant(self, prefix: str, value: Any) -> str:
        name = self.get_fresh_qualname(prefix)
        setattr(self.root, name, value)
        return name

    # -- modules -------------------------------------------------------------------------------------------------------

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Return True if a call of the module is one node: for those of ``torch.nn``, except ``Sequential``
        (``torch.fx.Tracer.is_leaf_module``).
        """
        return f"{m.__module__}.".startswith(f"{PACKAGE}.nn.") and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """Return the path of a module in the traced one (``torch.fx.Tracer.path_of_module``).

        Raises:
            NameError: if it is not in it.
        """
        paths = self.submodule_paths or {module: path for path, module in self.root.named_modules()}
        if mod not in paths:
            raise NameError("module is not installed as a submodule")
        return paths[mod]

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record the call of a module, as one node if it is a leaf, else as what ``forward`` does
        (``torch.fx.Tracer.call_module``).
        """
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))):
            calls = self.num_calls.get(path, 0)
            self.num_calls[path] = calls + 1
            key = f"{path}@{calls}" if calls else path
            self.module_stack[key] = (path, type(m))
            if self.is_leaf_module(m, path):
                result = self.create_proxy("call_module", path, args, kwargs)
            else:
                result = forward(*args, **kwargs)
            last, _ = self.module_stack.popitem()
            assert last == key, f"Unexpected key {last}, expected {key}"
        return result

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """Return the value that a traced module reads: a parameter as a proxy (``torch.fx.Tracer.getattr``)."""
        if isinstance(attr_val, Parameter):
            return self._attribute(attr_val, self.root.named_parameters(), parameter_proxy_cache)
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            return self._attribute(attr_val, self.root.named_buffers(), parameter_proxy_cache)
        return attr_val

    def _attribute(self, value: Any, named: Iterable[tuple[str, Any]], cache: dict[str, Proxy]) -> Any:
        path = next((path for path, found in named if found is value), None)
        if path is None:
            return value
        if path not in cache:
            options: dict[str, Any] = {}
            if self.param_shapes_constant:
                options["proxy_factory_fn"] = lambda node: ParameterProxy(self, node, path, value)
            cache[path] = self.create_proxy("get_attr", path, (), {}, **options)
        return cache[path]

    # -- the traced function -------------------------------------------------------------------------------------------

    def create_args_for_root(self, root_fn: Callable[..., Any], is_module: bool,
                             concrete_args: dict[str, Any] | tuple[Any, ...] | None = None) -> tuple[Any, list[Any]]:
        """Return a function to call, and a placeholder for each of its parameters
        (``torch.fx.Tracer.create_args_for_root``).
        """
        analysed = inspect.unwrap(root_fn)
        code = analysed.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        if is_module and not total:
            raise RuntimeError("``self`` argument cannot be part of *args expansion!")
        args: list[Any] = [self.root] if is_module else []
        variadic = code.co_flags & VARIADIC
        if isinstance(concrete_args, tuple) and concrete_args and variadic and total == 1:
            for number, value in enumerate(concrete_args):
                proxy = self.create_proxy("placeholder", f"input_{number}", (), {})
                _transfer_attrs(value, proxy)
                args.append(proxy)
            return root_fn, args
        names = list(code.co_varnames[len(args):total])
        if isinstance(concrete_args, tuple):
            if len(names) != len(concrete_args):
                raise RuntimeError(f"Tracing expected {len(names)} arguments but got {len(concrete_args)} concrete "
                                   "arguments")
            concrete_args = dict(zip(names, concrete_args, strict=True))
        if code.co_flags & inspect.CO_VARARGS:
            names.append(f"*{code.co_varnames[total]}")
        if code.co_flags & inspect.CO_VARKEYWORDS:
            names.append(f"**{code.co_varnames[total + bool(code.co_flags & inspect.CO_VARARGS)]}")
        args += [self._proxy_placeholder(name, concrete_args or {}, analysed) for name in names]
        if variadic or code.co_kwonlyargcount:
            root_fn = _with_arguments(root_fn, analysed, len(args))  # type: ignore[arg-type]
        leaves, in_spec = tree_flatten(tuple(args))
        if all(child.is_leaf() for child in in_spec.children()):
            return root_fn, args
        codegen = self.graph._codegen = _PyTreeCodeGen(_PyTreeInfo(list(code.co_varnames[:total]), in_spec, None))

        def flat(*leaves: Any) -> Any:
            results, out_spec = tree_flatten(root_fn(*tree_unflatten(leaves, in_spec)))
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return results

        return flat, leaves

    def _proxy_placeholder(self, name: str, concrete_args: dict[str, Any], analysed: Any) -> Any:
        """Return the placeholder of a parameter; for a concrete value, the value with checks that it is given."""
        parameter = None if name[0] == "*" else inspect.signature(analysed).parameters[name]
        default = () if parameter is None or parameter.default is inspect.Parameter.empty else (parameter.default,)
        if name not in concrete_args:
            return self.create_proxy("placeholder", name, default, {},
                                     type_expr=_annotations(analysed).get(name))
        count = 0

        def placeholder(value: Any) -> Any:
            nonlocal count
            count += 1
            proxy = self.create_proxy("placeholder", f"{name}_{count}", default, {})
            if isinstance(value, PHBase):
                _transfer_attrs(value, proxy)
                return proxy
            if isinstance(value, base_types) and not isinstance(value, Tensor):
                _assert(proxy == value, f"{name} has been specialized to have value {value} but got another value")
            elif value is None:
                self.create_proxy("call_function", _assert_is_none,
                                  (proxy, f"{name} has been specialized to have value None but got another value"), {})
            else:
                warnings.warn(f"Was not able to add assertion to guarantee correct input {name} to specialized "
                              "function. It is up to the user to make sure that your inputs match the inputs you "
                              "specialized the function with.", stacklevel=2)
            return value

        return tree_map(placeholder, concrete_args[name])

    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """Return the graph of a module or a function (``torch.fx.Tracer.trace``). ``concrete_args`` has values of
        parameters, on which conditions may depend; ``PH`` in nested values stands for placeholders.
        """
        global _tracing
        _tracing += 1
        try:
            return self._trace(root, concrete_args)
        finally:
            _tracing -= 1

    def _trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None) -> Graph:
        function: Any = root
        self.root = Module()
        if isinstance(root, Module):
            function = getattr(type(root), self.traced_func_name, None)
            assert function, f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}"
            self.root = root
            self.root_module_name = root._get_name()
            self.submodule_paths = {module: path for path, module in root.named_modules()}
        self.graph = Graph(tracer_cls=type(self))
        if (code := getattr(function, "__code__", None)) is not None:
            self.graph._co_fields = {"co_name": code.co_name, "co_filename": code.co_filename,
                                     "co_firstlineno": code.co_firstlineno}
        self.tensor_attrs = {value: f"{path}.{name}" if path else name for path, module in self.root.named_modules()
                             for name, value in vars(module).items() if isinstance(value, tuple(CONSTANTS))}
        assert isinstance(function, FunctionType), f"symbolic tracing needs a function, got {type(function)}"
        assert not hasattr(function, "packet"), (
            f"{function.__name__} is an operator, of which there is no program to trace: trace a function that calls "
            "it, such as a lambda")
        call, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
        read: dict[str, Proxy] = {}

        @functools.wraps(_getattr)
        def module_getattr(module: Module, name: str) -> Any:
            return self.getattr(name, _getattr(module, name), read)

        @functools.wraps(_call)
        def module_call(module: Module, *args: Any, **kwargs: Any) -> Any:
            _autowrap_check(patcher, getattr(module.forward, "__globals__", {}), self._autowrap_function_ids)
            return self.call_module(module, lambda *args, **kwargs: _call(module, *args, **kwargs), args, kwargs)

        with _new_patcher() as patcher:
            patcher.patch_method(Module, "__getattr__", module_getattr, deduplicate=False)
            patcher.patch_method(Module, "__call__", module_call, deduplicate=False)
            _patch_wrapped_functions(patcher)
            for namespace in (function.__globals__, *map(vars, self._autowrap_search)):
                _autowrap_check(patcher, namespace, self._autowrap_function_ids)
            returns = _annotations(inspect.unwrap(function)).get("return")
            self.create_node("output", "output", (self.create_arg(call(*args)),), {}, type_expr=returns)
        self.submodule_paths = None
        return self.graph

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        copied = Tracer.__new__(Tracer)
        for name, value in vars(self).items():
            vars(copied)[name] = copy.copy(value) if name == "_autowrap_search" else copy.deepcopy(value, memo)
        return copied


def _annotations(function: Any) -> dict[str, Any]:
    """Return the types of parameters and of the result; texts that name no types stay texts."""
    try:
        return inspect.get_annotations(function, eval_str=True)
    except (AttributeError, NameError, SyntaxError, TypeError):
        return inspect.get_annotations(function)


def _transfer_attrs(placeholder: Any, proxy: Proxy) -> None:
    """Give the node of a placeholder the attributes of a ``PHWithMeta``."""
    if isinstance(placeholder, PHBase):
        for name, value in vars(placeholder).items():
            if not hasattr(proxy.node, name):
                setattr(proxy.node, name, value)
