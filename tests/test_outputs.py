"""Tensors that results are written into: of another dtype, with gaps, and none."""
from __future__ import annotations

from typing import Any

from tests.both import Program, assert_same_outcome, each_program


def written_to(name: str, dtype: str, *inputs: Any) -> Program:
    """A function that writes into a tensor of a dtype that is not its result's."""

    def run(t: Any) -> Any:
        function = getattr(t, name) if "." not in name else getattr(t.linalg, name.partition(".")[2])
        return function(*(t.tensor(value) if isinstance(value, list) else value for value in inputs),
                        out=t.empty(0, dtype=getattr(t, dtype)))

    return run


@each_program(
    written_to("abs", "long", [1.0]), written_to("neg", "double", [1.0]), written_to("abs", "cfloat", [3 + 4j]),
    written_to("mm", "long", [[1.0]], [[1.0]]), written_to("dot", "double", [1.0], [1.0]),
    written_to("all", "float", [1.0]), written_to("isposinf", "float", [1.0]), written_to("amax", "double", [1.0], 0),
    written_to("nonzero", "float", [1.0]), written_to("take", "double", [1.0], [0]),
    written_to("logcumsumexp", "double", [1.0], 0), written_to("linalg.inv", "double", [[1.0]]),
    written_to("linalg.norm", "double", [1.0]), written_to("quantile", "double", [1.0], 0.5),
    written_to("masked_select", "double", [1.0], [True]), written_to("complex", "cdouble", [1.0], [1.0]),
    lambda t: t.frexp(t.ones(3), out=(t.empty(3), t.empty(3))),
    lambda t: t.frexp(t.ones(3), out=(t.empty(3, dtype=t.double), t.empty(3))),
    lambda t: t.nonzero_static(t.ones(3), size=2, out=t.empty(0)),
    written_to("heaviside", "double", [1.0], [1.0]), written_to("float_power", "float", [1.0], [1.0]),
)
def test_outputs_of_the_wrong_dtype(program: Program) -> None:
    assert_same_outcome(program)


def spaced(name: str, *bounds: Any) -> Program:
    """A sequence written into a tensor with gaps."""

    def run(t: Any) -> Any:
        whole = t.zeros(2, 3)
        getattr(t, name)(*bounds, out=whole.narrow(1, 1, 2))
        return whole

    return run


@each_program(
    spaced("arange", 0, 4), spaced("range", 0, 3), spaced("linspace", 0, 3, 4), spaced("logspace", 0, 3, 4),
    lambda t: t.cumsum(t.ones(2, dtype=t.int32), 0, out=t.empty(2, dtype=t.int64), dtype=t.int32),
    lambda t: [t.max(t.tensor([3, 4]), 0, keepdim=False, out=None) for _ in range(2)],
)
def test_outputs_with_gaps_and_outputs_that_are_none(program: Program) -> None:
    assert_same_outcome(program)
