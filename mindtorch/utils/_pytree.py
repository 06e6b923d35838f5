"""``torch.utils._pytree``: nested containers, their leaves and the places of these, types that join them, text."""
from __future__ import annotations

import dataclasses
import importlib
import json
from collections import defaultdict, namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .._transforms.pytree import (
    LEAF as _LEAF_SPEC, SUPPORTED_NODES as SUPPORTED_NODES, Context as Context, FlattenFn as FlattenFn,
    GetAttrKey as GetAttrKey, LeafSpec as LeafSpec, MappingKey as MappingKey, NodeDef as NodeDef,
    SequenceKey as SequenceKey, TreeSpec as TreeSpec, UnflattenFn as UnflattenFn,
    broadcast_to as _broadcast_to_and_flatten, node_of, tree_flatten as tree_flatten, tree_leaves as tree_leaves,
    tree_map as tree_map, tree_unflatten as tree_unflatten,
)

PyTree = Any
PyTreeSpec = TreeSpec
DumpableContext = Any
ToDumpableContextFn = Callable[[Context], DumpableContext]
FromDumpableContextFn = Callable[[DumpableContext], Context]
KeyEntry = SequenceKey | MappingKey | GetAttrKey
KeyPath = tuple[Any, ...]
FlattenFunc, UnflattenFunc = FlattenFn, UnflattenFn
#: PyTorch's names for parts of a row, which libraries import.
_dict_flatten, _dict_unflatten = SUPPORTED_NODES[dict].flatten_fn, SUPPORTED_NODES[dict].unflatten_fn
_dict_flatten_with_keys, _list_flatten_with_keys, _tuple_flatten_with_keys = (
    SUPPORTED_NODES[kind].flatten_with_keys_fn for kind in (dict, list, tuple))
_list_flatten, _list_unflatten = SUPPORTED_NODES[list].flatten_fn, SUPPORTED_NODES[list].unflatten_fn
_tuple_flatten, _tuple_unflatten = SUPPORTED_NODES[tuple].flatten_fn, SUPPORTED_NODES[tuple].unflatten_fn
_ALSO = (_LEAF_SPEC, _broadcast_to_and_flatten)
#: Of types that users add: the name in text, and what makes a context JSON and back.
_SERIALIZED: dict[Any, tuple[str | None, ToDumpableContextFn | None, FromDumpableContextFn | None]] = {}
PROTOCOL = 1  #: PyTorch's version of the text


def register_pytree_node(cls: Any, flatten_fn: FlattenFn, unflatten_fn: UnflattenFn, *,
                         serialized_type_name: str | None = None,
                         to_dumpable_context: ToDumpableContextFn | None = None,
                         from_dumpable_context: FromDumpableContextFn | None = None,
                         flatten_with_keys_fn: Callable[[Any], Any] | None = None) -> None:
    """Make a type a container: ``flatten_fn`` returns its items and a context, ``unflatten_fn`` takes both
    (``torch.utils._pytree.register_pytree_node``).

    Raises:
        ValueError: if the type is a container already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) is not (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    _SERIALIZED[cls] = (serialized_type_name, to_dumpable_context, from_dumpable_context)


_register_pytree_node = _private_register_pytree_node = register_pytree_node


def _deregister_pytree_node(cls: Any) -> None:
    del SUPPORTED_NODES[cls]
    _SERIALIZED.pop(cls, None)


def _register_namedtuple(cls: Any, *, serialized_type_name: str) -> None:
    _SERIALIZED[cls] = (serialized_type_name, None, None)


def register_dataclass(cls: Any, *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None,
                       serialized_type_name: str | None = None) -> None:
    """Make a dataclass a container of its fields (``torch.utils._pytree.register_dataclass``); a field that is None
    belongs to the context.

    Raises:
        ValueError: if fields are neither named nor dropped.
    """
    if field_names is None:
        if not dataclasses.is_dataclass(cls):
            raise ValueError("field_names must be specified with a list of all fields used to initialize "
                             f"{cls}, as it is not a dataclass.")
        field_names = [field.name for field in dataclasses.fields(cls) if field.init]
        field_names = [name for name in field_names if name not in (drop_field_names or ())]
    names = field_names

    def flatten_with_keys(obj: Any) -> Any:
        there = [name for name in names if getattr(obj, name) is not None]
        return ([(GetAttrKey(name), getattr(obj, name)) for name in there],
                [there, [name for name in names if name not in there]])

    def flatten(obj: Any) -> Any:
        items, context = flatten_with_keys(obj)
        return [item for _, item in items], context

    register_pytree_node(cls, flatten, lambda items, context: cls(**dict(zip(context[0], items, strict=True)),
                                                                  **dict.fromkeys(context[1])),
                         serialized_type_name=serialized_type_name, flatten_with_keys_fn=flatten_with_keys)


def register_constant(cls: Any) -> None:
    """Make a type, whose objects compare by value, a container without items
    (``torch.utils._pytree.register_constant``).

    Raises:
        TypeError: if it has no ``__eq__`` or no ``__hash__`` of its own.
    """
    if cls.__eq__ is object.__eq__ or cls.__hash__ is None or cls.__hash__ is object.__hash__:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__eq__` and `__hash__`.")
    register_pytree_node(cls, lambda obj: ([], obj), lambda items, obj: obj, flatten_with_keys_fn=lambda obj: ([], obj))
    CONSTANT_NODES.add(cls)


CONSTANT_NODES: set[Any] = set()


def is_constant_class(cls: Any) -> bool:
    """Return True if ``register_constant`` has the type."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


def is_namedtuple_class(cls: Any) -> bool:
    """Return True for a type that ``collections.namedtuple`` or ``typing.NamedTuple`` made."""
    return (isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")
            and cls.__module__ != "torch.return_types")


def is_namedtuple_instance(obj: Any) -> bool:
    """Return True for a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: Any) -> bool:
    """Return True for a named tuple or the type of one."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: Any) -> bool:
    """Return True for a type of ``torch.return_types``."""
    return isinstance(cls, type) and issubclass(cls, tuple) and cls.__module__ == "torch.return_types"


def is_structseq_instance(obj: Any) -> bool:
    """Return True for several outputs of an operator: ``torch.return_types.max``."""
    return is_structseq_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Return True for an object or a type of ``torch.return_types``."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


_is_namedtuple_instance = is_namedtuple_instance


def _get_node_type(tree: Any) -> Any:
    return namedtuple if is_namedtuple_instance(tree) else type(tree)


def tree_is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return True if a value is not a container, or ``is_leaf`` says so."""
    return (is_leaf is not None and is_leaf(tree)) or node_of(tree) is None


_is_leaf = tree_is_leaf


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """Yield the leaves."""
    yield from tree_leaves(tree, is_leaf)


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """Return the leaves of a call's arguments."""
    return [leaf for value in (*args, *kwargs.values()) for leaf in tree_leaves(value)]


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """Return the structure of a nested value, without its leaves."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Call ``func`` with each leaf, and return the value itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def map_only(type_or_types: Any) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Return a decorator: a function applied to values of a type, or for which a predicate is true; others pass."""
    def wanted(leaf: Any) -> bool:
        if callable(type_or_types) and not isinstance(type_or_types, type):
            return bool(type_or_types(leaf))
        return isinstance(leaf, type_or_types)

    return lambda func: lambda leaf: func(leaf) if wanted(leaf) else leaf


def tree_map_only(type_or_types: Any, func: Callable[[Any], Any], tree: Any,
                  is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Return a nested value with ``func`` applied to each leaf of a type, or for which a function is true."""
    return tree_map(map_only(type_or_types)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types: Any, func: Callable[[Any], Any], tree: Any,
                   is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Call ``func`` with each leaf of a type, and return the value itself."""
    return tree_map_(map_only(type_or_types)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return True if ``pred`` is true of all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return True if ``pred`` is true of any leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(type_or_types: Any, pred: Callable[[Any], bool], tree: Any,
                  is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return True if ``pred`` is true of all leaves of a type."""
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(type_or_types: Any, pred: Callable[[Any], bool], tree: Any,
                  is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return True if ``pred`` is true of any leaf of a type."""
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, type_or_types))


# -- places ----------------------------------------------------------------------------------------------------------


def tree_leaves_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[tuple[KeyPath, Any]]:
    """Return the leaves, each with the keys that lead to it.

    Raises:
        ValueError: if a container's type was registered without ``flatten_with_keys_fn``.
    """
    return list(_walk(tree, (), is_leaf))


def _walk(tree: Any, path: KeyPath, is_leaf: Callable[[Any], bool] | None) -> Iterator[tuple[KeyPath, Any]]:
    node = None if is_leaf is not None and is_leaf(tree) else node_of(tree)
    if node is None:
        yield path, tree
        return
    if node.flatten_with_keys_fn is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a "
                         "flatten_with_keys_fn argument to register_pytree_node.")
    for key, item in node.flatten_with_keys_fn(tree)[0]:
        yield from _walk(item, (*path, key), is_leaf)


def tree_flatten_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None,
                           ) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """Return the leaves, each with the keys that lead to it, and the spec."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any,
                       is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Return a nested value with ``func`` applied to the path and the value of each leaf."""
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    paths, values = ([path for path, _ in leaves], [value for _, value in leaves])
    return spec.unflatten(map(func, paths, values, *map(spec.flatten_up_to, rests)))


def keystr(kp: KeyPath) -> str:
    """Return a path as Python writes it: ``[1]['a'].b``."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """Return the part of a nested value at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


# -- specs -----------------------------------------------------------------------------------------------------------


def treespec_leaf() -> LeafSpec:
    """Return the spec of a leaf."""
    return _LEAF_SPEC


def treespec_tuple(iterable: Iterable[TreeSpec] = ()) -> TreeSpec:
    """Return the spec of a tuple of items with these specs."""
    return TreeSpec(tuple, None, iterable)


def treespec_dict(mapping: Any = (), **kwargs: TreeSpec) -> TreeSpec:
    """Return the spec of a dictionary of items with these specs."""
    specs = dict(mapping, **kwargs)
    return TreeSpec(dict, list(specs), specs.values())


def treespec_pprint(treespec: TreeSpec) -> str:
    """Return the text of a spec."""
    return repr(treespec)


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """Return a spec as JSON, in PyTorch's form (``torch.utils._pytree.treespec_dumps``).

    Raises:
        TypeError: if ``treespec`` is not a spec.
        NotImplementedError: if a type was registered without a name for it.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    return json.dumps((PROTOCOL, _dumped(treespec)))


def _dumped(spec: TreeSpec) -> dict[str, Any]:
    if spec.type is None:
        return {"type": None, "context": None, "children_spec": []}
    name, dump, _ = _SERIALIZED.get(spec.type, (f"{spec.type.__module__}.{spec.type.__name__}", None, None))
    context = spec.context
    if spec.type is namedtuple:
        found = _SERIALIZED.get(context)
        name, context = "collections.namedtuple", json.dumps(found[0] if found else None)
        if found is None:
            raise NotImplementedError(f"Can't serialize {spec.context}: register it with _register_namedtuple.")
    elif spec.type is defaultdict:
        context = {"default_factory_module": getattr(context[0], "__module__", None),
                   "default_factory_name": getattr(context[0], "__qualname__", None), "dict_context": context[1]}
    elif name is None:
        raise NotImplementedError(f"No registered serialization name for {spec.type} found. Please update your "
                                  "_register_pytree_node call with a `serialized_type_name` kwarg.")
    else:
        context = json.dumps(dump(context) if dump else context)
    return {"type": name, "context": context, "children_spec": [_dumped(child) for child in spec.children_specs]}


def treespec_loads(serialized: str) -> TreeSpec:
    """Return the spec of a JSON text.

    Raises:
        ValueError: if the protocol is not known.
        NotImplementedError: if a type is not.
    """
    protocol, schema = json.loads(serialized)
    if protocol != PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{PROTOCOL}]")
    return _loaded(schema)


def _loaded(schema: dict[str, Any]) -> TreeSpec:
    if schema["type"] is None:
        return _LEAF_SPEC
    children = [_loaded(child) for child in schema["children_spec"]]
    name, context = schema["type"], schema["context"]
    context = json.loads(context) if isinstance(context, str) else context
    if name == "collections.namedtuple":
        kind = next((kind for kind, row in _SERIALIZED.items() if row[0] == context), None)
        if kind is not None:
            return TreeSpec(namedtuple, kind, children)
    if name == "collections.defaultdict":
        factory = None
        if context["default_factory_module"] is not None:
            module = importlib.import_module(context["default_factory_module"])
            factory = getattr(module, context["default_factory_name"])
        return TreeSpec(defaultdict, [factory, context["dict_context"]], children)
    for kind in SUPPORTED_NODES:
        known, _, load = _SERIALIZED.get(kind, (f"{kind.__module__}.{kind.__name__}", None, None))
        if known == name:
            return TreeSpec(kind, load(context) if load else context, children)
    raise NotImplementedError(f"Deserializing `{name}` in pytree is not registered.")
