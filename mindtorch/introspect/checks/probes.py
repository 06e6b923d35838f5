"""Questions that are put to a copy of a model: does a sample change another's output, a later step an earlier one?

A probe leaves no trace: it runs on copies of the model and of its inputs, without the program's hooks, and puts the
random generators back. What takes too long is left out, and named.
"""
from __future__ import annotations

import contextlib
import copy
import io
import random
import sys
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._base.interrupts import contextmanager
from ..why.explanation import Call
from ..why.wrote import is_tensor
from .watching import Pass, Watcher, told, values_of

SECONDS = 2.0  #: of all probes of a cell together
SLOW = 0.25  #: seconds of a call that is not repeated
LARGE = 200_000  #: elements of an argument at most
PARAMETERS = 2_000_000  #: of a model at most
MODELS = 4  #: at most
CALLS = 3  #: of a model that are kept, the last of them
NEAR = 1e-4  #: of the size of outputs, below which they are equal
LOOKED = ("cross_entropy", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


@dataclass
class Asked:
    """A model with the arguments of a call, tensors as arrays, and what its targets have to do with them."""

    ref: weakref.ref[Any]
    place: Call | None
    model: Any = None
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    relations: dict[int, tuple[str, int]] = field(default_factory=dict)  # of an argument, with its axis
    calls: int = 0

    @property
    def module(self) -> Any:
        """The model, or None if it is gone."""
        return self.ref()


class Probes(Watcher):
    """Keeps how models are called, and asks copies of them when the cell is over."""

    def __init__(self, record: Any):
        super().__init__(record)
        self.asked: weakref.WeakKeyDictionary[Any, Asked] = weakref.WeakKeyDictionary()
        self.inner: weakref.WeakSet[Any] = weakref.WeakSet()
        self.left_out: list[str] = []
        self.since: list[Asked] = []  # called since the last backward pass

    def call(self, module: Any, args: Any, kwargs: Mapping[str, Any], recorded: bool) -> None:
        if not recorded or module in self.inner or (module not in self.asked and len(self.asked) >= MODELS):
            return
        if module not in self.asked:
            self.inner.update(part for part in module.modules() if part is not module)
            self.asked[module] = Asked(weakref.ref(module), self.record.here())
        asked = self.asked[module]
        asked.calls += 1
        if asked.calls > 1:
            asked.model = module  # one that is called once may have been made for the call
        if asked.calls <= CALLS:
            asked.args, asked.kwargs = [_kept(a) for a in args], {name: _kept(a) for name, a in kwargs.items()}
            self.since.append(asked)

    def backward(self, run: Pass) -> None:
        self.since = []

    def function(self, name: str, given: Mapping[str, Any], place: Call) -> None:
        target = values_of(given.get("target"))
        if name not in LOOKED or target is None:
            return
        for asked in self.since:
            for i, array in enumerate(asked.args):
                if isinstance(array, np.ndarray) and (found := relation(array, target)):
                    asked.relations[i] = found

    def finish(self) -> None:
        if not self.record.passes:
            return
        began = time.perf_counter()
        for asked in [*self.asked.values()]:
            parts = () if asked.module is None else asked.module.parameters()
            if any(id(part) in self.record.leaves for part in parts):
                name = type(asked.module).__name__
                if time.perf_counter() - began > SECONDS or not _is_small(asked):
                    self.left_out.append(name)
                    continue
                for finding in _questions(asked):
                    self.record.found(finding)


def relation(given: np.ndarray, target: np.ndarray) -> tuple[str, int] | None:
    """Return whether targets are the argument's next steps, or the argument itself, and the axis of steps."""
    if given.ndim == 2 and given.dtype.kind == "i" and target.dtype.kind == "i" and given.shape[1] > 2:
        rows = target.reshape(len(given), -1) if target.size % len(given) == 0 else np.empty((0, 0))
        if rows.shape == given.shape and (rows == given).all():
            return "same", 1
        steps = given.shape[1] - 1
        if rows.shape[1] in (steps, steps + 1) and (rows[:, :steps] == given[:, 1:]).all() and np.ptp(given):
            return "next", 1
    if given.dtype.kind == "f" and given.shape == target.shape and given.ndim > 1:
        for axis in {1, given.ndim - 1}:
            if given.shape[axis] > 4:
                one, other = np.moveaxis(given, axis, 0), np.moveaxis(target, axis, 0)
                if np.allclose(one[1:], other[:-1]) and not np.allclose(one[1:], one[:-1]):
                    return "next", axis
    return None


def _kept(value: Any) -> Any:
    """Return a copy of a tensor's values; anything else as it is."""
    if isinstance(value, (list, tuple)) and any(map(is_tensor, value)):
        return type(value)(map(_kept, value)) if type(value) in (list, tuple) else value
    values = values_of(value)
    return value if values is None or values.size > LARGE else np.array(values)


def _is_small(asked: Asked) -> bool:
    parameters = list(asked.module.parameters())
    near = all(p.device.type == "cpu" for p in parameters)
    return near and sum(p.numel() for p in parameters) <= PARAMETERS and not any(map(is_tensor, asked.args))


def _questions(asked: Asked) -> Iterator[Any]:
    with contextlib.suppress(Exception), Copy(asked.module).asking() as ask:
        began = time.perf_counter()
        base = ask(asked.args, asked.kwargs)
        if time.perf_counter() - began > SLOW or base is None:
            return
        if not _same(base, ask(asked.args, asked.kwargs)):
            return
        found = _samples(asked, ask, base)
        if found is not None:
            yield found
        for i, (kind, axis) in asked.relations.items():
            found = _steps(asked, ask, base, i, kind, axis)
            if found is not None:
                yield found


class Copy:
    """A copy of a model that can be called with arrays."""

    def __init__(self, module: Any):
        first = next(module.parameters())
        self.library = sys.modules[type(first).__module__.partition(".")[0]]
        self.module = copy.deepcopy(module).eval()
        for part in self.module.modules():
            for name in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"):
                hooks = getattr(part, name)
                for key in [key for key, hook in hooks.items() if not _is_own(hook)]:
                    del hooks[key]

    @contextmanager
    def asking(self) -> Iterator[Callable[..., np.ndarray | None]]:
        """Run a block that asks, with no gradient, nothing printed, and random generators put back afterwards."""
        states = random.getstate(), np.random.get_state(), self.library.get_rng_state()
        with self.library.no_grad(), contextlib.redirect_stdout(io.StringIO()):
            try:
                yield self._ask
            finally:
                random.setstate(states[0])
                np.random.set_state(states[1])
                self.library.set_rng_state(states[2])

    def _ask(self, args: list[Any], kwargs: Mapping[str, Any], seed: int = 0) -> np.ndarray | None:
        self.library.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        result = self.module(*map(self._tensor, args), **{name: self._tensor(a) for name, a in kwargs.items()})
        values = values_of(_first(result))
        return None if values is None or values.dtype.kind != "f" else np.array(values)

    def _tensor(self, value: Any) -> Any:
        if type(value) in (list, tuple):
            return type(value)(map(self._tensor, value))
        return self.library.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value


def _is_own(hook: Any) -> bool:
    """Return True if a hook is the library's, as of a parametrised weight."""
    module = getattr(type(hook), "__module__", "")
    return module.startswith(("torch.nn", "mindtorch.nn"))


def _first(result: Any) -> Any:
    """Return the first tensor of what a model returned."""
    if isinstance(result, Mapping):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return next((found for item in result if is_tensor(found := _first(item))), None)
    return result


def _same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    if one is None or other is None or one.shape != other.shape:
        return False
    size = float(np.abs(one).max(initial=0)) + 1e-6
    return bool(np.isfinite(one).all() and np.abs(one - other).max(initial=0) <= NEAR * size)


def _along(asked: Asked, axis: int, order: np.ndarray, batch: int) -> list[list[Any] | dict[str, Any]]:
    """Return the arguments with samples taken in an order."""
    def taken(value: Any) -> Any:
        fits = isinstance(value, np.ndarray) and value.ndim > axis and value.shape[axis] == batch
        return np.take(value, order, axis) if fits else value

    return [[taken(value) for value in asked.args], {name: taken(value) for name, value in asked.kwargs.items()}]


def _samples(asked: Asked, ask: Callable[..., Any], base: np.ndarray) -> Any:
    """Find samples that change each other's outputs, and outputs that depend on the place in the batch."""
    first = next((value for value in asked.args if isinstance(value, np.ndarray)), None)
    if first is None or any(type(value) in (list, tuple) for value in asked.args):
        return None
    arrays = [value for value in (*asked.args, *asked.kwargs.values()) if isinstance(value, np.ndarray)]
    random_too = not _same(base, ask(asked.args, asked.kwargs, 1))
    results = {}
    for into, out in ((0, 0), (1, 1), (1, 0), (0, 1)):
        if first.ndim <= into or base.ndim <= out or first.shape[into] != base.shape[out] or first.shape[into] < 3:
            continue
        n = first.shape[into]
        if any(n in value.shape and (value.ndim <= into or value.shape[into] != n) for value in arrays):
            return None  # a state, say, whose samples lie in another dimension
        order = np.arange(n)
        order[0], order[-1] = 1, n - 2
        rest = np.arange(1, n - 1)
        changed = ask(*_along(asked, into, order, n))
        apart = _same(np.take(base, rest, out), np.take(changed, rest, out))
        rolled = np.roll(np.arange(n), 1)
        moves = random_too or _same(np.take(base, rolled, out), ask(*_along(asked, into, rolled, n)))
        if apart and moves:
            return None
        results[into, out] = apart, moves
    if (0, 0) not in results or (base.ndim == 2 and base.shape[0] == base.shape[1]):
        return None  # a square of all pairs is meant
    apart, moves = results[0, 0]
    name = type(asked.module).__name__
    reads = [(path, part) for path, part in asked.module.named_modules() if getattr(part, "batch_first", True) is False]
    if not apart and (moves or reads):
        cause = ("Its outputs for a batch were computed again with one sample exchanged: the other outputs changed. "
                 + (f"{reads[0][0] or name} has batch_first=False, and reads samples as steps. " if reads else
                    "A mean, a softmax or a product runs over dimension 0, the samples. ")
                 + "A sample's answer then depends on what else is in the batch, in evaluation too.")
        fixes = [("say that samples come first", "batch_first=True")] if reads else [
            ("run over features or steps", "x.softmax(-1); x.mean(-1, keepdim=True)"),
            ("of statistics of the batch, keep running ones", "nn.BatchNorm1d(features)")]
        return told("samples mixed", f"in {name} one sample changes another's output", cause, asked.place, fixes,
                    [("sample 1", "is exchanged", ""), ("sample 2", "stays", "+"), ("its output", "changes", "-")])
    if apart and not moves:
        return told(
            "place in the batch", f"in {name} the output of a sample depends on its place in the batch",
            "The samples were given in another order, and the outputs were not the same in that order. Positions are "
            "counted along dimension 0, the samples, and not along the steps.",
            asked.place, [("count along the steps", "x + self.pe[:, :x.size(1)]  # of [1, steps, features]")],
            [("sample", "first in the batch", ""), ("the same sample", "last in the batch", ""),
             ("outputs", "differ", "-")])
    return None


def _steps(asked: Asked, ask: Callable[..., Any], base: np.ndarray, i: int, kind: str, axis: int) -> Any:
    """Find a model that sees what it is to predict."""
    given = asked.args[i]
    n = given.shape[axis]
    if base.ndim <= axis or base.shape[axis] != n:
        return None

    def seen(step: int, others: slice) -> bool:
        """Return True if one step's input changes outputs of others."""
        changed = given.copy()
        at: list[Any] = [slice(None)] * given.ndim
        at[axis] = step
        choices = np.unique(given) if given.dtype.kind == "i" else None
        changed[tuple(at)] = given[tuple(at)] + 1 if choices is None else choices[
            (np.searchsorted(choices, given[tuple(at)]) + 1) % len(choices)]
        args = [changed if j == i else value for j, value in enumerate(asked.args)]
        window: list[Any] = [slice(None)] * base.ndim
        window[axis] = others
        return not _same(base[tuple(window)], ask(args, asked.kwargs)[tuple(window)])

    name, later = type(asked.module).__name__, seen(n - 1, slice(0, n - 1))
    if kind == "next" and later:
        return told(
            "sees later steps", f"{name} sees later steps: what it is to predict changes its output",
            "Its targets are the next steps of its input. The last step was exchanged, and outputs of earlier steps "
            "changed: the model can read the answer off, learns to copy it, and fails where there is none.",
            asked.place, [("hide what comes later", "F.scaled_dot_product_attention(q, k, v, is_causal=True)"),
                          ("of a layer of the library", "layer(x, src_mask=nn.Transformer."
                           "generate_square_subsequent_mask(x.shape[1]))"),
                          ("pad convolutions on the left alone", "F.pad(x, (kernel - 1, 0))")],
            [("step t", "is to be predicted", ""), ("output before t", "changes with it", "-")])
    if kind == "same" and not later and seen(0, slice(1, n)):
        return told(
            "targets not shifted", f"the targets of {name} are not shifted: each step is to predict itself",
            "The targets are the very numbers of the input. At each step the model sees the token that it is asked "
            "for, and learns to repeat it; the loss falls to nothing.",
            asked.place, [("predict the next step", "logits = model(ids[:, :-1]); target = ids[:, 1:]")],
            [("input", "token t", ""), ("target", "token t", "-"), ("wanted", "token t + 1", "+")])
    return None

