"""What a program's cards cost, the first and those after. ``python -m tests.benchmarks.first_card`` (``--runs 9``).

Each row is a library, and how the card is asked for: ``viz.tensor_card(x)`` in a script, or the formatter of an IPython
shell that has the extension and no event loop, by which a notebook loads what draws cards before one is asked for.
Each run is a fresh interpreter, byte-compiled; it draws a tensor of ten million elements again and again and counts the
processor's time for each card, the first with all that it imports: the median and the least of all runs, the medians of
the second and of later ones, and the largest card. Times are printed, never asserted.
"""
from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys

PREPARE = {
    "mindtorch": "import mindtorch as torch",
    "torch": "import torch, mindtorch",
}
DRAW = {
    "script": """
from mindtorch import viz
draw = lambda x: viz.tensor_card(x), x
""",
    "IPython": """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "mindtorch")
shell.user_ns["x"] = x
draw = lambda x: shell.display_formatter.mimebundle_formatter(x)[0]["text/html"], x
""",
}
MEASURE = """
import time
function, x = draw
for _ in range({cards}):
    start = time.process_time()
    card = function(x)
    print(1e3 * (time.process_time() - start))
print(len(card.encode()))
"""
LIMIT = 20.0, 1 << 16  #: milliseconds, bytes
CARDS = 7  #: of one tensor, in each run


def run(library: str, how: str) -> tuple[list[float], int]:
    """Milliseconds of ``CARDS`` cards, one after the other in a fresh interpreter, and bytes of one."""
    code = f"{PREPARE[library]}\nx = torch.randn(2500, 4000)\n{DRAW[how]}\n{MEASURE.format(cards=CARDS)}"
    keep = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run([sys.executable, "-c", code], env=keep, check=True, capture_output=True, text=True)
    *times, size = done.stdout.split()[-CARDS - 1:]  # behind the extension's greeting
    return [float(time) for time in times], int(size)


def main() -> None:
    """Print a row for each library and each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9, help="fresh processes a row")
    runs = parser.parse_args().runs
    print(f"{'card of':<10} {'asked for in':<13} {'first ms':>9} {'(least)':>9} {'second':>7} {'later':>7} {'bytes':>7}"
          f"    (limits: {LIMIT[0]:g} ms, {LIMIT[1]:,} bytes)")
    for library in PREPARE:
        for how in DRAW:
            run(library, how)  # byte-compiles
            times, sizes = zip(*(run(library, how) for _ in range(runs)), strict=True)
            first, second, *later = zip(*times, strict=True)
            rest = [time for card in later for time in card]
            medians = map(statistics.median, (second, rest))
            print(f"{library:<10} {how:<13} {statistics.median(first):9.1f} {min(first):9.1f} "
                  f"{' '.join(f'{time:7.1f}' for time in medians)} {max(sizes):7,}")


if __name__ == "__main__":
    main()
