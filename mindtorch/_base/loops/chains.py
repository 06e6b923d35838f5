"""Functions of elements, written in NumPy's ufuncs, as one ufunc, whose inner loop calls theirs one after the other.

A function is traced once for its operands' dtypes and its numbers. Its steps are NumPy's (and SciPy's) own inner loops,
which a loop of machine code (``CHAIN``) calls for some elements at a time, so that the cache holds all intermediate
results. The bits are NumPy's at any size, so that a chain may begin in the middle of a process: once NumPy has computed
as much as repays the import of llvmlite, or less of it where that is imported, for numbers that come again.
"""
from __future__ import annotations

import ctypes
import re
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from math import inf
from typing import Any

import numpy as np
from numpy._core.umath import clip  # type: ignore[attr-defined]  # the ufunc
from numpy.lib.introspect import opt_func_info
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..interrupts import signals_wait
from . import REPAID, SOON, _compiling, machine_code

BLOCK = 1 << 9  #: elements that a step computes at a time
WIDEST = 8  #: bytes of an element, for which there is room
SCRATCH, SLOTS = 1 << 4, 1 << 6  #: most arrays of intermediate results; and most operands, numbers and results
OPERANDS = 5  #: most arrays of a step
LANES = 16  #: elements of a vector
#: Ufuncs that compute an element in about the time of a copy, in baseline vectors.
QUICK = {np.add, np.subtract, np.multiply, np.divide, np.negative, np.absolute, np.maximum, np.minimum, np.rint,
         np.ceil, np.floor, np.trunc, np.sqrt, np.square, np.reciprocal, np.positive, np.equal, np.not_equal, np.less,
         np.less_equal, np.greater, np.greater_equal, np.isnan, np.isfinite, np.isinf, np.signbit, np.logical_not,
         np.logical_and, np.logical_or, clip}
SIZES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8}  #: of LLVM's types, in bytes
BITS, SINGLE = np.dtype(np.uint16), np.dtype(np.float32)  #: as which chains take half precision, and compute it
#: Elements that NumPy computes in the time that tracing takes; and ufuncs that a function keeps.
TRACED, MOST = 1 << 16, 1 << 6
#: The offsets of the addresses of a ufunc's inner loops, and of those of their data, in NumPy's ``PyUFuncObject``.
FUNCTIONS, DATA = (object.__basicsize__ + 16 + 8 * word for word in (0, 1))
#: The inner loop of a chain. ``program`` holds the numbers of the chain's operands, of slots and of steps; of each slot
#: an address, all bits if it is an offset in ``scratch``, and the distance of elements; and of each step the function,
#: its data, and the slots of its arrays.
CHAIN = f"""
define void @chain(ptr %operands, ptr %counts, ptr %distances, ptr %program) {{
  %scratch = alloca [{SCRATCH * BLOCK * WIDEST} x i8], align 64
  %places = alloca [{SLOTS} x i64]
  %gaps = alloca [{SLOTS} x i64]
  %given = alloca [{OPERANDS} x i64]
  %steps = alloca [{OPERANDS} x i64]
  %size = alloca i64
  %base = ptrtoint ptr %scratch to i64
  %total = load i64, ptr %counts
  %taken = load i64, ptr %program
  %slots_at = getelementptr i64, ptr %program, i64 1
  %slots = load i64, ptr %slots_at
  %calls_at = getelementptr i64, ptr %program, i64 2
  %calls = load i64, ptr %calls_at
  %table = getelementptr i64, ptr %program, i64 3
  %code = getelementptr [3 x i64], ptr %table, i64 %slots
  br label %operand
operand:
  %i = phi i64 [0, %0], [%i_next, %operand]
  %operand_at = getelementptr i64, ptr %operands, i64 %i
  %address = load i64, ptr %operand_at
  %distance_at = getelementptr i64, ptr %distances, i64 %i
  %distance = load i64, ptr %distance_at
  %address_to = getelementptr i64, ptr %places, i64 %i
  store i64 %address, ptr %address_to
  %distance_to = getelementptr i64, ptr %gaps, i64 %i
  store i64 %distance, ptr %distance_to
  %i_next = add i64 %i, 1
  %i_left = icmp slt i64 %i_next, %taken
  br i1 %i_left, label %operand, label %slot
slot:
  %s = phi i64 [%taken, %operand], [%s_next, %own]
  %s_left = icmp slt i64 %s, %slots
  br i1 %s_left, label %own, label %block
own:
  %row = getelementptr [3 x i64], ptr %table, i64 %s
  %offset = load i64, ptr %row
  %mask_at = getelementptr i64, ptr %row, i64 1
  %mask = load i64, ptr %mask_at
  %gap_at = getelementptr i64, ptr %row, i64 2
  %gap = load i64, ptr %gap_at
  %moved = and i64 %mask, %base
  %place = add i64 %offset, %moved
  %place_to = getelementptr i64, ptr %places, i64 %s
  store i64 %place, ptr %place_to
  %gap_to = getelementptr i64, ptr %gaps, i64 %s
  store i64 %gap, ptr %gap_to
  %s_next = add i64 %s, 1
  br label %slot
block:
  %left = phi i64 [%total, %slot], [%left_next, %advanced]
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %part, label %done
part:
  %is_last = icmp slt i64 %left, {BLOCK}
  %n = select i1 %is_last, i64 %left, i64 {BLOCK}
  %left_next = sub i64 %left, %n
  store i64 %n, ptr %size
  br label %call
call:
  %c = phi i64 [0, %part], [%c_next, %call]
  %step = getelementptr [{OPERANDS + 2} x i64], ptr %code, i64 %c
""" + "".join(f"""
  %slot_at{i} = getelementptr i64, ptr %step, i64 {i + 2}
  %slot{i} = load i64, ptr %slot_at{i}
  %from{i} = getelementptr i64, ptr %places, i64 %slot{i}
  %given{i} = load i64, ptr %from{i}
  %to{i} = getelementptr i64, ptr %given, i64 {i}
  store i64 %given{i}, ptr %to{i}
  %gap_from{i} = getelementptr i64, ptr %gaps, i64 %slot{i}
  %gap{i} = load i64, ptr %gap_from{i}
  %step_to{i} = getelementptr i64, ptr %steps, i64 {i}
  store i64 %gap{i}, ptr %step_to{i}""" for i in range(OPERANDS)) + """
  %function = load ptr, ptr %step
  %data_at = getelementptr i64, ptr %step, i64 1
  %data = load ptr, ptr %data_at
  call void %function(ptr %given, ptr %size, ptr %steps, ptr %data)
  %c_next = add i64 %c, 1
  %c_left = icmp slt i64 %c_next, %calls
  br i1 %c_left, label %call, label %advance
advance:
  %a = phi i64 [0, %call], [%a_next, %advance]
  %at = getelementptr i64, ptr %places, i64 %a
  %now = load i64, ptr %at
  %away_at = getelementptr i64, ptr %gaps, i64 %a
  %away = load i64, ptr %away_at
  %past = mul i64 %away, %n
  %then = add i64 %now, %past
  store i64 %then, ptr %at
  %a_next = add i64 %a, 1
  %a_left = icmp slt i64 %a_next, %taken
  br i1 %a_left, label %advance, label %advanced
advanced:
  br label %block
done:
  ret void
}
"""


def inner_loop(name: str, inputs: Sequence[str], output: str, body: Callable[[str, int], str]) -> str:
    """Return LLVM's text of an inner loop that NumPy lacks. ``body`` computes so many elements ``y`` of ``x0``, ``x1``,
    ..., whose names have a prefix: vectors, if elements are dense, or one of an input stands for all.
    """
    kinds, count = [*inputs, output], len(inputs)
    text = f"define void @{name}(ptr %given, ptr %counts, ptr %steps, ptr %data) {{\n  %total = load i64, ptr %counts\n"
    for i, kind in enumerate(kinds):
        size, vector = SIZES[kind], f"<{LANES} x {kind}>"
        text += f"""
  %first_at{i} = getelementptr i64, ptr %given, i64 {i}
  %first{i} = load ptr, ptr %first_at{i}
  %step_at{i} = getelementptr i64, ptr %steps, i64 {i}
  %step{i} = load i64, ptr %step_at{i}
  %dense{i} = icmp eq i64 %step{i}, {size}
  %still{i} = icmp eq i64 %step{i}, {size if i == count else 0}
  %line{i} = alloca {vector}
  %one{i} = load {kind}, ptr %first{i}, align 1
  %some{i} = insertelement {vector} poison, {kind} %one{i}, i64 0
  %all{i} = shufflevector {vector} %some{i}, {vector} poison, <{LANES} x i32> zeroinitializer
  store {vector} %all{i}, ptr %line{i}
  %from{i} = select i1 %dense{i}, ptr %first{i}, ptr %line{i}
  %stride{i} = select i1 %dense{i}, i64 {size}, i64 0
  %fits{i} = or i1 %dense{i}, %still{i}
  %fit{i} = and i1 %fits{i}, {f'%fit{i - 1}' if i else 'true'}"""
    text += f"""
  %rounded = and i64 %total, {-LANES}
  %whole = select i1 %fit{count}, i64 %rounded, i64 0
  br label %wide"""
    for label, lanes, before, first, end, then, place, step in (
            ("wide", LANES, "0", "0", "whole", "rest", "from", "stride"),
            ("rest", 1, "wide", "%whole", "total", "done", "first", "step")):
        text += f"""
{label}:
  %{label}_n = phi i64 [{first}, %{before}], [%{label}_next, %{label}_end]
  %{label}_left = icmp slt i64 %{label}_n, %{end}
  br i1 %{label}_left, label %{label}_turn, label %{then}
{label}_turn:"""
        for i, kind in enumerate(kinds):
            text += f"""
  %{label}_away{i} = mul i64 %{label}_n, %{step}{i}
  %{label}_at{i} = getelementptr i8, ptr %{place}{i}, i64 %{label}_away{i}"""
            if i < count:
                text += f"\n  %{label}_x{i} = load <{lanes} x {kind}>, ptr %{label}_at{i}, align 1"
        text += body(f"{label}_", lanes) + f"""
  br label %{label}_end
{label}_end:
  store <{lanes} x {output}> %{label}_y, ptr %{label}_at{count}, align 1
  %{label}_next = add i64 %{label}_n, {lanes}
  br label %{label}"""
    return f"{text}\ndone:\n  ret void\n}}\n"


def selection(kind: str) -> str:
    """Return LLVM's text of ``np.where``."""
    return inner_loop(f"where{SIZES[kind]}", ("i8", kind, kind), kind, lambda to, lanes: f"""
  %{to}mask = icmp ne <{lanes} x i8> %{to}x0, zeroinitializer
  %{to}y = select <{lanes} x i1> %{to}mask, <{lanes} x {kind}> %{to}x1, <{lanes} x {kind}> %{to}x2""")


def horner(kind: str) -> str:
    """Return LLVM's text of a polynomial, whose data are the number of its coefficients, and these in words."""
    def body(to: str, lanes: int) -> str:
        vector, zeros = f"<{lanes} x {kind}>", f"<{lanes} x i32> zeroinitializer"
        return f"""
  %{to}count = load i64, ptr %data
  br label %{to}step
{to}step:
  %{to}i = phi i64 [1, %{to}turn], [%{to}i_next, %{to}step]
  %{to}sum = phi {vector} [zeroinitializer, %{to}turn], [%{to}y, %{to}step]
  %{to}is_first = icmp eq i64 %{to}i, 1
  %{to}product = fmul {vector} %{to}sum, %{to}x0
  %{to}place = getelementptr i64, ptr %data, i64 %{to}i
  %{to}one = load {kind}, ptr %{to}place
  %{to}some = insertelement {vector} poison, {kind} %{to}one, i64 0
  %{to}all = shufflevector {vector} %{to}some, {vector} poison, {zeros}
  %{to}more = fadd {vector} %{to}product, %{to}all
  %{to}y = select i1 %{to}is_first, {vector} %{to}all, {vector} %{to}more
  %{to}i_next = add i64 %{to}i, 1
  %{to}again = icmp sle i64 %{to}i_next, %{to}count
  br i1 %{to}again, label %{to}step, label %{to}last
{to}last:"""

    return inner_loop(f"horner{SIZES[kind]}", (kind,), kind, body)


#: LLVM's text of what makes ``%y`` of ``%x0``, vectors of so many elements: float32 of the bits of half precision, by
#: the letter of the dtype, and back, as ``bodies.half`` does. Processors have instructions for float16.
CONVERSIONS = {
    "widen_E": ("i16", "float", """
  %wide = zext <{n} x i16> %x0 to <{n} x i32>
  %bits = shl <{n} x i32> %wide, {16}
  %y = bitcast <{n} x i32> %bits to <{n} x float>"""),
    "narrow_E": ("float", "i16", """
  %bits = bitcast <{n} x float> %x0 to <{n} x i32>
  %upper = lshr <{n} x i32> %bits, {16}
  %odd = and <{n} x i32> %upper, {1}
  %more = add <{n} x i32> %odd, {32767}
  %sum = add <{n} x i32> %bits, %more
  %rounded = lshr <{n} x i32> %sum, {16}
  %sign = and <{n} x i32> %upper, {32768}
  %none = or <{n} x i32> %sign, {32704}
  %is_none = fcmp uno <{n} x float> %x0, %x0
  %found = select <{n} x i1> %is_none, <{n} x i32> %none, <{n} x i32> %rounded
  %y = trunc <{n} x i32> %found to <{n} x i16>"""),
    "widen_e": ("i16", "float", """
  %half = bitcast <{n} x i16> %x0 to <{n} x half>
  %y = fpext <{n} x half> %half to <{n} x float>"""),
    "narrow_e": ("float", "i16", """
  %half = fptrunc <{n} x float> %x0 to <{n} x half>
  %y = bitcast <{n} x half> %half to <{n} x i16>""")}


def conversion(name: str) -> str:
    """Return LLVM's text of a conversion."""
    source, target, text = CONVERSIONS[name]

    def body(to: str, lanes: int) -> str:
        alike = re.sub(r"{(\d+)}", lambda number: f"<{', '.join([f'i32 {number[1]}'] * lanes)}>", text)
        return alike.replace("{n}", str(lanes)).replace("%", f"%{to}")

    return inner_loop(name, (source,), target, body)


@cache
def machine() -> Any:
    """Return what owns the machine code."""
    binding = machine_code.llvm()
    features = binding.get_host_cpu_features()
    halves = [name for name in CONVERSIONS if name[-1] == "E" or features.get("f16c") or features.get("neon")]
    text = CHAIN + "".join([*map(selection, ("i32", "i64")), *map(horner, ("float", "double")),
                            *map(conversion, halves)])
    target = binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=features.flatten(), jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(text), target)
    engine.finalize_object()
    return engine


def word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


@cache
def inner(ufunc: np.ufunc, *dtypes: np.dtype) -> tuple[tuple[int, int], np.dtype]:
    """Return the addresses of a ufunc's inner loop of these dtypes, and of its data; and the result's dtype.

    Raises:
        TypeError: if the ufunc converts its operands.
    """
    found = ufunc.resolve_dtypes((*dtypes, *[None] * ufunc.nout))
    signature = f"{''.join([dtype.char for dtype in dtypes])}->{found[-1].char}"
    if found[:-1] != dtypes or signature not in ufunc.types:
        raise TypeError(f"{ufunc} has no inner loop of {', '.join(map(str, dtypes))} and one result")
    index, data = 8 * ufunc.types.index(signature), word(id(ufunc) + DATA)
    return (word(word(id(ufunc) + FUNCTIONS) + index), word(data + index) if data else 0), found[-1]


@cache
def has_vectors(name: str) -> bool:
    """Return True if NumPy has a SIMD loop of a float32 function on this processor, as for ``exp`` on most."""
    found = opt_func_info(func_name=f"^{name}$", signature="float32").get(name)
    return found is not None and not found["ff"]["current"].startswith("baseline")


class Traced(NDArrayOperatorsMixin):
    """An operand of a function that is traced, one of its numbers, or what a step makes."""

    def __init__(self, chain: Chain, dtype: np.dtype, index: int) -> None:
        self.chain, self.dtype, self.index = chain, dtype, index

    def __bool__(self) -> bool:
        raise TypeError("a chain has no truth value")

    __iadd__, __isub__ = NDArrayOperatorsMixin.__add__, NDArrayOperatorsMixin.__sub__
    __imul__, __itruediv__ = NDArrayOperatorsMixin.__mul__, NDArrayOperatorsMixin.__truediv__

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        given = self.chain.operands(inputs)
        is_loop = ufunc.__name__ == "loop"
        self.chain.is_quick &= ufunc in QUICK or is_loop or has_vectors(ufunc.__name__)
        made = self.chain.step(*inner(ufunc, *[x.dtype for x in given]), given)
        if is_loop:
            self.chain.apart.add(made.index)
        return made

    def __array_function__(self, function: Any, kinds: Any, args: Any, options: Any) -> Any:
        if function is not np.where:
            return NotImplemented
        chosen = self.chain.operands(args[1:])
        dtype = chosen[0].dtype
        if dtype != chosen[1].dtype or dtype.itemsize not in (4, WIDEST):
            raise TypeError(f"no chain selects from {dtype} and {chosen[1].dtype}")
        address = machine().get_function_address(f"where{dtype.itemsize}")
        return self.chain.step((address, 0), dtype, [args[0], *chosen])


def polynomial(x: Any, coefficients: tuple[Any, ...]) -> Any:
    """Compute a polynomial by Horner's scheme, from the highest power down: as one step of a chain."""
    if x.__class__ is Traced:
        return x.chain.polynomial(x, coefficients)
    out = x * coefficients[0]
    for coefficient in coefficients[1:-1]:
        out += coefficient
        out *= x
    return out + coefficients[-1]


class Chain:
    """The steps of a function, given what it is called with."""

    def __init__(self, function: Callable[..., Any], args: Sequence[Any]) -> None:
        self.values: list[Traced] = []
        self.is_quick = True  #: unless a step takes as long as many others
        self.apart = set[int]()  #: what loops make, which are slow to write where an operand is
        self.steps = dict[tuple[tuple[int, int], tuple[int, ...]], Traced]()  #: by function, its data, and operands
        self.numbers = dict[tuple[str, bytes], tuple[Traced, np.ndarray]]()
        self.data: list[np.ndarray] = []  #: what steps point to
        halves = {arg.dtype.char for arg in args if isinstance(arg, np.ndarray) and arg.dtype.itemsize == 2}
        given = [self.value(BITS if arg.dtype.char in halves else arg.dtype) if isinstance(arg, np.ndarray) else arg
                 for arg in args]
        self.given = self.values[:]
        if half := "".join(halves):  # one letter
            given = [self.convert(f"widen_{half}", x, SINGLE) if x.__class__ is Traced else x for x in given]
        self.out, = self.operands([function(*given)])
        if half and self.out.dtype == SINGLE:
            self.out = self.convert(f"narrow_{half}", self.out, BITS)
        if not self.steps or self.out is not [*self.steps.values()][-1]:  # which alone may write where operands are
            self.out = np.positive(self.out)

    def convert(self, name: str, x: Traced, dtype: np.dtype) -> Traced:
        """Convert from or to half precision, if this processor does."""
        if not (address := machine().get_function_address(name)):
            raise TypeError(f"this processor has no conversion {name}")
        return self.step((address, 0), dtype, [x])

    def value(self, dtype: np.dtype) -> Traced:
        self.values.append(Traced(self, dtype, len(self.values)))
        return self.values[-1]

    def operands(self, given: Sequence[Any]) -> list[Traced]:
        """Return the operands, with Python numbers converted to the dtype of an array among them."""
        dtype = next((x.dtype for x in given if x.__class__ is Traced), self.given[0].dtype)
        return [x if x.__class__ is Traced else self.number(
            np.asarray(x, dtype if x.__class__ in (int, float, bool) else None)) for x in given]

    def number(self, number: np.ndarray) -> Traced:
        if number.ndim:
            raise TypeError("a chain takes no further arrays")
        key = number.dtype.char, number.tobytes()
        if key not in self.numbers:
            self.numbers[key] = self.value(number.dtype), number
        return self.numbers[key][0]

    def step(self, loop: tuple[int, int], dtype: np.dtype, given: Sequence[Traced]) -> Traced:
        key = loop, tuple([x.index for x in given])
        if key not in self.steps:
            self.steps[key] = self.value(dtype)
        return self.steps[key]

    def polynomial(self, x: Traced, coefficients: tuple[Any, ...]) -> Traced:
        data = np.zeros(len(coefficients) + 1, np.int64)
        data[0] = len(coefficients)
        data[1:].view(x.dtype)[::WIDEST // x.dtype.itemsize] = coefficients
        self.data.append(data)
        return self.step((machine().get_function_address(f"horner{x.dtype.itemsize}"), data.ctypes.data), x.dtype, [x])

    def program(self) -> list[int]:
        """Return the data of ``CHAIN``. Each result takes the place of an operand of its size that is not needed any
        more, or another one in the scratch memory.
        """
        sizes, out = [x.dtype.itemsize for x in self.values], self.out.index
        last = {x: i for i, (_, given) in enumerate(self.steps) for x in given}
        slots = {x: i for i, x in enumerate([*range(len(self.given)), out])}
        rows = [[0, 0, 0] for _ in slots]
        steps, free, places = [], [*range(SCRATCH)], dict[int, int]()
        for x, number in self.numbers.values():
            slots[x.index] = len(rows)
            rows.append([number.ctypes.data, 0, 0])
        for i, ((loop, given), made) in enumerate(self.steps.items()):
            ended = [x for x in {*given} if x in places and last[x] == i]
            if made.index != out:
                kept = None if made.index in self.apart else next(
                    (x for x in ended if sizes[x] == sizes[made.index]), None)
                places[made.index] = place = free.pop() if kept is None else places[kept]
                ended = [x for x in ended if x != kept]
                slots[made.index] = len(rows)
                rows.append([place * BLOCK * WIDEST, -1, sizes[made.index]])
            free += [places[x] for x in ended]
            steps += [*loop, *[slots[x] for x in (*given, made.index)], *[0] * (OPERANDS - 1 - len(given))]
        if len(rows) > SLOTS:
            raise IndexError("a chain has too many steps")
        return [len(self.given) + 1, len(rows), len(self.steps), *[value for row in rows for value in row], *steps]

    def ufunc(self) -> np.ufunc:
        """Make the ufunc of the steps."""
        return machine_code.ufunc_of(machine().get_function_address("chain"), np.array(self.program(), np.int64),
                                     [x.dtype for x in (*self.given, self.out)], (self.numbers, self.data))


class Chained:
    """The ufuncs of a function of arrays, whose dtypes have one of these letters, and of numbers. Half precision, which
    ufuncs take as bits, is computed in float32. If it ``may`` have none, the function can be one that is not traced.
    """

    left: float = REPAID  #: elements that NumPy computes by any function until there are ufuncs

    def __init__(self, function: Callable[..., Any], kinds: str = "fdFD", may: bool = False) -> None:
        self.function, self._kinds, self._may = function, kinds, may
        self._ufuncs, self._awaited = dict[Any, np.ufunc](), dict[Any, float]()

    def ufunc(self, kinds: str, numbers: tuple[Any, ...], size: int, args: tuple[Any, ...]) -> np.ufunc | None:
        """Return the ufunc of the arrays of a call, whose dtypes have these letters; None if NumPy is to compute it.
        ``size`` is the elements of NumPy's passes.
        """
        key = (kinds, repr(numbers) if 0 in numbers else numbers) if numbers else kinds  # text has the signs of zeros
        return self._ufuncs.get(key) or self._made(key, size, args)

    def _made(self, key: Any, size: int, args: tuple[Any, ...]) -> np.ufunc | None:
        if (left := self._awaited.get(key)) is None:
            if len(self._ufuncs) >= MOST:
                return None
            if len(self._awaited) >= MOST:
                self._awaited.clear()
            left = TRACED if all(x.dtype.char in self._kinds for x in args if x.__class__ is np.ndarray) else inf
        Chained.left -= size
        self._awaited[key] = left = left - size
        if left > 0 or not (Chained.left < 0 or (Chained.left < REPAID - SOON and machine_code.is_ready())):
            return None
        try:
            with _compiling, signals_wait():
                made = self._ufuncs[key] = Chain(self.function, args).ufunc()
            return made
        except ImportError:
            Chained.left = inf
        except Exception as error:
            self._awaited[key] = inf
            if self._may:
                return None
            warnings.warn(f"there is no chain of {self.function.__name__}, which NumPy computes now: {error}",
                          RuntimeWarning, stacklevel=2)
        return None
