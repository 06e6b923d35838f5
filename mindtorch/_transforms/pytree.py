"""Nested containers as flat lists of leaves and back (``torch.utils._pytree``).

A container is a node if its type has a row in ``SUPPORTED_NODES``, or if it is a named tuple; anything else is a leaf.
"""
from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from .._base.size import Size

Context = Any
FlattenFn = Callable[[Any], tuple[Iterable[Any], Context]]
UnflattenFn = Callable[[Iterable[Any], Context], Any]


class SequenceKey(NamedTuple):
    """The place of an item of a list or tuple (``torch.utils._pytree.SequenceKey``)."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """Return the item at this place."""
        return sequence[self.idx]


class MappingKey(NamedTuple):
    """The place of an item of a dictionary (``torch.utils._pytree.MappingKey``)."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """Return the item at this place."""
        return mapping[self.key]


class GetAttrKey(NamedTuple):
    """The place of an attribute (``torch.utils._pytree.GetAttrKey``)."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """Return the attribute."""
        return getattr(obj, self.name)


class NodeDef(NamedTuple):
    """How a type of containers is taken apart and put together (``torch.utils._pytree.NodeDef``)."""

    type: Any
    flatten_fn: FlattenFn
    unflatten_fn: UnflattenFn
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Context]] | None


class TreeSpec:
    """The structure of a nested value: the type and the context of its outermost container, and the specs of the items
    (``torch.utils._pytree.TreeSpec``).
    """

    __slots__ = ("children_specs", "context", "num_children", "num_leaves", "num_nodes", "type")
    num_leaves: int
    num_nodes: int

    def __init__(self, type: Any, context: Context, children_specs: Iterable[TreeSpec]):
        self.type, self.context, self.children_specs = type, context, list(children_specs)
        self.num_children = len(self.children_specs)
        self.num_nodes = 1 + sum(spec.num_nodes for spec in self.children_specs)
        self.num_leaves = sum(spec.num_leaves for spec in self.children_specs) if type is not None else 1

    def is_leaf(self) -> bool:
        """Return True for the spec of a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """Return the specs of the items."""
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        """Return the spec of an item."""
        return self.children_specs[index]

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return the parts of a nested value at the places of this spec's leaves.

        Raises:
            ValueError: if a container differs in type, context or number of items.
        """
        if self.type is None:
            return [tree]
        node = node_of(tree)
        kind = None if node is None else node.type
        if node is None or kind is not self.type:
            both = kind in DICTIONARIES and self.type in DICTIONARIES
            if not both:
                raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {kind or type(tree)!r}.")
        assert node is not None
        items, context = node.flatten_fn(tree)
        items = list(items)
        if len(items) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(items)}.")
        if kind in DICTIONARIES:
            keys, found = _keys(self.type, self.context), _keys(kind, context)
            missing, extra = {*keys} - {*found}, {*found} - {*keys}
            if missing or extra:
                raise ValueError("Node keys mismatch" + (f"; missing key(s): {missing}" if missing else "")
                                 + (f"; extra key(s): {extra}" if extra else "") + ".")
            items = [tree[key] for key in keys]
        elif context != self.context and kind is not deque:
            raise ValueError(f"Node context mismatch for node type {self.type!r}; expected {self.context!r}, but got "
                             f"{context!r}.")
        return [part for item, spec in zip(items, self.children_specs, strict=True)
                for part in spec.flatten_up_to(item)]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the nested value of these leaves.

        Raises:
            ValueError: if there are too few or too many.
        """
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a "
                             f"pytree that holds {self.num_leaves} items ({self}).")
        return self._build(iter(leaves))

    def _build(self, leaves: Any) -> Any:
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn([spec._build(leaves) for spec in self.children_specs],
                                                       self.context)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, TreeSpec) and (
            self.type == other.type and self.context == other.context and self.children_specs == other.children_specs))

    def __hash__(self) -> int:
        keys = tuple(_keys(self.type, self.context)) if self.type in DICTIONARIES else None
        return hash((self.type, keys, tuple(self.children_specs)))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        inner = f",\n{' ' * (indent + 2)}".join(spec.__repr__(indent + 2) for spec in self.children_specs)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{inner}])"


class LeafSpec(TreeSpec):
    """The structure of a leaf (``torch.utils._pytree.LeafSpec``)."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, ())


LEAF = LeafSpec()


def _keys(kind: Any, context: Context) -> list[Any]:
    return context[1] if kind is defaultdict else context


def _mapping(d: Any) -> tuple[list[Any], Context]:
    return list(d.values()), list(d)


def _mapping_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Context]:
    context = SUPPORTED_NODES[type(d)].flatten_fn(d)[1]
    return [(MappingKey(key), value) for key, value in d.items()], context


def _sequence(s: Any) -> tuple[Any, Context]:
    return s, None


def _sequence_with_keys(s: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return [(SequenceKey(i), item) for i, item in enumerate(s)], SUPPORTED_NODES[type(s)].flatten_fn(s)[1]


DICTIONARIES = (dict, OrderedDict, defaultdict)
#: A row for each type of containers; ``register_pytree_node`` adds one. ``namedtuple`` stands for all named tuples.
SUPPORTED_NODES: dict[Any, NodeDef] = {row.type: row for row in (
    NodeDef(tuple, _sequence, lambda items, _: tuple(items), _sequence_with_keys),
    NodeDef(list, _sequence, lambda items, _: list(items), _sequence_with_keys),
    NodeDef(dict, _mapping, lambda items, keys: dict(zip(keys, items, strict=True)), _mapping_with_keys),
    NodeDef(namedtuple, lambda t: (t, type(t)), lambda items, kind: kind(*items),
            lambda t: ([(GetAttrKey(name), item) for name, item in zip(t._fields, t, strict=True)], type(t))),
    NodeDef(OrderedDict, _mapping, lambda items, keys: OrderedDict(zip(keys, items, strict=True)), _mapping_with_keys),
    NodeDef(defaultdict, lambda d: (list(d.values()), [d.default_factory, list(d)]),
            lambda items, made: defaultdict(made[0], zip(made[1], items, strict=True)), _mapping_with_keys),
    NodeDef(deque, lambda d: (d, d.maxlen), lambda items, length: deque(items, maxlen=length), _sequence_with_keys),
    NodeDef(Size, _sequence, lambda items, _: Size(items), _sequence_with_keys),
)}


def node_of(tree: Any) -> NodeDef | None:
    """Return how a container is taken apart; None for a leaf."""
    kind = type(tree)
    node = SUPPORTED_NODES.get(kind)
    if node is None and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        if kind.__module__ != "torch.return_types":
            return SUPPORTED_NODES[namedtuple]
        node = SUPPORTED_NODES[kind] = NodeDef(kind, _sequence, lambda items, _: kind(*items), _sequence_with_keys)
    return node


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a nested value, and its spec; ``is_leaf`` may stop at a container."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeSpec:
    node = None if is_leaf is not None and is_leaf(tree) else node_of(tree)
    if node is None:
        leaves.append(tree)
        return LEAF
    items, context = node.flatten_fn(tree)
    return TreeSpec(node.type, context, [_flatten(item, leaves, is_leaf) for item in items])


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Return the leaves of a nested value."""
    leaves: list[Any] = []
    _collect(tree, leaves, is_leaf)
    return leaves


def _collect(tree: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> None:
    node = None if is_leaf is not None and is_leaf(tree) else node_of(tree)
    if node is None:
        leaves.append(tree)
    else:
        for item in node.flatten_fn(tree)[0]:
            _collect(item, leaves, is_leaf)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """Return the nested value of these leaves and that spec.

    Raises:
        TypeError: if ``treespec`` is not a spec.
        ValueError: if there are too few or too many leaves.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError("Expected `treespec` to be an instance of PyTreeSpec but got item of type "
                        f"{type(treespec)}.")
    return treespec.unflatten(leaves)


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Return a nested value with ``func`` applied to each leaf, and to the parts of other values at its place.

    Raises:
        ValueError: if another value has other containers.
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *map(spec.flatten_up_to, rests)))


def broadcast_to(tree: Any, spec: TreeSpec) -> list[Any] | None:
    """Return a prefix tree's leaves, each repeated for ``spec``'s leaves below it; None if not a prefix."""
    node = node_of(tree)
    if node is None:
        return [tree] * spec.num_leaves
    items, context = node.flatten_fn(tree)
    items = list(items)
    if (node.type, context, len(items)) != (spec.type, spec.context, spec.num_children):
        return None
    parts = [broadcast_to(item, child) for item, child in zip(items, spec.children_specs, strict=True)]
    return None if None in parts else [leaf for part in parts for leaf in part or ()]
