"""`gradcheck` and `gradgradcheck` find what PyTorch's find, and say it in the same words."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch
from mindtorch.autograd import gradcheck, gradgradcheck
from tests.support import Outcome, first_line, torch

REAL = [-1.3, 0.2, 0.9]
COMPLEX = [0.3 - 1j, 2 + 0.5j]


def tensor(lib: types.ModuleType, values: Any = REAL, dtype: str = "float64") -> Any:
    dtype = "complex128" if values is COMPLEX and dtype == "float64" else dtype
    return lib.tensor(values, dtype=getattr(lib, dtype), requires_grad=True)


def hooked(hook: Callable[[Any], Any], function: Callable[[Any], Any] = lambda x: x * x) -> Callable[[Any], Any]:
    """Return the function, with the gradient of its result changed in the backward pass."""

    def call(x: Any) -> Any:
        result = function(x)
        result.register_hook(hook)
        return result

    return call


def twice(gradient: Any) -> Any:
    return gradient * 2


class Drifting:
    """A hook that adds something else every time."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, gradient: Any) -> Any:
        self.times += 1
        return gradient * (1 + 1e-9 * self.times)


# What is checked: a function of a library, that calls its gradcheck or gradgradcheck.
CASES: dict[str, Callable[[Any], Any]] = {
    "right": lambda lib: lib.autograd.gradcheck(lambda x: x.exp(), tensor(lib)),
    "wrong": lambda lib: lib.autograd.gradcheck(hooked(twice), tensor(lib)),
    "wrong, fast": lambda lib: lib.autograd.gradcheck(hooked(twice), tensor(lib), fast_mode=True),
    "wrong, returned": lambda lib: lib.autograd.gradcheck(hooked(twice), tensor(lib), raise_exception=False),
    "complex": lambda lib: lib.autograd.gradcheck(lambda z: z * z.conj() + z, tensor(lib, COMPLEX)),
    "complex to real": lambda lib: lib.autograd.gradcheck(lambda z: z.abs(), tensor(lib, COMPLEX)),
    "complex to real, fast": lambda lib: lib.autograd.gradcheck(
        lambda z: z.abs(), tensor(lib, COMPLEX), fast_mode=True),
    "real to complex": lambda lib: lib.autograd.gradcheck(lambda x: lib.complex(x, x * x), tensor(lib)),
    "complex, wrong": lambda lib: lib.autograd.gradcheck(hooked(twice), tensor(lib, COMPLEX)),
    "complex, wrong in its real part": lambda lib: lib.autograd.gradcheck(
        lambda x: lib.complex(hooked(twice)(x), x), tensor(lib)),
    "complex, wrong in its imaginary part": lambda lib: lib.autograd.gradcheck(
        lambda x: lib.complex(x, hooked(twice)(x)), tensor(lib)),
    "second output and input": lambda lib: lib.autograd.gradcheck(
        lambda x, y: (x * y, hooked(twice)(y)), (tensor(lib), tensor(lib))),
    "an input that is a number": lambda lib: lib.autograd.gradcheck(lambda x, a: x * a, (tensor(lib), 2.0)),
    "an input without grad": lambda lib: lib.autograd.gradcheck(
        lambda x, y: x * y, (tensor(lib), tensor(lib).detach())),
    "a list of inputs": lambda lib: lib.autograd.gradcheck(lambda x: x * 2, [tensor(lib)]),
    "no elements": lambda lib: lib.autograd.gradcheck(lambda x: x * 2, tensor(lib, [])),
    "an input of no elements": lambda lib: lib.autograd.gradcheck(
        lambda x, y: x.sum() + y.exp(), (tensor(lib, []), tensor(lib))),
    "an input of no elements, fast": lambda lib: lib.autograd.gradcheck(
        lambda x, y: x.sum() + y.exp(), (tensor(lib, []), tensor(lib)), fast_mode=True),
    "no grad": lambda lib: lib.autograd.gradcheck(lambda x: x * 2, tensor(lib).detach()),
    "float32": lambda lib: lib.autograd.gradcheck(lambda x: x * 2, tensor(lib, dtype="float32"), atol=0.1),
    "shared memory": lambda lib: lib.autograd.gradcheck(
        lambda x: x * 2, tensor(lib).detach()[:1].expand(3).requires_grad_()),
    "detached": lambda lib: lib.autograd.gradcheck(lambda x: x.detach() * 2, tensor(lib)),
    "detached and constant": lambda lib: lib.autograd.gradcheck(lambda x: x.detach().sign(), tensor(lib)),
    "a view of the input": lambda lib: lib.autograd.gradcheck(lambda x: x.view(3, 1), tensor(lib)),
    "the input itself": lambda lib: lib.autograd.gradcheck(lambda x: x, tensor(lib)),
    "changes its input": lambda lib: lib.autograd.gradcheck(lambda x: x.clone().mul_(3), tensor(lib)),
    "not reentrant": lambda lib: lib.autograd.gradcheck(hooked(Drifting()), tensor(lib)),
    "not reentrant, tolerated": lambda lib: lib.autograd.gradcheck(hooked(Drifting()), tensor(lib), nondet_tol=1e-6),
    "constant gradient": lambda lib: lib.autograd.gradcheck(
        hooked(lambda g: lib.ones_like(g), lambda x: x.sum()), tensor(lib)),
    "no direction": lambda lib: lib.autograd.gradcheck(lambda x: x * 2, tensor(lib), check_backward_ad=False),
    "dtype": lambda lib: lib.autograd.gradcheck(lambda x: x * 2, tensor(lib), check_grad_dtypes=True),
    "another error": lambda lib: lib.autograd.gradcheck(lambda x: x.view(7), tensor(lib)),
    "second": lambda lib: lib.autograd.gradgradcheck(lambda x: x**3, tensor(lib)),
    "second, fast": lambda lib: lib.autograd.gradgradcheck(lambda x: x**3, tensor(lib), fast_mode=True),
    "second, given": lambda lib: lib.autograd.gradgradcheck(
        lambda x: x**3, tensor(lib), lib.ones(3, dtype=lib.float64)),
    "second, gaps": lambda lib: lib.autograd.gradgradcheck(
        lambda x: x**3, tensor(lib), gen_non_contig_grad_outputs=True),
    "second, linear": lambda lib: lib.autograd.gradgradcheck(lambda x: x * 3, tensor(lib)),
    "second, complex": lambda lib: lib.autograd.gradgradcheck(lambda z: (z.abs(), z * z), tensor(lib, COMPLEX)),
    "second, wrong": lambda lib: lib.autograd.gradgradcheck(
        hooked(lambda g: g * g.detach(), lambda x: x * 1), tensor(lib)),
    "second, wrong, returned": lambda lib: lib.autograd.gradgradcheck(
        hooked(lambda g: g * g.detach(), lambda x: x * 1), tensor(lib), raise_exception=False),
}


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_is_pytorchs(name: str) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        ours, theirs = Outcome.of(CASES[name], mindtorch), Outcome.of(CASES[name], torch)
    assert (ours.value, ours.kind()) == (theirs.value, theirs.kind()), (ours.error, theirs.error)
    if ours.error is not None and name not in ("another error", "not reentrant"):
        assert first_line(ours.error) == first_line(theirs.error)
    assert len(warned) % 2 == 0, "both warn, or neither"


@pytest.mark.parametrize("values", [REAL, COMPLEX])
def test_a_mismatch_shows_both_jacobians(values: list[Any]) -> None:
    messages = []
    for lib in (mindtorch, torch):
        with pytest.raises(lib.autograd.gradcheck.__globals__["GradcheckError"]) as error:
            lib.autograd.gradcheck(hooked(twice), tensor(lib, values))
        messages.append(str(error.value).replace("-0.0000", "+0.0000"))
    ours, theirs = (message.replace("+0.0000", "0.0000").replace(" ", "") for message in messages)
    assert ours == theirs


def test_fast_mode_says_what_slow_mode_finds() -> None:
    with pytest.raises(mindtorch.autograd.GradcheckError) as slow:
        gradcheck(hooked(twice), tensor(mindtorch))
    with pytest.raises(mindtorch.autograd.GradcheckError) as fast:
        gradcheck(hooked(twice), tensor(mindtorch), fast_mode=True)
    assert str(slow.value) in str(fast.value)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("position", range(12))
def test_one_wrong_element_of_the_jacobian_is_found(fast: bool, position: int) -> None:
    def spoil(gradient: Any) -> Any:
        spoilt = gradient.clone()
        spoilt.view(-1)[position] *= 1.01
        return spoilt

    x = mindtorch.randn(3, 4, dtype=mindtorch.float64, requires_grad=True)
    options = {"fast_mode": fast, "raise_exception": False, "check_undefined_grad": False, "atol": 1e-9, "rtol": 1e-5}
    assert gradcheck(lambda x: x.sin(), x, **options)
    assert not gradcheck(hooked(spoil, lambda x: x.sin()), x, **options)


def test_inputs_are_left_as_they_were() -> None:
    x = tensor(mindtorch)
    version = x._version
    assert gradcheck(lambda x: x.exp(), x) and gradgradcheck(lambda x: x.exp(), x)
    assert x.tolist() == REAL and x.grad is None and x._version == version

    def fails_second(x: Any, calls: list[int] = []) -> Any:  # noqa: B006
        calls.append(1)
        if len(calls) == 2:
            raise ValueError("second")
        return x * 2

    with pytest.raises(ValueError, match="second"):
        gradcheck(fails_second, x)
    assert x.tolist() == REAL


def test_the_shape_must_not_depend_on_the_values() -> None:
    with pytest.raises(AssertionError, match="with the same shape when inputs are perturbed"):
        gradcheck(lambda x: x[: 2 + (x[0].item() > -1.3)] * 2, tensor(mindtorch))


def test_outputs_that_are_not_differentiable_are_left_out() -> None:
    assert gradcheck(lambda x: (x.argmax(), x * 2, x.detach()), tensor(mindtorch))


class MissingGradients(mindtorch.autograd.Function):
    """The identity, whose backward makes a gradient up where it gets none."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return mindtorch.ones(3, dtype=mindtorch.float64) if gradient is None else gradient


def test_a_missing_gradient_must_not_become_one() -> None:
    assert gradcheck(MissingGradients.apply, tensor(mindtorch), check_undefined_grad=False)
    with pytest.raises(mindtorch.autograd.GradcheckError, match="Expected all input grads to be undefined or zero"):
        gradcheck(MissingGradients.apply, tensor(mindtorch))


@pytest.mark.parametrize("values", [REAL, COMPLEX])
@pytest.mark.parametrize("fast", [False, True])
def test_forward_mode_is_checked(values: Any, fast: bool) -> None:
    options = {"check_forward_ad": True, "fast_mode": fast}
    assert gradcheck(lambda x: (x.exp() * x, x.conj().cumsum(0)), tensor(mindtorch, values), **options)
    assert gradgradcheck(lambda x: x.exp() * x, tensor(mindtorch, values), check_fwd_over_rev=True, fast_mode=fast)
    outcomes = [Outcome.of(lambda t: t.autograd.gradcheck(
        lambda x: x * x.data, tensor(t, values), check_backward_ad=False, **options), lib)
        for lib in (mindtorch, torch)]
    assert outcomes[0].kind() == outcomes[1].kind() == "GradcheckError"
    if values is REAL and not fast:
        assert first_line(outcomes[0].error) == first_line(outcomes[1].error)


def test_what_there_is_not_is_refused() -> None:
    with pytest.raises(RuntimeError, match="check_batched_forward_grad=True is not supported"):
        gradcheck(lambda x: x * 2, tensor(mindtorch), check_batched_forward_grad=True)
