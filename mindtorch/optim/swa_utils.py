"""Averages of a model's weights over its training; mirrors ``torch.optim.swa_utils``."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from .._autograd.grad_mode import no_grad
from .._creation import tensor
from .._dtype import int64
from .._methods.functions import _foreach_addcdiv_, _foreach_lerp_, _foreach_sub
from .._tensor import Tensor
from ..nn.module import Module
from ..nn.modules.batchnorm import _BatchNorm
from .lr_scheduler.base import LRScheduler, one_each
from .optimizer import Optimizer

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]
__dir__ = __all__.copy


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _can_interpolate(x: Tensor) -> bool:
    return bool(x.is_floating_point() or x.is_complex())


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """Return a function that moves averages by ``1 - decay`` in [0, 1], else ValueError (``torch.optim.swa_utils``)."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list: list[Tensor], current_param_list: list[Tensor], _: Any) -> None:
        if _can_interpolate(ema_param_list[0]):
            _foreach_lerp_(ema_param_list, current_param_list, 1 - decay)
        else:
            for average, param in zip(ema_param_list, current_param_list, strict=True):
                average.copy_(average * decay + param * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """Return a function that updates averages, given the number averaged (``torch.optim.swa_utils``)."""

    @no_grad()
    def swa_update(averaged_param_list: list[Tensor], current_param_list: list[Tensor], num_averaged: Any) -> None:
        if _can_interpolate(averaged_param_list[0]):
            _foreach_lerp_(averaged_param_list, current_param_list, 1 / (num_averaged + 1))
        else:
            changes = _foreach_sub(current_param_list, averaged_param_list)
            counts = [tensor(num_averaged + 1) if not isinstance(num_averaged, Tensor) else num_averaged + 1]
            _foreach_addcdiv_(averaged_param_list, changes, counts * len(changes))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Tensor]:
    """Return a function that computes decay·average + (1 - decay)·param (``torch.optim.swa_utils``)."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[..., Tensor]:
    """Return a function of one average and parameter that takes the one into the other (``torch.optim.swa_utils``)."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's, one for each call of ``update_parameters``
    (``torch.optim.swa_utils.AveragedModel``). They weigh the same, unless ``avg_fn(average, param, number)`` returns
    another average, or ``multi_avg_fn(averages, params, number)`` writes it. Buffers are averaged with ``use_buffers``,
    else copied. Raises AssertionError if both functions are given.
    """

    n_averaged: Tensor

    def __init__(self, model: Module, device: Any = None, avg_fn: Callable[..., Tensor] | None = None,
                 multi_avg_fn: Callable[..., None] | None = None, use_buffers: bool = False) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the parameters of a model into the averages (``torch.optim.swa_utils.AveragedModel``)."""
        averages, params = (
            list(chain(module.parameters(), module.buffers() if self.use_buffers else ()))
            for module in (self.module, model))
        pairs = [(average.detach(), param.detach().to(average.device))
                 for average, param in zip(averages, params, strict=False)]
        if self.n_averaged == 0:
            for average, param in pairs:
                average.copy_(param)
        elif self.multi_avg_fn is not None:
            groups: dict[Any, list[tuple[Tensor, Tensor]]] = {}
            for average, param in pairs:
                groups.setdefault((average.device, average.dtype), []).append((average, param))
            for (device, _), group in groups.items():
                self.multi_avg_fn([average for average, _ in group], [param for _, param in group],
                                  self.n_averaged.to(device))
        else:
            average_of = self.avg_fn or get_swa_avg_fn()
            for average, param in pairs:
                average.copy_(average_of(average, param, self.n_averaged.to(average.device)))
        if not self.use_buffers:
            for kept, buffer in zip(self.module.buffers(), model.buffers(), strict=True):
                kept.detach().copy_(buffer.detach().to(kept.device))
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of a model's batch norms anew, as averages over the batches of ``loader``, whose
    first item is the input (``torch.optim.swa_utils.update_bn``).
    """
    norms = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not norms:
        return
    for module in norms:
        module.reset_running_stats()
        module.momentum = None  # every batch weighs the same
    was_training = model.training
    model.train()
    for batch in loader:
        batch = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(batch if device is None else batch.to(device))
    for module, momentum in norms.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Goes from the learning rate to ``swa_lr`` in ``anneal_epochs`` steps, along half a cosine or a line, and stays
    there (``torch.optim.swa_utils.SWALR``). Raises ValueError for another ``anneal_strategy`` than ``'cos'`` and
    ``'linear'``, a negative number of steps, or a list that has not one value per group.
    """

    def __init__(self, optimizer: Optimizer, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos",
                 last_epoch: int = -1) -> None:
        for lr, group in zip(one_each("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """Compute the share of ``swa_lr`` at a share of the steps."""
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def _share(self, step: int) -> float:
        return self.anneal_func(max(0, min(1, step / max(1, self.anneal_epochs))))

    def get_lr(self) -> list[Any]:
        """Compute the next learning rates from the present ones."""
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now, lrs = self._share(step - 1), self._share(step), []
        for group in self.optimizer.param_groups:
            last = group["swa_lr"]
            first = last if before == 1 else (group["lr"] - before * last) / (1 - before)
            lrs.append(last * now + first * (1 - now))
        return lrs
