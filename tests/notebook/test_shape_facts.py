"""Every field of the facts of what broadcasting and layouts read, beside a calculation of its own."""
from __future__ import annotations

import collections
import itertools
import random
from typing import Any

import numpy as np
import pytest

import mindtorch as torch
from mindtorch.introspect.broadcast import broadcast_facts, parse_shape
from mindtorch.introspect.storage import located, orders_of, stride_facts


def test_dimensions_of_random_shapes_broadcast_as_numpy_says() -> None:
    drawn = random.Random(0)
    for _ in range(300):
        shapes = [tuple(drawn.choice((0, 1, 1, 2, 3)) for _ in range(drawn.randrange(4)))
                  for _ in range(drawn.randrange(1, 4))]
        facts = broadcast_facts(*shapes)
        width = max(map(len, shapes))
        assert facts.shapes == tuple(shapes) and [d.number for d in facts.dimensions] == list(range(-width, 0))
        try:
            expected: Any = np.broadcast_shapes(*shapes)
        except ValueError:
            expected = None
        assert facts.result == expected and bool(facts.error) == (expected is None)
        for d in facts.dimensions:
            assert d.sizes == tuple(shape[d.number] if len(shape) >= -d.number else None for shape in shapes)
            wanted = {size for size in d.sizes if size not in (None, 1)}
            assert d.result == (None if len(wanted) > 1 else max(wanted, default=1))
            for size, stretched in zip(d.sizes, d.stretched, strict=True):
                assert stretched == (d.result not in (None, 1) and size in (None, 1))


def test_no_shape_and_negative_sizes_do_not_broadcast() -> None:
    with pytest.raises(ValueError, match=r"^broadcasting needs at least one shape$"):
        broadcast_facts()
    with pytest.raises(ValueError, match=r"^sizes cannot be negative: \(2, -1\)$"):
        broadcast_facts((3,), (2, -1))


@pytest.mark.parametrize(("text", "shape"), [
    ("2, 3", (2, 3)), ("(2, 3)", (2, 3)), (" [4] ", (4,)), ("()", ()), ("", ()), ("torch.Size([2, 0])", (2, 0)),
    ("5,", (5,)), ("torch.Size [1]", (1,)),
])
def test_shapes_are_read_as_they_are_typed(text: str, shape: tuple[int, ...]) -> None:
    assert parse_shape(text) == shape


@pytest.mark.parametrize(("text", "part"), [("2, x", "'x'"), ("2,,3", "''"), ("-1", "'-1'"), ("2.5", "'2.5'")])
def test_what_is_no_shape_is_told(text: str, part: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_shape(text)
    assert str(caught.value) == f"{part} is no size: a shape is written as 2, 3, 1"


@pytest.mark.parametrize(("shape", "stride", "offset"), [
    ((2, 3), (3, 1), 0), ((3, 2), (1, 3), 1), ((2, 2), (0, 1), 2), ((4,), (5,), 3), ((2, 0), (1, 1), 0), ((), (), 5),
    ((2,), (-1,), 3), ((2,), (1, 1), 0), ((-1,), (1,), 0), ((3,), (4,), 6),
])
def test_what_a_layout_reads(shape: tuple[int, ...], stride: tuple[int, ...], offset: int) -> None:
    facts = stride_facts(torch.arange(12, dtype=torch.int16), shape, stride, offset)
    possible = len(shape) == len(stride) and min(shape, default=0) >= 0
    indices = list(itertools.product(*map(range, shape))) if possible else []
    positions = [offset + sum(i * s for i, s in zip(index, stride, strict=True)) for index in indices]
    assert (facts.storage, facts.dtype, facts.shape, facts.stride, facts.offset) == (12, "int16", shape, stride, offset)
    assert facts.elements == len(positions) and facts.positions == tuple(positions)
    assert facts.orders == {p: [i for i, q in enumerate(positions) if p == q] for p in positions}
    assert facts.repeated == {p: n for p, n in collections.Counter(positions).items() if n > 1}
    assert facts.outside == tuple(sorted({p for p in positions if not 0 <= p < 12}))
    assert [facts.index(order) for order in range(len(indices))] == indices
    assert bool(facts.error) == (not possible or min(stride, default=0) < 0 or bool(facts.outside))


def test_of_many_elements_the_first_are_followed() -> None:
    facts = stride_facts(torch.ones(1), (5000,), (0,))
    assert (facts.elements, len(facts.positions)) == (5000, 4096)
    assert list(located((2, 2), (3, 1), 4)) == [((0, 0), 4), ((0, 1), 5), ((1, 0), 7), ((1, 1), 8)]
    assert orders_of([7, 5, 7]) == {7: [0, 2], 5: [1]}
