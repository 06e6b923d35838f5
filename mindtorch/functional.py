"""Functions of the namespace that PyTorch has in Python too: they take any number of tensors (``torch.functional``)."""
from __future__ import annotations

from typing import Any

from ._backends.common.layout import Ints
from ._device import resolve_device
from ._dispatch.dispatcher import call_on
from ._dispatch.schemas import registry
from ._dtype import DType
from ._size import Size
from ._tensor import Tensor


def _listed(function: str, tensors: tuple[Any, ...]) -> list[Tensor]:
    """Tensors given one by one, or in one list.

    Raises:
        TypeError: if one is none.
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    for i, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{function}(): expected Tensor as element {i} in argument 0, but got {type(tensor).__name__}")
    return list(tensors)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape (``torch.broadcast_tensors``).

    Raises:
        RuntimeError: if they have none.
    """
    return registry["broadcast_tensors"].call(_listed("broadcast_tensors", tensors))


def broadcast_shapes(*shapes: Any) -> Size:
    """The common shape of shapes, which may be numbers (``torch.broadcast_shapes``).

    Raises:
        RuntimeError: if they have none.
    """
    sizes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    result = [1] * max((len(shape) for shape in sizes), default=0)
    for i, shape in enumerate(sizes):
        for back, size in enumerate(reversed(shape), 1):
            if size < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({size}): ({size})")
            if size not in (1, result[-back]) and result[-back] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {size} at {-back}! Mismatching argument at index {i} had "
                    f"{shape}; but expected shape should be broadcastable to {result}"
                )
            result[-back] = size if result[-back] == 1 else result[-back]
    return Size(result)


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Each vector expanded over the grid of all (``torch.meshgrid``); ``indexing`` is 'ij' or 'xy'.

    Raises:
        RuntimeError: if one has more than one dimension, or dtypes or devices differ.
    """
    return registry["meshgrid.indexing"].call(_listed("meshgrid", tensors), indexing or "ij")


def cartesian_prod(*tensors: Any) -> Tensor:
    """All combinations of one element of each vector, as rows (``torch.cartesian_prod``)."""
    return registry["cartesian_prod"].call(_listed("cartesian_prod", tensors))


def block_diag(*tensors: Any) -> Tensor:
    """Matrices along the diagonal of a larger one (``torch.block_diag``)."""
    return registry["block_diag"].call(_listed("block_diag", tensors))


def _atleast(name: str, tensors: tuple[Any, ...]) -> Any:
    call = registry[name].call
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return call(tensors[0])
    return tuple(call(tensor) for tensor in _listed(name, tensors))


def atleast_1d(*tensors: Any) -> Any:
    """A tensor, or each of several, with at least one dimension (``torch.atleast_1d``)."""
    return _atleast("atleast_1d", tensors)


def atleast_2d(*tensors: Any) -> Any:
    """A tensor, or each of several, with at least two dimensions (``torch.atleast_2d``)."""
    return _atleast("atleast_2d", tensors)


def atleast_3d(*tensors: Any) -> Any:
    """A tensor, or each of several, with at least three dimensions (``torch.atleast_3d``)."""
    return _atleast("atleast_3d", tensors)


def split(tensor: Tensor, split_size_or_sections: int | Ints, dim: int = 0) -> tuple[Tensor, ...]:
    """A dimension cut into pieces of one size, or of these sizes (``torch.split``)."""
    return tensor.split(split_size_or_sections, dim)  # type: ignore[attr-defined]


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: DType | None = None, device: Any = None,
                 layout: Any = None) -> Tensor:
    """The places of a matrix on the diagonal ``offset`` and below, in two rows (``torch.tril_indices``)."""
    return call_on(registry["tril_indices"], resolve_device(device).type, row, col, offset, dtype)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: DType | None = None, device: Any = None,
                 layout: Any = None) -> Tensor:
    """The places of a matrix on the diagonal ``offset`` and above, in two rows (``torch.triu_indices``)."""
    return call_on(registry["triu_indices"], resolve_device(device).type, row, col, offset, dtype)
