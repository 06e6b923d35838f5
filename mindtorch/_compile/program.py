"""Programs: the Python that runs in place of a graph. Inductor writes C++ or Triton; this is NumPy.

The printed text is the text that runs. A fused kernel is a function that writes into the arrays it is given
(``kernels``). Neighbouring kernels that do nothing but call compiled loops become one, with one call from Python, which
takes as long as a loop over a few thousand elements. Other operators are called one by one. Arrays that do not leave
the program use buffers that are laid out beforehand and kept from call to call.
"""
from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from keyword import kwlist
from math import inf, prod
from types import SimpleNamespace
from typing import Any

import numpy as np

from .._backends.common.blocks import BLOCK, each_block
from .._backends.cpu.ops.activation import ZEROS
from .._backends.cpu.rows import out_of_memory
from .._base import loops
from .._base.call_site import place_of
from .._base.generated import define
from .._base.layout import contiguous_strides
from .._base.quiet import silent
from .._dtype import DTYPES, RARE, float32
from .._storage import allocate
from .breaks import CannotCompile
from .dims import Dim, evaluated, has_dims, named_in, places_of, symbols_of
from .fusion import FLOATS, PRODUCTS, Group, groups_of
from .graph import Graph, Memory, Step, Value
from .kernels import KernelWriter, in_turn, kernel_over_rows, sum_of_columns
from .loops import Written
from .observing import told
from .running import Extern, SizedExtern, row_of, strided

numbers = itertools.count(1)
MOST_SIZES = 16  #: combinations of sizes for which buffers are kept
#: Bytes from which on an array at the beginning of a cache line repays the time to find it.
ALIGNED = 1 << 17
#: The most rows that may be added up in any order.
ROWS = 256
#: Names with a fixed meaning in programs.
RESERVED = frozenset({*kwlist, "aten", "ones", "kernels", "loop", "activation", "reduction", "product",
                      "product_transposed", "in_turn", "sum_of_columns", "sum_of_columns_of_float64", "range", "len",
                      "at", "block", "inputs", "buffers", "kept", *RARE, *DTYPES,
                      *(f"work_{i}" for i in range(100)),
                      *(f"ones_{i}{kind}" for i in range(ROWS + 1) for kind in ("", "_of_float64"))})


@lru_cache(ROWS)
def ones_of(count: int, dtype: str) -> np.ndarray:
    """Return so many ones, which are kept."""
    return np.ones(count, dtype)


@dataclass
class Buffer:
    """Memory that the program keeps from call to call, and the values that use it, one after the other."""

    nbytes: int
    values: list[str] = field(default_factory=list)


@dataclass(eq=False)
class Kernel:
    """A fused kernel of a program that is being written."""

    name: str
    group: Group
    results: list[Value]
    written: Written
    arguments: list[str] = field(default_factory=list)  #: beside the group's inputs and the results


@dataclass
class Program:
    """A graph as Python: ``source``, the objects that it names, and the sizes of its buffers."""

    source: str
    function: Callable[..., Any]
    names: dict[str, Any]
    file: str
    buffers: list[Buffer]
    layouts: list[tuple[int, tuple[int, ...], Any]]
    kernels: dict[str, Group]
    #: The sizes that change from call to call: their names, and which dimension of which input has them, or the input.
    sizes: tuple[tuple[str, int, int | None], ...] = ()
    calls_rows: bool = True  #: whether it calls kernels that choose between loops and NumPy
    pools: dict[tuple[int, ...], list[tuple[Any, ...]]] = field(default_factory=lambda: {(): []})
    observed: Callable[..., Any] | None = None

    def made(self, sizes: tuple[int, ...] = ()) -> tuple[Any, ...]:
        """Return new arrays of a call, in buffers that no other call uses."""
        buffers, layouts = [buffer.nbytes for buffer in self.buffers], self.layouts
        if sizes:
            if sizes not in self.pools:
                if len(self.pools) > MOST_SIZES:
                    self.pools.clear()
                self.pools[sizes] = []
            named = dict(zip([name for name, *_ in self.sizes], sizes, strict=True))
            layouts = [(number, evaluated(shape, named), dtype) for number, shape, dtype in layouts]
            buffers = [0] * len(buffers)
            for number, shape, dtype in layouts:
                buffers[number] = max(buffers[number], prod(shape) * dtype.itemsize)
        memory = [allocate((nbytes,), np.dtype(np.uint8)) for nbytes in buffers]
        return tuple(np.ndarray(shape, dtype, memory[number]) for number, shape, dtype in layouts)

    def __call__(self, inputs: Any, observed: bool = False) -> Any:
        """Run the program on arrays; return the arrays of its outputs."""
        sizes = tuple([inputs[i] if d is None else inputs[i].shape[d] for _, i, d in self.sizes]) if self.sizes else ()
        try:
            arrays = self.pools[sizes].pop()
        except (IndexError, KeyError):
            arrays = self.made(sizes)
        function = self.function
        if observed:
            function = self.observed = self.observed or watched(self)
        try:
            if not self.calls_rows:
                return silent().run(function, inputs, arrays)
            least, loops.state.least = loops.state.least, loops.FEW
            try:  # kernels use loops for arrays of ``FEW`` elements on
                return silent().run(function, inputs, arrays)
            finally:
                loops.state.least = least
        except MemoryError as error:
            raise out_of_memory(error) from None
        finally:
            self.pools.setdefault(sizes, []).append(arrays)


class Writer:
    """Writes a graph's program."""

    def __init__(self, graph: Graph, further: Sequence[str] = ()) -> None:
        self.graph, self.further = graph, further  #: symbols that are given as further inputs
        self.lines: list[str] = []
        self.kernels: list[str] = []
        self.waiting: list[Kernel] = []  # kernels of loops, to be called together
        self.turned: dict[str, str] = {}  # the matrices that are transposes, and what their own transposes are
        self.calls_rows = False
        self.names: dict[str, Any] = {"numpy": np, "empty": allocate, "each_block": each_block, "zero": ZEROS,
                                      "inf": inf, "strided": strided}
        self.groups: dict[str, Group] = {}
        self.spelled: dict[Value, str] = {}
        #: By symbol: the input and the dimension that has this size.
        self.sizes = places_of(graph)
        if missing := named_in(graph) - self.sizes.keys() - {*further}:
            raise CannotCompile(f"no tensor has the size {', '.join(sorted(missing))}")
        self.taken = {*RESERVED, graph.name, *self.sizes, *further}
        self.buffers: list[Buffer] = []
        self.layouts: list[tuple[int, tuple[int, ...], Any]] = []
        self.buffered: list[str] = []
        self._free: list[int] = []
        self.users, self.results = graph.users(), {*graph.results}
        self.escaping = {value.memory for value in graph.outputs}

    def unique(self, wanted: str) -> str:
        """Return a name that the program does not use yet."""
        found = next(name for name in itertools.chain([wanted], (f"{wanted}_{i}" for i in itertools.count(1)))
                     if name not in self.taken and name not in self.names)
        self.taken.add(found)
        return found

    def spell(self, value: Value) -> str:
        """Return the name of a value."""
        if value not in self.spelled:
            self.spelled[value] = self.unique(value.name)
        return self.spelled[value]

    def write(self) -> Program:
        """Write the program of the graph."""
        graph = self.graph
        for value in graph.inputs:
            self.spell(value)
        for value, tensor in graph.constants.items():
            self.names[self.spell(value)] = tensor.detach()._array
        groups = groups_of(graph)
        uses: dict[object, int] = {}  # by memory: the last group that needs it
        for position, group in enumerate(groups):
            for step in group.steps:
                for value in (*step.inputs, *step.outputs):
                    if value is not None:
                        uses[value.memory] = position
        for value in graph.results:
            uses[value.memory] = len(groups)
        held: dict[int, list[object]] = {}
        for position, group in enumerate(groups):
            self._group(group, position, uses, held)
            for number in [n for n, memories in held.items() if all(uses[m] <= position for m in memories)]:
                del held[number]
                self._free.append(number)
        self._end_turn()
        self.lines += [f"{self.spell(target)}[...] = {self.spell(value)}" for target, value in graph.writes]
        results = ", ".join(self.spell(value) for value in graph.outputs)
        return self._program(f"return {results},".replace("return ,", "return ()"))

    def _group(self, group: Group, position: int, uses: dict[object, int], held: dict[int, list[object]]) -> None:
        if not group.fused:
            [step] = group.steps
            if not (self.waiting and self._sums_columns(step) and step.args[0].shape[0].__class__ is int
                    and step.args[0].shape[0] <= ROWS and self._kernel(group, position, uses, held)):
                self._call(step)
        elif not self._kernel(group, position, uses, held):
            for part in groups_of(Graph([], group.steps, []), by_rows=False):
                self._group(part, position, uses, held)

    def _program(self, last: str) -> Program:
        graph = self.graph
        head = [f"def {graph.name}(inputs, buffers):"]
        if graph.inputs:
            head.append(f"    {', '.join([*map(self.spell, graph.inputs), *self.further])}, = inputs")
        head += [f"    {name} = {self.spell(value)}.shape[{d}]" for name, (value, d) in self.sizes.items()]
        if self.buffered:
            head.append(f"    {', '.join(self.buffered)}, = buffers")
        body = [*head, *[f"    {line}" for line in self.lines], f"    {last}"]
        source = "\n\n\n".join(["\n".join(kernel) for kernel in map(str.splitlines, self.kernels)] + ["\n".join(body)])
        source += "\n"
        file = f"<torch.compile {graph.name} {next(numbers)}>"
        names = dict(self.names)
        run = define(graph.name, source, file, names)
        sizes = (*[(name, graph.inputs.index(value), d) for name, (value, d) in self.sizes.items()],
                 *[(name, len(graph.inputs) + i, None) for i, name in enumerate(self.further)])
        return Program(source, run, names, file, self.buffers, self.layouts, self.groups, sizes, self.calls_rows)

    # -- operators that are called -------------------------------------------------------------------------------------

    def _call(self, step: Step) -> None:
        where = comment([step])
        if step.makes_view and (written := self._view(step)) is not None:
            if ".reshape(" in written and not step.args[0].is_contiguous:
                self._end_turn()  # it may be a copy
            self.lines.append(written)
            return
        self._end_turn()
        if (summed := self._dot(step) or self._sum(step)) is not None:
            self.lines.append(summed + where)
            return
        made = [self.spell(value) if value is not None else "_" for value in step.outputs]
        target = ", ".join(made) + ("," if step.is_list and made else "")
        call = self._called(step)
        self.lines.append((f"{target} = {call}" if target else call) + where)

    def _called(self, step: Step) -> str:
        """Return the call of a step's operator."""
        given, self.calls_rows = [self.argument(arg) for arg in step.args], True
        if has_dims(step.outputs):
            layouts = [None if value is None else (value.shape, None if value.is_contiguous else value.stride)
                       for value in step.outputs]
            given.insert(0, repr(tuple(layouts)))
        return f"{self.operator(step)}({', '.join(given)})"

    def _dot(self, step: Step) -> str | None:
        """Write dot products of the vectors along the last dimension, or of all elements; None for another step."""
        if step.op.name != "linalg_vecdot":
            return None
        first, out = step.args[0], step.outputs[0]
        rows = first.shape if out.size > 1 else (-1,)
        given = [self.spell(value) + ("" if rows == value.shape else ".reshape(-1)") for value in step.args]
        return f"{self.spell(out)} = numpy.asarray(numpy.vecdot({', '.join(given)})).reshape({out.shape})"

    def _sum(self, step: Step) -> str | None:
        """Write a sum of a few rows as a product with ones, in which BLAS takes a third of the time; None if it is left
        to the operator.
        """
        source, out = step.args[0], step.outputs[0]
        if not self._sums_columns(step):
            return None
        rows, columns = source.shape
        if rows.__class__ is Dim:
            self.names["ones"] = ones_of
            given = f"ones({rows}, '{source.dtype.name}').dot({self.spell(source)}).reshape({out.shape})"
            return f"{self.spell(out)} = {given} if {rows} <= {ROWS} else {self._called(step)}"
        if not 0 < rows <= ROWS:
            return None
        ones = f"ones_{rows}" + ("" if source.dtype is float32 else "_of_float64")
        self.names.setdefault(ones, np.ones(rows, source.dtype.np))
        product = f"{ones}.dot({self.spell(source)})"
        return f"{self.spell(out)} = {product}" + (f".reshape(1, {columns})" if len(out.shape) == 2 else "")

    @staticmethod
    def _sums_columns(step: Step) -> bool:
        """Return whether a step adds up the rows of a contiguous matrix."""
        source, out = step.args[0], step.outputs[0]
        return (step.op.name == "sum.dim_IntList" and row_of(step) is not None and len(source.shape) == 2
                and source.dtype in FLOATS and out is not None and out.dtype is source.dtype
                and tuple(step.args[1] or ()) in ((0,), (-2,)) and source.is_contiguous)

    def operator(self, step: Step) -> str:
        """Return an operator's name in the program: ``aten.sum``, with its overload if another operator has that name,
        and with a number if its results have another layout.
        """
        aten = self.names.setdefault("aten", SimpleNamespace())
        made = (SizedExtern if has_dims(step.outputs) else Extern)(step)
        names = step.op.packet, step.op.name.replace(".", "_"), f"{step.op.packet}_default"
        base = next(name for name in names if not hasattr(aten, name) or getattr(aten, name).op is step.op)
        for name in itertools.chain([base], (f"{base}_{number}" for number in itertools.count(1))):
            known = getattr(aten, name, None)
            if known is None:
                setattr(aten, name, made)
            if known is None or (known.op is step.op and known.specs == made.specs and (
                    known.__class__ is made.__class__)):  # one that is given layouts takes another argument
                break
        return f"aten.{name}"

    def argument(self, value: Any) -> str:
        """Return an argument as text; an object without a literal gets a name."""
        if value.__class__ in (list, tuple):
            items = ", ".join(map(self.argument, value))
            return f"[{items}]" if value.__class__ is list else f"({items}{',' if len(value) == 1 else ''})"
        if value.__class__ is Value:
            return self.spell(value)
        if value is None or value.__class__ in (bool, int, str, Dim):
            return repr(value)
        if value.__class__ is float and value == value and abs(value) != float("inf"):
            return repr(value)
        wanted = "".join(c if c.isalnum() else "_" for c in str(value)).strip("_")[:24] or "value"
        wanted = wanted if wanted.isidentifier() else f"_{wanted}"
        for name in (wanted, *(f"{wanted}_{i}" for i in range(1, 1000))):
            if self.names.get(name, None) is value and name in self.names:
                return name
            if name not in self.names and name not in self.taken:
                self.names[name] = value
                return name
        raise CannotCompile("too many arguments without a literal")

    def _view(self, step: Step) -> str | None:
        """Return a view as a NumPy statement; None if it is left to the operator."""
        source = step.args[0]
        if source.__class__ is not Value:
            return None
        name, x = step.op.packet, self.spell(source)
        if step.is_list:
            parts = [self._slice(source, value) for value in step.outputs]
            if any(part is None for part in parts):
                return None
            targets = ", ".join(map(self.spell, step.outputs))
            return f"{targets}, = {', '.join(f'{x}{part}' for part in parts)},"
        out = step.outputs[0]
        if out is None or out.dtype is not source.dtype:
            return None
        target = self.spell(out)
        if name in ("view", "_unsafe_view", "reshape", "squeeze", "unsqueeze", "_reshape_alias"):
            return f"{target} = {x}.reshape({out.shape})"
        if name in ("t", "transpose", "permute") and len(out.shape) == len(source.shape):
            order = self._order(step, source)
            if order is not None:
                text = "T" if order == (1, 0) else f"transpose({order})"
                if text == "T":
                    self.turned[f"{target}.T"] = x
                return f"{target} = {x}.{text}"
        if name == "expand" and source.is_contiguous and out.size:
            steps = tuple(s * source.dtype.itemsize for s in out.stride)
            return f"{target} = strided({x}, {out.shape}, {steps})"
        if name in ("slice", "select", "narrow"):
            part = self._slice(source, out)
            return None if part is None else f"{target} = {x}{part}"
        return None

    @staticmethod
    def _order(step: Step, source: Value) -> tuple[int, ...] | None:
        span = len(source.shape)
        if step.op.packet == "t":
            return (1, 0) if span == 2 else None
        if step.op.packet == "permute":
            return tuple(d % span for d in step.args[1])
        order = [*range(span)]
        first, second = (d % span for d in step.args[1:3]) if all(
            d.__class__ is int for d in step.args[1:3]) and span else (0, 0)
        order[first], order[second] = order[second], order[first]
        return tuple(order) if span else None

    @staticmethod
    def _slice(source: Value, out: Value) -> str | None:
        """Return the index of a part of an array, found from the layouts; None if they are ambiguous."""
        if has_dims((source.stride, source.offset, out.offset)):
            return None
        if not out.size or 0 in source.stride or len(set(source.stride)) != len(source.stride) or any(
                size == 1 for size in source.shape):
            return None
        rest, parts, dims = out.offset - source.offset, [], [*zip(out.shape, out.stride, strict=True)]
        order = sorted(range(len(source.shape)), key=lambda d: -source.stride[d])
        starts = {}
        for d in order:
            starts[d], rest = divmod(rest, source.stride[d])
            if not 0 <= starts[d] < source.shape[d]:
                return None
        if rest:
            return None
        for d, (size, stride) in enumerate(zip(source.shape, source.stride, strict=True)):
            if dims and dims[0][1] % stride == 0 and (dims[0][1] == stride or len(dims) == len(source.shape) - d) and (
                    starts[d] + (dims[0][0] - 1) * (dims[0][1] // stride) < size):
                length, step = dims[0][0], dims[0][1] // stride
                stop = starts[d] + (length - 1) * step + 1
                whole = starts[d] == 0 and length == size and step == 1
                parts.append(":" if whole else f"{starts[d]}:{stop}" + (f":{step}" if step != 1 else ""))
                dims.pop(0)
            else:
                parts.append(str(starts[d]))
        parts += ["..."] * (not out.shape)  # of an index of integers alone NumPy makes a number, which is a copy
        return None if dims else f"[{', '.join(parts)}]"

    # -- fused kernels -------------------------------------------------------------------------------------------------

    def _kernel(self, group: Group, position: int, uses: dict[object, int], held: dict[int, list[object]]) -> bool:
        """Write a group as a kernel; return whether one computes it."""
        steps, shape = group.steps, group.shape
        inside = set(steps)
        results = [value for step in steps for value in step.outputs if value is not None and (
            value in self.results or step.op.name == "nll_loss_forward"
            or any(user not in inside for user in self.users.get(value, ())))]
        name = self._kernel_name(steps)
        if not group.fused:
            written = sum_of_columns(self, group, results, name)
        elif group.has_rows:
            written = kernel_over_rows(self, group, results, name)
        else:
            blocked = prod(shape) > BLOCK and steps[0].op.name not in PRODUCTS
            written = KernelWriter(self, group, results, blocked).write(name)
        if written is None:
            return False
        for value in results:
            spelled = self.spell(value)
            if value.memory in self.escaping:
                self.names.setdefault(value.dtype.name, value.dtype.np)
                is_small = not has_dims(value) and value.size * value.dtype.itemsize < ALIGNED
                self.lines.append(f"{spelled} = {'numpy.' * is_small}empty({value.shape}, {value.dtype.name})")
            else:
                held.setdefault(self._buffer(value, spelled), []).append(value.memory)
        kernel = Kernel(name, group, results, written)
        taken = []
        for number, (size, dtype) in enumerate(written.scratch):
            spelled = self.unique(f"scratch_{number}")
            buffer = self._buffer(Value(spelled, size, contiguous_strides(size), 0, dtype, Memory()), spelled)
            kernel.arguments.append(spelled)
            taken.append(buffer)
        self._free += taken  # free again as soon as the kernel is done
        symbols = symbols_of(written.text, [*self.sizes, *self.further])
        if symbols:
            written.text = re.sub(rf"^(def {name}\(.*)\):$", rf"\g<1>, {', '.join(symbols)}):", written.text,
                                  flags=re.MULTILINE)
            kernel.arguments += symbols
        if written.calls and not symbols:
            self.waiting.append(kernel)
        else:
            self._end_turn()
            self._add(kernel)
        return True

    def _add(self, kernel: Kernel) -> None:
        """Add a kernel and its call to the program."""
        self.kernels.append(kernel.written.text)
        self.groups[kernel.name] = kernel.group
        self.names[kernel.name] = None
        call = ", ".join([*map(self.spell, (*kernel.group.inputs, *kernel.results)), *kernel.arguments])
        self.lines.append(f"{kernel.name}({call}){comment(kernel.group.steps)}")

    def _end_turn(self) -> None:
        """Add the kernels of loops that wait, as one kernel with one call of all loops."""
        kernels, self.waiting = self.waiting, []
        if sum(len(kernel.written.calls) for kernel in kernels) < 2:
            for kernel in kernels:
                self._add(kernel)
            return
        group = Group([step for kernel in kernels for step in kernel.group.steps], True, kernels[-1].group.shape)
        results = [value for kernel in kernels for value in kernel.results]
        name = kernels[0].name if len(kernels) == 1 else self._kernel_name(group.steps)
        self.names["in_turn"] = loops.in_turn
        written, further = in_turn(self, name, group, results, [kernel.written for kernel in kernels])
        self._add(Kernel(name, group, results, written, further))
        self.lines += written.checks

    def _kernel_name(self, steps: list[Step]) -> str:
        """Return a name for a kernel that computes these steps."""
        label = "_".join(dict.fromkeys(step.op.packet.strip("_") for step in steps))
        name = label if len(steps) == 1 else "fused_" + label if len(label) <= 48 else f"fused_{len(steps)}_operators"
        return self.unique(name if len(steps) > 1 else f"{name}_into")

    def _buffer(self, value: Value, name: str) -> int:
        """Find room for a value: the free buffer that fits best, or a new one."""
        size = value.size * value.dtype.itemsize
        fitting = [n for n in self._free if self.buffers[n].nbytes >= size]
        if fitting:
            number = min(fitting, key=lambda n: self.buffers[n].nbytes)
        elif self._free:
            number = max(self._free, key=lambda n: self.buffers[n].nbytes)
            self.buffers[number].nbytes = size
        else:
            self.buffers.append(Buffer(size))
            number = len(self.buffers) - 1
        if number in self._free:
            self._free.remove(number)
        self.buffers[number].values.append(name)
        self.layouts.append((number, value.shape, value.dtype.np))
        self.buffered.append(name)
        return number


def comment(steps: list[Step]) -> str:
    """Return the user's lines that steps come from, as a comment."""
    places = [*dict.fromkeys(place_of(*step.site[:2]) for step in steps if step.site[0])]
    return f"  # {', '.join(places[:3])}{', ...' if len(places) > 3 else ''}" if places else ""


def watched(program: Program) -> Callable[..., Any]:
    """Return the program's function with kernels that report to observers."""
    names = dict(program.names)
    function: Any = program.function
    replaced = {name: told(names[name], name, group, program) for name, group in program.kernels.items()}
    names.update(replaced)
    return type(function)(function.__code__, names, function.__name__)

