"""Which elements of a large tensor statistics are made of."""
from __future__ import annotations

import math
from collections.abc import Sequence

SAMPLE = 100_000  #: elements at most that statistics look at
PERIODS = 2 * 3 * 5 * 7 * 11 * 13  #: what often divides the length of something that repeats


def sampling(shape: Sequence[int]) -> tuple[slice, ...]:
    """Indices of all elements, or of ``SAMPLE`` at most: in equal steps, fewer of long dimensions.

    What repeats every 2, 10 or 16 elements must not look as if all were the same: no step has such a factor.
    """
    left, steps = SAMPLE, [1] * len(shape)
    if math.prod(shape) > SAMPLE:
        for done, dim in enumerate(sorted(range(len(shape)), key=shape.__getitem__)):
            steps[dim] = -(-shape[dim] // max(1, int(left ** (1 / (len(shape) - done)))))
            while math.gcd(steps[dim], PERIODS) > 1:
                steps[dim] += 1
            left //= -(-shape[dim] // steps[dim])
    return tuple(slice(None, None, step) for step in steps)
