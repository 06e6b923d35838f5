"""Fused kernels with reductions, as loops over rows: softmax, norms, losses and sums along the last dimension, together
with the pointwise steps before and after them (the reduction kernels of PyTorch's Inductor).

A row is computed in phases, each a loop over its elements: a sum ends a phase, because its value is known only then.
An element that a later phase needs is computed again, unless it was stored or takes long.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

from .._dtype import bool_, float32
from .dims import Dim, symbols_of
from .fusion import Group, is_total, shape_of_rows
from .graph import Step, Value
from .loops import Written, expression

#: Elements of a part of a sum of all elements: the parts' sums are added up in float64.
PART = 1024
#: What a loop over a row's elements finds: how it begins, and what each element adds.
AT_END = {"sum": ("{} = numpy.float32(0)", "{0} = reduction.plus({0}, {1})"),
          "top": ("{}_key = reduction.LEAST", "{0}_key = reduction.higher({0}_key, {1})")}


class NoLoop(Exception):
    """The group has a step or an operand for which loops over rows have no rule."""


def kind_of(value: Value) -> str:
    """Return the name of a value's dtype in the signature of a loop."""
    return "bool_" if value.dtype is bool_ else "float32"


@dataclass
class Term:
    """A number for each element, each row, or all: its expression, and the terms in it."""

    text: str
    needs: tuple[str, ...] = ()
    kind: str = "element"  #: or ``row``, ``sum`` and ``top`` (of a row's elements), ``given`` (an operand), ``all``
    phase: int = 0  #: from which phase on it is known
    is_kept: bool = False  #: whether later phases read it from memory, since it takes long


@dataclass
class RowWriter:
    """Writes one kernel over the rows of ``group.shape``."""

    program: Any
    group: Group
    results: list[Value]
    arguments: dict[str, tuple[str, str]] = field(default_factory=dict)  #: by name: the type, and how it is passed
    terms: dict[str, Term] = field(default_factory=dict)
    names: dict[Value, str] = field(default_factory=dict)  #: the term of each value
    stores: dict[str, str] = field(default_factory=dict)  #: by term: where it is stored, in a row or for each row
    before: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)  #: at the beginning of a row, or of a part
    columns: list[tuple[str, str]] = field(default_factory=list)  #: sums over the rows: the array, and the term
    totals: dict[str, list[str]] = field(default_factory=dict)  #: by term of a row: what adds it to a total
    ends: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    width: int = 0  #: the number of kept terms

    def __post_init__(self) -> None:
        self.space = self.group.shape
        self.count, self.rows = self.space[-1], prod(self.space[:-1])
        made = {value for step in self.group.steps for value in step.outputs}
        self.is_flat = all(is_total(step) or shape_of_rows(step) is None for step in self.group.steps) and all(
            value in made or not value.shape or (value.shape == self.space and value.is_contiguous)
            for step in self.group.steps for value in step.inputs)
        self.outputs = {value: self.program.spell(value) for value in self.results}

    # -- operands --------------------------------------------------------------------------------------------------

    def operand(self, value: Value, of_row: bool = False) -> str:
        """Return the term of an operand; ``of_row`` means that it is one number for each row."""
        if value in self.names:
            found = self.names[value]
            wide = (*self.space[:-1], 1)
            if self.terms[found].kind in ("row", "sum") and not of_row and value.shape != wide:
                raise NoLoop  # it broadcasts along other dimensions
            return found
        if value.dtype not in (float32, bool_):
            raise NoLoop
        dtype, name = kind_of(value), self.program.spell(value)
        shape = value.shape
        while shape and shape[0] == 1 and len(shape) > 1:
            shape = shape[1:]
        if value.size == 1 and not self.is_flat and not of_row and value.shape:
            shape = ()
        if not shape:
            self.arguments[name] = dtype, f"{name}.item()"
            return self.given(value, name)
        if self.is_flat:
            self.arguments[name] = f"{dtype}[::1]", self.reshaped(value, name, (value.size,))
            self.lines.append(f"{name}_i = {name}[{PART} * i:{PART} * (i + 1)]")
            return self.given(value, f"{name}_i[j]")
        if of_row:
            if value.size != self.rows or not value.is_contiguous or dtype != "float32":
                raise NoLoop
            self.arguments[name] = f"{dtype}[::1]", self.reshaped(value, name, (self.rows,))
            self.terms[f"{name}_i"] = Term(f"{name}[i]", (), "row")
            self.names[value] = f"{name}_i"
            return f"{name}_i"
        outer = prod(shape[:-1])
        if shape[-1] not in (1, self.count) or shape[:-1] != self.space[len(self.space) - len(shape):-1]:
            raise NoLoop
        at = "i" if outer == self.rows else f"i % {outer}"
        if shape[-1] == 1:
            self.arguments[name] = f"{dtype}[::1]" if value.is_contiguous else f"{dtype}[:]", self.reshaped(
                value, name, (outer,))
            self.lines.append(f"{name}_i = {name}[{at}]")
            return self.given(value, f"{name}_i")
        if outer == 1:
            self.arguments[name] = f"{dtype}[{':' + ':1' * value.is_contiguous}]", self.reshaped(
                value, name, (self.count,))
            return self.given(value, f"{name}[j]")
        self.arguments[name] = f"{dtype}[:,:{':1' * value.is_contiguous}]", self.reshaped(
            value, name, (outer, self.count))
        self.lines.append(f"{name}_i = {name}[{at}]")
        return self.given(value, f"{name}_i[j]")

    def given(self, value: Value, text: str) -> str:
        """Note an operand that is read where it is needed."""
        name = f"{self.program.spell(value)}_j"
        self.terms[name], self.names[value] = Term(text, (), "given"), name
        return name

    @staticmethod
    def reshaped(value: Value, name: str, shape: tuple[int, ...]) -> str:
        """Return an argument of a loop, which reads any contiguous array as a vector."""
        if value.shape == shape or (len(shape) == 1 and value.is_contiguous):
            return name
        return f"{name}.reshape({', '.join(map(str, shape))})"

    # -- terms -----------------------------------------------------------------------------------------------------

    def fresh(self, wanted: str) -> str:
        """Return a name that no term has."""
        name, number = wanted, 0
        while name in self.terms or name in self.arguments:
            number += 1
            name = f"{wanted}_{number}"
        return name

    def element(self, wanted: str, text: str, *needs: str) -> str:
        """Add a number for each element."""
        name = self.fresh(wanted)
        phase = max([self.terms[need].phase for need in needs], default=0)
        self.terms[name] = Term(text.format(*needs), needs, "element", phase)
        return name

    def of_row(self, wanted: str, text: str, *needs: str) -> str:
        """Add a number for each row."""
        name = self.element(wanted, text, *needs)
        self.terms[name].kind, self.terms[name].text = "row", text.format(*map(self.outside, needs))
        return name

    def outside(self, name: str) -> str:
        """Return a term as it is written outside of the loop over elements: what is read there has no name."""
        return self.terms[name].text if self.terms[name].kind == "given" else name

    def sum(self, wanted: str, term: str, kind: str = "sum") -> str:
        """Add the sum of a row's elements, or their maximum (``top``)."""
        name = self.fresh(wanted)
        self.terms[name] = Term(term, (term,), kind, self.terms[term].phase + 1)
        return name

    def keep(self, term: str) -> None:
        """Keep a term that takes long in memory from the phase on in which it is computed."""
        if self.terms[term].kind == "element" and term not in self.stores:
            self.terms[term].is_kept = True

    def bind(self, value: Value, term: str) -> None:
        """Make a term the value of a step's output, and store it if it is needed outside."""
        self.names[value] = term
        if value in self.outputs:
            name = self.outputs[value]
            if self.terms[term].kind in ("element", "given"):
                flat = f"{name}_i = {name}[{PART} * i:{PART} * (i + 1)]"
                self.lines.append(flat if self.is_flat else f"{name}_i = {name}[i]")
                self.stores[term] = f"{name}_i"
                size: tuple[int, ...] = (value.size,) if self.is_flat else (self.rows, self.count)
                self.arguments[name] = f"float32[{'' if self.is_flat else ':,'}::1]", self.reshaped(value, name, size)
                if value.dtype is bool_:
                    raise NoLoop
            else:
                self.stores[term] = f"{name}[i]"
                self.arguments[name] = f"{kind_of(value)}[::1]", self.reshaped(value, name, (self.rows,))

    def total(self, value: Value, term: str, factor: str = "") -> None:
        """Make the sum of a row's term over all rows the value of a step's output."""
        name = f"{self.program.spell(value)}_all"
        self.before.append(f"{name} = 0.0")
        self.totals.setdefault(term, []).append(f"{name} += {term}")
        self.of_all(value, f"numpy.float32({name}{factor})")

    def of_all(self, value: Value, text: str) -> None:
        """Make a number that is computed at the end the value of a step's output."""
        name = self.fresh(f"{self.program.spell(value)}_of_all")
        self.terms[name], self.names[value] = Term(text, (), "all"), name
        self.ends.append(f"{name} = {text}")
        if value in self.outputs:
            place = self.outputs[value]
            self.arguments[place] = f"{kind_of(value)}[::1]", self.reshaped(value, place, (1,))
            self.ends.append(f"{place}[0] = {name}")

    def column(self, value: Value | None, term: str) -> None:
        """Make the sums of a term over the rows the value of a step's output."""
        if value is not None and value in self.outputs:
            name = self.outputs[value]
            self.arguments[name] = "float32[::1]", name
            self.before.append(f"{name}[:] = numpy.float32(0)")
            self.columns.append((name, term))

    # -- steps -----------------------------------------------------------------------------------------------------

    def step(self, step: Step) -> None:
        """Add the terms of a step."""
        rule = RULES.get(step.op.name)
        if rule is not None and shape_of_rows(step) is not None:
            rule(self, step)
            return
        out = step.outputs[0]
        of_all = any(self.names.get(value) and self.terms[self.names[value]].kind == "all" for value in step.inputs)
        is_row = out.shape != self.space and not of_all
        names: dict[Value, str] = {}
        for value in step.inputs:
            names[value] = self.operand(value, is_row)
        written = names if out.shape == self.space and not of_all else {
            value: self.outside(name) for value, name in names.items()}
        text = f"activation.exp({written[step.args[0]]})" if step.op.name == "exp" else expression(
            step, written, self.program.argument)
        if text is None or float32 not in {value.dtype for value in (*step.inputs, out)}:
            raise NoLoop
        if of_all:
            self.of_all(out, text)
            return
        name = (self.of_row if is_row else self.element)(f"{self.program.spell(out)}_j", text, *names.values())
        self.bind(out, name)
        if "activation." in text:
            self.keep(name)

    # -- the text --------------------------------------------------------------------------------------------------

    def write(self, name: str, said: str, compiled: Callable[[str, list[str]], bool]) -> Written | None:
        """Return the kernel; None if no loop computes it."""
        try:
            for step in self.group.steps:
                self.step(step)
            body = self.body()
        except NoLoop:
            return None
        if len(self.stores) + len(self.columns) > 6:
            return None
        loop_name = self.program.unique(f"{name}_loop")
        if self.width:
            self.before.append(f"kept = numpy.empty(({self.width}, {PART if self.is_flat else self.count}), "
                               "numpy.float32)")
        first = next(argument for argument, (kind, _) in self.arguments.items() if "[" in kind)
        rows = f"({first}.shape[0] + {PART - 1}) // {PART}" if self.is_flat else str(self.rows)
        said_all = "\n".join([*self.before, rows, *self.lines, *body, *self.ends])
        self.arguments.update((symbol, ("int64", symbol)) for symbol in symbols_of(
            said_all, [*self.program.sizes, *self.program.further]))
        types = ", ".join(f'"{kind}"' for kind, _ in self.arguments.values())
        lines = [f"@loop({types})", f"def {loop_name}({', '.join(self.arguments)}):",
                 *[f"    {line}" for line in self.before], f"    for i in range({rows}):",
                 *[f"        {line}" for line in (*self.lines, *body)], *[f"    {line}" for line in self.ends]]
        if not compiled(loop_name, lines):
            return None
        passed = [how for _, how in self.arguments.values()]
        arguments = [*map(self.program.spell, (*self.group.inputs, *self.results))]
        text = [*lines, "", "", f"def {name}({', '.join(arguments)}):",
                f'    """{said}, by a compiled loop over rows"""', f"    {loop_name}({', '.join(passed)})",
                *[f"    {line}" for line in self.checks]]
        return Written("\n".join(text), [], [*lines, "", ""], [(loop_name, passed)], self.checks)

    def body(self) -> list[str]:
        """Return the statements of a row, phase by phase."""
        terms, lines = self.terms, []
        kept = [name for name, term in terms.items() if term.is_kept and name not in self.stores]
        self.width = len(kept)
        memory = {name: f"kept[{number}, j]" for number, name in enumerate(kept)} | {
            name: f"{place}[j]" for name, place in self.stores.items() if terms[name].kind == "element"}
        count = f"len({self.lines[0].split(' = ')[0]})" if self.is_flat else str(self.count)
        for phase in range(max(term.phase for term in terms.values()) + 1):
            now = {name: term for name, term in terms.items() if term.phase == phase}
            for name, term in now.items():
                if term.kind == "row":
                    lines.append(f"{name} = {term.text}")
                elif term.kind == "top":
                    lines.append(f"{name} = reduction.number({name}_key)")
                lines += self.totals.get(name, [])
                if term.kind in ("row", "sum") and name in self.stores:
                    lines.append(f"{self.stores[name]} = {name}")
            sums = {name: term for name, term in terms.items() if term.phase == phase + 1 and term.kind in AT_END}
            stored = [name for name in memory if name in now]
            lines += [AT_END[term.kind][0].format(name) for name, term in sums.items()]
            lines += self.loop([*stored, *[term.text for term in sums.values()]], phase, memory, count, [
                *[f"{memory[name]} = {name}" for name in stored],
                *[AT_END[term.kind][1].format(name, term.text) for name, term in sums.items()]])
            columns = {array: name for array, name in self.columns if name in now}
            lines += self.loop([*columns.values()], phase, memory, count,
                               [f"{array}[j] += {name}" for array, name in columns.items()])
        return lines

    def loop(self, wanted: list[str], phase: int, memory: dict[str, str], count: str, ends: list[str]) -> list[str]:
        """Return a loop that computes elements in the order of their needs, and ends with statements on them."""
        needed: set[str] = set()
        stack = [*wanted]
        while stack:
            name = stack.pop()
            term = self.terms[name]
            if name not in needed and term.kind in ("element", "given"):
                needed.add(name)
                stack += () if self.is_read(name, phase, memory) else term.needs
        return [f"for j in range({count}):", *[
            f"    {name} = {memory[name] if self.is_read(name, phase, memory) else term.text}"
            for name, term in self.terms.items() if name in needed], *[f"    {line}" for line in ends]] * bool(wanted)

    def is_read(self, name: str, phase: int, memory: dict[str, str]) -> bool:
        """Return whether an element is in memory since an earlier phase."""
        return name in memory and self.terms[name].phase < phase


# -- rules of operators ------------------------------------------------------------------------------------------------

def softmax(row: RowWriter, step: Step) -> None:
    x = row.operand(step.args[0])
    top = row.sum("top", x, "top")
    power = row.element("power", "activation.exp({} - {})", x, top)
    row.keep(power)
    total = row.sum("total", power)
    row.bind(step.outputs[0], row.element("softmax_j", "{} / {}", power, total))


def log_softmax(row: RowWriter, step: Step) -> None:
    x = row.operand(step.args[0])
    top = row.sum("top", x, "top")
    total = row.sum("total", row.element("power", "activation.exp({} - {})", x, top))
    logarithm = row.of_row("logarithm", "numpy.log({})", total)
    row.bind(step.outputs[0], row.element("log_softmax_j", "({} - {}) - {}", x, top, logarithm))


def softmax_backward(row: RowWriter, step: Step) -> None:
    grad, y = map(row.operand, step.args[:2])
    total = row.sum("total", row.element("product", "{} * {}", grad, y))
    row.bind(step.outputs[0], row.element("of_input", "({} - {}) * {}", grad, total, y))


def log_softmax_backward(row: RowWriter, step: Step) -> None:
    grad, y = map(row.operand, step.args[:2])
    total = row.sum("total", grad)
    row.bind(step.outputs[0], row.element("of_input", "{} - activation.exp({}) * {}", grad, y, total))


def layer_norm(row: RowWriter, step: Step) -> None:
    """Add the terms of layer norm; the mean is corrected by that of what is left, so that nothing cancels."""
    given, _, weight, bias, eps = step.args
    part = f"numpy.float32({1 / row.count!r})"
    x = row.operand(given)
    about = row.of_row("about", f"{{}} * {part}", row.sum("total", x))
    near = row.element("near", "{} - {}", x, about)
    rest = row.of_row("rest", f"{{}} * {part}", row.sum("left", near))
    square = row.sum("squares", row.element("square", "{} * {}", near, near))
    mean = row.of_row("mean", "{} + {}", about, rest)
    scale = row.of_row("scale", f"numpy.float32(1) / numpy.sqrt({{}} * {part} - {{}} * {{}} + numpy.float32({eps!r}))",
                       square, rest, rest)
    normal = row.element("normal", "({} - {}) * {}", x, mean, scale)
    if weight is not None:
        normal = row.element("scaled", "{} * {}", normal, row.operand(weight))
    if bias is not None:
        normal = row.element("shifted", "{} + {}", normal, row.operand(bias))
    for value, term in zip(step.outputs, (normal, mean, scale), strict=True):
        row.bind(value, term)


def layer_norm_backward(row: RowWriter, step: Step) -> None:
    grad, x, _, mean, scale, weight, _, _ = step.args
    part = f"numpy.float32({1 / row.count!r})"
    through, middle, by = row.operand(grad), row.operand(mean, True), row.operand(scale, True)
    normal = row.element("normal", "({} - {}) * {}", row.operand(x), middle, by)
    scaled = through if weight is None else row.element("scaled", "{} * {}", through, row.operand(weight))
    if step.outputs[0] is not None:
        along = row.of_row("along", f"{{}} * {part}", row.sum("total", scaled))
        product = row.element("product", "{} * {}", scaled, normal)
        across = row.of_row("across", f"{{}} * {part}", row.sum("of_products", product))
        row.bind(step.outputs[0], row.element("of_input", "({} - {} - {} * {}) * {}", scaled, along, normal, across,
                                              by))
    row.column(step.outputs[1], row.element("of_weight", "{} * {}", through, normal))
    row.column(step.outputs[2], through)


def reduced(row: RowWriter, step: Step) -> None:
    """Add a sum or mean, of a row or of all elements."""
    out = step.outputs[0]
    first = row.operand(step.args[0])
    if step.op.name == "linalg_vecdot":
        first = row.element("product", "{} * {}", first, row.operand(step.args[1]))
    means = step.op.packet == "mean"
    total = row.sum("total", first)
    if is_total(step):
        row.total(out, total, f" / {prod(row.space)}" if means else "")
        return
    row.bind(out, row.of_row("mean", f"{{}} / numpy.float32({row.count})", total) if means else total)


def mse_loss(row: RowWriter, step: Step) -> None:
    difference = row.element("difference", "{} - {}", *map(row.operand, step.args[:2]))
    square = row.element("square", "{} * {}", difference, difference)
    if is_total(step):
        row.total(step.outputs[0], row.sum("total", square), f" / {prod(row.space)}" if step.args[2] == 1 else "")
    else:
        row.bind(step.outputs[0], square)


def mse_loss_backward(row: RowWriter, step: Step) -> None:
    grad, x, y = map(row.operand, step.args[:3])
    count = prod(row.space) if step.args[3] == 1 else 1
    factor = f"numpy.float32({f'2 / {count}' if count.__class__ is Dim else repr(2 / count)})"
    row.bind(step.outputs[0], row.element("of_input", f"({{}} - {{}}) * {factor} * {{}}", x, y, grad))


def target_of(row: RowWriter, target: Value, ignored: int) -> str:
    """Return the term of a row's target, which is -1 if it is ignored."""
    name = row.program.spell(target)
    row.arguments[name] = "int64[::1]", name
    return row.of_row("place", f"{name}[i] if {name}[i] != {ignored} else -1")


def nll_loss(row: RowWriter, step: Step) -> None:
    """Add the loss, and the count of the targets; for an invalid one, which the operator reports, it is below 0."""
    given, target, _, reduction, ignored = step.args
    place, name = target_of(row, target, ignored), row.program.spell(target)
    chosen = row.element("chosen", "{} if j == {} else numpy.float32(0)", row.operand(given), place)
    loss, weight = map(row.program.spell, step.outputs)
    row.totals[row.sum("loss_i", chosen)] = [
        f"{loss}_all -= loss_i", f"{weight}_all += {place} >= 0",
        f"is_wrong |= {place} >= {row.count} or ({place} < 0 and {name}[i] != {ignored})"]
    row.before.append(f"{loss}_all, {weight}_all, is_wrong = 0.0, 0, False")
    row.of_all(step.outputs[0], f"numpy.float32({loss}_all{f' / {weight}_all' if reduction == 1 else ''})")
    row.of_all(step.outputs[1], f"numpy.float32(-1 if is_wrong else {weight}_all)")
    alike = next((value for value in row.group.inputs if value.shape == row.space and value.dtype is float32), None)
    if alike is None:
        raise NoLoop
    arguments = ", ".join(map(row.program.argument, (alike, *step.args[1:])))
    row.checks += [f"if {weight}.item() < 0:  # a target is invalid", f"    {row.program.operator(step)}({arguments})"]


def nll_loss_backward(row: RowWriter, step: Step) -> None:
    grad, _, target, _, reduction, ignored, weight = step.args
    place = target_of(row, target, ignored)
    given = [row.operand(grad), *[row.operand(weight)] * (reduction == 1)]
    share = row.of_row("share", " / ".join(["-{}", "{}"][:len(given)]), *given)
    row.bind(step.outputs[0], row.element("of_input", "{} if j == {} else numpy.float32(0)", share, place))


RULES: dict[str, Callable[[RowWriter, Step], None]] = {
    "_softmax": softmax, "_softmax_backward_data": softmax_backward,
    "_log_softmax": log_softmax, "_log_softmax_backward_data": log_softmax_backward,
    "native_layer_norm": layer_norm, "native_layer_norm_backward": layer_norm_backward,
    "sum": reduced, "mean": reduced, "sum.dim_IntList": reduced, "mean.dim": reduced, "linalg_vecdot": reduced,
    "mse_loss": mse_loss, "mse_loss_backward": mse_loss_backward,
    "nll_loss_forward": nll_loss, "nll_loss_backward": nll_loss_backward,
}
