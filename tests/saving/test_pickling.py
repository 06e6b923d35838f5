"""``pickle`` and ``copy`` of what the library has."""
from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch
from tests.support import torch

COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy, "deepcopy": copy.deepcopy, **{f"pickle {protocol}": lambda x, protocol=protocol: pickle.loads(
        pickle.dumps(x, protocol)) for protocol in (2, 5)},
}
copies = pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)


class Tagged(mindtorch.Tensor):
    """A subclass with a slot."""

    __slots__ = ("mark",)


@copies
@pytest.mark.parametrize("name", ["float32", "bool", "Size([1, 2])", "device('npu:0')", "strided", "tanh", "Tensor.add",
                                  "nn.functional.relu", "nn.functional.gelu", "no_grad", "FloatStorage", "LongTensor",
                                  "channels_last", "Tensor", "nn.Linear"])
def test_what_has_a_name_comes_back_as_itself(name: str, copied: Callable[[Any], Any]) -> None:
    thing = eval(f"torch.{name}", {"torch": mindtorch})
    again = copied(thing)
    assert again == thing and type(again) is type(thing)


@copies
def test_tensors_keep_layout_class_and_attributes(copied: Callable[[Any], Any]) -> None:
    x = mindtorch.arange(6.0).view(2, 3).t()[1:].as_subclass(Tagged)
    x.note, x.mark = ["note"], 3
    again = copied(x)
    assert type(again) is Tagged and again.tolist() == x.tolist() and again.stride() == x.stride()
    assert again.storage_offset() == 1 and (again.note, again.mark) == (["note"], 3)
    assert (again.untyped_storage() is x.untyped_storage()) is (copied is copy.copy)
    assert (again.note is x.note) is (copied is copy.copy)


@copies
def test_parameters_and_generators_come_back(copied: Callable[[Any], Any]) -> None:
    parameter = mindtorch.nn.Parameter(mindtorch.ones(2), requires_grad=False)
    again = copied(parameter)
    assert type(again) is mindtorch.nn.Parameter and not again.requires_grad and again.tolist() == [1, 1]
    generator = mindtorch.Generator().manual_seed(3)
    mindtorch.rand(5, generator=generator)
    again = copied(generator)
    assert mindtorch.rand(3, generator=again).tolist() == mindtorch.rand(3, generator=generator).tolist()
    assert again.initial_seed() == 3


@copies
def test_named_tuples_come_back(copied: Callable[[Any], Any]) -> None:
    again = copied(mindtorch.max(mindtorch.ones(2, 2), 0))
    assert type(again) is type(mindtorch.max(mindtorch.ones(2, 2), 0)) and again.values.tolist() == [1, 1]


def test_a_result_is_pickled_as_a_leaf_and_not_deeply_copied() -> None:
    for t in (mindtorch, torch):
        result = t.ones(2, requires_grad=True) * 2
        for again in (copy.copy(result), pickle.loads(pickle.dumps(result))):
            assert again.is_leaf and again.requires_grad and again.tolist() == [2, 2]
        with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
            copy.deepcopy(result)


def test_hooks_are_left_behind_with_a_warning_unless_marked() -> None:
    x = mindtorch.ones(2, requires_grad=True)
    x.register_hook(print)
    with pytest.warns(UserWarning, match="backward hook .* on tensor will not be serialized"):
        pickle.dumps(x)
    y = mindtorch.ones(2, requires_grad=True)
    y.register_hook(mindtorch.utils.hooks.unserializable_hook(lambda grad: grad))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pickle.dumps(y)


def test_a_plain_pickle_keeps_storages_shared() -> None:
    x = mindtorch.zeros(4)
    whole, part, storage = pickle.loads(pickle.dumps([x, x[2:], x.untyped_storage()]))
    part.fill_(1)
    assert whole.tolist() == [0, 0, 1, 1] and storage is whole.untyped_storage()


def test_typed_storages_are_pytorchs() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TypedStorage is deprecated in PyTorch
        for t in (mindtorch, torch):
            s = t.FloatStorage([1, 2, 3])
            assert isinstance(s, t.FloatStorage) and not isinstance(s, t.LongStorage)
            assert s.type() == "torch.FloatStorage"
            assert s.tolist() == [1, 2, 3] == list(s) and len(s) == 3 and s.nbytes() == 12 and s[1] == 2
            assert s.long().tolist() == [1, 2, 3] and s.double().dtype is t.float64 and s.is_shared() is False
            assert str(s) == " 1.0\n 2.0\n 3.0\n[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 3]"
            assert s.clone().untyped().data_ptr() != s.untyped().data_ptr() == s.cpu().untyped().data_ptr()
            assert t.TypedStorage(4, dtype=t.int16).size() == 4 and t.is_storage(s) and t.is_storage(s.untyped())
            assert t.ShortStorage.from_buffer(bytearray([1, 2, 3, 4]), "big").tolist() == [258, 772]
            assert repr(t.UntypedStorage([1, 2])) == " 1\n 2\n[torch.storage.UntypedStorage(device=cpu) of size 2]"
            assert copy.deepcopy([s, s])[0].untyped() is not s.untyped() and s.resizable()
            with pytest.raises(RuntimeError, match="slices are only supported in UntypedStorage"):
                s[:2]
            with pytest.raises(RuntimeError, match="Too many positional arguments"):
                t.FloatStorage(1, 2)


def test_legacy_types_are_those_of_tensors() -> None:
    for t in (mindtorch, torch):
        x = t.ones(2)
        assert isinstance(x, t.FloatTensor) and not isinstance(x, t.LongTensor)
        assert x.type(t.LongTensor).dtype is t.int64 and x.type() == "torch.FloatTensor"
        assert isinstance(t.LongTensor([1]), t.LongTensor) and not isinstance(t.ones(1, device="meta"), t.FloatTensor)


def test_files_are_storages_and_tensors(tmp_path: Any) -> None:
    path = tmp_path / "numbers"
    np.arange(4, dtype=np.float32).tofile(path)
    for t in (mindtorch, torch):
        shared = t.FloatStorage.from_file(str(path), True, 4)
        assert shared.tolist() == [0, 1, 2, 3] and shared.untyped().filename == str(path)
        x, y = t.ones(2), t.ones(2)
        assert x.is_set_to(x.view(2)) and not x.is_set_to(y) and not x.is_set_to(x[:1])
        assert t.from_file(str(path), size=4).tolist() == [0, 1, 2, 3]
