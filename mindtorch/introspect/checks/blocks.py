"""Silent mistakes in how models are built: layers that are one layer, blocks that begin equal, attributes that nothing
reads.
"""
from __future__ import annotations

import difflib
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..why.wrote import is_module, is_optimizer
from .finding import Finding
from .watching import Marks, Ran, Watcher, told, values_of

#: Attributes that tensors have and people mean, and those of modules and optimizers that they believe in.
MEANT = {"tensor": ("requires_grad", "grad", "data"), "module": ("requires_grad", "requires_grad_", "grad"),
         "optimizer": ("lr", "learning_rate", "momentum", "weight_decay")}
CLOSE = 0.85  #: likeness of two names from which one is a misspelling of the other


class Linear(Watcher):
    """Linear layers with nothing between them."""

    def __init__(self, record: Any):
        super().__init__(record)
        self.made = Marks()  # of results of linear layers: the layer
        self.waiting: Any = None  # the layer that is called, as long as it lives
        self.found: list[tuple[int, int, Finding]] = []

    def call(self, module: Any, args: Any, kwargs: Mapping[str, Any], recorded: bool) -> None:
        if recorded and type(module).__name__ == "Linear" and args:
            ref, self.waiting = self.made.get(args[0]), weakref.ref(module)
            before = None if ref is None else ref()
            if before is not None and before is not module and _pointless(before, module):
                self.found.append((id(before.weight), id(module.weight), told(
                    "linear after linear", f"two linear layers with nothing between them: {_sizes(before)} and "
                    f"{_sizes(module)}",
                    "A linear function of a linear function is one linear function: together they can do what "
                    f"{before.in_features} → {module.out_features} does alone.",
                    self.record.here(), [("put a nonlinearity between", "nn.Sequential(nn.Linear(…), nn.ReLU(), "
                                          "nn.Linear(…))"), ("use what it returns", "x = self.act(x)")],
                    [(_sizes(before), "", ""), ("nothing", "", "-"), (_sizes(module), "", "")])))

    def operator(self, ran: Ran) -> None:
        if self.waiting and ran.packet in ("linear", "addmm", "mm", "matmul", "view", "_unsafe_view"):
            module = self.waiting()
            shape = tuple(ran.result.shape) if hasattr(ran.result, "shape") else ()
            if module is not None and shape[-1:] == (module.out_features,):
                self.made.put(ran.result, self.waiting)

    def finish(self) -> None:
        for optimizer in [*self.record.optimizers]:
            theirs = {id(p) for group in optimizer.param_groups for p in group["params"]}
            for one, other, finding in self.found:
                if {one, other} <= theirs:  # else they are parts of two models, as a generator and its critic
                    self.record.found(finding)


def _sizes(module: Any) -> str:
    return f"Linear({module.in_features}, {module.out_features})"


def _pointless(first: Any, second: Any) -> bool:
    """Return True if the layers between are no bottleneck, as low-rank adapters have."""
    return first.out_features >= min(first.in_features, second.out_features)


class Copies(Watcher):
    """Blocks side by side whose weights are equal when they are first called."""

    def __init__(self, record: Any):
        super().__init__(record)
        self.known: weakref.WeakSet[Any] = weakref.WeakSet()

    def call(self, module: Any, args: Any, kwargs: Mapping[str, Any], recorded: bool) -> None:
        if not recorded or module in self.known or type(module).__module__.startswith(("torch.nn.modules.transf",
                                                                                       "mindtorch.nn.modules.transf")):
            return
        self.known.add(module)
        for name, holder in [("", module), *((n, m) for n, m in module._modules.items() if m is not None)]:
            children = [child for key, child in holder._modules.items() if key.isdecimal() and child is not None]
            if type(module).__name__.startswith("Transformer") or len(children) < 2:
                continue
            groups: dict[bytes, list[str]] = {}
            ids: dict[bytes, set[int]] = {}
            for key, child in holder._modules.items():
                text = _weights(child) if key.isdecimal() and child is not None else None
                if text is not None:
                    groups.setdefault(text, []).append(f"{name}.{key}" if name else key)
                    ids.setdefault(text, set()).add(id(next(child.parameters())))
            for text, same in groups.items():
                if len(same) > 1 and len(ids[text]) == len(same):
                    self.record.later(told(
                        "copied blocks", f"blocks {', '.join(same[:4])} begin equal, weight by weight",
                        "They were copied from one block that had its random weights already. Side by side they get "
                        "equal gradients and stay equal; one after the other they begin as one function repeated.",
                        None, [("make each anew", "nn.ModuleList(make_block() for _ in range(n))"),
                               ("or begin at random again", "block.apply(lambda m: hasattr(m, 'reset_parameters') and "
                                "m.reset_parameters())")],
                        [("block", "random weights", "+"), ("deepcopy", "the same weights", "-")]))


def _weights(module: Any) -> bytes | None:
    """Return the weights' bytes, or None if there are none that learn, or they are constant or many."""
    parameters = list(module.parameters())
    if not parameters or not all(p.requires_grad for p in parameters) or sum(p.numel() for p in parameters) > 1_000_000:
        return None
    values = [values_of(p) for p in parameters]
    matrices = [v for v in values if v is not None and v.ndim > 1]
    if not matrices or any(v is None for v in values) or all(np.ptp(v) == 0 for v in matrices):
        return None
    return b"".join(v.tobytes() for v in values if v is not None)


class Attributes(Watcher):
    """Attributes that were set, and that nothing reads."""

    def finish(self) -> None:
        things: list[tuple[str, str, Any]] = []
        for name, value in self.record.namespace.items():
            if name.startswith("_"):
                continue
            if is_module(value):
                things += [(f"{name}.{path}".rstrip("."), "module", part) for path, part in value.named_modules()]
                things += [(f"{name}.{path}", "tensor", p) for path, p in value.named_parameters()]
            elif is_optimizer(value):
                things.append((name, "optimizer", value))
        for where, kind, value in things:
            for attribute in getattr(value, "__dict__", {}):
                known = MEANT[kind]
                close = difflib.get_close_matches(attribute, known, 1, CLOSE)
                if not close or attribute.startswith("_") or (kind == "module" and attribute in (
                        value._parameters.keys() | value._buffers.keys())):
                    continue
                if kind == "tensor" and attribute == close[0]:
                    continue
                cure = {"tensor": f"{where}.{close[0]} = False", "module": f"{where}.requires_grad_(False)",
                        "optimizer": f"for group in {where}.param_groups: group['lr'] = 0.01"}[kind]
                self.record.found(told(
                    "attribute without meaning", f"{where}.{attribute} means nothing to the library",
                    "Python lets any attribute be set, and nothing reads this one: the program goes on as if the line "
                    "were not there.",
                    None, [("what was meant", cure)],
                    [(f"{where}.{attribute} = …", "is set", ""), ("the library", "reads another name", "-")]))
                return

