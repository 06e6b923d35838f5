"""Lesson 19: what is known of a size that is not known?"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial, reduce
from string import ascii_lowercase
from typing import Any

from ..._base.interrupts import contextmanager
from ..limits import LOADING
from ..tasks import Lab, lesson

Sizes = dict[str, tuple[float, float]]
Ask = Callable[[Any, dict[str, int], Sizes], tuple[bool, bool]]
ENDS = 2, math.inf  #: of an ordinary size's range: 0 and 1 are programs of their own

#: The question, the sizes of this trace, and ranges that are not as usual.
CASES: tuple[tuple[Any, dict[str, int], Sizes], ...] = (
    ((">=", "a", 2), {"a": 4}, {}),
    (("<", "a", 10), {"a": 4}, {}),
    (("<", "a", 10), {"a": 40}, {}),
    (("==", "a", 1), {"a": 4}, {}),
    (("!=", "a", 0), {"a": 4}, {}),
    (("==", "a", "b"), {"a": 4, "b": 4}, {}),
    (("==", "a", "b"), {"a": 4, "b": 5}, {}),
    (("!=", "a", "b"), {"a": 4, "b": 5}, {}),
    ((">", ("+", "a", "b"), 3), {"a": 4, "b": 5}, {}),
    ((">", ("+", "a", "b"), 4), {"a": 4, "b": 5}, {}),
    ((">=", ("*", "a", "b"), 4), {"a": 4, "b": 5}, {}),
    (("<=", ("*", ("+", "a", 1), 3), 8), {"a": 4}, {}),
    (("<", ("*", -1, "a"), 0), {"a": 4}, {}),
    (("<=", ("*", "a", -2), -4), {"a": 4}, {}),
    (("<", ("+", "a", ("*", -1, "b")), 0), {"a": 5, "b": 3}, {}),
    (("==", ("%", "a", 2), 0), {"a": 6}, {}),
    (("==", ("%", "a", 2), 0), {"a": 7}, {}),
    (("<", ("%", "a", 8), 8), {"a": 6}, {}),
    ((">=", ("//", "a", 2), 1), {"a": 9}, {}),
    ((">", ("//", "a", 2), 1), {"a": 3}, {}),
    (("<=", ("//", "a", 4), 3), {"a": 9}, {"a": (2, 15)}),
    (("<=", "a", 16), {"a": 12}, {"a": (8, 16)}),
    (("<", "a", 16), {"a": 12}, {"a": (8, 16)}),
    (("==", ("*", "a", 2), 40), {"a": 12}, {"a": (8, 16)}),
    (("!=", ("+", "a", 1), "b"), {"a": 3, "b": 25}, {"a": (2, 5), "b": (20, 30)}),
    ((">", "a", "b"), {"a": 3, "b": 7}, {"a": (2, 5), "b": (5, 9)}),
    ((">=", "a", "b"), {"a": 3, "b": 7}, {"a": (2, 5), "b": (5, 9)}),
    (("<=", "a", "b"), {"a": 3, "b": 7}, {"a": (2, 5), "b": (5, 9)}),
    (("==", ("*", "a", 0), 0), {"a": 3}, {"a": (0, math.inf)}),
    (("==", ("*", ("*", "a", -1), 0), 0), {"a": 3}, {}),
    (("<", ("*", ("//", "a", 2), -1), -1), {"a": 8}, {}),
    ((">=", ("*", "a", "b"), 0), {"a": 3, "b": 0}, {"a": (0, math.inf), "b": (0, math.inf)}),
    ((">=", ("*", ("+", "a", -4), ("+", "b", -4)), -2), {"a": 3, "b": 5}, {"a": (2, 5), "b": (2, 5)}),
    ((">", ("*", ("+", "a", -4), ("+", "b", -4)), -2), {"a": 3, "b": 5}, {"a": (2, 5), "b": (2, 5)}),
    (("==", "a", 7), {"a": 7}, {"a": (7, 7)}),
)


def written(expression: Any) -> str:
    """Return an expression as a reader would write it."""
    if isinstance(expression, tuple):
        op, left, right = expression
        sides = [f"({written(side)})" if isinstance(side, tuple) and op not in ("<", "<=", ">", ">=", "==", "!=")
                 else written(side) for side in (left, right)]
        return f"{sides[0]} {op} {sides[1]}"
    return str(expression)


def _ranges(sizes, given):
    return {name: given.get(name, ENDS) for name in sizes}


def _described(question, sizes, given):
    of = [f"{name} = {size} of {low} to {'any' if high == math.inf else high}"
          for (name, size), (low, high) in zip(sizes.items(), _ranges(sizes, given).values(), strict=True)]
    return f"{written(question)} for {', '.join(of)}"


def _run(function, question, sizes, given):
    """Return the answer of a part, and whether it adds a guard."""
    before = dict(sizes)
    found = function(question, sizes, _ranges(sizes, given))
    if sizes != before:
        return {"what was written into": "sizes"}
    if not isinstance(found, tuple) or len(found) != 2 or not all(isinstance(one, bool) for one in found):
        return {"what ask returns": f"{found!r}, not two truth values"}
    return {"the answer": found[0], "whether it is a guard": found[1]}


def as_tuples(expression: Any) -> Any:
    """Return an expression of the library as tuples, texts and numbers; None for one that lesson 19 leaves out."""
    import sympy

    from ...utils._sympy.functions import FloorDiv, Mod, PythonMod

    if expression.is_Symbol:
        return expression.name
    if expression.is_Integer:
        return int(expression)
    names = {sympy.Add: "+", sympy.Mul: "*", FloorDiv: "//", Mod: "%", PythonMod: "%", sympy.Eq: "==",
             sympy.Ne: "!=", sympy.Lt: "<", sympy.Le: "<=", sympy.Gt: ">", sympy.Ge: ">="}
    name, parts = names.get(expression.func), [as_tuples(part) for part in expression.args]
    divides_by_a_size = name in ("//", "%") and not (isinstance(parts[1], int) and parts[1] > 0)
    if name is None or None in parts or divides_by_a_size:
        return None
    return reduce(lambda left, right: (name, left, right), parts)


@contextmanager
def replace_answers(ask: Ask) -> Iterator[None]:
    """Have questions about sizes answered by ``ask(question, sizes, ranges)`` in a block, and guarded if it says so."""
    import sympy

    from ...fx.experimental.shape_env import ShapeEnv, _condition

    env: Any = ShapeEnv
    own = env.evaluate_expr

    def mine(self: Any, question: Any, *args: Any, **kwargs: Any) -> Any:
        simple = self.simplify(question)
        asked = as_tuples(simple) if isinstance(simple, sympy.core.relational.Relational) else None
        if asked is None or not simple.free_symbols <= self.var_to_val.keys():
            return own(self, question, *args, **kwargs)
        sizes = {symbol.name: int(self.var_to_val[symbol]) for symbol in simple.free_symbols}
        ranges = {symbol.name: (float(self.var_to_range[symbol].lower), float(self.var_to_range[symbol].upper))
                  for symbol in simple.free_symbols}
        answer, is_guard = ask(asked, sizes, ranges)
        truth = sympy.true if answer else sympy.false
        if is_guard:
            self._add_guard(_condition(simple, truth), False)
        return truth

    env.evaluate_expr = mine
    try:
        yield
    finally:
        env.evaluate_expr = own


def questions(function: Callable[..., Any], *inputs: Any) -> int:
    """Run a function on fake tensors whose sizes are symbols, print what is asked about sizes and what the trace is
    guarded on, and return the number of guards.
    """
    import sympy

    from ..._subclasses.fake_tensor import FakeTensorMode
    from ...fx.experimental.symbolic_shapes import ShapeEnv

    env: Any = ShapeEnv()
    mode = FakeTensorMode(shape_env=env)
    fakes = [mode.from_tensor(value) for value in inputs]
    names = {symbol: sympy.Symbol(ascii_lowercase[place], integer=True) for place, symbol in enumerate(env.var_to_val)}
    print("sizes", *[f"({', '.join(str(_named(size, names)) for size in fake.shape)})" for fake in fakes])
    own = env.evaluate_expr

    def evaluate(question: Any, *args: Any, **kwargs: Any) -> Any:
        before = len(env.guards)
        answer = own(question, *args, **kwargs)
        if question.free_symbols:
            kind = "a guard" if len(env.guards) > before else "follows from what is known"
            print(f"  {written(as_tuples(question.xreplace(names))):32} {answer!s:6} {kind}")
        return answer

    env.evaluate_expr = evaluate
    with mode:
        function(*fakes)
    return len(env.guards)


def _named(size, names):
    return size.node.expr.xreplace(names) if hasattr(size, "node") else size


LESSON = lesson(
    "symbols", ask=partial(Lab, cases=CASES, run=_run, describe=_described, seconds=LOADING))
