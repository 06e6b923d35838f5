"""Where storages go when they are loaded."""
from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest

import mindtorch
from tests.support import torch


def saved(thing: Any, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    mindtorch.save(thing, file, **options)
    file.seek(0)
    return file


def from_location(location: str) -> io.BytesIO:
    """A file as of a machine on which a tensor of two was at a location."""
    file, out = saved(mindtorch.ones(2)), io.BytesIO()
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            tag = b"X" + len(location).to_bytes(4, "little") + location.encode()
            target.writestr(name, source.read(name).replace(b"X\x03\x00\x00\x00cpu", tag))
    out.seek(0)
    return out


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
def test_storages_go_back_to_the_npu_that_they_were_on(zipped: bool) -> None:
    a = mindtorch.arange(4.0, device="npu")
    file = saved([a, a[1:]], _use_new_zipfile_serialization=zipped)
    whole, part = mindtorch.load(file)
    assert whole.device == a.device and part.untyped_storage() is whole.untyped_storage()
    assert part.tolist() == [1, 2, 3]
    file.seek(0)
    assert mindtorch.load(file, map_location="cpu")[0].device.type == "cpu"


@pytest.mark.parametrize("map_location", [
    "cpu", mindtorch.device("cpu"), {"cuda:1": "cpu"}, lambda storage, location: storage, b"cpu",
], ids=["str", "device", "dict", "function", "bytes"])
def test_files_from_a_gpu_load_where_map_location_says(map_location: Any) -> None:
    loaded = mindtorch.load(from_location("cuda:1"), map_location=map_location)
    assert loaded.tolist() == [1, 1] and loaded.device.type == "cpu"
    assert mindtorch.load(from_location("cuda:1"), map_location="npu").device.type == "npu"


@pytest.mark.parametrize("location", ["cuda:0", "cuda", "nowhere"])
def test_without_map_location_there_is_pytorchs_error(location: str) -> None:
    said = []
    for t in (mindtorch, torch):
        with pytest.raises(RuntimeError) as raised:
            t.load(from_location(location))
        said.append(str(raised.value))
    assert said[0] == said[1]


def test_an_npu_that_is_not_there_is_an_error() -> None:
    with pytest.raises(RuntimeError, match=r"deserialize object on NPU device 99 but torch.npu.device_count\(\) is"):
        mindtorch.load(from_location("npu:99"))


def test_a_function_sees_each_storage_once_with_its_location_and_may_leave_it() -> None:
    seen = []

    def map_location(storage: Any, location: str) -> None:
        seen.append((storage.nbytes(), location))

    x = mindtorch.ones(4)
    assert len(mindtorch.load(saved([x, x[1:], mindtorch.ones(1)]), map_location=map_location)) == 3
    assert seen == [(16, "cpu"), (4, "cpu")]


def test_the_meta_device_takes_no_data() -> None:
    loaded = mindtorch.load(saved(mindtorch.ones(2, 3)), map_location="meta")
    assert loaded.is_meta and loaded.shape == (2, 3)
    assert mindtorch.load(saved(loaded)).is_meta


def test_users_register_places_of_their_own() -> None:
    from mindtorch.serialization import locations

    before = list(locations._packages)
    mindtorch.serialization.register_package(
        5, lambda storage: "archive" if storage.nbytes() == 12 else None,
        lambda storage, location: storage.fill_(0) if location == "archive" else None)
    try:
        assert mindtorch.serialization.location_tag(mindtorch.ones(3).untyped_storage()) == "archive"
        loaded = mindtorch.load(saved([mindtorch.ones(3), mindtorch.ones(2)]))
    finally:
        locations._packages[:] = before
    assert [x.tolist() for x in loaded] == [[0, 0, 0], [1, 1]]
