"""Derivatives of the operators, first and second, against differences of values, at PyTorch's samples."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

import mindtorch
from mindtorch._autograd.derivative import OperatorNode
from mindtorch._dispatch.schemas import registry
from tests.autograd.left_out import FIRST, SECOND, TOLERANCES, UNREACHED
from tests.parity import agreeing
from tests.parity.compare import SEED, Call, database, wanted
from tests.parity.resolve import counterpart
from tests.support import tensors_in, torch

SAMPLES = 5  # of an entry, evenly spaced over its first ones
AMONG = 100
ELEMENTS = 10000  # at most, of all inputs of a sample

Exercised = set[tuple[str, str]]  # (row of the table of derivatives, the input that its formula is for)


@dataclass
class Checked:
    """What the checks of one entry found, and which formulas they ran."""

    samples: int = 0
    second: int = 0  # samples whose second derivatives are checked, too
    wrong: list[str] = field(default_factory=list)
    exercised: Exercised = field(default_factory=set)


@functools.cache
def checked(name: str) -> Checked:
    """Check an entry, once: the test of the entry and the one of the whole table both need it."""
    found = Checked()
    op = database()[name]
    function = counterpart(op.op, mindtorch, op.name)
    call_it = counterpart(op.gradcheck_wrapper, mindtorch)
    atol, rtol = TOLERANCES.get(name, (1e-6, 1e-4))
    options = {"fast_mode": True, "atol": atol, "rtol": rtol, "nondet_tol": op.gradcheck_nondet_tol,
               "check_grad_dtypes": True}  # fmt: skip
    with observed(found.exercised), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, sample in samples(name):
            call = Call(sample, mindtorch)
            process = counterpart(sample.output_process_fn_grad, mindtorch)

            def run(*_: Any, call: Call = call, process: Any = process) -> tuple[Any, ...]:
                """The operator at its own arguments, which are changed where they stand."""
                mindtorch.default_generator.manual_seed(SEED)
                return tuple(tensors_in(process(call_it(function, call.input, *call.args, **call.kwargs))))

            inputs = [t for t in wanted(call.tensors) if t.numel()]
            found.samples += 1
            try:
                mindtorch.autograd.gradcheck(run, inputs, **options)
                if op.supports_gradgrad and name not in SECOND and wanted(list(run())):
                    found.second += 1
                    mindtorch.autograd.gradgradcheck(run, inputs, **options)
            except Exception as error:  # a formula that fails is as wrong as one that gives something else
                found.wrong.append(f"sample {number}: {type(error).__name__}: {error}")
    return found


def entries() -> list[str]:
    """The entries that agree with PyTorch, and are differentiable."""
    return [name for name in agreeing.names("float32") if name not in FIRST and database()[name].supports_autograd
            and torch.float64 in database()[name].supported_dtypes("cpu")]


def samples(name: str) -> list[tuple[int, Any]]:
    """Some samples of an entry: no large ones, and none without an input to differentiate by."""
    torch.manual_seed(SEED)
    drawn = database()[name].sample_inputs("cpu", torch.float64, requires_grad=True)
    fitting = [(i, s) for i, s in enumerate(itertools.islice(drawn, AMONG)) if 0 < elements(s) <= ELEMENTS]
    step = max(1, -(-len(fitting) // SAMPLES))
    return fitting[::step]


def elements(sample: Any) -> int:
    return sum(t.numel() for t in wanted(tensors_in((sample.input, sample.args, sample.kwargs))))


@contextmanager
def observed(exercised: Exercised) -> Iterator[None]:
    """Note the formulas that run."""
    names = {id(row): name for name, row in registry.derivatives.items()}
    apply = OperatorNode.apply

    def noting(node: OperatorNode, grads: list[Any]) -> list[Any]:
        found = node.derivative
        for where, _, _ in node.plan.formulas if any(g is not None for g in grads) else ():
            first = where if isinstance(where, int) else where[0]
            exercised.add((names[id(found.row)], found.keys[found.names[first]]))
        return apply(node, grads)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OperatorNode, "apply", noting)
        yield


@pytest.mark.parametrize("name", entries())
def test_derivatives_are_limits_of_differences(name: str) -> None:
    found = checked(name)
    assert found.samples, "no sample is small enough"
    assert not found.wrong, "\n".join(found.wrong)


def test_every_formula_is_exercised() -> None:
    exercised = set().union(*(checked(name).exercised for name in entries()))
    formulas = {(name, key) for name, row in registry.derivatives.items() for key in row.formulas}
    reasons = {(name, key) for name, key in formulas if name in UNREACHED}
    assert sorted(formulas - exercised - reasons) == []
