"""Parameters that are computed from others whenever they are read; mirrors ``torch.nn.utils.parametrize``."""
from __future__ import annotations

import copyreg
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._base.interrupts import contextmanager
from ..._tensor import Tensor
from ..._tensor.swap import get_swap_module_params_on_conversion, swap_tensors
from ..module import Module
from ..modules.container import ModuleDict, ModuleList
from ..parameter import Parameter

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
           "transfer_parametrizations_and_params", "type_before_parametrizations"]
__dir__ = __all__.copy

_depth = 0  # how many ``cached()`` blocks are open
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Within the block, compute each parametrized tensor at most once (``torch.nn.utils.parametrize.cached``)."""
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if not _depth:
            _cache.clear()


def _register(module: Module, name: str, value: Tensor) -> None:
    if isinstance(value, Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)


def _replace(tensor: Tensor, value: Tensor) -> None:
    """Give a tensor, which stays the object that an optimizer knows, another value."""
    if get_swap_module_params_on_conversion():
        swap_tensors(tensor, Parameter(value, tensor.requires_grad) if isinstance(tensor, Parameter) else value)
    else:
        tensor.set_(value)


def _inverted(parametrizations: Any, value: Any, strict: bool) -> Any:
    """Return a tensor's originals by the right inverses, last first; a missing one is skipped unless ``strict``."""
    for module in reversed(parametrizations):
        if hasattr(module, "right_inverse"):
            with suppress(*() if strict else (NotImplementedError,)):
                value = module.right_inverse(value)
        elif strict:
            raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
    return value


def _check_unchanged(what: str, result: Any, names: tuple[str, str], reference: Tensor | tuple[Any, Any]) -> None:
    """Check that ``result`` is a tensor with the dtype and the shape of the reference."""
    if not isinstance(result, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
    expected = reference if isinstance(reference, tuple) else (reference.dtype, reference.shape)
    for kind, got, wanted in zip(("dtype", "shape"), (result.dtype, result.shape), expected, strict=True):
        if got != wanted:
            before, after = (name.format(kind) for name in names)
            raise ValueError(f"Registering a parametrization may not change the {kind} of the tensor, unless {what} "
                             f"flag is enabled.\n{before}: {wanted}\n{after}: {got}")


class ParametrizationList(ModuleList):
    """The modules that compute a tensor one after the other, and what the first computes it from
    (``torch.nn.utils.parametrize.ParametrizationList``): ``original``, or ``original0``, ``original1``, ... Raises
    ValueError if there is no module, if one changes dtype or shape and ``unsafe`` is False, or if ``right_inverse``
    gives no tensor and no sequence of tensors.
    """

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        expected = original.dtype, original.shape
        with no_grad():
            new = _inverted(self, original, strict=False)
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                             f"Got {type(new).__name__}")
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if isinstance(new, Tensor):
            for kind in ("dtype", "device"):
                if getattr(original, kind) != getattr(new, kind):
                    raise ValueError(
                        f"When `right_inverse` outputs one tensor, it may not change the {kind}.\noriginal.{kind}: "
                        f"{getattr(original, kind)}\nright_inverse(original).{kind}: {getattr(new, kind)}")
            with no_grad():  # the same object as before, which an optimizer may know already
                _replace(original, new)
            _register(self, "original", original)
        else:
            for i, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                                     f"Got element {i} of the sequence with type {type(part).__name__}.")
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                _register(self, f"original{i}", part.requires_grad_(original.requires_grad))
        if not unsafe:
            _check_unchanged("`unsafe`", self(), ("unparametrized {}", "parametrized {}"), expected)

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals to what gives ``value``; called when the parametrized tensor is assigned to."""
        with no_grad():
            new = _inverted(self, value, strict=True)
            if self.is_tensor:
                if not isinstance(new, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(new).__name__}")
                if new.dtype != self.original.dtype:
                    raise ValueError(f"The tensor returned by `right_inverse` has dtype {new.dtype} while `original` "
                                     f"has dtype {self.original.dtype}")
                _replace(self.original, new)
                return
            if not isinstance(new, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(new).__name__}.")
            if len(new) != self.ntensors:
                raise ValueError("'right_inverse' must return a sequence of tensors of length "
                                 f"{self.ntensors}. Got a sequence of length {len(new)}.")
            for i, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise ValueError("'right_inverse' must return a sequence of tensors or reference-type opaques. Got "
                                     f"element {i} of type {type(part).__name__}.")
                original = getattr(self, f"original{i}")
                if original.dtype != part.dtype:
                    raise ValueError(f"Tensor {i} returned by `right_inverse` has dtype {part.dtype} while "
                                     f"`original{i}` has dtype {original.dtype}")
                _replace(original, part)

    def originals(self) -> list[Tensor]:
        """Return the tensors that the parametrized one is computed from."""
        names = ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]
        return [getattr(self, name) for name in names]

    def forward(self) -> Tensor:
        first, *others = self
        value = first(*self.originals())
        for module in others:
            value = module(value)
        return value


def _deepcopy(self: Module, memo: dict[int, Any]) -> Module:
    """Copy as ``copy.deepcopy`` does, without ``__getstate__``, which a parametrized module refuses."""
    copied = self.__new__(type(self))
    memo[id(self)] = copied
    copied.__dict__ = deepcopy(self.__dict__, memo)
    for slot in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]
        if hasattr(self, slot):
            setattr(copied, slot, deepcopy(getattr(self, slot), memo))
    return copied


def _getstate(self: Module) -> None:
    raise RuntimeError("Serialization of parametrized modules is only supported through state_dict(). See:\n"
                       "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
                       "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training")


def _give_own_class(module: Module) -> None:
    """Make a subclass for this module alone, so that properties can be added to it."""
    cls = type(module)
    members = {"__getstate__": _getstate} | ({} if hasattr(cls, "__deepcopy__") else {"__deepcopy__": _deepcopy})
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _add_property(module: Module, name: str) -> None:
    def value(self: Any) -> Tensor:
        if not _depth:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def assign(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(value, assign))


def _check_composable(module: Module, name: str, parametrization: Module) -> None:
    """Check that a further parametrization and its inverse keep dtype and shape."""
    before = getattr(module, name)
    after = parametrization(before)
    _check_unchanged("the `unsafe`", after, (f"module.{name}.{{}}", f"parametrization(module.{name}).{{}}"), before)
    if not hasattr(parametrization, "right_inverse"):
        return
    with suppress(NotImplementedError):
        back = parametrization.right_inverse(after)
        if not isinstance(back, Tensor):
            raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
        for kind in ("dtype", "shape"):
            if getattr(back, kind) != getattr(before, kind):
                raise ValueError(
                    f"The tensor returned by parametrization.right_inverse must have the same {kind} as module.{name}, "
                    f"unless the `unsafe` flag is enabled.\nmodule.{name}.{kind}: {getattr(before, kind)}\n"
                    f"returned {kind}: {getattr(back, kind)}")


def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *,
                             unsafe: bool = False) -> Module:
    """Have ``parametrization`` compute a parameter or buffer of ``module`` from then on
    (``torch.nn.utils.parametrize.register_parametrization``).

    It is computed from ``module.parametrizations[tensor_name].original``. Where the parametrization has a method
    ``right_inverse``, the tensor can be assigned to. A second one is applied to what the first gives. Returns the
    module. Raises ValueError if the module has no such tensor, or if the parametrization changes dtype or shape and
    ``unsafe`` is False.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_composable(module, tensor_name, parametrization)
        listed: Any = module.parametrizations[tensor_name]
        listed.append(parametrization)
        listed.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _give_own_class(module)
            module.parametrizations = ModuleDict()
        _add_property(module, tensor_name)
        module.parametrizations[tensor_name] = made
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
                         f"'{tensor_name}'")
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return True if the module computes this tensor, or any (``torch.nn.utils.parametrize.is_parametrized``)."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a computed tensor a parameter or buffer again: with the value that it has, or with ``leave_parametrized``
    False with the one that it is computed from (``torch.nn.utils.parametrize.remove_parametrizations``). Raises
    ValueError if the tensor is not parametrized, or shall become its original and has several.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    listed: Any = module.parametrizations[tensor_name]
    if listed.is_tensor:
        original = listed.original
        if leave_parametrized:
            with no_grad():
                _replace(original, getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in "
                         "terms of a sequence of tensors.")
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class that the module had before its first parametrization (``torch.nn.utils.parametrize``)."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Module, to_module: Module,
                                         tensor_name: str | None = None) -> Module:
    """Give ``to_module`` the parametrizations of one tensor, or of all, and their originals
    (``torch.nn.utils.parametrize.transfer_parametrizations_and_params``).
    """
    if is_parametrized(from_module):
        for name in from_module.parametrizations if tensor_name is None else [tensor_name]:
            if not hasattr(to_module, name):
                setattr(to_module, name, Parameter(getattr(from_module, name)))
            source: Any = from_module.parametrizations[name]
            for parametrization in source:
                register_parametrization(to_module, name, parametrization)
            for kept in source._parameters.keys() | source._buffers.keys():
                setattr(to_module.parametrizations[name], kept, getattr(source, kept))
    return to_module
