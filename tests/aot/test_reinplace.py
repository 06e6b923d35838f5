"""``reinplace``: a functionalized program that writes in place again computes what the program does."""
from __future__ import annotations

import importlib
import re

import pytest

import mindtorch
from tests.func.test_functionalize import PROGRAMS
from tests.support import torch

LIBS = (mindtorch, torch)


def module(lib, name):
    return importlib.import_module(f"{lib.__name__}.{name}")


def written_again(lib, program, x):
    functional = module(lib, "func").functionalize(lambda x: program(lib, x), remove="mutations")
    traced = module(lib, "fx.experimental.proxy_tensor").make_fx(functional)(x.clone())
    return module(lib, "fx.passes.reinplace").reinplace(traced, x.clone())


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - {"a tensor is resized", "a mask is written"}))
def test_it_computes_what_the_program_does(name) -> None:
    x = mindtorch.arange(9.0).reshape(3, 3) - 4
    traced = written_again(mindtorch, PROGRAMS[name], x)
    first, second = x.clone(), x.clone()
    wanted = PROGRAMS[name](mindtorch, first)
    mindtorch.testing.assert_close(traced(second), wanted)
    mindtorch.testing.assert_close(second, first)


NEW = {
    "an own tensor is written": lambda lib, x: (x * 2).add_(1),
    "a part is put back": lambda lib, x: (y := x * 2, y[0].add_(1), y)[2],
    "a part of a part is put back": lambda lib, x: (y := x * 2, y[1:].diagonal().fill_(3), y.sin())[2],
    "the old value is used": lambda lib, x: (y := x * 2, z := y.clone(), y.add_(1), y * z)[3],
    "a factory is written": lambda lib, x: lib.zeros(3, 3).copy_(x).mul_(2),
}


@pytest.mark.parametrize("name", NEW)
def test_the_graph_is_pytorchs(name) -> None:
    ours, theirs = (written_again(lib, NEW[name], lib.arange(9.0).reshape(3, 3)).code for lib in LIBS)
    assert ours == theirs and re.search(r"aten\.\w+_\.", ours)
