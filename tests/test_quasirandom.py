"""Sobol's sequences are PyTorch's: points, scrambling, how an engine goes on."""
from __future__ import annotations

from typing import Any

from tests.both import Program, assert_same_outcome, each_program


def points(*draws: Program, **options: Any) -> Program:
    """Make a program that draws from an engine of Sobol's, once for each of ``draws``."""
    return lambda t: [draw(engine) for engine in [t.quasirandom.SobolEngine(**options)] for draw in draws]


@each_program(
    points(lambda engine: engine.draw(5), lambda engine: engine.draw(3), lambda engine: engine, dimension=3),
    points(lambda engine: engine.draw(4), lambda engine: engine, dimension=5, scramble=True, seed=7),
    points(lambda engine: engine.fast_forward(6).draw(2), lambda engine: engine.reset().draw(), dimension=21),
    points(lambda engine: engine.draw_base2(2), lambda engine: engine.draw_base2(3), dimension=2),
    points(lambda engine: (engine.sobolstate, engine.shift, engine.quasi), dimension=4),
    lambda t: t.quasirandom.SobolEngine(0),
)
def test_quasirandom_points(program: Program) -> None:
    assert_same_outcome(program)
