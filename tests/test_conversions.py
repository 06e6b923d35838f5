"""What numbers, sizes, functions and strings of Python's and NumPy's become, and tensors as Python's numbers."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch
from tests.both import Program, assert_same_outcome, each_program
from tests.support import assert_same, torch


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("before", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64"])
def test_numbers_are_converted_to_every_dtype_as_in_pytorch(before: str) -> None:
    calls: list[Callable[[Any, Any, Any], Any]] = [
        lambda t, x, dtype: x.to(dtype), lambda t, x, dtype: x.type(dtype), lambda t, x, dtype: x.to("cpu", dtype),
        lambda t, x, dtype: x.mT.to(dtype) if x.dim() > 1 else x.expand(2, *x.shape).to(dtype),
        lambda t, x, dtype: x.to(dtype, copy=True)]
    for after in ("bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"):
        for numbers in ([0.0, 1.0, 2.0, 100.0], [[0.5, -0.0], [1.5, 7.25]], 3.0, []):
            for call in calls:
                ours, theirs = (call(t, t.tensor(numbers).to(getattr(t, before)), getattr(t, after))
                                for t in (mindtorch, torch))
                assert_same(ours, theirs)


#: A little more than the middle between two numbers of half precision, which float32 cannot tell from it.
ABOVE_THE_MIDDLE = {"float16": 1 + 2**-11 + 2**-40, "bfloat16": 1 + 2**-8 + 2**-40}


@each_program(
    lambda t, x, half: [x.to(half), x[::2].to(half), x.expand(9, 4).to(half), x.repeat(500).to(half)[:3]],
    lambda t, x, half: [t.zeros(4, dtype=half).copy_(x), t.zeros(4, dtype=half).fill_(x[0]), t.tensor(x, dtype=half)],
    lambda t, x, half: [t.tensor(y, dtype=half) for y in (x[0].item(), x.tolist(), x.numpy())],
    lambda t, x, half: [t.full((2,), x[0].item(), dtype=half), t.linspace(x[0].item(), 3, 5, dtype=half)],
    lambda t, x, half: [f(x[:1], dtype=half) for f in (t.sum, t.mean, t.prod)] + [x[:2].cumsum(0, dtype=half)],
    lambda t, x, half: [f(t.ones(4, dtype=half), x[0]) for f in (t.add, t.maximum, t.atan2, t.eq)],
    lambda t, x, half: [f(t.ones(4, dtype=half), x[0].item()) for f in (t.add, t.fmod, t.eq, t.clamp, t.pow)],
    lambda t, x, half: [t.add(x, 0, out=t.zeros(4, dtype=half)), t.zeros(4, dtype=half).add_(x)],
    lambda t, x, half: [t.zeros(4, dtype=half).masked_fill(t.ones(4) > 0, y) for y in (x[0], x[0].item())],
    lambda t, x, half: [t.zeros(4, dtype=half).index_fill(0, t.tensor([1]), y) for y in (x[0], x[0].item())],
    lambda t, x, half: [t.zeros(4, dtype=half).scatter(0, t.tensor([1]), x[0].item()),
                        t.nn.functional.pad(t.zeros(2, dtype=half), (1, 1), value=x[0].item()),
                        t.nn.functional.threshold(t.zeros(2, dtype=half), 0, x[0].item())],
    lambda t, x, half: t.tensor([2.0**-25 + 2.0**-60, 65519.9999999, 65520], dtype=t.float64).to(half),
)
@pytest.mark.parametrize("dtype", ABOVE_THE_MIDDLE)
def test_numbers_of_double_precision_become_half_precision_by_way_of_float32(program: Any, dtype: str) -> None:
    for _ in range(3):  # the first call of a layout, one that settles it, and a settled one
        assert_same_outcome(lambda t: program(t, t.full((4,), ABOVE_THE_MIDDLE[dtype], dtype=t.float64),
                                              getattr(t, dtype)))


def test_a_tensor_is_itself_in_the_format_that_its_strides_suggest() -> None:
    def found(t: Any) -> list[Any]:
        images = t.ones(2, 3, 4, 5)
        tensors = [t.ones(2, 3).t(), images, images.to(memory_format=t.channels_last), images.permute(0, 3, 1, 2),
                   t.ones(2, 1, 4, 5).to(memory_format=t.channels_last), t.ones(2, 3, 1, 1), t.ones(6)[::2],
                   t.ones(1, 2, 3, 4, 5).permute(0, 4, 1, 2, 3), images[:, :1].expand(2, 3, 4, 5), t.ones(2, 0, 4, 5)]
        made = []
        for x in tensors:
            for name in ("contiguous_format", "channels_last", "channels_last_3d", "preserve_format"):
                for options in ({}, {"dtype": t.float64}, {"copy": True}):
                    try:
                        y = x.to(memory_format=getattr(t, name), **options)
                        made.append((y.stride(), y is x))
                    except RuntimeError as error:
                        made.append(str(error).partition("\n")[0])
        return made

    assert found(mindtorch) == found(torch)


@each_program(
    lambda t: float(t.tensor(1 + 2j)),
    lambda t: (float(t.tensor(1 + 0j)), int(t.tensor(2 + 0j)), complex(t.tensor(2))),
    lambda t: int(t.tensor(1 + 2j)),
    lambda t: int(t.ones(2)),
    lambda t: float(t.tensor([])),
    lambda t: t.ones(2).item(),
    lambda t: (reversed(t.tensor([[1, 2], [3, 4]])), reversed(t.tensor(1))),
)
def test_conversions_of_python(program: Program) -> None:
    assert_same_outcome(program)


@each_program(
    lambda t: t.tensor([1, 2]).apply_(lambda a: a + 1.5),
    lambda t: t.ones(2, 2).t().map_(t.tensor([3.0, 4.0]), lambda a, b: a - b),
    lambda t: t.zeros(2).map2_(t.ones(1), t.ones(2), lambda a, b, c: a + b + c),
    lambda t: t.ones(2).map_(t.ones(3), lambda a, b: a),
    lambda t: t.ones(2).map_(t.ones(2, dtype=t.double), lambda a, b: a),
    lambda t: t.ones(2, requires_grad=True).apply_(lambda a: a),
    lambda t: t.ones(2).map_(t.ones(2, requires_grad=True), lambda a, b: a),
    lambda t: t.ones(2, device="meta").apply_(lambda a: a),
)
def test_functions_called_with_each_element(program: Program) -> None:
    assert_same_outcome(program)


@each_program(
    lambda t: t.randn(2, dtype=float).dtype,
    lambda t: (t.zeros(1, dtype=complex), t.tensor([1], dtype=int), t.full((1,), 1, dtype=bool)),
    lambda t: (t.ones(1).to(float), t.ones(1).to("cpu", int), t.ones(1).sum(dtype=float), t.arange(3, dtype=float)),
    lambda t: (t.as_tensor([1], dtype=float), t.asarray([1], dtype=float), t.ones(1).new_zeros(1, dtype=float)),
    lambda t: t.zeros(1, dtype=str),
    lambda t: t.zeros(1, dtype=np.float64),
    lambda t: (t.ones((np.array(2), 1)), t.ones(4).view(np.array(4))),
    lambda t: t.zeros(1).new(size=(2,)).shape,
    lambda t: (t.arange(3).roll(1, dims=None), t.fft.fftshift(t.arange(3), None)),
    lambda t: t.ones(2, 2).rot90(1, None),
)
def test_dtypes_and_sizes_given_as_other_types(program: Program) -> None:
    assert_same_outcome(program)


@each_program(lambda t: t.tensor(["a"]), lambda t: t.tensor([["ab"], 1]), lambda t: t.tensor(["a"], dtype=t.float32),
         lambda t: t.as_tensor(["a"]), lambda t: t.tensor("a"), lambda t: t.tensor([1, "a"]), lambda t: t.tensor([""]))
def test_no_tensor_is_made_of_strings(program: Program) -> None:
    assert_same_outcome(program)


@each_program(
    lambda t: t.Size(t.ones(2)),
    lambda t: t.Size(t.tensor([1, 2])),
    lambda t: t.frombuffer([1], dtype=t.int),
    lambda t: t.tensor([[1, np.float32(5)], [2, 3]]),
    lambda t: t.tensor([1]).type(t.Tensor).dtype,
)
def test_sizes_buffers_and_nested_lists(program: Program) -> None:
    assert_same_outcome(program)


def test_devices_by_name_are_those_of_the_class() -> None:
    x = mindtorch.ones(2)
    for _ in range(2):
        assert x.to("cpu") is x and x.to(mindtorch.device("cpu")) is x and x.cpu() is x
        assert x.to("meta").device == mindtorch.device("meta") == mindtorch.ones(2, device="meta").device
        for name in ("nowhere", "cpu:-1", ""):
            with pytest.raises(RuntimeError):
                x.to(name)
            with pytest.raises(RuntimeError):
                mindtorch.ones(2, device=name)


@each_program(*[lambda t, name=name, device=device: getattr(t.ones(2, 3, device=device), name)()  # type: ignore[misc]
                for device in ("cpu", "meta")
                for name in ("is_coalesced", "coalesce", "indices", "values", "crow_indices", "col_indices",
                             "ccol_indices", "row_indices", "sparse_dim", "dense_dim")])
def test_what_only_sparse_tensors_have_is_refused_in_pytorchs_words(program: Program) -> None:
    assert_same_outcome(program)


@each_program(lambda t: t.smm(t.ones(2, 2), t.ones(2, 2)), lambda t: t.ones(2, 2).smm(t.ones(2, 2)),
              lambda t: t.sspaddmm(*[t.ones(2, 2)] * 3), lambda t: t.ones(2, 2).sspaddmm(*[t.ones(2, 2)] * 2))
def test_products_of_sparse_matrices_take_no_others(program: Program) -> None:
    assert_same_outcome(program)


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("name", ["_nnz", "_indices", "_values", "_dimI", "_dimV", "sparse_mask"])
def test_what_only_sparse_tensors_have_a_kernel_of_is_refused(name: str, device: str) -> None:
    for lib in (mindtorch, torch):
        x = lib.ones(2, 3, device=device)
        with pytest.raises(NotImplementedError, match=f"aten::{name}"):
            getattr(x, name)(*[x] * (name == "sparse_mask"))


@pytest.mark.parametrize("program", [
    lambda t: t.ones(2).to(tensor=t.ones(1, dtype=t.int8)), lambda t: t.ones(2).to(None, t.int8, False, True),
    lambda t: t.ones(2).to("cpu", int), lambda t: t.ones(2).to(), lambda t: t.ones(2).to(t.int8, 1),
    lambda t: t.ones(2).to("cpu", True), lambda t: t.ones(2).to(t.int8, dtype=t.int8),
    lambda t: t.nn.Linear(2, 2).to(tensor=t.ones(1, dtype=t.float64)).weight,
    lambda t: t.ones(2).to(other=t.ones(1)),
])
def test_the_binder_checks_the_arguments_of_to(program):
    found = []
    for lib in (mindtorch, torch):
        try:
            found.append(str(program(lib).dtype))
        except TypeError as error:
            found.append(type(error).__name__)
    assert found[0] == found[1]
