"""Gradients limited in norm or value, in place; mirrors ``torch.nn.utils.clip_grad``.

``foreach`` is taken for PyTorch's sake: there is one implementation.
"""
from __future__ import annotations

import warnings
from collections.abc import Iterable
from types import GeneratorType
from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._creation import tensor
from ..._dispatch.aten import linalg_vector_norm as vector_norm, stack
from ..._tensor import Tensor

Tensors = Tensor | Iterable[Tensor]


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _grads(parameters: Tensors) -> list[Any]:
    return [param.grad for param in _listed(parameters) if param.grad is not None]


@no_grad()
def get_total_norm(tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Any:
    """Return the norm of all tensors taken as one vector, as a 0-d tensor (``torch.nn.utils.get_total_norm``).

    Raises:
        RuntimeError: if the norm is not finite and ``error_if_nonfinite`` is set.
    """
    tensors = _listed(tensors)
    if not tensors:
        return tensor(0.0)
    norm_type = float(norm_type)
    norms = [vector_norm(x, norm_type).to(tensors[0].device) for x in tensors]
    total = vector_norm(stack(norms, 0), norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is "
                           "non-finite, so it cannot be clipped. To disable this error and scale the "
                           "gradients by the non-finite norm anyway, set `error_if_nonfinite=False`")
    return total


@no_grad()
def clip_grads_with_norm_(parameters: Tensors, max_norm: float, total_norm: Any, foreach: bool | None = None) -> None:
    """Scale the parameters' gradients by min(1, max_norm / total_norm) (``torch.nn.utils.clip_grads_with_norm_``)."""
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for grad in _grads(parameters):
        grad.mul_(factor.to(grad.device))


def clip_grad_norm_(parameters: Tensors, max_norm: float, norm_type: float = 2.0,
                    error_if_nonfinite: bool = False, foreach: bool | None = None) -> Any:
    """Limit the parameters' gradients to a common norm, and return the norm that they had
    (``torch.nn.utils.clip_grad_norm_``).

    Raises:
        RuntimeError: if the norm is not finite and ``error_if_nonfinite`` is set.
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
    for grad in _grads(parameters):
        grad.clamp_(-float(clip_value), float(clip_value))


def clip_grad_norm(parameters: Tensors, max_norm: float, norm_type: float = 2.0,
                   error_if_nonfinite: bool = False, foreach: bool | None = None) -> Any:
    """Do the same as ``clip_grad_norm_``, of which this is the deprecated name (``torch.nn.utils.clip_grad_norm``)."""
    warnings.warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
                  FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)
