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
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from .. import forks

HERE = Path(__file__).parent
HOME = Path(os.path.expanduser("~"))  # "~" for a user who has none
#: Where files are looked for, and written to the first place that lets them.
PLACES = (HERE / "bodies" / "__pycache__", *[HOME / ".cache" / "mindtorch" / "loops"] * HOME.is_absolute())
MOST = 1 << 10  #: loops of programs that a place keeps
#: The offsets of an array's data, sizes and strides in NumPy's ``PyArrayObject``, in its stable binary interface.
DATA, SIZES, STRIDES = (object.__basicsize__ + 8 * word for word in (0, 2, 3))
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
            *[name + kind for name in ("sqrt", "floor", "rint", "log", "exp", "pow") for kind in ("", "f")]}
SCALARS: dict[str, Any] = {
    "int64": ctypes.c_int64, "float32": ctypes.c_float, "float64": ctypes.c_double, "bool": ctypes.c_bool}


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
    for source in (HERE / "coefficients.py", *sorted((HERE / "bodies").glob("*.py"))):
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
    machine = llvm().Target.from_triple(about["triple"]).create_target_machine(jit=True)
    engine = llvm().create_mcjit_compiler(llvm().parse_assembly(RUNTIME), machine)
    engine.add_object_file(llvm().ObjectFileRef.from_data(compiled))
    engine.finalize_object()
    kinds: list[tuple[str, int | None, bool]] = about["arguments"]
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *[
        SCALARS[kind] if ndim is None else ctypes.py_object for kind, ndim, _ in kinds])(
            engine.get_function_address(about["name"]))
    return calling(function, [(i, np.dtype(kind), ndim, contiguous) for i, (kind, ndim, contiguous) in enumerate(kinds)
                              if ndim is not None], about["result"], engine)


def calling(function: Any, arrays: list[tuple[int, np.dtype, int, bool]], result: bool,
            engine: Any) -> Callable[..., Any]:
    """Return the call of compiled code, which reads arrays' fields: their dtypes are checked first. Keeps ``engine``,
    which owns the code. Releases Python's lock.

    Raises:
        TypeError: for an array that is not contiguous where it must be, or of another dtype or number of dimensions.
    """
    taken = {i for i, *_ in arrays}

    def call(*args: Any, _engine: Any = engine) -> Any:
        for i, dtype, ndim, contiguous in arrays:
            array = args[i]
            flags = array.flags
            if array.dtype != dtype or array.ndim != ndim or (contiguous and not flags.c_contiguous):
                raise TypeError(f"a loop takes a{' contiguous' * contiguous} array of {dtype} with {ndim} dimensions "
                                f"as argument {i}")
            if not flags.aligned:
                args = (*args[:i], array.copy(), *args[i + 1:])
        room = (ctypes.c_int64 * 2)()  # for the result, and for numba's description of an error
        place = ctypes.addressof(room)
        try:
            status = function(place, place + 8, *args)
        except ctypes.ArgumentError:  # NumPy's numbers
            status = function(place, place + 8, *[
                arg if i in taken else np.asarray(arg).item() for i, arg in enumerate(args)])
        if status > 0:
            raise MemoryError
        return room[0] & 1 != 0 if result else None

    return call
