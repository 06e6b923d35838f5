"""Grad modes on classes and in generators, as PyTorch has them."""
from __future__ import annotations

from typing import Any

from tests.both import Program, assert_same_outcome, each_program


def mode_on_a_class(t: Any) -> Any:
    @t.no_grad()
    class Recorder:
        def __init__(self) -> None:
            self.recording = t.is_grad_enabled()

    return Recorder().recording


def mode_while_a_generator_closes(t: Any) -> Any:
    seen = []

    @t.no_grad()
    def generate() -> Any:
        try:
            yield 1
        finally:
            seen.append(t.is_grad_enabled())

    generator = generate()
    next(generator)
    generator.close()
    return seen


def several_threads(t: Any) -> None:
    with t.autograd.set_multithreading_enabled(False):
        pass


@each_program(mode_on_a_class, mode_while_a_generator_closes, several_threads, lambda t: t.set_grad_enabled(True),
              lambda t: t.set_grad_enabled(True).clone())
def test_grad_modes(program: Program) -> None:
    assert_same_outcome(program)


def into_an_inference_tensor(requires_grad: bool) -> Program:
    """Make a program that writes into an inference tensor."""
    def run(t: Any) -> Any:
        with t.inference_mode():
            out = t.ones(2)
        return t.exp(t.ones(2, requires_grad=requires_grad), out=out)

    return run


@each_program(*map(into_an_inference_tensor, (False, True)))
def test_a_gradient_is_refused_before_an_inference_tensor_that_is_given_as_output(program: Program) -> None:
    assert_same_outcome(program)
