"""PyTorch's operator database on sparse tensors: ``python -m tests.sparse.samples [ENTRY...] [--every N]``.

For each entry and each layout that PyTorch supports for it, every sample is computed by both libraries, with the
gradients of what may have one. Results have the same layout, and the same numbers at the same places. Where the
database has no samples of an entry, its dense ones are taken, made sparse.
"""
from __future__ import annotations

import argparse
import itertools
import sys
import unittest
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import mindtorch
from tests.parity.compare import database
from tests.parity.resolve import LibPorter, counterpart
from tests.support import Unportable, torch

LAYOUTS = {"coo": "sparse_coo", "csr": "sparse_csr", "csc": "sparse_csc", "bsr": "sparse_bsr", "bsc": "sparse_bsc"}


class SparsePorter(LibPorter):
    """Carries sparse tensors over by their indices and values."""

    def tensor(self, tensor: torch.Tensor) -> Any:
        if tensor.layout is torch.strided:
            return super().tensor(tensor)
        if tensor.layout is torch.sparse_coo:
            made = self.lib.sparse_coo_tensor(self(tensor._indices().clone()), self(tensor._values().detach().clone()),
                                              tuple(tensor.shape))
            made = made._coalesced_(tensor.is_coalesced())
        else:
            by_rows = tensor.layout in (torch.sparse_csr, torch.sparse_bsr)
            indices = (tensor.crow_indices(), tensor.col_indices()) if by_rows else (
                tensor.ccol_indices(), tensor.row_indices())
            made = self.lib.sparse_compressed_tensor(*(self(index.clone()) for index in indices),
                                                     self(tensor.values().detach().clone()), tuple(tensor.shape),
                                                     layout=self(tensor.layout))
        return made.requires_grad_(tensor.requires_grad)


def told(value: Any) -> Any:
    """Return a result as numbers: a sparse tensor's indices and values, too."""
    if isinstance(value, (tuple, list)):
        return [told(item) for item in value]
    if not hasattr(value, "layout"):
        return value
    layout = str(value.layout).removeprefix("torch.")
    dense = value.detach().to_dense() if layout != "strided" else value.detach()
    places = [*value._indices().tolist()] if layout == "sparse_coo" and value.is_coalesced() else []
    return layout, str(value.dtype), tuple(value.shape), np.asarray(dense.tolist()), places


def same(ours: Any, theirs: Any) -> bool:
    """Return whether two results that were told are equal, up to rounding."""
    if isinstance(theirs, np.ndarray):
        return ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=1e-6, atol=1e-8, equal_nan=True)
    if isinstance(theirs, (tuple, list)):
        return isinstance(ours, type(theirs)) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    return bool(ours == theirs or (ours != ours and theirs != theirs))


def computed(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return a call's result, with the gradients of its sum, or the type of its error."""
    leaves = [arg for arg in args if getattr(arg, "requires_grad", False)]
    for leaf in leaves:  # which may be another sample's
        leaf.grad = None
    try:
        result = function(*args, **kwargs)
        if not leaves or not getattr(result, "requires_grad", False):
            return told(result)
        total = result.to_dense() if str(result.layout) != "torch.strided" else result
        total.sum().backward()
        return told([result, *(leaf.grad for leaf in leaves)])
    except (RuntimeError, NotImplementedError, ValueError, TypeError, IndexError) as error:
        return type(error).__name__


@dataclass
class Found:
    """What one sample gave."""

    entry: str
    layout: str
    sample: int
    ours: Any
    theirs: Any

    @property
    def differs(self) -> bool:
        """Whether PyTorch has a result that ours is not; of many samples it computes no gradient, where ours does."""
        return not isinstance(self.theirs, str) and not same(self.ours, self.theirs)


def samples(op: Any, layout: Any, requires_grad: bool) -> Iterator[Any]:
    """Yield an entry's samples in a layout: the database's own, or its dense matrices made sparse."""
    try:
        yield from op.sample_inputs_sparse(layout, "cpu", torch.float64, requires_grad=requires_grad)
    except (NotImplementedError, unittest.SkipTest):
        blocks = {"blocksize": (1, 1)} if layout in (torch.sparse_bsr, torch.sparse_bsc) else {}
        for sample in op.sample_inputs("cpu", torch.float64, requires_grad=False):
            if isinstance(sample.input, torch.Tensor) and sample.input.ndim == 2:
                sample.input = sample.input.to_sparse(layout=layout, **blocks).requires_grad_(requires_grad)
                yield sample


def compared(entry: str, layout: str, every: int = 1) -> Iterator[Found]:
    """Yield what an entry's samples give in a layout."""
    op = database()[entry]
    for requires_grad in (False, True) if op.supports_autograd else (False,):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            drawn = samples(op, getattr(torch, LAYOUTS[layout]), requires_grad)
            for number, sample in enumerate(itertools.islice(drawn, 0, None, every)):
                port = SparsePorter(mindtorch)
                try:
                    function = counterpart(op.op, mindtorch)
                    given = port([sample.input, *sample.args]), port(sample.kwargs)
                except Unportable:
                    continue
                ours = computed(function, *given)
                theirs = computed(op.op, [sample.input, *sample.args], sample.kwargs)
                yield Found(entry, layout, number, ours, theirs)


def supported() -> Iterator[tuple[str, str]]:
    """Yield each entry and each layout that PyTorch supports for it."""
    for name, op in database().items():
        for layout in LAYOUTS:
            if getattr(op, f"supports_sparse{'' if layout == 'coo' else f'_{layout}'}", False):
                yield name, layout


def main() -> None:
    """Compare the entries that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("entries", nargs="*")
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_args()
    total = differing = 0
    for entry, layout in supported():
        if given.entries and entry not in given.entries:
            continue
        found = [*compared(entry, layout, given.every)]
        bad = [one for one in found if one.differs]
        total, differing = total + len(found), differing + len(bad)
        print(f"{entry:28}{layout:5}{len(found):5} samples{len(bad):5} differ", flush=True)
        for one in bad[:2]:
            print(f"    sample {one.sample}: PyTorch {str(one.theirs)[:110]}\n{'':15}ours {str(one.ours)[:110]}")
    print(f"{total} samples, {differing} differ")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
