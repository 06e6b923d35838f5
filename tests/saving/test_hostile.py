"""Files that mean harm, or are damaged: an error of a clear type, nothing run, and little memory and time spent."""
from __future__ import annotations

import io
import pickle
import struct
import time
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch as torch


def archive(pickled: bytes, **records: bytes) -> io.BytesIO:
    """An archive with this pickle, and storages by their keys: ``s0`` is ``data/0``."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        target.writestr("archive/data.pkl", pickled)
        target.writestr("archive/version", "3")
        for name, data in records.items():
            target.writestr(f"archive/data/{name[1:]}", data)
    file.seek(0)
    return file


def op(value: Any) -> bytes:
    """The instructions that push a value."""
    return pickle.dumps(value, 2)[2:-1]


def tensor(numel: Any = 4, offset: Any = 0, size: Any = (4,), stride: Any = (1,), key: Any = "0", more: bytes = b"",
           hooks: bytes = b"}", storage: bytes = b"ctorch\nFloatStorage\n") -> bytes:
    """A pickle of a float32 tensor."""
    saved = b"(" + op("storage") + storage + op(key) + op("cpu") + op(numel) + b"tQ"
    return (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + saved + op(offset) + op(size) + op(stride)
            + b"\x89" + hooks + more + b"tR.")


def call(path: str, *args: bytes) -> bytes:
    return b"\x80\x02c" + path.replace(" ", "\n").encode() + b"\n(" + b"".join(args) + b"tR."


FOUR = bytes(16)
NESTED = b"\x80\x02K\x01" + b"".join(b"q%c" % i + b"h%c\x86" % i for i in range(40))  # a pair of a pair of ...
#: What a file holds, the record of its storage, and the error.
HOSTILE: dict[str, tuple[bytes, bytes, type[Exception], str]] = {
    "calls a function of the system": (call("os system", op("true")), FOUR, pickle.UnpicklingError, "is blocked"),
    "calls eval": (call("builtins eval", op("1")), FOUR, pickle.UnpicklingError, "eval was not an allowed"),
    "calls getattr": (call("builtins getattr", op("1"), op("real")), FOUR, pickle.UnpicklingError, "not an allowed"),
    "calls what the library has": (call("mindtorch load", op("x")), FOUR, pickle.UnpicklingError, "not an allowed"),
    "calls a string": (b"\x80\x02" + op("os") + b")R.", FOUR, pickle.UnpicklingError, "unrecognized function"),
    "names a class by the stack": (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", FOUR, pickle.UnpicklingError,
                                   "Unsupported operand 140"),
    "rebuilds by another function": (call("torch._tensor _rebuild_from_type_v2", b"c_codecs\nencode\nctorch\nTensor\n",
                                          op(("a", "latin1")), b"N"), FOUR, pickle.UnpicklingError, "unrecognized"),
    "replaces a tensor's own attribute": (
        b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_meta_tensor_no_storage\nctorch\nTensor\n("
        b"ctorch\nfloat32\n" + op((1,)) + op((1,)) + b"\x89t}" + op("_keys") + b"K\x00stR.", FOUR, RuntimeError,
        "attribute '_keys'"),
    "a number of bytes": (call("builtins bytearray", op(2**40)), FOUR, pickle.UnpicklingError, "is made of bytes"),
    "a layout that is a module": (call("torch.serialization _get_layout", op("torch.storage")), FOUR,
                                  pickle.UnpicklingError, "has no layout torch.storage"),
    "a layout of another name": (call("torch.serialization _get_layout", op("torcH.strided")), FOUR,
                                 pickle.UnpicklingError, "has no layout torcH.strided"),
    "a conjugate of real numbers": (tensor(more=b"}" + op("conj") + b"\x88s"), FOUR, RuntimeError, "conjugate bit"),
    "bits that are no dictionary": (tensor(more=op(5)), FOUR, pickle.UnpicklingError, "dictionary of a tensor's bits"),
    "bits whose names are no text": (tensor(more=b"}K\x01\x88s"), FOUR, pickle.UnpicklingError, "true or false"),
    "hooks that are no dictionary": (tensor(hooks=op(5)), FOUR, pickle.UnpicklingError, "of a tensor's hooks"),
    "strides of a meta tensor that are no integers": (
        call("torch._utils _rebuild_meta_tensor_no_storage", b"ctorch\nfloat32\n", op((1,)), op((1.5,)), b"\x89"), FOUR,
        pickle.UnpicklingError, r"argument 'stride' \(position 2\) must be tuple of ints"),
    "a size of a tensor": (call("torch Tensor", op(2**40)), FOUR, pickle.UnpicklingError, "Can only create an empty"),
    "a size of a storage": (call("torch.storage UntypedStorage", op(2**40)), FOUR, pickle.UnpicklingError, "an empty"),
    "text in another encoding": (call("_codecs encode", op("a"), op("zlib")), FOUR, pickle.UnpicklingError, "latin1"),
    "a storage larger than its record": (tensor(2**40), FOUR, RuntimeError, "should have 4398046511104 bytes"),
    "a storage smaller than its record": (tensor(2), FOUR, RuntimeError, "should have 8 bytes"),
    "a negative storage": (tensor(-4), FOUR, pickle.UnpicklingError, "expected the number of elements"),
    "a storage of text": (tensor("4"), FOUR, pickle.UnpicklingError, "expected the number of elements"),
    "no class of storages for one that is known": (
        tensor()[:-1] + tensor(storage=b"ctorch\nfloat32\n")[2:-1] + b"\x86.", FOUR, pickle.UnpicklingError,
        "class of storages"),
    "no class of storages": (tensor(storage=b"ctorch\nfloat32\n"), FOUR, pickle.UnpicklingError, "class of storages"),
    "no record": (tensor(key="../data.pkl"), FOUR, RuntimeError, "file not found"),
    "a key that is a list": (tensor(key=["0"]), FOUR, pickle.UnpicklingError, "expected the key of a storage"),
    "a negative offset": (tensor(offset=-1), FOUR, RuntimeError, "invalid storage offset -1"),
    "an offset behind the end": (tensor(offset=1), FOUR, RuntimeError, "out of bounds for storage of size 16"),
    "an offset without end": (tensor(offset=2**70, size=(0,)), FOUR, RuntimeError, "overflow"),
    "a negative stride": (tensor(stride=(-1,)), FOUR, RuntimeError, "overflowed"),
    "a negative size": (tensor(size=(-1,)), FOUR, RuntimeError, "overflow"),
    "sizes that overflow": (tensor(size=(2**40, 2**40), stride=(0, 0)), FOUR, RuntimeError, "overflow"),
    "too many strides": (tensor(stride=(1, 1)), FOUR, RuntimeError, "unequal size length"),
    "too many dimensions": (tensor(size=(1,) * 999, stride=(1,) * 999), FOUR, RuntimeError, "999 dimensions"),
    "a size that is no number": (tensor(size=("a",)), FOUR, pickle.UnpicklingError, "malformed"),
    "a key that takes ages to hash": (b"\x80\x02}" + NESTED[2:] + b"Ns.", FOUR, pickle.UnpicklingError, "parts"),
    "an error that takes ages to tell": (NESTED + b")R.", FOUR, pickle.UnpicklingError, "unrecognized function"),
    "a text without end": (b"\x80\x02X\xff\xff\xff\xffabc.", FOUR, EOFError, "Ran out of input"),
    "nothing on the stack": (b"\x80\x02.", FOUR, pickle.UnpicklingError, "malformed"),
    "what it has not put away": (b"\x80\x02h\x07.", FOUR, pickle.UnpicklingError, "Memo value not found|malformed"),
    "no end": (b"\x80\x02]", FOUR, EOFError, ""),
    "empty": (b"", FOUR, EOFError, ""),
    "copies without end": (b"\x80\x02c_codecs\nencode\nq\x50" + op("x" * 2**17) + op("latin1") + b"\x86q\x51R"
                           + b"h\x50h\x51R" * 20_000 + b".", FOUR, pickle.UnpicklingError, "again and again"),
}


def bounded(load: Callable[[], Any]) -> Any:
    """Call a function, and assert that it took neither much memory nor much time."""
    tracemalloc.start()
    start = time.process_time()
    try:
        return load()
    finally:
        peak, seconds = tracemalloc.get_traced_memory()[1], time.process_time() - start
        tracemalloc.stop()
        assert peak < 128 * 2**20 and seconds < 5


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_pickle_is_refused(case: str) -> None:
    pickled, record, error, message = HOSTILE[case]
    with pytest.raises(error, match=message):
        bounded(lambda: torch.load(archive(pickled, s0=record)))


def test_lists_and_dictionaries_may_contain_themselves() -> None:
    cyclic: list[Any] = [{}]
    cyclic[0]["me"] = cyclic
    file = io.BytesIO()
    torch.save(cyclic, file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded[0]["me"] is loaded


def test_an_expanded_tensor_takes_no_more_than_its_storage() -> None:
    conj = b"}" + op("conj") + b"\x88s"
    pickled = tensor(2, size=(2**40,), stride=(0,), storage=b"ctorch\nComplexFloatStorage\n", more=conj)
    loaded = bounded(lambda: torch.load(archive(pickled, s0=struct.pack("<4f", 1, 2, 3, 4))))
    assert loaded.shape == (2**40,) and loaded[5].item() == 1 - 2j


def rewritten(change: Callable[[bytearray], Any]) -> io.BytesIO:
    """A file of ours, its bytes changed."""
    file = io.BytesIO()
    torch.save([torch.ones(4), torch.zeros(4)], file)
    data = bytearray(file.getvalue())
    change(data)
    return io.BytesIO(bytes(data))


def named(name: str) -> io.BytesIO:
    """An archive with a record of a name more."""
    file = archive(tensor(), s0=FOUR)
    with warnings.catch_warnings(), zipfile.ZipFile(file, "a") as target:
        warnings.simplefilter("ignore")  # zipfile's, of a name that is there twice
        target.writestr(name, FOUR)
    file.seek(0)
    return file


@pytest.mark.parametrize(("name", "message"), [
    ("../../etc/passwd", "leads out of the archive"), ("/etc/passwd", "leads out"), ("archive/../x", "leads out"),
    ("archive\\..\\x", "leads out"), ("archive/data/0", "is there twice"),
])
def test_an_archive_whose_names_lead_elsewhere_is_refused(name: str, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        torch.load(named(name))


def test_records_that_overlap_are_refused() -> None:
    def overlap(data: bytearray) -> None:
        second = data.rindex(b"PK\x01\x02", 0, data.rindex(b"archive/data/1"))
        first = data.rindex(b"PK\x01\x02", 0, data.rindex(b"archive/data/0"))
        data[second + 42 : second + 46] = data[first + 42 : first + 46]

    with pytest.raises(RuntimeError, match="reaches into what follows it"):
        torch.load(rewritten(overlap))


def test_a_compressed_bomb_is_refused_and_an_ordinary_one_is_read() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("archive/data.pkl", tensor(2**25, size=(2**25,)))
        target.writestr("archive/version", "3")
        target.writestr("archive/data/0", bytes(2**27))
    file.seek(0)
    with pytest.raises(RuntimeError, match="claims to be 134217728 bytes"):
        bounded(lambda: torch.load(file))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("archive/data.pkl", tensor())
        target.writestr("archive/version", "3")
        target.writestr("archive/data/0", FOUR)
    file.seek(0)
    assert torch.load(file).tolist() == [0, 0, 0, 0]


def test_a_compressed_record_cannot_be_mapped(tmp_path: Any) -> None:
    with zipfile.ZipFile(tmp_path / "x.pt", "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("archive/data.pkl", tensor(size=(400,), numel=400))
        target.writestr("archive/version", "3")
        target.writestr("archive/data/0", bytes(1600))
    with pytest.raises(RuntimeError, match="is compressed, and cannot be mapped"):
        torch.load(tmp_path / "x.pt", mmap=True)


@pytest.mark.parametrize("length", [0, 3, 4, 40, 200, -1, -30])
def test_a_truncated_file_is_an_error(length: int) -> None:
    for zipped in (True, False):
        file = io.BytesIO()
        torch.save(torch.ones(4), file, _use_new_zipfile_serialization=zipped)
        with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError)):
            torch.load(io.BytesIO(file.getvalue()[:length]))


def test_a_legacy_file_with_a_huge_storage_is_refused_before_memory_is_taken() -> None:
    file = io.BytesIO()
    torch.save(torch.ones(4), file, _use_new_zipfile_serialization=False)
    data = file.getvalue().replace(b"K\x04N", b"J\xff\xff\xff\x7fN")
    assert data != file.getvalue()
    with pytest.raises(RuntimeError, match="but the file is shorter"):
        bounded(lambda: torch.load(io.BytesIO(data)))


def test_a_torchscript_archive_and_other_files_are_told() -> None:
    file = archive(tensor(), s0=FOUR)
    with zipfile.ZipFile(file, "a") as target:
        target.writestr("archive/constants.pkl", b"")
    file.seek(0)
    with pytest.raises(RuntimeError, match="Cannot use ``weights_only=True`` with TorchScript archives"):
        torch.load(file)
    with pytest.raises(RuntimeError, match="Invalid magic number; corrupt file"):
        torch.load(io.BytesIO(pickle.dumps(3, 2)))
