"""``MaskedTensor``: data, and a mask of the elements that are specified; the others have no value and no gradient.

Functions run on the data, and on the mask where they move elements: ``_table`` has the rows. Gradients of masked
tensors are masked tensors.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .._base.formats import LAYOUTS
from .._dtype import COMPLEX, bfloat16, bool_, uint8
from .._tensor import Tensor
from ..autograd import Function

SPARSE = (LAYOUTS["sparse_coo"], LAYOUTS["sparse_csr"])


def same(a: Any, b: Any) -> bool:
    """Return True if two masks, or indices, of one layout have the same elements."""
    if a.layout != b.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {a.layout} and {b.layout}")
    if a.layout in SPARSE:
        return same_places(a, b) and same(a.values(), b.values())
    return a.shape == b.shape and bool((a == b).all())


def same_places(a: Any, b: Any) -> bool:
    """Return True if two sparse tensors of one layout have elements at the same places."""
    if a.layout == SPARSE[0]:
        return same(a.indices(), b.indices())
    return same(a.crow_indices(), b.crow_indices()) and same(a.col_indices(), b.col_indices())


class MaskedTensor(Tensor):
    """A copy of ``data`` whose elements are specified where ``mask`` is True (``torch.masked.MaskedTensor``).

    Raises TypeError if one is not a tensor, for a mask of another dtype than bool, for different layouts, and for data
    that are complex, bfloat16 or unsigned; ValueError if the sizes, or places of sparse elements, differ.
    """

    _masked_data: Any
    _masked_mask: Any
    #: What functions and operators do with these tensors: the package puts them here.
    _function: Callable[..., Any]
    _operator: Callable[..., Any]

    @staticmethod
    def __new__(cls: Any, data: Any, mask: Any, requires_grad: bool = False) -> Any:
        for name, value in (("data", data), ("mask", mask)):
            if isinstance(value, MaskedTensor) or not isinstance(value, Tensor):
                raise TypeError(f"{name} must be a Tensor")
        warnings.warn("The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. "
                      "Please open a Github issue for features requests and see our documentation on the torch.masked "
                      "module for further information about the project.", UserWarning, stacklevel=2)
        if data.requires_grad:
            warnings.warn("It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid "
                          "this, you can use data.detach().clone()", UserWarning, stacklevel=2)
        return Tensor._make_wrapper_subclass(cls, data.size(), dtype=data.dtype, device=data.device,
                                             requires_grad=requires_grad)

    def __init__(self, data: Any, mask: Any, requires_grad: bool = False) -> None:
        if data.layout != mask.layout:
            raise TypeError("data and mask must have the same layout.")
        if data.layout == SPARSE[0]:
            data, mask = data.coalesce(), mask.coalesce()
        if data.layout in SPARSE and data._nnz() != mask._nnz():
            data = data.to_dense().sparse_mask(mask)
        self._set_data_mask(data.detach().clone(), mask.detach().clone())

    def _set_data_mask(self, data: Any, mask: Any) -> None:
        self._masked_data, self._masked_mask = data, mask
        if data.layout != mask.layout or str(data.layout) not in ("torch.strided", *map(str, SPARSE)):
            raise TypeError(f"data layout of {data.layout} is not supported.")
        if mask.dtype != bool_:
            raise TypeError("mask must have dtype bool.")
        if data.dtype.category == COMPLEX or data.dtype in (bfloat16, uint8):
            raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
        if data.dim() != mask.dim():
            raise ValueError("data.dim() must equal mask.dim()")
        if data.size() != mask.size():
            raise ValueError("data.size() must equal mask.size()")
        if data.layout in SPARSE and not same_places(data, mask):
            raise ValueError("data and mask are both sparse COO tensors but do not have the same indices."
                             if data.layout == SPARSE[0] else
                             "data and mask are both sparse CSR tensors but do not share either crow or col indices.")

    @property
    def layout(self) -> Any:
        """The layout of the data."""
        return self._masked_data.layout

    def get_data(self) -> Any:
        """Return the data as an ordinary tensor, through which gradients flow, with those of unspecified elements."""
        return GetData.apply(self)

    def get_mask(self) -> Any:
        """Return the mask: True where an element is specified."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Any:
        """Return an ordinary tensor with ``value`` for unspecified elements."""
        return self.get_data().masked_fill(~self.get_mask(), value)

    def is_sparse_coo(self) -> bool:
        """Return True if data and mask are sparse tensors with coordinates."""
        return bool(self.layout == SPARSE[0])

    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """Return True if data and mask are sparse tensors of compressed rows."""
        return bool(self.layout == SPARSE[1])

    @property
    def is_sparse(self) -> bool:
        """True if data and mask are sparse."""
        return self.layout in SPARSE

    def is_contiguous(self, *args: Any, **kwargs: Any) -> bool:
        """Return True if the data are contiguous (``torch.Tensor.is_contiguous``)."""
        if self.is_sparse:
            raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
        return bool(self._masked_data.is_contiguous(*args, **kwargs))

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        data, mask = self._masked_data, self._masked_mask
        if data.layout in SPARSE:
            data, mask = data.to_dense(), mask.to_dense()
        if not self.ndim:
            return f"MaskedTensor({_text(data.item()) if mask.item() else '--'}, {mask.item()})"
        return f"MaskedTensor(\n{_indented(_rows(data.tolist(), mask.tolist()))}\n)"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return cls._function(func, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return cls._operator(func, args, kwargs or {})


def _text(value: Any) -> str:
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def _rows(data: list[Any], mask: list[Any]) -> str:
    """Return elements as text, '--' for those that are not specified."""
    if data and isinstance(data[0], list):
        return "[\n" + ",\n".join(_indented(_rows(*pair)) for pair in zip(data, mask, strict=True)) + "\n]"
    cells = [_text(value) for value in data]
    width = max([len(cell) if kept else 8 for cell, kept in zip(cells, mask, strict=True)], default=0)
    return "[" + ", ".join(cell if kept else "--".rjust(width) for cell, kept in zip(cells, mask, strict=True)) + "]"


class GetData(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any) -> Any:
        ctx.mask = tensor._masked_mask
        return tensor._masked_data.detach()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad if isinstance(grad, MaskedTensor) else quietly(grad, ctx.mask)


class Constructor(Function):
    @staticmethod
    def forward(ctx: Any, data: Any, mask: Any) -> Any:
        return quietly(data, mask)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad, None


class _Filled(Function):
    @staticmethod
    def forward(ctx: Any, data: Any, mask: Any, value: Any) -> Any:
        ctx.mask = mask
        return data.masked_fill(~mask, value)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return quietly(grad._masked_data if isinstance(grad, MaskedTensor) else grad, ctx.mask), None, None


def quietly(data: Any, mask: Any) -> Any:
    """Return a masked tensor without the warning that a user's call gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MaskedTensor(data, mask)


def filled(tensor: MaskedTensor, value: Any) -> Any:
    """Return the data with ``value`` in the place of unspecified elements, whose gradients are unspecified."""
    return _Filled.apply(tensor.get_data(), tensor.get_mask(), value)


def is_masked_tensor(obj: Any, /) -> bool:
    """Return True for a masked tensor (``torch.masked.is_masked_tensor``)."""
    return isinstance(obj, MaskedTensor)


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """Return a new leaf with copies of data and mask, as ``MaskedTensor`` does (``torch.masked.masked_tensor``)."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> Any:
    """Return a masked tensor through which gradients flow to ``data`` (``torch.masked.as_masked_tensor``)."""
    return Constructor.apply(data, mask)
