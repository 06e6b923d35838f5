"""Every field of the facts of containers, and of tensors as pictures, beside a calculation of its own."""
from __future__ import annotations

import itertools
import math
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import mindtorch as torch
from mindtorch import introspect, nn
from mindtorch.introspect import container, overview
from tests.support import torch as reference


def test_shapes_that_are_pictures() -> None:
    def expected(shape: tuple[int, ...]) -> str:
        layouts = {2: ["HW"], 3: ["CHW", "HWC"], 4: ["NCHW", "NHWC"]}.get(len(shape), [])
        for layout in layouts:
            sizes = dict(zip(layout, shape, strict=True))
            if (min(sizes["H"], sizes["W"]) >= 8 and sizes.get("C", 1) in (1, 3, 4) and sizes.get("N", 1) > 0):
                return layout
        return ""

    for count in range(6):
        for shape in itertools.product((0, 1, 3, 7, 8, 9), repeat=count) if count < 5 else [(8,) * 5]:
            assert overview.picture_layout(shape) == expected(shape), shape


@pytest.mark.parametrize(("dtype", "low", "high", "expected"), [
    ("float32", 0.25, 0.5, (0.0, 1.0)), ("float32", 0.0, 1.0, (0.0, 1.0)), ("float32", -0.1, 0.5, (-0.1, 0.5)),
    ("float32", 0.0, 1.5, (0.0, 1.5)), ("bool", False, True, (0.0, 1.0)), ("int64", 0, 1, (0.0, 1.0)),
    ("int64", 3, 7, (3.0, 7.0)), ("bfloat16", 0.5, 0.5, (0.0, 1.0)), ("quint8", 0.0, 0.5, (0.0, 1.0)),
])
def test_black_and_white(dtype: str, low: Any, high: Any, expected: tuple[float, float]) -> None:
    s = introspect.Statistics(low, high, 0.0, 0.0, 0, 0, 0, None, None, True, 1, 1, 1, ())
    assert overview.brightness(dtype, s) == expected


@pytest.mark.parametrize(("make", "count", "shape"), [
    (lambda: torch.arange(256).view(16, 16).to(torch.uint8), 1, (16, 16, 1)),
    (lambda: torch.rand(3, 8, 9), 1, (8, 9, 3)),
    (lambda: torch.rand(20, 1, 8, 8), 12, (8, 8, 1)), (lambda: torch.rand(2, 8, 8, 4), 2, (8, 8, 4)),
    (lambda: torch.rand(100, 200), 1, (34, 67, 1)), (lambda: torch.rand(5), 0, ()), (lambda: torch.rand(7, 20), 0, ()),
    (lambda: torch.rand(8, 8).to(torch.complex64), 0, ()), (lambda: torch.full((8, 8), float("nan")), 0, ()),
])
def test_pictures_are_every_so_manyeth_pixel(make: Any, count: int, shape: tuple[int, ...]) -> None:
    x = make()
    statistics = introspect.tensor_facts(x).statistics
    found = overview.pictures(x, statistics)
    assert len(found) == count and all(picture.shape == shape and picture.dtype == np.uint8 for picture in found)
    if count and x.dtype == torch.float32 and x.ndim == 4:
        first = x[0].movedim(0, -1) if x.shape[1] in (1, 3, 4) else x[0]
        np.testing.assert_array_equal(found[0], (first.numpy().astype(float) * 255).clip(0, 255).astype(np.uint8))


@pytest.mark.parametrize("shape", [(48, 64), (49, 64), (10, 500), (500, 10), (1, 7), (300, 300), (200, 100)])
def test_the_blocks_of_an_overview_cover_the_matrix(shape: tuple[int, int]) -> None:
    found = overview.tensor_overview(torch.arange(float(shape[0] * shape[1])).view(shape))
    assert found is not None
    rows, columns = found.means.shape
    assert rows <= 48 and columns <= 64
    assert found.block == (math.ceil(shape[0] / rows), math.ceil(shape[1] / columns))
    count = shape[0] * shape[1]
    assert found.means[0, 0] <= found.means[-1, -1] and abs(found.means.mean() - (count - 1) / 2) < 0.02 * count
    assert overview.tensor_overview(torch.ones(0, 3)) is None
    assert overview.tensor_overview(torch.ones(2, device="meta")) is None


def test_items_of_containers_have_places_kinds_and_limits() -> None:
    x = torch.ones(2)
    inner = {"k": x, "n": 3}
    facts = introspect.container_facts([inner, (x, None), inner], {"x": x}, "data")
    assert (facts.label, facts.kind, facts.text, facts.left_out, facts.same_as) == ("data", "list", "3", 0, "")
    first, second, third = facts.children
    assert (first.label, first.kind, first.text) == ("[0]", "dict", "2")
    assert [(i.label, i.kind, i.text) for i in first.children] == [("['k']", "Tensor", ""), ("['n']", "int", "3")]
    assert first.children[0].tensor is not None and first.children[0].tensor.name == "x"
    assert [(i.label, i.text) for i in second.children] == [("[0]", ""), ("[1]", "None")]
    assert (third.children, third.same_as) == ((), "data[0]")
    many = introspect.container_facts([torch.ones(1) for _ in range(70)])
    assert len(many.children) == container.ITEMS == 64 and many.left_out == 6
    assert sum(item.tensor.statistics is not None for item in many.children) == container.LOOKED_AT
    numbers = introspect.container_facts([1] * 65)
    assert (len(numbers.children), numbers.left_out) == (64, 1)
    deep: Any = x
    for _ in range(8):
        deep = [deep]
    level, depth = introspect.container_facts(deep), 0
    while level.children:
        level, depth = level.children[0], depth + 1
    assert (depth, level.left_out) == (container.DEPTH, 1)
    lots = introspect.container_facts([[torch.ones(1)] * 60 for _ in range(6)])
    told = sum(len(item.children) for item in lots.children)
    assert told == container.TENSORS == 200


def test_what_holds_tensors_is_found_three_levels_down() -> None:
    x = torch.ones(1)
    assert container.holds_tensors(x) and container.holds_tensors([[[x]]]) and not container.holds_tensors([[[[x]]]])
    assert not container.holds_tensors([1, "x"]) and not container.holds_tensors(3)
    assert container.holds_tensors([0] * 255 + [x]) and not container.holds_tensors([0] * 256 + [x])


def test_objects_of_the_library_say_what_they_are() -> None:
    w = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.Adam([w], lr=0.5)
    w.grad = torch.ones(2)
    optimizer.step()
    facts = introspect.container_facts(optimizer, {"w": w})
    assert facts.text == "parameters with state: 1"
    assert [item.label for item in facts.children] == [".param_groups[0]", ".state[w]"]
    several = torch.optim.SGD([{"params": [nn.Parameter(torch.ones(1))], "lr": 0.1 * i} for i in range(1, 7)])

    def met_before(item: Any) -> list[str]:
        return [item.same_as, *(place for child in item.children for place in met_before(child))]

    assert set(met_before(introspect.container_facts(several))) == {""}  # what is made to be shown is not met twice
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(7, 2)), batch_size=2)
    facts = introspect.container_facts(loader)
    assert facts.text == "4" and [item.label for item in facts.children] == [
        ".dataset", ".batch_size", ".sampler", ".batch_sampler", ".collate_fn", ".num_workers", ".drop_last",
        ".pin_memory", ".generator"]
    generator = torch.Generator().manual_seed(5)
    facts = introspect.container_facts(generator)
    assert facts.text == "the state of random numbers"
    assert [(item.label, item.text) for item in facts.children] == [(".device", "'cpu'"), (".initial_seed()", "5")]
    for kept in torch.ones(3).untyped_storage(), reference.ones(3).untyped_storage():
        assert introspect.container_facts(kept).text == "12 bytes on cpu, seen by no tensor that is alive"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PyTorch warns of TypedStorage once in a process
        kept = reference.ones(3).storage()
    assert introspect.container_facts(kept).text == "12 bytes on cpu, seen by no tensor that is alive"
    layer = nn.Linear(2, 1)
    listing = layer.named_parameters()
    facts = introspect.container_facts(listing)
    assert facts.text == "what Module.named_parameters will yield"
    assert [(item.label, item.tensor.shape) for item in facts.children] == [("'weight'", (1, 2)), ("'bias'", (1,))]
    assert [item.label for item in introspect.container_facts(layer.parameters()).children] == ["0", "1"]
    assert len(list(listing)) == 2
    assert weakref.ref(layer)() is layer


@pytest.mark.parametrize("what", ["parameters", "buffers", "modules", "children"])
@pytest.mark.parametrize("named", ["named_", ""])
def test_what_lists_a_modules_contents_is_shown_and_not_used_up(what: str, named: str) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    listing, same = getattr(model, named + what)(), list(getattr(model, named + what)())
    facts = introspect.container_facts(listing)
    assert facts.text == f"what Module.{named}{what} will yield"
    assert [item.label for item in facts.children] == [
        repr(item[0]) if named else str(i) for i, item in enumerate(same)]
    assert len(list(listing)) == len(same) > 1
