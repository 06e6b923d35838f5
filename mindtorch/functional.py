"""Functions of the namespace that PyTorch has in Python too: they take any number of tensors (``torch.functional``)."""
from __future__ import annotations

import warnings
from typing import Any, cast

from ._base.about import about, wrong_argument
from ._base.call_site import outside, warn_once
from ._base.layout import Ints, contiguous_strides
from ._base.size import Size
from ._base.symbolic import SymInt
from ._dispatch.aten import (
    block_diag as _block_diag, broadcast_tensors as _broadcast_tensors, cartesian_prod as _cartesian_prod,
    chain_matmul as _chain_matmul, chain_matmul_out as _chain_matmul_out, copy_ as _copy_, einsum as _einsum,
    meshgrid_indexing as _meshgrid_indexing, resize_ as _resize_, tensordot as _tensordot,
    tensordot_out as _tensordot_out,
)
from ._dispatch.schemas import registry
from ._dispatch.torch_function import asked, handle
from ._dtype import FLOATING, bool_, int64
from ._methods.api import FUNCTIONS as _FUNCTIONS
from ._methods.functions import _lu_with_info
from ._tensor import Tensor, tensor_method

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors",
           "cartesian_prod", "chain_matmul", "einsum", "lu", "meshgrid", "split", "tensordot", "unravel_index"]
__dir__ = __all__.copy
#: Operators here, functions of this module in PyTorch.
cdist, norm, stft, unique, unique_consecutive = map(_FUNCTIONS.__getitem__, (
    "cdist", "norm", "stft", "unique", "unique_consecutive"))


def _listed(tensors: tuple[Any, ...]) -> list[Tensor]:
    """Return tensors given one by one, or in one list, as a list; TypeError if a value is not a tensor."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    for i, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise about(TypeError(f"expected Tensor as element {i} in argument 0, but got {type(tensor).__name__}"),
                        "no tensor in a list", number=i, given=type(tensor).__name__)
    return list(tensors)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Return the tensors expanded to their common shape (``torch.broadcast_tensors``). Raises RuntimeError if they have
    no common shape.
    """
    return _broadcast_tensors(_listed(tensors))


def broadcast_shapes(*shapes: Any) -> Size:
    """Return the common shape of tuples or numbers, else raise RuntimeError (``torch.broadcast_shapes``)."""
    sizes = [(shape,) if isinstance(shape, (int, SymInt)) else tuple(shape) for shape in shapes]
    result = [1] * max((len(shape) for shape in sizes), default=0)
    for i, shape in enumerate(sizes):
        for back, size in enumerate(reversed(shape), 1):
            if size < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({size}): ({size})")
            if size not in (1, result[-back]) and result[-back] != 1:
                raise RuntimeError(f"Attempting to broadcast a dimension of length {size} at {-back}! Mismatching "
                                   f"argument at index {i} had {shape}; but expected shape should be broadcastable to "
                                   f"{result}")
            result[-back] = size if result[-back] == 1 else result[-back]
    return Size(result)


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Expand vectors (n1,), (n2,), ... over their grid (n1, n2, ...); ``indexing='xy'`` swaps the first two
    (``torch.meshgrid``). Raises RuntimeError if a tensor has more than one dimension, or dtypes or devices differ.
    """
    if indexing is None:
        warnings.warn("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
                      stacklevel=outside())
    return _meshgrid_indexing(_listed(tensors), "ij" if indexing is None else indexing)


def cartesian_prod(*tensors: Any) -> Tensor:
    """Return all combinations of one element of each vector, as the rows of a matrix (``torch.cartesian_prod``)."""
    return _cartesian_prod(_listed(tensors))


def block_diag(*tensors: Any) -> Tensor:
    """Place matrices along the diagonal of a larger one, which is zero elsewhere (``torch.block_diag``)."""
    return _block_diag(_listed(tensors))


def _atleast(name: str, tensors: tuple[Any, ...]) -> Any:
    call = registry[name].call
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return call(tensors[0])
    return tuple(call(tensor) for tensor in _listed(tensors))


def atleast_1d(*tensors: Any) -> Any:
    """Return a tensor, or each of several, with at least one dimension (``torch.atleast_1d``)."""
    return _atleast("atleast_1d", tensors)


def atleast_2d(*tensors: Any) -> Any:
    """Return a tensor, or each of several, with at least two dimensions (``torch.atleast_2d``)."""
    return _atleast("atleast_2d", tensors)


def atleast_3d(*tensors: Any) -> Any:
    """Return a tensor, or each of several, with at least three dimensions (``torch.atleast_3d``)."""
    return _atleast("atleast_3d", tensors)


def split(tensor: Tensor, split_size_or_sections: int | Ints, dim: int = 0) -> tuple[Tensor, ...]:
    """Split a dimension into views of one size, or the sizes of a list (``torch.split``)."""
    return tensor.split(split_size_or_sections, dim)


def unravel_index(indices: Tensor, shape: int | Ints) -> tuple[Tensor, ...]:
    """Convert flat positions in a tensor of a shape to one tensor of indices per dimension (``torch.unravel_index``).
    Raises TypeError unless the positions are integers and the shape is made of ints, and ValueError for a negative
    size.
    """
    if indices._dtype.category >= FLOATING or indices._dtype is bool_:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, tuple, list)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    steps = indices.new_tensor(contiguous_strides(sizes), dtype=int64)
    return indices.unsqueeze(-1).floor_divide(steps).remainder(indices.new_tensor(sizes, dtype=int64)).unbind(-1)


# -- products ----------------------------------------------------------------------------------------------------------

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def einsum(equation: Any = "", *operands: Any) -> Tensor:
    """Sum products over labelled dimensions: ``einsum("ij,jk->ik", a, b)`` or ``einsum(a, [0, 1], b, [1, 2], [0, 2])``
    (``torch.einsum``). Raises ValueError if there is no operand, and RuntimeError if the equation does not fit the
    operands.
    """
    if not operands:
        raise ValueError("einsum(): must specify the equation string and at least one operand, or at least "
                         "one operand and its subscripts list")
    if isinstance(equation, Tensor):
        args = (equation, *operands)
        pairs, output = args[: len(args) // 2 * 2], args[len(args) // 2 * 2:]
        equation = ",".join(map(_subscripts, pairs[1::2])) + "".join(f"->{_subscripts(labels)}" for labels in output)
        operands = pairs[::2]
    in_list = len(operands) == 1 and isinstance(operands[0], (list, tuple))
    if (found := asked(() if in_list else operands, {})) is not None:  # PyTorch, too, asks in the form with an equation
        return cast(Tensor, handle(einsum, found, (equation, *operands), {}))
    if in_list:
        return einsum(equation, *operands[0])
    if not isinstance(equation, str):
        raise wrong_argument("einsum", "equation", "str", equation, 1)
    for i, operand in enumerate(operands):
        if not isinstance(operand, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 1, but got {type(operand).__name__}")
    return _einsum(equation, [*operands])


einsum.overridable = True  # type: ignore[attr-defined]


def _subscripts(labels: Any) -> str:
    for label in labels:
        if label is not Ellipsis and not 0 <= label < len(LETTERS):
            raise ValueError(f"einsum(): subscript {label} is not within the valid range [0, {len(LETTERS)})")
    return "".join("..." if label is Ellipsis else LETTERS[label] for label in labels)


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """Sum products over the last ``dims`` dimensions of ``a`` and the first of ``b``, or over those in a pair of lists
    (``torch.tensordot``). Raises RuntimeError if the dimensions do not match.
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, (tuple, list)):
        dims_a, dims_b = (tuple(d) if isinstance(d, (tuple, list)) else (d,) for d in dims)
    else:
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a, dims_b = tuple(range(-dims, 0)), tuple(range(dims))
    return _tensordot(a, b, dims_a, dims_b) if out is None else _tensordot_out(a, b, dims_a, dims_b, out)


def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the product of matrices in the cheapest order (``torch.chain_matmul``)."""
    return _chain_matmul(_listed(matrices)) if out is None else _chain_matmul_out(_listed(matrices), out)


@tensor_method("lu")
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> tuple[Tensor, ...]:
    """Return the LU factorization of matrices (..., m, n), its pivots and, with ``get_infos``, LAPACK's status, which
    is not 0 for a singular matrix (``torch.lu``).
    """
    warn_once("torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be "
              "removed in a future PyTorch release.\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with"
              "\nLU, pivots = torch.linalg.lu_factor(A, compute_pivots)\nand\n"
              "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\nshould be replaced with\n"
              "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)")
    result: Any = _lu_with_info(A, pivot, not get_infos)
    result = result if get_infos else tuple(result[:2])
    if out is None:
        return result
    if len(out) != len(result):
        raise TypeError(f"lu(): expected tuple of {len(result)} elements as 'out', but got {len(out)}")
    for target, part in zip(out, result, strict=True):
        _resize_(target, tuple(part.shape))
        _copy_(target, part)
    return tuple(out)
