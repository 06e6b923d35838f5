"""``Optimizer``: parameters in groups with their settings, and the state that an optimizer keeps of each."""
from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable
from copy import deepcopy
from inspect import signature
from itertools import chain
from typing import Any

from .._autograd.accumulate import forget_gradients
from .._autograd.hooks import RemovableHandle
from .._base.about import about, tell
from .._dispatch.local import local
from .._dtype import float32
from .._tensor import Tensor
from ..autograd.profiler import is_recording, record_function
from ..nn.module import typename

ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
StateDict = dict[str, Any]

Hooks = OrderedDict[int, Callable[..., Any]]
_global_pre_hooks: Hooks = OrderedDict()
_global_post_hooks: Hooks = OrderedDict()
_HOOK_TABLES = [f"_optimizer_{what}_{when}_hooks"
                for what in ("step", "state_dict", "load_state_dict") for when in ("pre", "post")]
#: The settings that groups saved by older versions may lack.
LATER = {"foreach", "maximize", "capturable", "differentiable", "fused", "amsgrad", "nesterov", "momentum", "centered",
         "decoupled_weight_decay"}


class _Required:
    """The default of a setting that every group has to give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def _register(hooks: Hooks, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks, hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Have ``hook(optimizer, args, kwargs)`` called before every step of all optimizers (``torch.optim.optimizer``)."""
    return _register(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Have ``hook(optimizer, args, kwargs)`` called after every step of all optimizers (``torch.optim.optimizer``)."""
    return _register(_global_post_hooks, hook)


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a class's ``step`` in calls of the hooks."""

    @functools.wraps(step)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        called, pre = step, getattr(self, "_optimizer_step_pre_hooks", None)  # a wrapper may not have called __init__
        if pre is not None and (pre or self._optimizer_step_post_hooks or _global_pre_hooks or _global_post_hooks):
            called = between
        if not is_recording():
            return called(self, *args, **kwargs)
        with record_function(f"Optimizer.step#{type(self).__name__}.step"):
            return called(self, *args, **kwargs)

    def between(self: Any, *args: Any, **kwargs: Any) -> Any:
        args = (self, *args)
        for pre_hook in [*_global_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()]:
            changed = pre_hook(self, args, kwargs)
            if changed is not None:
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but "
                                       f"got {changed}.")
                args, kwargs = changed
        result = step(*args, **kwargs)
        for post_hook in [*self._optimizer_step_post_hooks.values(), *_global_post_hooks.values()]:
            post_hook(self, args, kwargs)
        return result

    hooked.hooked = True  # type: ignore[attr-defined]
    return hooked


def every_group(update: Callable[[Any, dict[str, Any]], None]) -> Callable[..., Any]:
    """Return an optimizer's ``step`` that calls ``update(self, group)`` for each group, recorded if differentiable."""

    def step(self: Any, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients, which ``closure`` computes anew if it is given, and return its loss
        (``torch.optim.Optimizer.step``).
        """
        loss, before = None, local.grad_enabled
        try:
            if closure is not None:
                local.grad_enabled = True
                loss = closure()
            local.grad_enabled = self.defaults.get("differentiable", False)
            for group in self.param_groups:
                update(self, group)
        except Exception as error:
            tell(error, id(self), f"in the step of {type(self).__name__}")
            raise
        finally:
            local.grad_enabled = before
        return loss

    step.__module__, step.__qualname__ = update.__module__, update.__qualname__
    return step


class Optimizer:
    """The base of all optimizers (``torch.optim.Optimizer``).

    ``params`` are tensors, pairs of names and tensors, or dictionaries (groups) with either under ``'params'`` and
    settings of their own; ``defaults`` holds the settings of groups that lack them. Raises TypeError if ``params`` is a
    tensor, or contains a value that is not a tensor, and ValueError if ``params`` is empty, or a tensor is not a leaf
    or occurs twice.
    """

    state: defaultdict[Any, Any]
    param_groups: list[dict[str, Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        for table in _HOOK_TABLES:
            setattr(self, table, OrderedDict())
        if isinstance(params, Tensor):
            raise about(TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, "
                                  f"but got {typename(params)}"), "one parameter", params=params)
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise about(ValueError("optimizer got an empty parameter list"), "no parameters")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def _hooks(self, when: str) -> Hooks:
        return getattr(self, f"_optimizer_{when}_hooks")

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for table in _HOOK_TABLES:
            self.__dict__.setdefault(table, OrderedDict())
        known = signature(type(self).__init__).parameters
        for name in LATER.intersection(known):
            for group in self.param_groups:
                group.setdefault(name, known[name].default)

    def __repr__(self) -> str:
        lines = []
        for i, group in enumerate(self.param_groups):
            settings = (f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
            lines += ["\n", f"Parameter Group {i}\n", *settings]
        return f"{type(self).__name__} ({''.join(lines)})"

    # -- groups ----------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters with its settings (``torch.optim.Optimizer.add_param_group``). Raises TypeError if
        it is not a dictionary, its parameters are a set, or are not tensors, and ValueError if a required setting is
        missing, a tensor is not a leaf or is in another group, or only some have names.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError("optimizer parameters need to be organized in ordered collections, but the "
                            "ordering of tensors in sets will change between runs. Please use a list instead.")
        listed = [given] if isinstance(given, Tensor) else list(given)
        names = [item[0] for item in listed if isinstance(item, tuple)]
        if names and len(names) != len(listed):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        params = param_group["params"] = [item[1] if isinstance(item, tuple) else item for item in listed]
        if names:
            param_group["param_names"] = names
        for param in params:
            if not isinstance(param, Tensor):
                raise about(TypeError("optimizer can only optimize Tensors, but one of the params is "
                                      f"{typename(param)}"), "not a parameter", given=typename(param))
            if not self.defaults.get("differentiable") and not (param.is_leaf or param.retains_grad):
                raise about(ValueError("can't optimize a non-leaf Tensor"), "optimized result", param=param)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        self._check_disjoint(param_group)
        self.param_groups.append(param_group)

    def _check_disjoint(self, param_group: dict[str, Any]) -> None:
        params = set(param_group["params"])
        if len(params) != len(param_group["params"]):
            warnings.warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause "
                          "an error; see github.com/pytorch/pytorch/issues/40967 for more information", stacklevel=4)
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                kind = "with" if "param_names" in param_group else "without"
                raise ValueError("all optimizer param groups should be with/without names. cannot add param "
                                 f"group {kind} names to the optimizer")
            if not params.isdisjoint(group["params"]):
                raise ValueError("some parameters appear in more than one parameter group")

    # -- stepping --------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients (``torch.optim.Optimizer.step``). ``closure``, if given, computes
        the loss and the gradients anew. Raises NotImplementedError if a subclass does not define it.
        """
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the parameters' gradients, or set them to zero (``torch.optim.Optimizer.zero_grad``)."""
        leaves = chain.from_iterable([group["params"] for group in self.param_groups])
        if not is_recording():
            forget_gradients(leaves, set_to_none)
            return
        with record_function(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"):
            forget_gradients(leaves, set_to_none)

    # -- state -----------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return each parameter's state by number, and the groups (``torch.optim.Optimizer.state_dict``)."""
        for pre_hook in list(self._hooks("state_dict_pre").values()):
            pre_hook(self)
        numbers: dict[int, int] = {}
        groups = []
        start = 0
        for group in self.param_groups:
            for number, param in enumerate(group["params"], start):
                numbers.setdefault(id(param), number)
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(param)] for param in group["params"]]
            groups.append(packed)
            start += len(group["params"])
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for post_hook in list(self._hooks("state_dict_post").values()):
            changed = post_hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state and the groups' settings from a state dict, and convert tensors to their parameter's device
        and dtype (``torch.optim.Optimizer.load_state_dict``). Raises ValueError if the groups do not have as many
        parameters.
        """
        state_dict = state_dict.copy()
        for pre_hook in list(self._hooks("load_state_dict_pre").values()):
            changed = pre_hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        for group, new in zip(self.param_groups, saved, strict=True):
            if len(group["params"]) != len(new["params"]):
                raise ValueError("loaded state dict contains a parameter group that doesn't match the size "
                                 "of optimizer's group")
        numbered = dict(zip(chain.from_iterable(group["params"] for group in saved),
                            chain.from_iterable(group["params"] for group in self.param_groups), strict=True))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in numbered:
                group = next(group for group in saved if key in group["params"])
                state[numbered[key]] = _fitted(numbered[key], value, group)
            else:
                state[key] = value
        for group, new in zip(self.param_groups, saved, strict=True):
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for post_hook in list(self._hooks("load_state_dict_post").values()):
            post_hook(self)

    # -- hooks -----------------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Have ``hook(optimizer, args, kwargs)`` called before every step; it may return other arguments
        (``torch.optim.Optimizer.register_step_pre_hook``).
        """
        return _register(self._hooks("step_pre"), hook)

    def register_step_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Have ``hook(optimizer, args, kwargs)`` called afterwards (``torch.optim.Optimizer``)."""
        return _register(self._hooks("step_post"), hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """Have ``hook(optimizer)`` called before saving (``torch.optim.Optimizer.register_state_dict_pre_hook``)."""
        return _register(self._hooks("state_dict_pre"), hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Have ``hook(optimizer, state_dict)`` called after ``state_dict``; it may replace it."""
        return _register(self._hooks("state_dict_post"), hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Have ``hook(optimizer, state_dict)`` called before loading; it may replace it."""
        return _register(self._hooks("load_state_dict_pre"), hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """Have ``hook(optimizer)`` called afterwards (``torch.optim.Optimizer.register_load_state_dict_post_hook``)."""
        return _register(self._hooks("load_state_dict_post"), hook, prepend)


def _fitted(param: Tensor, value: Any, group: dict[str, Any], key: Hashable = None) -> Any:
    """Convert a saved value to the parameter's device and dtype (a step count only if the device counts)."""
    if isinstance(value, Tensor):
        if key == "step":
            counted = group.get("capturable") or group.get("fused")
            return value.to(dtype=float32, device=param.device) if counted else value
        dtype = param.dtype if param.is_floating_point() else None
        return value.to(device=param.device, dtype=dtype)
    if isinstance(value, dict):
        return {name: _fitted(param, item, group, name) for name, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)(_fitted(param, item, group) for item in value)  # type: ignore[call-arg]
    return value


# -- what optimizers share -----------------------------------------------------------------------------------


def check_not_negative(settings: dict[str, Any]) -> None:
    """Refuse negative settings, given under the words by which the message calls them.

    Raises:
        ValueError: PyTorch's.
    """
    for what, value in settings.items():
        if isinstance(value, str):
            raise TypeError(f"{what} must be a number, not str: {value!r}")
        if not value >= 0:
            raise ValueError(f"Invalid {what}: {value}")


def check_betas(betas: Any) -> None:
    """Refuse decays outside of [0, 1).

    Raises:
        ValueError: PyTorch's.
    """
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


def check_single(what: str, value: Any, refused: bool = False) -> None:
    """Refuse a setting that is a tensor of several elements, or any tensor if ``refused``.

    Raises:
        ValueError: PyTorch's.
    """
    if isinstance(value, Tensor):
        if refused:
            raise ValueError(f"{what} as a Tensor is not supported for capturable=False and foreach=True")
        if value.numel() != 1:
            raise ValueError(f"Tensor {what} must be 1-element")


def check_implementation(differentiable: bool, foreach: bool | None, fused: bool | None) -> None:
    """Refuse combinations of the flags that choose how a step is carried out.

    Raises:
        RuntimeError: PyTorch's.
    """
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_fused(param: Tensor) -> None:
    """Refuse ``fused=True`` for a parameter that has no floating point dtype, or no values.

    Raises:
        RuntimeError: PyTorch's.
    """
    if param.is_meta or not param.is_floating_point():
        raise RuntimeError("`fused=True` requires all the params to be floating point Tensors of supported "
                           f"devices: ['cpu', 'npu'] but {param.dtype} and {param.device.type}")


def no_scaling(grad_scale: Any, found_inf: Any) -> None:
    """Refuse a gradient scale, which only fused operators take.

    Raises:
        AssertionError: PyTorch's.
    """
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Expected grad_scale and found_inf to be None")


def as_number(value: Any) -> Any:
    """Return a setting, which may be a tensor, as a Python number."""
    return value.item() if isinstance(value, Tensor) else value
