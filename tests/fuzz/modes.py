"""Random functions in every mode: `python -m tests.fuzz.modes 100000 0` runs so many, of a seed; a third number is the
one to begin with, and a fourth argument names the only modes to run, with commas between them.

``functions`` draws the programs, ``comparison`` runs each in one of its ``MODES`` in both libraries, ``explanations``
lists the differences that are meant to be. A program that differs otherwise is cut to the fewest lines that still
differ, and printed as Python.
"""
from __future__ import annotations

import random
import re
import sys
import warnings
from collections.abc import Callable

from tests.fuzz import offline
from tests.fuzz.comparison import MODES, compare
from tests.fuzz.explanations import explanation
from tests.fuzz.functions import Drawn, program
from tests.fuzz.offline import Case


def shrink(mode: str, drawn: Drawn) -> Drawn:
    """Drop lines, from the last to the first, as long as the program still differs without an explanation."""
    def differs(candidate: Drawn) -> bool:
        return any(explanation(mode, candidate, text) is None for text in compare(mode, candidate))

    for count in range(1, len(drawn.lines)):
        if differs(Drawn(drawn.lines[:count], drawn.inputs)):
            drawn = Drawn(drawn.lines[:count], drawn.inputs)
            break
    for i in reversed(range(len(drawn.lines) - 1)):
        name = re.escape(drawn.lines[i].split(" = ", 1)[0])
        if not any(re.search(rf"\b{name}\b", line) for line in drawn.lines[i + 1:]):
            candidate = Drawn([*drawn.lines[:i], f"{name} = v0", *drawn.lines[i + 1:]], drawn.inputs)
            drawn = candidate if differs(candidate) else drawn
    return drawn


def case(number: int, seed: int = 0, only: str | None = None, mark: Callable[[str], None] = lambda text: None) -> Case:
    """One program, run in the mode that its number says, and in what it differs."""
    drawn = random.Random(seed * 10**9 + number)
    modes = only.split(",") if only else [*MODES]
    mode = modes[number % len(modes)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = program(drawn)
        found = compare(mode, made, mark=mark)
        reasons = {text: explanation(mode, made, text) for text in found}
        unexplained = [text for text, reason in reasons.items() if reason is None]
        if unexplained:
            made = shrink(mode, made)
            unexplained = compare(mode, made)
    described = "; ".join(f"v{i} = {x.dtype} {tuple(x.shape)} strides {x.stride()}{' negated' * x.is_neg()}"
                          f"{' conjugated' * x.is_conj()} {x.tolist()}"
                          for i, x in enumerate(made.inputs))
    return Case(mode, f"{mode}: {'; '.join(made.lines)} where {described}", unexplained,
                [reason for reason in reasons.values() if reason is not None])


def main(count: str = "1000", seed: str = "0", start: str = "0", only: str | None = None) -> None:
    warnings.simplefilter("ignore")
    cases = offline.in_forks(lambda number, mark: case(number, int(seed), only, mark), int(start),
                             int(start) + int(count))
    offline.run(cases, int(count), int(start), f"programs in {only or f'{len(MODES)} modes'}, seed {seed}")


if __name__ == "__main__":
    main(*sys.argv[1:])
