"""Compares strategies of parallelism, on mindtorch and on PyTorch's gloo, with one process of PyTorch.

``python -m tests.distributed.matrix`` prints for each model, strategy, optimizer and number of ranks the largest
difference of a loss or of a gathered parameter after 20 steps, and fails if one of mindtorch's is above 1e-5.
"""
from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .running import GLOO, launch

MODELS = ("mlp", "cnn", "gpt", "lstm", "tied gpt", "frozen backbone")
STRATEGIES = ("one process", "ddp", "zero", "fully_shard", "tensor parallel", "both")
OPTIMIZERS = ("adamw", "adafactor")
LIMIT = 1e-5
Key = tuple[str, str, str]
Found = dict[str, np.ndarray]


def trained(path: Path, ranks: int, models: Sequence[str] = MODELS, strategies: Sequence[str] = STRATEGIES,
            steps: int = 20, library: str = "mindtorch", seconds: float = 1800) -> Found:
    """Return the losses and parameters of a launch; those of one process come from ranks that do not communicate."""
    options = {"models": models, "strategies": strategies, "optimizers": OPTIMIZERS, "steps": steps}
    file = path / f"{library}{ranks}.npz"
    starter = {"starter": GLOO} if library == "torch" else {}
    ended = launch("matrix.py", ranks, [str(file), json.dumps(options)], seconds, **starter)
    assert ended.status == 0 and ended.left == [], ended.output
    return dict(np.load(file))


def differences(found: Found, reference: Found) -> dict[Key, float | str]:
    """Return for each combination its largest difference from one process, or the error that it raised."""
    worst: dict[Key, float | str] = {}
    for name, values in found.items():
        model, strategy, optimizer, *rest = name.split("/", 3)
        key = model, strategy, optimizer
        if rest == ["error"]:
            worst[key] = str(values)
        else:
            expected = reference["/".join((model, "one process", optimizer, *rest))]
            here = float(np.abs(values - expected).max()) if values.shape == expected.shape else np.inf
            before = worst.get(key, 0.0)
            worst[key] = before if isinstance(before, str) else max(before, here if here == here else np.inf)
    return worst


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args(arguments)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        reference = trained(Path(folder), 1, options.models, STRATEGIES[:1], options.steps, "torch")
        print(f"{'model':16} {'strategy':16} {'optimizer':10} {'ranks':>5} {'mindtorch':>10}  PyTorch")
        for ranks in options.ranks:
            found = [trained(Path(folder), ranks, options.models, STRATEGIES, options.steps, library)
                     for library in ("mindtorch", "torch")]
            ours, theirs = (differences(each, reference) for each in found)
            for key, mine in ours.items():
                bad = isinstance(mine, str) or mine > LIMIT
                wrong += bad
                shown = [value if isinstance(value, str) else f"{value:.1e}" for value in (mine, theirs[key])]
                print(f"{key[0]:16} {key[1]:16} {key[2]:10} {ranks:5} {shown[0]:>10}  {shown[1][:80]}"
                      f"{'  DIFFERS' if bad else ''}", flush=True)
    print(f"{wrong} differ by more than {LIMIT} from one process")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
