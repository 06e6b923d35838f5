"""Programs run in two libraries side by side; after every step all live tensors agree in all one can see."""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support import Outcome, array, close, is_tensor, name_of, port, tensors_in, tolerances, torch


class Side:
    """One library, and its live tensors; tensor `i` of one side corresponds to tensor `i` of the other."""

    def __init__(self, lib: types.ModuleType) -> None:
        self.lib = lib
        self.t: dict[int, Any] = {}

    def port(self, value: Any) -> Any:
        """Arguments drawn as PyTorch's values, for this library."""
        return port(value, self.lib)

    def place(self, tensor: Any) -> int | str | None:
        """Return the number under which a tensor lives here."""
        if tensor is None:
            return None
        return next((i for i, known in self.t.items() if known is tensor), "a tensor that is not live")

    def facts(self, i: int) -> dict[str, Any]:
        """Return all facts about tensor `i` but its values, in terms that are equal in both libraries."""
        t = self.t[i]
        return {
            "dtype": name_of(t.dtype), "shape": tuple(t.shape), "stride": tuple(t.stride()),
            "storage_offset": t.storage_offset(), "_version": t._version, "_is_view()": t._is_view(),
            "_base": self.place(t._base), "requires_grad": t.requires_grad,
            "is_leaf": told(lambda: t.is_leaf), "grad_fn": told(lambda: t.grad_fn and t.grad_fn.name()),
            "shares storage with": [j for j, other in self.t.items() if j < i and shares(t, other)],
            **self.grad_facts(t),
        }

    @staticmethod
    def grad_facts(t: Any) -> dict[str, Any]:
        grad = t.grad
        if grad is None:
            return {"grad": None}
        return {"grad": name_of(grad.dtype), "grad shape": tuple(grad.shape),
                "grad stride": tuple(grad.stride())}


def told(ask: Callable[[], Any]) -> Any:
    """Return the answer, or the type of the exception: a view may have been written to in a forbidden way."""
    outcome = Outcome.of(ask)
    return outcome.kind() if outcome.error else outcome.value


def shares(a: Any, b: Any) -> bool:
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() != 0


class Program:
    """A program under way in the library under test and in PyTorch."""

    most = 8  # live tensors

    def __init__(self, lib: types.ModuleType) -> None:
        self.ours, self.theirs = self.sides = Side(lib), Side(torch)
        self.grad_enabled = True
        self.log: list[str] = []
        self.succeeded: Counter[str] = Counter()
        self.raised: Counter[str] = Counter()
        self.count = 0

    def live(self) -> dict[int, torch.Tensor]:
        return self.theirs.t

    def run(self, name: str, text: str, call: Callable[[Side], Any]) -> None:
        """Run one step on both sides; keep the tensors that it gives; compare everything."""
        outcomes = []
        for side in self.sides:
            with side.lib.set_grad_enabled(self.grad_enabled), np.errstate(all="ignore"):
                outcomes.append(Outcome.of(call, side))
        ours, theirs = outcomes
        (self.raised if theirs.error else self.succeeded)[name] += 1
        self.log.append(("" if self.grad_enabled else "with no_grad(): ") + text
                        + (f"  # raises {theirs.kind()}: {theirs.error}" if theirs.error else ""))
        self.agree("exception", ours.kind(), theirs.kind(), ours.error)
        ours.error = theirs.error = None  # whose tracebacks would keep the graph alive, and themselves
        self.keep(ours.value, theirs.value)
        self.compare()

    def keep(self, ours: Any, theirs: Any) -> None:
        """Add what a step returned to the live tensors; what was live before must be so on both sides."""
        if not is_tensor(theirs) and not isinstance(theirs, (tuple, list)):
            self.agree("result", ours, theirs)
            return
        mine, other = tensors_in(ours), tensors_in(theirs)
        self.agree("number of results", len(mine), len(other))
        for a, b in list(zip(mine, other, strict=True))[:2]:
            place = self.theirs.place(b)
            self.agree("which tensor is returned", self.ours.place(a), place)
            if isinstance(place, str):
                self.ours.t[self.count], self.theirs.t[self.count] = a, b
                self.log[-1] += f"  -> t{self.count}"
                self.count += 1

    def steps(self) -> int:
        return self.succeeded.total() + self.raised.total()

    def forget(self) -> None:
        """Let go of the tensors: the program is over."""
        for side in self.sides:
            side.t.clear()

    def drop(self, i: int) -> None:
        for side in self.sides:
            del side.t[i]
        self.log.append(f"del t{i}")

    def compare(self) -> None:
        for i in self.theirs.t:
            ours, theirs = self.ours.facts(i), self.theirs.facts(i)
            if ours != theirs:
                for fact in theirs:
                    self.agree(f"t{i}.{fact}", ours.get(fact), theirs[fact])
            self.compare_values(f"t{i}", self.ours.t[i], self.theirs.t[i])
            if theirs["grad"] is not None:
                self.compare_values(f"t{i}.grad", self.ours.t[i].grad, self.theirs.t[i].grad)

    def compare_values(self, what: str, ours: Any, theirs: torch.Tensor) -> None:
        a, b = array(ours), array(theirs)
        if a.tobytes() != b.tobytes() and not close(a, b, *tolerances(theirs.dtype, None, None)):
            self.agree(what, a.tolist(), b.tolist())

    def agree(self, what: str, ours: Any, theirs: Any, cause: Exception | None = None) -> None:
        if ours != theirs:
            program = "\n    ".join(self.log)
            raise AssertionError(f"{what} is {ours}, torch {theirs}, after\n    {program}") from cause
