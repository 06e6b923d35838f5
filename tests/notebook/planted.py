"""Plant NaN and infinities in tensors of 10 to 10^8 elements, and read them off the pictures:
``python -m tests.notebook.planted [--rounds 200] [--least 1] [--most 8]``.
"""
from __future__ import annotations

import argparse
import math
import random
import re
import sys
from types import ModuleType
from typing import Any

import mindtorch
from mindtorch import introspect, viz

DTYPES = ("float32", "float64", "float16", "bfloat16")
VALUES = {"NaN": math.nan, "infinite": math.inf}


def shape_of(chance: random.Random, size: int) -> tuple[int, ...]:
    """Return a shape of about ``size`` elements in one to four dimensions."""
    dims = chance.randint(1, 4)
    sides = [max(1, int(size ** (chance.random() / dims))) for _ in range(dims - 1)]
    sides.append(max(1, size // math.prod(sides)))
    chance.shuffle(sides)
    return tuple(sides)


def plant(library: ModuleType, chance: random.Random, least: float, most: float) -> tuple[Any, str, str]:
    """Return a tensor with one planted value, a word for it, and its index as pictures write it."""
    shape = shape_of(chance, int(10 ** chance.uniform(least, most)))
    x = library.zeros(shape, dtype=getattr(library, chance.choice(DTYPES)))
    index = tuple(chance.randrange(side) for side in shape)
    kind = chance.choice(list(VALUES))
    x[index] = VALUES[kind] * chance.choice((1, -1))
    return x, kind, f"[{', '.join(map(str, index))}]"


def missed(library: ModuleType, chance: random.Random, least: float, most: float) -> str:
    """Plant a value in a tensor and in a model's parameter, and return what a picture does not say of it, or ''."""
    x, kind, index = plant(library, chance, least, most)
    where = f"{kind} at {index} of {library.__name__} {x.dtype} {tuple(x.shape)}"
    if f"1 {kind}, at {index}" not in (card := viz.tensor_card(x)):
        return f"{where}: the card says {re.sub('<[^>]*>', ' ', card)[:300]}"
    model = library.nn.Sequential(library.nn.Linear(2, 2), library.nn.Linear(2, 2))
    model[1].register_parameter("planted", library.nn.Parameter(x))
    text = viz.module_text(introspect.module_facts(model))
    if f"1.planted: 1 {kind}, at {index}" not in text:
        return f"{where}: the model's picture says {text[:600]}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.notebook.planted", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="of each library (200)")
    parser.add_argument("--least", type=float, default=1.0, help="the power of ten of the smallest tensor (1)")
    parser.add_argument("--most", type=float, default=8.0, help="the power of ten of the largest tensor (8)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    import torch

    found = 0
    for library in (mindtorch, torch):
        chance = random.Random(options.seed)
        said = [fault for _ in range(options.rounds) if (fault := missed(library, chance, options.least, options.most))]
        print(f"{library.__name__}: {options.rounds - len(said)} of {options.rounds} found", *said, sep="\n  ",
              flush=True)
        found += len(said)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
