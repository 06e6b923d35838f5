"""Random numbers: every process draws those of the whole tensor, and keeps its part's.

So the numbers are those of one process, if the generators are in one state, and the processes' generators stay so.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...._creation import empty_strided
from .._redistribute import redistribute_local_tensor
from ..placement_types import Replicate, Shard
from .rows import Call, Row, Run, rule


def _whole(run: Run) -> Any:
    """Return the operator's result for the whole tensor, and put it where the part lies."""
    spec = run.specs[0]
    meta = spec.tensor_meta
    whole = spec.with_placements([Replicate()] * spec.mesh.ndim)
    given = dict(run.args)
    name = next(iter(given))
    local = given[name]
    given[name] = empty_strided(meta.shape, meta.stride, dtype=meta.dtype, device=local.device)
    keywords = {argument.name: given.pop(argument.name) for argument in run.func._schema.arguments
                if argument.kwarg_only and argument.name in given}
    part = redistribute_local_tensor(run.func(*given.values(), **keywords), whole, spec)
    return local.copy_(part) if run.func._schema.name.endswith("_") else part


@rule("""normal uniform bernoulli random exponential log_normal cauchy geometric rand_like randn_like randint_like""")
def drawn(call: Call) -> Iterator[Row]:
    if len(call.specs) > 1:
        return
    for dim in range(call.ndim()):
        yield call.row(Shard(dim), _whole, self=Shard(dim))


@rule("native_dropout multinomial")
def from_all(call: Call) -> Iterator[Row]:
    """Yield nothing: every process needs all of the input."""
    yield from ()
