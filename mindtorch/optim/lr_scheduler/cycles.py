"""Schedules that go up and down between bounds, with the momentum in the opposite sense."""
from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, check_optimizer, one_each, saved_functions, set_value


class MomentumLR(LRScheduler):
    """The base of schedules that can move the momentum too: the setting ``momentum``, or the first of ``betas``."""

    cycle_momentum: bool
    use_beta1: bool

    def _start_momentum(self, optimizer: Any, base_momentum: Any, max_momentum: Any,
                        last_epoch: int) -> tuple[list[Any], list[Any]]:
        """Return the bounds for every group; at the start, store them in the groups, the upper one as momentum. Raises
        ValueError if the optimizer has no momentum.
        """
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        low = one_each("base_momentum", optimizer, base_momentum)
        high = one_each("max_momentum", optimizer, max_momentum)
        if last_epoch == -1:
            for group, least, most in zip(optimizer.param_groups, low, high, strict=True):
                self._set_momentum(group, most)
                group["max_momentum"], group["base_momentum"] = most, least
        return low, high

    def _set_momentum(self, group: dict[str, Any], momentum: Any) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(MomentumLR):
    """Goes from ``base_lr`` in ``step_size_up`` equal steps to ``max_lr``, in ``step_size_down`` back, and so on
    (``torch.optim.lr_scheduler.CyclicLR``). ``mode`` changes the height: ``'triangular'`` not at all, ``'triangular2'``
    halves it with every cycle, ``'exp_range'`` multiplies it by ``gamma`` at every step; or ``scale_fn`` computes a
    factor for it, of the number of the cycle or (``scale_mode='iterations'``) of the step. Raises ValueError if the
    mode is unknown, a list has not one value per group, or there is no momentum to cycle, and TypeError if
    ``optimizer`` is none.
    """

    def __init__(self, optimizer: Optimizer, base_lr: Any, max_lr: Any, step_size_up: int = 2000,
                 step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
                 scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle",
                 cycle_momentum: bool = True, base_momentum: Any = 0.8, max_momentum: Any = 0.9,
                 last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = one_each("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_value(group, "lr", lr)
        self.max_lrs = one_each("max_lr", optimizer, max_lr)
        self.total_size = float(step_size_up) + float(step_size_up if step_size_down is None else step_size_down)
        self.step_ratio = float(step_size_up) / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self.scale_mode = mode, gamma, scale_mode
        self._scale_fn_custom = scale_fn
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._start_momentum(
                optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _init_scale_fn(self) -> None:
        if self._scale_fn_custom is None:
            functions: dict[str, Callable[[float], float]] = {
                "triangular": _unchanged, "triangular2": _halved, "exp_range": partial(pow, self.gamma),
            }
            self._scale_fn_ref = functions[self.mode]
            self.scale_mode = "iterations" if self.mode == "exp_range" else "cycle"

    def scale_fn(self, x: float) -> float:
        """Compute the factor of the height at a cycle or step (``torch.optim.lr_scheduler.CyclicLR.scale_fn``)."""
        return (self._scale_fn_custom or self._scale_fn_ref)(x)

    def get_lr(self) -> list[Any]:
        """Compute the learning rates of the step ``last_epoch``; sets the momentums."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = partial(self.scale_fn, cycle if self.scale_mode == "cycle" else self.last_epoch)
        lrs = [low + (high - low) * height * scale() for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums,
                                        strict=True):
                self._set_momentum(group, high - (high - low) * height * scale())
        return lrs

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimizer and functions."""
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        function = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = None if function is None else saved_functions([function])[0]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the attributes from a state dict; functions are kept."""
        saved = state_dict["_scale_fn_custom"]
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        if saved is not None:
            self._scale_fn_custom.__dict__.update(saved)
        self._init_scale_fn()


def _unchanged(cycle: float) -> float:
    return 1.0


def _halved(cycle: float) -> float:
    return 1 / (2.0 ** (cycle - 1))


class OneCycleLR(MomentumLR):
    """Goes up from max_lr / div_factor to ``max_lr``, and then down to that start / final_div_factor, in
    ``total_steps``; ``pct_start`` is the share of the rise (``torch.optim.lr_scheduler.OneCycleLR``). With
    ``three_phase`` the way down is as long as that up, and the rest goes on from where it started. Raises ValueError
    for settings out of range, without a number of steps, and in a step beyond it, and TypeError if ``optimizer`` is
    none.
    """

    def __init__(self, optimizer: Optimizer, max_lr: Any, total_steps: int | None = None, epochs: int | None = None,
                 steps_per_epoch: int | None = None, pct_start: float = 0.3, anneal_strategy: str = "cos",
                 cycle_momentum: bool = True, base_momentum: Any = 0.85, max_momentum: Any = 0.95,
                 div_factor: float = 25.0, final_div_factor: float = 1e4, three_phase: bool = False,
                 last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _number_of_steps(total_steps, epochs, steps_per_epoch)
        names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
        up = (float(pct_start * self.total_steps) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
        if three_phase:
            phases = [up, (float(2 * pct_start * self.total_steps) - 2, "max_lr", "initial_lr", "base_momentum",
                           "max_momentum"),
                      (self.total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum")]
        else:
            phases = [up, (self.total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
        self._schedule_phases: list[dict[str, Any]] = [dict(zip(names, phase, strict=True)) for phase in phases]
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        max_lrs = one_each("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for lr, group in zip(max_lrs, optimizer.param_groups, strict=True):
                group["initial_lr"] = lr / div_factor
                group["max_lr"] = lr
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _annealing_linear(start: float, end: float, pct: float) -> float:
        return (end - start) * pct + start

    @staticmethod
    def _annealing_cos(start: float, end: float, pct: float) -> float:
        return end + (start - end) / 2.0 * (math.cos(math.pi * pct) + 1)

    @property
    def _anneal_func(self) -> Callable[[float, float, float], float]:
        """The curve; state dicts of old versions have it itself, not its name."""
        if "_anneal_func_type" not in self.__dict__:
            return self.__dict__["anneal_func"]
        return self._annealing_linear if self._anneal_func_type == "linear" else self._annealing_cos

    def get_lr(self) -> list[Any]:
        """Compute the learning rates of the step ``last_epoch``; sets the momentums. Raises ValueError if there are no
        more steps.
        """
        self._warn_outside_step()
        step, start = self.last_epoch, 0.0
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        for phase in self._schedule_phases[:-1]:
            if step <= phase["end_step"]:
                break
            start = phase["end_step"]
        else:
            phase = self._schedule_phases[-1]
        share = (step - start) / (phase["end_step"] - start)
        anneal = self._anneal_func
        lrs = []
        for group in self.optimizer.param_groups:
            lrs.append(anneal(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                self._set_momentum(group, anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], share))
        return lrs


def _number_of_steps(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    """Return the number of steps of a cycle, given in either way."""
    if total_steps is not None:
        given = {"total_steps": total_steps}
    elif epochs is not None and steps_per_epoch is not None:
        given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    else:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in given.items():
        if value <= 0 or not isinstance(value, int):
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(given.values())
