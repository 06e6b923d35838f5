"""``GraphModule``: a module whose ``forward`` is the Python of a graph."""
from __future__ import annotations

import copy
import itertools
import linecache
import sys
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

from .._base.interrupts import contextmanager
from .._tensor import Tensor
from ..nn.module import Module
from ..nn.modules import BatchNorm1d, BatchNorm2d, BatchNorm3d, Conv1d, Conv2d, Conv3d, Linear
from ..nn.parameter import Parameter
from ..serialization import save
from ._codegen import PythonCode, _BoxedCodeGen, _custom_builtins, _PyTreeCodeGen
from ._names import PACKAGE
from ._tracer import Tracer
from .graph import Graph

__all__ = ["GraphModule", "reduce_graph_module"]
__dir__ = __all__.copy
_numbers = itertools.count()
#: Under this key of ``meta`` lie attributes that a copy of a graph module has to keep.
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
#: Modules whose repr is the call that makes them.
READABLE = (Linear, Conv1d, Conv2d, Conv3d, BatchNorm1d, BatchNorm2d, BatchNorm3d)
HOOKS = ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks")
STATE_HOOKS = ("_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")


def _forward_from_src(src: str, globals: dict[str, Any], co_fields: dict[str, Any] | None = None) -> FunctionType:
    return _method_from_src("forward", src, globals, co_fields)


def _method_from_src(method_name: str, src: str, globals: dict[str, Any],
                     co_fields: dict[str, Any] | None = None) -> FunctionType:
    """Return a function of generated source, which ``inspect`` and tracebacks find by the name of its file."""
    key = f"<eval_with_key>.{next(_numbers)}"
    if co_fields:
        key += f" from {co_fields['co_filename']}:{co_fields['co_firstlineno']} in {co_fields['co_name']}"
    linecache.cache[key] = (len(src), None, src.splitlines(keepends=True), key)
    scope = {**globals, "__file__": key, "__name__": key}
    exec(compile(src, key, "exec", dont_inherit=True), scope)
    function = scope.pop(method_name)
    weakref.finalize(function, linecache.cache.pop, key, None)
    return function


# -- pickling ----------------------------------------------------------------------------------------------------------


def _import_statement(name: str, value: Any) -> str:
    """Return the statement that gives a global of generated code its value in another process."""
    if name in _custom_builtins:
        return _custom_builtins[name].import_str
    module, attribute = value.__module__, getattr(value, "__qualname__", value.__name__)
    if "." in attribute:  # a method
        return f"import {module}; {name} = {module}.{attribute}"
    return f"from {module} import {attribute} as {name}"


def _import_block(globals: dict[str, Any]) -> str:
    return "\n".join(sorted({_import_statement(name, value) for name, value in globals.items()}))


class _CodeOnlyModule(Module):
    """A module with another's attributes, and a ``forward`` to be traced."""

    def __init__(self, body: dict[str, Any]):
        super().__init__()
        self.__dict__ = body


def reduce_graph_module(body: dict[str, Any], import_block: str) -> Module:
    """Return the module of a pickle: its code is traced again (``torch.fx.graph_module.reduce_graph_module``)."""
    return _deserialize_graph_module(_forward_from_src(import_block + (body.get("_code") or body["code"]), {}), body)


def _deserialize_graph_module(forward: Callable[..., Any], body: dict[str, Any],
                              graph_module_cls: type | None = None) -> Module:
    tracer = body.get("_tracer_cls") or Tracer

    class KeepModules(tracer):  # type: ignore[misc, valid-type]
        """A tracer that goes into no module: each was a leaf already when the code was made."""

        def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
            return True

    class Source(_CodeOnlyModule):
        pass

    Source.forward = forward  # type: ignore[method-assign]
    traces = body.pop("_graphmodule_graph_node_meta_stack_trace", {})
    source = Source(body)
    graph = KeepModules().trace(source, **body.get("_tracer_extras", {}))
    for node in graph.nodes:
        if (trace := traces.get(node.name)) is not None:
            node.stack_trace = trace
    graph._tracer_cls = tracer
    name = body.get("_graphmodule_cls_name", "GraphModule")
    module = (graph_module_cls or GraphModule)(source, graph, class_name=name)
    for name, value in body.items():
        if not hasattr(module, name):
            setattr(module, name, value)
    return module


# -- attributes by path ------------------------------------------------------------------------------------------------


def _assign_attr(from_obj: Any, to_module: Module, target: str) -> None:
    """Assign an attribute by its path; modules on the way are made, and tensors become buffers."""
    *prefix, field = target.split(".")
    for name in prefix:
        if getattr(to_module, name, None) is None:
            setattr(to_module, name, Module())
        to_module = getattr(to_module, name)
    if isinstance(from_obj, Tensor) and not isinstance(from_obj, Parameter):
        to_module.register_buffer(field, from_obj)
    else:
        setattr(to_module, field, from_obj)


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Assign an attribute of one module to another, unless a module on the way is the same in both."""
    *prefix, field = target.split(".")
    inner: Any = from_module
    there: Any = to_module
    for name in prefix:
        inner, there = getattr(inner, name), getattr(there, name, None)
        if inner is there:
            return
    _assign_attr(getattr(inner, field), to_module, target)


def _get_attr(model: Module, attr_name: str) -> Any:
    found: Any = model
    for name in attr_name.split("."):
        found = getattr(found, name)
    return found


def _del_attr(model: Module, attr_name: str) -> None:
    owner, _, name = attr_name.rpartition(".")
    delattr(_get_attr(model, owner) if owner else model, name)


def _has_attr(model: Module, attr_name: str) -> bool:
    try:
        _get_attr(model, attr_name)
    except AttributeError:
        return False
    return True


# -- the module --------------------------------------------------------------------------------------------------------


class GraphModule(Module):
    """A module whose ``forward`` is generated from a graph (``torch.fx.GraphModule``).

    ``root`` is a module, or a dict by path, that has the parameters, buffers and modules that the graph names; they are
    shared. Assigning ``graph`` generates the code; after a change within the graph, ``recompile`` does. ``code`` is the
    source, which tracebacks, debuggers and ``inspect`` show.
    """

    _code: str
    _graph: Graph

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        base = next(kind for kind in cls.__mro__ if kind.__name__ != "GraphModuleImpl" and not
                    kind.__dict__.get("_has_one_module"))

        class GraphModuleImpl(base):  # type: ignore[misc, valid-type]  # a class each, as ``forward`` belongs to a class
            _has_one_module = True

        return super().__new__(GraphModuleImpl)

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule"):
        super().__init__()
        type(self).__name__ = class_name
        named = [node for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            self.training = getattr(root, "training", True)
            if isinstance(root, _CodeOnlyModule):
                for name, _ in (*root.named_children(), *root.named_buffers(), *root.named_parameters()):
                    _copy_attr(root, self, name)
            for node in named:
                _copy_attr(root, self, str(node.target))
        elif isinstance(root, dict):
            for node in named:
                if node.target not in root:
                    raise RuntimeError(f"Node {node} referenced target {node.target} but that target was not provided "
                                       "in ``root``!")
            for target in sorted(dict.fromkeys(str(node.target) for node in named), key=lambda path: path.count(".")):
                _assign_attr(root[target], self, target)  # modules before their attributes
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        tracer = graph._tracer_cls
        self._tracer_cls = None if tracer is None or "<locals>" in tracer.__qualname__ else tracer
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[str, Any] = {}
        self.shape_env: Any = None
        for name in HOOKS:
            setattr(self, name, [])

    # -- code --------------------------------------------------------------------------------------------------

    @property
    def graph(self) -> Graph:
        """The graph; assigning one generates the code of ``forward``."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        assert isinstance(g, Graph), f"Expected a Graph instance, but got {type(g)}"
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of ``forward``."""
        return self._code

    @property
    def _boxed_call(self) -> bool:
        return isinstance(self._graph._codegen, _BoxedCodeGen)

    def recompile(self) -> PythonCode:
        """Generate ``forward`` from the graph as it is now (``torch.fx.GraphModule.recompile``)."""
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            self._in_spec, self._out_spec = codegen.pytree_info.in_spec, codegen.pytree_info.out_spec
        python_code = self._graph.python_code(root_module="self")
        self._code, self._lineno_map = python_code.src, python_code._lineno_map
        self._prologue_start = python_code._prologue_start
        forward = _method_from_src(codegen._func_name, self._code, python_code.globals, self._graph._co_fields)
        type(self).forward = forward  # type: ignore[method-assign]
        for child in self.children():
            if isinstance(child, GraphModule):
                child.recompile()
        return python_code

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            if "eval_with_key" not in frame.filename:
                raise
            print(_error_message(frame), file=sys.stderr)
            raise error.with_traceback(None) from error.__cause__

    def print_readable(self, print_output: bool = True, include_stride: bool = False, include_device: bool = False,
                       colored: bool = False, *, fast_sympy_print: bool = False, expanded_def: bool = False,
                       additional_meta: list[str] | None = None) -> str:
        """Return, and print, the code as a class, with the dtypes and shapes of values, the lines of the program that
        they come from, and the graph modules inside (``torch.fx.GraphModule.print_readable``).
        """
        shown = _readable(self, self._get_name(), include_stride=include_stride, include_device=include_device,
                          colored=colored, expanded_def=expanded_def, additional_meta=additional_meta)
        if print_output:
            print(shown)
        return shown

    def __str__(self) -> str:
        return "\n".join([super().__str__(), self._code,
                          "# To see more debug info, please use `graph_module.print_readable()`"])

    # -- modules in it -----------------------------------------------------------------------------------------

    def add_submodule(self, target: str, m: Module) -> bool:
        """Add a module by its path, with empty modules on the way; return False if something else is on the way
        (``torch.fx.GraphModule.add_submodule``).
        """
        *prefix, field = target.split(".")
        owner: Any = self
        for name in prefix:
            if getattr(owner, name, None) is None:
                setattr(owner, name, Module())
            owner = getattr(owner, name)
            if not isinstance(owner, Module):
                return False
        owner.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove a module by its path; return False if there is none (``torch.fx.GraphModule.delete_submodule``)."""
        if not (_has_attr(self, target) and isinstance(_get_attr(self, target), Module)):
            return False
        _del_attr(self, target)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that no node names, and that are not in one that a node calls
        (``torch.fx.GraphModule.delete_all_unused_submodules``).
        """
        used = {""}
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                path = str(node.target).split(".")
                used.update(".".join(path[:end]) for end in range(1, len(path) + 1))
            if node.op == "call_module" and _has_attr(self, str(node.target)):
                inner = self.get_submodule(str(node.target)).named_modules()
                used.update(f"{node.target}.{name}" for name, _ in inner if name)
        for name in [name for name, _ in self.named_modules() if name not in used]:
            self.delete_submodule(name)

    # -- copies ------------------------------------------------------------------------------------------------

    def __reduce__(self) -> Any:
        body = self.__dict__.copy()
        del body["_graph"]
        body["_graphmodule_cls_name"] = type(self).__name__
        traces = {node.name: node.stack_trace for node in self.graph.nodes if node.stack_trace is not None}
        body["_graphmodule_graph_node_meta_stack_trace"] = traces
        return reduce_graph_module, (body, _import_block(self.recompile().globals))

    def _deepcopy_init(self) -> Callable[..., None]:
        return GraphModule.__init__

    def __deepcopy__(self, memo: dict[Any, Any]) -> GraphModule:
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        source = _CodeOnlyModule(copy.deepcopy(self.__dict__, memo))
        self._deepcopy_init()(copied, source, source.__dict__["_graph"])
        for name in (*STATE_HOOKS, *HOOKS):
            if name in self.__dict__:
                setattr(copied, name, copy.deepcopy(self.__dict__[name], memo))
        copied.meta = copy.deepcopy(self.__dict__.get("meta", {}), memo)
        for name, value in copied.meta.get("_user_preserved_attributes", {}).items():
            setattr(copied, name, value)
        for hook in self.__dict__.get("_deepcopy_hooks", ()):
            hook(copied)
        return copied

    def __copy__(self) -> GraphModule:
        copied = GraphModule(self, self.graph)
        copied.meta = self.meta
        return copied

    def _replicate_for_data_parallel(self) -> GraphModule:
        copied = copy.copy(self)
        object.__setattr__(copied, "_is_replica", True)
        return copied

    def to_folder(self, folder: str | Path, module_name: str = "FxModule") -> None:
        """Write the module as a Python package with its state beside it (``torch.fx.GraphModule.to_folder``). Modules
        in it that no call describes are pickled, with a UserWarning.
        """
        folder = Path(folder)
        folder.mkdir(exist_ok=True)
        save(self.state_dict(), folder / "state_dict.pt")
        lines, pickled = [], []
        for name, module in self.named_children():
            made = repr(module)
            if type(module) not in READABLE:
                save(module, folder / f"{name}.pt")
                pickled.append(name)
                made = f"torch.load(r'{folder / name}.pt', weights_only=False)  # {' '.join(made.splitlines())}"
            lines.append(f"self.{name} = {made}")
        for kind, values in (("Buffer", self._buffers), ("Parameter", self._parameters)):
            for name, value in values.items():
                if value is None:
                    continue
                empty = f"torch.empty({list(value.shape)}, dtype={value.dtype})"
                lines.append(f"self.register_buffer('{name}', {empty})" if kind == "Buffer"
                             else f"self.{name} = torch.nn.Parameter({empty})")
        lines.append(f"self.load_state_dict(torch.load(r'{folder}/state_dict.pt'))")
        imports = "\n".join(builtin.import_str for builtin in _custom_builtins.values())
        body = "".join(f"        {line}\n" for line in lines)
        (folder / "module.py").write_text(
            f"{imports}\n\nfrom {PACKAGE}.nn import *\n\n\nclass {module_name}(torch.nn.Module):\n"
            f"    def __init__(self):\n        super().__init__()\n{body}{_indented(self.code)}\n")
        (folder / "__init__.py").write_text("from .module import *\n")
        if pickled:
            warnings.warn("Was not able to save the following children modules as reprs -saved as pickled files "
                          f"instead: {pickled}", stacklevel=2)

    # -- hooks -------------------------------------------------------------------------------------------------

    @contextmanager
    def _set_replace_hook(self, f: Callable[..., Any]) -> Iterator[None]:
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)


def _hook_methods(hooks: str, name: str) -> None:
    def register(self: Any, f: Callable[..., Any]) -> None:
        assert callable(f), f"{name} hook must be a callable."
        getattr(self, hooks).append(f)

    def unregister(self: Any, f: Callable[..., Any]) -> None:
        getattr(self, hooks).remove(f)

    setattr(GraphModule, f"_register_{name}_hook", register)
    setattr(GraphModule, f"_unregister_{name}_hook", unregister)


for _hooks, _name in zip(HOOKS, ("replace_node", "create_node", "erase_node", "deepcopy"), strict=True):
    _hook_methods(_hooks, _name)


def _indented(text: str) -> str:
    """Return a text with each line but the first, and blank ones, four spaces further in."""
    first, *others = text.split("\n")
    return "\n".join([first, *(f"    {line}" if line.strip() else "" for line in others)])


def _readable(module: Any, name: str, **options: Any) -> str:
    code = module.graph.python_code("self", verbose=True, **options).src.lstrip("\n")
    inner = [_readable(child, child_name, **{**options, "expanded_def": False})
             for child_name, child in module.named_children() if isinstance(child, GraphModule)]
    return _indented(f"class {name}(torch.nn.Module):\n{code}") + _indented("\n".join(["", *inner]))


def _error_message(frame: traceback.FrameSummary) -> str:
    """Return the traceback and the lines of generated code around the one that raised."""
    assert frame.lineno is not None and frame.line is not None
    lines = linecache.getlines(frame.filename)
    return "\n".join([traceback.format_exc(),
                      f"Call using an FX-traced Module, line {frame.lineno} of the traced Module's generated forward "
                      "function:", "".join(lines[frame.lineno - 2:frame.lineno]),
                      f"{'~' * len(frame.line)}~~~ <--- HERE", "\n".join(lines[frame.lineno:frame.lineno + 2])])
