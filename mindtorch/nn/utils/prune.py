"""Parameters that a mask sets to zero in part; mirrors ``torch.nn.utils.prune``.

A pruned ``weight`` is ``weight_orig * weight_mask``, made by a hook before each forward pass. Pruning what is pruned
already combines the masks: the methods form a ``PruningContainer``.
"""
from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from ..._creation import ones_like, zeros_like
from ..._creation.random import rand, rand_like
from ..._tensor import Tensor
from ..module import Module
from .convert_parameters import parameters_to_vector

__all__ = ["BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
           "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
           "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove"]
__dir__ = __all__.copy


def _check_same_shape(scores: Tensor, tensor: Tensor, what: str) -> None:
    if scores.shape != tensor.shape:
        raise AssertionError(f"importance_scores should have the same shape as {what}, got {scores.shape} vs "
                             f"{tensor.shape}")


class BasePruningMethod(ABC):
    """A way to choose what is pruned (``torch.nn.utils.prune.BasePruningMethod``): subclasses define ``compute_mask``
    and ``PRUNING_TYPE``, 'unstructured', 'structured' or 'global'.
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask for scores ``t``: 1 where ``default_mask`` is 1 and the element is kept, else 0."""

    def apply_mask(self, module: Module) -> Tensor:
        """Return the module's pruned tensor."""
        mask, original = (getattr(module, self._tensor_name + suffix) for suffix in ("_mask", "_orig"))
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None,
              **kwargs: Any) -> Any:
        """Prune ``module.name``, or the elements that earlier pruning left, by a method made with the arguments.

        ``importance_scores``, of the tensor's shape, are compared in place of its elements.
        """
        earlier = [key for key, hook in module._forward_pre_hooks.items()
                   if isinstance(hook, BasePruningMethod) and hook._tensor_name == name]
        if len(earlier) > 1:
            raise AssertionError(f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. "
                                 "Use a PruningContainer.")
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        if earlier:
            before: Any = module._forward_pre_hooks.pop(earlier[0])
            container = before if isinstance(before, PruningContainer) else PruningContainer(before)
            container.add_pruning_method(method)
            method = container
        tensor = getattr(module, name)
        scores = tensor if importance_scores is None else importance_scores
        _check_same_shape(scores, tensor, f"parameter {name} of {module}")
        # what may fail comes before the module is changed
        mask = method.compute_mask(scores, getattr(module, name + "_mask").detach().clone() if earlier
                                   else ones_like(tensor))
        if not earlier:
            module.register_parameter(name + "_orig", tensor)
            del module._parameters[name]
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """``t`` with the pruned elements 0, without any module."""
        scores = t if importance_scores is None else importance_scores
        _check_same_shape(scores, t, "tensor t")
        return t * self.compute_mask(scores, default_mask=ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Leave the pruned tensor as the parameter, and drop mask and original."""
        name, weight = self._tensor_name, self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original: Any = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Methods that prune one tensor, one after the other (``torch.nn.utils.prune.PruningContainer``)."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method for the same tensor. Raises TypeError if it is not a pruning method, and ValueError if it is for
        another tensor.
        """
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                             f"PruningContainer {self}. Found '{method._tensor_name}'")
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask of the last method, which sees only the elements that the others left."""
        method: Any = self._pruning_methods[-1]
        new, left = default_mask.to(dtype=t.dtype), self._left(method, t, default_mask)
        new[left] = method.compute_mask(t[left], default_mask=default_mask[left]).to(dtype=new.dtype)
        return new

    @staticmethod
    def _left(method: Any, t: Tensor, mask: Tensor) -> Any:
        """Return an index of the elements, channels, or all that are left to the method."""
        if method.PRUNING_TYPE == "unstructured":
            return mask == 1
        if method.PRUNING_TYPE not in ("structured", "global"):
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        index: list[Any] = [slice(None)] * t.dim()
        if method.PRUNING_TYPE == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` '
                                     "defined.")
            dim = method.dim + t.dim() if method.dim < 0 else method.dim
            if dim < 0:
                raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
            index[dim] = mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
        return tuple(index)


class Identity(BasePruningMethod):
    """Prunes nothing (``torch.nn.utils.prune.Identity``)."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _ByAmount(BasePruningMethod):
    """Prunes ``amount`` elements or channels, or this share of them if it is a float."""

    amount: Any

    def __init__(self, amount: Any) -> None:
        if not isinstance(amount, numbers.Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        if not 0 <= float(amount) <= (math.inf if isinstance(amount, numbers.Integral) else 1):
            raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
        self.amount = amount

    def count(self, size: int) -> int:
        """Return the number of ``size`` that are pruned."""
        number = int(self.amount if isinstance(self.amount, numbers.Integral) else round(self.amount * size))
        if number > size:
            raise ValueError(f"amount={number} should be smaller than the number of parameters to prune={size}")
        return number


class _Unstructured(_ByAmount):
    """Prunes the elements with the highest of some priorities."""

    PRUNING_TYPE = "unstructured"

    def priorities(self, t: Tensor) -> tuple[Tensor, bool]:
        """Return a number for each element, and whether the largest are pruned first."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        mask, count = default_mask.clone(), self.count(t.nelement())
        if count:
            priorities, largest = self.priorities(t)
            mask.view(-1)[priorities.view(-1).topk(k=count, largest=largest).indices] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prunes elements at random (``torch.nn.utils.prune.RandomUnstructured``)."""

    def priorities(self, t: Tensor) -> tuple[Tensor, bool]:
        return rand_like(t), True


class L1Unstructured(_Unstructured):
    """Prunes the elements with the smallest absolute values (``torch.nn.utils.prune.L1Unstructured``)."""

    def priorities(self, t: Tensor) -> tuple[Tensor, bool]:
        return t.abs(), False


class _Structured(_ByAmount):
    """Prunes channels along ``dim``."""

    PRUNING_TYPE = "structured"
    dim: int

    def keep(self, t: Tensor, count: int) -> Tensor:
        """Return the channels to keep when ``count`` are pruned, as an index along ``dim``."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.dim() <= 1:
            raise ValueError("Structured pruning can only be applied to multidimensional tensors. Found tensor of "
                             f"shape {t.shape} with {t.dim()} dims")
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        count = self.count(t.shape[self.dim])
        if not count:
            return default_mask
        index: list[Any] = [slice(None)] * t.dim()
        index[self.dim] = self.keep(t, count)
        mask = zeros_like(t)
        mask[tuple(index)] = 1
        return mask.mul_(default_mask.to(dtype=mask.dtype))


class RandomStructured(_Structured):
    """Prunes channels at random (``torch.nn.utils.prune.RandomStructured``)."""

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def keep(self, t: Tensor, count: int) -> Tensor:
        priorities = rand(t.shape[self.dim])
        return priorities > priorities.kthvalue(k=count).values


class LnStructured(_Structured):
    """Prunes the channels with the smallest norms of order ``n`` (``torch.nn.utils.prune.LnStructured``)."""

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n, self.dim = n, dim

    def keep(self, t: Tensor, count: int) -> Tensor:
        dims = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        return t.norm(p=self.n, dim=dims).topk(k=t.shape[self.dim] - count, largest=True).indices


class CustomFromMask(BasePruningMethod):
    """Prunes where a given mask is 0 (``torch.nn.utils.prune.CustomFromMask``)."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"default_mask shape {default_mask.shape} must match self.mask shape "
                                 f"{self.mask.shape}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Prune nothing, but as if (``torch.nn.utils.prune.identity``)."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune ``amount`` elements, or this share, at random (``torch.nn.utils.prune.random_unstructured``)."""
    RandomUnstructured.apply(module, name, amount=amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Module:
    """Prune the smallest elements (``torch.nn.utils.prune.l1_unstructured``)."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune channels along ``dim`` at random (``torch.nn.utils.prune.random_structured``)."""
    RandomStructured.apply(module, name, amount=amount, dim=dim)
    return module


def ln_structured(module: Module, name: str, amount: float, n: Any, dim: int,
                  importance_scores: Tensor | None = None) -> Module:
    """Prune the channels along ``dim`` with the smallest norms of order ``n`` (``torch.nn.utils.prune``)."""
    LnStructured.apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune where ``mask`` is 0 (``torch.nn.utils.prune.custom_from_mask``)."""
    CustomFromMask.apply(module, name, mask=mask)
    return module


def global_unstructured(parameters: Any, pruning_method: type[BasePruningMethod], importance_scores: Any = None,
                        **kwargs: Any) -> None:
    """Prune the elements of several parameters, pairs (module, name), as if they were one
    (``torch.nn.utils.prune.global_unstructured``). ``importance_scores`` are by pair. Raises TypeError if
    ``parameters`` cannot be iterated over, if ``importance_scores`` is not a dict, or if the method is not
    unstructured.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    pairs: list[Any] = list(parameters)
    if importance_scores is not None and not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    scores = parameters_to_vector([(importance_scores or {}).get((module, name), getattr(module, name))
                                   for module, name in pairs])
    masks = parameters_to_vector([getattr(module, name + "_mask", ones_like(getattr(module, name)))
                                  for module, name in pairs])
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError('Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
                        f"{pruning_method} of type {method.PRUNING_TYPE}")
    method._tensor_name = "all"
    mask, offset = PruningContainer(method).compute_mask(scores, masks), 0
    for module, name in pairs:
        tensor = getattr(module, name)
        custom_from_mask(module, name, mask[offset:offset + tensor.numel()].view_as(tensor))
        offset += tensor.numel()


def remove(module: Module, name: str) -> Module:
    """Make the pruned tensor the parameter (``torch.nn.utils.prune.remove``); ValueError if it is not pruned."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Return True if any part of the module is pruned (``torch.nn.utils.prune.is_pruned``)."""
    return any(isinstance(hook, BasePruningMethod)
               for part in module.modules() for hook in part._forward_pre_hooks.values())
