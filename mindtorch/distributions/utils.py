"""Common parts of distributions: broadcasting, probabilities and logits, lazy properties;
``torch.distributions.utils``.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

from .._autograd.grad_mode import enable_grad
from .._creation import arange, empty, tensor
from .._dtype import finfo, get_default_dtype
from .._methods.functions import sigmoid, softmax
from .._tensor import Tensor
from ..functional import broadcast_tensors
from ..overrides import is_tensor_like

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
           "vec_to_tril_matrix"]

euler_constant = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Broadcast tensors and numbers to one shape; a number takes the dtype and device of the first tensor
    (``torch.distributions.utils.broadcast_all``). Raises ValueError for anything else.
    """
    if not all(is_tensor_like(value) or isinstance(value, (int, float)) for value in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing "
                         "__torch_function__.")
    first = next((value for value in values if isinstance(value, Tensor)), None)
    options: Any = ({"dtype": get_default_dtype()} if first is None
                    else {"dtype": first.dtype, "device": first.device})
    return tuple(broadcast_tensors(*(value if is_tensor_like(value) else tensor(value, **options)
                                     for value in values)))


def _standard_normal(shape: Sequence[int], dtype: Any, device: Any) -> Any:
    return empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value: Tensor, dim: int) -> Any:
    """Return the sum over the last ``dim`` dimensions."""
    return value.reshape((*value.shape[:-dim], -1)).sum(-1) if dim else value


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Compute probabilities from log odds if ``is_binary``, else from log probabilities along the last dimension, which
    may be unnormalised (``torch.distributions.utils.logits_to_probs``).
    """
    return sigmoid(logits) if is_binary else softmax(logits, -1)


def clamp_probs(probs: Any) -> Any:
    """Clamp probabilities to [eps, 1 - eps], with the dtype's eps (``torch.distributions.utils.clamp_probs``)."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """Log odds of probabilities if ``is_binary``, else their logarithms (``torch.distributions.utils``)."""
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


class lazy_property:
    """A property that is computed, with gradients, when it is first read, and kept in the instance
    (``torch.distributions.utils.lazy_property``).
    """

    def __init__(self, wrapped: Callable[[Any], Any]):
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, kind: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def _below_diagonal(n: int, diag: int, device: Any) -> Any:
    places = arange(n, device=device)
    return places < places.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """Return the elements of square matrices on and below a diagonal, row by row
    (``torch.distributions.utils.tril_matrix_to_vec``). Raises ValueError for a diagonal outside the matrix.
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _below_diagonal(n, diag, mat.device)]


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """Return the square matrices that have the elements of vectors on and below a diagonal, row by row, and zeros
    elsewhere (``torch.distributions.utils.vec_to_tril_matrix``). Raises ValueError for a number of elements that no
    matrix has there.
    """
    count, odd = vec.shape[-1], 1 + 2 * diag
    n = (-odd + (odd**2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > finfo(vec.dtype).eps:
        raise ValueError(f"The size of last dimension is {count} which cannot be expressed as the lower triangular "
                         "part of a square D x D matrix.")
    n = round(n)
    matrix = vec.new_zeros((*vec.shape[:-1], n, n))
    matrix[..., _below_diagonal(n, diag, vec.device)] = vec
    return matrix
