"""Sizes that are symbols go through operators as PyTorch's do: the same expressions, the same decisions."""
from __future__ import annotations

import importlib
import operator
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch
from tests.support import torch

LIBRARIES = (mindtorch, torch)


def module(lib: Any, name: str) -> Any:
    """Return a library's module."""
    return importlib.import_module(f"{lib.__name__}.{name}")


def shape_env(lib: Any) -> Any:
    return module(lib, "fx.experimental.symbolic_shapes").ShapeEnv()


def symbolic(lib: Any, env: Any, name: str, *shape: int) -> Any:
    """Return a meta tensor with symbolic sizes; PyTorch's meta kernels take only fake tensors."""
    source = module(lib, "_dynamo.source").LocalSource(name)
    if lib is torch:
        mode = env.__dict__.setdefault("fake_mode", module(lib, "_subclasses").FakeTensorMode(shape_env=env))
        return mode.from_tensor(lib.empty(shape, device="meta"), source=source)
    sizes, strides, _ = env.create_symbolic_sizes_strides_storage_offset(lib.empty(shape), source)
    return lib.empty_strided(sizes, strides, device="meta")


def number(lib: Any, env: Any, value: int, name: str) -> Any:
    symbol = env.create_symbol(value, module(lib, "_dynamo.source").ConstantSource(name))
    return env.create_symintnode(symbol, hint=value)


def described(result: Any) -> str:
    """Return the sizes and strides of tensors as text."""
    if isinstance(result, (tuple, list)):
        return "; ".join(map(described, result))
    return f"{list(result.shape)} {list(result.stride())}" if hasattr(result, "stride") else str(result)


PROGRAMS: dict[str, Callable[..., Any]] = {
    "add": lambda lib, x, y, z: x + z,
    "add of another shape": lambda lib, x, y, z: x + z[0],
    "matmul": lambda lib, x, y, z: x @ y,
    "transpose": lambda lib, x, y, z: x.t() * 2,
    "slice": lambda lib, x, y, z: x[1:],
    "slice with an end": lambda lib, x, y, z: x[:, 2:4],
    "slice of a symbol": lambda lib, x, y, z: x[:x.shape[0] - 1],
    "select": lambda lib, x, y, z: (x[0], x[-1], x[:, 2]),
    "view": lambda lib, x, y, z: x.view(-1),
    "view of symbols": lambda lib, x, y, z: x.view(x.shape[0], 1, x.shape[1]),
    "reshape": lambda lib, x, y, z: x.t().reshape(-1),
    "cat": lambda lib, x, y, z: lib.cat([x, z], 1),
    "stack": lambda lib, x, y, z: lib.stack([x, z]),
    "reduction": lambda lib, x, y, z: (x.sum(1), x.mean(0, keepdim=True), x.amax()),
    "softmax": lambda lib, x, y, z: x.softmax(-1),
    "expand": lambda lib, x, y, z: x[None].expand(4, -1, -1),
    "numel": lambda lib, x, y, z: x.numel(),
    "new": lambda lib, x, y, z: (x.new_empty(x.shape[0] * 2), lib.zeros(x.shape[1], 3, device="meta")),
    "times a size": lambda lib, x, y, z: x * x.shape[0],
    "index": lambda lib, x, y, z: x[x.new_empty(3, dtype=lib.int64)],
    "where": lambda lib, x, y, z: lib.where(x > 0, x, z),
    "einsum": lambda lib, x, y, z: lib.einsum("ij,jk->ik", x, y),
    "norm": lambda lib, x, y, z: lib.nn.functional.layer_norm(x, (x.shape[1],)),
    "repeat": lambda lib, x, y, z: x.repeat(2, 3),
    "cumsum, flip, roll": lambda lib, x, y, z: (x.cumsum(0), x.flip(0), x.roll(1, 0)),
    "squeeze, unsqueeze": lambda lib, x, y, z: (x.unsqueeze(1), x.unsqueeze(0).squeeze()),
    "flatten": lambda lib, x, y, z: x[None].flatten(1),
    "a size that is compared": lambda lib, x, y, z: x + 1 if x.shape[0] > 3 else x.sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_operators_return_pytorchs_sizes_and_strides(name: str) -> None:
    results = []
    for lib in LIBRARIES:
        env = shape_env(lib)
        inputs = [symbolic(lib, env, *args) for args in (("x", 5, 7), ("y", 7, 3), ("z", 5, 7))]
        results.append(described(PROGRAMS[name](lib, *inputs)))
    assert results[0] == results[1]


def test_a_convolution_keeps_symbols_and_makes_channels_a_number() -> None:
    for lib in LIBRARIES:
        image = symbolic(lib, shape_env(lib), "image", 4, 3, 32, 32)
        out = lib.nn.functional.conv2d(image, image.new_empty(8, 3, 3, 3), padding=1)
        assert [str(size) for size in out.shape] == [str(image.shape[0]), "8", str(image.shape[2]), str(image.shape[3])]
        assert isinstance(image.shape[1].node.maybe_as_int(), int)


ARITHMETIC = [lambda a, b: a + b * 2, lambda a, b: (a + 1) // 2, lambda a, b: a % b, lambda a, b: a * b - a,
              lambda a, b: a / b, lambda a, b: a ** 2, lambda a, b: -a, lambda a, b: 7 - a, lambda a, b: a // 2 * 2,
              lambda a, b: 2 * a == b, lambda a, b: a < b, lambda a, b: a * 2 // 2, lambda a, b: (4 * a + 2) % 2]


@pytest.mark.parametrize("program", ARITHMETIC, ids=[str(i) for i in range(len(ARITHMETIC))])
def test_arithmetic_prints_as_pytorchs(program: Callable[..., Any]) -> None:
    shown = []
    for lib in LIBRARIES:
        env = shape_env(lib)
        shown.append(str(program(number(lib, env, 5, "a"), number(lib, env, 9, "b"))))
    assert shown[0] == shown[1]


COMPARED = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)


@pytest.mark.parametrize("first", [3, 6, 10], ids=str)
def test_what_is_known_after_a_guard_is_what_pytorch_knows(first: int) -> None:
    for asked in COMPARED:
        known = []
        for lib in LIBRARIES:
            shapes = module(lib, "fx.experimental.symbolic_shapes")
            size = number(lib, shape_env(lib), first, "a")
            truth = bool(asked(size, 6))
            known.append([truth, [shapes.statically_known_true(question(size, other)) for question in COMPARED
                                  for other in (2, 5, 6, 7, 20)]])
        assert known[0] == known[1], asked


def in_range(a: Any) -> Any:
    assert 5 < a.shape[0] < 20
    return a.cos()


def smaller(a: Any, b: Any) -> Any:
    assert a.shape[0] + b.shape[0] < 20
    return a.cos()


@pytest.mark.parametrize("program, shapes", [(in_range, [(15,)]), (smaller, [(8,), (9,)]),
                                             (lambda a, b: a @ b, [(8, 3), (3, 5)])])
def test_the_guards_of_a_trace_read_as_pytorchs(program: Any, shapes: Any) -> None:
    found = []
    for lib in LIBRARIES:
        traced = module(lib, "fx.experimental.proxy_tensor").make_fx(program, tracing_mode="symbolic")(
            *[lib.ones(shape) for shape in shapes])
        env = traced.shape_env
        values = module(lib, "fx.experimental.symbolic_shapes").fx_placeholder_vals(traced)
        names = ["a", "b"][:len(values)]
        found.append([*(env.produce_guards(values, names, **options) for options in (
            {"_simplified": True}, {}, {"ignore_static": False})), len(env.get_nontrivial_guards())])
    assert found[0] == found[1]


REAL: dict[Any, Any] = {lib: lib.ones(3, 3) for lib in LIBRARIES}


def test_a_class_that_fake_tensors_do_not_stand_for_is_refused() -> None:
    for lib in LIBRARIES:
        kind = type("Kind", (lib.Tensor,), {})
        with module(lib, "_subclasses").FakeTensorMode(), pytest.raises(TypeError, match="Multiple dispatch failed"):
            lib.ops.aten.t.default(REAL[lib].as_subclass(kind))


def test_sizes_0_and_1_are_numbers_and_equal_sizes_one_symbol() -> None:
    env = shape_env(mindtorch)
    x = symbolic(mindtorch, env, "x", 1, 6, 6, 0)
    assert [type(size) for size in x.shape] == [int, mindtorch.SymInt, mindtorch.SymInt, int]
    assert x.shape[1] == x.shape[2]
    assert not env.guards


def test_a_size_that_depends_on_data_cannot_be_guarded_on() -> None:
    shapes = module(mindtorch, "fx.experimental.symbolic_shapes")
    size = shape_env(mindtorch).create_unbacked_symint()
    with pytest.raises(shapes.GuardOnDataDependentSymNode, match="Could not guard on data-dependent expression"):
        bool(size == 3)
    assert shapes.guard_or_false(size == 3) is False
    assert shapes.expect_true(size >= 4)
    assert bool(size > 2)


def test_symbolic_sizes_enter_no_table() -> None:
    with pytest.raises(TypeError, match="unhashable type: non-nested SymInt"):
        hash(number(mindtorch, shape_env(mindtorch), 5, "a"))


def test_real_tensors_take_a_symbols_value_and_leave_a_guard() -> None:
    env = shape_env(mindtorch)
    size = number(mindtorch, env, 3, "a")
    assert mindtorch.ones(6).view(size, 2).shape == (3, 2)
    assert [str(guard.expr) for guard in env.guards] == [f"Eq({size.node._expr}, 3)"]


def test_guards_read_as_code_and_in_words_and_decide_about_new_inputs() -> None:
    env = shape_env(mindtorch)
    source = module(mindtorch, "_dynamo.source").LocalSource
    x, y = symbolic(mindtorch, env, "x", 5, 8), symbolic(mindtorch, env, "y", 5)
    assert x.shape[0] > 3
    assert x.shape[1] % 2 == 0
    code = env.produce_guards([x, y], [source("x"), source("y")])
    assert "L['y'].size()[0] == L['x'].size()[0]" in code
    assert "4 <= L['x'].size()[0]" in code or "L['x'].size()[0] >= 4" in code
    words = env.guards_in_words([x, y], [source("x"), source("y")])
    assert "the first dimension of x is at least 4" in words
    assert "the first dimension of y is the first dimension of x" in words
    ones = mindtorch.ones
    assert env.evaluate_guards_for_args([x, y], [ones(9, 6), ones(9)])
    assert not env.evaluate_guards_for_args([x, y], [ones(9, 7), ones(9)])
    assert not env.evaluate_guards_for_args([x, y], [ones(3, 6), ones(3)])
    assert not env.evaluate_guards_for_args([x, y], [ones(9, 6), ones(8)])
