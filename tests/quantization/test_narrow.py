"""Names that libraries of 8-bit and narrower numbers use: formats, products with scales, ``out_dtype``."""
from __future__ import annotations

import importlib
from typing import Any, Optional, Union

import pytest

import mindtorch

torch = pytest.importorskip("torch", reason="PyTorch, the reference of these tests, is not installed")


def test_formats_of_less_than_a_byte_are_named_and_refused() -> None:
    for name in [*mindtorch._dtype.NARROW]:
        ours, theirs = getattr(mindtorch, name), getattr(torch, name)
        assert str(ours) == str(theirs)
        assert [ours.itemsize, ours.is_signed, ours.is_floating_point] == [
            theirs.itemsize, theirs.is_signed, theirs.is_floating_point]
    with pytest.raises(NotImplementedError, match=r"torch\.int4 is the name of a format"):
        mindtorch.zeros(2, dtype=mindtorch.int4)


def products(t: Any) -> list[Any]:
    functional, scaling = t.nn.functional, t.nn.functional.ScalingType
    a, b = t.arange(128.).view(8, 16) / 64 - 1, t.arange(256.).view(2, 16, 8) / 128 - 1
    ends = t.tensor([3, 8], dtype=t.int32)
    a8, b8 = a.to(t.float8_e4m3fn), b[0].t().contiguous().t().to(t.float8_e4m3fn)
    rows, columns = t.arange(1., 9).view(8, 1), t.arange(1., 9).view(1, 8)
    eights = t.arange(-4, 4, dtype=t.int8).view(2, 4) * 25
    return [
        functional.grouped_mm(a, b, offs=ends), functional.grouped_mm(b, b.transpose(1, 2)),
        functional.grouped_mm(b.transpose(1, 2), a.t(), offs=ends), functional.grouped_mm(a.t(), a, offs=ends),
        functional.scaled_mm(a8, b8, rows, scaling.RowWise, columns, scaling.RowWise, output_dtype=t.float32),
        functional.scaled_mm(a8, b8, t.tensor(2.), scaling.TensorWise, t.tensor(.5), scaling.TensorWise),
        t._higher_order_ops.out_dtype(t.ops.aten.mm.default, t.int32, eights, eights.t().contiguous()),
    ]


def test_products_of_groups_and_of_scaled_matrices_are_pytorchs() -> None:
    importlib.import_module("torch._higher_order_ops")
    for ours, theirs in zip(products(mindtorch), products(torch), strict=True):
        assert str(ours.dtype) == str(theirs.dtype)
        torch.testing.assert_close(torch.tensor(ours.tolist()), torch.tensor(theirs.tolist()))


def test_what_only_cuda_has_is_a_clear_error() -> None:
    weight = mindtorch.ones(16, 16)
    with pytest.raises(RuntimeError, match="PyTorch has them on CUDA alone"):
        mindtorch.sparse.to_sparse_semi_structured(weight)
    assert not isinstance(weight, mindtorch.sparse.SparseSemiStructuredTensor)
    with pytest.raises(RuntimeError, match="Have to provide offsets"):
        mindtorch.nn.functional.grouped_mm(weight, mindtorch.ones(2, 16, 4))
    with pytest.raises(ValueError, match="only allows the following operators"):
        mindtorch._higher_order_ops.out_dtype(mindtorch.ops.aten.sin.default, mindtorch.int32, weight)


def test_a_schema_has_optional_numbers() -> None:
    def scaled(x: mindtorch.Tensor, by: Optional[Union[int, float, bool]] = None) -> mindtorch.Tensor:  # noqa: UP007, UP045
        return x

    assert mindtorch.library.infer_schema(scaled, mutates_args=()) == "(Tensor x, Scalar? by=None) -> Tensor"


def test_overloads_of_to_convert() -> None:
    x, to = mindtorch.ones(2), mindtorch.ops.aten.to
    assert to.dtype(x, mindtorch.float32) is x and to.dtype(x, mindtorch.float32, copy=True) is not x
    assert to.dtype_layout(x, dtype=mindtorch.int8).dtype is mindtorch.int8
    assert to.other(x, mindtorch.ones(1, dtype=mindtorch.float64)).dtype is mindtorch.float64
    assert not mindtorch.ops.aten.is_pinned(x) and mindtorch._has_compatible_shallow_copy_type(x, x)
