"""The lists and dicts among a node's arguments, which only ``node.args = ...`` replaces (so that users stay known)."""
from __future__ import annotations

from typing import Any, NoReturn

from ..utils._pytree import SUPPORTED_NODES, register_pytree_node

__all__ = ["immutable_dict", "immutable_list"]
__dir__ = __all__.copy
HELP = """\
If you are attempting to modify the kwargs or args of a torch.fx.Node object,
instead create a new copy of it and assign the copy to the node:

    new_args = ...  # copy and mutate args
    node.args = new_args
"""


def _no_mutation(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(f"{type(self).__name__!r} object does not support mutation. {HELP}")


class immutable_list(list[Any]):
    """A list that refuses to be written (``torch.fx.immutable_collections.immutable_list``)."""

    __delitem__ = __iadd__ = __imul__ = __setitem__ = _no_mutation
    append = clear = extend = insert = pop = remove = reverse = sort = _no_mutation

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return type(self), (tuple(self),)


class immutable_dict(dict[Any, Any]):
    """A dict that refuses to be written (``torch.fx.immutable_collections.immutable_dict``)."""

    __delitem__ = __ior__ = __setitem__ = _no_mutation
    clear = pop = popitem = setdefault = update = _no_mutation

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return type(self), (tuple(self.items()),)


def _register(kind: Any, base: type) -> None:
    """Make an immutable type a container like the one that it is made from."""
    row = SUPPORTED_NODES[base]
    register_pytree_node(kind, row.flatten_fn, lambda items, context: kind(row.unflatten_fn(items, context)),
                         serialized_type_name=f"torch.fx.immutable_collections.{kind.__name__}",
                         flatten_with_keys_fn=row.flatten_with_keys_fn)


_register(immutable_list, list)
_register(immutable_dict, dict)
