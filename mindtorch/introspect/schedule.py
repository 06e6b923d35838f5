"""Schedules of learning rates: what they do, where they are, and the rates to come."""
from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

MOST = 1000  #: steps ahead at most


@dataclass(frozen=True)
class ScheduleFacts:
    """A schedule. ``said`` is what it does, in words; ``step`` counts the steps it has taken.

    For each parameter group, ``first`` and ``now`` are the learning rates at the start and at present, and ``to_come``
    those of the next steps, the present one first. ``end`` says why they are not known any further, '' if they are.
    ``parts`` are the schedules that it consists of: what each is and does, with the step at which it begins, None if
    it does not wait for one.
    """

    name: str
    kind: str
    said: str
    step: int
    first: tuple[float, ...]
    now: tuple[float, ...]
    to_come: tuple[tuple[float, ...], ...]
    end: str
    parts: tuple[tuple[str, str, int | None], ...]


def schedule_facts(schedule: Any, name: str = "") -> ScheduleFacts:
    """Describe a schedule; a copy with an optimizer without parameters takes the steps to come."""
    groups = schedule.optimizer.param_groups
    to_come, end = _to_come(schedule)
    inner = getattr(schedule, "_schedulers", ())
    begins = [None] * len(inner) if not hasattr(schedule, "_milestones") else [0, *schedule._milestones]
    return ScheduleFacts(
        name, type(schedule).__name__, _said(schedule), _step(schedule),
        tuple(float(group.get("initial_lr", group["lr"])) for group in groups),
        tuple(float(group["lr"]) for group in groups), to_come, end,
        tuple((type(part).__name__, _said(part), begin) for begin, part in zip(begins, inner, strict=True)))


# -- what is to come ---------------------------------------------------------------------------------------------------


def _to_come(schedule: Any) -> tuple[tuple[tuple[float, ...], ...], str]:
    """Return the coming rates of each group, and the reason why they end."""
    if _is_measured(schedule):
        return (), "the rates to come depend on what the training measures"
    rates, end = [], ""
    try:
        twin, groups = _twin(schedule)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are about the order of steps
            for _ in range(_ahead(schedule)):
                rates.append([float(group["lr"]) for group in groups])
                twin.step()
    except Exception as error:  # of a function that the schedule was given, or behind its last step
        end = f"a further step raises {type(error).__name__}: {str(error).partition(chr(10))[0]}"
    return tuple(zip(*rates, strict=True)), end


def _twin(schedule: Any) -> tuple[Any, list[dict[str, Any]]]:
    """Return a copy of a schedule that leaves the optimizer alone, and the groups whose rates it sets."""
    def step() -> None:
        """Do nothing: the schedule looks only whether it is called first."""

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer = schedule.optimizer
    groups = [{**copy.deepcopy({key: value for key, value in group.items() if key != "params"}), "params": []}
              for group in optimizer.param_groups]
    stand_in = SimpleNamespace(param_groups=groups, defaults=optimizer.defaults, state={}, step=step, _opt_called=True)
    return copy.deepcopy(schedule, {id(optimizer): stand_in}), groups


def _step(schedule: Any) -> int:
    """Count the steps that were taken; several schedules at once do not count by themselves."""
    return schedule.last_epoch if hasattr(schedule, "last_epoch") else _step(schedule._schedulers[0])


def _is_measured(schedule: Any) -> bool:
    return _kind(schedule) == "ReduceLROnPlateau" or any(map(_is_measured, getattr(schedule, "_schedulers", ())))


def _ahead(schedule: Any) -> int:
    """Return how many steps show what a schedule does."""
    length = _length(schedule)
    return min(MOST, max(length - _step(schedule), length // 2, 2))


def _length(schedule: Any) -> int:
    """After how many steps a schedule has done all that it does, or has done it a few times."""
    inner = getattr(schedule, "_schedulers", None)
    if inner:
        begins = getattr(schedule, "_milestones", None)
        return begins[-1] + _length(inner[-1]) if begins else max(map(_length, inner))
    return max(2, int(LENGTHS.get(_kind(schedule), lambda s: 100)(schedule)) + 1)


#: By the class of a schedule, in how many steps it has done what it does.
LENGTHS: dict[str, Callable[[Any], float]] = {
    "StepLR": lambda s: 4 * s.step_size, "MultiStepLR": lambda s: 1.25 * max(s.milestones, default=8),
    "ConstantLR": lambda s: 1.5 * s.total_iters, "LinearLR": lambda s: 1.5 * s.total_iters,
    "PolynomialLR": lambda s: 1.25 * s.total_iters, "CosineAnnealingLR": lambda s: 2 * s.T_max,
    "CosineAnnealingWarmRestarts": lambda s: s.T_0 * (1 + s.T_mult + s.T_mult**2),
    "CyclicLR": lambda s: 2 * s.total_size, "OneCycleLR": lambda s: s.total_steps - 1,
}


# -- in words ----------------------------------------------------------------------------------------------------------


def _kind(schedule: Any) -> str:
    """Return the name of the library's class that a schedule is of."""
    return next((base.__name__ for base in type(schedule).__mro__ if base.__name__ in SAID), "")


def _said(schedule: Any) -> str:
    return SAID.get(_kind(schedule), lambda _: "sets the learning rate by a rule of its own")(schedule)


def _number(value: Any) -> str:
    return f"{float(value):.4g}"


def _steps(count: float) -> str:
    return f"{count:,g} step{'' if count == 1 else 's'}"


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(dict.fromkeys(map(str, values)))


def _functions(schedule: Any) -> str:
    return _listed(getattr(function, "__name__", type(function).__name__) for function in schedule.lr_lambdas)


def _restarts(s: Any) -> str:
    longer = "" if s.T_mult == 1 else f", each time {s.T_mult} times as long"
    return (f"goes down along half a cosine to {_number(s.eta_min)} in {_steps(s.T_0)}, then starts again{longer}; now "
            f"{_steps(s.T_cur)} of {s.T_i}")


def _cycles(s: Any) -> str:
    up = s.total_size * s.step_ratio
    shrinks = {"triangular2": ", half as high each time", "exp_range": f", lower by {_number(s.gamma)} at every step"}
    return (f"goes up to {_listed(map(_number, s.max_lrs))} in {_steps(up)} and down again in "
            f"{_steps(s.total_size - up)}, again and again{shrinks.get(s.mode, '')}")


def _one_cycle(s: Any) -> str:
    groups = s.optimizer.param_groups
    turn = round(s._schedule_phases[0]["end_step"])
    return (f"goes up to {_listed(_number(group['max_lr']) for group in groups)} until step {turn}, then down to "
            f"{_listed(_number(group['min_lr']) for group in groups)} at step {s.total_steps - 1}, its last one")


def _plateau(s: Any) -> str:
    better = "lower" if s.mode == "min" else "higher"
    best = "" if s.best in (float("inf"), float("-inf")) else f" (the best is {_number(s.best)})"
    return (f"multiplies by {_number(s.factor)} when the measure has not become {better} for more than "
            f"{_steps(s.patience)}{best}; now {_steps(s.num_bad_epochs)} without")


#: What schedules do, by their class.
SAID: dict[str, Callable[[Any], str]] = {
    "StepLR": lambda s: f"multiplies by {_number(s.gamma)} every {_steps(s.step_size)}",
    "MultiStepLR": lambda s: f"multiplies by {_number(s.gamma)} at the steps {_listed(sorted(s.milestones))}",
    "ConstantLR": lambda s: f"multiplies by {_number(s.factor)} for the first {_steps(s.total_iters)}",
    "LinearLR": lambda s: f"multiplies by a factor that goes in {_steps(s.total_iters)} from {_number(s.start_factor)} "
                          f"to {_number(s.end_factor)}",
    "ExponentialLR": lambda s: f"multiplies by {_number(s.gamma)} at every step",
    "PolynomialLR": lambda s: f"goes down to 0 in {_steps(s.total_iters)}, as (1 - step / {s.total_iters}) to the "
                              f"power {_number(s.power)}",
    "CosineAnnealingLR": lambda s: f"goes down along half a cosine to {_number(s.eta_min)} in {_steps(s.T_max)}, then "
                                   "up again",
    "CosineAnnealingWarmRestarts": _restarts, "CyclicLR": _cycles, "OneCycleLR": _one_cycle,
    "LambdaLR": lambda s: f"multiplies the first learning rate by a function of the step: {_functions(s)}",
    "MultiplicativeLR": lambda s: f"multiplies at every step by a function of the step: {_functions(s)}",
    "SequentialLR": lambda s: "is one schedule after the other", "ChainedScheduler": lambda s: "is several schedules "
    "at once, each of which changes what the one before has set", "ReduceLROnPlateau": _plateau,
}
