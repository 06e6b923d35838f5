"""Guards on sizes: as Python code, in words, and checked against new inputs."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import sympy
from sympy.printing.pycode import PythonCodePrinter

from ..._base.symbolic import SYMBOLIC
from ..._guards import ConstantSource, GetItemSource, LocalSource, Source, TensorProperty, TensorPropertySource
from ..._tensor import Tensor
from .dims import ConstraintViolationError, RelaxedUnspecConstraint, StrictMinMaxConstraint

if TYPE_CHECKING:
    from .shape_env import ShapeEnv

#: The least size that a symbol stands for, unless a guard excludes it: 0 and 1 are numbers.
DEFAULT_LEAST = 2
NUMBERS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


class GuardPrinter(PythonCodePrinter):
    """Prints a condition as Python code, in which each symbol is the code that reads its value."""

    def __init__(self, names: dict[Any, str]) -> None:
        super().__init__({"fully_qualified_modules": True})
        self.names = names

    def _print_Symbol(self, expr: Any) -> str:
        return self.names.get(expr, expr.name)

    def _print_Relational(self, expr: Any) -> str:
        return f"{self._print(expr.lhs)} {expr.rel_op} {self._print(expr.rhs)}"

    def _print_Function(self, expr: Any) -> str:
        return expr._pythoncode(self) if hasattr(expr, "_pythoncode") else super()._print_Function(expr)

    def of_range(self, name: str, least: int | None, most: int | None) -> list[str]:
        """Return the conditions that a size lies in a range; an end may be open."""
        ends = [f"{least} <= {name}"] if least is not None else []
        ends += [f"{name} <= {most}"] if most is not None else []
        return [" and ".join(ends)] if ends else []

    _print_FloorDiv = _print_CleanDiv = _print_Mod = _print_PythonMod = _print_Function


class WordPrinter(GuardPrinter):
    """Prints a condition in words: "the first dimension of x is at least 2"."""

    RELATIONS: ClassVar = {"==": "is", "!=": "is not", "<": "is less than", "<=": "is at most", ">": "is greater than",
                           ">=": "is at least"}

    def _print_Relational(self, expr: Any) -> str:
        return f"{self._print(expr.lhs)} {self.RELATIONS[expr.rel_op]} {self._print(expr.rhs)}"

    def of_range(self, name: str, least: int | None, most: int | None) -> list[str]:
        """Return the conditions that a size lies in a range; an end may be open."""
        ends = [f"{name} is at least {least}"] if least is not None else []
        return ends + ([f"{name} is at most {most}"] if most is not None else [])

    def _print_Mul(self, expr: Any) -> str:
        return " times ".join(self.parenthesize(arg, 50) for arg in expr.args)

    def _print_Add(self, expr: Any) -> str:
        return " plus ".join(self._print(arg) for arg in reversed(expr.as_ordered_terms()))


def described(source: Source) -> str:
    """Return a source in words: "the first dimension of x"."""
    if isinstance(source, TensorPropertySource):
        of = described(source.base)
        if source.prop is TensorProperty.STORAGE_OFFSET or source.idx is None:
            return f"the storage offset of {of}"
        place = NUMBERS[source.idx] if source.idx < len(NUMBERS) else f"{source.idx + 1}th"
        return (f"the {place} dimension of {of}" if source.prop is TensorProperty.SIZE
                else f"the stride of the {place} dimension of {of}")
    if isinstance(source, LocalSource):
        return source.local_name
    if isinstance(source, GetItemSource):
        return f"{described(source.base)}{source.form}"
    return source.name


def numbers_of(placeholder: Any, source: Source) -> list[tuple[Source, Any]]:
    """Return the sizes, strides and the offset of an input, or the number that it is, each with its source."""
    if isinstance(placeholder, Tensor):
        parts = [(TensorProperty.SIZE, placeholder.shape), (TensorProperty.STRIDE, placeholder.stride())]
        found = [(TensorPropertySource(source, prop, i), number) for prop, values in parts
                 for i, number in enumerate(values)]
        offset = TensorPropertySource(source, TensorProperty.STORAGE_OFFSET)
        return [*found, (offset, placeholder.storage_offset())]
    return [(source, placeholder)] if isinstance(placeholder, (int, float)) or placeholder.__class__ in SYMBOLIC else []


def conditions(env: ShapeEnv, placeholders: Sequence[Any], sources: Sequence[Source], name: Callable[[Source], str],
               printer: type[GuardPrinter], ignore_static: bool = True,
               constraints: Sequence[Any] | None = None, simplified: bool = False) -> list[str]:
    """Return the conditions on inputs under which a traced program holds; ``simplified``, without those that say how
    inputs share their symbols and that a size is neither 0 nor 1.

    Raises:
        ConstraintViolationError: if a size that the user marked as free became a number, or has a smaller range.
    """
    names: dict[Any, str] = {}
    out: list[str] = []
    equal: list[tuple[str, Any]] = []
    wrong: list[str] = []
    for place, (placeholder, source) in enumerate(zip(placeholders, sources, strict=True)):
        wanted = getattr(constraints[place], "constraint_sizes", None) if constraints else None
        for part, number in numbers_of(placeholder, source):
            original = number.node._expr if number.__class__ in SYMBOLIC else sympy.sympify(number)
            expr = env.simplify(original)
            if (wanted and isinstance(part, TensorPropertySource) and part.prop is TensorProperty.SIZE
                    and wanted[part.idx] is not None):
                wrong += _violation(env, wanted[part.idx], part, expr)
            if expr.is_Symbol and expr not in names:
                names[expr] = name(part)
            elif not (not expr.free_symbols and ignore_static and not original.free_symbols):
                equal.append((name(part), expr))
    if wrong:
        raise ConstraintViolationError("Constraints violated! For more information, run with TORCH_LOGS=\"+dynamic\"."
                                       + "".join(f"\n  - {line}" for line in wrong))
    show = printer(names)
    symbols = {symbol: sympy.Symbol(text) for symbol, text in names.items()}
    for text, expr in equal if not simplified else []:
        if expr.free_symbols <= names.keys():
            out.append(show.doprint(sympy.Eq(sympy.Symbol(text), expr.xreplace(symbols), evaluate=False)))
    for guard in env.guards:
        expr = env.replace(guard.expr)
        if expr.free_symbols and expr.free_symbols <= names.keys() and not is_a_range(expr):
            out.append(show.doprint(expr))
    for symbol, text in names.items():
        values = env.var_to_range.get(symbol)
        if values is not None and values.is_int:
            usual = DEFAULT_LEAST if simplified else 0
            least = int(values.lower) if math.isfinite(values.lower) and values.lower > usual else None
            most = int(values.upper) if math.isfinite(values.upper) else None
            out += show.of_range(text, least, most)
    return list(dict.fromkeys(out))


def is_a_range(expr: Any) -> bool:
    """Return True for a comparison of one symbol with a number, which the symbol's range holds."""
    return (isinstance(expr, (sympy.Lt, sympy.Le, sympy.Gt, sympy.Ge))
            and {expr.lhs.is_Symbol, expr.rhs.is_Symbol} == {True, False} and bool(expr.lhs.is_number
                                                                                  or expr.rhs.is_number))


def _violation(env: ShapeEnv, constraint: Any, source: Source, expr: Any) -> list[str]:
    """Return the reason for which a size cannot be free, as the user requires."""
    if isinstance(constraint, RelaxedUnspecConstraint):
        if expr.is_Integer:
            return [f"Not all values of {constraint.render(source)} are valid because {source.name} was inferred to be "
                    f"a constant ({expr})."]
    elif isinstance(constraint, StrictMinMaxConstraint):
        if expr.is_Integer:
            return [f"Not all values of {source.name} in the specified range {constraint.render(source)} are valid "
                    f"because {source.name} was inferred to be a constant ({expr})."]
        known = env.bound_sympy(expr)
        least = max(constraint.vr.lower, 2 if env.specialize_zero_one else 0)
        if known.lower > least or known.upper < constraint.vr.upper:
            return [f"Not all values of {source.name} in the specified range {constraint.render(source)} satisfy the "
                    f"generated guard {known.lower} <= {source.name} and {source.name} <= {known.upper}"]
    return []


def produce_guards(env: ShapeEnv, placeholders: Sequence[Any], sources: Sequence[Source | str],
                   source_ref: Callable[[Source], str] = lambda source: source.name, *,
                   input_contexts: Sequence[Any] | None = None, ignore_static: bool = True,
                   _simplified: bool = False, **unused: Any) -> list[str]:
    """Return the conditions on inputs as Python code (``ShapeEnv.produce_guards``). A source may be a local's name."""
    named = [LocalSource(source) if isinstance(source, str) else source for source in sources]
    return conditions(env, placeholders, named, source_ref, GuardPrinter, ignore_static, input_contexts, _simplified)


def guards_in_words(env: ShapeEnv, placeholders: Sequence[Any], sources: Sequence[Source]) -> list[str]:
    """Return the conditions on inputs in words."""
    return conditions(env, placeholders, sources, described, WordPrinter)


def produce_guards_expression(env: ShapeEnv, placeholders: Sequence[Any], *, guards: Any = None,
                              ignore_static: bool = True) -> str | None:
    """Return one Python expression of the conditions on the locals ``L['t0']``, ...; None if there are none."""
    sources = [LocalSource(f"t{i}") for i in range(len(placeholders))]
    return " and ".join(produce_guards(env, placeholders, sources, ignore_static=ignore_static)) or None


def evaluate_guards_expression(code: str, args: Sequence[Any]) -> bool:
    """Return whether such an expression holds for arguments."""
    names = {"L": {f"t{i}": arg for i, arg in enumerate(args)}, "math": math, "Max": max, "Min": min}
    return bool(eval(code, names))  # code of this module


def evaluate_guards_for_args(env: ShapeEnv, placeholders: Sequence[Any], args: Sequence[Any], *,
                             ignore_static: bool = True) -> bool:
    """Return whether the guards of a program hold for new arguments (``ShapeEnv.evaluate_guards_for_args``)."""
    code = produce_guards_expression(env, placeholders, ignore_static=ignore_static)
    return code is None or evaluate_guards_expression(code, args)


def bind_symbols(env: ShapeEnv, placeholders: Sequence[Any], args: Sequence[Any]) -> dict[Any, int]:
    """Return the values of the symbols for new arguments (``ShapeEnv.bind_symbols``)."""
    found: dict[Any, int] = {}
    source = ConstantSource("")
    for placeholder, arg in zip(placeholders, args, strict=True):
        for (_, number), (_, value) in zip(numbers_of(placeholder, source), numbers_of(arg, source), strict=True):
            if number.__class__ in SYMBOLIC and number.node.expr.is_Symbol:
                found.setdefault(number.node.expr, value)
            elif number.__class__ in SYMBOLIC and (-number.node.expr).is_Symbol:
                found.setdefault(-number.node.expr, -value)
    return found
