"""How a step is carried out: a rule, written in methods of tensors for one parameter, is applied.

It is given tensors, one parameter after the other, as PyTorch does by default on a CPU; lists of tensors, if
``foreach`` is set; or tensors whose changes autograd can look back through, if ``differentiable`` is. Where fused
operators exist (their rules stand in ``_backends.common.optim``) they take the place of the first two: they do the
same, to the last bit, in fewer passes over memory.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import compress, filterfalse, repeat
from operator import attrgetter, is_not, or_
from typing import Any, ClassVar

from .._backends.common.optim import decay, descent
from .._creation import tensor, zeros
from .._dispatch import dispatcher
from .._dispatch.aten import _foreach_add__Scalar as foreach_add, view_as_real
from .._dispatch.dispatcher import TENSOR_TYPES, count_writes
from .._dispatch.keys import REDIRECTING, SPARSES
from .._dispatch.local import local
from .._dtype import DType, float32, float64, get_default_dtype
from .._methods import functions
from .._tensor import Tensor
from .optimizer import Optimizer, as_number, check_fused, every_group

Rule = Callable[..., None]
KEYS, GRAD, DTYPE, DEVICE = map(attrgetter, ("_keys", "_grad", "_dtype", "_device"))
IN_FULL = {float32, float64}  #: the dtypes in which PyTorch's fused operators compute what its others do


# -- what rules are given ----------------------------------------------------------------------------------------------

class TensorList:
    """Tensors that are treated alike: a method is the ``_foreach_`` operator of that name where there is one, and else
    that of one tensor after the other.
    """

    def __init__(self, tensors: Sequence[Any]) -> None:
        self.tensors = list(tensors)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        foreach = getattr(functions, f"_foreach_{name}", None)

        def call(*args: Any, **factors: Any) -> TensorList:
            given = [arg.tensors if arg.__class__ is TensorList else arg for arg in args]
            if foreach is not None:
                changed = foreach(self.tensors, *given, **factors)
            else:
                columns = [arg if arg.__class__ is list else [arg] * len(self.tensors) for arg in given]
                changed = [getattr(x, name)(*row, **factors) for x, *row in zip(self.tensors, *columns, strict=True)]
            return self if name.endswith("_") else TensorList(changed)

        return call

    def __setitem__(self, masks: TensorList, value: Any) -> None:
        for x, mask in zip(self.tensors, masks.tensors, strict=True):
            x[mask] = value

    def item(self) -> Any:
        """Return the value that all these counts have."""
        return self.tensors[0].item()


class Recorded:
    """A tensor that autograd may look back through however often it is written: what an operation saves for backward is
    a copy that nothing writes to. A factor may be a tensor that requires grad.
    """

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **factors: Any) -> Recorded:
            given = [arg.tensor.clone() if arg.__class__ is Recorded else arg for arg in args]
            for factor in factors.values():
                given[0] = given[0] * factor
            found = getattr(self.tensor.clone(), name.removesuffix("_"))(*given)
            return self._becomes(found) if name.endswith("_") else Recorded(found.clone())

        return call

    def __setitem__(self, mask: Recorded, value: Any) -> None:
        self._becomes(self.tensor.masked_fill(mask.tensor, value))

    def _becomes(self, tensor: Tensor) -> Recorded:
        self.tensor.copy_(tensor)
        return self

    def copy_(self, other: Recorded) -> Recorded:
        return self._becomes(other.tensor)

    def fill_(self, value: Any) -> Recorded:
        self.tensor.fill_(value)
        return self

    def detach(self) -> Recorded:
        return Recorded(self.tensor.detach())

    def item(self) -> Any:
        """Return the value as a number, or as a tensor if it requires grad."""
        return self.tensor.clone() if self.tensor.requires_grad else self.tensor.item()


# -- carrying out ------------------------------------------------------------------------------------------------------

def carry_out(rule: Rule, params: list[Any], grads: list[Any], *state: list[Any], counts: dict[str, list[Any]],
              foreach: bool | None = None, differentiable: bool = False, capturable: bool = False,
              maximize: bool = False, weight_decay: Any = 0, decoupled_weight_decay: bool = False,
              **settings: Any) -> None:
    """Apply a rule to all parameters: ``rule(param, grad, *state, **counts, **settings)``.

    ``state`` and ``counts`` have a list each, with a tensor per parameter; those of ``counts`` are numbers, such as
    ``step``, which is counted here. An empty list of state stands for None. Raises AssertionError if ``capturable`` is
    set and a tensor is not on an NPU, or ``differentiable`` and ``foreach`` are.
    """
    if foreach and differentiable:
        raise AssertionError("_foreach ops don't support autograd")
    if capturable:
        check_capturable(params, *counts.values())
    if not differentiable:
        settings = {name: as_number(value) for name, value in settings.items()}
        weight_decay = as_number(weight_decay)
    lists = [params, grads, *(tensors or [None] * len(params) for tensors in state)]
    for tensors, numbers in (alike if foreach else one_by_one)(lists, counts, Recorded if differentiable else None):
        param, grad = tensors[:2]
        if "step" in numbers:
            numbers["step"].add_(1)
        if decoupled_weight_decay:
            decay(param, settings["lr"], weight_decay)
        grad = descent(param, grad, maximize, 0 if decoupled_weight_decay else weight_decay)
        rule(param, grad, *tensors[2:], **numbers, **settings)


def as_real(x: Any) -> Any:
    """View a complex tensor as a real one, whose last dimension has the two parts."""
    return view_as_real(x) if x is not None and x.is_complex() else x


def one_by_one(lists: list[list[Any]], counts: dict[str, list[Any]],
               wrap: Callable[[Any], Any] | None) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Yield the tensors and counts of one parameter after the other."""
    for i, row in enumerate(zip(*lists, strict=True)):
        tensors = [as_real(x) for x in row] if row[0].is_complex() else list(row)
        numbers = {name: values[i] for name, values in counts.items()}
        if wrap is not None:
            tensors = [None if x is None else wrap(x) for x in tensors]
            numbers = {name: wrap(number) for name, number in numbers.items()}
        yield tensors, numbers


def alike(lists: list[list[Any]], counts: dict[str, list[Any]],
          wrap: Any = None) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Yield the tensors and counts by device, dtype and state of the counts, as lists."""
    groups: dict[Any, list[int]] = {}
    for i, param in enumerate(lists[0]):
        numbers = tuple(values[i].item() for values in counts.values())
        key = (param._device, param._dtype, *numbers, *(tensors[i] is None for tensors in lists))
        groups.setdefault(key, []).append(i)
    for chosen in groups.values():
        yield ([None if tensors[chosen[0]] is None else TensorList([as_real(tensors[i]) for i in chosen])
                for tensors in lists],
               {name: TensorList([values[i] for i in chosen]) for name, values in counts.items()})


def check_capturable(*lists: list[Any]) -> None:
    """Refuse ``capturable=True`` for tensors that are not on an accelerator.

    Raises:
        AssertionError: PyTorch's.
    """
    if any(x._device.type in ("cpu", "meta") for tensors in lists for x in tensors):
        raise AssertionError("If capturable=True, params and state_steps must be on supported devices: ['npu'].")


def runs_fused(params: list[Any], grads: list[Any], fused: bool | None, differentiable: bool) -> bool:
    """Return whether fused operators take the step: if asked for, or if the result equals the default's."""
    if fused is not None or differentiable or local.grad_enabled or dispatcher.mode & REDIRECTING:
        return bool(fused)
    return IN_FULL.issuperset(map(DTYPE, params)) and not reduce(or_, map(KEYS, grads), 0) & SPARSES


def run_fused(operator: Callable[..., None], lists: Sequence[list[Any]], steps: list[Any], *settings: Any,
              scaling: tuple[Any, Any], twice: Sequence[list[Any]] = ()) -> None:
    """Run a fused step by device and count it; lists in ``twice`` count two writes, as the operators replaced."""
    if not TENSOR_TYPES.isdisjoint(map(type, settings)):
        settings = tuple([setting.item() if setting.__class__ in TENSOR_TYPES else setting for setting in settings])
    devices = [*map(DEVICE, lists[0])]
    alike = bool(devices) and devices.count(devices[0]) == len(devices)
    for *part, counted in [[*lists, steps]] if alike else by_device(devices, *lists, steps):
        if counted:
            foreach_add(counted, 1)
            part.append(counted)
        operator(*part, *settings, *scaling)
        if counted and (found_inf := scaling[1]) is not None:
            foreach_add(counted, -found_inf.item())  # a step that was left out does not count
    count_writes(*twice)


def by_device(devices: list[Any], *lists: list[Any]) -> Iterator[list[list[Any]]]:
    """Split lists with one tensor per parameter (or empty lists) by the parameters' devices."""
    for device in dict.fromkeys(devices):
        part = [i for i, other in enumerate(devices) if other == device]
        yield [[tensors[i] for i in part] if tensors else [] for tensors in lists]


# -- optimizers of rules -----------------------------------------------------------------------------------------------

def counting_dtype(fused: bool | None = None) -> DType:
    """Return the dtype in which steps are counted."""
    return float32 if fused or get_default_dtype() is not float64 else float64


def count(value: float | None, param: Tensor, group: dict[str, Any]) -> Any:
    """Return a state's number (None: zero) as a tensor, on the device if ``capturable`` or ``fused``."""
    there = group.get("capturable") or group.get("fused")
    options: Any = {"dtype": counting_dtype(group.get("fused")), "device": param.device if there else "cpu"}
    return zeros((), **options) if value is None else tensor(value, **options)


class RuleOptimizer(Optimizer):
    """The base of optimizers whose step is a function of lists, which has a rule carried out."""

    #: The function; it takes the parameters, the gradients, and the lists of these parts of the state.
    _function: ClassVar[Callable[..., None]]  # a static method
    _state: ClassVar[tuple[str, ...]] = ()
    #: Settings that the function takes under several names, or (by no name) not at all.
    _unpacked: ClassVar[dict[str, tuple[str, ...]]] = {"betas": ("beta1", "beta2")}
    _takes_sparse: ClassVar[bool] = False  #: whether gradients may be sparse
    _instead: ClassVar[str] = ""  #: what to do with sparse gradients

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """Return a parameter's state before its first step."""
        return {}

    def _refuse(self, param: Tensor) -> None:
        """Raise the error of a parameter that the optimizer cannot change."""

    def _params(self, group: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        """Return the parameters of a group that have a gradient, and the gradients."""
        params = [*compress(group["params"], map(is_not, map(GRAD, group["params"]), repeat(None)))]
        grads = [*map(GRAD, params)]
        if not self._takes_sparse and reduce(or_, map(KEYS, grads), 0) & SPARSES:
            raise RuntimeError(f"{type(self).__name__} does not support sparse gradients{self._instead}")
        if group.get("fused"):
            for param in params:
                check_fused(param)
        return params, grads

    def _states(self, params: list[Any], group: dict[str, Any]) -> list[dict[str, Any]]:
        states = [*map(self.state.__getitem__, params)]
        for param, state in zip(params, states, strict=True) if not all(states) else ():
            if not state:
                self._refuse(param)
                state.update(self._start(param, group))
        return states

    def _settings(self, group: dict[str, Any]) -> dict[str, Any]:
        """Return a group's settings as the function takes them."""
        unpacked = self._unpacked
        names = [*filterfalse(unpacked.__contains__, self.defaults)]
        settings = dict(zip(names, map(group.__getitem__, names), strict=True))
        for name, parts in unpacked.items():
            if parts and name in group:
                settings.update(zip(parts, group[name], strict=True))
        if "grad_scale" in self.__dict__:  # of a GradScaler, which leaves unscaling to the fused operator
            settings.update({name: self.__dict__[name] for name in ("grad_scale", "found_inf")})
        return settings

    @every_group
    def step(self, group: dict[str, Any]) -> None:
        params, grads = self._params(group)
        states = self._states(params, group)
        lists = [[state.get(name) for state in states] for name in self._state]
        self._function(params, grads, *lists, **self._settings(group))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for param in group["params"]:
                kept = self.state.get(param, {})
                for name in ("step", "mu_product", "eta", "mu"):  # numbers, in what old versions saved
                    if name in kept and not isinstance(kept[name], Tensor):
                        kept[name] = count(float(kept[name]), param, group)
