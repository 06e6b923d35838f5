"""Laws of random numbers: how a number is made of the generator's next words."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .generator import FEW, Generator

#: So many laws of a kind are kept by their parameters.
LAWS = 1 << 8
#: Words that stay in the cache until they are numbers.
BLOCK = 1 << 16


class Law:
    """``make`` turns the generator's words of 32 bits, which it may write to, into numbers: so many ``words`` a number.
    Each ``size`` of them, as many as a number takes by default, make a row. Laws are cached by their parameters.
    """

    __slots__ = ("make", "met", "size", "words")

    def __init__(self, words: int, make: Callable[[np.ndarray], np.ndarray], size: int = 0) -> None:
        self.words, self.make, self.size = words, make, size or words
        self.met = False  #: whether numbers were drawn by it


def draw(generator: Generator, n: int, law: Law, out: np.ndarray | None = None) -> np.ndarray:
    """Draw ``n`` numbers, as a flat array that is not to be written to; many into ``out``, if it is given.

    A law that comes again is made of all words that are left in the generator's state at once, and few numbers are
    then a part of these. Many numbers are made in blocks.
    """
    words = law.words * n
    if words > BLOCK:
        step = BLOCK // law.size * law.size // law.words
        with generator.lock:
            for start in range(0, n, step):
                part = law.make(generator.random(min(step, n - start) * law.words)).reshape(-1)
                out = np.empty(n, part.dtype) if out is None else out
                out[start:start + step] = part
        return out  # type: ignore[return-value]
    if 0 < words <= FEW and law.met:
        with generator.lock:
            return generator.ahead(words, law.make, law.size)
    law.met = True
    return law.make(generator.random(words)).reshape(-1)
