"""Parts of PyTorch's tensors: their layout, the parts of one that is no piece of memory, their values."""
from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from ..._dtype import COMPLEX, DTYPES, FLOATING, INTEGER, RARE, DType
from ..layouts import layout_name, layout_text
from ..library import Layout
from ..nested import SHOWN, nested_layout, nested_text
from .loaded import quietly

FAKE = "FakeTensor"


@quietly
def layout_of(tensor: Any) -> Layout:
    """Where a tensor's elements lie."""
    dtype, device = dtype_of(tensor.dtype), str(tensor.device)
    if not materialized(tensor):
        return Layout((0,), (1,), 0, dtype, device, False)
    if tensor.is_nested:
        if layout_name(tensor) == "jagged":
            return nested_layout(tensor, ints(tensor._values.shape), dtype, device, array_of)
        return Layout((tensor.size(0),), (), 0, dtype, device, without=_nested(tensor))
    shape = ints(tensor.shape)
    if layout_name(tensor) != "strided":
        return Layout(shape, (), 0, dtype, device, without=layout_text(tensor))
    return Layout(shape, ints(tensor.stride()), int(tensor.storage_offset()), dtype, device,
                  without=without_values(tensor))


@quietly
def owner_of(tensor: Any) -> Any:
    """Return the storage under a tensor, or the tensor itself if it has none."""
    return tensor.untyped_storage() if has_storage(tensor) else tensor


@cache
def dtype_of(dtype: Any) -> DType:
    """PyTorch's dtype as mindtorch's of that name; one that mindtorch lacks is described."""
    name = str(dtype).removeprefix("torch.")
    if name in DTYPES or name in RARE:
        return DTYPES.get(name) or RARE[name]
    quantized = name.startswith(("q", "float"))
    return DType(name, COMPLEX if dtype.is_complex else FLOATING if quantized else INTEGER, dtype.itemsize, 0)


def stream_name(device: Any) -> str:
    """Return the name of a device's current stream, such as ``cuda:0 stream 0``, the default stream."""
    stream = getattr(sys.modules["torch"], device.type).current_stream(device)
    return f"{device} stream {getattr(stream, 'stream_id', 0)}"


def ints(sizes: Iterable[Any]) -> tuple[int, ...]:
    """Return sizes as numbers; of a size that is only known as a symbol, the number that it was first seen with."""
    return tuple(size if type(size) is int else int(getattr(size.node, "hint", None) or 0) for size in sizes)


def materialized(tensor: Any) -> bool:
    """Return True if a tensor has a shape: parameters of lazy modules get theirs in the first call."""
    return type(tensor).__name__ not in ("UninitializedParameter", "UninitializedBuffer")


def has_storage(tensor: Any) -> bool:
    """Return True if there is a piece of memory under a tensor."""
    torch = sys.modules["torch"]
    inside = torch._C._functorch
    return materialized(tensor) and torch._C._has_storage(tensor) and not tensor.is_nested and not (
        inside.is_batchedtensor(tensor) or inside.is_gradtrackingtensor(tensor) or inside.is_functionaltensor(tensor))


def is_wrapper(tensor: Any) -> bool:
    """Return True if a tensor's class defines its operators, so that its own memory means nothing."""
    torch = sys.modules["torch"]
    own = getattr(type(tensor), "__torch_dispatch__", None)
    return own is not None and own not in (torch.Tensor.__torch_dispatch__, torch._C._disabled_torch_dispatch_impl)


def without_values(tensor: Any) -> str:
    """Why a strided tensor's elements are not to be read; '' if they are, or if the device says so."""
    kind = type(tensor).__name__
    if kind == FAKE:
        return "a FakeTensor: shape, dtype and device are known, there are no values"
    if is_wrapper(tensor):
        return f"a {kind}, whose operators are its own (__torch_dispatch__): they are not run to draw it"
    if not has_storage(tensor) and not tensor.is_nested and str(tensor.layout) == "torch.strided":
        return "a tensor inside a transform of torch.func: its memory is that of the tensors that it stands for"
    return ""


def _nested(tensor: Any) -> str:
    torch = sys.modules["torch"]
    sizes = torch._C._nested_tensor_size(tensor) if hasattr(torch._C, "_nested_tensor_size") else (
        tensor._nested_tensor_size())
    return nested_text([str(size) for size in sizes[:SHOWN].tolist()], len(sizes))


def array_of(tensor: Any) -> np.ndarray:
    """Return values as an array, the tensor's own memory where it lies on the host as NumPy has it."""
    torch = sys.modules["torch"]
    plain = tensor.detach().cpu()
    if plain.is_quantized:
        plain = plain.dequantize()
    if plain.is_conj() or plain.is_neg():
        plain = plain.resolve_conj().resolve_neg()
    name = str(plain.dtype).removeprefix("torch.")
    if name == "complex32":
        return plain.to(torch.complex64).numpy()
    if name == "bfloat16" or name.startswith("float8"):
        bits = torch.int16 if plain.dtype.itemsize == 2 else torch.uint8
        return plain.view(bits).numpy().view(dtype_of(plain.dtype).np)
    return plain.numpy()
