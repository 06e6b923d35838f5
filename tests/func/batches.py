"""Print which operators run on a batch at once inside `vmap`: `python -m tests.func.batches [entry ...]`.

Each sample of PyTorch's operator database becomes a batch of two elements, in all of its tensors, in the first alone,
and in all but the first; `vmap` of the operator, and of its derivative, is compared with one call for each element. An
entry *loops* if an operator ran once for each element for want of a rule where PyTorch has one.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import mindtorch
import mindtorch.func
from mindtorch.utils._pytree import tree_flatten, tree_unflatten
from tests.func.both import flat
from tests.parity.compare import database
from tests.parity.exclusions import EXCLUDED
from tests.parity.resolve import Missing, counterpart
from tests.support import Unportable, port, torch

import torch.func  # type: ignore[no-redef] # isort: skip

#: Operators whose results are not to be compared with one call for each element, with the reason.
NOT_COMPARED = {
    **dict.fromkeys(("empty_like", "new_empty", "new_empty_strided", "empty_strided", "empty", "empty_permuted"),
                    "the values are whatever the memory held"),
    **dict.fromkeys(("linspace.tensor_overload", "logspace.tensor_overload"),
                    "here a limit that is a tensor is read as a number, which one of a batch does not have"),
    "nn.functional.rrelu": "random numbers are drawn once for each call",
    "resize_": "one of a batch cannot be resized, nor can it in PyTorch but for the size that it has",
    "addr": "the gradient of what is multiplied by 0 is 0 here where a NaN is behind it",
}
WANTING = re.compile(r"batching rule for ([\w:.]+\w)")


def other(tensor: Any, lib: Any) -> Any:
    """Make a second element: the numbers of the first in another order, so that both are in the operator's domain."""
    return tensor.detach().reshape(-1).flip(0).reshape(tensor.shape) if tensor.ndim != 2 else tensor.detach().clone()


class Batch:
    """A sample as a batch of two elements, in those of its tensors that ``chosen`` says."""

    def __init__(self, function: Callable[..., Any], sample: Any, lib: Any, chosen: Callable[[int], bool]):
        leaves, spec = tree_flatten(port(((sample.input, *sample.args), sample.kwargs), lib))
        self.tensors = [leaf.detach() for leaf in leaves if hasattr(leaf, "detach")]
        self.batched = [i for i in range(len(self.tensors)) if chosen(i)]
        self.dims = tuple(0 if i in self.batched else None for i in range(len(self.tensors)))
        self.values = [lib.stack([t, other(t, lib)]) if i in self.batched else t for i, t in enumerate(self.tensors)]
        self.lib = lib

        def call(*tensors: Any) -> Any:
            given = iter(tensors)
            args, kwargs = tree_unflatten([next(given) if hasattr(v, "detach") else v for v in leaves], spec)
            return tuple(o for o in flat(function(*args, **kwargs)) if hasattr(o, "detach"))

        self.call = call

    def gradient(self, *tensors: Any) -> Any:
        """Return the derivatives of the sum of the results with respect to all tensors that have one."""
        where = [i for i, t in enumerate(tensors) if t.is_floating_point()]

        def total(*chosen: Any) -> Any:
            given = list(tensors)
            for i, value in zip(where, chosen, strict=True):
                given[i] = value
            outputs = [o for o in self.call(*given) if o.is_floating_point()]
            return sum((o * o).sum() for o in outputs)

        return self.lib.func.grad(total, argnums=tuple(range(len(where))))(*[tensors[i] for i in where])

    def one_by_one(self, function: Callable[..., Any]) -> list[Any]:
        """One call for each element."""
        found = [function(*[v[k].clone() if i in self.batched else v.clone() for i, v in enumerate(self.values)])
                 for k in (0, 1)]
        return [np.stack([array(a), array(b)]) for a, b in zip(*found, strict=True)]

    def at_once(self, function: Callable[..., Any]) -> tuple[list[Any], set[str]]:
        """One call for all, and the operators that wanted a rule."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = self.lib.func.vmap(function, in_dims=self.dims)(*[v.clone() for v in self.values])
        return [array(t) for t in found], set(WANTING.findall(" ".join(str(w.message) for w in caught)))


def array(tensor: Any) -> Any:
    return np.asarray(tensor.detach().tolist()).reshape(tensor.shape)


WAYS: dict[str, Callable[[int], bool]] = {
    "all": lambda i: True, "the first": lambda i: i == 0, "all but the first": lambda i: i > 0}


def compare(op: Any, limit: int) -> Iterator[tuple[str, str]]:
    """Yield differences, and which operators looped: pairs of a kind and a text.

    Raises:
        Missing: if the library lacks the operator.
    """
    ours = counterpart(op.op, mindtorch, op.name)
    torch.manual_seed(1234)
    dtype = torch.float64 if torch.float64 in op.supported_dtypes("cpu") else torch.float32
    if dtype not in op.supported_dtypes("cpu"):
        return
    for _, sample in zip(range(limit), op.sample_inputs("cpu", dtype), strict=False):
        for way, chosen in WAYS.items():
            try:
                batch = Batch(ours, sample, mindtorch, chosen)
            except Unportable:
                continue
            if not batch.batched:
                continue
            for kind in ("call", "gradient"):
                if kind == "gradient" and not op.supports_autograd:
                    continue
                try:
                    want = batch.one_by_one(getattr(batch, kind))
                except Exception:
                    continue  # a sample without a derivative
                try:
                    have, looped = batch.at_once(getattr(batch, kind))
                except Exception as error:
                    theirs = Batch(op.op, sample, torch, chosen)
                    try:
                        theirs.at_once(getattr(theirs, kind))
                    except Exception:
                        continue  # PyTorch has no rule and refuses
                    yield "differs", f"{kind} of {way}: {type(error).__name__}: {str(error).splitlines()[0][:150]}"
                    continue
                if len(have) != len(want) or not all(a.shape == b.shape and np.allclose(a, b, 1e-4, 1e-5, True)
                                                     for a, b in zip(have, want, strict=True)):
                    yield "differs", f"{kind} of {way}: {[a.shape for a in have]}, {[b.shape for b in want]}"
                if looped:
                    theirs = Batch(op.op, sample, torch, chosen)
                    try:
                        looped -= theirs.at_once(getattr(theirs, kind))[1]
                    except Exception:
                        continue  # PyTorch has no rule and refuses
                for name in looped:
                    yield "loops", name


def main(*names: str) -> int:
    status: Counter[str] = Counter()
    looping: Counter[str] = Counter()
    for name, op in database().items():
        if (names and name not in names) or name in EXCLUDED or name in NOT_COMPARED:
            continue
        try:
            told = list(compare(op, 6))
        except (Missing, Unportable):
            continue
        except Exception as error:
            told = [("differs", f"{type(error).__name__}: {error}")]
        wrong = [text for kind, text in told if kind == "differs"]
        loops = {text for kind, text in told if kind == "loops"}
        status["differs" if wrong else "loops" if loops else "agrees"] += 1
        looping.update(loops)
        if told:
            print(f"{name}: {'; '.join([*wrong[:2], *sorted(loops)])}", flush=True)
    print(dict(status), looping.most_common())
    return 1 if status["differs"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
