"""Finding as PyTorch's Python functions give it."""
from __future__ import annotations

from typing import Any

from .._dispatch.aten import (
    _unique2 as unique2, nonzero as nonzero_indices, nonzero_out, unique_consecutive as consecutive, unique_dim,
)
from . import COMPOSITES


def asked_for(results: tuple[Any, Any, Any], return_inverse: bool, return_counts: bool) -> Any:
    """The values, with what else was asked for."""
    values, inverse, counts = results
    extra = ((inverse,) if return_inverse else ()) + ((counts,) if return_counts else ())
    return (values, *extra) if extra else values


def unique(self: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
           dim: int | None = None) -> Any:
    """``torch.unique``: of the elements, or of the slices along ``dim``."""
    if dim is None:
        results = unique2(self, sorted, return_inverse, return_counts)
    else:
        results = unique_dim(self, dim, sorted, return_inverse, return_counts)
    return asked_for(results, return_inverse, return_counts)


def unique_consecutive(self: Any, return_inverse: bool = False, return_counts: bool = False,
                       dim: int | None = None) -> Any:
    """``torch.unique_consecutive``."""
    return asked_for(consecutive(self, return_inverse, return_counts, dim), return_inverse, return_counts)


def nonzero(self: Any, as_tuple: bool) -> Any:
    """``torch.nonzero`` with ``as_tuple``: one index tensor per dimension."""
    if not as_tuple:
        return nonzero_indices(self)
    return tuple((self if self.ndim else self.unsqueeze(0)).nonzero().unbind(1))


def allclose(self: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """``torch.allclose``: whether all elements are close, as a bool."""
    return self.isclose(other, rtol, atol, equal_nan).all().item()


def equal(self: Any, other: Any) -> bool:
    """``torch.equal``: whether shapes and all elements are equal, as a bool."""
    if self.shape != other.shape:
        return False
    same = (self == other).all()
    return bool(same._host("equal") if same.is_meta else same)  # of which PyTorch says that there is no kernel


COMPOSITES.add(unique, allclose, equal)
COMPOSITES.update({
    "unique_consecutive.python": unique_consecutive,
    "nonzero.python": nonzero,
    "nonzero.python_out": lambda self, as_tuple, out: nonzero_out(self, out),
    "argwhere": lambda self: nonzero_indices(self),
})
