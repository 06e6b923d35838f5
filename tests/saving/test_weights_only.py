"""What a file may hold by default, and how users allow more."""
from __future__ import annotations

import io
import pickle
from typing import Any

import pytest

import mindtorch
from mindtorch import serialization
from tests.support import torch


class Point:
    """A class of a user's."""

    def __init__(self, x: int = 0):
        self.x = x


class Tagged(mindtorch.Tensor):
    """A subclass of a user's."""


def saved(thing: Any, t: Any = mindtorch) -> io.BytesIO:
    file = io.BytesIO()
    t.save(thing, file)
    file.seek(0)
    return file


def test_a_class_that_is_not_allowed_is_refused_in_pytorchs_words() -> None:
    said = []
    for t in (mindtorch, torch):
        with pytest.raises(pickle.UnpicklingError) as raised:
            t.load(saved(Point(), t))
        said.append(str(raised.value))
    assert said[0] == said[1] and "add_safe_globals([tests.saving.test_weights_only.Point])" in said[0]


def test_classes_are_allowed_for_good_or_in_a_block() -> None:
    before = set(serialization.get_safe_globals())  # DTensor's, once its module is imported
    with serialization.safe_globals([Point]):
        assert set(serialization.get_safe_globals()) == {*before, Point} and mindtorch.load(saved(Point(3))).x == 3
    assert set(serialization.get_safe_globals()) == before
    serialization.add_safe_globals([(Point, "tests.saving.test_weights_only.Point")])
    try:
        assert mindtorch.load(saved(Point(4))).x == 4
    finally:
        serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError):
        mindtorch.load(saved(Point()))
    serialization.add_safe_globals([*before])


def test_what_is_allowed_is_known_by_the_name_in_files() -> None:
    net = mindtorch.nn.Linear(2, 1)
    with serialization.safe_globals([mindtorch.nn.Linear, set, mindtorch.tanh]):
        loaded = mindtorch.load(saved(net))
        assert loaded(mindtorch.ones(2)).item() == net(mindtorch.ones(2)).item()
        assert mindtorch.load(saved(torch.nn.Linear(2, 1), torch)).in_features == 2


def test_tensors_of_a_subclass_keep_class_and_attributes() -> None:
    tensor = mindtorch.ones(2).as_subclass(Tagged)
    tensor.tag = [1, mindtorch.zeros(1)]
    with pytest.raises(pickle.UnpicklingError, match="Tagged was not an allowed global"):
        mindtorch.load(saved(tensor))
    with serialization.safe_globals([Tagged]):
        loaded = mindtorch.load(saved(tensor))
    assert type(loaded) is Tagged and loaded.tag[0] == 1 and loaded.tolist() == [1, 1]


def test_what_a_file_would_need_is_found_without_loading_it() -> None:
    found = {}
    for t in (mindtorch, torch):
        thing = [Point(), t.nn.Linear(1, 1), t.ones(1), {1}, t.nn.Parameter(t.ones(1))]
        found[t] = sorted(t.serialization.get_unsafe_globals_in_checkpoint(saved(thing, t)))
    assert found[mindtorch] == found[torch] and "torch.nn.modules.linear.Linear" in found[mindtorch]
    with pytest.raises(ValueError, match="Expected input to be a checkpoint"):
        serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"no such file"))


def test_a_module_of_the_system_is_refused_even_if_allowed() -> None:
    import os

    with serialization.safe_globals([os.system]), pytest.raises(pickle.UnpicklingError, match="posix is blocked"):
        mindtorch.load(saved({"f": os.system}))


@pytest.mark.parametrize("item", [(Point,), (Point, 3)])
def test_what_is_no_pair_of_a_class_and_a_path_is_refused(item: Any) -> None:
    errors = []
    for t in (mindtorch, torch):
        with t.serialization.safe_globals([item]), pytest.raises((ValueError, TypeError)) as raised:
            t.load(saved(Point(), t))
        errors.append((raised.type, str(raised.value)))
    assert errors[0] == errors[1]


def test_a_pickle_module_is_for_trusted_files_only() -> None:
    class Module:
        """pickle, under another name."""

        Pickler, Unpickler, load, dump, __name__ = pickle.Pickler, pickle.Unpickler, pickle.load, pickle.dump, "mine"

    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"):
        mindtorch.load(saved(1), pickle_module=Module, weights_only=True)
    file = io.BytesIO()
    mindtorch.save([mindtorch.ones(2), Point(2)], file, pickle_module=Module)
    file.seek(0)
    assert mindtorch.load(file, pickle_module=Module)[1].x == 2


def test_names_that_mindtorch_does_not_have_are_told() -> None:
    with pytest.raises(AttributeError, match=r"refers to torch\.optim\.nothing\.Here, which"):
        serialization.names.find("torch.optim.nothing", "Here")  # type: ignore[attr-defined]
    with pytest.raises(pickle.UnpicklingError, match=r"GLOBAL torch.bits8 was not an allowed global"):
        mindtorch.load(saved(torch.bits8, torch))
