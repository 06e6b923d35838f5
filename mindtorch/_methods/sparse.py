"""Methods of sparse tensors and functions of older versions, refused as PyTorch refuses them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from .._tensor import Tensor, tensor_method

#: What took the place of each function, and how the two differ.
INSTEAD = {
    "eig": "Use `torch.linalg.eig`, or `torch.linalg.eigvals` without the vectors: they return complex tensors of "
           "dtype `cfloat` or `cdouble`, and not real tensors mimicking complex ones.",
    "lstsq": "`torch.linalg.lstsq` has the arguments reversed, `torch.linalg.lstsq(A, B).solution`, returns the "
             "residuals in a field of their own, and no QR decomposition: for that, see `torch.linalg.qr`.",
    "matrix_rank": "Please use the `torch.linalg.matrix_rank` function instead. The parameter 'symmetric' was renamed "
                   "in `torch.linalg.matrix_rank()` to 'hermitian'.",
    "solve": "`torch.linalg.solve` has the arguments reversed, `torch.linalg.solve(A, B)`, and does not return the LU "
             "factorization: for that, see `torch.lu`.",
    "symeig": "Use `torch.linalg.eigh(A, UPLO='U' if upper else 'L')`, or `torch.linalg.eigvalsh` without the vectors: "
              "they look at the lower triangular portion of the matrix by default, and no longer at the upper one.",
}


def _removed(name: str, arguments: str) -> Callable[..., NoReturn]:
    def function(input: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
        if arguments == "input, A" and not args and "A" not in kwargs:
            raise TypeError(f"{name}() missing 1 required positional argument: 'A'")
        raise RuntimeError(f"This function was deprecated since version 1.9 and is now removed. {INSTEAD[name]}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Removed from PyTorch (``torch.{name}``): always raises RuntimeError. {INSTEAD[name]}"
    return function


eig, matrix_rank, symeig = (_removed(name, "input") for name in ("eig", "matrix_rank", "symeig"))
lstsq, solve = (_removed(name, "input, A") for name in ("lstsq", "solve"))
for _function in (eig, lstsq, solve, symeig):
    tensor_method(_function.__name__)(_function)


#: By the method: the layout that it expects, and what it returns of a tensor that has it.
SPARSE = {
    "is_coalesced": ("sparse coordinate", "Whether each index of a sparse tensor is there once"),
    "coalesce": ("sparse coordinate", "A sparse tensor with each index once"),
    "indices": ("sparse coordinate", "Where the values of a sparse tensor stand"),
    "values": ("sparse", "The values of a sparse tensor"),
    "crow_indices": ("sparse row compressed", "Where the rows of a sparse tensor begin"),
    "col_indices": ("sparse row compressed", "The columns of a sparse tensor's values"),
    "ccol_indices": ("sparse column compressed", "Where the columns of a sparse tensor begin"),
    "row_indices": ("sparse column compressed", "The rows of a sparse tensor's values"),
}
#: Methods that only sparse tensors have a kernel of, and what they return.
KERNELS = {
    "_nnz": "The number of values of a sparse tensor",
    "_indices": "Where the values of a sparse tensor stand, also where an index is there twice",
    "_values": "The values of a sparse tensor, also where an index is there twice",
    "_dimI": "The number of sparse dimensions",
    "_dimV": "The number of dense dimensions",
    "sparse_mask": "This tensor's values where a sparse one, `mask`, has some",
}


def _of_layout(name: str, layout: str) -> Callable[[Tensor], Any]:
    def method(self: Tensor) -> Any:
        raise RuntimeError(f"{name} expected {layout} tensor layout but got Strided")

    method.__doc__ = "    RuntimeError: always, since tensors are strided."
    return method


def _of_kernel(name: str) -> Callable[..., Any]:
    def refused(self: Tensor) -> NotImplementedError:
        return NotImplementedError(f"Could not run 'aten::{name}' with arguments from the '{self._device.type}' "
                                   "backend: only sparse tensors have a kernel of it")

    def method(self: Tensor) -> Any:
        raise refused(self)

    def of_mask(self: Tensor, mask: Tensor) -> Any:
        raise refused(self)

    chosen: Callable[..., Any] = of_mask if name == "sparse_mask" else method
    chosen.__doc__ = "    NotImplementedError: always, since tensors are strided."
    return chosen


def _add_method(name: str, method: Callable[..., Any], what: str) -> None:
    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"{what} (``torch.Tensor.{name}``).\n\nRaises:\n{method.__doc__}"
    setattr(Tensor, name, method)


@tensor_method("sparse_dim")
def sparse_dim(self: Tensor) -> int:
    """Return the number of sparse dimensions: 0, since the tensor is strided (``torch.Tensor.sparse_dim``)."""
    return 0


@tensor_method("dense_dim")
def dense_dim(self: Tensor) -> int:
    """Return the number of dense dimensions: all, since the tensor is strided (``torch.Tensor.dense_dim``)."""
    return self.dim()


@tensor_method("sspaddmm")
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return a sparse matrix plus the product of a sparse and a dense one (``torch.sspaddmm``).

    Raises:
        RuntimeError: always, since tensors are strided.
    """
    raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")


@tensor_method("smm")
def smm(input: Tensor, mat: Tensor) -> Tensor:
    """Return the product of a sparse and a dense matrix, which is sparse (``torch.smm``).

    Raises:
        RuntimeError: always, since tensors are strided.
    """
    return sspaddmm(input, input, mat)


for _name, (_layout, _what) in SPARSE.items():
    _add_method(_name, _of_layout(_name, _layout), _what)
for _name, _what in KERNELS.items():
    _add_method(_name, _of_kernel(_name), _what)
