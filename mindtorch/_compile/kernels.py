"""Fused kernels as Python: statements that write into arrays, or a compiled loop over the elements where it is faster.
Large arrays are processed in blocks that stay in the cache.
"""
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, prod
from types import SimpleNamespace
from typing import Any

import numpy as np

from .._backends.common.blas import thread_count
from .._backends.common.blocks import BLOCK, LARGE
from .._backends.cpu.ops.comparison import MANY
from .._backends.cpu.pointwise import number_array
from .._base import loops
from .._base.generated import define
from .._base.loops import loop
from .._dispatch.dispatcher import registry
from .._dtype import float32
from .dims import Dim
from .fusion import FLOATS, PRODUCTS, Group, pointwise_row
from .graph import Step, Value
from .loops import Written, loop_of, type_of
from .rows import RowWriter

#: Statements that write into ``{out}``, for operators whose row would make an array of its own.
WRITTEN: dict[str, Callable[..., list[str]]] = {
    "relu": lambda out, x: [f"numpy.maximum(zero[{x}.dtype], {x}, out={out})"],
    "tanh_backward": lambda out, grad, y: [f"numpy.multiply({y}, {y}, out={out})",
                                           f"numpy.subtract(1, {out}, out={out})",
                                           f"numpy.multiply({grad}, {out}, out={out})"],
    "sigmoid_backward": lambda out, grad, y: [f"numpy.subtract(1, {y}, out={out})",
                                              f"numpy.multiply({y}, {out}, out={out})",
                                              f"numpy.multiply({grad}, {out}, out={out})"],
    "reciprocal": lambda out, x: [f"numpy.divide(1, {x}, out={out})"],
    "rsqrt": lambda out, x: [f"numpy.sqrt({x}, out={out})", f"numpy.divide(1, {out}, out={out})"],
    "addcmul": lambda out, x, first, second, value=1: [
        *([] if value == 1 else [f"numpy.multiply({first}, {value}, out={out})"]),
        f"numpy.multiply({first if value == 1 else out}, {second}, out={out})", f"numpy.add({x}, {out}, out={out})"],
    "ceil": lambda out, x: [f"numpy.ceil({x}, out={out})"],
    "floor": lambda out, x: [f"numpy.floor({x}, out={out})"],
    "trunc": lambda out, x: [f"numpy.trunc({x}, out={out})"],
    "log1p": lambda out, x: [f"numpy.log1p({x}, out={out})"],
    "clamp_min": lambda out, x, low: [f"numpy.maximum({x}, {low}, out={out})"],
    "clamp_max": lambda out, x, high: [f"numpy.minimum({x}, {high}, out={out})"],
}
#: Statements for many elements: NumPy takes maxima with a number one by one, but clips by vectors.
WRITTEN_FOR_MANY: dict[str, Callable[..., list[str]]] = {
    "relu": lambda out, x: [f"numpy.clip({x}, 0, inf, out={out})"],
    "clamp_min": lambda out, x, low: [f"numpy.clip({x}, {low}, inf, out={out})"],
    "clamp_max": lambda out, x, high: [f"numpy.clip({x}, -inf, {high}, out={out})"],
}
#: Multiplications of a product up to which a loop takes less time than BLAS on one thread, and on several.
MULTIPLIED, SHARED = 1 << 24, 1 << 18
#: Operators in WRITTEN that read an operand again after they have begun to write.
READS_AGAIN = frozenset({"tanh_backward", "sigmoid_backward", "addcmul"})
#: Reductions that NumPy and BLAS compute as fast by themselves.
PLAIN = frozenset({"sum", "mean", "sum.dim_IntList", "mean.dim", "linalg_vecdot"})


@dataclass(eq=False)
class Place:
    """Memory of a kernel, free for results that no step after ``until`` reads."""

    name: str
    dtype: Any
    until: float


class KernelWriter:
    """Writes one fused kernel: a function of its inputs, the arrays of its results and scratch arrays. The results' own
    memory serves as scratch until they are written.
    """

    def __init__(self, program: Any, group: Group, results: list[Value], blocked: bool) -> None:
        self.program, self.group, self.results, self.blocked = program, group, results, blocked
        self.names = {value: program.spell(value) for value in (*group.inputs, *results)}
        self.body: list[str] = []
        self.calls: list[tuple[str, list[str]]] = []  # those of loops in the body
        self.scratch: list[Any] = []  # the dtype of each

    def write(self, name: str) -> Written:
        """Return the kernel."""
        group, shape = self.group, self.group.shape
        flat = self.blocked and all((value.shape == shape and value.is_contiguous) or not value.shape
                                    for value in group.inputs)
        places, parts = dict(self.names), []
        if self.blocked:
            for value in (*group.inputs, *self.results):
                if value.shape and (flat or (len(value.shape) == len(shape) and value.shape[0] == shape[0])):
                    self.names[value] = self.program.unique(f"{places[value]}_at")
                    parts.append((self.names[value], f"{places[value]}[at]"))
        names = [places[value] for value in (*group.inputs, *self.results)]
        said = " -> ".join(step.op.packet.strip("_") for step in group.steps)
        before = self._loop(name, places, flat) if self._repays_loop() else None
        if before is not None:
            said += ", by a compiled loop"
        else:
            before = []
            self._steps()
        if not self.blocked:
            spelled = [f"work_{number}" for number in range(len(self.scratch))]
            head = [f"def {name}({', '.join([*names, *spelled])}):", f'    """{said}"""']
            lines = [*before, *head, *[f"    {line}" for line in self.body]]
            alone = len(self.calls) == len(self.body) and not self.scratch
            return Written("\n".join(lines), [(shape, d) for d in self.scratch], before, self.calls if alone else [])
        rows = prod(shape) if flat else shape[0]
        inner = prod(shape) // rows
        step: Any = (LARGE if before else BLOCK) // inner  # a loop keeps nothing in the cache
        step = f"max({step}, 1)" if step.__class__ is Dim else max(step, 1)
        head = [f"def {name}({', '.join(names)}):", f'    """{said}, in blocks that stay in the cache"""']
        if flat:
            wide = [n for v, n in places.items() if v.shape and len(shape) > 1]
            if wide:
                head.append(f"    {', '.join(wide)}, = {', '.join(f'{n}.reshape(-1)' for n in wide)},")
        head += ["", "    def block(at):"]
        tail = "" if flat else f", {', '.join(map(str, shape[1:]))}" if len(shape) > 1 else ""
        made = [f"{', '.join(name for name, _ in parts)}, = {', '.join(part for _, part in parts)},"]
        for number, dtype in enumerate(self.scratch):
            self.program.names.setdefault(dtype.name, dtype.np)
            made.append(f"work_{number} = empty((len({parts[0][0]}){tail or ','}), {dtype.name})")
        lines = [*before, *head, *[f"        {line}" for line in (*made, *self.body)], "",
                 f"    each_block(block, {rows}, {step}, {prod(shape)})"]
        return Written("\n".join(lines))

    def _repays_loop(self) -> bool:
        """Return whether a loop repays its compilation: the arrays are not small, and NumPy would pass over them
        several times; or a loop multiplies matrices before, which takes no call of its own then.
        """
        steps = [step for step in self.group.steps if step.op.name not in PRODUCTS]
        if len(steps) < len(self.group.steps) and self._product_loop(self.group.steps[0]) is not None:
            return bool(steps)
        passes = len(steps) + sum(not self._is_ufunc(step) and step.op.name not in WRITTEN for step in steps)
        size = prod(self.group.shape)
        return (size >= MANY or size.__class__ is Dim) and (passes > 1 or self.blocked)

    def _loop(self, name: str, places: dict[Value, str], flat: bool) -> list[str] | None:
        """Return the text of a loop that the kernel calls, after the matrix product if it begins with one; None if a
        step has no rule for loops, or the loop is neither on the disk nor can be compiled.
        """
        group, first = self.group, self.group.steps[0]
        known: dict[Value, str] = {}
        if first.op.name in PRODUCTS:  # in the memory of a result, if one has its dtype
            made = first.outputs[0]
            places_for_it = [self.names[value] for value in self.results if value.dtype is made.dtype]
            known[made] = self.names.get(made) or (places_for_it or ["work_0"])[0]
        found = loop_of(group, self.results, places, self.program.argument, flat, known)
        if found is None:
            return None
        read = {value for step in group.steps if step.outputs[0] not in known for value in step.inputs}
        taken = [value for value in group.inputs if value in read] + [v for v in self.results if v not in known]
        arrays = {target: type_of(value, flat) for value, target in known.items()
                  if target not in [self.names[value] for value in taken]}
        own = [*arrays]
        arrays |= {places[value]: type_of(value, flat) for value in taken}
        loop_name = self.program.unique(f"{name}_loop")
        lines = found.lines(loop_name, arrays)
        if not is_compiled(self.program, loop_name, lines):
            return None
        for target in known.values():
            self._statement(first, target)
            if target == "work_0":
                self.scratch.append(first.outputs[0].dtype)
        self._call(loop_name, [*own, *map(self._element, taken)])
        return [*lines, "", ""]

    def _call(self, name: str, arguments: list[str]) -> None:
        """Write the call of a loop."""
        self.calls.append((name, arguments))
        self.body.append(f"{name}({', '.join(arguments)})")

    def _steps(self) -> None:
        group = self.group
        last = {value: number for number, step in enumerate(group.steps) for value in step.inputs}
        made = {step.outputs[0]: number for number, step in enumerate(group.steps)}
        free = [Place(self.names[value], value.dtype, made[value] - self._reads_again(group.steps[made[value]]))
                for value in self.results]
        held: dict[Value, Place] = {}
        for number, step in enumerate(group.steps):
            out = step.outputs[0]
            dying = {value: held[value] for value in dict.fromkeys(step.inputs) if value in held and
                     last[value] == number}
            if out not in self.names:
                end = last.get(out, number)
                fitting = [place for place in (*(() if self._reads_again(step) else dying.values()), *free)
                           if place.dtype is out.dtype and place.until >= end]
                place = fitting[0] if fitting else Place(f"work_{len(self.scratch)}", out.dtype, inf)
                if not fitting:
                    self.scratch.append(out.dtype)
                elif place in free:
                    free.remove(place)
                held[out], self.names[out] = place, place.name
            self._statement(step, self.names[out])
            for value in dying:
                del held[value]
            free += [place for place in dying.values() if place is not held.get(out)]
            if out in held and out not in last:
                free.append(held.pop(out))

    @classmethod
    def _reads_again(cls, step: Step) -> bool:
        """Return whether a step may read an operand again after it has begun to write."""
        return step.op.name in READS_AGAIN or (step.op.name not in WRITTEN and not cls._is_ufunc(step))

    @staticmethod
    def _is_ufunc(step: Step) -> bool:
        return isinstance(pointwise_row(step), np.ufunc) or step.op.name in PRODUCTS

    def _statement(self, step: Step, target: str) -> None:
        """Write the statements that compute a step into its place."""
        spelled = [self._operand(arg, step) for arg in step.args]
        name = step.op.name
        if name in PRODUCTS:
            by_loop = self._product_loop(step)
            if by_loop is not None:
                self._call(by_loop, [spelled[0], spelled[1] + ".T" * (by_loop == "product_transposed"), target])
                return
            product = "dot" if name == "mm" else "matmul"  # which takes longer to begin
            self.body.append(f"numpy.{product}({spelled[0]}, {spelled[1]}, out={target})")
            return
        row = pointwise_row(step)
        if name in WRITTEN:
            many = prod(self.group.shape) >= MANY and name in WRITTEN_FOR_MANY
            self.body += (WRITTEN_FOR_MANY if many else WRITTEN)[name](target, *spelled)
        elif isinstance(row, np.ufunc):
            self.body.append(f"numpy.{row.__name__}({', '.join(spelled[:row.nin])}, out={target})")
        else:
            self.program.calls_rows = True
            rows, into = self.program.names.setdefault("kernels", SimpleNamespace()), getattr(row, "into", None)
            setattr(rows, function := name.replace(".", "_"), into or row)
            spelled = [self._operand(self._typed(arg, i, step), step) for i, arg in enumerate(step.args)]
            call = f"kernels.{function}({', '.join(spelled)})"
            self.body.append(f"{target}[...] = {call}" if into is None else f"{call[:-1]}, out={target})")

    def _product_loop(self, step: Step) -> str | None:
        """Return the name of the loop that multiplies matrices; None if BLAS is to do it, which shares large ones
        among threads.
        """
        first, second = step.args
        work = first.size * second.shape[-1]
        if step.op.name != "mm" or first.dtype is not float32 or work > (MULTIPLIED if thread_count() == 1 else SHARED):
            return None
        if not second.is_contiguous and second.stride != (1, second.shape[0]):
            return None
        name = "product" if second.is_contiguous else "product_transposed"
        compiled = getattr(loops, name).compiled(work)
        if compiled is None:
            return None
        self.program.names[name] = compiled
        return name

    @staticmethod
    def _typed(arg: Any, position: int, step: Step) -> Any:
        """Return a number among the operands as an array of their dtype, as rows expect."""
        meta = registry.meta_rows[step.op.name]
        if position >= meta.count or arg is None or arg.__class__ is Value:
            return arg
        dtype = next(value.dtype for value in reversed(step.inputs) if value.dtype in FLOATS)
        return number_array(arg, dtype)

    def _element(self, value: Value) -> str:
        """Return an argument of a loop: an array, or the number in an array without dimensions."""
        return self.names[value] if value.shape else f"{self.names[value]}.item()"

    def _operand(self, arg: Any, step: Step) -> str:
        if arg.__class__ is Value:
            return self.names[arg]
        return self.program.argument(arg)


def is_compiled(program: Any, name: str, lines: list[str]) -> bool:
    """Return whether a loop of a program is on the disk or can be compiled."""
    if define(name, "\n".join(lines), f"{__file__}: {name}", {"loop": loop, "numpy": np}) is None:
        return False
    program.names.update({"loop": loop, name: None})
    return True


def kernel_over_rows(program: Any, group: Group, results: list[Value], name: str) -> Written | None:
    """Return a kernel with reductions; None if it is one plain reduction, or no loop computes it."""
    if len(group.steps) == 1 and group.steps[0].op.name in PLAIN:
        return None
    said = " -> ".join(step.op.packet.strip("_") for step in group.steps)
    return RowWriter(program, group, results).write(name, said, lambda *loop: is_compiled(program, *loop))


#: The loop that adds up the rows of a matrix, four at a time.
SUM_OF_COLUMNS = """
def {name}(x, out):
    whole = x.shape[0] // 4 * 4
    for j in range(x.shape[1]):
        out[j] = 0
    for i in range(0, whole, 4):
        a, b, c, d = x[i], x[i + 1], x[i + 2], x[i + 3]
        for j in range(x.shape[1]):
            out[j] += (a[j] + b[j]) + (c[j] + d[j])
    for i in range(whole, x.shape[0]):
        for j in range(x.shape[1]):
            out[j] += x[i, j]
"""


def sum_of_columns(program: Any, group: Group, results: list[Value], name: str) -> Written | None:
    """Return the kernel of a step that adds up the rows of a matrix; None if no loop can be compiled."""
    source, out, dtype = program.spell(group.inputs[0]), program.spell(results[0]), results[0].dtype.name
    loop_name = "sum_of_columns" + "_of_float64" * (dtype == "float64")
    lines: list[str] = []
    if loop_name not in program.names:
        lines = [f'@loop("{dtype}[:,::1]", "{dtype}[::1]")',
                 *SUM_OF_COLUMNS.format(name=loop_name).strip().splitlines(), "", ""]
        if not is_compiled(program, loop_name, lines[:-2]):
            return None
    text = [*lines, f"def {name}({source}, {out}):", '    """sum, by a compiled loop"""',
            f"    {loop_name}({source}, {out})"]
    return Written("\n".join(text), [], lines, [(loop_name, [source, out])])


def in_turn(program: Any, name: str, group: Group, results: list[Value],
            kernels: list[Written]) -> tuple[Written, list[str]]:
    """Return one kernel that calls the loops of several, one after the other, and what it is given beside the group's
    inputs and the results.
    """
    parameters = {spelled: spelled for spelled in map(program.spell, (*group.inputs, *results))}  # by what is passed
    count, lines = len(parameters), []
    for loop_name, passed in (call for kernel in kernels for call in kernel.calls):
        taken = []
        for text in passed:
            array = text.removesuffix(".item()")
            number, array = text[len(array):], program.turned.get(array, array)
            if array not in parameters:
                parameters[array] = array if array.isidentifier() else program.unique(
                    "_".join(re.findall(r"\w+", array)))
            taken.append(parameters[array] + number)
        lines.append(f"    {loop_name}({', '.join(taken)})")
    said = " -> ".join(step.op.packet.strip("_") for step in group.steps)
    text = "\n".join([*[line for kernel in kernels for line in kernel.loops], "@in_turn",
                      f"def {name}({', '.join(parameters.values())}):", f'    """{said}, by compiled loops"""', *lines])
    return Written(text, checks=[line for kernel in kernels for line in kernel.checks]), [*parameters][count:]
