"""Silent mistakes with schedules of learning rates: never stepped, or at the wrong place."""
from __future__ import annotations

import ast
import gc
import weakref
from collections.abc import Iterator
from typing import Any

from ..why.wrote import tree_of
from .finding import Finding
from .watching import Watcher, told

#: Schedules that count epochs by their parameters, and the attribute that counts them.
HORIZONS = {"CosineAnnealingLR": "T_max", "StepLR": "step_size", "MultiStepLR": "milestones", "LinearLR": "total_iters",
            "PolynomialLR": "total_iters"}
FADED = 0.02  #: of the first rate: so low at the end of the cell, an exponential decay was meant for fewer steps


class Schedules(Watcher):
    """Schedulers of the optimizers that take steps, found when these take the first."""

    def __init__(self, record: Any):
        super().__init__(record)
        self.seen: list[list[Any]] = []  # of a scheduler: reference, class, its numbers, its optimizer's steps
        self.of: weakref.WeakKeyDictionary[Any, list[list[Any]]] = weakref.WeakKeyDictionary()  # by optimizer

    def before_step(self, optimizer: Any) -> None:
        if optimizer not in self.of and hasattr(optimizer.step, "_wrapped_by_lr_sched"):  # as a scheduler leaves it
            holders = gc.get_referrers(optimizer)
            owners = [*holders, *(owner for holder in holders if type(holder) is dict
                                  for owner in gc.get_referrers(holder))]
            found = {id(owner): owner for owner in owners
                     if hasattr(type(owner), "get_last_lr") and getattr(owner, "optimizer", None) is optimizer}
            self.of[optimizer] = [[weakref.ref(scheduler), type(scheduler).__name__, {}, 0, scheduler.last_epoch]
                                  for scheduler in found.values()]
            self.seen += self.of[optimizer]
        for seen in self.of.get(optimizer, ()):
            self._look(seen)
            seen[3] += 1

    @staticmethod
    def _look(seen: list[Any]) -> None:
        scheduler = seen[0]()
        if scheduler is not None:
            seen[2] = {name: value for name, value in vars(scheduler).items()
                       if isinstance(value, (int, float, dict)) and name != "optimizer"}
            seen[2]["lr"] = scheduler.optimizer.param_groups[0]["lr"]
            seen[2]["first"] = scheduler.optimizer.param_groups[0].get("initial_lr", 0)

    def finish(self) -> None:
        for seen in self.seen:
            self._look(seen)
        for ref, kind, numbers, steps, begin in self.seen:
            finding = self._judge(kind, numbers, steps, numbers.get("last_epoch", begin) - begin)
            if finding is not None and not getattr(ref(), "_schedulers", None):
                self.record.found(finding)

    def _judge(self, kind: str, numbers: dict[str, Any], steps: int, moved: int) -> Finding | None:
        if moved == 0:
            if steps < 2 or (begun := numbers.get("_step_count", 1)) > 1 or begun < 1 or self._is_called():
                return None
            return told(
                "schedule never stepped", f"{kind} is never stepped: the learning rate stays as it was",
                f"The optimizer took {steps} steps, and the scheduler none. A scheduler changes the rate in its own "
                "step alone; named without parentheses, it is not called.",
                None, [("once an epoch, after the optimizer's steps", "scheduler.step()")],
                [("optimizer.step()", f"{steps} times", "+"), ("scheduler.step()", "never", "-"),
                 ("lr", f"{numbers.get('lr', 0):.3g}, as at first", "")])
        total = numbers.get("total_steps")
        if isinstance(total, int) and kind == "OneCycleLR" and 2 * moved <= total and steps >= 0.8 * total:
            return told(
                "schedule every epoch", f"{kind} is stepped every epoch, and was made for {total} batches",
                f"It took {moved} of its {total} steps while the optimizer took {steps}: the rate never gets to its "
                "largest value, nor down again.",
                None, [("call it after each optimizer.step()", "optimizer.step(); scheduler.step()")],
                [("optimizer.step()", f"{steps} times", ""), ("scheduler.step()", f"{moved} times", "-"),
                 ("wanted", f"{total} times", "+")])
        if moved < steps - 1 or steps < 3:
            return None
        horizon = numbers.get(HORIZONS.get(kind, ""))
        last = max(horizon) if isinstance(horizon, dict) and horizon else horizon
        epochs = list(self._epochs())
        within = isinstance(last, (int, float)) and any(last <= count < moved for count in epochs)
        first = numbers.get("first", 0)
        faded = kind == "ExponentialLR" and epochs and first and numbers.get("lr", first) < FADED * first
        if not within and not faded:
            return None
        means = f"its {HORIZONS[kind]} of {last} counts epochs" if within else (
            f"the rate fell from {first:.3g} to {numbers['lr']:.1e}")
        return told(
            "schedule every batch", f"{kind} is stepped every batch: {means}",
            f"It took {moved} steps, as many as the optimizer, in {max(epochs)} epochs: the whole schedule is over "
            "after the first batches, and begins again or leaves a rate of nothing.",
            None, [("call it once an epoch, after the loop over the batches", "scheduler.step()"),
                   ("or count batches", f"{kind}(optimizer, epochs * len(loader))")],
            [("epochs", str(max(epochs)), ""), ("scheduler.step()", f"{moved} times", "-"),
             ("lr now", f"{numbers.get('lr', 0):.2g}", "-")])

    def _is_called(self) -> bool:
        """Return True if the program calls a scheduler's step somewhere, if only later."""
        optimizers = {name for name, value in self.record.namespace.items() if hasattr(value, "zero_grad")}
        for tree in self._trees():
            for call in (part for part in ast.walk(tree) if isinstance(part, ast.Call)):
                if isinstance(call.func, ast.Attribute) and call.func.attr == "step":
                    name = ast.unparse(call.func.value)
                    if name not in optimizers and "sched" in name.lower():
                        return True
        return False

    def _epochs(self) -> Iterator[int]:
        """Yield how often loops run that have another loop with a backward pass inside."""
        for tree in self._trees():
            looping = {part.name for part in ast.walk(tree) if isinstance(part, ast.FunctionDef) and any(
                isinstance(inner, (ast.For, ast.While)) for inner in ast.walk(part))}
            for loop in (part for part in ast.walk(tree) if isinstance(part, ast.For)):
                inner = any(isinstance(part, (ast.For, ast.While)) or (
                    isinstance(part, ast.Call) and getattr(part.func, "id", getattr(part.func, "attr", "")) in looping)
                    for part in ast.walk(loop) if part is not loop)
                called = loop.iter if isinstance(loop.iter, ast.Call) and inner else None
                if called is not None and called.args and getattr(called.func, "id", "") in ("range", "trange"):
                    end = called.args[min(1, len(called.args) - 1)]
                    value = end.value if isinstance(end, ast.Constant) else self.record.namespace.get(
                        getattr(end, "id", ""))
                    if isinstance(value, int):
                        yield value

    def _trees(self) -> Iterator[ast.AST]:
        return (tree_of(file) for file in sorted(self.record.files))

