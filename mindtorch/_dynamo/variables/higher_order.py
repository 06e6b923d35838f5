"""Functions that take functions: the function becomes a graph of its own, which one node of the outer graph applies
(``torch._dynamo.variables.higher_order_ops``).

The library's own transform runs on the examples, with a ``Body`` in the place of its function. The tensors that the
transform hands to the body, such as one element of a batch, are the inputs of the body's graph while the function is
interpreted; so shapes, nesting and errors are those of the transform itself.
"""
from __future__ import annotations

import functools
import inspect
import operator
import types
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

from ..._base.size import Size
from ..._dispatch.dispatcher import switched
from ..._higher_order_ops._operator import GraphOperator
from ..._higher_order_ops.transforms import APPLIERS, MAKERS, OPERATORS, call_linear
from ..._higher_order_ops.wrap import CONTEXTS, tag_activation_checkpoint, wrap
from ..._tensor import Tensor
from ..._transforms.pytree import tree_flatten, tree_leaves, tree_unflatten
from ...func.modules import functional_call
from ...fx import GraphModule, Node
from ...fx.node import map_arg
from ...nn.module import Module
from ...utils.checkpoint import checkpoint, noop_context_fn
from .. import fakes
from ..exc import Break, Raised, Restart
from .base import Codegen, ConstantVariable, Translator, Variable
from .builtin import SPECIAL
from .containers import DictVariable, ListVariable, SequenceVariable, TupleVariable
from .functions import FunctionVariable, NestedFunction, PartialVariable, is_none
from .objects import MISSING, UserObject
from .tensor import TensorVariable


class Passed:
    """A value that no graph has, on its way through a transform to the function."""

    def __init__(self, variable: Variable) -> None:
        self.variable = variable


def example_of(variable: Variable) -> Any:
    """Return an example of a value: containers with examples of tensors."""
    if isinstance(variable, TensorVariable):
        return variable.example
    if isinstance(variable, SequenceVariable) and variable.kind is not Size:
        items = [example_of(item) for item in variable.list]
        return variable.kind(*items) if hasattr(variable.kind, "_fields") else variable.kind(items)
    if isinstance(variable, DictVariable) and all(key.is_constant for key, _ in variable.entries.values()):
        return variable.kind([(key.value, example_of(value)) for key, value in variable.entries.values()])
    if isinstance(variable, ConstantVariable):
        return variable.value
    return Passed(variable)


def argument_of(variable: Variable) -> Any:
    """Return a value as an argument of a node; None for a value that no graph has, which the function's graph knows."""
    if isinstance(variable, SequenceVariable) and variable.kind is not Size:
        items = [argument_of(item) for item in variable.list]
        return variable.kind(*items) if hasattr(variable.kind, "_fields") else (
            variable.kind(items) if variable.kind in (tuple, list) else items)
    if isinstance(variable, DictVariable):
        return {key.value: argument_of(value) for key, value in variable.entries.values()}
    return None if isinstance(example_of(variable), Passed) else variable.argument()


def constant_of(variable: Variable) -> Any:
    """Return a setting of a transform: a constant, or a container of such.

    Raises:
        Break: if it is none.
    """
    found = example_of(variable)
    for leaf in tree_leaves(found):
        if isinstance(leaf, (Tensor, Passed)):
            raise Break(f"{variable} is not a constant, which a transform's setting is")
    return found


def function_behind(variable: Variable) -> Any:
    """Return a function that does not depend on the call, for code that runs outside of the graph.

    Raises:
        Break: if it does.
    """
    if isinstance(variable, PartialVariable):
        return functools.partial(function_behind(variable.function), *map(function_behind, variable.args),
                                 **{key: function_behind(value) for key, value in variable.kwargs.items()})
    if isinstance(variable, NestedFunction) and not variable.code.co_freevars and not variable.defaults:
        return types.FunctionType(variable.code, variable.globals)
    if isinstance(variable, SequenceVariable):
        return variable.kind(map(function_behind, variable.list))
    return variable.value


class Body:
    """A function of the interpreted program that becomes a graph when it is called with examples."""

    def __init__(self, tx: Translator, function: Variable, operator: GraphOperator, is_flat: bool = False,
                 label: str = "") -> None:
        """If ``is_flat``, the graph returns a tuple of tensors, else the function's result in its structure. ``label``
        and a number are the name of the graph.
        """
        self.tx, self.function, self.operator, self.is_flat = tx, function, operator, is_flat
        self.label = label or f"{operator.name()}_body"
        self.__name__ = function.code.co_name if isinstance(function, FunctionVariable) else operator.name()
        self.module: GraphModule | None = None
        self.outside: list[Node] = []  #: what the function reads
        self.scope: Any = None
        self.leaves: list[Any] = []  #: of the example of the result
        self.is_repeatable = True  #: whether the graph is all that the function does
        self._spec: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Interpret the function for examples, and return the example of its result. When it is called again, the graph
        runs on the examples.
        """
        if self.module is not None:
            if not self.is_repeatable:
                raise Break(f"{self.function} writes objects, and is called several times")
            return self.module(*[leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)],
                               *[node.meta["example_value"] for node in self.outside])
        output = self.tx.output
        sources = [self.operator] if self.is_flat else []  # PyTorch inlines transforms
        with output.scope(*sources) as scope, switched(dispatch_modes=()):
            line, state, touched = output.line, output.side_effects.state(), output.side_effects.touched
            names = _parameters(self.function)
            result = self.function.call(
                self.tx, [self._variable(scope, arg, name) for arg, name in zip_longest(
                    args, names[:len(args)], fillvalue="arg")],
                {name: self._variable(scope, arg, name) for name, arg in kwargs.items()})
            output.line = line
            if self.is_flat and output.side_effects.state() != state:  # a checkpoint may call it again
                raise Break(f"{self.function} writes objects, and is an argument of {self.operator}")
            self.is_repeatable = output.side_effects.touched == touched
            return self._finish(scope, result)

    def _finish(self, scope: Any, result: Variable) -> Any:
        """Make the graph of what was interpreted, and return the example of the result."""
        example, returned = example_of(result), argument_of(result)
        self.leaves, self._spec = tree_flatten(example)
        for leaf in self.leaves:
            if isinstance(leaf, Passed):
                raise Break(f"{self.function} returns {leaf.variable}, which no graph has")
        if self.is_flat:
            returned = tuple([leaf for leaf in tree_leaves(returned) if isinstance(leaf, Node)])
        scope.graph.output(map_arg(returned, self.tx.output.own))
        for node in reversed([*scope.graph.nodes]):
            if not node.users and (node.op == "get_attr" or node.target is operator.getitem):
                scope.graph.erase_node(node)
        self.outside, self.scope = [*scope.lifted], scope
        self.module = GraphModule(dict(scope.modules), scope.graph)
        return example

    def _variable(self, scope: Any, value: Any, name: str = "arg") -> Variable:
        """Return the variable of an example: inputs of the graph for its tensors."""
        if isinstance(value, Passed):
            return value.variable
        if isinstance(value, Tensor):
            return TensorVariable(scope.input(name, value), value)
        if isinstance(value, dict):
            made: Any = self.tx.made(type(value)())  # of its kind, and empty
            for key, item in value.items():
                entry = self.tx.made(key)
                made.entries[entry.key()] = entry, self._variable(scope, item, f"{name}_{key}")
            return made
        if type(value) in (tuple, list) or hasattr(value, "_fields"):
            items = [self._variable(scope, item, f"{name}_{number}") for number, item in enumerate(value)]
            return (ListVariable if type(value) is list else TupleVariable)(items, kind=type(value))
        return self.tx.made(value)

    def result(self, leaves: list[Variable]) -> Variable:
        """Return the result of a call of the graph, given its leaves."""
        places = iter(leaves)
        return self._variable(None, tree_unflatten([Passed(next(places)) for _ in leaves], self._spec))

    def node(self, meta: dict[str, Any] | None = None) -> Node:
        """Return the node of the graph in the outer graph."""
        output = self.tx.output
        if self.module is None:
            raise Break(f"{self.function} is not called by the function of the library that takes it")
        self.module.meta.update(meta or {})
        name = output.body_name(self.label)
        output.scopes[-1].modules[name] = self.module
        found: Node = output.node("get_attr", name, (), {}, None)
        return found

    def operands(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the positional arguments of a transform's node, for those of the function."""
        outside = (tuple(self.outside),) if self.outside else ()
        return self.node(), given, *outside


def _parameters(function: Variable) -> tuple[str, ...]:
    """Return the names of a function's variables, the parameters first, or of the one that a transform was given."""
    while isinstance(function, TransformVariable):
        function = function.function
    return function.code.co_varnames if isinstance(function, FunctionVariable) else ()


def run(tx: Translator, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run a transform on examples. What it raises itself is a graph break, and raised again when the call runs."""
    try:
        with tx.output.mode.fake:
            return function(*args, **kwargs)
    except (Break, Raised, Restart):
        raise
    except Exception as error:
        raise Break(f"{type(error).__name__}: {error}") from error


def added(tx: Translator, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Variable:
    """Add the node of a call, and return what it makes."""
    output = tx.output
    node = output.node("call_function", target, args, kwargs, result)
    found: Variable = output._wrap(tx, node, result) if fakes.has_tensors(result) else tx.made(result)
    return found


# -- transforms --------------------------------------------------------------------------------------------------------


def _settings(transform: Callable[..., Any], args: Any, kwargs: dict[str, Variable]) -> dict[str, Any]:
    """Return the settings of a transform that returns a function, by name."""
    try:
        bound = inspect.signature(transform).bind(None, *args, **kwargs)
    except TypeError as error:
        raise Break(f"{transform.__name__}: {error}") from error
    return {name: value for name, value in bound.arguments.items() if value is not None}


class TransformVariable(Variable):
    """The result of a transform of a function: ``vmap(f)``."""

    def __init__(self, transform: Callable[..., Any], function: Variable, settings: dict[str, Variable],
                 source: Any = None) -> None:
        self.transform, self.function, self.settings, self.source = transform, function, settings, source

    def python_type(self) -> type:
        return types.FunctionType

    def attribute(self, tx: Translator, name: str) -> Variable:
        return self.function if name == "__wrapped__" else self.function.attribute(tx, name)

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        settings = {name: constant_of(value) for name, value in self.settings.items()}
        target = OPERATORS[self.transform]
        given, body = tuple(map(argument_of, args)), Body(tx, self.function, target)
        result = run(tx, lambda: self.transform(body, **settings)(
            *map(example_of, args), **{name: example_of(arg) for name, arg in kwargs.items()}))
        named = {"kwargs": {name: argument_of(arg) for name, arg in kwargs.items()}} if kwargs else {}
        return added(tx, target, body.operands(given), {**named, **settings}, result)

    def reconstruct(self, cg: Codegen) -> str:
        settings = "".join(f", {name}={cg.value(value)}" for name, value in self.settings.items())
        return f"{cg.object(self.transform)}({cg.value(self.function)}{settings})"

    def __str__(self) -> str:
        return f"{self.transform.__name__} of {self.function}"


def make(transform: Callable[..., Any], tx: Translator, func: Variable, *args: Variable,
         **kwargs: Variable) -> Variable:
    """Call a transform that returns a function."""
    return TransformVariable(transform, func, _settings(transform, args, kwargs))


def _by_code() -> dict[types.CodeType, Callable[..., Any]]:
    found = {}
    for transform in MAKERS:
        for constant in transform.__code__.co_consts:
            if isinstance(constant, types.CodeType) and constant.co_name == "wrapper":
                found[constant] = transform
    return found


#: The transforms, by the code of the functions that they return.
TRANSFORMS = _by_code()


def wrapper(tx: Translator, value: Any, source: Any) -> Variable | None:
    """Return the variable of a function that a transform returned before the call, or None for another function."""
    transform = TRANSFORMS.get(value.__code__)
    if transform is None:
        return None
    settings = _read(tx, value, source, set(inspect.signature(transform).parameters) - {"func"})
    inner = value.__wrapped__
    function = tx.made(inner) if source is None else tx.wrap(inner, source.attribute("__wrapped__"))
    return TransformVariable(transform, function, settings, source)


def _read(tx: Translator, value: Any, source: Any, names: set[str]) -> dict[str, Variable]:
    """Return the settings in the closure of a transform's function, or of the function below it."""
    if source is not None:
        tx.output.guards.code(source, value.__code__)
    found: dict[str, Variable] = {}
    for number, (name, cell) in enumerate(zip(value.__code__.co_freevars, value.__closure__, strict=True)):
        at = source and source.attribute("__closure__").item(str(number)).attribute("cell_contents")
        content = cell.cell_contents
        if name == "both":
            found.update(_read(tx, content, at, names))
        elif name in names:
            found[name] = tx.made(content) if at is None else tx.wrap(content, at)
    return found


class LinearVariable(Variable):
    """The function that ``vjp`` or ``linearize`` returned in the graph."""

    def __init__(self, node: Node, name: str) -> None:
        self.node, self.name = node, name

    def python_type(self) -> type:
        return types.FunctionType

    def argument(self) -> Any:
        return self.node

    def call(self, tx: Translator, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        found: Variable = tx.output.call(tx, "call_function", call_linear, [self, *args], kwargs)
        return found

    def __str__(self) -> str:
        return f"the function that {self.name} returned"


def apply(transform: Callable[..., Any], tx: Translator, func: Variable, *args: Variable,
          **kwargs: Variable) -> Variable:
    """Call a transform that takes the function and its arguments."""
    settings = {name: constant_of(value) for name, value in kwargs.items()}
    target = OPERATORS[transform]
    given, body = tuple(map(argument_of, args)), Body(tx, func, target)
    result = run(tx, lambda: transform(body, *map(example_of, args), **settings))
    node = tx.output.node("call_function", target, body.operands(given), settings, result)
    items: list[Variable] = []
    for number, item in enumerate(result):
        one = tx.output.node("call_function", operator.getitem, (node, number), {}, item)
        items.append(LinearVariable(one, transform.__name__) if isinstance(item, types.FunctionType) else
                     tx.output._wrap(tx, one, item) if fakes.has_tensors(item) else tx.made(item))
    return TupleVariable(items)


# -- calls that a graph keeps whole ------------------------------------------------------------------------------------


def _whole(tx: Translator, target: GraphOperator, function: Variable, args: Any, kwargs: dict[str, Variable],
           settings: dict[str, Any], meta: dict[str, Any] | None = None) -> Variable:
    """Call a function as one node, whose operands are the tensors that the function reads, of its arguments, too."""
    body = Body(tx, function, target, is_flat=True, label="wrap_body")
    run(tx, body, *map(Passed, args), **{name: Passed(arg) for name, arg in kwargs.items()})
    graph = body.node(meta)
    tensors = tuple([leaf for leaf in body.leaves if isinstance(leaf, Tensor)])
    made = iter(added(tx, target, (graph, *body.outside), settings, tensors).items(tx))
    return body.result([next(made) if isinstance(leaf, Tensor) else tx.made(leaf) for leaf in body.leaves])


def call_wrap(tx: Translator, function: Variable, *args: Variable, **kwargs: Variable) -> Variable:
    """Call ``wrap``."""
    return _whole(tx, wrap, function, args, kwargs, {})


def call_checkpoint(tx: Translator, function: Variable, *args: Variable, **kwargs: Variable) -> Variable:
    """Call ``utils.checkpoint``. As in PyTorch, both of its ways are one in a graph."""
    kwargs.pop("use_reentrant", None)
    names: tuple[str, ...] = "preserve_rng_state", "determinism_check", "early_stop"
    settings = {name: kwargs.pop(name).value for name in names if name in kwargs}
    kwargs.pop("debug", None)
    contexts, meta = kwargs.pop("context_fn", None), {}
    if contexts is not None and (found := function_behind(contexts)) is not noop_context_fn:
        meta = {CONTEXTS: found}
    return _whole(tx, tag_activation_checkpoint, function, args, kwargs, settings, meta)


# -- modules as functions ----------------------------------------------------------------------------------------------


def call_functional(tx: Translator, module: Variable, given: Variable, args: Variable | None = None,
                    kwargs: Variable | None = None, tie_weights: Variable | None = None,
                    strict: Variable | None = None) -> Variable:
    """Call ``torch.func.functional_call``: interpret the module's call with other tensors in its tables."""
    if not isinstance(module, UserObject) or not isinstance(module.real, Module):
        raise Break(f"functional_call of {module}")
    parts = [given] if isinstance(given, DictVariable) else given.items(tx)
    pairs = [(key.value, value) for part in parts for key, value in part.entries.values()]  # type: ignore[attr-defined]
    tensors = dict(pairs)
    own = {name: tensor for named in (module.real.named_parameters, module.real.named_buffers)
           for name, tensor in named(remove_duplicate=False)}
    if len(tensors) < len(pairs) or not own.keys() >= tensors.keys() or (
            strict is not None and strict.value and own.keys() != tensors.keys()):
        raise Break("functional_call with names that are not those of the module, each once")
    if tie_weights is None or tie_weights.value:
        chosen = {id(own[name]): value for name, value in tensors.items()}
        if any(chosen[id(own[name])] is not value for name, value in tensors.items()):
            raise Break("functional_call with several values for tied names")
        tensors = {name: chosen[id(tensor)] for name, tensor in own.items() if id(tensor) in chosen}
    undo: list[Callable[[], Any]] = []
    try:
        for path, value in tensors.items():
            undo += _swapped(tx, module, path, value)
        positional = [] if args is None or is_none(args) else args.items(tx) if isinstance(
            args, SequenceVariable) and args.kind is tuple else [args]
        named: Any = {} if kwargs is None or is_none(kwargs) else {
            key.value: value for key, value in kwargs.entries.values()}  # type: ignore[attr-defined]
        return module.call(tx, positional, named)
    finally:
        for step in reversed(undo):
            step()


def _swapped(tx: Translator, module: Variable, path: str, value: Variable) -> list[Callable[[], Any]]:
    """Put a tensor in the place of a module's, and return the steps that put that back."""
    *prefix, name = path.split(".")
    owner: Any = module
    for part in prefix:
        owner = owner.attribute(tx, part)
    table = owner.attribute(tx, "_parameters" if name in owner.real._parameters else "_buffers")
    before, key = owner.written.get(name, MISSING), ConstantVariable(name)
    entry = table.entries[key.key()]
    owner.written[name], table.entries[key.key()] = value, (key, value)

    def back() -> None:
        if owner.written.get(name) is not value:
            raise Break(f"the module writes its {name!r} in a functional_call")
        table.entries[key.key()] = entry
        if before is MISSING:
            del owner.written[name]
        else:
            owner.written[name] = before

    return [back]


#: How the library's functions of functions are interpreted.
SPECIAL_FUNCTIONS: dict[Any, Callable[..., Variable]] = {
    **{one: functools.partial(make, one) for one in MAKERS}, **{one: functools.partial(apply, one) for one in APPLIERS},
    wrap: call_wrap, checkpoint: call_checkpoint, functional_call: call_functional}
SPECIAL.update({id(function): handler for function, handler in SPECIAL_FUNCTIONS.items()})
