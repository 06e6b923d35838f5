"""Schedules that multiply the learning rate by a factor."""
from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, saved_functions

Factor = Callable[[int], float]


class FactorLR(LRScheduler):
    """The base of schedules with one factor for all groups, in two forms: the one by which the step ``last_epoch``
    multiplies (None changes nothing), which can be chained with other schedules, and the one since the start.
    """

    def _step_factor(self) -> float | None:
        raise NotImplementedError

    def _total_factor(self) -> float:
        raise NotImplementedError

    def get_lr(self) -> list[Any]:
        """Compute the next learning rates from the present ones."""
        self._warn_outside_step()
        factor = self._step_factor()
        return self._current() if factor is None else [group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self._total_factor()
        return [lr * factor for lr in self.base_lrs]


class StepLR(FactorLR):
    """Multiplies by ``gamma`` every ``step_size`` steps (``torch.optim.lr_scheduler.StepLR``)."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _step_factor(self) -> float | None:
        return None if self.last_epoch == 0 or self.last_epoch % self.step_size else self.gamma

    def _total_factor(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(FactorLR):
    """Multiplies by ``gamma`` at the steps ``milestones`` (``torch.optim.lr_scheduler.MultiStepLR``)."""

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1,
                 last_epoch: int = -1) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _step_factor(self) -> float | None:
        return self.gamma ** self.milestones[self.last_epoch] if self.last_epoch in self.milestones else None

    def _total_factor(self) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(FactorLR):
    """Multiplies by ``factor`` for ``total_iters`` steps (``torch.optim.lr_scheduler.ConstantLR``). Raises ValueError
    if the factor is not in [0, 1].
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5,
                 last_epoch: int = -1) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _step_factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else None

    def _total_factor(self) -> float:
        return self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)


class LinearLR(FactorLR):
    """Multiplies by a factor that goes in ``total_iters`` equal steps from ``start_factor`` to ``end_factor``
    (``torch.optim.lr_scheduler.LinearLR``). Raises ValueError if the factors are not in (0, 1] and [0, 1].
    """

    def __init__(self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0,
                 total_iters: int = 5, last_epoch: int = -1) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _step_factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        change = self.end_factor - self.start_factor
        return 1.0 + change / (self.total_iters * self.start_factor + (self.last_epoch - 1) * change)

    def _total_factor(self) -> float:
        done = min(self.total_iters, self.last_epoch)
        return self.start_factor + (self.end_factor - self.start_factor) * done / self.total_iters


class ExponentialLR(FactorLR):
    """Multiplies by ``gamma`` at every step (``torch.optim.lr_scheduler.ExponentialLR``)."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _step_factor(self) -> float | None:
        return None if self._is_initial else self.gamma

    def _total_factor(self) -> float:
        return self.gamma**self.last_epoch


class PolynomialLR(FactorLR):
    """Multiplies by (1 - step / total_iters)^power (``torch.optim.lr_scheduler.PolynomialLR``)."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _step_factor(self) -> float | None:
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        left = 1.0 - self.last_epoch / self.total_iters
        return (left / (1.0 - (self.last_epoch - 1) / self.total_iters)) ** self.power

    def _total_factor(self) -> float:
        return (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power


class FunctionLR(LRScheduler):
    """The base of schedules whose factors are functions of the step, one for all groups or one each. Of these, a state
    dict has the attributes of objects that can be called, and nothing of functions.
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1) -> None:
        self.optimizer, count = optimizer, len(optimizer.param_groups)
        if not isinstance(lr_lambda, (list, tuple)):
            self.lr_lambdas = [lr_lambda] * count
        elif len(lr_lambda) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(lr_lambda)}")
        else:
            self.lr_lambdas = list(lr_lambda)
        self._check()
        super().__init__(optimizer, last_epoch)

    def _check(self) -> None:
        """Refuse values that are not functions, where PyTorch does."""

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimizer and functions."""
        return {**super().state_dict(), "lr_lambdas": saved_functions(self.lr_lambdas)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the attributes from a state dict; functions are kept."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if saved is not None:
                function.__dict__.update(saved)


class LambdaLR(FunctionLR):
    """Multiplies the first learning rate by ``lr_lambda(step)`` (``torch.optim.lr_scheduler.LambdaLR``). Raises
    ValueError if there is not one function per group.
    """

    def get_lr(self) -> list[Any]:
        """Compute the next learning rates from the first ones."""
        self._warn_outside_step()
        return [lr * factor(self.last_epoch) for factor, lr in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(FunctionLR):
    """Multiplies by ``lr_lambda(step)`` at every step (``torch.optim.lr_scheduler.MultiplicativeLR``). Raises
    ValueError if there is not one function per group, and TypeError if it cannot be called.
    """

    def _check(self) -> None:
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")

    def get_lr(self) -> list[Any]:
        """Compute the next learning rates from the present ones."""
        self._warn_outside_step()
        if self._is_initial:
            return self._current()
        return [group["lr"] * factor(self.last_epoch)
                for factor, group in zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)]
