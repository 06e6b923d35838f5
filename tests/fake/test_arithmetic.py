"""Python's arithmetic of sizes as sympy functions: names, numbers and simplifications are PyTorch's."""
from __future__ import annotations

import importlib
import itertools
import math
from typing import Any

import pytest

sympy = pytest.importorskip("sympy")
torch = pytest.importorskip("torch", reason="PyTorch says what each of these gives")
INT, FLOAT = sympy.Integer, sympy.Float
A, B, C = sympy.symbols("a b c", integer=True, positive=True)
S, X = sympy.Symbol("s", integer=True), sympy.Symbol("x", real=True)
ROUNDINGS = ("RoundToInt", "TruncToInt", "TruncToFloat", "FloorToInt", "CeilToInt")
NUMBERS = [
    *[(name, INT(p), INT(q)) for name in ("FloorDiv", "PythonMod", "CleanDiv", "IntTrueDiv")
      for p, q in ((7, 2), (-7, 2), (7, -2), (0, 3), (6, 3), (1, 0))],
    *[("Mod", INT(p), INT(q)) for p, q in ((7, 3), (6, 3), (1, 0))], ("FloatTrueDiv", FLOAT(7), FLOAT(2)),
    ("FloatPow", FLOAT(2), FLOAT(0.5)), ("LShift", INT(3), INT(2)), ("RShift", INT(13), INT(2)),
    ("RoundDecimal", FLOAT(2.567), INT(1)), ("PowByNatural", INT(2), INT(3)), ("ToFloat", INT(3)),
    *[(name, FLOAT(value)) for name in ROUNDINGS for value in (2.5, -1.5, 3.7, -2.2, 4.0)],
    *[(f"BitwiseFn_bitwise_{name}", INT(12), INT(10)) for name in ("and", "or", "xor")],
    ("OpaqueUnaryFn_sqrt", FLOAT(2)), ("OpaqueUnaryFn_cos", X), *[(name, X) for name in ROUNDINGS],
    ("FloatTrueDiv", X, FLOAT(2)), ("FloatPow", X, FLOAT(2)), ("RoundDecimal", X, INT(2)), ("IntTrueDiv", A, B),
    ("PowByNatural", A, INT(3)), ("PowByNatural", A, B), ("ToFloat", A),
    *[("IsNonOverlappingAndDenseIndicator", *map(INT, sizes)) for sizes in (
        (3, 1), (1, 9), (3, 2), (2, 3, 3, 1), (2, 3, 1, 2), (2, 3, 4, 1))],
    ("IsNonOverlappingAndDenseIndicator", A, B, C, INT(1)), ("IsNonOverlappingAndDenseIndicator", A, INT(1)),
]
QUOTIENTS = [
    (A, B), (A, INT(1)), (A, INT(-1)), (A, A), (A * B, B), (4 * A * B, 2 * B), (6 * A, INT(4)), (4 * A + 2 * B, INT(2)),
    (4 * A + 3, INT(2)), (6 * A * B, 4 * A), (4 * A**2 * B + 6 * A**2, 10 * A**2), (S, INT(2)), (A * C + A, A * B),
]
REMAINDERS = [(A, B), (A, A), (A * B, B), (A, INT(1)), (A, INT(-1)), (4 * A, INT(2)), (4 * A + 3, INT(2)),
              (A * B + C, B), (S, INT(2))]
SIMPLER = [(A + B, B), (A * B + C, B), (A**3 * B, A**2), (A**2 * B, A**3), (6 * A + B, INT(3)), (S + 4, INT(4))]
PYTHON = {"FloorDiv": lambda p, q: p // q, "PythonMod": lambda p, q: p % q, "Mod": lambda p, q: p % q}


def functions(library: str) -> Any:
    return importlib.import_module(f"{library}.utils._sympy.functions")


def answer(library: str, name: str, *args: Any) -> list[Any]:
    function = getattr(functions(library), name)
    try:
        found = function(*args)
    except ZeroDivisionError as error:
        return [str(error)]
    return [function.__name__, str(found), found.is_integer, found.is_nonnegative]


@pytest.mark.parametrize("call", [
    *NUMBERS, *[(name, *pair) for name in ("FloorDiv", "CleanDiv") for pair in QUOTIENTS],
    *[(name, *pair) for name in ("PythonMod", "Mod") for pair in REMAINDERS]], ids=str)
def test_names_numbers_and_simplifications_are_pytorchs(call: tuple[Any, ...]) -> None:
    assert answer("mindtorch", *call) == answer("torch", *call)


@pytest.mark.parametrize("name", PYTHON)
@pytest.mark.parametrize("pair", [*QUOTIENTS, *REMAINDERS, *SIMPLER], ids=str)
def test_what_is_simplified_has_pythons_values(name: str, pair: tuple[Any, Any]) -> None:
    found = getattr(functions("mindtorch"), name)(*pair)
    for numbers in itertools.product((1, 2, 3, 7), repeat=3):
        values = dict(zip((A, B, C), map(INT, numbers), strict=True))
        values[S] = values[A] if name == "Mod" else -values[A]
        p, q = (int(part.subs(values)) for part in pair)
        if name != "Mod" or q > 0:
            assert found.subs(values) == PYTHON[name](p, q)


def test_quotients_of_quotients_are_one() -> None:
    ours = functions("mindtorch").FloorDiv
    assert ours(ours(A, INT(2)), INT(3)) == ours(A, INT(6)) and ours(ours(A, B), C) == ours(A, B * C)


def test_the_code_of_a_function_is_pythons() -> None:
    space, code = functions("mindtorch"), importlib.import_module("sympy.printing.pycode").PythonCodePrinter().doprint
    values = {"a": 5, "b": 2, "x": 2.6, "math": math}
    for name, args in (("FloorDiv", (A, B)), ("PythonMod", (A, B)), ("IntTrueDiv", (A, B)), ("LShift", (A, B)),
                       ("RShift", (A, B)), ("PowByNatural", (A, B)), ("ToFloat", (A,)), ("FloatPow", (X, FLOAT(2))),
                       ("RoundDecimal", (X, INT(0))), ("BitwiseFn_bitwise_xor", (A, B)), ("OpaqueUnaryFn_sqrt", (X,)),
                       *[(rounding, (X,)) for rounding in ROUNDINGS]):
        call = getattr(space, name)(*args)
        exact = call.subs({A: INT(5), B: INT(2), X: FLOAT(2.6)})
        assert math.isclose(eval(code(call), values), float(exact)), name
