"""``torch.quasirandom``: points that fill a cube more evenly than random ones do."""
from __future__ import annotations

from typing import Any

import numpy as np

from ._backends.random import Generator
from ._creation.interop import from_numpy
from ._creation.random import randint
from ._creation.sequences import arange
from ._dtype import DType, get_default_dtype
from ._tensor import Tensor

__all__ = ["SobolEngine"]
__dir__ = __all__.copy


class SobolEngine:
    """Points of a Sobol sequence in [0, 1) to the power of ``dimension``, with the direction numbers of Joe and Kuo, or
    of one scrambled by random numbers of ``seed`` (``torch.quasirandom.SobolEngine``).

    The n-th point is the sum without carry of those direction numbers whose bits are set in the Gray code of n. Raises
    ValueError for less than one dimension, or more than 21201.
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None):
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        from scipy.stats import qmc  # which has the table, and is slow to import

        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        directions = qmc.Sobol(dimension, scramble=False, bits=self.MAXBIT)._sv.astype(np.int64)
        shift = np.zeros(dimension, np.int64)
        if scramble:
            generator = None if seed is None else Generator().manual_seed(seed)
            bits = randint(2, (dimension, self.MAXBIT), generator=generator).numpy()
            shift = bits @ (1 << np.arange(self.MAXBIT))
            directions = self._scrambled(directions, generator)
        self.sobolstate, self.shift = from_numpy(directions), from_numpy(shift)
        self.num_generated = 0

    def _scrambled(self, directions: np.ndarray, generator: Generator | None) -> np.ndarray:
        """Multiply direction numbers by random lower triangular matrices of bits with ones on the diagonal."""
        count = self.MAXBIT
        matrices = np.tril(randint(2, (self.dimension, count, count), generator=generator).numpy())
        matrices[:, range(count), range(count)] = 1
        places = np.arange(count - 1, -1, -1)  # the highest bit comes first
        bits = directions[:, None, :] >> places[:, None] & 1
        return ((matrices @ bits & 1) << places[:, None]).sum(1)

    def _points(self, start: int, count: int) -> np.ndarray:
        """Return ``count`` points from ``start`` on, as integers."""
        numbers = arange(start, start + count).numpy()
        codes, points = numbers ^ numbers >> 1, np.tile(self.shift.numpy(), (count, 1))
        for bit in range(int(codes.max(initial=0)).bit_length()):
            points[codes >> bit & 1 == 1] ^= self.sobolstate.numpy()[:, bit]
        return points

    @property
    def quasi(self) -> Tensor:
        """The last point drawn, as integers: the shift before the first."""
        return from_numpy(self._points(max(self.num_generated - 1, 0), 1)[0])

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """Return the next ``n`` points, as the rows of a tensor (``torch.quasirandom.SobolEngine.draw``)."""
        points = from_numpy(self._points(self.num_generated, n) / 2**self.MAXBIT).to(dtype or get_default_dtype())
        self.num_generated += n
        return points if out is None else out.resize_as_(points).copy_(points)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: DType | None = None) -> Tensor:
        """Return the next 2 to the power of ``m`` points (``torch.quasirandom.SobolEngine.draw_base2``). Raises
        ValueError if the number of all points drawn is then not a power of 2.
        """
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError("The balance properties of Sobol' points require n to be a power of 2. "
                             f"{self.num_generated} points have been previously generated, then: "
                             f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                             "'SobolEngine.draw()' instead.")
        return self.draw(2**m, out, dtype)

    def reset(self) -> SobolEngine:
        """Begin again with the first point (``torch.quasirandom.SobolEngine.reset``)."""
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out the next ``n`` points (``torch.quasirandom.SobolEngine.fast_forward``)."""
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        facts: dict[str, Any] = {"dimension": self.dimension}
        facts |= {"scramble": True} if self.scramble else {}
        facts |= {} if self.seed is None else {"seed": self.seed}
        return f"SobolEngine({', '.join(f'{name}={value}' for name, value in facts.items())})"
