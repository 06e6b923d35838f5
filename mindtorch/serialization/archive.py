"""PyTorch's zip archives: records, written uncompressed and aligned, and read with distrust.

The layout is that of PyTorch's ``PyTorchStreamWriter``, byte for byte: its readers work out where a record lies from
the sizes of those before it.
"""
from __future__ import annotations

import io
import os
import re
import struct
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from .._base.errors import check
from .._base.files import replacing
from ..utils.serialization import config

_LOCAL, _DESCRIPTOR, _CENTRAL = b"PK\x03\x04", b"PK\x07\x08", b"PK\x01\x02"
_MAX32 = 0xFFFFFFFF
_OLDEST, _NEWEST = 1, 10  #: versions that PyTorch reads
#: How large a compressed record may be: that many bytes, or that many times its size in the file.
_DEFLATE_MAX, _DEFLATE_RATIO = 2**26, 100
_ZEROS = bytes(2**20)


def is_path(f: Any) -> bool:
    """Return whether ``f`` is the path of a file, not a file."""
    return isinstance(f, (str, os.PathLike))


@contextmanager
def opened(f: Any, mode: str) -> Iterator[Any]:
    """Open a file given by its path, or return an open file, for reading (``mode`` 'rb') or writing ('wb').

    Raises:
        AttributeError, io.UnsupportedOperation: if it is to be read, and cannot be sought in.
    """
    if is_path(f):
        with open(f, mode) if "r" in mode else replacing(f) as file:
            yield file
        return
    if "r" in mode:
        try:
            f.seek(f.tell())
        except (io.UnsupportedOperation, AttributeError) as error:
            if "seek" in str(error) or "tell" in str(error):
                raise type(error)(f"{error}. You can only torch.load from a file that is seekable. Please pre-load the "
                                  "data into a buffer like io.BytesIO and try to load from it instead.") from None
            raise
    yield f
    if "w" in mode and hasattr(f, "flush"):
        f.flush()


@contextmanager
def open_writer(f: Any) -> Iterator[Writer]:
    """Open an archive for writing, named after its file.

    Raises:
        AttributeError, TypeError: if the file has no method ``write``.
        RuntimeError: PyTorch's, if there is no folder for it, or a folder in its place.
    """
    if not is_path(f) and not callable(getattr(f, "write", None)):
        kind = TypeError if hasattr(f, "write") else AttributeError
        raise kind(f"Buffer of {str(type(f)).strip('<>')} has no callable attribute 'write'")
    name = "archive"
    if is_path(f):
        path = Path(os.fsdecode(f))
        check(path.parent.is_dir(), lambda: f"Parent directory {path.parent} does not exist.")
        check(not path.is_dir(), "open file failed with strerror: Is a directory")
        name = path.stem
    with opened(f, "wb") as file:
        archive = Writer(file, name, config.save.compute_crc32, config.save.storage_alignment)
        yield archive
        archive.close()


@contextmanager
def open_reader(f: Any) -> Iterator[Reader]:
    """Open the archive in a file."""
    with opened(f, "rb") as file:
        yield Reader(file)


def is_zipfile(file: Any) -> bool:
    """Return whether an archive begins at the file's position."""
    start = file.tell()
    magic = file.read(len(_LOCAL))
    file.seek(start)
    return magic == _LOCAL


class Writer:
    """Writes records to a file, from where it is now; ``close`` ends the archive.

    ``name`` is the directory that the records are in, ``crc32`` says whether to compute checksums, and ``alignment`` is
    what the offsets of the records' data are multiples of, in bytes.
    """

    def __init__(self, file: Any, name: str, crc32: bool, alignment: int):
        self._file, self._name, self._crc32, self._alignment = file, name, crc32, alignment
        self._offset = 0
        self._directory: list[bytes] = []
        self._print = [blake2b(digest_size=8), blake2b(digest_size=8)]  # of names, of checksums

    def _write(self, *parts: Any) -> None:
        for part in parts:
            self._file.write(part)
            self._offset += memoryview(part).nbytes

    def write_record(self, name: str, data: Any, size: int | None = None) -> None:
        """Write a record of a text, or of these bytes, or of ``size`` zeros for None."""
        data = data.encode() if isinstance(data, str) else data
        size = memoryview(data).nbytes if data is not None else size or 0
        crc = zlib.crc32(data) if self._crc32 and data is not None else 0
        self._print[0].update(name.encode())
        self._print[1].update(struct.pack("<I", crc))
        start, path = self._offset, f"{self._name}/{name}".encode()
        flags = 0x0808 if size else 0x0800  # names are UTF-8, and the sizes follow the data
        large, far = size >= _MAX32, start >= _MAX32
        sizes = struct.pack("<QQ", size, size) if large else b""
        extra = b""
        if large or far:
            extra = sizes + (struct.pack("<Q", start) if far else b"")
            extra = struct.pack("<HH", 1, len(extra)) + extra
        padding = -(start + 30 + len(path) + len(extra) + 4) % self._alignment
        padded = extra + b"FB" + struct.pack("<H", padding) + b"Z" * padding
        header = struct.pack("<HHHHHIIIHH", 0, flags, 0, 0, 0, 0, 0, 0, len(path), len(padded))
        self._write(_LOCAL, header, path, padded)
        if data is not None:
            self._write(data)
        else:
            for done in range(0, size, len(_ZEROS)):
                self._write(memoryview(_ZEROS)[: size - done])
        if size:
            self._write(_DESCRIPTOR, struct.pack("<IQQ" if extra else "<III", crc, size, size))
        shown = _MAX32 if large else size
        self._directory.append(_CENTRAL + struct.pack(
            "<HHHHHHIIIHHHHHII", 0, 0, flags, 0, 0, 0, crc, shown, shown, len(path), len(extra), 0, 0, 0, 0,
            _MAX32 if far else start) + path + extra)

    def write_record_metadata(self, name: str, size: int) -> None:
        """Write a record of ``size`` zeros, for others to fill in."""
        self.write_record(name, None, size)

    def close(self) -> None:
        """Write the version, a fingerprint of the records, and the directory of the archive."""
        self.write_record("version", b"3\n")
        names, checksums = (int.from_bytes(part.digest(), "little") for part in self._print)
        self.write_record(".data/serialization_id", f"{names:020d}{checksums:020d}".encode())
        start, entries = self._offset, len(self._directory)
        self._write(*self._directory)
        size, end = self._offset - start, self._offset
        self._write(b"PK\x06\x06", struct.pack("<QHHIIQQQQ", 44, 0x031E, 45, 0, 0, entries, entries, size, start),
                    b"PK\x06\x07", struct.pack("<IQI", 0, end, 1),
                    b"PK\x05\x06", struct.pack("<HHHHIIH", 0, 0, min(entries, 0xFFFF), min(entries, 0xFFFF),
                                               min(size, _MAX32), min(start, _MAX32), 0))


def _failed(why: str) -> NoReturn:
    raise RuntimeError(f"PytorchStreamReader failed reading zip archive: {why}")


class Reader:
    """Reads the records of an archive in a file that can be sought in (``torch.PyTorchFileReader``).

    Nothing is read that the file does not hold: records must lie within it one after the other, and be as long as its
    directory says. Raises RuntimeError if the file is not an archive of PyTorch's, or is forged.
    """

    def __init__(self, file: Any):
        self._file = file
        try:
            with zipfile.ZipFile(file) as archive:
                entries, self._end = archive.infolist(), archive.start_dir
        except Exception as error:  # zipfile raises many kinds of errors for other files
            raise RuntimeError(f"PytorchStreamReader failed reading zip archive: failed finding central directory "
                               f"({error})") from error
        if not entries:
            _failed("archive does not contain any files")
        self.name = entries[0].filename.partition("/")[0]
        self._entries: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            name = entry.filename
            if name != entry.orig_filename or name[:1] == "/" or "\\" in name or ".." in name.split("/"):
                _failed(f"the name {entry.orig_filename!r} leads out of the archive")
            if not name.startswith(f"{self.name}/"):
                _failed(f"the record {name!r} is not in the folder {self.name!r}")
            if name in self._entries:
                _failed(f"the record {name!r} is there twice")
            if entry.compress_type == zipfile.ZIP_STORED and entry.compress_size != entry.file_size:
                _failed(f"the record {name!r} is not compressed, but has two sizes")
            self._entries[name] = entry
        ordered = sorted(entries, key=lambda entry: entry.header_offset)
        self._starts = [entry.header_offset for entry in ordered] + [self._end]
        for entry, following in zip(ordered, self._starts[1:], strict=True):
            start = entry.header_offset
            if start < 0 or start + 30 + len(entry.filename) + entry.compress_size > following:
                _failed(f"the record {entry.filename!r} reaches into what follows it")
        if self._end > file.seek(0, os.SEEK_END):
            _failed("its directory lies behind its end")
        version = next((self.get_record(name) for name in (".data/version", "version") if self.has_record(name)), None)
        if version is None:
            _failed("there is no record of its version")
        number = re.match(rb"\s*(\d{1,9})", version)
        if number is None or not _OLDEST <= int(number[1]) <= _NEWEST:
            _failed(f"its version is {version[:20]!r}, but {_OLDEST} to {_NEWEST} can be read")

    def get_all_records(self) -> list[str]:
        """Return the names of the records, in their order in the file."""
        return [name.removeprefix(f"{self.name}/") for name in self._entries]

    def has_record(self, name: str) -> bool:
        """Return whether there is a record of this name."""
        return f"{self.name}/{name}" in self._entries

    def size(self, name: str) -> int:
        """Return the size of a record in bytes; RuntimeError if there is none of this name."""
        return self._entry(name).file_size

    def _entry(self, name: str) -> zipfile.ZipInfo:
        entry = self._entries.get(f"{self.name}/{name}")
        if entry is None:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found")
        return entry

    def get_record_offset(self, name: str, stored: bool = False) -> int:
        """Return the offset of a record's data in the file; if ``stored``, the data has to be uncompressed."""
        entry = self._entry(name)
        self._file.seek(entry.header_offset)
        header = self._file.read(30)
        if len(header) < 30 or header[:4] != _LOCAL:
            _failed(f"the record {name!r} has no header")
        named, extra = struct.unpack("<HH", header[26:])
        start = entry.header_offset + 30 + named + extra
        limit = self._starts[bisect_right(self._starts, entry.header_offset)]
        if self._file.read(named) != entry.filename.encode() or start + entry.compress_size > limit:
            _failed(f"the header of the record {name!r} does not agree with the archive's directory")
        if entry.flag_bits & 1:
            _failed(f"the record {name!r} is encrypted")
        if stored and (entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size):
            _failed(f"the record {name!r} is compressed, and cannot be mapped")
        return start

    def read(self, name: str) -> np.ndarray:
        """Read a record into a fresh array."""
        start, entry = self.get_record_offset(name), self._entry(name)
        self._file.seek(start)
        if entry.compress_type == zipfile.ZIP_STORED and entry.compress_size == entry.file_size:
            return read_bytes(self._file, entry.file_size)
        if entry.compress_type != zipfile.ZIP_DEFLATED:
            _failed(f"the record {name!r} is compressed in an unknown way")
        if entry.file_size > max(_DEFLATE_MAX, _DEFLATE_RATIO * entry.compress_size):
            _failed(f"the record {name!r} claims to be {entry.file_size} bytes, compressed to {entry.compress_size}")
        packed = read_bytes(self._file, entry.compress_size).tobytes()
        try:
            data = zlib.decompressobj(-15).decompress(packed, entry.file_size + 1)
        except zlib.error as error:
            _failed(f"the record {name!r} is compressed badly ({error})")
        if len(data) != entry.file_size:
            _failed(f"the record {name!r} is not as long as it claims to be")
        return np.frombuffer(bytearray(data), np.uint8)

    def get_record(self, name: str) -> bytes:
        """Return the bytes of a record."""
        return self.read(name).tobytes()


def read_bytes(file: Any, size: int) -> np.ndarray:
    """Read the next ``size`` bytes of a file into a fresh array; EOFError if the file ends before."""
    data = np.empty(size, np.uint8)
    view, done = memoryview(data), 0  # type: ignore[arg-type]
    readinto = getattr(file, "readinto", None)
    while done < size:
        if readinto is not None:
            count = readinto(view[done:])
        else:
            part = file.read(min(size - done, 2**24))
            count = len(part)
            view[done : done + count] = part
        if not count:
            raise EOFError(f"the file ends {size - done} bytes too early")
        done += count
    return data
