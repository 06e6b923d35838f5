"""Files: what is saved here is PyTorch's file, byte for byte, and each library loads the other's."""
from __future__ import annotations

import io
import os
import resource
import sys
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mindtorch
from mindtorch._base.files import appending, replace_text
from tests.support import assert_same, torch

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
          "complex128"]


def network(t: Any) -> Any:
    t.manual_seed(0)
    return t.nn.Sequential(t.nn.Linear(3, 4), t.nn.ReLU(), t.nn.Linear(4, 2))


def trained(t: Any) -> Any:
    net = network(t)
    optimizer = t.optim.SGD(net.parameters(), lr=0.5, momentum=0.5)
    net(t.ones(1, 3)).sum().backward()
    optimizer.step()
    return {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 1}


def views(t: Any) -> Any:
    base = t.arange(12.0).view(3, 4)
    return [base, base.t(), base[1], base[1:, ::2], t.ones(1).expand(3), t.ones(0, 3), t.tensor(3)]


def with_attributes(t: Any) -> Any:
    tensor, parameter = t.ones(2), t.nn.Parameter(t.ones(2))
    tensor.note, parameter.note = "tensor", ["parameter"]
    return [tensor, parameter, t.nn.Parameter(t.ones(2), requires_grad=False), t.ones(2, requires_grad=True) * 2]


def others(t: Any) -> Any:
    return [t.float32, t.Size([1, 2]), t.device("cpu"), t.strided, 1.5, 2**40, -1, "text", b"ab", bytearray(b"c"), None,
            True, {1}, 1 + 2j, OrderedDict(a=1), Counter("aa"), (), [], t.ones(2, 3, device="meta")]


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "views": views, "training": trained, "attributes": with_attributes, "others": others,
    "dtypes": lambda t: [t.ones(3).to(getattr(t, dtype)) for dtype in DTYPES],
    "storages": lambda t: [t.ones(3).untyped_storage(), t.LongStorage([1, 2])],
}


def saved(t: Any, thing: Any, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    t.save(thing, file, **options)
    file.seek(0)
    return file


def check_same(ours: Any, theirs: Any) -> None:
    """Assert that what both libraries have is the same: tensors in value, dtype, shape, stride and offset."""
    if isinstance(theirs, torch.Tensor):
        assert_same(ours, theirs)
        assert tuple(ours.stride()) == theirs.stride() and ours.storage_offset() == theirs.storage_offset()
        assert type(ours).__name__ == type(theirs).__name__ and ours.requires_grad == theirs.requires_grad
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key, value in theirs.items():
            check_same(ours[key], value)
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for our, their in zip(ours, theirs, strict=True):
            check_same(our, their)
    else:
        assert repr(ours).replace("mindtorch", "torch") == repr(theirs)


@pytest.mark.parametrize("name", PROGRAMS)
def test_files_are_pytorchs_byte_for_byte(name: str) -> None:
    ours, theirs = (saved(t, PROGRAMS[name](t)) for t in (mindtorch, torch))
    fingerprint = theirs.getvalue().index(b"archive/.data/serialization_id")
    assert ours.getvalue()[:fingerprint] == theirs.getvalue()[:fingerprint]
    assert len(ours.getvalue()) == len(theirs.getvalue())


@pytest.mark.parametrize(("name", "zipped"), [  # PyTorch cannot load untyped storages in its legacy format
    (name, zipped) for name in PROGRAMS for zipped in (True, False) if zipped or name != "storages"])
def test_each_library_loads_the_others_file(name: str, zipped: bool) -> None:
    made = {t: PROGRAMS[name](t) for t in (mindtorch, torch)}
    files = {t: saved(t, made[t], _use_new_zipfile_serialization=zipped) for t in made}
    reference = torch.load(saved(torch, made[torch], _use_new_zipfile_serialization=zipped))
    check_same(mindtorch.load(files[torch]), reference)
    check_same(torch.load(files[mindtorch]), reference) if name != "others" else torch.load(files[mindtorch])


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_protocol_of_pickle_is_written_under_pytorchs_names(protocol: int) -> None:
    file = saved(mindtorch, trained(mindtorch), pickle_protocol=protocol)
    check_same(mindtorch.load(file, weights_only=False), torch.load(saved(torch, trained(torch))))
    file.seek(0)
    check_same(mindtorch.load(saved(torch, trained(torch))), torch.load(file, weights_only=False))


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
def test_storages_that_were_shared_are_shared_after_loading(zipped: bool) -> None:
    base = mindtorch.arange(6.0)
    file = saved(mindtorch, [base, base.view(2, 3), base[2:], base.clone()], _use_new_zipfile_serialization=zipped)
    whole, matrix, part, copy = mindtorch.load(file)
    matrix.fill_(7)
    assert whole.tolist() == [7] * 6 and part.tolist() == [7] * 4 and copy.tolist() == [0, 1, 2, 3, 4, 5]
    assert whole.untyped_storage() is part.untyped_storage()


def test_memory_seen_as_two_dtypes_is_refused_as_in_pytorch() -> None:
    for t in (mindtorch, torch):
        x = t.ones(2)
        with pytest.raises(RuntimeError, match="view the same data as different types"):
            t.save([x, x.view(t.int32)], io.BytesIO())


def test_lazy_conjugates_and_negatives_of_pytorch_are_computed_when_loaded() -> None:
    x = torch.tensor([1 + 2j, 3 - 1j])
    for lazy in (x.conj(), x.conj().imag, x.conj()[:, None].expand(2, 4)):
        assert mindtorch.load(saved(torch, lazy)).tolist() == lazy.tolist()
    first, second = mindtorch.load(saved(torch, [x.conj(), x.conj()[1:]]))
    assert second.untyped_storage() is first.untyped_storage()


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
def test_whole_modules_and_functions_go_both_ways(zipped: bool) -> None:
    x = [[1.0, 2.0, 3.0]]
    for source, target in ((mindtorch, torch), (torch, mindtorch)):
        file = saved(source, [network(source).eval(), source.tanh, source.nn.functional.relu, source.Tensor.add],
                     _use_new_zipfile_serialization=zipped)
        net, tanh, relu, add = target.load(file, weights_only=False)
        assert not net.training and repr(net) == repr(network(source))
        outputs = net(target.tensor(x)), network(source)(source.tensor(x))
        assert_same(*sorted(outputs, key=lambda y: type(y) is torch.Tensor))
        ones = target.ones(2)
        assert [f(*args).tolist() for f, args in ((tanh, (ones,)), (relu, (-ones,)), (add, (ones, ones)))] == [
            ones.tanh().tolist(), [0, 0], [2, 2]]


@pytest.mark.parametrize("program", [
    lambda t: t.save(t.ones(1), 3), lambda t: t.save(t.ones(1), None), lambda t: t.load(3), lambda t: t.load(None),
    lambda t: t.load("no such file"), lambda t: t.save(t.ones(1), "no such folder/file"),
    lambda t: t.save(t.ones(1), Path("/no/such/folder/file")),
    lambda t: t.save(t.ones(1), "no such folder/file", _use_new_zipfile_serialization=False),
])
def test_what_is_no_file_is_refused_as_in_pytorch(program: Any) -> None:
    errors = []
    for lib in (mindtorch, torch):
        with pytest.raises(Exception) as caught:
            program(lib)
        errors.append((caught.type, str(caught.value).splitlines()[0].replace("mindtorch", "torch")))
    assert errors[0] == errors[1]


@pytest.mark.parametrize("lib", [mindtorch, torch], ids=["mindtorch", "torch"])
def test_a_folder_is_no_file(lib: Any, tmp_path: Any) -> None:
    with pytest.raises(RuntimeError, match="open file failed with strerror: Is a directory"):
        lib.save(lib.ones(1), tmp_path)


def test_paths_file_objects_and_offsets(tmp_path: Any) -> None:
    x = mindtorch.arange(3.0)
    mindtorch.save(x, tmp_path / "a.b.pt")
    mindtorch.save(x, str(tmp_path / "ä.pt"))
    assert zipfile.ZipFile(tmp_path / "a.b.pt").namelist()[0] == "a.b/data.pkl"
    for path in (tmp_path / "a.b.pt", str(tmp_path / "ä.pt")):
        assert mindtorch.load(path).tolist() == torch.load(path).tolist() == [0, 1, 2]
    with open(tmp_path / "two", "w+b") as file:
        file.write(b"before")
        mindtorch.save(x, file, _use_new_zipfile_serialization=False)
        mindtorch.save(x + 1, file, _use_new_zipfile_serialization=False)
        file.seek(6)
        assert [mindtorch.load(file).tolist(), mindtorch.load(file).tolist()] == [[0, 1, 2], [1, 2, 3]]
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like"):
        mindtorch.save(x, 3)
    with pytest.raises(AttributeError, match="You can only torch"):
        mindtorch.load(3)
    with pytest.raises(FileNotFoundError):
        mindtorch.load(tmp_path / "none")


def test_a_mapped_file_is_read_when_looked_at_and_written_to_when_shared(tmp_path: Any) -> None:
    import mmap

    path = tmp_path / "x.pt"
    mindtorch.save({"w": mindtorch.arange(4.0)}, path)
    before = path.read_bytes()
    private = mindtorch.load(path, mmap=True)
    private["w"].add_(1)
    assert private["w"].tolist() == [1, 2, 3, 4] and path.read_bytes() == before
    with mindtorch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        mindtorch.load(path, mmap=True)["w"].add_(2)
    assert torch.load(path)["w"].tolist() == [2, 3, 4, 5]
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        mindtorch.load(io.BytesIO(before), mmap=True)
    mindtorch.save(mindtorch.ones(1), path, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        mindtorch.load(path, mmap=True)


def test_storages_can_be_left_out_and_filled_in_later(tmp_path: Any) -> None:
    path = tmp_path / "x.pt"
    with mindtorch.serialization.skip_data():
        mindtorch.save(mindtorch.arange(1.0, 4.0), path)
    assert mindtorch.load(path).tolist() == torch.load(path).tolist() == [0, 0, 0]
    meta = mindtorch.load(path, map_location="meta")
    offset = meta.untyped_storage()._checkpoint_offset
    assert offset == torch.load(path, map_location="meta").untyped_storage()._checkpoint_offset
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(mindtorch.arange(1.0, 4.0).numpy().tobytes())
    assert mindtorch.load(path).tolist() == [1, 2, 3]


@pytest.mark.parametrize("dtype", ["int16", "float64", "complex64", "bfloat16"])
def test_files_of_the_other_byte_order_are_swapped(dtype: str) -> None:
    x = torch.tensor([1, 2, 300]).to(getattr(torch, dtype))
    source, swapped = zipfile.ZipFile(saved(torch, x)), io.BytesIO()
    with zipfile.ZipFile(swapped, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith("data/0"):
                storage = x.clone().untyped_storage()
                storage.byteswap(x.dtype)
                data = bytes(storage.tolist())
            target.writestr(name, b"big" if name.endswith("byteorder") else data)
    swapped.seek(0)
    assert sys.byteorder == "little" and mindtorch.load(swapped).tolist() == x.tolist()


def test_checksums_can_be_left_out() -> None:
    mindtorch.serialization.set_crc32_options(False)
    try:
        file = saved(mindtorch, mindtorch.ones(2))
    finally:
        mindtorch.serialization.set_crc32_options(True)
    assert {entry.CRC for entry in zipfile.ZipFile(file).infolist()} == {0}
    file.seek(0)
    assert mindtorch.load(file).tolist() == [1, 1]


def test_large_offsets_take_the_forms_of_zip64() -> None:
    from mindtorch.serialization.archive import Writer

    class Nowhere:
        """A file of which only the sizes matter, and the headers are kept."""

        def __init__(self) -> None:
            self.headers: list[bytes] = []

        def write(self, data: Any) -> None:
            if memoryview(data).nbytes < 2**16:
                self.headers.append(bytes(data))

    file = Nowhere()
    archive = Writer(file, "archive", False, 64)
    archive._offset = 2**32
    archive.write_record("data/0", b"1234")
    entry = archive._directory[0]
    assert entry[42:46] == b"\xff\xff\xff\xff" and entry[-12:] == b"\x01\x00\x08\x00" + (2**32).to_bytes(8, "little")
    assert len(file.headers[-1]) == 20 and archive._offset % 64 == 4 + 24


def test_the_environment_can_force_either_kind_of_load(monkeypatch: pytest.MonkeyPatch) -> None:
    file = saved(mindtorch, network(mindtorch)).getvalue()
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="forcing weights_only=False"):
        assert isinstance(mindtorch.load(io.BytesIO(file)), mindtorch.nn.Sequential)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="but both were set"):
        mindtorch.load(io.BytesIO(file))
    assert os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] == "1"


@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64", "complex32", "float8_e4m3fn", "float8_e5m2"])
def test_rare_dtypes_are_saved_as_bytes_and_read_by_pytorch(name) -> None:
    ours, theirs = io.BytesIO(), io.BytesIO()
    tensors = [t.arange(4, dtype=t.uint8).view(getattr(t, name)) if name != "uint64" and name != "complex32" else
               t.arange(8, dtype=t.uint8).view(getattr(t, name)) for t in (mindtorch, torch)]
    mindtorch.save({"x": tensors[0]}, ours)
    torch.save({"x": tensors[1]}, theirs)
    for file, reader, as_bytes in ((ours, torch, torch.uint8), (theirs, mindtorch, mindtorch.uint8)):
        file.seek(0)
        read = reader.load(file)["x"]
        assert read.dtype is getattr(reader, name)
        assert read.view(as_bytes).tolist() == list(range(read.nbytes))


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("cause", ["no room", "no pickle", "no folder"])
def test_a_file_stays_as_it_was_until_the_new_one_is_whole(cause: str, zipped: bool, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    mindtorch.save([mindtorch.ones(3)], path)
    path.chmod(0o640)
    things: dict[str, Any] = {"no room": mindtorch.zeros(1 << 16), "no pickle": [mindtorch.zeros(3), lambda: None]}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    if cause == "no room":
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, limits[1]))
    try:
        target = path if cause != "no folder" else tmp_path / "nowhere" / "checkpoint.pt"
        with pytest.raises(Exception) as raised:
            mindtorch.save(things.get(cause, 1), target, _use_new_zipfile_serialization=zipped)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert cause == "no pickle" or str(target.parent) in str(raised.value)
    assert [file.name for file in tmp_path.iterdir()] == [path.name] and mindtorch.load(path)[0].tolist() == [1, 1, 1]
    mindtorch.save(2, path, _use_new_zipfile_serialization=zipped)
    assert mindtorch.load(path) == 2 and path.stat().st_mode & 0o777 == 0o640


def append(path: Path, text: str) -> None:
    with appending(path) as file:
        file.write(text)


@pytest.mark.parametrize("write", [replace_text, append])
def test_a_text_stays_as_it_was_where_the_disk_is_full(write: Any, tmp_path: Path) -> None:
    path = tmp_path / "grades.csv"
    path.write_text("ada\n")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, limits[1]))
    try:
        with pytest.raises(OSError, match=r"nothing was saved.*grades\.csv"):
            write(path, "bob\n" * (1 << 12))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_text() == "ada\n" and [*tmp_path.iterdir()] == [path]
    write(path, "bob\n")
    assert path.read_text() in ("bob\n", "ada\nbob\n")
