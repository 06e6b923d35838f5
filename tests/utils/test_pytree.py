"""``torch.utils._pytree``: leaves, specs, paths and text are PyTorch's."""
from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import mindtorch as torch
from mindtorch.utils import _pytree as ours

reference = pytest.importorskip("torch", reason="PyTorch is not installed")
theirs = pytest.importorskip("torch.utils._pytree", reason="PyTorch is not installed")
Point = namedtuple("Point", "x y")
VALUES = {
    "leaf": 3, "none": None, "empty": (), "nested": (1, [2, {"b": 3, "a": [4, 5]}], None),
    "dictionaries": OrderedDict(x={"k": (1,)}, y=defaultdict(list, {"q": [1, 2]})),
    "named tuple": [Point(1, {"z": 2})], "deque": deque([1, (2, 3)], maxlen=5),
}


@pytest.mark.parametrize("name", VALUES)
def test_leaves_specs_and_paths_are_pytorchs(name) -> None:
    value = VALUES[name]
    (leaves, spec), (expected, expected_spec) = ours.tree_flatten(value), theirs.tree_flatten(value)
    assert leaves == expected and repr(spec) == repr(expected_spec) and ours.tree_unflatten(leaves, spec) == value
    counts = ("num_leaves", "num_nodes", "num_children")
    assert [getattr(spec, n) for n in counts] == [getattr(expected_spec, n) for n in counts]
    assert isinstance(spec, ours.LeafSpec) is isinstance(expected_spec, theirs.LeafSpec)
    paths, _ = ours.tree_flatten_with_path(value)
    expected_paths, _ = theirs.tree_flatten_with_path(value)
    assert [(ours.keystr(path), leaf) for path, leaf in paths] == [(theirs.keystr(p), x) for p, x in expected_paths]
    assert all(ours.key_get(value, path) == leaf for path, leaf in paths)
    doubled = ours.tree_map_only(int, lambda leaf: leaf * 2, value)
    assert doubled == theirs.tree_map_only(int, lambda leaf: leaf * 2, value)


@pytest.mark.parametrize("name", sorted({*VALUES} - {"named tuple"}))
def test_the_text_of_a_spec_is_pytorchs_both_ways(name) -> None:
    spec = ours.tree_structure(VALUES[name])
    text = ours.treespec_dumps(spec)
    assert text == theirs.treespec_dumps(theirs.tree_structure(VALUES[name])) and ours.treespec_loads(text) == spec


def test_outputs_of_operators_are_containers() -> None:
    found, spec = ours.tree_flatten(torch.tensor([1., 3.]).max(0))
    assert [leaf.item() for leaf in found] == [3., 1] and repr(spec) == "TreeSpec(max, None, [*,\n  *])"
    assert ours.is_structseq(spec.unflatten([1, 2])) and ours.is_namedtuple(Point(1, 2))


@pytest.mark.parametrize("call", [
    lambda p: p.tree_unflatten([1], p.tree_structure((1, 2))), lambda p: p.tree_unflatten([1], None),
    lambda p: p.tree_map(max, (1, 2), (1,)), lambda p: p.tree_map(max, (1, 2), [1, 2]),
    lambda p: p.tree_map(max, {"a": 1}, {"b": 1}), lambda p: p.register_pytree_node(list, None, None),
    lambda p: p.treespec_loads("[9, {}]"),
])
def test_errors_are_pytorchs(call) -> None:
    with pytest.raises(Exception) as expected:
        call(theirs)
    with pytest.raises(expected.type) as found:
        call(ours)
    assert str(found.value).split("(TreeSpec")[0] == str(expected.value).split("(TreeSpec")[0]


def test_types_of_users_become_containers() -> None:
    @dataclasses.dataclass
    class Pair:
        a: object
        b: object = None

    results = []
    for lib in (ours, theirs):
        lib.register_dataclass(Pair, serialized_type_name="tests.Pair")
        try:
            leaves, spec = lib.tree_flatten([Pair((1, 2)), Pair(3, b=4)])
            again = lib.tree_unflatten([leaf + 1 for leaf in leaves], spec)
            paths = [lib.keystr(path) for path, _ in lib.tree_leaves_with_path([Pair((1, 2)), Pair(3, b=4)])]
            results.append((leaves, again, paths, lib.treespec_loads(lib.treespec_dumps(spec)) == spec))
        finally:
            lib._deregister_pytree_node(Pair)
    assert results[0] == results[1] and results[0][1] == [Pair((2, 3)), Pair(4, b=5)]


def test_vmap_takes_containers_of_users() -> None:
    class Box:
        def __init__(self, x: object):
            self.x = x

    ours.register_pytree_node(Box, lambda box: ([box.x], None), lambda items, _: Box(*items))
    try:
        assert torch.vmap(lambda box: Box(box.x.sum()))(Box(torch.ones(2, 3))).x.tolist() == [3., 3.]
    finally:
        ours._deregister_pytree_node(Box)
