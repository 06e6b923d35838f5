"""Nodes of PyTorch's autograd graphs: where they lead, what they keep for backward, what passes through them."""
from __future__ import annotations

import re
import reprlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from ..._base.interrupts import contextmanager
from ..library import Kept, NodeLook, hook_of
from .loaded import quietly
from .tensors import dtype_of, ints, layout_of


@quietly
def root_of(tensor: Any) -> Any:
    """Return the node behind a tensor that requires grad; for a leaf, the node that accumulates its gradient."""
    torch = sys.modules["torch"]
    included, none = torch._C._dispatch_tls_local_include_set(), torch._C.DispatchKeySet.from_raw_repr(0)
    with torch._C._ForceDispatchKeyGuard(included, none):  # a mode is told below autograd, where no node is made
        return torch.autograd.graph.get_gradient_edge(tensor).node


@quietly
def look_of(node: Any) -> NodeLook:
    """Describe a node."""
    variable = getattr(node, "variable", None)
    tables = () if variable is None else (variable._backward_hooks, variable._post_accumulate_grad_hooks)
    hooks = tuple(hook_of(hook) for table in tables if table for hook in table.values())
    looks = [(ints(output.shape), output.dtype) for output in node._input_metadata] if variable is None else [
        (layout_of(variable).shape, variable.dtype)]
    kept, freed = _kept(node)
    return NodeLook(
        name=node.name(), variable=variable, hooks=hooks, kept=None if freed else tuple(kept),
        edges=tuple(None if edge[0] is None else (edge[0], edge[1]) for edge in node.next_functions),
        outputs=tuple((shape, dtype_of(dtype).name) for shape, dtype in looks),
        order=-1 if variable is not None else node._sequence_nr())


def history(node: Any, length: int) -> Iterator[Any]:
    """Yield names of nodes along their first inputs; of the one that accumulates a leaf's gradient, the leaf itself.
    """
    while node is not None and length:
        variable = getattr(node, "variable", None)
        yield node.name() if variable is None else variable
        node, length = next((edge[0] for edge in node.next_functions if edge[0] is not None), None), length - 1


@contextmanager
def watching_nodes(nodes: Iterable[Any], observer: Callable[[Any, Sequence[Any], Sequence[Any]], None]
                   ) -> Iterator[None]:
    """Report each of these nodes that runs in a block with the gradients of its outputs and inputs."""
    arrived: dict[int, Sequence[Any]] = {}
    with ExitStack() as block:
        for node in nodes:
            block.callback(node.register_prehook(partial(arrived.__setitem__, id(node))).remove)
            block.callback(node.register_hook(lambda results, _, node=node: observer(
                node, arrived.pop(id(node), ()), results)).remove)
        yield


def _kept(node: Any) -> tuple[list[Kept], bool]:
    """Return a node's saved values, and whether they were freed."""
    found: list[Kept] = []
    for attribute in dir(node):
        raw, name = attribute.startswith("_raw_saved_"), attribute.removeprefix("_raw").removeprefix("_saved_")
        if raw:
            name = {"tensors": "saved_tensors"}.get(name, name)
            try:
                saved = getattr(node, attribute)
            except RuntimeError:  # of a Function, which was freed
                return [], True
            several = isinstance(saved, tuple)
            for i, one in enumerate(saved if several else (saved,)):
                kept = _saved(f"{name}[{i}]" if several else name, one,
                              one.unpack if several else partial(getattr, node, attribute.removeprefix("_raw")))
                if kept is None:
                    return [], True
                found.append(kept)
        elif attribute.startswith("_saved_") and f"_raw{attribute}" not in dir(node):
            with suppress(RuntimeError):
                found.append(Kept(name, reprlib.repr(getattr(node, attribute))))
    return found, False


def _saved(name: str, saved: Any, unpack: Callable[[], Any]) -> Kept | None:
    """Return a saved tensor, which ``unpack`` reads, without running packing hooks; None if it was freed."""
    if saved.unpack_hook is not None:
        return Kept(name, "packed by a hook", is_tensor=True)
    tensor, version, stale = saved.data, None, False
    try:
        unpacked = unpack()
    except RuntimeError as refused:
        if tensor is None:
            return None
        expected = re.search(r"expected version (\d+)", str(refused))
        version, stale = int(expected[1]) if expected else None, True
    else:
        if unpacked is None:
            return Kept(name, "None")
        tensor = unpacked if tensor is None else tensor
        version = None if tensor.is_inference() else tensor._version
    text = f"{dtype_of(tensor.dtype).name}[{', '.join(map(str, tensor.shape))}]"
    return Kept(name, text, tensor, version, stale, True)
