"""Sparse tensors from coordinates and values, or from compressed indices; and the checks of what these must be."""
from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import prod
from typing import Any

from .. import _device
from .._backends.sparse.parts import nothing
from .._base.about import check_flags
from .._base.call_site import warn_once
from .._base.errors import check
from .._base.formats import layout as Layout, layout_name, sparse_coo
from .._dispatch.schemas import registry
from .._dtype import FLOATING, DType, as_dtype, int32, int64
from .._tensor import Tensor
from .._tensor.sparse import BLOCKED, BSC, BSR, BY_ROW, COMPRESSED, CSC, CSR
from .interop import as_tensor

_of_coordinates: Any = registry["_sparse_coo_tensor_with_dims_and_tensors"].call
_of_compressed: Any = registry["sparse_compressed_tensor.comp_plain_value_size"].call


class Invariants:
    """True to check the invariants of new sparse tensors; None, the default, does not, and warns once."""

    checked: bool | None = None

    @classmethod
    def check(cls, asked: bool | None) -> bool:
        """Return True if those of a tensor are to be checked, for which ``asked`` was given."""
        if asked is None and cls.checked is None:
            warn_once("Sparse invariant checks are implicitly disabled. Memory errors (e.g. SEGFAULT) will occur when "
                      "operating on a sparse tensor which violates the invariants, but checks incur performance "
                      "overhead. To silence this warning, explicitly opt in or out. See "
                      "`torch.sparse.check_sparse_tensor_invariants.__doc__` for guidance. ")
        return bool(cls.checked if asked is None else asked)


def sparse_coo_tensor(*args: Any, indices: Any = None, values: Any = None, size: Any = None, dtype: DType | None = None,
                      device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
                      check_invariants: bool | None = None, is_coalesced: bool | None = None,
                      layout: Layout | None = None) -> Tensor:
    """Return a tensor with ``values`` at coordinates (``torch.sparse_coo_tensor``).

    ``indices`` has a column for each value, with its coordinates; values of equal coordinates add up. ``values`` has a
    dimension for these columns, then the dense ones. ``size`` is by default the smallest that holds all. With ``size``
    alone, there are no values. ``check_invariants`` refuses coordinates outside of ``size``.

    Raises:
        TypeError: unless the arguments are ``(indices, values, size=None)`` or ``(size,)``.
        RuntimeError: if shapes do not fit, or an invariant does not hold.
    """
    given = [*args]
    if len(given) == 1 and indices is None and values is None:
        size = given.pop()
    indices = given.pop(0) if given else indices
    values = given.pop(0) if given else values
    size = given.pop(0) if given else size
    if given or (indices is None) is not (values is None) or (indices is None and size is None) or (
            isinstance(size, (dict, set)) or not isinstance(is_coalesced, (bool, type(None)))):
        raise TypeError("sparse_coo_tensor() received an invalid combination of arguments, but expected one of:\n"
                        " * (object indices, object values, *, dtype, device, requires_grad, check_invariants, "
                        "is_coalesced)\n * (object indices, object values, tuple of ints size, *, ...)\n"
                        " * (tuple of ints size, *, ...)")
    dtype = as_dtype("sparse_coo_tensor", dtype)
    check_flags("sparse_coo_tensor", requires_grad=requires_grad, pin_memory=pin_memory)
    check_flags("sparse_coo_tensor", True, check_invariants=check_invariants)
    checked = Invariants.check(check_invariants)
    if indices is None:
        made = nothing(size, sparse_coo, dtype, _device.resolve_device(device))
        return made._require_grad(True) if requires_grad else made
    held = as_tensor(values, dtype=dtype, device=device)
    places = as_tensor(indices, device=held._device)
    places = places if places._dtype is int64 else places.to(int64)
    check(places.ndim == 2, lambda: f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    held = held.expand((1,)) if not held.ndim else held
    sparse_dim, count = places.shape
    check(held.shape[0] == count, lambda: "indices and values must have same nnz, but got nnz from indices: "
          f"{count}, nnz from values: {held.shape[0]}")
    if size is None:
        size = (*_least_size(places), *held.shape[1:])
        if count:
            least = places.amin(1).tolist()
            for dim, low in enumerate(least):
                check(low >= 0, lambda: f"found negative index {low} for dim {dim}")  # noqa: B023
    size = tuple(size) if not isinstance(size, int) else (size,)
    check(len(size) == places.shape[0] + held.ndim - 1, lambda: "'len(size) == sparse_dim + dense_dim' is not "
          f"satisfied: len(size) = {len(size)}, sparse_dim = {sparse_dim}, dense_dim = {held.ndim - 1}")
    check(all(n >= 0 for n in size), lambda: f"Trying to create tensor with negative dimension {min(size)}: "
          f"{list(size)}")
    check(tuple(held.shape[1:]) == size[sparse_dim:], lambda: "values has incorrect size, expected "
          f"{[count, *size[sparse_dim:]]}, got {list(held.shape)}")
    check(prod(size) < 2 ** 63, "numel: integer multiplication overflow")
    if checked:
        check_coordinates(places, held, size, is_coalesced)
    made = _of_coordinates(sparse_dim, held.ndim - 1, size, places, held, None, sparse_coo, None, False, is_coalesced)
    return _leaf(made, requires_grad)


def _least_size(places: Tensor) -> tuple[int, ...]:
    if not places.shape[1]:
        return (0,) * places.shape[0]
    return tuple(n + 1 for n in places.amax(1).tolist())


def _leaf(made: Tensor, requires_grad: bool) -> Tensor:
    return made.detach()._require_grad(True) if requires_grad else made


def check_coordinates(indices: Tensor, values: Tensor, size: tuple[int, ...], coalesced: bool | None) -> None:
    """Raise RuntimeError unless coordinates lie in ``size``, and are in order if ``coalesced``."""
    sparse_dim = indices.shape[0]
    check(tuple(values.shape[1:]) == size[sparse_dim:], lambda: f"values has incorrect size, expected "
          f"{[values.shape[0], *size[sparse_dim:]]}, got {list(values.shape)}")
    if not indices.shape[1] or indices.is_meta:
        return
    for dim, (low, high) in enumerate(zip(indices.amin(1).tolist(), indices.amax(1).tolist(), strict=True)):
        check(low >= 0, lambda: f"found negative index {low} for dim {dim}")  # noqa: B023
        check(high < size[dim], lambda: f"size is inconsistent with indices: for dim {dim}, size is "  # noqa: B023
              f"{size[dim]} but found index {high}")  # noqa: B023
    if coalesced:
        columns = [tuple(column) for column in indices.t().tolist()]
        check(columns == sorted({*columns}), "cannot set is_coalesced to true if indices correspond to uncoalesced COO "
              "tensor")


def sparse_compressed_tensor(compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *,
                             dtype: DType | None = None, layout: Layout | None = None, device: Any = None,
                             pin_memory: bool = False, requires_grad: bool = False,
                             check_invariants: bool | None = None) -> Tensor:
    """Return a tensor with compressed rows or columns, as ``layout`` says (``torch.sparse_compressed_tensor``).

    ``compressed_indices`` are the places among the values at which each row (or column) begins, and the end;
    ``plain_indices`` the column (or row) of each value or block; ``size`` is by default the smallest that holds all.

    Raises:
        RuntimeError: if the layout is none of these, or an invariant that is checked does not hold.
    """
    check(layout in COMPRESSED, lambda: "sparse_compressed_tensor expected sparse compressed tensor layout but got "
          f"{'none' if layout is None else layout_name(layout)}")
    held = as_tensor(values, dtype=as_dtype("sparse_compressed_tensor", dtype), device=device)
    starts, plain = as_tensor(compressed_indices, device=held._device), as_tensor(plain_indices, device=held._device)
    starts, plain = (part if part._dtype in (int32, int64) or part._dtype.category >= FLOATING else part.to(int64)
                     for part in (starts, plain))
    if size is None:
        size = _compressed_size(starts, plain, held, layout)
    size = tuple(size)
    check(prod(size) < 2 ** 63, "numel: integer multiplication overflow")
    if Invariants.check(check_invariants):
        check_compressed(starts, plain, held, size, layout)
    else:
        check(len(size) >= 2 and held.ndim >= 1, lambda: f"sparse tensor size must have at least 2 dimensions, but got "
              f"{list(size)}")
    return _leaf(_of_compressed(starts, plain, held, size, None, layout, None, False), requires_grad)


def _compressed_size(starts: Tensor, plain: Tensor, values: Tensor, layout: Any) -> tuple[int, ...]:
    batch = starts.ndim - 1
    block = tuple(values.shape[batch + 1:batch + 3]) if layout in BLOCKED else (1, 1)
    lines, across = starts.shape[-1] - 1, int(plain.amax()) + 1 if plain.numel() else 0
    rows, columns = (lines, across) if layout in BY_ROW else (across, lines)
    dense = values.shape[batch + 1 + (2 if layout in BLOCKED else 0):]
    return (*starts.shape[:-1], rows * block[0], columns * block[1], *dense)


def check_compressed(starts: Tensor, plain: Tensor, values: Tensor, size: tuple[int, ...], layout: Any) -> None:
    """Raise RuntimeError unless the parts of a compressed tensor fit each other (ATen's invariants, by their numbers).

    """
    by_row = layout in BY_ROW
    first, second = ("crow_indices", "col_indices") if by_row else ("ccol_indices", "row_indices")
    lines, across = ("nrows", "ncols") if by_row else ("ncols", "nrows")
    check(starts.ndim >= 1, lambda: f"{first} must have dimensionality >= 1 but got {starts.ndim}")
    check(starts.ndim == plain.ndim, lambda: f"{first} and {second} dimensionalities must be equal but got "
          f"{starts.ndim} and {plain.ndim}, respectively")
    batch, block_dim = starts.ndim - 1, 2 if layout in BLOCKED else 0
    dense = values.ndim - batch - block_dim - 1
    check(dense >= 0, lambda: f"values must have dimensionality > sum of batch and block dimensionalities (="
          f"{batch} + {block_dim}) but got {values.ndim}")
    check(len(size) == batch + 2 + dense, lambda: f"tensor dimensionality must be sum of batch, base, and dense "
          f"dimensionalities (={batch} + 2 + {dense}) but got {len(size)}")
    block = tuple(values.shape[batch + 1:batch + 1 + block_dim]) or (1, 1)
    check(all(n > 0 for n in block), "`block_size` must be positive")
    for d in (0, 1):
        check(size[batch + d] % block[d] == 0, lambda: f"tensor shape[{batch + d}] (={size[batch + d]}) must be "  # noqa: B023
              f"divisible with blocksize[{d}] (={block[d]}) as defined by values shape")  # noqa: B023
    rows, columns = size[batch] // block[0], size[batch + 1] // block[1]
    count, beside = (rows, columns) if by_row else (columns, rows)
    check(tuple(starts.shape) == (*size[:batch], count + 1), lambda: f"{first}.shape[-1] must be equal to the number "
          f"of {'rows' if by_row else 'columns'} + 1 (={count + 1}), but got {starts.shape[-1]}" if
          starts.shape[-1] != count + 1 else f"all batch dimensions of {first} (={list(starts.shape[:-1])}), {second} "
          f"(={list(plain.shape[:-1])}), values (={list(values.shape[:batch])}) and tensor dimensions (="
          f"{list(size[:batch])}) must be equal to one another")
    nnz = values.shape[batch]
    check(plain.shape[-1] == nnz, lambda: f"number of elements in {second} (={plain.shape[-1]}) must be equal to the "
          f"number of specified elements (={nnz})")
    check(starts._dtype in (int32, int64), lambda: f"{first} and {second} must be an int32 or int64 type, but got "
          f"{starts.dtype}")
    check(starts._dtype is plain._dtype, lambda: f"{first} and {second} must have the same dtype, but got "
          f"{starts.dtype} and {plain.dtype}, respectively")
    if starts.is_meta:
        return
    check(bool((starts[..., 0] == 0).all()), lambda: f"`{first}[..., 0] == 0` is not satisfied.")
    check(bool((starts[..., -1] == nnz).all()), lambda: f"`{first}[..., -1] == nnz` is not satisfied.")
    many = prod(size[:batch])
    steps = starts[..., 1:] - starts[..., :-1]
    check(bool(((steps >= 0) & (steps <= beside)).all()), lambda: f"`0 <= {first}[..., 1:] - {first}[..., :-1] <= "
          f"{across}` is not satisfied.")
    check(bool(((plain >= 0) & (plain < beside)).all()), lambda: f"`0 <= {second} < {across}` is not satisfied.")
    for bounds, held in zip(starts.reshape(many, count + 1).tolist(), plain.reshape(many, nnz).tolist(), strict=True):
        for begin, end in pairwise(bounds):
            inside = held[begin:end]
            check(inside == sorted({*inside}), lambda: f"`{second}[..., {first}[..., i - 1]:{first}[..., i]] for all i "
                  f"= 1, ..., {lines} are sorted and distinct along the last dimension values` is not satisfied.")


def _of_layout(name: str, layout: Any, first: str, second: str) -> Callable[..., Tensor]:
    def function(*args: Any, **options: Any) -> Tensor:
        given = {"compressed_indices" if key == first else "plain_indices" if key == second else key: value
                 for key, value in options.items()}
        asked = given.pop("layout", layout)
        check(asked is layout, lambda: f"{name} expected sparse {layout} tensor layout but got {asked}")
        return sparse_compressed_tensor(*args, layout=layout, **given)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (f"Return a tensor of the layout ``{layout.name}`` (``torch.{name}``): "
                        f"``({first}, {second}, values, size=None)``, and the options of ``sparse_compressed_tensor``.")
    return function


sparse_csr_tensor = _of_layout("sparse_csr_tensor", CSR, "crow_indices", "col_indices")
sparse_csc_tensor = _of_layout("sparse_csc_tensor", CSC, "ccol_indices", "row_indices")
sparse_bsr_tensor = _of_layout("sparse_bsr_tensor", BSR, "crow_indices", "col_indices")
sparse_bsc_tensor = _of_layout("sparse_bsc_tensor", BSC, "ccol_indices", "row_indices")


# -- checks by themselves ----------------------------------------------------------------------------------------------


def _validate_sparse_coo_tensor_args(indices: Tensor, values: Tensor, size: Any, is_coalesced: bool | None = None,
                                     check_pinning: bool | None = None) -> None:
    """Raise RuntimeError unless coordinates and values make a tensor (``torch._validate_sparse_coo_tensor_args``)."""
    check(indices.ndim == 2, lambda: f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    check_coordinates(indices, values, tuple(size), is_coalesced)


def _validate_sparse_compressed_tensor_args(compressed_indices: Tensor, plain_indices: Tensor, values: Tensor,
                                            size: Any, layout: Layout, check_pinning: bool | None = None) -> None:
    """Raise RuntimeError unless parts make a compressed tensor (``torch._validate_sparse_compressed_tensor_args``)."""
    check_compressed(compressed_indices, plain_indices, values, tuple(size), layout)


def _validate_sparse_csr_tensor_args(crow_indices: Tensor, col_indices: Tensor, values: Tensor, size: Any,
                                     check_pinning: bool | None = None) -> None:
    """Raise RuntimeError unless parts make a tensor of compressed rows (``torch._validate_sparse_csr_tensor_args``)."""
    check_compressed(crow_indices, col_indices, values, tuple(size), CSR)


def _validate_compressed_sparse_indices(is_crow: bool, compressed_idx: Tensor, plain_idx: Tensor, cdim: int, dim: int,
                                        nnz: int) -> None:
    """Raise RuntimeError unless indices of ``nnz`` values compress ``cdim`` rows (or columns) of length ``dim``
    (``torch._validate_compressed_sparse_indices``).
    """
    lead = compressed_idx.shape[:-1]
    values = plain_idx.new_zeros((*plain_idx.shape[:-1], nnz))
    check_compressed(compressed_idx, plain_idx, values, (*lead, *((cdim, dim) if is_crow else (dim, cdim))),
                     CSR if is_crow else CSC)
