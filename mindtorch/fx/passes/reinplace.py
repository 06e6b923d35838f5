"""``torch.fx.passes.reinplace``: operators of a functional graph write in place again where no one can see it.

An operator may write its first argument if that has the result's size and dtype, belongs to no input, and no alias of
it is used later. One later use is allowed: that of the inverse of a view, ``select_scatter`` after ``select``, which
only puts back what was written. It is removed.
"""
from __future__ import annotations

import operator
from collections import defaultdict
from typing import Any

from ..._base.layout import overlaps_itself
from ..._dispatch.overloads import OpOverload, overload_of
from ..._dispatch.registry import inplace_name
from ..._dispatch.schemas import registry
from ..._subclasses.fake_tensor import FakeTensorMode
from ..._tensor import Tensor
from ..._transforms.pytree import tree_leaves
from ..graph_module import GraphModule
from ..interpreter import Interpreter
from ..node import Node, map_arg

#: The views whose inverses put a part back into the whole, by inverse.
VIEWS = {f"{view}_scatter": name for view, name in {
    "diagonal": "diagonal", "select": "select.int", "slice": "slice.Tensor", "as_strided": "as_strided"}.items()}


class _Values(Interpreter):
    """Runs a graph on fake tensors and keeps each node's value."""

    def __init__(self, gm: GraphModule) -> None:
        super().__init__(gm, garbage_collect_values=False)
        self.of: dict[Node, Any] = {}

    def run_node(self, n: Node) -> Any:
        """Run a node and keep its value."""
        self.of[n] = super().run_node(n)
        return self.of[n]


class _Graph:
    """A graph with the aliases of its nodes."""

    def __init__(self, gm: GraphModule, values: dict[Node, Any]):
        self.gm, self.values = gm, values
        self.order = {node: i for i, node in enumerate(gm.graph.nodes)}
        #: By memory: the nodes that lie in it. Memories of which one becomes the other's share one set.
        self.aliases: dict[int, set[Node]] = defaultdict(set)
        for node, value in values.items():
            for tensor in tree_leaves(value):
                if isinstance(tensor, Tensor):
                    self.aliases[id(tensor.untyped_storage())].add(node)
        self.of_inputs = {self.memory(node) for node in gm.graph.nodes if node.op == "placeholder"}
        self.removed: dict[Node, None] = {}

    def memory(self, node: Node) -> int:
        """Return the memory of a node's value; 0 unless it is a tensor."""
        value = self.values.get(node)
        return id(value.untyped_storage()) if isinstance(value, Tensor) else 0

    def used_later(self, node: Node, source: Node) -> set[Node]:
        """Return the nodes after ``node`` that read the memory of its argument; views of it only lead to these."""
        aliases = self.aliases[self.memory(source)]
        return {user for alias in aliases for user in alias.users
                if self.order.get(user, -1) > self.order[node]
                and not (user in aliases and (isinstance(user.target, OpOverload)
                                              or user.target is operator.getitem))}

    def only_put_back(self, users: set[Node], source: Node) -> set[Node]:
        """Return the users that are inverses of a view that leads to ``source``."""
        found = set()
        for user in users:
            if scatter_of(user) is None:
                continue
            for alias in self.aliases[self.memory(source)]:
                whole = self.whole_of(alias)
                if whole is None or not isinstance(self.values[alias], Tensor):
                    continue
                if layout(self.values[whole]) == layout(self.values[user.args[0]]) and (
                        self.layout_of_part(user, whole) == layout(self.values[alias])):
                    found.add(user)
        return found

    def whole_of(self, node: Node) -> Node | None:
        """Return the node that another one is a view of."""
        if node.target is operator.getitem:
            node = node.args[0]
        is_view = isinstance(node.target, OpOverload) and node.target.is_view
        return node.args[0] if is_view else None

    def layout_of_part(self, scatter: Node, whole: Node) -> Any:
        """Return the layout of the part that a scatter puts into a whole; None if the whole has no such part."""
        try:
            with self.values[whole].fake_mode:
                return layout(scatter_of(scatter)(self.values[whole], *scatter.args[2:]))
        except (RuntimeError, IndexError):
            return None

    def merge(self, first: int, second: int) -> None:
        """Record that two memories are one."""
        both = self.aliases[first] | self.aliases[second]
        self.aliases[first] = self.aliases[second] = both


def scatter_of(node: Node) -> Any:
    """Return the view operator whose inverse a node is, or None."""
    name = VIEWS.get(node.target._opname) if isinstance(node.target, OpOverload) else None
    return None if name is None else overload_of(registry[name])


def layout(value: Tensor) -> Any:
    """Return where a tensor's elements lie."""
    return tuple(value.shape), value._strides(), value._offset


def inplace_of(op: OpOverload) -> OpOverload | None:
    """Return the in-place overload of an operator, or None."""
    if op.is_view:
        return None
    name = inplace_name(op._operator.name)
    found = registry.operators.get(name)
    return None if found is None else overload_of(found, op._overloadname == "Scalar" and not found.overload)


def fits(source: Any, result: Any) -> bool:
    """Return True if a result can be written over a value."""
    old, new = tree_leaves(source), tree_leaves(result)
    if len(old) != len(new):
        return True
    return all(isinstance(first, Tensor) and isinstance(second, Tensor) and first.numel() == second.numel()
               and first.dtype == second.dtype and not overlaps_itself(tuple(first.shape), first._strides())
               for first, second in zip(old, new, strict=True))


def reinplace(gm: GraphModule, *sample_args: Any) -> GraphModule:
    """Have operators of a functional graph of ATen write in place where that is safe, and return the module
    (``torch.fx.passes.reinplace.reinplace``). ``sample_args`` show which inputs alias.
    """
    run = _Values(gm)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        run.run(*[mode.from_tensor(arg) if isinstance(arg, Tensor) else arg for arg in sample_args])
    graph = _Graph(gm, run.of)
    for node in [*gm.graph.nodes]:
        source = node.args[0] if node.args else None
        if not isinstance(node.target, OpOverload) or not isinstance(source, Node) or not graph.memory(source):
            continue
        if not fits(run.of[source], run.of[node]) and node.target._opname != "resize":
            continue
        if graph.memory(source) in graph.of_inputs or node.args.count(source) > 1:
            continue
        users = graph.used_later(node, source)
        back = graph.only_put_back(users, source)
        if users - back or not _write(graph, node, source):
            continue
        graph.merge(graph.memory(source), graph.memory(node))
        graph.removed.update(dict.fromkeys(back))
        for old in (node, *sorted(back, key=graph.order.__getitem__)):
            _replace_later(graph, node, old)
    for node in graph.removed:
        gm.graph.erase_node(node)
    gm.recompile()
    return gm


def _write(graph: _Graph, node: Node, source: Node) -> bool:
    """Turn an operator into one that writes its argument. Return False if there is none."""
    view = scatter_of(node)
    if view is not None and node not in graph.removed:
        with graph.gm.graph.inserting_before(node):
            part = graph.gm.graph.call_function(view, (source, *node.args[2:]), node.kwargs)
            graph.gm.graph.call_function(overload_of(registry["copy_"]), (part, node.args[1]))
        graph.removed[node] = None
        return True
    written = inplace_of(node.target) if isinstance(node.target, OpOverload) else None
    if written is None:
        return False
    node.target = written
    return True


def _replace_later(graph: _Graph, node: Node, old: Node) -> None:
    """Have the nodes after ``node`` use what was written in place of an old value."""
    new = old.args[0]
    assert isinstance(new, Node)

    def renamed(used: Node) -> Any:
        return new if used is old else used

    for user in [user for user in old.users if graph.order.get(user, -1) > graph.order[node]]:
        user.args, user.kwargs = map_arg(user.args, renamed), map_arg(user.kwargs, renamed)
        if graph.memory(old) and graph.memory(old) == graph.memory(user):
            graph.merge(graph.memory(user), graph.memory(new))
