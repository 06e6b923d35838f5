"""Grad modes on classes and in generators, as PyTorch has them."""
from __future__ import annotations

from typing import Any

import pytest

import mindtorch
from tests.both import Program, assert_same_outcome, each_program
from tests.support import torch


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


def into_an_inference_tensor(t: Any) -> list[str]:
    """Return the beginnings of the errors of writes into an inference tensor."""
    with t.inference_mode():
        out = t.ones(2)
    told = []
    for requires_grad in (False, True):
        with pytest.raises(RuntimeError) as caught:
            t.exp(t.ones(2, requires_grad=requires_grad), out=out)
        told.append(str(caught.value)[:60])
    return told


def test_a_gradient_is_refused_before_an_inference_tensor_that_is_given_as_output() -> None:
    assert into_an_inference_tensor(mindtorch) == into_an_inference_tensor(torch)
