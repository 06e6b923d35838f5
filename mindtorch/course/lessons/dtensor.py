"""Lesson 24: where does a distributed tensor lie?"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from types import SimpleNamespace
from typing import Any

from ..._base.interrupts import contextmanager
from ..limits import LOADING
from ..tasks import Lab, lesson
from . import torch

#: What is multiplied: placements of both factors, rows and columns of both (m x k and k x n), and the number of ranks.
CASES = (
    ("R", "R", 4, 8, 4, 2), ("S(0)", "R", 8, 8, 4, 4), ("R", "S(1)", 4, 8, 8, 4), ("S(1)", "S(0)", 4, 8, 4, 4),
    ("S(0)", "S(0)", 64, 8, 4, 4), ("S(0)", "S(0)", 4, 8, 64, 4), ("S(0)", "S(1)", 64, 8, 4, 4),
    ("S(0)", "S(1)", 4, 8, 64, 4), ("S(1)", "S(1)", 4, 8, 64, 4), ("R", "S(0)", 64, 8, 4, 2), ("S(1)", "R", 4, 8, 4, 4),
    ("P", "R", 8, 4, 4, 4), ("R", "P", 4, 4, 8, 2), ("P", "S(0)", 4, 64, 16, 4), ("P", "S(1)", 4, 4, 256, 4),
    ("P", "P", 4, 8, 16, 4), ("P", "P", 16, 8, 4, 4), ("S(1)", "P", 4, 8, 64, 4),
)


def _tensor():
    from ...distributed import tensor

    return tensor


def placement(text: str) -> Any:
    """Return a placement by its short text: R, P, S(0) or S(1)."""
    tensor: Any = _tensor()
    return {"R": tensor.Replicate(), "P": tensor.Partial()}.get(text) or tensor.Shard(int(text[2]))


def short(place: Any) -> str:
    """Return the short text of a placement."""
    return str(place).partition("(sum")[0] if hasattr(place, "is_shard") else f"a {type(place).__name__}"


def parts(whole: Any, place: Any, ranks: int) -> list[Any]:
    """Return each rank's part of a matrix. A partial one is divided unevenly: any parts that sum to it would do."""
    if place.is_shard():
        return list(whole.chunk(ranks, place.dim))
    if place.is_replicate():
        return [whole] * ranks
    weights = [rank + 1 for rank in range(ranks)]
    return [whole * weight / sum(weights) for weight in weights]


def whole(pieces: list[Any], place: Any) -> Any:
    """Return the matrix that the ranks' pieces stand for."""
    if place.is_shard():
        return torch.cat(pieces, place.dim)
    return pieces[0] if place.is_replicate() else sum(pieces[1:], pieces[0])


def sent(source: Any, goal: Any, nbytes: int, ranks: int) -> float:
    """Return how many bytes each rank sends to change a placement, round a ring."""
    share = nbytes * (ranks - 1) / ranks
    if source == goal or source.is_replicate():
        return 0.0
    if goal.is_replicate():
        return 2 * share if source.is_partial() else share
    return share / ranks if source.is_shard() and goal.is_shard() else share


def matrices(m: int, k: int, n: int) -> tuple[Any, Any]:
    """Return two matrices of small whole numbers."""
    one, other = torch.arange(float(m * k)), torch.arange(float(k * n))
    return (one % 5 - 2).reshape(m, k), (other % 7 - 3).reshape(k, n)


def _run(function, a, b, m, k, n, ranks):
    """Return the product that a plan leads to, and the bytes that it costs and reports."""
    one, other = matrices(m, k, n)
    places = placement(a), placement(b)
    answer = function(*places, 4 * m * k, 4 * k * n, ranks)
    if not isinstance(answer, tuple | list) or len(answer) != 4:
        return {"what plan returns": f"a {type(answer).__name__}, not four values"}
    *goals, reported = answer
    if not all(hasattr(goal, "is_shard") for goal in goals):
        return {"what plan returns": f"{', '.join(map(short, goals))} as placements"}
    if not isinstance(reported, int | float):
        return {"the bytes that plan reports": f"a {type(reported).__name__}"}
    shares = zip(parts(one, goals[0], ranks), parts(other, goals[1], ranks), strict=True)
    try:
        product = whole([x @ y for x, y in shares], goals[2])
    except RuntimeError:
        return {"the product of the parts": f"of {short(goals[0])} and {short(goals[1])}: their shapes do not fit"}
    if product.shape != (m, n) or not torch.allclose(product, one @ other, atol=1e-3):
        return {"the product of the parts": f"of {short(goals[0])} and {short(goals[1])} it is not {short(goals[2])}"}
    return {"the product of the parts": "right",
            "bytes that each rank sends": sum(sent(place, goal, 4 * prod(matrix.shape), ranks) for place, goal, matrix
                                              in zip(places, goals, (one, other), strict=False)),
            "the bytes that plan reports": float(reported)}


def chosen(a: Any, b: Any, m: int, k: int, n: int, ranks: int) -> tuple[str, ...]:
    """Return how the library multiplies DTensors of these placements: goals of both factors, placement of the product.
    """
    from ...distributed.tensor import _dispatch
    from ...distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
    from ...distributed.tensor._ops.rows import RULES, Call

    mesh: Any = SimpleNamespace(ndim=1, size=lambda dim=0: ranks)

    def meta(rows: int, columns: int) -> TensorMeta:
        return TensorMeta(torch.Size((rows, columns)), (columns, 1), torch.float32)

    specs = [DTensorSpec(mesh, (a,), meta(m, k)), DTensorSpec(mesh, (b,), meta(k, n))]
    row = _dispatch.chosen(Call("mm", {}, specs, {"self": [0], "mat2": [1]}, [meta(m, n)]), RULES["mm"], 0, [])
    assert row is not None
    return (*map(short, row.inputs), short(row.outputs[0]))


@contextmanager
def replace_rule(plan: Callable[..., Any]) -> Iterator[None]:
    """Have DTensors be multiplied as ``plan`` says, in a block."""
    from ...distributed.tensor._ops.rows import RULES, Row

    own = RULES["mm"]

    def mine(call: Any) -> Iterator[Any]:
        now = [spec.placements[call.mesh_dim] for spec in call.specs]
        one, other, out, _ = plan(*now, *[spec.nbytes for spec in call.specs], call.specs[0].mesh.size(call.mesh_dim))
        yield Row((out,), (one, other))

    RULES["mm"] = mine
    try:
        yield
    finally:
        RULES["mm"] = own


LESSON = lesson(
    "dtensor", plan=partial(
        Lab, cases=CASES, run=_run, seconds=LOADING,
        refuses=("distributed.tensor._ops.matrix.product", "distributed.tensor._dispatch.chosen"),
        describe=lambda a, b, m, k, n, ranks: f"{a} @ {b}, {m}x{k} by {k}x{n}, {ranks} ranks"))
