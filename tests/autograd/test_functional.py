"""`autograd.functional`: values, structure, graphs and errors are PyTorch's."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch
from tests.support import Outcome, array, assert_same, tensors_in, torch

LIBS = (mindtorch, torch)
X, Y, V = [0.5, -1.0, 2.0], [[0.3, 1.0, -0.7]], [1.0, 0.5, -2.0]

# Functions of x of shape (3,), or of x and y of shape (1, 3).
ONE = {
    "elementwise": lambda x: x**3,
    "sum": lambda x: (x**3).sum(),
    "a tuple of one": lambda x: (x.exp(),),
    "several": lambda x: (x**3, x.sum(), x[:2] * x[1:]),
    "one is constant": lambda x: (x * 2, x.detach() * 3),
    "matrix": lambda x: x[:, None] * x,
}
TWO = {
    "elementwise": lambda x, y: x**3 * y,
    "sum": lambda x, y: (x**3 * y).sum(),
    "several": lambda x, y: (x * y, (y**2).sum()),
    "one is unused": lambda x, y: (x**3)[None],
}
SCALAR = {
    "cubes": lambda x: (x**3).sum(),
    "quadratic": lambda x: (x * x).sum(),
    "linear": lambda x: x.sum(),
    "one element": lambda x: (x**3).sum()[None],
    "product": lambda x: x.prod() * x.sum(),
}
SCALAR_TWO = {
    "mixed": lambda x, y: (x**3 * y).sum(),
    "one is unused": lambda x, y: (x**3).sum(),
    "separate": lambda x, y: (x**3).sum() + (y * y).sum(),
}


def inputs_of(lib: Any, two: bool, requires_grad: bool = False) -> Any:
    x, y = (lib.tensor(values, dtype=lib.float64, requires_grad=requires_grad) for values in (X, Y))
    return (x, y) if two else x


def called(function: str, func: Callable[..., Any], two: bool, requires_grad: bool = False, v: Any = None,
           **options: Any) -> tuple[Outcome, Outcome]:
    """Call the function of both libraries with the same arguments; `v` makes the vector, given the library."""
    outcomes = []
    for lib in LIBS:
        arguments = [func, inputs_of(lib, two, requires_grad)]
        if v is not None:
            arguments.append(v(lib))
        outcomes.append(Outcome.of(getattr(lib.autograd.functional, function), *arguments, **options))
    return outcomes[0], outcomes[1]


def assert_same_outcome(outcomes: tuple[Outcome, Outcome]) -> None:
    """Check for the same structure and values, and a graph where PyTorch has one; or for the same error and message."""
    ours, theirs = outcomes
    assert ours.kind() == theirs.kind(), (ours.error, theirs.error)
    if theirs.error is not None:
        # PyTorch's jacobian names the number of the output as that of the input.
        assert re.sub(r"input \d", "input", str(ours.error)) == re.sub(r"input \d", "input", str(theirs.error))
    else:
        assert_same(ours.value, theirs.value, strides=False)


def vectors(like: Any) -> Callable[[Any], Any]:
    """Make vectors of the shapes of PyTorch's tensors."""
    def make(lib: Any) -> Any:
        made = [lib.linspace(-1, 2, t.numel(), dtype=lib.float64).view(t.shape) for t in tensors_in(like)]
        return tuple(made) if isinstance(like, tuple) else made[0]
    return make


FLAGS = list(itertools.product([False, True], repeat=2))


@pytest.mark.parametrize(("create_graph", "strict"), FLAGS)
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("function", ["jacobian", "vjp", "jvp"])
@pytest.mark.parametrize("name", [*((n, False) for n in ONE), *((n, True) for n in TWO)])
def test_first_derivatives(function: str, name: tuple[str, bool], requires_grad: bool, create_graph: bool,
                           strict: bool) -> None:
    case, two = name
    func = (TWO if two else ONE)[case]
    v = None
    if function != "jacobian":
        inputs = inputs_of(torch, two)
        v = vectors(inputs if function == "jvp" else func(*inputs) if two else func(inputs))  # type: ignore[call-arg]
    assert_same_outcome(called(function, func, two, requires_grad, v, create_graph=create_graph, strict=strict))


@pytest.mark.parametrize(("create_graph", "strict"), FLAGS)
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("function", ["hessian", "vhp", "hvp"])
@pytest.mark.parametrize("name", [*((n, False) for n in SCALAR), *((n, True) for n in SCALAR_TWO)])
def test_second_derivatives(function: str, name: tuple[str, bool], requires_grad: bool, create_graph: bool,
                            strict: bool) -> None:
    case, two = name
    func = (SCALAR_TWO if two else SCALAR)[case]
    v = None if function == "hessian" else vectors(inputs_of(torch, two))
    assert_same_outcome(called(function, func, two, requires_grad, v, create_graph=create_graph, strict=strict))


@pytest.mark.parametrize("function", ["jacobian", "hessian"])
@pytest.mark.parametrize("two", [False, True])
def test_vectorize_gives_the_same(function: str, two: bool) -> None:
    func = {("jacobian", False): ONE["several"], ("jacobian", True): TWO["several"],
            ("hessian", False): SCALAR["cubes"], ("hessian", True): SCALAR_TWO["mixed"]}[function, two]
    assert_same_outcome(called(function, func, two, vectorize=True))
    strategy = "strategy" if function == "jacobian" else "outer_jacobian_strategy"
    for lib in LIBS:
        compute, inputs = getattr(lib.autograd.functional, function), inputs_of(lib, two)
        forward = compute(func, inputs, vectorize=True, **{strategy: "forward-mode"})
        for one, other in zip(tensors_in(forward), tensors_in(compute(func, inputs)), strict=True):
            np.testing.assert_allclose(array(one), array(other))


def test_complex_outputs_need_vectorize() -> None:
    for options in ({}, {"vectorize": True}):
        ours, theirs = (Outcome.of(lib.autograd.functional.jacobian, lambda z: z * z,
                                   lib.tensor([1 + 2j, 3.0], dtype=lib.complex128), **options) for lib in LIBS)
        assert_same_outcome((ours, theirs))


def given(values: Any) -> Callable[[Any], Any]:
    return lambda lib: lib.tensor(values, dtype=lib.float64)


@pytest.mark.parametrize(("function", "func", "v"), [
    ("vjp", ONE["sum"], None),
    ("vjp", ONE["elementwise"], None),
    ("vjp", ONE["a tuple of one"], given(V)),
    ("vjp", ONE["a tuple of one"], lambda lib: (given(V)(lib), given(V)(lib))),
    ("vjp", ONE["a tuple of one"], lambda lib: (given(V[:2])(lib),)),
    ("vjp", ONE["elementwise"], lambda lib: (given(V)(lib), given(V)(lib))),
    ("vjp", ONE["elementwise"], given(V[:2])),
    ("vjp", ONE["elementwise"], lambda lib: 2.0),
    ("jvp", ONE["elementwise"], None),
    ("jvp", ONE["elementwise"], given(V[:2])),
    ("jvp", ONE["elementwise"], lambda lib: [given(V)(lib)]),
    ("vhp", SCALAR["cubes"], None),
    ("vhp", SCALAR["cubes"], given(V[:2])),
    ("vhp", ONE["elementwise"], given(V)),
    ("vhp", ONE["several"], given(V)),
    ("hvp", SCALAR["cubes"], None),
    ("hvp", ONE["elementwise"], given(V)),
    ("hvp", ONE["several"], given(V)),
    ("hessian", ONE["elementwise"], None),
    ("hessian", ONE["several"], None),
    ("jacobian", lambda x: [x], None),
    ("jacobian", lambda x: "x", None),
    ("jacobian", lambda x: (x, "x"), None),
])
def test_arguments_are_checked(function: str, func: Callable[..., Any], v: Any) -> None:
    assert_same_outcome(called(function, func, False, v=v))


@pytest.mark.parametrize("function", ["jacobian", "hessian", "vjp", "jvp", "vhp", "hvp"])
@pytest.mark.parametrize("inputs", [2.0, [1.0], (2.0,)])
def test_inputs_are_tensors(function: str, inputs: Any) -> None:
    ours, theirs = (Outcome.of(getattr(lib.autograd.functional, function), lambda x: x, inputs) for lib in LIBS)
    assert_same_outcome((ours, theirs))


@pytest.mark.parametrize("options", [
    {"strict": True, "vectorize": True}, {"strategy": "sideways"}, {"strategy": "forward-mode"},
    {"strategy": "forward-mode", "create_graph": True}, {"strategy": "forward-mode", "strict": True},
])
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any]) -> None:
    ours, theirs = called("jacobian", ONE["elementwise"], False, **options)
    assert ours.kind() == theirs.kind() != "no error"


@pytest.mark.parametrize("function", ["jacobian", "vjp", "jvp", "hessian", "vhp", "hvp"])
def test_they_work_where_nothing_is_recorded(function: str) -> None:
    v = None if function in ("jacobian", "hessian") else given(V)
    func = ONE["elementwise"] if function == "jvp" else SCALAR["cubes"]
    outcomes = []
    for lib in LIBS:
        with lib.no_grad():
            arguments = [inputs_of(lib, False), *([v(lib)] if v and function != "vjp" else [])]
            outcomes.append(Outcome.of(getattr(lib.autograd.functional, function), func, *arguments))
    assert_same_outcome((outcomes[0], outcomes[1]))


def test_a_jacobian_with_a_graph_is_differentiable() -> None:
    found = []
    for lib in LIBS:
        x = inputs_of(lib, False, requires_grad=True)
        lib.autograd.functional.jacobian(ONE["matrix"], x, create_graph=True).pow(2).sum().backward()
        found.append(x.grad)
    assert_same(found[0], found[1])


def test_the_inputs_keep_no_trace() -> None:
    x = inputs_of(mindtorch, False, requires_grad=True)
    mindtorch.autograd.functional.hessian(SCALAR["cubes"], x)
    assert x.grad is None and x.is_leaf and x._version == 0
