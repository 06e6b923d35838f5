"""``LRScheduler``: counts steps, and sets the learning rates by its rule."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import wraps
from types import FunctionType
from typing import Any
from weakref import ref

from ..._base.interrupts import contextmanager
from ..._tensor import Tensor
from ..optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_ORDER = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
OVERRIDDEN_WARNING = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure "
    f"to call `optimizer.step()` before `lr_scheduler.step()`. {_ORDER}"
)
ORDER_WARNING = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call "
    "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in "
    f"PyTorch skipping the first value of the learning rate schedule. {_ORDER}"
)


def values_of(optimizer: Optimizer, key: str) -> list[Any]:
    """Return a setting of every group; tensors are copied, since they will be written to."""
    return [value.clone() if isinstance(value := group[key], Tensor) else value for group in optimizer.param_groups]


def set_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Give a group's setting a value; one that is a tensor is written to."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.squeeze() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def one_each(name: str, optimizer: Optimizer, given: Any) -> list[Any]:
    """Return a setting for every group, given as one for all or as a list. Raises ValueError if the list has another
    length.
    """
    count = len(optimizer.param_groups)
    if not isinstance(given, (list, tuple)):
        given = [given] * count
    elif len(given) != count:
        raise ValueError(f"{name} must have the same length as optimizer.param_groups. {name} has {len(given)} values, "
                         f"param_groups has {count}.")
    return [value.clone() if isinstance(value, Tensor) else value for value in given]


def check_optimizer(optimizer: Any) -> None:
    """Refuse anything but an optimizer.

    Raises:
        TypeError: PyTorch's.
    """
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def saved_functions(functions: list[Any]) -> list[Any]:
    """Return a state dict's entries for functions: the attributes of callable objects, None for others."""
    return [None if isinstance(function, FunctionType) else function.__dict__.copy() for function in functions]


def _note_steps(optimizer: Any) -> None:
    """Have the optimizer's steps leave a mark, by which the schedule sees whether they come first."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    there, step = ref(optimizer), optimizer.step.__func__

    @wraps(step)
    def marking(*args: Any, **kwargs: Any) -> Any:
        optimizer: Any = there()
        optimizer._opt_called = True
        return step.__get__(optimizer, type(optimizer))(*args, **kwargs)

    marking._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = marking


class LRScheduler:
    """The base of schedules (``torch.optim.lr_scheduler.LRScheduler``). A subclass defines ``get_lr``, which returns
    the learning rate of every group at the step ``last_epoch`` from the groups' current ones, and may define
    ``_get_closed_form_lr``, which computes them from where they started (``base_lrs``). Raises TypeError if
    ``optimizer`` is none, and KeyError if ``last_epoch`` is not -1, and a group does not say what it started with.
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False
    _last_lr: list[Any]
    _get_closed_form_lr: Callable[[], list[Any]]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                lr = group["lr"]
                group.setdefault("initial_lr", lr.clone() if isinstance(lr, Tensor) else lr)
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                    "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from a "
                    "checkpoint but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 for "
                    "a fresh training run (not recommended)")
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the learning rates of the first step."""
        self._step_count, self._is_initial = 0, True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimizer (``torch.optim.lr_scheduler.LRScheduler.state_dict``)."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the attributes from a state dict (``torch.optim.lr_scheduler.LRScheduler.load_state_dict``)."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """Return the learning rates that were set last (``torch.optim.lr_scheduler.LRScheduler.get_last_lr``)."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """Compute the next learning rates (``torch.optim.lr_scheduler.LRScheduler.get_lr``). Raises NotImplementedError
        if a subclass does not define it.
        """
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Set the learning rates of the next step, or of the step ``epoch`` (``torch.optim.lr_scheduler.
        LRScheduler.step``). The optimizer's step comes before it.
        """
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(OVERRIDDEN_WARNING, UserWarning, stacklevel=2)
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(ORDER_WARNING, UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        with self._within_step():
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            closed_form = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
            values = (closed_form or self.get_lr)()
        self._set(values)

    def _set(self, values: list[Any]) -> None:
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            set_value(group, "lr", lr)
        self._last_lr = values_of(self.optimizer, "lr")

    @contextmanager
    def _within_step(self) -> Iterator[None]:
        """Allow ``get_lr`` to be called in the block."""
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _current(self) -> list[Any]:
        """Return the current learning rates, for a rule that starts from them."""
        return values_of(self.optimizer, "lr")

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                          UserWarning, stacklevel=3)
