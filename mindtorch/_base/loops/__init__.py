"""Loops that NumPy lacks, or takes many passes for, compiled by numba, which is installed where it has wheels.

``bodies`` is the table; a loop is a function of arrays. Every caller can compute with NumPy as well, and does so if
``Loop.compiled`` returns None: without numba, or for arrays too small to repay it. The first loop takes a twentieth of
a second in each process, if it is kept on the disk (``machine_code``). Compiling it for the disk takes numba a second,
in another process (``warming``), while this one computes with NumPy: to its end, if the loop rounds differently.

A loop that computes the same bits as NumPy is loaded once NumPy has computed ``REPAID`` elements, or ``SOON`` of them
if another one is. A loop that rounds differently computes all arrays of at least ``LARGE`` elements (``SOME`` if it
replaces many passes) and no smaller ones, so that results do not depend on earlier calls. In programs of
``torch.compile`` such loops begin at ``FEW`` elements. A few loops compute even one number, once they are on the disk.

Functions of elements that NumPy's ufuncs express are ``chains`` of its own inner loops, which have the same bits at any
size and take no compilation.

``Loop.ufunc`` makes a ufunc of a loop of vectors, with NumPy's broadcasting and strides, and as fast as NumPy's own.

Loops release Python's lock, so ``blocks`` may run them on several threads; they write only to given arrays. A signal
waits until a loop is compiled. If compilation fails, a warning says so, and NumPy computes.
"""
from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from hashlib import blake2b
from math import inf
from types import CellType, FunctionType
from typing import Any

import numpy as np

from .. import forks
from ..interrupts import signals_wait
from . import machine_code, warming

#: Elements that NumPy computes in about the time that the first loop takes; and another one; elements of a large array.
REPAID, SOON, LARGE = 1 << 23, 1 << 20, 1 << 17
#: Elements of an array for which a loop takes less than NumPy's calls; and for which one that replaces ten passes
#: repays the time that loading it takes, once in a process.
FEW, SOME = 1 << 6, 1 << 12
SLOWER = 16  #: how much longer NumPy takes for what a loop that waits computes
SINGLE = np.dtype(np.float32)  #: which most loops take

_compiling = forks.lock()


class State(threading.local):
    """The smallest array that this thread computes by any loop that rounds differently from NumPy."""

    least = LARGE


state = State()


@cache
def numba() -> Any:
    """Import numba; return None if it is not installed or does not support this NumPy."""
    try:
        return forks.load_module("numba")
    except ImportError:
        return None
    except (OSError, MemoryError) as error:  # its libraries find no room in memory
        warnings.warn(f"numba cannot be loaded, so NumPy computes all loops: {error}", RuntimeWarning, stacklevel=2)
        return None


@cache
def has_wide_vectors() -> bool:
    """Return True if the processor computes 16 numbers at a time. BLAS may know it by a name that has 8 of them."""
    try:
        return bool(machine_code.llvm().get_host_cpu_features().get("avx512f", False))
    except (ImportError, OSError, MemoryError):  # no loop can be compiled
        return False


class Loop:
    """A loop of ``bodies``. If ``exact``, NumPy computes the same bits, except for those of NaN. If it ``waits``, it
    computes even one element, but from the first one on only if it is kept on the disk. A ``wide`` one is for
    processors that compute 16 numbers at a time. A loop of elements takes those of ``dtype``.
    """

    def __init__(self, name: str, exact: bool = False, least: int = LARGE, waits: bool = False, wide: bool = False,
                 dtype: np.dtype = SINGLE):
        self.dtype = dtype
        self.name, self.exact, self._least, self._waits, self._wide = name, exact, 0 if waits else least, waits, wide
        self._function: Callable[..., Any] | None = None
        self._ufuncs: dict[tuple[int, ...], np.ufunc] = {}
        self._left: float = REPAID if exact or waits else 0  # elements until it is compiled

    @property
    def least(self) -> int:
        """The size of the smallest array that a loop computes which rounds differently from NumPy."""
        return min(self._least, state.least)

    def compiled(self, size: int) -> Callable[..., Any] | None:
        """Return the compiled function for a call over ``size`` elements; None if NumPy is to compute it."""
        if size < self._least and not self.exact and size < self.least:
            return None
        if self._function is None:
            if self._wide and not has_wide_vectors():
                return None
            self._left -= size * SLOWER if self._waits else size
            if self._left < 0 or (self._left < REPAID - SOON and machine_code.is_ready()) or (
                    self._waits and self._is_kept):
                self._compile_once()
        return self._function

    @cached_property
    def _is_kept(self) -> bool:
        return is_kept(self.name)

    def ufunc(self, size: int, numbers: tuple[int, ...] = ()) -> np.ufunc | None:
        """Bind the numbers of the compiled function: a ufunc of its arrays that allocates the last one."""
        if (ufunc := self._ufuncs.get(numbers)) is None:
            function: Any = self.compiled(size)
            if function is not None:
                ufunc = self._ufuncs[numbers] = function.ufunc(*numbers)
        return ufunc

    def if_imported(self) -> Callable[..., Any] | None:
        """Return the compiled function if another loop is: one alone does not repay the import of llvmlite."""
        if self._function is None and self._left != inf and machine_code.is_ready():
            self._compile_once()
        return self._function

    def taking(self, x: np.ndarray, *others: np.ndarray) -> Callable[..., Any] | None:
        """Return the compiled function if all arrays are contiguous, of its dtype, and it pays; else None."""
        for array in (x, *others):
            if array.dtype is not self.dtype or not array.flags.c_contiguous:
                return None
        return self.compiled(x.size)

    def _compile_once(self) -> None:
        with _compiling, signals_wait():
            if self._function is None and self._left != inf:
                self._left = inf
                if is_kept(self.name) or not warming.begin(self.name):
                    self._function = obtain(self.name, lambda bodies: bodies.LOOPS[self.name]())
                elif self.exact:
                    self._left = REPAID  # until it is looked for again


def is_kept(name: str) -> bool:
    """Return True if a loop is on the disk, and can be loaded."""
    try:
        return machine_code.kept(name) is not None
    except (ImportError, OSError, MemoryError):
        return False


def obtain(name: str, compiled: Callable[[Any], bytes]) -> Callable[..., Any] | None:
    """Load a loop from the disk, or compile it, given ``bodies``, and keep it there. None without numba."""
    try:
        code = machine_code.kept(name)
        if code is None:
            if numba() is None:
                return None
            code = compiled(forks.load_module(f"{__name__}.bodies"))
            machine_code.keep(name, code)
        return machine_code.load(code)
    except ImportError:
        return None
    except Exception as error:
        warnings.warn(f"numba could not compile the loop {name}, which NumPy computes now: {error}",
                      RuntimeWarning, stacklevel=2)
        return None


_written: dict[str, Callable[..., Any] | None] = {}


def loop(*kinds: str) -> Callable[[Any], Callable[..., Any] | None]:
    """Compile the decorated function of arrays and numbers of these types, which a program of ``torch.compile`` has
    written; it may call functions of ``bodies.activation`` and ``bodies.reduction``. None without numba.
    """
    def decorate(function: Any) -> Callable[..., Any] | None:
        code = function.__code__
        text = repr((kinds, code.co_code, code.co_consts, code.co_names, code.co_nlocals))
        name = f"written_{blake2b(text.encode(), digest_size=12).hexdigest()}"

        def compiled(bodies: Any) -> bytes:
            function.__globals__.update(activation=bodies.activation, reduction=bodies.reduction)
            made: bytes = bodies.writing.compiled(function, f"void({', '.join(kinds)})", False)
            return made

        with _compiling, signals_wait():
            if name not in _written:
                _written[name] = obtain(name, compiled)
            return _written[name]

    return decorate


class Place(int):
    """The number of an argument, in place of an array."""

    def item(self) -> Place:
        """Return the place of the array whose element is the number that a loop takes."""
        return self


def in_turn(function: Any) -> Callable[..., None]:
    """Make the decorated function of arrays, which calls compiled loops one after the other, one call of machine code.
    Its arguments are passed to loops as they are, or the only element of an array as ``array.item()``.
    """
    code, calls = function.__code__, list[tuple[Any, tuple[int, ...]]]()

    def noted(called: Any) -> Callable[..., None]:
        return lambda *places: calls.append((called, places))

    space = {name: noted(function.__globals__[name]) for name in code.co_names if name in function.__globals__}
    closure = tuple([CellType(noted(cell.cell_contents)) for cell in function.__closure__ or ()])
    FunctionType(code, space, closure=closure)(*map(Place, range(code.co_argcount)))
    return update_wrapper(machine_code.in_turn(calls), function)


class ByDType:
    """A loop for each of some dtypes, given by their letters; those of half precision, e and E, take its bits."""

    def __init__(self, name: str, exact: bool = False, kinds: str = "fd", least: int = LARGE,
                 waits: bool = False):
        self.loops = {kind: Loop(f"{name}_{'bfloat16' if kind == 'E' else np.dtype(kind).name}", exact, least, waits)
                      for kind in kinds}

    def compiled(self, size: int, *arrays: np.ndarray) -> Callable[..., Any] | None:
        """Return the compiled function for a call over ``size`` elements of contiguous arrays of one dtype, or None."""
        dtype = arrays[0].dtype
        loop = self.loops.get(dtype.char)
        if loop is None:
            return None
        for array in arrays:  # a generator takes thrice as long
            if array.dtype != dtype or not array.flags.c_contiguous:
                return None
        return loop.compiled(size)


widen_float16, narrow_float16 = Loop("widen_float16", True), Loop("narrow_float16", True)
widen_bfloat16, narrow_bfloat16 = Loop("widen_bfloat16", True), Loop("narrow_bfloat16", True)
add_to_lines, multiply_lines = Loop("add_to_lines", True), Loop("multiply_lines", True)
#: Arithmetic of lines and what broadcasts to them, by NumPy's name: where the lines come second, and where they come
#: first.
arithmetic_of_lines = {
    "add": (add_to_lines, add_to_lines), "multiply": (multiply_lines, multiply_lines),
    "subtract": (Loop("subtract_lines", True), Loop("subtract_from_lines", True)),
    "divide": (Loop("divide_by_lines", True), Loop("divide_lines", True))}
box_muller, mt19937, exchange, poisson, binomial, gamma = (Loop(name, True) for name in (
    "box_muller", "mt19937", "exchange", "poisson", "binomial", "gamma"))
#: Of which NumPy's vectors lose up to three units in the last place, in as much time; and of which it has no vectors.
angles: dict[Any, Loop] = {ufunc: Loop(name, least=LARGE >> 1) for ufunc, name in (
    (np.arcsin, "asin"), (np.arccos, "acos"), (np.arctan, "atan"))}
angles |= {ufunc: Loop(f"{ufunc.__name__}_float64", least=SOME, dtype=np.dtype(np.float64)) for ufunc in (
    np.sin, np.cos)}
gelu, gelu_backward, softmax, log_softmax, softmax_backward, log_softmax_backward = (
    Loop(name, least=SOME) for name in (
        "gelu", "gelu_backward", "softmax", "log_softmax", "softmax_backward", "log_softmax_backward"))
#: Which models call several times a layer, also for the few numbers of each token.
normalise, normalise_backward = (
    ByDType(name, kinds="fdeE", least=FEW) for name in ("normalise", "normalise_backward"))
layer_norm, layer_norm_backward = (
    ByDType(name, kinds="fdeE", least=FEW << 1) for name in ("layer_norm", "layer_norm_backward"))
scale_channels = ByDType("scale_channels", True, "fdeE")
lstm_steps, lstm_steps_backward, gru_steps = (
    Loop(name, least=SOME, wide=True) for name in ("lstm_steps", "lstm_steps_backward", "gru_steps"))
add_paths = Loop("add_paths", waits=True)
softmax_down, log_softmax_down = Loop("softmax_down"), Loop("log_softmax_down")
softmax_backward_down, log_softmax_backward_down = Loop("softmax_backward_down"), Loop("log_softmax_backward_down")
gather, gather_down, pad_rows = (ByDType(name, True, "bhil") for name in ("gather", "gather_down", "pad_rows"))
#: What combines values with elements at indices, or with rows at indices, by NumPy's name; or copies their bits.
at_each, at_rows = ({name: ByDType(f"{name}_{way}", True, kinds)
                     for name, kinds in (("add", "fdileEFD"), ("multiply", "fdileE"), ("maximum", "fdilB"),
                                         ("minimum", "fdilB"), ("copy", "bhil"))} for way in ("at_each", "at_rows"))
cumsum, cumprod = ByDType("cumsum", True, "fdleE"), ByDType("cumprod", True, "fdeEFD")
distances, sum_bags = (ByDType(name, True) for name in ("distances", "sum_bags"))
fmod, remainder = ByDType("fmod", True), ByDType("remainder", True)
#: Of half precision with each step rounded.
floor_divide, trunc_divide = ByDType("floor_divide", True, "fdeE"), ByDType("trunc_divide", True, "ileE")
#: Which replace a hundred passes, or a slow function of SciPy.
polynomial, digamma = ByDType("polynomial", waits=True), ByDType("digamma", waits=True)
multiply_along = ByDType("multiply_along", True, "d")
maxima, fractional_ends = ByDType("maxima", True, "fdileE"), ByDType("fractional_ends", True)  #: of windows
cumulative_extreme, searchsorted, top_of_lines = (
    ByDType(name, True, "fdil") for name in ("cumulative_extreme", "searchsorted", "top_of_lines"))
sum_losses = ByDType("sum_losses", least=SOME)
distances_backward = ByDType("distances_backward", least=SOME)
#: Of half precision with each step rounded.
sample, sample_backward = ByDType("sample", True, "fdeE"), ByDType("sample_backward", kinds="fdeE")
#: Functions of each element, by the loop's name.
elements = {name: ByDType(name, True, "fdil" if name == "addcmul" else "fd") for name in (
    "sign", "angle", "heaviside", "nextafter", "copysign", "lerp", "addcmul", "addcdiv")} | {
    name: ByDType(name, kinds="f", waits=True) for name in ("i1", "i1e")}  # which take SciPy twenty times as long
attention = Loop("attention", least=1 << 8)
attention_blocks, attention_blocks_backward = (
    Loop(name, least=SOME, wide=True) for name in ("attention_blocks", "attention_blocks_backward"))
#: Convolutions without im2col, and products of matrices.
correlate, weigh = Loop("correlate", wide=True), Loop("weigh", wide=True)
product, product_transposed = (Loop(name, least=0, wide=True) for name in ("product", "product_transposed"))
count, spaced = Loop("count", True), ByDType("spaced", True)
FOLDS = 4  #: counts of a number, which ``count`` keeps in turns
sum_rows = ByDType("sum_rows", True, "fdeE")
#: Which replace fifty passes each.
erf, erfc, erfinv, lgamma = (Loop(name, least=SOME >> 3) for name in ("erf", "erfc", "erfinv", "lgamma"))
wide_erf, wide_erfc, wide_erfinv = (
    Loop(f"{name}_float64", least=SOME >> 1, dtype=np.dtype(np.float64)) for name in ("erf", "erfc", "erfinv"))
product_of_lines, moments_of_lines, moments_of_columns = (
    Loop(name, least=SOME) for name in ("product_of_lines", "moments_of_lines", "moments_of_columns"))
sum_half_lines = {kind: Loop(f"sum_{kind}_lines", least=SOME) for kind in ("float16", "bfloat16")}
cube, threshold_backward, extreme_of_lines, extreme_in_columns = (
    Loop(name, True) for name in ("cube", "threshold_backward", "extreme_of_lines", "extreme_in_columns"))
add_padded_rows = ByDType("add_padded_rows", True)
until_other = Loop("until_other", True)  #: waits
columns, real_places, all_places = (Loop(name, True) for name in ("columns", "real_places", "all_places"))
sgd, sgd_with_momentum, adam = (Loop(name, True) for name in ("sgd", "sgd_with_momentum", "adam"))
