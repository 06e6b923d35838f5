"""Invariant checks of new sparse tensors, and gradient checks of functions of them."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._base.formats import strided
from .._creation import ones
from .._creation.sparse import Invariants, sparse_compressed_tensor, sparse_coo_tensor
from .._dtype import bool_
from .._tensor import Tensor


class check_sparse_tensor_invariants:
    """A switch, block and decorator that have sparse tensors checked when they are made
    (``torch.sparse.check_sparse_tensor_invariants``).
    """

    @staticmethod
    def is_enabled() -> bool:
        """Return True if new sparse tensors are checked."""
        return bool(Invariants.checked)

    @staticmethod
    def enable() -> None:
        """Check new sparse tensors from now on."""
        Invariants.checked = True

    @staticmethod
    def disable() -> None:
        """Check new sparse tensors no longer."""
        Invariants.checked = False

    def __init__(self, enable: bool = True):
        self.state = enable
        self.saved_state: bool | None = None

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError("This context manager instance is already activated. Use a different context manager "
                               "instance for context nesting.")
        self.saved_state = self.is_enabled()
        Invariants.checked = self.state

    def __exit__(self, *error: Any) -> None:
        assert self.saved_state is not None
        Invariants.checked, self.saved_state = self.saved_state, None

    def __call__(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return method(*args, **kwargs)

        return checked


def as_sparse_gradcheck(gradcheck: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``gradcheck`` for functions of sparse tensors: it differentiates with respect to their values
    (``torch.sparse.as_sparse_gradcheck``). With ``masked=False``, absent values count as well.
    """

    def of_values(func: Callable[..., Any], inputs: Any, **kwargs: Any) -> Any:
        masked = kwargs.pop("masked", False)
        inputs = inputs if isinstance(inputs, (list, tuple)) else (inputs,)
        dense: list[Any] = []
        makers: list[Callable[..., Any]] = []
        for value in inputs:
            if not isinstance(value, Tensor) or value.layout is strided:
                dense.append(value)
                makers.append(lambda part: part)
                continue
            make, values = _maker(value, masked)
            makers.append(make)
            dense.append(values.requires_grad_(value.requires_grad))

        def of_dense(*parts: Any) -> Any:
            result = func(*(make(part) for make, part in zip(makers, parts, strict=True)))
            results = result if isinstance(result, (list, tuple)) else (result,)
            found = tuple(part.to_dense(masked_grad=masked) if isinstance(part, Tensor) and part.layout is not strided
                          else part for part in results)
            return found if isinstance(result, (list, tuple)) else found[0]

        return gradcheck(of_dense, tuple(dense), **kwargs)

    functools.update_wrapper(of_values, gradcheck)
    return of_values


def _maker(tensor: Tensor, masked: bool) -> tuple[Callable[..., Tensor], Tensor]:
    """Return a function that makes a sparse tensor of values, and the values of this one, with those that are absent
    unless ``masked``.
    """
    shape, layout, tensor = tuple(tensor.shape), tensor.layout, tensor.detach()
    if not masked:
        every = ones(shape, dtype=bool_).to_sparse(layout=layout, blocksize=tensor._sparse.blocksize or None,
                                                   dense_dim=tensor.dense_dim())
        tensor = tensor.to_dense().sparse_mask(every)
    parts = tensor.coalesce()._sparse if tensor.is_sparse else tensor._sparse
    values = parts.values.detach().clone()
    if tensor.is_sparse:
        return lambda dense: sparse_coo_tensor(parts.indices, dense, shape, is_coalesced=True), values
    return lambda dense: sparse_compressed_tensor(parts.indices, parts.plain, dense, shape, layout=layout), values
