"""Machine code of loops: kept on the disk, loaded without numba, and called with arrays.

Importing numba, and reading a function from its own cache, takes most of a second in each process; llvmlite, on which
numba is built, links an object file in a twentieth of that. A file holds a line of JSON, which describes the function
and its arguments, and the object file. Its name says what the code depends on: the sources, the compiler, and the
processor.
"""
from __future__ import annotations

import ctypes
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath as umath  # type: ignore[attr-defined] # where C's ``import_ufunc`` looks

from .. import forks

HERE = Path(__file__).parent
HOME = Path(os.path.expanduser("~"))  # "~" for a user who has none
#: Where files are looked for, and written to the first place that lets them.
PLACES = (HERE / "bodies" / "__pycache__", *[HOME / ".cache" / "mindtorch" / "loops"] * HOME.is_absolute())
MOST = 1 << 10  #: loops of programs that a place keeps
#: The offsets of an array's data, number of dimensions, sizes, strides, dtype and flags in NumPy's ``PyArrayObject``,
#: in its stable binary interface.
DATA, DIMENSIONS, SIZES, STRIDES, DESCRIPTION, FLAGS = (object.__basicsize__ + 8 * word for word in (0, 1, 2, 3, 5, 6))
ITEMS = tuple.__basicsize__  #: the offset of a tuple's items
LISTED = object.__basicsize__ + 8  #: the offset of the address of a list's items
KIND = object.__basicsize__ - 8  #: the offset of an object's type
ALIGNED = 0x100  #: NumPy's flag; 1 is the one of contiguous arrays
UNFIT, FAILED = 2, 3  #: what a call returns for arrays that do not fit, and without memory
#: Memory of arrays that a loop makes, with numba's header of six words; the other functions of numba's runtime are in
#: the object file.
RUNTIME = """
declare ptr @malloc(i64)
declare void @free(ptr)
define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %room = add i64 %size, 128
  %made = call ptr @malloc(i64 %room)
  %none = icmp eq ptr %made, null
  br i1 %none, label %done, label %fill
fill:
  %place = ptrtoint ptr %made to i64
  %behind = add i64 %place, 111
  %data = and i64 %behind, -64
  store i64 1, ptr %made
  %held = getelementptr i64, ptr %made, i64 3
  store i64 %data, ptr %held
  br label %done
done:
  ret ptr %made
}
define void @NRT_MemInfo_call_dtor(ptr %made) {
  call void @free(ptr %made)
  ret void
}
"""
#: What an object file may leave to the process and to ``RUNTIME``; LLVM ends the process for other names.
PROVIDED = {"NRT_MemInfo_alloc_aligned", "NRT_MemInfo_call_dtor", "sched_yield",
            *[name + kind for kind in ("", "f") for name in (
                "sqrt", "floor", "rint", "log", "log1p", "exp", "pow", "fmod", "sin", "cos", "tan", "acos")]}
SCALARS: dict[str, Any] = {
    "int64": ctypes.c_int64, "float32": ctypes.c_float, "float64": ctypes.c_double, "bool": ctypes.c_bool}
#: LLVM's names of them, as arguments.
TYPES = {"int64": "i64", "float32": "float", "float64": "double", "bool": "i8"}


@cache
def llvm() -> Any:
    """Import llvmlite, and prepare it for this processor."""
    binding = forks.load_module("llvmlite.binding")
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


def is_ready() -> bool:
    """Return True if a loop takes no import."""
    return "llvmlite.binding" in sys.modules


@cache
def dependence() -> str:
    """Return the name of the sources, the compiler, and the processor."""
    digest = blake2b(digest_size=8)
    for source in (HERE / "coefficients.py", HERE / "rejection.py", *sorted((HERE / "bodies").glob("*.py"))):
        digest.update(source.read_bytes())
    version = forks.load_module("llvmlite").__version__
    digest.update(f"{version} {sys.version} {llvm().get_host_cpu_name()} {llvm().get_host_cpu_features().flatten()}"
                  .encode())
    return digest.hexdigest()


def kept(name: str) -> bytes | None:
    """Return a loop's code from the disk, if it is there."""
    for place in PLACES:
        with suppress(OSError):
            return (place / f"{name}.{dependence()}.loop").read_bytes()
    return None


def kept_names() -> set[str]:
    """Return the names of the loops on the disk that are compiled for this processor; none without a compiler."""
    try:
        return {path.name.partition(".")[0] for place in PLACES for path in place.glob(f"*.{dependence()}.loop")}
    except ImportError:
        return set()


def can_keep() -> bool:
    """Return True if a place may be written to."""
    for place in PLACES:
        with suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=place):
                return True
    return False


def keep(name: str, code: bytes) -> None:
    """Write a loop's code to the disk, where a place may be written to."""
    for place in PLACES:
        with suppress(OSError):  # no place that may be written to, or no room
            place.mkdir(parents=True, exist_ok=True)
            handle, path = tempfile.mkstemp(dir=place)
            try:
                with open(handle, "wb") as file:
                    file.write(code)
                os.replace(path, place / f"{name}.{dependence()}.loop")
            except OSError:
                os.unlink(path)
                raise
            for old in sorted(place.glob("written_*.loop"), key=os.path.getmtime)[:-MOST]:
                old.unlink(missing_ok=True)
            return


def load(code: bytes) -> Callable[..., Any]:
    """Return the function of a loop's code.

    Raises:
        RuntimeError: if the code is not of this processor and compiler.
    """
    head, _, compiled = code.partition(b"\n")
    about = json.loads(head)
    kinds: list[tuple[str, int | None, bool]] = about["arguments"]
    arrays = {i: (np.dtype(kind), ndim, contiguous) for i, (kind, ndim, contiguous) in enumerate(kinds)
              if ndim is not None}
    machine = llvm().Target.from_triple(about["triple"]).create_target_machine(jit=True)
    names = [kind for kind, *_ in kinds]
    has_rows = [*arrays] == [*range(len(arrays))]  # the numbers come last
    has_lines = has_rows and all(is_line(*kind[1:]) for kind in arrays.values())
    text = RUNTIME + entrance(about["name"], names, arrays) + entrance_of_places(names, arrays)
    if has_rows:
        text += entrance_of_rows(names, len(arrays))
    if has_lines:
        text += entrance_of_lines(about["name"], names, arrays)
    engine = llvm().create_mcjit_compiler(llvm().parse_assembly(text), machine)
    engine.add_object_file(llvm().ObjectFileRef.from_data(compiled))
    engine.finalize_object()
    taken = [ctypes.py_object if i in arrays else SCALARS[kind] for i, kind in enumerate(names)]
    call = calling(ctypes.CFUNCTYPE(ctypes.c_int64, *taken)(engine.get_function_address("entrance")), arrays, engine)
    call.by_places = engine.get_function_address("entrance_of_places")  # type: ignore[attr-defined]
    call.numbers = frozenset(range(len(kinds))) - arrays.keys()  # type: ignore[attr-defined]
    if has_rows:
        of_rows = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.py_object, ctypes.c_int64, *taken[len(arrays):])(
            engine.get_function_address("entrance_of_rows"))
        call.each = calling_each(of_rows, call)  # type: ignore[attr-defined]
    if has_lines:
        call.ufunc = ufuncs(engine, [dtype for dtype, *_ in arrays.values()], names[len(arrays):])  # type: ignore[attr-defined]
    return call


def is_line(ndim: int, contiguous: bool) -> bool:
    """Return whether an argument is a contiguous vector, as which a loop's code reads any contiguous array."""
    return ndim == 1 and contiguous


def entrance(name: str, kinds: list[str], arrays: dict[int, tuple[np.dtype, int, bool]]) -> str:
    """Return LLVM's text of the function that Python calls: it looks at the arrays' fields, calls the loop's code, and
    returns 0, ``UNFIT`` if an array is not of the loop's kind, or ``FAILED``.
    """
    taken = [f"i64 %a{i}" if i in arrays else f"{TYPES[kind]} %a{i}" for i, kind in enumerate(kinds)]
    lines = [f'declare i32 @"{name}"({", ".join(["ptr", "ptr", *[one.split()[0] for one in taken]])})',
             f"define i64 @entrance({', '.join(taken)}) {{", "  %result = alloca i64", "  %error = alloca i64",
             "  br label %check0"]
    checks = [(i, *check) for i, (dtype, ndim, contiguous) in arrays.items() for check in (
        ("i64", KIND, -1, id(np.ndarray)), ("i64", DESCRIPTION, -1, id(dtype)),
        *[("i32", DIMENSIONS, -1, ndim)] * (not is_line(ndim, contiguous)),
        ("i32", FLAGS, ALIGNED | contiguous, ALIGNED | contiguous))]
    for number, (i, word, offset, mask, wanted) in enumerate(checks):
        lines += [f"check{number}:", f"  %at{number} = add i64 %a{i}, {offset}",
                  f"  %place{number} = inttoptr i64 %at{number} to ptr",
                  f"  %found{number} = load {word}, ptr %place{number}",
                  f"  %bits{number} = and {word} %found{number}, {mask}",
                  f"  %same{number} = icmp eq {word} %bits{number}, {wanted}",
                  f"  br i1 %same{number}, label %check{number + 1}, label %unfit"]
    return "\n".join([*lines, f"check{len(checks)}:",
                      f'  %status = call i32 @"{name}"({", ".join(["ptr %result", "ptr %error", *taken])})',
                      "  %went = icmp sle i32 %status, 0", "  br i1 %went, label %done, label %failed",
                      "done:", "  ret i64 0", "failed:", f"  ret i64 {FAILED}", "unfit:", f"  ret i64 {UNFIT}",
                      "}"]) + "\n"


def entrance_of_rows(kinds: list[str], count: int) -> str:
    """Return LLVM's text of the function that calls ``entrance`` for each row of ``count`` lists of arrays, given in a
    tuple, with the numbers that follow them. It returns the number of the first row that the code cannot take, or of
    rows.
    """
    numbers = [f"{TYPES[kind]} %a{i}" for i, kind in enumerate(kinds) if i >= count]
    lines = [f"define i64 @entrance_of_rows({', '.join(['i64 %lists', 'i64 %count', *numbers])}) {{",
             "  %columns = inttoptr i64 %lists to ptr"]
    for i in range(count):
        lines += [f"  %column{i} = getelementptr i64, ptr %columns, i64 {ITEMS // 8 + i}",
                  f"  %list{i} = load i64, ptr %column{i}", f"  %word{i} = add i64 %list{i}, {LISTED}",
                  f"  %place{i} = inttoptr i64 %word{i} to ptr", f"  %items{i} = load ptr, ptr %place{i}"]
    lines += ["  br label %turn", "turn:", "  %n = phi i64 [0, %0], [%next, %row]",
              "  %left = icmp slt i64 %n, %count", "  br i1 %left, label %row, label %done", "row:"]
    for i in range(count):
        lines += [f"  %at{i} = getelementptr i64, ptr %items{i}, i64 %n", f"  %a{i} = load i64, ptr %at{i}"]
    taken = [*[f"i64 %a{i}" for i in range(count)], *numbers]
    return "\n".join([*lines, f"  %status = call i64 @entrance({', '.join(taken)})", "  %next = add i64 %n, 1",
                      "  %went = icmp slt i64 %status, 2", "  br i1 %went, label %turn, label %done", "done:",
                      "  ret i64 %n", "}"]) + "\n"


def entrance_of_places(kinds: list[str], arrays: dict[int, tuple[np.dtype, int, bool]]) -> str:
    """Return LLVM's text of the function that calls ``entrance`` with items of a tuple of arrays, given the address of
    the first item, and that of the offsets of the items to take. A number is the only element of an array.
    """
    lines = ["define i64 @entrance_of_places(i64 %items, i64 %places) {", "  %offsets = inttoptr i64 %places to ptr"]
    for i, kind in enumerate(kinds):
        lines += [f"  %place{i} = getelementptr i64, ptr %offsets, i64 {i}", f"  %offset{i} = load i64, ptr %place{i}",
                  f"  %item{i} = add i64 %items, %offset{i}", f"  %at{i} = inttoptr i64 %item{i} to ptr",
                  f"  %{'a' if i in arrays else 'array'}{i} = load i64, ptr %at{i}"]
        if i in arrays:
            continue
        for name, offset, wanted in (("kind", KIND, np.ndarray), ("dtype", DESCRIPTION, np.dtype(kind))):
            lines += [f"  %{name}_word{i} = add i64 %array{i}, {offset}",
                      f"  %{name}_at{i} = inttoptr i64 %{name}_word{i} to ptr",
                      f"  %{name}{i} = load i64, ptr %{name}_at{i}",
                      f"  %{name}_fits{i} = icmp eq i64 %{name}{i}, {id(wanted)}",
                      f"  br i1 %{name}_fits{i}, label %{name}_done{i}, label %unfit", f"{name}_done{i}:"]
        lines += [f"  %data_word{i} = add i64 %array{i}, {DATA}", f"  %data_at{i} = inttoptr i64 %data_word{i} to ptr",
                  f"  %data{i} = load ptr, ptr %data_at{i}", f"  %a{i} = load {TYPES[kind]}, ptr %data{i}, align 1"]
    taken = ", ".join(f"i64 %a{i}" if i in arrays else f"{TYPES[kind]} %a{i}" for i, kind in enumerate(kinds))
    return "\n".join([*lines, f"  %status = call i64 @entrance({taken})", "  ret i64 %status", "unfit:",
                      f"  ret i64 {UNFIT}", "}"]) + "\n"


def entrance_of_lines(name: str, kinds: list[str], arrays: dict[int, tuple[np.dtype, int, bool]]) -> str:
    """Return LLVM's text of the function that NumPy's ufuncs call: it makes objects of vectors at given addresses, with
    given steps, and calls the loop's code with them. Of operands but the first, one number may stand for all; with
    other steps, the code is called for each element.
    """
    count = len(arrays)
    lines = ["define void @entrance_of_lines(ptr %lines, ptr %counts, ptr %steps, ptr %numbers) {",
             "  %result = alloca i64", "  %error = alloca i64", "  %count = load i64, ptr %counts",
             "  %fit = add i1 0, 1"]
    for i, (dtype, *_) in arrays.items():
        lines += [f"  %object{i} = alloca [{STRIDES // 8} x i64]", f"  %size{i} = alloca i64",
                  *[f"  %{part}_at{i} = getelementptr i64, ptr %{part}s, i64 {i}\n"
                    f"  %{part}{i} = load i64, ptr %{part}_at{i}" for part in ("line", "step")],
                  *[f"  %{part}{i} = getelementptr i8, ptr %object{i}, i64 {offset}" for part, offset in (
                      ("data", DATA), ("dimensions", DIMENSIONS), ("sizes", SIZES))],
                  f"  store i64 1, ptr %dimensions{i}", f"  store ptr %size{i}, ptr %sizes{i}",
                  f"  %a{i} = ptrtoint ptr %object{i} to i64",
                  f"  %dense{i} = icmp eq i64 %step{i}, {dtype.itemsize}",
                  f"  %still{i} = icmp eq i64 %step{i}, {0 if 0 < i < count - 1 else dtype.itemsize}",
                  f"  %taken{i} = or i1 %dense{i}, %still{i}",
                  f"  %fit{i} = and i1 %fit{i - 1 if i else ''}, %taken{i}",
                  f"  %length{i} = select i1 %dense{i}, i64 %count, i64 1"]
    for i, kind in enumerate(kinds[count:]):
        lines += [f"  %number{i} = getelementptr i64, ptr %numbers, i64 {i}",
                  f"  %a{count + i} = load {TYPES[kind]}, ptr %number{i}"]
    fit = f"%fit{count - 1}"
    for i in arrays:
        lines += [f"  %own{i} = select i1 {fit}, i64 %length{i}, i64 1", f"  store i64 %own{i}, ptr %size{i}"]
    lines += [f"  %turns = select i1 {fit}, i64 1, i64 %count", "  br label %turn", "turn:",
              "  %n = phi i64 [0, %0], [%next, %row]", "  %left = icmp slt i64 %n, %turns",
              "  br i1 %left, label %row, label %done", "row:"]
    for i in arrays:
        lines += [f"  %away{i} = mul i64 %n, %step{i}", f"  %place{i} = add i64 %line{i}, %away{i}",
                  f"  store i64 %place{i}, ptr %data{i}"]
    taken = ", ".join(f"{'i64' if i in arrays else TYPES[kind]} %a{i}" for i, kind in enumerate(kinds))
    return "\n".join([*lines, f'  %status = call i32 @"{name}"(ptr %result, ptr %error, {taken})',
                      "  %next = add i64 %n, 1", "  br label %turn", "done:", "  ret void", "}"]) + "\n"


@cache
def maker() -> Any:
    """Return the function of NumPy's stable binary interface that makes a ufunc (``PyUFunc_FromFuncAndData``)."""
    find = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi))
    table = ctypes.cast(find(umath._UFUNC_API, None), ctypes.POINTER(ctypes.c_void_p))
    place, number, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    return ctypes.PYFUNCTYPE(ctypes.py_object, place, place, text, *[number] * 4, text, text, number)(table[1])


_kept: list[Any] = []  # what ufuncs point to


def ufuncs(engine: Any, dtypes: list[np.dtype], kinds: list[str]) -> Callable[..., np.ufunc]:
    """Return a function from a loop's numbers to the ufunc of its arrays; the last array is the output."""
    @cache
    def ufunc(*numbers: Any) -> np.ufunc:
        given = np.zeros(max(len(kinds), 1), np.int64)
        for i, (number, kind) in enumerate(zip(numbers, kinds, strict=True)):
            given[i:i + 1].view(kind)[0] = number
        return ufunc_of(engine.get_function_address("entrance_of_lines"), given, dtypes, engine)

    return ufunc


def ufunc_of(address: int, given: np.ndarray, dtypes: Sequence[np.dtype], kept: Any) -> np.ufunc:
    """Return the ufunc of an inner loop and its data, whose dtypes' last is the output's. Keeps what they point to."""
    function, data = (np.array([place], np.uintp) for place in (address, given.ctypes.data))
    types = bytes([dtype.num for dtype in dtypes])
    _kept.append((kept, given, function, data, types))
    counts, identity = (1, len(dtypes) - 1, 1), -1  # of dtypes, inputs and outputs; none
    made: np.ufunc = maker()(function.ctypes.data, data.ctypes.data, types, *counts, identity, b"loop", b"", 0)
    return made


#: LLVM's text of the function that calls ``entrance_of_places`` of one loop after the other, given a tuple of arrays,
#: and the address of a table with the address and the places of each. It returns the number of the first call that the
#: code cannot take, or of calls.
IN_TURN = f"""
define i64 @in_turn(i64 %arrays, i64 %table, i64 %count) {{
  %items = add i64 %arrays, {ITEMS}
  %rows = inttoptr i64 %table to ptr
  br label %turn
turn:
  %n = phi i64 [0, %0], [%next, %row]
  %left = icmp slt i64 %n, %count
  br i1 %left, label %row, label %done
row:
  %at = getelementptr [2 x i64], ptr %rows, i64 %n
  %place = getelementptr i64, ptr %at, i64 1
  %function = load ptr, ptr %at
  %places = load i64, ptr %place
  %status = call i64 %function(i64 %items, i64 %places)
  %next = add i64 %n, 1
  %went = icmp slt i64 %status, {UNFIT}
  br i1 %went, label %turn, label %done
done:
  ret i64 %n
}}
"""


@cache
def turns() -> tuple[Any, Any]:
    """Return the function of ``IN_TURN``, and what owns its code."""
    engine = llvm().create_mcjit_compiler(
        llvm().parse_assembly(IN_TURN), llvm().Target.from_default_triple().create_target_machine(jit=True))
    engine.finalize_object()
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.py_object, ctypes.c_int64, ctypes.c_int64)(
        engine.get_function_address("in_turn")), engine


def in_turn(calls: list[tuple[Any, tuple[int, ...]]]) -> Callable[..., None]:
    """Return a function of arrays that calls one loop after the other, with the arrays at the places given with each:
    one call from Python for all of them. A number that a loop takes is the only element of an array.
    """
    places = [np.array([8 * place for place in taken], np.int64) for _, taken in calls]
    table = np.array([(call.by_places, offsets.ctypes.data)
                      for (call, _), offsets in zip(calls, places, strict=True)], np.int64)
    function, address, count = turns()[0], table.ctypes.data, len(calls)

    def run(*arrays: Any, _kept: Any = (places, table)) -> None:
        done = function(arrays, address, count)
        if done < count:
            for call, taken in calls[done:]:
                call(*[arrays[place].item() if i in call.numbers else arrays[place] for i, place in enumerate(taken)])

    return run


def calling_each(function: Any, call: Callable[..., Any]) -> Callable[..., None]:
    """Return the call of compiled code for each row of lists of arrays, with the same numbers: one call from Python for
    all of them.

    The function takes as many lists as the loop takes arrays, which are of one length.
    """
    def each(lists: Sequence[list[np.ndarray]], *numbers: Any) -> None:
        columns = tuple(map(list, lists))
        try:
            done = function(columns, len(columns[0]), *numbers)
        except ctypes.ArgumentError:  # NumPy's numbers
            done = 0
        if done < len(columns[0]):
            for row in islice(zip(*columns, strict=True), done, None):
                call(*row, *numbers)

    return each


def calling(function: Any, arrays: dict[int, tuple[np.dtype, int, bool]], engine: Any) -> Callable[..., Any]:
    """Return the call of compiled code. Keeps ``engine``, which owns the code. Releases Python's lock.

    Raises:
        TypeError: for an array that is not contiguous where it must be, or of another dtype or number of dimensions.
    """
    def call(*args: Any, _engine: Any = engine) -> Any:
        try:
            status = function(*args)
        except ctypes.ArgumentError:  # NumPy's numbers
            status = function(*[arg if i in arrays else np.asarray(arg).item() for i, arg in enumerate(args)])
        if status == FAILED:
            raise MemoryError
        if status == UNFIT:
            call(*[fitted(i, arg, *arrays[i]) if i in arrays else arg for i, arg in enumerate(args)])

    return call


def fitted(i: int, array: Any, dtype: np.dtype, ndim: int, contiguous: bool) -> np.ndarray:
    """Return an argument as the array that a loop's code reads: aligned, and with the dtype's only description.

    Raises:
        TypeError: if it is not contiguous where it must be, or has another dtype or number of dimensions.
    """
    if array.dtype != dtype or (contiguous and not array.flags.c_contiguous) or (
            array.ndim != ndim and not is_line(ndim, contiguous)):
        raise TypeError(f"a loop takes a{' contiguous' * contiguous} array of {dtype} with {ndim} dimensions "
                        f"as argument {i}")
    if not array.flags.aligned:
        array = array.copy()
    return array.view(dtype, np.ndarray)
