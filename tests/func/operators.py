"""Print which operators' forward derivatives are PyTorch's: `python -m tests.func.operators [dtype [entry ...]]`."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

import mindtorch
import mindtorch.autograd.forward_ad
from mindtorch.utils._pytree import tree_map
from tests.func.both import flat
from tests.parity.compare import Call, database
from tests.parity.exclusions import EXCLUDED
from tests.parity.resolve import Missing, counterpart
from tests.support import Unportable, seed_all, torch

import torch.autograd.forward_ad  # type: ignore[no-redef] # isort: skip

#: Where forward derivatives are not compared, with the reason.
NOT_COMPARED = {
    **dict.fromkeys(("linalg.eig", "linalg.eigh", "svd_lowrank", "pca_lowrank"),
                    "eigenvectors and singular vectors are unique up to a sign, as are their derivatives"),
    **dict.fromkeys(("linalg.cholesky", "linalg.cholesky_ex"),
                    "the derivative along a tangent that is not symmetric is one convention here, another there"),
    "triangular_solve": "PyTorch's takes the tangent's other triangle into account, which the operator does not read",
    "as_strided_scatter": "the row's gradient is, as PyTorch's, not that of the operator where memory overlaps",
    "as_strided.partial_views": "the tangent has no memory before its first element",
}


def tangents(function: Any, call: Call, lib: Any) -> list[Any]:
    """Compute the tangents of the outputs along random tangents of the inputs, as arrays."""
    forward = lib.autograd.forward_ad
    inputs = {id(t): i for i, t in enumerate(t for t in call.tensors if t.requires_grad)}

    def dual(value: Any) -> Any:
        if id(value) not in inputs:
            return value
        random = np.random.RandomState(inputs[id(value)])
        direction = random.randn(*value.shape) + (1j * random.randn(*value.shape) if value.is_complex() else 0)
        tangent = lib.tensor(direction.tolist(), dtype=value.dtype).reshape(value.shape)
        return forward.make_dual(value.detach(), tangent)

    with forward.dual_level():
        args, kwargs = tree_map(dual, (call.input, *call.args)), tree_map(dual, call.kwargs)
        seed_all(lib, 1234)
        outputs = [o for o in flat(function(*args, **kwargs)) if hasattr(o, "is_floating_point")]
        found = [forward.unpack_dual(o).tangent for o in outputs if o.is_floating_point() or o.is_complex()]
        return [None if t is None else np.asarray(t.detach().tolist()) for t in found]


def differences(op: Any, dtype: torch.dtype, limit: int) -> Iterator[str]:
    """Yield the differences for the first samples of an entry.

    Raises:
        Missing: if the library lacks the operator.
    """
    ours = counterpart(op.op, mindtorch, op.name)
    torch.manual_seed(1234)
    for _, sample in zip(range(limit), op.sample_inputs("cpu", dtype, requires_grad=True), strict=False):
        try:
            wanted = tangents(op.op, Call(sample, torch), torch)
        except Exception:
            continue  # a sample that PyTorch refuses
        try:
            call = Call(sample, mindtorch)
        except Unportable:
            continue
        found = tangents(ours, call, mindtorch)
        if len(found) != len(wanted):
            yield f"{len(found)} outputs instead of {len(wanted)}"
        for have, want in zip(found, wanted, strict=False):
            if have is None or want is None:
                if np.any(have if want is None else want):
                    yield "there is a tangent in one library only"
            elif have.shape != want.shape or not np.allclose(have, want, 1e-4, 1e-5, equal_nan=True):
                yield f"the tangents differ: {have.shape}, {want.shape}"


def entries(dtype: torch.dtype) -> Iterator[tuple[str, Any]]:
    """Yield the entries that must agree."""
    for name, op in database().items():
        if (op.supports_autograd and op.supports_forward_ad and dtype in op.supported_dtypes("cpu")
                and name not in EXCLUDED and name not in NOT_COMPARED):
            yield name, op


def main(dtype: str = "float64", *names: str) -> int:
    status: Counter[str] = Counter()
    warnings.simplefilter("ignore")
    for name, op in entries(getattr(torch, dtype)):
        if names and name not in names:
            continue
        try:
            told = list(differences(op, getattr(torch, dtype), 4))
        except (Missing, Unportable):
            status["missing"] += 1
            continue
        except Exception as error:
            told = [f"{type(error).__name__}: {error}"]
        status["differ" if told else "agree"] += 1
        if told:
            print(f"{name}: {told[0]}")
    print(f"{dtype}: {dict(status)}")
    return 1 if status["differ"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
