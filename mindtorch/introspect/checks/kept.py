"""Silent mistakes in what a program keeps: graphs of passes that are over, views of parameters that go on learning."""
from __future__ import annotations

import ast
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from ..libraries import library_of
from ..why.explanation import Call
from ..why.wrote import is_module, is_optimizer, is_tensor, tree_of
from .finding import line_of
from .watching import Pass, Ran, Watcher, told

DEPTH = 3  #: of containers and objects in each other
FAR = 200  #: nodes of a graph that are looked at
MANY = 200  #: items of a container that are looked at


class Graphs(Watcher):
    """Tensors in the program's containers and objects that hold graphs of backward passes that are over."""

    def __init__(self, record: Any):
        super().__init__(record)
        self.last: dict[int, Any] = {}
        self.roots: list[Any] = []

    def backward(self, run: Pass) -> None:
        self.last, self.roots = run.nodes, run.roots

    def finish(self) -> None:
        if self.record.passes < 2:
            return
        for where, value in held(self.record.namespace):
            if isinstance(value, (list, tuple, deque, dict)):
                self._list(where, list(value.values() if isinstance(value, dict) else value)[:MANY])
            elif is_tensor(value) and ("." in where or "[" in where):
                self._grown(where, value)

    def _list(self, where: str, items: list[Any]) -> None:
        found = [tensor for item in items for tensor in (item if isinstance(item, tuple) else (item,))
                 if is_tensor(tensor) and tensor.requires_grad and not tensor.is_leaf]
        over = [tensor for tensor in found if self._is_over(tensor)]
        if len(found) > 1 and over:
            what, place = appended(where, self.record.files)
            self.record.found(told(
                "growing history", f"{where} keeps the graphs of all {len(found)} passes",
                "Each of its tensors requires grad, and behind it stands the graph that made it, with all that its "
                "nodes hold. Memory grows with every pass.",
                place, [("keep the numbers", f"{where}.append({what}.item())"),
                        ("or, of tensors, the values alone", f"{where}.append({what}.detach())")],
                [(f"{where}[0]", "and the graph of pass 1", "-"), ("…", "", ""),
                 (f"{where}[{len(items) - 1}]", "and that of the last", "-")]))

    def _is_over(self, tensor: Any) -> bool:
        """Return True if a tensor's graph was run backward, and not by the last pass."""
        library = library_of(tensor)
        node = library.root(tensor)
        return node is not None and id(node) not in self.last and self._freed(library, node)

    def _freed(self, library: Any, node: Any) -> bool:
        waiting, seen = deque([node]), set[int]()
        while waiting and len(seen) < FAR:
            node = waiting.popleft()
            if id(node) in seen or id(node) in self.last:
                continue
            seen.add(id(node))
            look = library.node(node)
            if look.kept is None:
                return True
            waiting += [edge[0] for edge in look.edges if edge is not None]
        return False

    def _grown(self, where: str, tensor: Any) -> None:
        """Find what adds itself to itself: more than one pass's graph hangs below it."""
        if not tensor.requires_grad or tensor.is_leaf or not self._is_over_below(tensor):
            return
        self.record.found(told(
            "growing history", f"{where} carries the graphs of all passes along",
            "It is computed from what it was before, and recorded: the graph grows with each pass, and keeps all its "
            "tensors in memory.",
            None, [("add numbers", f"{where} += loss.item()"), ("or cut the history", f"{where} = h.detach()")],
            [(where, "pass 1", "+"), (where, "pass 2, on top of pass 1", ""), (where, "pass 3, on top of both", "-")]))

    def _is_over_below(self, tensor: Any) -> bool:
        library = library_of(tensor)
        root = library.root(tensor)
        if any(root is known for known in self.roots):
            return False
        outside, steps, node = 0, 0, root
        seen: set[int] = set()
        waiting = deque([node])
        while waiting and steps < 2000:
            node, steps = waiting.popleft(), steps + 1
            if node is None or id(node) in seen:
                continue
            seen.add(id(node))
            look = library.node(node)
            outside += id(node) not in self.last and look.variable is None and look.kept is None
            waiting += [edge[0] for edge in look.edges if edge is not None]
        sums = library.node(root).name.startswith(("Add", "Sub", "Mul", "Div"))
        return (sums and outside > 0 and id(root) not in self.last) or self._through()

    def _through(self) -> bool:
        """Return True if the last pass went through graphs of passes before it."""
        return len(self.record.sizes) > 2 and all(
            a < b for a, b in pairwise(self.record.sizes))


class Aliases(Watcher):
    """Detached views of parameters, as ``state_dict()`` holds, that outlive a step which writes into them."""

    def __init__(self, record: Any):
        super().__init__(record)
        self.views: list[tuple[weakref.ref[Any], int, Call, int]] = []
        self.leaves: dict[int, weakref.ref[Any]] = {}

    def call(self, module: Any, args: Any, kwargs: Any, recorded: bool) -> None:
        if len(self.leaves) < 10_000:
            self.leaves.update((library_of(p).address(p), weakref.ref(p)) for p in module._parameters.values()
                               if p is not None)

    def operator(self, ran: Ran) -> None:
        if ran.packet == "copy_" and all(map(is_tensor, ran.args[:2])) and len(ran.args) > 1:
            self._itself(ran)
        if ran.packet in ("detach", "alias") and is_tensor(ran.result) and (
                address := ran.library.address(ran.result)) and len(self.views) < 10_000:
            self.views.append((weakref.ref(ran.result), address, ran.place, self.record.steps))

    def _itself(self, ran: Ran) -> None:
        one, other = ran.args[:2]
        address = ran.library.address(one)
        if address and address in self.leaves and ran.library.address(other) == address and one is not other:
            self.record.found(told(
                "one model", "a model's state is copied into itself: two names stand for one model",
                "The second name was given by an assignment, which copies nothing. What is to stay behind, as a target "
                "network, moves with every step.",
                ran.place, [("copy the model once", "target = copy.deepcopy(model)")],
                [("model", "learns", ""), ("target = model", "the same", "-"), ("the copy", "changes nothing", "-")]))

    def finish(self) -> None:
        stale = [(view, place) for ref, address, place, steps in self.views if (view := ref()) is not None
                 and steps < self.record.stepped.get(address, 0)]
        kept = {id(value): where for where, value in held(self.record.namespace) if is_tensor(value)}
        named = [(kept[id(view)], place) for view, place in stale if id(view) in kept]
        if not named:
            return
        where, place = named[0]
        holder = where.rpartition("[")[0] or where
        self.record.found(told(
            "kept by reference", f"{holder} is kept by reference: it goes on learning with the model",
            "state_dict(), detach() and .data give views of the parameters, not copies: each later step writes into "
            "what is kept. In the end it is the last state, not the one that it was.",
            place, [("copy it", "copy.deepcopy(model.state_dict())"), ("or, of one tensor", "p.detach().clone()")],
            [(holder, "taken here", "+"), ("one memory", "", "-"), ("optimizer.step()", "writes into it", "-")]))


def appended(where: str, files: Iterable[str]) -> tuple[str, Call | None]:
    """Return the value that the program appends to a list, and the line; the end of its name finds the list."""
    for file in sorted(files):
        for call in ast.walk(tree_of(file)):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append" and (
                    len(call.args) == 1):
                holder = ast.unparse(call.func.value)
                if holder == where or where.rpartition(".")[2] == holder.rpartition(".")[2]:
                    return ast.unparse(call.args[0]), line_of(file, call.lineno)
    return "loss", None


def held(namespace: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the contents of a program's names, containers and plain objects, with their paths; not those of modules."""
    waiting = deque((name, value, 0) for name, value in namespace.items() if not name.startswith("_"))
    seen: set[int] = set()
    while waiting:
        where, value, depth = waiting.popleft()
        if id(value) in seen:
            continue
        seen.add(id(value))
        yield where, value
        if depth >= DEPTH or is_tensor(value) or is_module(value) or is_optimizer(value) or isinstance(value, type):
            continue
        if isinstance(value, Mapping):
            waiting += [(f"{where}[{key!r}]", item, depth + 1) for key, item in list(value.items())[:MANY]]
        elif isinstance(value, (list, tuple, deque)):
            waiting += [(f"{where}[{i}]", item, depth + 1) for i, item in enumerate(list(value)[:MANY])]
        elif type(value).__module__ in ("__main__", "builtins") and hasattr(value, "__dict__") and not callable(
                getattr(value, "__code__", None)) and not hasattr(value, "__code__"):
            waiting += [(f"{where}.{key}", item, depth + 1) for key, item in list(vars(value).items())[:MANY]]
