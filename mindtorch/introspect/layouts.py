"""The dense tensors that a tensor of a sparse layout consists of, in mindtorch and in PyTorch."""
from __future__ import annotations

from typing import Any

#: The methods that return the dense tensors of a layout.
PARTS = {"sparse_coo": ("_indices", "_values"), "sparse_csr": ("crow_indices", "col_indices", "values"),
         "sparse_csc": ("ccol_indices", "row_indices", "values"),
         "sparse_bsr": ("crow_indices", "col_indices", "values"),
         "sparse_bsc": ("ccol_indices", "row_indices", "values")}


def layout_name(tensor: Any) -> str:
    """Return the name of a tensor's layout: ``strided``, ``sparse_coo``."""
    return str(tensor.layout).removeprefix("torch.")


def is_sparse(tensor: Any) -> bool:
    """Return True if a tensor has one of the layouts of ``PARTS``."""
    return layout_name(tensor) in PARTS


def layout_text(tensor: Any) -> str:
    """Return in a line what a tensor consists of that is not strided."""
    layout = layout_name(tensor)
    if layout not in PARTS:
        return f"layout {layout}: how its elements lie is known to its operators only"
    parts = ", ".join(f"x.{name}() {list(getattr(tensor, name)().shape)}" for name in PARTS[layout])
    return (f"layout {layout}: {tensor._nnz():,} of {tensor.numel():,} elements are stored, with their places; "
            f"its parts are ordinary tensors: {parts}")
