"""``Node``: one step of a graph, its arguments, and the nodes that use its result."""
from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .._C import _set_grad_enabled
from .._dispatch.overloads import OpOverload, OpOverloadPacket
from .._methods.checks import _assert
from .._tensor import Tensor
from ..nn.module import typename
from ..utils._dtype_abbrs import dtype_abbrs
from ._names import qualified_name, torch, type_name
from .immutable_collections import immutable_dict, immutable_list
from .operator_schemas import normalize_function, normalize_module

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]
__dir__ = __all__.copy
Target = Callable[..., Any] | str
#: A node, a number, a string, a tensor, a dtype, None, ..., or a tuple, list, dict, slice or range of arguments.
Argument = Any
#: The kinds of nodes, and of each node at the head of a graph's list.
LEGAL_OPS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output")
ROOT = "root"
#: Functions whose calls are kept though no node uses their results.
_side_effectful_functions: set[Callable[..., Any]] = {_assert, operator.setitem, _set_grad_enabled}
#: Functions that advance the state of a random number generator; PyTorch marks more operators than functions.
RANDOM = frozenset(("rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal",
                    "poisson", "bernoulli", "multinomial"))
RANDOM_OPERATORS = RANDOM | {
    "_sample_dirichlet", "_standard_gamma", "alpha_dropout", "binomial", "cauchy", "dropout", "exponential",
    "feature_alpha_dropout", "feature_dropout", "geometric", "log_normal", "native_dropout", "normal_functional",
    "random", "rrelu", "rrelu_with_noise", "rrelu_with_noise_functional", "uniform"}


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Have ``Graph.eliminate_dead_code`` keep calls of a function (``torch.fx.has_side_effect``)."""
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a: Argument, fn: Callable[[Any], Any]) -> Argument:
    """Return an argument with ``fn`` applied to each leaf of nested tuples, lists, dicts and slices; lists and dicts
    become immutable (``torch.fx.node.map_aggregate``).
    """
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list(map_aggregate(item, fn) for item in a)
    if isinstance(a, dict):
        return immutable_dict((key, map_aggregate(value, fn)) for key, value in a.items())
    if isinstance(a, slice):
        return slice(*(map_aggregate(part, fn) for part in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Argument, fn: Callable[[Node], Any]) -> Argument:
    """Return an argument with ``fn`` applied to each node in it (``torch.fx.map_arg``)."""
    assert callable(fn), "torch.fx.map_arg(a, fn): fn must be a callable"
    return map_aggregate(a, lambda leaf: fn(leaf) if isinstance(leaf, Node) else leaf)


def _format_arg(arg: Any, max_list_len: float = float("inf")) -> str:
    """Return an argument as ``print(graph)`` shows it: nodes as ``%name``."""
    if hasattr(arg, "_custom_fx_repr_fn"):
        return arg._custom_fx_repr_fn()
    if isinstance(arg, (list, tuple)):
        shown = [_format_arg(item) for at, item in enumerate(arg) if at < max_list_len]
        more = f", ...[total_len={len(arg)}]" if len(arg) > max_list_len else ""
        comma = "," if isinstance(arg, tuple) and len(arg) == 1 else ""
        opening, closing = "()" if isinstance(arg, tuple) else "[]"
        return f"{opening}{', '.join(shown)}{comma}{more}{closing}"
    if isinstance(arg, dict):
        return f"{{{', '.join(f'{key}: {_format_arg(value)}' for key, value in arg.items())}}}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


class Node:
    """A step of a graph (``torch.fx.Node``). The meaning of ``target``, ``args`` and ``kwargs`` depends on ``op``:

    =================  ==========================================  =================================================
    ``op``             ``target``                                  ``args``, ``kwargs``
    =================  ==========================================  =================================================
    ``placeholder``    the name of a parameter of the function     its default, if it has one
    ``get_attr``       the path of a parameter, buffer or module   none
    ``call_function``  the function                                the arguments of the call
    ``call_module``    the path of the module                      the arguments of ``forward``
    ``call_method``    the name of the method                      the arguments of the call, with the object first
    ``output``         ``"output"``                                the value that the graph returns
    =================  ==========================================  =================================================

    ``users`` has the nodes that use the result, ``all_input_nodes`` those whose results are used, ``meta`` what passes
    record. The nodes of a graph are a ring: ``next`` and ``prev`` are neighbours in the order of execution.
    """

    def __init__(self, graph: Graph, name: str, op: str, target: Target, args: tuple[Argument, ...],
                 kwargs: dict[str, Argument], return_type: Any = None):
        wanted = "Callable" if op == "call_function" else "str"
        assert op in LEGAL_OPS or op == ROOT, f"op '{op}' is not one of {', '.join(LEGAL_OPS)}"
        if not (callable(target) if op == "call_function" else isinstance(target, str)):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {typename(target)} but "
                             f"a {wanted} is expected")
        self.graph, self._name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._repr_fn: Callable[[Node], str] | None = None
        self._prev = self._next = self
        self._sort_key: tuple[int, ...] = ()
        self._erased = False
        self._input_nodes: dict[Node, None] = {}
        self._args: tuple[Argument, ...] = ()
        self._kwargs: dict[str, Argument] = {}
        self._update_args_kwargs(args, kwargs)

    # -- order -------------------------------------------------------------------------------------------------

    @property
    def next(self) -> Node:
        """The node after this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move a node of the same graph to the place before this one (``torch.fx.Node.prepend``)."""
        assert self.graph is x.graph, "Attempting to move a Node into a different Graph"
        if x is self:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x
        x._sort_key = _between(before._sort_key, self._sort_key)

    def append(self, x: Node) -> None:
        """Move a node of the same graph to the place after this one (``torch.fx.Node.append``)."""
        if x is not self:
            self._next.prepend(x)

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def __lt__(self, other: Node) -> bool:
        return self._sort_key < other._sort_key

    def __gt__(self, other: Node) -> bool:
        return self._sort_key > other._sort_key

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return self is other or self > other

    # -- arguments ---------------------------------------------------------------------------------------------

    @property
    def args(self) -> tuple[Argument, ...]:
        """The positional arguments; assigning them updates the users of the nodes in them."""
        return self._args

    @args.setter
    def args(self, a: tuple[Argument, ...]) -> None:
        self._update_args_kwargs(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The arguments by keyword; assigning them updates the users of the nodes in them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Argument]) -> None:
        self._update_args_kwargs(self._args, k)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def _update_args_kwargs(self, args: tuple[Argument, ...], kwargs: dict[str, Argument]) -> None:
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = {}

        def use(leaf: Any) -> Any:
            if isinstance(leaf, Node):
                self._input_nodes[leaf] = None
                leaf.users[self] = None
            return leaf

        self._args, self._kwargs = map_aggregate(tuple(args), use), map_aggregate(dict(kwargs), use)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace one positional argument (``torch.fx.Node.update_arg``)."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Insert a positional argument before the one at ``idx`` (``torch.fx.Node.insert_arg``)."""
        assert 0 <= idx <= len(self.args), "insert_args index must be between 0 and len(self.args)"
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Replace one keyword argument (``torch.fx.Node.update_kwarg``)."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Argument) -> None:
        """Replace a node in the arguments wherever it appears (``torch.fx.Node.replace_input_with``)."""
        for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
            hook(old=old_input, new=new_input.name, user=self)
        self._replace_input_with(old_input, new_input)

    def _replace_input_with(self, old: Node, new: Argument) -> None:
        args, kwargs = map_arg((self.args, self.kwargs), lambda node: new if node is old else node)
        self._update_args_kwargs(args, kwargs)

    def replace_all_uses_with(self, replace_with: Node, delete_user_cb: Callable[[Node], bool] | None = None, *,
                              propagate_meta: bool = False) -> list[Node]:
        """Have the users of this node use another one, and return the users that changed: those for which
        ``delete_user_cb`` returns True. ``propagate_meta`` copies ``meta`` to a node that has none
        (``torch.fx.Node.replace_all_uses_with``).
        """
        if propagate_meta:
            assert not replace_with.meta, ("Called node.replace_all_uses_with(replace_with, propagate_meta=True), but "
                                           "replace_with already has .meta keys")
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def normalized_arguments(self, root: Any, arg_types: tuple[Any, ...] | None = None,
                             kwarg_types: dict[str, Any] | None = None,
                             normalize_to_only_use_kwargs: bool = False) -> Any:
        """Return ``args`` and ``kwargs`` matched to the signature of the function or module, with defaults; None if
        that is not possible (``torch.fx.Node.normalized_arguments``).
        """
        if self.op == "call_function":
            return normalize_function(self.target, self.args, self.kwargs,  # type: ignore[arg-type]
                                      arg_types, kwarg_types, normalize_to_only_use_kwargs)
        if self.op == "call_module":
            return normalize_module(root, self.target, self.args, self.kwargs,  # type: ignore[arg-type]
                                    normalize_to_only_use_kwargs)
        return None

    # -- facts -------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of the result, unique in the graph."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        for user in self.users:
            for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
                hook(old=self, new=name, user=user)
        self._name = name

    def _rename(self, candidate: str) -> None:
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)

    @property
    def stack_trace(self) -> str | None:
        """The Python stack that recorded the node, innermost frame last, if the tracer keeps stacks."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Return True if the node has an effect besides its result: ``Graph.eliminate_dead_code`` keeps it
        (``torch.fx.Node.is_impure``).
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_module":
            assert self.graph.owning_module is not None, "self.graph.owning_module not set for purity check"
            return getattr(self.graph.owning_module.get_submodule(str(self.target)), "_is_impure", False)
        return self.op == "call_function" and _is_impure(self.target, impure_random)

    # -- text --------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    @staticmethod
    def _pretty_print_target(target: Any) -> str:
        if isinstance(target, str):
            return target
        module = {"builtins": "builtins", "_operator": "operator"}.get(getattr(target, "__module__", None) or "")
        return f"{module}.{target.__name__}" if module else qualified_name(target)

    def format_node(self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None, *,
                    include_tensor_metadata: bool = False) -> str | None:
        """Return the line of ``print(graph)`` for the node. With ``placeholder_names``, a placeholder is added to them
        instead, and ``maybe_return_typename`` receives the type of the output (``torch.fx.Node.format_node``).
        """
        kind = f"{type_name(self.type)} " if self.type is not None else ""
        start = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}[target="
        if self.op == "placeholder":
            if placeholder_names:
                placeholder_names.append(f"{self.target}{f': {type_name(self.type)}' if self.type else ''}")
                return None
            return f"{start}{self.target}]" + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return f"{start}{self.target}]"
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {type_name(self.type)}"
            return f"return {self.args[0]}"
        value = self.meta.get("val", self.meta.get("tensor_meta", self.meta.get("example_value")))
        if include_tensor_metadata and isinstance(value, Tensor):
            start = start.replace(kind, "", 1) if kind else start
            start = start.replace("[num_users", f"{_tensor_type(value)}[num_users", 1)
        return (f"{start}{self._pretty_print_target(self.target)}](args = {_format_arg(self.args)}, "
                f"kwargs = {_format_arg(self.kwargs)})")


def _tensor_type(value: Tensor) -> str:
    sizes, strides = (f"[{', '.join(map(str, numbers))}]" for numbers in (value.shape, value.stride()))
    return f'Tensor "{dtype_abbrs[value.dtype]}{sizes}{strides}{value.device}"'


def _is_impure(target: Any, impure_random: bool) -> bool:
    if target in _side_effectful_functions:
        return True
    if isinstance(target, OpOverloadPacket):
        target = getattr(target, "default", target)
    if isinstance(target, OpOverload):
        returns_nothing = target._operator.text.endswith("-> ()")  # as ``_assert_scalar`` does
        return target._schema.is_mutable or returns_nothing or (impure_random and target._opname in RANDOM_OPERATORS)
    name = getattr(target, "__name__", None)
    return name in RANDOM and getattr(torch, name, None) is target


def _between(before: tuple[int, ...], after: tuple[int, ...]) -> tuple[int, ...]:
    """Return a sort key between the keys of two neighbours; the root of a graph has the key ``()`` on both sides."""
    if len(before) > len(after):
        return (*before[:len(after)], before[len(after)] + 1)
    if len(before) < len(after):
        return (*after[:len(before)], after[len(before)] - 1)
    return (*before, 0)


def nodes_between(first: Node, end: Node, backwards: bool = False) -> Iterator[Node]:
    """Yield the nodes from ``first`` on, up to ``end``; nodes may be erased and inserted meanwhile."""
    node = first
    while node is not end:
        if not node._erased:
            yield node
        node = node._prev if backwards else node._next
