"""Derivatives of the operators, first and second, against differences of values.

Each operator runs at some of the samples of PyTorch's operator database, and at arguments of our own where those do not
reach a row of the table of derivatives.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

import mindtorch
from mindtorch import registry
from mindtorch._autograd import derivative
from mindtorch._autograd.derivative import OperatorNode, applying
from mindtorch.autograd import gradcheck, gradgradcheck
from tests import FULL
from tests.autograd.derivative_rows import CALLS, FIRST, SECOND, TOLERANCES, UNREACHED
from tests.parity import agreeing
from tests.parity.compare import SEED, Call, database, wanted
from tests.parity.resolve import counterpart
from tests.support import tensors_in, torch

#: Of an entry, at most, evenly spaced over its first ones; four with ``MINDTORCH_FULL=1``.
SAMPLES = 4 if FULL else 2
#: Entries of which so few samples do not reach a formula.
MORE = {"copysign": 8, "linalg.norm": 8, "nn.functional.scaled_dot_product_attention": 8, **dict.fromkeys([
    "linalg.matrix_norm", "nn.functional.nll_loss", "nn.functional.upsample_nearest",
    "nn.functional.interpolate.nearest", "nn.functional.interpolate.nearest-exact"], 4)}
AMONG = 100
ELEMENTS = 10000  # at most, of all inputs of a sample

Formulas = set[tuple[str, str]]  # the row of the table of derivatives, and the inputs that the formula is for


@dataclass
class Checked:
    """What the checks of one operator found, and which formulas they ran."""

    samples: int = 0
    wrong: list[str] = field(default_factory=list)
    exercised: Formulas = field(default_factory=set)

    def check(self, what: Any, run: Callable[..., Any], tensors: list[Any], second: bool, **options: Any) -> None:
        """Check the gradients of `run`, which uses the tensors, and theirs."""
        inputs = [t for t in wanted(tensors) if t.numel()]
        options = {"fast_mode": True, "atol": 1e-8, "rtol": 1e-6, "check_grad_dtypes": True} | options
        self.samples += 1
        try:
            gradcheck(run, inputs, **options)
            if second and wanted(list(run())):
                gradgradcheck(run, inputs, **options)
        except Exception as error:  # a formula that fails is as wrong as one that gives something else
            self.wrong.append(f"{what}: {type(error).__name__}: {error}")


# The test of an operator and that of the whole table both need the result.
@functools.cache
def checked(name: str) -> Checked:
    """Check an entry of the database at its samples."""
    op, found = database()[name], Checked()
    function, wrapper = counterpart(op.op, mindtorch, op.name), counterpart(op.gradcheck_wrapper, mindtorch)
    options = {"nondet_tol": op.gradcheck_nondet_tol}
    if name in TOLERANCES:
        options["atol"], options["rtol"] = TOLERANCES[name]
    with observed(found.exercised):
        for number, sample in samples(name):
            call = Call(sample, mindtorch)
            process = counterpart(sample.output_process_fn_grad, mindtorch)

            def run(*_: Any, call: Call = call, process: Callable[[Any], Any] = process) -> tuple[Any, ...]:
                """Call the operator with its own arguments, which the check changes in place."""
                mindtorch.default_generator.manual_seed(SEED)
                return tuple(tensors_in(process(wrapper(function, call.input, *call.args, **call.kwargs))))

            found.check(f"sample {number}", run, call.tensors, op.supports_gradgrad and name not in SECOND, **options)
    return found


@functools.cache
def checked_call(name: str) -> Checked:
    """Check a row of the table at our own arguments."""
    op, arguments, found = registry[name], CALLS[name](), Checked()

    def run(*_: Any) -> tuple[Any, ...]:
        mindtorch.default_generator.manual_seed(SEED)
        first = arguments[0].clone() if op.is_inplace else arguments[0]
        return tuple(tensors_in(op.call(first, *arguments[1:])))

    with observed(found.exercised):
        found.check(name, run, tensors_in(arguments), True)
    return found


def entries() -> list[str]:
    """List the differentiable entries that agree with PyTorch."""
    found = [(name, database()[name]) for name in agreeing.names("float32") if name not in FIRST]
    return [name for name, op in found if op.supports_autograd and torch.float64 in op.supported_dtypes("cpu")]


def samples(name: str) -> list[tuple[int, Any]]:
    """Return some samples of an entry: no large ones, and none without an input to differentiate by."""
    torch.manual_seed(SEED)
    drawn = database()[name].sample_inputs("cpu", torch.float64, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitting = [(i, s) for i, s in enumerate(itertools.islice(drawn, AMONG)) if 0 < elements(s) <= ELEMENTS]
    return fitting[::-(-len(fitting) // MORE.get(name, SAMPLES)) or 1]


def elements(sample: Any) -> int:
    return sum(t.numel() for t in wanted(tensors_in((sample.input, sample.args, sample.kwargs))))


def plans_of(node_class: type[OperatorNode]) -> list[derivative.Plan]:
    return [*node_class.derivative.plans.values()] if "derivative" in vars(node_class) else []


@contextmanager
def observed(exercised: Formulas) -> Iterator[None]:
    """Note the formulas that run: of nodes that exist, and of those whose function is written in the block. Its classes
    and plans outlive the block, and get back the functions that do not note.
    """
    names = {id(row): name for name, row in registry.derivatives.items()}
    silent: dict[Callable[..., Any], Callable[..., Any]] = {}

    def noted(apply: Callable[..., Any]) -> Callable[..., Any]:
        def noting(node: OperatorNode, grads: list[Any]) -> list[Any]:
            found = node.derivative
            for where, _, _ in node.plan.formulas if any(g is not None for g in grads) else ():
                first = where if isinstance(where, int) else where[0]
                exercised.add((names[id(found.row)], found.keys[found.names[first]]))
            return apply(node, grads)

        silent[noting] = apply
        return noting

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for node_class in (OperatorNode, *OperatorNode.__subclasses__()):
            for name in {"apply", "apply_any"} & vars(node_class).keys():
                patch.setattr(node_class, name, noted(vars(node_class)[name]))
            for plan in plans_of(node_class):
                patch.setattr(plan, "apply", noted(plan.apply))
        patch.setattr(derivative, "applying", lambda *args: noted(applying(*args)))
        yield
    for node_class in OperatorNode.__subclasses__():
        for holder in [holder for holder in (node_class, *plans_of(node_class)) if holder.apply in silent]:
            holder.apply = silent[holder.apply]


@pytest.mark.parametrize("name", entries())
def test_derivatives_are_limits_of_differences(name: str) -> None:
    found = checked(name)
    assert found.samples, "no sample is small enough"
    assert not found.wrong, "\n".join(found.wrong)


@pytest.mark.parametrize("name", CALLS)
def test_derivatives_of_rows_that_no_sample_reaches_are(name: str) -> None:
    found = checked_call(name)
    assert not found.wrong, "\n".join(found.wrong)
    assert name in {row for row, _ in found.exercised}


def test_every_formula_is_exercised_or_left_out_for_a_reason() -> None:
    found = [*map(checked, entries()), *map(checked_call, CALLS)]
    exercised = set().union(*(one.exercised for one in found))
    formulas = {(name, key) for name, row in registry.derivatives.items() for key in row.formulas}
    missed = sorted(formulas - exercised - set(UNREACHED))
    assert not missed, f"no gradcheck reaches these formulas: {missed}"
    assert sorted(set(UNREACHED) - formulas) == [], "no such formula"


def test_what_notes_formulas_is_gone_afterwards() -> None:
    holders = [(node_class, *plans_of(node_class)) for node_class in OperatorNode.__subclasses__()]
    assert not [holder for holder in itertools.chain(*holders) if holder.apply.__module__ == __name__]


def test_what_is_left_out_exists() -> None:
    assert set(FIRST) | set(SECOND) | set(TOLERANCES) <= set(database())
