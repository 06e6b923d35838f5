"""Schedules that follow a cosine."""
from __future__ import annotations

import math
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler


def between(low: float, high: Any, angle: float) -> Any:
    """Between ``high`` (at the angle 0) and ``low`` (at pi), along a cosine."""
    return low + (high - low) * (1 + math.cos(angle)) / 2


class CosineAnnealingLR(LRScheduler):
    """Goes down along half a cosine to ``eta_min`` in ``T_max`` steps (``torch.optim.lr_scheduler.CosineAnnealingLR``),
    and up again if there are more.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Compute the next learning rates from the present ones."""
        self._warn_outside_step()
        step, low = self.last_epoch, self.eta_min
        if self._is_initial:
            return self._current()
        if self._step_count == 1 and step > 0:
            return self._get_closed_form_lr()
        groups = self.optimizer.param_groups
        if (step - 1 - self.T_max) % (2 * self.T_max) == 0:  # the present one is at the minimum: no factor helps
            return [group["lr"] + (lr - low) * (1 - math.cos(math.pi / self.T_max)) / 2
                    for lr, group in zip(self.base_lrs, groups, strict=True)]
        factor = (1 + math.cos(math.pi * step / self.T_max)) / (1 + math.cos(math.pi * (step - 1) / self.T_max))
        return [factor * (group["lr"] - low) + low for group in groups]

    def _get_closed_form_lr(self) -> list[Any]:
        return [between(self.eta_min, lr, math.pi * self.last_epoch / self.T_max) for lr in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Goes down along half a cosine to ``eta_min`` in ``T_0`` steps, then starts again with a period that is ``T_mult``
    times as long (``torch.optim.lr_scheduler.CosineAnnealingWarmRestarts``). Raises ValueError if ``T_0`` or ``T_mult``
    is not a positive integer, or ``eta_min`` is not a number.
    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0,
                 last_epoch: int = -1) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min = T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Compute the learning rates from the first ones."""
        self._warn_outside_step()
        return [between(self.eta_min, lr, math.pi * self.T_cur / self.T_i) for lr in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the learning rates of the next step, or of ``epoch``, which need be no whole number
        (``torch.optim.lr_scheduler.CosineAnnealingWarmRestarts.step``). Raises ValueError if ``epoch`` is negative.
        """
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        elif epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**restarts
        self.last_epoch = math.floor(epoch)
        with self._within_step():
            values = self.get_lr()
        self._set(values)
