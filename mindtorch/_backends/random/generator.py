"""Random number generators: ``torch.Generator`` over NumPy's MT19937, with PyTorch's state layout."""
from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._base import forks, loops
from ..._device import CPU, device as Device
from ..._dtype import uint8
from ..._tensor import Tensor, from_array

DEFAULT_SEED = 67280421310721  # c10::detail's default_rng_seed_val
_WORDS = 624  # words of MT19937's state
FEW = _WORDS // 2  #: so many words are taken from states that were drawn whole, and more take less time by themselves
_BLOCK = 1 << 14  # words of NumPy's that stay in the cache until they are narrowed

# at::CPUGeneratorImplState: what get_state returns, byte for byte.
STATE_LAYOUT = np.dtype([
    ("initial_seed", "<u8"),
    ("left", "<i4"),  # draws until the next twist, that one included
    ("seeded", "<i4"),
    ("next", "<u8"),  # index of the next word
    ("state", "<u8", _WORDS),
    ("normal_x", "<f8"),
    ("normal_y", "<f8"),  # the cached float64 normal
    ("normal_rho", "<f8"),
    ("normal_is_valid", "<i4"),
    ("_padding", "<i4"),
    ("next_float_normal_sample", "<f4"),
    ("is_next_float_normal_sample_valid", "?"),
], align=True)


_HALF, _UINT32, _UINT64 = np.array(32, np.uint64), np.dtype("<u4"), np.dtype("<u8")


def of_64_bits(words: np.ndarray) -> np.ndarray:
    """Combine pairs of 32-bit words to 64-bit words, the high half drawn first; in place where possible."""
    words = words.astype(_UINT32, copy=False).view(_UINT64)  # with the half drawn first below
    high = words << _HALF
    words >>= _HALF
    words |= high
    return words


#: The class of the generators of a device, by device type.
kinds: dict[str, type[Generator]] = {}


class Generator:
    """A stream of random numbers, PyTorch's CPU generator (``torch.Generator``).

    Two generators with equal states give equal numbers, here and in PyTorch, and a state taken in one may be set in the
    other. ``lock`` is held during each draw; hold it around draws that belong together. Raises RuntimeError for a
    device that has no generator.
    """

    __module__ = "mindtorch"  # where pickles find it

    def __new__(cls, device: Device | str | None = None) -> Generator:
        kind = "cpu" if device is None else Device(device).type
        found = cls if cls is not Generator else kinds.get(kind)
        if found is None:
            raise RuntimeError(f"Generator: device '{device}' has no random number generator; expected one of "
                               f"{', '.join(kinds)}")
        return object.__new__(found)

    def __init__(self, device: Device | str | None = None):
        self.device = CPU
        self.lock = forks.lock()
        self.next_normal: float | None = None  # second number of a Box-Muller pair, kept for the next draw
        self._next_float_normal: float | None = None  # kept for PyTorch; no CPU kernel uses it
        self._engine: np.random.MT19937 | None = None
        self._memory: np.ndarray | None = None  # of the engine's state
        #: All words of the engine's state, if they were drawn ahead of their use; and what functions made of those from
        #: a place on, see :meth:`ahead`.
        self._words: np.ndarray | None = None
        self._made: dict[Callable[..., Any], tuple[int, np.ndarray]] = {}
        self.manual_seed(DEFAULT_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Start again from ``seed`` in [-2**63, 2**64), where negative seeds wrap, and return the generator
        (``torch.Generator.manual_seed``). Raises RuntimeError if the seed is not an int, and ValueError if it has more
        than 64 bits.
        """
        if type(seed) is not int:
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        if not -(2**63) <= seed < 2**64:
            raise ValueError(f"Overflow when unpacking long long: manual_seed expected 64 bits, got {seed}")
        with self.lock:
            self._seed = seed % 2**64
            self._reseed = True  # done by the first draw: numpy.random takes 10 ms to import
            self._at = _WORDS  # the place of the next word in the state, wherever the engine stands
            self._words = None
            self._untwisted = True  # PyTorch's ``next`` is 0 until the first draw, NumPy's ``pos`` 624
            self.next_normal = self._next_float_normal = None
        return self

    def seed(self) -> int:
        """Start again from a seed of the operating system, and return it (``torch.Generator.seed``)."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """Return the seed that the generator was started from (``torch.Generator.initial_seed``)."""
        return self._seed

    def clone_state(self) -> Generator:
        """Return a new generator in the same state (``torch.Generator.clone_state``)."""
        clone = Generator(self.device)
        clone._set_state_array(self._get_state_array())
        return clone

    def __copy__(self) -> Generator:
        return self.clone_state()

    def __deepcopy__(self, memo: dict[int, Any]) -> Generator:
        return self.clone_state()

    def __reduce__(self) -> tuple[Any, ...]:
        return Generator, (self.device,), (self._seed, None, self.get_state())

    def __setstate__(self, state: tuple[int, int | None, Tensor]) -> None:
        self.set_state(state[2])

    # -- drawing --------------------------------------------------------------------------------------------

    def random(self, n: int) -> np.ndarray:
        """Draw ``n`` words of 32 bits, as a new uint32 array (``at::CPUGeneratorImpl::random``)."""
        with self.lock:
            if n <= FEW:
                return self.ahead(n, np.asarray, 1).copy() if n else np.empty(0, np.uint32)
            words, known, self._untwisted = np.empty(n, np.uint32), 0, False
            if self._words is not None:
                known = min(_WORDS - self._at, n)
                words[:known] = self._words[self._at:self._at + n]
                self._at += known
            for start in range(known, n, _BLOCK):
                part = words[start:start + _BLOCK]
                self._fill(part)
                self._words, self._at = None, (self._at + part.size - 1) % _WORDS + 1
        return words

    def _fill(self, words: np.ndarray) -> None:
        """Fill an array with the engine's next words."""
        engine, loop = self._mt19937(), loops.mt19937.compiled(words.size)
        if loop is None:
            words[...] = engine.random_raw(words.size)
            return
        if self._memory is None:  # the words of the state and the place of the next one, as NumPy has them
            self._memory = np.ctypeslib.as_array((ctypes.c_uint32 * (_WORDS + 1)).from_address(
                engine.ctypes.state_address))
        loop(self._memory, words)

    def _draw_ahead(self) -> np.ndarray:
        """Draw and return all words that are left in the state, or all of the next one: few are then a part of an
        array.
        """
        at, words = self._at % _WORDS if self._words is None else 0, np.empty(_WORDS, np.uint32)
        self._fill(words[at:])
        self._words, self._made, self._at = words, {}, at  # at once: interrupted, no word comes a second time
        return words

    def ahead(self, n: int, make: Callable[[np.ndarray], np.ndarray], size: int) -> np.ndarray:
        """Return ``make`` of the next ``n`` words, 1 to ``FEW``, as a flat array that is not to be written to.

        ``make`` turns whole groups of this size to a row of numbers each. It is called with a copy of all groups left
        in the state, to which those of the next state are added where they are needed, and its result is cached for
        later calls. The caller holds the lock.
        """
        words, at = self._words, self._at
        if words is None or at == _WORDS:
            words, at = self._draw_ahead(), self._at
        kept = self._made.get(make)
        if at + n > _WORDS:
            words = np.concatenate((words[at:], self._draw_ahead()))
            at, kept = at - _WORDS, None  # counted from the new state
        if kept is None or (at - kept[0]) % size:
            words = words[-(_WORDS - at):]
            kept = self._made[make] = at, make(words[:len(words) - len(words) % size].copy())
        self._at, self._untwisted = at + n, False
        first = (at - kept[0]) // size
        values: np.ndarray = kept[1][first:first + n // size]
        return values if values.ndim == 1 else values.reshape(-1)

    def random64(self, n: int) -> np.ndarray:
        """Draw ``n`` words of 64 bits, the high half first (``at::CPUGeneratorImpl::random64``)."""
        return of_64_bits(self.random(2 * n))

    def supply(self, take: Callable[[np.ndarray], tuple[int, int]], needed: int, bulk: int) -> None:
        """Call ``take`` with words of 64 bits, at least as many as it needs. It returns how many it used, and how many
        more it needs at least, and gets the others again, with more, until it needs none. The generator then stands
        after the last one that was used.
        """
        words, used = np.empty(0, np.uint64), 0
        with self.lock:
            while needed:
                rest = words[used:]
                least = needed - len(rest)
                words = np.concatenate((rest, self.random64(max(least, self._returnable(least, bulk)))))
                used, needed = take(words)
            self._at -= 2 * (len(words) - used)

    def _returnable(self, needed: int, bulk: int) -> int:
        """Return how many words of 64 bits to draw, up to ``bulk``: the ones beyond those ``needed`` may be given back,
        since they are of one state.
        """
        if self._words is None or self._at == _WORDS:
            self._draw_ahead()
        left = _WORDS - self._at
        if left <= 2 * needed <= FEW:
            return min(bulk, FEW // 2, (left + _WORDS) // 2)
        return min(bulk, left // 2) or 1  # of which the second half is of the next state

    def _mt19937(self) -> np.random.MT19937:
        if self._engine is None:
            self._engine = np.random.MT19937(0)
            forks.include(self._engine.lock)
        if self._reseed:
            np.random.RandomState(self._engine).seed(self._seed % 2**32)
            self._reseed = False
        return self._engine

    # -- state ----------------------------------------------------------------------------------------------

    def get_state(self) -> Tensor:
        """Return the state as a uint8 tensor of shape (5056,), as PyTorch has it (``torch.Generator.get_state``)."""
        return from_array(self._get_state_array(), uint8)

    def set_state(self, new_state: Tensor) -> Generator:
        """Continue from a state of ``get_state``, PyTorch's included (``torch.Generator.set_state``). Raises TypeError
        if the state is not a uint8 tensor on the CPU, and RuntimeError if it is not contiguous, not of 5056 bytes, or
        no seeded MT19937 is in it.
        """
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not uint8 or new_state.device != CPU:
            raise TypeError(f"RNG state must be a torch.ByteTensor, but got {new_state.dtype} on {new_state.device}")
        if not new_state.is_contiguous():
            raise RuntimeError(f"RNG state must be contiguous, but got strides {new_state.stride()}")
        self._set_state_array(new_state.numpy())
        return self

    def _get_state_array(self) -> np.ndarray:
        """Return the state in PyTorch's layout, as a new uint8 array of shape (5056,)."""
        state = np.zeros((), STATE_LAYOUT)
        with self.lock:
            engine = self._mt19937().state["state"]
            state["initial_seed"], state["seeded"] = self._seed, 1
            state["next"] = 0 if self._untwisted else self._at
            state["left"] = _WORDS + 1 - self._at
            state["state"] = engine["key"]
            if self.next_normal is not None:
                state["normal_y"], state["normal_is_valid"] = self.next_normal, 1
            if self._next_float_normal is not None:
                state["next_float_normal_sample"] = self._next_float_normal
                state["is_next_float_normal_sample_valid"] = True
        return state.reshape(1).view(np.uint8)

    def _set_state_array(self, data: np.ndarray) -> None:
        """Continue from a state of :meth:`_get_state_array` or of PyTorch's ``get_state``. Raises RuntimeError if the
        size is not 5056 bytes, or no seeded MT19937 is in them.
        """
        if data.size != STATE_LAYOUT.itemsize:
            raise RuntimeError(f"Expected a CPUGeneratorImplState of size {STATE_LAYOUT.itemsize}"
                               f" but found the input RNG state size to be {data.size}")
        state = np.ascontiguousarray(data).reshape(-1).view(STATE_LAYOUT)[0]
        left, following = int(state["left"]), int(state["next"])
        untwisted = left == 1 and following == 0
        consistent = 0 < left <= _WORDS and (untwisted or left + following == _WORDS + 1)
        if state["seeded"] != 1 or not consistent:
            raise RuntimeError(f"Invalid mt19937 state: seeded={state['seeded']}, left={left}, next={following}")
        with self.lock:
            self._seed, self._untwisted = int(state["initial_seed"]), untwisted
            self._at, self._words = _WORDS + 1 - left, None
            self._mt19937().state = {"bit_generator": "MT19937", "state": {
                "key": state["state"].astype(np.uint32), "pos": self._at}}
            self.next_normal = float(state["normal_y"]) if state["normal_is_valid"] else None
            self._next_float_normal = (float(state["next_float_normal_sample"])
                                       if state["is_next_float_normal_sample_valid"] else None)


kinds["cpu"] = Generator
