"""``func.functionalize``: the results, the written arguments and the derivatives of the function that writes, by
operators that do not write.
"""
from __future__ import annotations

import pytest

import mindtorch
from mindtorch import func
from mindtorch._dispatch.overloads import OpOverload
from mindtorch.utils._python_dispatch import TorchDispatchMode

from .both import assert_agree

#: Programs that write and alias; each takes a matrix.
PROGRAMS = {
    "a view is written": lambda lib, x: x.view(-1).mul_(2).sum() + x,
    "one element of a view is set": lambda lib, x: (x.t().__setitem__((0, 1), 5.0), x.exp())[1],
    "a view is read after its base was written": lambda lib, x: (y := x[0], x.mul_(2), y + 1)[2],
    "two views overlap": lambda lib, x: (a := x[:, 1:], b := x[:, :2], a.add_(1), b.mul_(a.sum()), x)[4],
    "a view of a view is written": lambda lib, x: (x[1:][0].fill_(3), x.diagonal().zero_(), x * x)[2],
    "parts are written": lambda lib, x: x.unbind(1)[2].add_(1) + x.sum(),
    "pieces are written": lambda lib, x: [part.mul_(i) for i, part in enumerate(x.split(2, 1))][1].sum() * x,
    "a new tensor is written": lambda lib, x: lib.zeros(3).copy_(x[0]).add_(x[1]),
    "an output is given": lambda lib, x: (y := lib.empty(0, dtype=x.dtype), lib.add(x, 1, out=y), y.view(-1))[2],
    "a layout is changed in place": lambda lib, x: (y := x.clone(), y.t_(), y[0].add_(1), y)[3],
    "a tensor is resized": lambda lib, x: (y := x.clone(), y.resize_(2), y[0].zero_(), y)[3],
    "a tensor is resized as another one": lambda lib, x: (
        y := x.clone(), y.resize_as_(lib.ones(2)), y[0].zero_(), y)[3],
    "a mask is written": lambda lib, x: (x.masked_fill_(x > 0, 1), x[x < 0].sum())[1],
    "rows are added": lambda lib, x: x.index_add_(0, lib.tensor([0, 2, 0]), x.clone()).sin(),
    "numbers are squeezed": lambda lib, x: (y := x[None].squeeze(), y.add_(1), x + y)[2],
    "a broadcast is written": lambda lib, x: (y := x.clone()[:1].expand(3, 3), y.sum())[1],
    "statistics move": lambda lib, x: (m := lib.zeros(3, dtype=x.dtype), v := lib.ones(3, dtype=x.dtype),
                                       lib.nn.functional.batch_norm(x, m, v, training=True) + m + v)[2],
    "memory is taken": lambda lib, x: (y := lib.ones(2, dtype=x.dtype), y.set_(x), y.mul_(2), x + y)[3],
    "a window is written": lambda lib, x: (x.as_strided((2, 2), (1, 3)).zero_(), x)[1],
}


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_functionalized_program_does_what_the_program_does(name, remove) -> None:
    program = PROGRAMS[name]
    assert_agree(lambda lib, func, x: (func.functionalize(lambda x: program(lib, x), remove=remove)(x), x), (3, 3))
    first, second = (mindtorch.arange(9.0).reshape(3, 3) - 4 for _ in range(2))
    wanted = program(mindtorch, first)
    found = func.functionalize(lambda x: program(mindtorch, x), remove=remove)(second)
    assert mindtorch.equal(found, wanted) and mindtorch.equal(first, second)


#: PyTorch ends the process where these are functionalized; the plain program is the reference.
TAKEN = {"a storage": lambda y, x: y.set_(x.untyped_storage(), 0, (9,)),
         "a window of a storage": lambda y, x: y.set_(x.untyped_storage(), 1, (2, 2), (3, 1)),
         "a window of a tensor": lambda y, x: y.set_(x.view(-1), 2, (3,))}


@pytest.mark.parametrize("name", TAKEN)
def test_a_tensor_that_is_given_memory_shares_it(name) -> None:
    def program(x):
        y = mindtorch.ones(2)
        TAKEN[name](y, x)
        return y.mul_(3), x + 1

    first, second = (mindtorch.arange(9.0).reshape(3, 3) for _ in range(2))
    wanted, found = program(first), func.functionalize(program)(second)
    assert all(map(mindtorch.equal, wanted, found)) and mindtorch.equal(first, second)


def test_conjugation_stays_pending() -> None:
    x = mindtorch.tensor([1 + 2j, 3j])
    seen = []
    found = func.functionalize(lambda x: (seen.append(x.conj().is_conj()), x.clone().conj().mul_(2).resolve_conj())[1])
    assert mindtorch.equal(found(x), x.conj() * 2) and seen == [True]


@pytest.mark.parametrize("name", ["a view is written", "two views overlap", "a view of a view is written",
                                  "a mask is written"])
def test_derivatives_pass_through_in_both_orders(name) -> None:
    program = PROGRAMS[name]

    def scalar(x):
        return program(mindtorch, x.clone()).sum()

    x = mindtorch.linspace(-1, 2, 9).reshape(3, 3)
    wanted = func.grad(scalar)(x)
    for found in (func.grad(func.functionalize(scalar))(x), func.functionalize(func.grad(scalar))(x),
                  func.grad(func.functionalize(scalar, remove="mutations_and_views"))(x)):
        mindtorch.testing.assert_close(found, wanted)


def test_it_works_inside_and_outside_of_vmap() -> None:
    def program(x):
        y = x.clone()
        y[1:].mul_(y[:-1].clone())
        return y

    x = mindtorch.linspace(-1, 2, 9).reshape(3, 3)
    wanted = mindtorch.stack([program(row) for row in x])
    assert mindtorch.equal(func.vmap(func.functionalize(program))(x), wanted)
    assert mindtorch.equal(func.functionalize(func.vmap(program))(x), wanted)


class Operators(TorchDispatchMode):
    """Records the operators that run."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[OpOverload] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_written_but_arguments_at_the_end(name, remove) -> None:
    with Operators() as mode:
        func.functionalize(lambda x: PROGRAMS[name](mindtorch, x), remove=remove)(mindtorch.randn(3, 3))
    names = [str(op) for op in mode.seen]
    written = [i for i, op in enumerate(mode.seen) if op._schema.is_mutable]
    assert [names[i] for i in written] in ([], ["aten.copy_.default"])
    assert written in ([], [len(names) - 1])
    if remove == "mutations_and_views":
        assert not [name for name, op in zip(names, mode.seen, strict=True) if op.is_view and "lift" not in name]


def test_only_two_kinds_of_operators_can_be_removed() -> None:
    assert_agree(lambda lib, func, x: func.functionalize(lambda x: x, remove="views")(x), (2,))


def test_a_tensor_from_outside_cannot_be_written_with_an_argument() -> None:
    outside = mindtorch.zeros(3)
    with pytest.raises(RuntimeError, match="mutating a non-functional tensor with a functional tensor"):
        func.functionalize(lambda x: outside.add_(x))(mindtorch.ones(3))
    assert func.functionalize(lambda x: x + outside.add_(1))(mindtorch.ones(3)).tolist() == [2.0] * 3


@mindtorch.library.custom_op("functionalized::fill", mutates_args={"x"})
def fill(x: mindtorch.Tensor) -> None:
    x.fill_(3)


@mindtorch.library.custom_op("functionalized::add", mutates_args={"x", "many"})
def add(x: mindtorch.Tensor | None, y: mindtorch.Tensor, many: list[mindtorch.Tensor]) -> mindtorch.Tensor:
    for each in [*many, *([] if x is None else [x])]:
        each.add_(y)
    return y * 2


@add.register_fake
def _(x, y, many):
    return mindtorch.empty_like(y)


#: Programs that call operators of ``torch.library`` which write.
CUSTOM = {
    "nothing is returned": lambda x: (fill(x), x * 2)[1],
    "a view is written": lambda x: (y := x.clone(), fill(y[0]), y.t())[2],
    "something is returned": lambda x: (y := x + 1, add(y[1], y[0].clone(), []) + y)[1],
    "lists are written": lambda x: (y := x.clone(), add(None, x[2], [y[0], x[1]]), y + x)[2],
}


@pytest.mark.parametrize("name", CUSTOM)
def test_a_custom_operator_that_writes_becomes_one_that_returns_new_values(name) -> None:
    program = CUSTOM[name]
    plain, first, second, third = (mindtorch.arange(9.0).reshape(3, 3) for _ in range(4))
    wanted = program(plain)
    traced = mindtorch.fx.experimental.proxy_tensor.make_fx(func.functionalize(program))(first)
    found, compiled = traced(second), mindtorch.compile(program, backend="aot_eager")(third)
    assert all(mindtorch.equal(result, wanted) for result in (found, compiled))
    assert all(mindtorch.equal(x, plain) for x in (first, second, third))
    assert "higher_order.auto_functionalized(torch.ops.functionalized." in traced.code
