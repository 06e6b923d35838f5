"""Gradients limited in norm or value, in place; mirrors ``torch.nn.utils.clip_grad``.

Gradients of one device and dtype are treated together, in the operators on lists of tensors, unless ``foreach`` is
False.
"""
from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from types import GeneratorType
from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._creation import tensor
from ..._dispatch.aten import linalg_vector_norm as vector_norm, stack
from ..._methods.functions import _foreach_clamp_max_, _foreach_clamp_min_, _foreach_mul_, _foreach_norm
from ..._tensor import Tensor

Tensors = Tensor | Iterable[Tensor]


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _grads(parameters: Tensors) -> list[Any]:
    return [param.grad for param in _listed(parameters) if param.grad is not None]


def _alike(tensors: list[Any], foreach: bool | None) -> Iterator[tuple[bool, list[Any]]]:
    """Yield tensors by device and dtype, and whether list operators take them; RuntimeError if ``foreach`` fails."""
    groups: dict[Any, list[Any]] = {}
    for x in tensors:
        groups.setdefault((x._device, x._dtype), []).append(x)
    for (device, _), group in groups.items():
        supported = device.type != "meta"
        if foreach and not supported:
            raise RuntimeError(f"foreach=True was passed, but can't use the foreach API on {device.type} tensors")
        yield supported and foreach is not False, group


@no_grad()
def get_total_norm(tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Any:
    """Return the norm of all tensors taken as one vector, as a 0-d tensor (``torch.nn.utils.get_total_norm``). Raises
    RuntimeError if the norm is not finite and ``error_if_nonfinite`` is set, or ``foreach`` on a meta device.
    """
    tensors = _listed(tensors)
    if not tensors:
        return tensor(0.0)
    norm_type = float(norm_type)
    norms: list[Any] = []
    for together, group in _alike(tensors, foreach):
        norms += _foreach_norm(group, norm_type) if together else [vector_norm(x, norm_type) for x in group]
    total = vector_norm(stack([norm.to(tensors[0].device) for norm in norms], 0), norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is "
                           "non-finite, so it cannot be clipped. To disable this error and scale the "
                           "gradients by the non-finite norm anyway, set `error_if_nonfinite=False`")
    return total


@no_grad()
def clip_grads_with_norm_(parameters: Tensors, max_norm: float, total_norm: Any, foreach: bool | None = None) -> None:
    """Scale the parameters' gradients by min(1, max_norm / total_norm) (``torch.nn.utils.clip_grads_with_norm_``)."""
    grads = _grads(parameters)
    if not grads:
        return
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for together, group in _alike(grads, foreach):
        there = factor.to(group[0].device)
        if together:
            _foreach_mul_(group, there)
        else:
            for grad in group:
                grad.mul_(there)


def clip_grad_norm_(parameters: Tensors, max_norm: float, norm_type: float = 2.0,
                    error_if_nonfinite: bool = False, foreach: bool | None = None) -> Any:
    """Limit the parameters' gradients to a common norm, and return the norm that they had
    (``torch.nn.utils.clip_grad_norm_``). Raises RuntimeError if the norm is not finite and ``error_if_nonfinite`` is
    set.
    """
    listed = _listed(parameters)
    if isinstance(parameters, GeneratorType) and not listed:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    total = get_total_norm(_grads(listed), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total, foreach)
    return total


@no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Limit the parameters' gradients to [-clip_value, clip_value] (``torch.nn.utils.clip_grad_value_``)."""
    clip_value = float(clip_value)
    for together, group in _alike(_grads(parameters), foreach):
        if together:
            _foreach_clamp_min_(group, -clip_value)
            _foreach_clamp_max_(group, clip_value)
        else:
            for grad in group:
                grad.clamp_(-clip_value, clip_value)


def clip_grad_norm(parameters: Tensors, max_norm: float, norm_type: float = 2.0,
                   error_if_nonfinite: bool = False, foreach: bool | None = None) -> Any:
    """Call ``clip_grad_norm_``; this name is deprecated (``torch.nn.utils.clip_grad_norm``)."""
    warnings.warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
                  FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)
