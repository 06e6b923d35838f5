"""Laws of random numbers: how a number is made of the generator's next words."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .generator import FEW, Generator

#: So many laws of a kind are kept by their parameters.
LAWS = 1 << 8


class Law:
    """``make`` turns the generator's words of 32 bits, which it may write to, into numbers: so many ``words`` a number.
    Each ``size`` of them, as many as a number takes by default, make a row. Laws are cached by their parameters.
    """

    __slots__ = ("make", "met", "size", "words")

    def __init__(self, words: int, make: Callable[[np.ndarray], np.ndarray], size: int = 0) -> None:
        self.words, self.make, self.size = words, make, size or words
        self.met = False  #: whether numbers were drawn by it


def draw(generator: Generator, n: int, law: Law) -> np.ndarray:
    """Draw ``n`` numbers, as a flat array that is not to be written to.

    A law that comes again is made of all words that are left in the generator's state at once, and few numbers are
    then a part of these.
    """
    words = law.words * n
    if 0 < words <= FEW and law.met:
        with generator.lock:
            return generator.ahead(words, law.make, law.size)
    law.met = True
    return law.make(generator.random(words)).reshape(-1)
