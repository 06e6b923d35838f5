"""Functions of older versions, refused as PyTorch refuses them."""
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
