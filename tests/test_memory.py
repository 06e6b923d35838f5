"""Memory that tensors are set to, that grows, that is filled, and that is read while it is written."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch
from tests.both import Program, assert_same_outcome, each_program
from tests.support import torch


def numpy_without_recording(t: Any) -> Any:
    with t.no_grad():
        return t.ones(2, requires_grad=True).numpy()


def assign_integers_as_data(t: Any) -> None:
    t.ones(2, requires_grad=True).data = t.tensor([1, 2])


def set_to_each_source(t: Any) -> list[bool]:
    """Whether `set_` returns its tensor, given another one, a storage, a layout in either, and nothing."""
    x, other = t.ones(4), t.ones(4)
    storage = other.untyped_storage()
    sources = (other,), (storage,), (storage, 0, (2,), (1,)), (other, 0, (2, 2), (2, 1)), ()
    return [x.set_(*source) is x for source in sources]


@each_program(
    numpy_without_recording,
    assign_integers_as_data,
    lambda t: setattr(t.ones(2), "data", t.ones(2, device="meta")),
    lambda t: setattr(t.ones(2, device="meta"), "data", t.ones(2)),
    lambda t: setattr(t.ones(2, requires_grad=True) * 2, "data", t.ones(2, device="meta")),
    set_to_each_source,
    lambda t: t.ones(2).set_(t.ones(2, dtype=t.double)),
    lambda t: t.ones(2).set_(t.ones(2, dtype=t.double).untyped_storage()),
    lambda t: t.ones(2).set_(t.storage.TypedStorage([1.0], dtype=t.double, _internal=True)),
)
def test_memory_that_a_tensor_is_set_to(program: Program) -> None:
    assert_same_outcome(program)


def set_with_history(t: Any, kind: str, form: str) -> Any:
    """Describe a tensor after `set_` has given it memory of a tensor with a history, and what backward says."""
    leaf = t.ones(2, 3, requires_grad=True)
    source = leaf * 2
    x = {"a tensor": t.ones(2, 3), "a view": t.ones(2, 3).view(3, 2), "one with a history": leaf * 3}[kind]
    if form == "tensor":
        x.set_(source)
    elif form == "window":
        x.set_(source[1:], 1, (2,))
    else:
        x.set_(source.untyped_storage())
    node = x.grad_fn and x.grad_fn.name()
    told = [x.requires_grad, x.is_leaf, node, x._base is None, x._version, x.storage_offset(), x.stride()]
    try:
        return *told, t.autograd.grad(x.sum(), leaf, allow_unused=True)
    except RuntimeError as error:
        return *told, str(error).splitlines()[0]


@pytest.mark.parametrize("form", ["tensor", "window", "storage"])
@pytest.mark.parametrize("kind", ["a tensor", "a view", "one with a history"])
def test_what_is_set_to_a_tensor_with_a_history_has_no_derivative(kind: str, form: str) -> None:
    assert set_with_history(mindtorch, kind, form) == set_with_history(torch, kind, form)


@each_program(
    lambda t: t.ones(3).set_(t.arange(6.0)[2:], -1, (2,)),
    lambda t: t.ones(3).set_(t.arange(6.0)[2:], 1, (2, 1), (1, 1)).storage_offset(),
    lambda t: t.ones(3).set_(t.ones(2, 3).t(), 0, (2,)),
    lambda t: t.ones(3).set_(t.ones(2, dtype=t.double), 0, (2,)),
    lambda t: t.ones(3).set_(t.ones(3, device="meta"), 0, (2,)),
    lambda t: t.vmap(lambda x: x.set_(x, 0, (2,)))(t.ones(2, 3)),
    lambda t: t.compile(lambda x, y: x.set_(y[1:], 1, (2,)) * 1, backend="eager")(t.ones(3), t.arange(5.0)),
)
def test_a_window_of_a_tensor_is_counted_from_where_the_tensor_begins(program: Program) -> None:
    assert_same_outcome(program)


def set_in(t: Any, *layout: Any, device: str = "cpu") -> Any:
    """Describe a tensor, and one that shares its storage, after `set_` has given it a layout."""
    x = t.arange(2.0, device=device)
    y, storage = x.view(2), x.untyped_storage()
    x.set_(storage, *layout)
    y += 1
    kept = [] if device == "meta" else y.tolist()
    return tuple(x.shape), x.stride(), x._version, kept, storage.nbytes(), y.untyped_storage().nbytes()


@each_program(
    lambda t: set_in(t, 0, (4,), (1,)),
    lambda t: set_in(t, 1, (3,), (2,)),
    lambda t: set_in(t, 5, (0,), (1,)),
    lambda t: set_in(t, 100, (1,)),
    lambda t: set_in(t, -1, (1,), (1,)),
    lambda t: set_in(t, 1, (3,), (2,), device="meta"),
    lambda t: (x := t.from_numpy(np.ones(2))).set_(x.untyped_storage(), 0, (4,), (1,)),
)
def test_a_storage_grows_with_the_layout_that_set_gives_a_tensor(program: Program) -> None:
    assert_same_outcome(program)


def test_a_storage_grows_on_an_npu_too() -> None:
    assert set_in(mindtorch, 1, (3,), (2,), device="npu") == set_in(mindtorch, 1, (3,), (2,))


def test_a_tensor_of_a_file_does_not_grow_its_storage() -> None:
    x = mindtorch.ones(2)
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 8"):
        x.__setstate__((x.untyped_storage(), 0, (2**40,), (1,)))
    assert x.tolist() == [1, 1] and x.untyped_storage().nbytes() == 8


def deterministic(program: Program) -> Program:
    """Make a program that runs another while deterministic operators are asked for."""

    def run(t: Any) -> Any:
        t.use_deterministic_algorithms(True)
        try:
            return program(t)
        finally:
            t.use_deterministic_algorithms(False)

    return run


@each_program(*[deterministic(program) for program in (
    lambda t: t.empty(2),
    lambda t: (t.empty(2)._version, t.empty(2, dtype=t.int8), t.empty(2, dtype=t.bool), t.empty(1, dtype=t.cdouble)),
    lambda t: (t.empty_strided((2,), (2,)), t.empty_like(t.ones(2)), t.ones(2).new_empty(2)),
    lambda t: t.empty_permuted((2, 3), (1, 0)),
    lambda t: t.ones(3).resize_(2, 2, 2),
    lambda t: t.ones(6)[2:4].resize_(2, 4),
    lambda t: t.ones(6)[::2].resize_(5),
    lambda t: t.zeros(0).resize_as_(t.ones(3)),
    lambda t: t.add(t.ones(2), 1, out=t.empty(0)),
    lambda t: t.utils.deterministic.fill_uninitialized_memory,
)])
def test_new_memory_is_filled_where_determinism_is_asked_for(program: Program) -> None:
    assert_same_outcome(program)


def test_new_memory_need_not_be_filled() -> None:
    try:
        mindtorch.use_deterministic_algorithms(True)
        mindtorch.utils.deterministic.fill_uninitialized_memory = False
        assert not mindtorch.zeros(3).resize_(0).resize_(3).isnan().any()
        with pytest.raises(TypeError, match="must be bool, not int"):
            mindtorch.utils.deterministic.fill_uninitialized_memory = 1
    finally:
        mindtorch.utils.deterministic.fill_uninitialized_memory = True
        mindtorch.use_deterministic_algorithms(False)


@each_program(
    lambda t: t.zeros(7, 3).fill_diagonal_(5, wrap=True),
    lambda t: t.zeros(3, 7).fill_diagonal_(5, True),
    lambda t: t.zeros(3, 7).t().fill_diagonal_(5, True),
    lambda t: t.zeros(2, 2, 2).fill_diagonal_(1),
    lambda t: t.zeros(2, 3, 4).fill_diagonal_(1),
    lambda t: t.zeros(4).fill_diagonal_(1),
    lambda t: t.zeros(3, 3, requires_grad=True).clone().fill_diagonal_(1),
)
def test_diagonals_filled_in_place(program: Program) -> None:
    assert_same_outcome(program)


def overlapping(name: str, *more: Any) -> Program:
    """Call an operator whose output covers part of the memory of its input, or all of it."""

    def run(t: Any) -> Any:
        memory = t.arange(10.0)
        inputs = [memory[1:5], *(memory[2:6] if value is ... else value for value in more)]
        getattr(t, name)(*inputs, out=memory[5:9])
        return getattr(t, name)(*inputs, out=memory[:4])

    return run


def onto_itself(name: str, *more: Any) -> Program:
    """Call an in-place operator whose index is the tensor that it writes to."""

    def run(t: Any) -> Any:
        index = t.arange(3)
        return getattr(index, name)(*(index if value is ... else value for value in more))

    return run


@each_program(
    overlapping("add", ...), overlapping("mul", ...), overlapping("exp"), overlapping("pow", 2), overlapping("neg"),
    overlapping("cumsum", 0), onto_itself("scatter_", 0, ..., ...), onto_itself("scatter_", 0, ..., 1),
    onto_itself("index_add_", 0, ..., ...), onto_itself("index_copy_", 0, ..., ...), onto_itself("put_", ..., ...),
    onto_itself("scatter_add_", 0, ..., ...),
    lambda t: (lambda x: t.where(x > 2, x, 1.0 - x, out=x[:]))(t.arange(4.0)),
    lambda t: (lambda x: t.where(x[1:] > 2, x[1:], x[1:] + 1, out=x[:3]))(t.arange(4.0)),
    lambda t: (lambda x: t.gather(x, 0, x, out=x))(t.arange(3)),
    lambda t: t.ones(1).expand(3).masked_fill_(t.tensor([True, False, False]), 1),
    lambda t: t.ones(1).expand(3).bitwise_not_(), lambda t: t.bitwise_not(t.ones(3), out=t.ones(1).expand(3)),
    lambda t: t.gcd(t.ones(3), t.ones(3), out=t.ones(1).expand(3)),
    lambda t: t.ones(1).expand(3).index_fill_(0, t.tensor([0]), 1),
    lambda t: t.ones(1).expand(3).index_put_((t.tensor([0]),), t.tensor(1.0)),
)
def test_memory_that_is_read_and_written(program: Program) -> None:
    assert_same_outcome(program)


@each_program(
    lambda t: t.ones(2, 3, 4).transpose(0, 1).dim_order(),
    lambda t: t.ones(2, 2, 1, 2).dim_order(ambiguity_check=True),
    lambda t: t.ones(2, 2, 1, 2).dim_order(ambiguity_check=[t.contiguous_format, t.channels_last]),
    lambda t: t.ones(2, 2, 1, 2).to(memory_format=t.channels_last).dim_order(ambiguity_check=[t.channels_last]),
    lambda t: t.ones(2, 2, 1, 2).dim_order(ambiguity_check=[t.channels_last]),
    lambda t: t.ones(2, 3).dim_order(ambiguity_check="contiguous"),
    lambda t: t.ones(2, 3).dim_order(ambiguity_check=[1]),
    lambda t: [setattr(x, part, 0) or x for part in ("real", "imag") for x in [t.tensor([1 + 2j])]],
)
def test_orders_of_dimensions_and_parts_that_are_assigned(program: Program) -> None:
    assert_same_outcome(program)


def test_memory_with_gaps_is_searched_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="boundary tensor is non-contiguous"):
        mindtorch.bucketize(mindtorch.arange(2), mindtorch.arange(4)[::2])


def test_the_loss_of_logits_is_laid_out_as_its_targets() -> None:
    for a, b in (((2, 3), (3, 2)), ((3, 2), (2, 3))):
        strides = [lib.nn.functional.binary_cross_entropy_with_logits(
            lib.zeros(a) if a == (2, 3) else lib.zeros(a).t(), lib.zeros(b) if b == (2, 3) else lib.zeros(b).t(),
            reduction="none").stride() for lib in (mindtorch, torch)]
        assert strides[0] == strides[1]


@pytest.mark.parametrize("make", [mindtorch.ones, mindtorch.empty, mindtorch.zeros])
def test_more_dimensions_than_numpy_has_are_refused_by_name(make: Callable[..., Any]) -> None:
    with pytest.raises(RuntimeError, match="a tensor of 65 dimensions: NumPy has at most 64"):
        make([1] * 65)


def test_no_memory_is_made_with_negative_strides_on_an_npu() -> None:
    with pytest.raises(RuntimeError, match=r"overflowed with sizes=\[2\] and strides=\[-1\]"):
        mindtorch.empty_strided((2,), (-1,), device="npu")


PARTS: dict[str, Program] = {
    "an index that is the target": lambda t: (x := t.arange(3)).index_put_((x,), x),
    "an index that is the target, in brackets": lambda t: (x := t.arange(3)).__setitem__(x, 0),
    "values that are the target": lambda t: (x := t.arange(3)).index_put_((t.arange(3),), x),
    "values that are the target, added": lambda t: (x := t.arange(3)).index_put_((t.arange(3),), x, True),
    "values in a copy": lambda t: (x := t.arange(3)).index_put((x,), x),
    "values beside gaps": lambda t: (x := t.arange(4))[::2].index_put_((t.tensor([0]),), x[1]),
    "a column among a transpose": lambda t: (x := t.arange(4).view(2, 2)).t().index_put_((t.tensor([0]),), x[:, 0]),
    "a mask that is the target": lambda t: (x := t.tensor([True, False])).masked_fill_(x, False),
    "a mask that lies beside": lambda t: (x := t.tensor([True, False, True]))[:2].masked_fill_(x[1:], False),
    "a source that lies beside": lambda t: (x := t.tensor([True, False, True]))[:2].masked_scatter_(x[1:], x[:2]),
    "a number of the target": lambda t: (x := t.arange(4))[:2].index_fill_(0, t.tensor([0]), x[0]),
    "an index of the target": lambda t: (x := t.arange(4)).index_fill_(0, x[:1], 9),
}


@pytest.mark.parametrize("name", PARTS)
def test_memory_is_refused_that_is_read_while_it_is_written(name: str) -> None:
    assert_same_outcome(PARTS[name])
