"""Mutated files: `python -m tests.fuzz.files 100000 0` loads so many, of a seed, here and in PyTorch; a third number is
the one to begin with.

Files are ``torch.save``'s, of both formats and both libraries, and safetensors'. Bytes are changed, records of archives
are swapped, renamed or missing, directories lie about sizes and places, and instructions of pickles name other classes,
shapes and offsets. A file may load, if it loads in PyTorch, to equal tensors; or raise one of ``CLEAR``, if PyTorch
raises. Anything else is a finding, if no row of ``EXPLAINED`` says why. So are events that loading has no business with
(``FORBIDDEN``: running code, starting processes, writing files), memory above ``LIMIT``, more seconds than ``SLOW``,
and the death of the process, which is a fork of this one.
"""
from __future__ import annotations

import encodings.cp437  # noqa: F401 - zipfile loads it when it meets such a name
import io
import json
import os
import pickle
import pickletools
import random
import re
import resource
import signal
import struct
import sys
import tempfile
import traceback
import types
import warnings
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, NamedTuple

import mindtorch
from tests.fuzz import offline
from tests.fuzz.offline import Case, explained, explanation
from tests.support import torch

try:
    from safetensors import SafetensorError
    from safetensors.torch import save as save_safetensors
except ImportError:  # whose files are left out then
    SafetensorError = save_safetensors = None

#: What a hostile or damaged file may raise.
CLEAR = (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, *[SafetensorError][:SafetensorError is not None])
LIMIT, SLOW = 256 * 2**20, 2.0  #: bytes of address space (PyTorch has twice as many), seconds of processor time
FORBIDDEN = ("os.", "subprocess.", "shutil.", "socket.", "exec", "compile", "ctypes.", "import")
PACKAGE = os.path.dirname(mindtorch.__file__)  #: whose modules may be imported
_watching = False
_seen: list[str] = []


def _audit(event: str, args: Any) -> None:
    if not _watching:
        return
    ours = any(str(getattr(arg, "co_filename", arg)).startswith((PACKAGE, "mindtorch")) for arg in args[:2])
    writes = event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+")
    if not ours and (writes or event.startswith(FORBIDDEN)):
        _seen.append(f"{event} {args}"[:200])


sys.addaudithook(_audit)


# -- files -------------------------------------------------------------------------------------------------------------

class File(NamedTuple):
    """A file: ``safe`` says whether to load it with ``weights_only``."""

    kind: str
    data: bytes
    safe: bool = True


DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64",
          "complex128", "complex32", "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2"]


def things(lib: types.ModuleType) -> dict[str, Any]:
    """Return what is saved: all that files have."""
    base = lib.arange(12.0).view(3, 4)
    net = lib.nn.Linear(3, 2)
    net(lib.ones(1, 3)).sum().backward()
    optimizer = lib.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    optimizer.step()
    marked = lib.ones(2)
    marked.note = "attribute"
    ragged = lib.nested.nested_tensor([lib.ones(2, 3), lib.zeros(1, 3)], layout=lib.jagged)
    return {
        "views": {"base": base, "view": base.t(), "part": base[1:, ::2], "empty": lib.ones(0), "one": base[0, 1],
                  "expanded": base[:1].expand(5, 4)},
        "state": OrderedDict(net=net.state_dict(), optimizer=optimizer.state_dict(), epoch=3,
                             names=("a", 2.5, {1, 2}, b"x")),
        "objects": [lib.nn.Parameter(lib.ones(2)), marked, lib.ones(2, device="meta"), lib.Size([1, 2]), lib.float16,
                    lib.device("cpu"), lib.strided, lib.tensor([1 + 2j]).conj(), base.untyped_storage(),
                    bytearray(b"abc"), 1 + 2j, None, True, [], -5, 2**70],
        "dtypes": {name: lib.tensor([1, 0, 1, 1]).to(getattr(lib, name)) for name in DTYPES},
        "sparse": [base.to_sparse(), base.to_sparse_csr(), base.to_sparse_csc(), base[:2].to_sparse_bsr((1, 2))],
        "nested": ragged,
    }


@cache
def samples() -> list[File]:
    """Return files of both formats and libraries."""
    files = []
    for lib in (mindtorch, torch):
        for name, thing in things(lib).items():
            for zipped in (True, False):
                if name == "dtypes" and not zipped:  # which PyTorch's legacy format has no classes for
                    thing = {key: thing[key] for key in DTYPES[:12]}
                file = io.BytesIO()
                lib.save(thing, file, _use_new_zipfile_serialization=zipped)
                files.append(File("zip" if zipped else "legacy", file.getvalue()))
    if save_safetensors is not None:
        tensors = {name: x for name, x in things(torch)["dtypes"].items() if name not in ("complex32", "complex128")}
        files += [File("safetensors", save_safetensors(part)) for part in (
            tensors, {"a": torch.ones(2, 3), "empty": torch.ones(0)}, {"scalar": torch.tensor(2.5)})] * 2
    return files


# -- mutations ---------------------------------------------------------------------------------------------------------

NUMBERS = (0, 1, -1, 3, 2**7, 2**16, 2**31 - 1, 2**31, 2**32, 2**40, 2**62, -(2**63))
#: Parts of pickles that are up to something.
PIECES = [
    b"cos\nsystem\n", b"cbuiltins\neval\n", b"cposix\nsystem\nX\x04\x00\x00\x00trueq\x00\x85R", b"R", b"b", b"Q",
    b"h\x00", b"c_codecs\nencode\n", b"cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R", b"(" * 50, b"0", b"2",
    b"ctorch\nTensor\nJ\xff\xff\xff\x7f\x85R", b"ctorch._utils\n_rebuild_tensor_v2\n", b"ctorch\nFloatStorage\n",
    b"\x8a\xff" + b"\x7f" * 255, b"\x81", b"\x93", b"ctorch.storage\nUntypedStorage\nJ\xff\xff\xff\x7f\x85R",
    b"cmindtorch\nload\n", b"}(K\x00h\x00s", b"\x95\xff\xff\xff\xff\xff\xff\xff\x7f", b"X\xff\xff\xff\x7f",
    b"ctorch._tensor\n_rebuild_from_type_v2\n", b"ctorch._dynamo.decorators\n_DimRange\n)\x81",
    b"ctorch.nested._internal.nested_tensor\nNestedTensor\n", b"ctorch._utils\n_rebuild_sparse_tensor\n",
]
GLOBALS = (b"torch HalfStorage", b"torch DoubleStorage", b"torch BoolStorage", b"torch.storage UntypedStorage",
           b"torch._utils _rebuild_tensor_v2", b"torch._utils _rebuild_parameter",
           b"torch._tensor _rebuild_from_type_v2",
           b"torch._utils _rebuild_sparse_tensor", b"torch._utils _rebuild_meta_tensor_no_storage",
           b"collections OrderedDict", b"collections Counter", b"torch Size", b"torch float16", b"torch Tensor",
           b"builtins set", b"builtins complex", b"os system", b"torch device", b"torch.serialization _get_layout")
NAMES = ("archive/data/0", "archive/data.pkl", "../../etc/passwd", "/etc/passwd", "", "archive/", "archive/data/",
         "other/data/0", "archive/data/1", "archive\\data\\0", "archive/./data/0", "archive/data/\x00", "archive/ü",
         "archive/" + "a" * 300, "archive/version", "archive/byteorder", "archive/constants.pkl",
         "archive/.format_version")


def change_bytes(data: bytearray, drawn: random.Random) -> None:
    """Change some bytes, cut, repeat or move a part, or write an extreme number somewhere."""
    for _ in range(drawn.choice((1, 1, 2, 4, 8))):
        at = drawn.randrange(len(data) + 1)
        match drawn.randrange(7):
            case 0:
                data[at : at + 1] = bytes([drawn.randrange(256)])
            case 1 if at < len(data):
                data[at] ^= 1 << drawn.randrange(8)
            case 2:
                del data[at : at + drawn.choice((1, 2, 16, 256, len(data)))]
            case 3:
                start = drawn.randrange(len(data) + 1)
                data[at:at] = data[start : start + drawn.choice((1, 8, 64, 512))]
            case 4:
                size = drawn.choice((1, 2, 4, 8))
                data[at : at + size] = (drawn.choice(NUMBERS) % 2 ** (8 * size)).to_bytes(size, "little")
            case 5:
                data[at:at] = drawn.choice(PIECES)
            case 6:
                data[at : at + drawn.choice((1, 4, 30))] = drawn.randbytes(drawn.choice((1, 4, 30)))


def instructions(data: bytes) -> list[tuple[str, int, int]]:
    """Return the instructions of the pickles that data begins with, and where each begins and ends."""
    file, found = io.BytesIO(data), []
    with suppress(ValueError):
        while data[file.tell() : file.tell() + 1] == b"\x80":
            for op, _, at in pickletools.genops(file):
                if found and found[-1][2] < 0:
                    found[-1] = (*found[-1][:2], at)
                found.append((op.name, at, -1))
            found[-1] = (*found[-1][:2], file.tell())
    return [one for one in found if one[2] > 0]


def change_instructions(data: bytearray, drawn: random.Random) -> None:
    """Give an instruction another number, text or class; or repeat, remove or move it."""
    for _ in range(drawn.choice((1, 1, 1, 2, 3))):
        ops = instructions(bytes(data))
        if not ops:
            change_bytes(data, drawn)
            return
        name, at, end = drawn.choice(ops)
        if drawn.random() < 0.6:  # mostly sizes, strides, offsets, classes
            wanted = [op for op in ops if op[0] in ("BININT", "BININT1", "BININT2", "LONG1", "GLOBAL", "BINUNICODE")]
            name, at, end = drawn.choice(wanted or ops)
        match name:
            case "BININT" | "BININT1" | "BININT2" | "LONG1" | "BINFLOAT" | "NEWTRUE" | "NEWFALSE" | "NONE":
                data[at:end] = pickle.dumps(drawn.choice([*NUMBERS, None, True, 2.5, "4", (1,), 2**70]), 2)[2:-1]
            case "GLOBAL" if drawn.random() < 0.9:
                data[at:end] = b"c" + drawn.choice(GLOBALS).replace(b" ", b"\n") + b"\n"
            case "BINUNICODE" if drawn.random() < 0.8:
                text = drawn.choice(("0", "1", "99", "cpu", "cuda:0", "meta", "storage", "", "../0", "ü", "module",
                                     "a" * 300, "requires_grad", "__class__", "_backward_hooks", "sparse_coo",
                                     "torch.sparse_csr"))
                data[at:end] = pickle.dumps(text, 2)[2:-1]
            case _:
                other = drawn.choice(ops)
                match drawn.randrange(4):
                    case 0:
                        data[at:at] = data[at:end]
                    case 1:
                        del data[at:end]
                    case 2:
                        data[at:end] = data[other[1] : other[2]]
                    case 3:
                        data[at:end] = drawn.choice(PIECES)


def change_directory(data: bytearray, drawn: random.Random) -> None:
    """Let a header in an archive lie: in a field of the directory, of a record's own header, or of the ends."""
    marks = [(b"PK\x01\x02", 46), (b"PK\x03\x04", 30), (b"PK\x06\x06", 56), (b"PK\x05\x06", 22), (b"PK\x06\x07", 20)]
    mark, size = drawn.choice(marks[:1] * 3 + marks)
    places = [found.start() for found in re.finditer(re.escape(mark), data)]
    if not places:
        return
    at, step = drawn.choice(places), drawn.choice((2, 4, 8))
    field = at + drawn.randrange(4, (38 if mark == marks[0][0] else size) - step + 1, 2)  # not the attributes, by which
    # PyTorch's reader takes a record for a folder, and leaves its memory as it was
    before = int.from_bytes(data[field : field + step], "little")
    after = drawn.choice([*NUMBERS, before + 1, before - 1, 2 * before, before + 64])
    data[field : field + step] = (after % 2 ** (8 * step)).to_bytes(step, "little")


def change_records(sample: bytes, drawn: random.Random) -> tuple[bytes, bool]:
    """Write an archive anew with records changed; return whether it can be loaded without ``weights_only``."""
    with zipfile.ZipFile(io.BytesIO(sample)) as source:
        records = [(name, bytearray(source.read(name))) for name in source.namelist()]
    tensors = [i for i, (name, _) in enumerate(records) if "/data/" in name]
    i, j, safe = drawn.randrange(len(records)), drawn.randrange(len(records)), False
    match drawn.randrange(8):
        case 0 | 1:
            change_instructions(records[0][1], drawn)
            safe = True
        case 2:
            change_bytes(records[i][1], drawn)
            safe = i == 0
        case 3:
            del records[i]
        case 4:
            records.insert(j, records[i])
        case 5:
            records[i] = drawn.choice(NAMES), records[i][1]
            safe = True  # another record may become the pickle
        case 6 if len(tensors) > 1:
            i, j = drawn.sample(tensors, 2)
            records[i], records[j] = (records[i][0], records[j][1]), (records[j][0], records[i][1])
        case _:
            i = drawn.choice(tensors or [0])
            data = records[i][1]
            records[i] = records[i][0], drawn.choice((data[:-1], data * 2, bytearray(), bytearray(2**20)))
            safe = i == 0
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as target:
        for name, data in records:
            target.writestr(zipfile.ZipInfo(name), bytes(data), drawn.choice((0, 0, 0, 8)))
    return out.getvalue(), safe


def change_header(sample: bytes, drawn: random.Random) -> bytes:
    """Let the header of a file of safetensors lie."""
    (length,) = struct.unpack("<Q", sample[:8])
    header, rest = json.loads(sample[8 : 8 + length]), sample[8 + length :]
    rows = [row for name, row in header.items() if name != "__metadata__"]
    row = drawn.choice(rows)
    match drawn.randrange(9):
        case 0:
            row["dtype"] = drawn.choice(["F64", "F32", "I8", "BOOL", "F8_E4M3", "F4", "X", "", 3, None, "C64", "U16"])
        case 1:
            row["shape"] = drawn.choice([[2], [], [-1], [2**40], [2**40, 2**40], [0, 2**62], "3", [1.5], None, [1] * 99,
                                         row["shape"] + [1]])
        case 2:
            begin, end = row["data_offsets"]
            row["data_offsets"] = drawn.choice([[begin + 1, end], [begin, end + 1], [end, begin], [-1, end], [0, 2**62],
                                                [begin], [0, 0], None, [begin, end, end], [begin + 2**63, end + 2**63]])
        case 3:
            del row[drawn.choice([*row])]
        case 4:
            drawn.choice(rows)["data_offsets"] = row["data_offsets"]
        case 5:
            header[drawn.choice(["", "__metadata__", "ü", "a" * 10_000, "x"])] = drawn.choice(
                [row, {}, {"by": 3}, None, [], {"a": {"b": {}}}])
        case 6:
            rest = drawn.choice([rest[:-1], rest + b"x", b"", rest * 2])
        case _:
            length = drawn.choice(NUMBERS) % 2**64
            return struct.pack("<Q", length) + sample[8:]
    text = json.dumps(header).encode()
    if drawn.random() < 0.1:
        text = text.replace(b"{", drawn.choice([b"{" * 200, b"{ ", b"\xff", b"[", b'{"x":' * 3000]), 1)
    return struct.pack("<Q", len(text)) + text + rest


def mutated(drawn: random.Random) -> File:
    """Draw a sample, and a change of it that its format has."""
    sample = drawn.choice(samples())
    data, how = bytearray(sample.data), drawn.random()
    if sample.kind == "safetensors" and how < 0.6:
        return sample._replace(data=change_header(sample.data, drawn))
    if sample.kind == "zip" and how < 0.5:
        changed, safe = change_records(sample.data, drawn)
        return File("zip", changed, safe or drawn.random() < 0.5)
    if sample.kind == "zip" and how < 0.75:
        change_directory(data, drawn)
    elif sample.kind == "legacy" and how < 0.5:
        change_instructions(data, drawn)
    else:
        change_bytes(data, drawn)
    return sample._replace(data=bytes(data))


# -- loading -----------------------------------------------------------------------------------------------------------

@contextmanager
def limited(limit: int) -> Iterator[None]:
    """Let the process have so many bytes more than now, and raise TimeoutError after ``SLOW`` seconds of its time."""
    def late(number: int, frame: types.FrameType | None) -> None:
        raise TimeoutError(f"more than {SLOW} s")

    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    before, handler = resource.getrlimit(resource.RLIMIT_AS), signal.signal(signal.SIGVTALRM, late)
    resource.setrlimit(resource.RLIMIT_AS, (now + limit, before[1]))
    signal.setitimer(signal.ITIMER_VIRTUAL, SLOW)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, before)
        signal.signal(signal.SIGVTALRM, handler)


def read(x: Any) -> Any:
    """Return the elements of a tensor of either library as bytes."""
    if x.is_nested:
        return [described(x.values()), described(x.offsets())]
    name = str(x.layout).removeprefix("torch.")
    if name == "sparse_coo":
        return [described(x._indices()), described(x._values()), x.is_coalesced()]
    if name != "strided":
        first, second = ("crow", "col") if name in ("sparse_csr", "sparse_bsr") else ("ccol", "row")
        return [described(getattr(x, f"{part}_indices")()) for part in (first, second)] + [described(x.values())]
    if x.is_meta or x.numel() > 10_000:
        return None
    if str(x.dtype) == "torch.bool":  # any other byte than 0 is true; PyTorch's copies write 1 in some layouts only
        return x.tolist()
    lib = mindtorch if isinstance(x, mindtorch.Tensor) else torch
    return bytes(x.resolve_conj().resolve_neg().flatten().repeat(1).view(lib.uint8).tolist())


def described(value: Any, depth: int = 0) -> Any:
    """Return a loaded value as plain Python, equal for both libraries."""
    name = type(value).__name__
    if depth > 12:
        return "..."
    if isinstance(value, (mindtorch.Tensor, torch.Tensor)):
        value = value.detach() if name == "Parameter" else value
        shape = None if value.is_nested else (tuple(value.shape), value.layout is value.layout)
        return [name, str(value.dtype), shape, value.requires_grad, read(value.detach())]
    if isinstance(value, dict):
        return [name, *[(described(key, depth + 1), described(x, depth + 1)) for key, x in [*value.items()][:99]]]
    if isinstance(value, (set, frozenset)):
        return [name, *sorted(str(described(x, depth + 1)) for x in [*value][:99])]
    if isinstance(value, (list, tuple)):
        return [name, *[described(x, depth + 1) for x in value[:99]]]
    if name in ("UntypedStorage", "TypedStorage"):
        return [name, value.nbytes()]
    if callable(value):
        return value.__name__.lstrip("_")
    return [name.lower().removesuffix("type"), str(value)[:999]]


def loaded(lib: types.ModuleType, file: File) -> tuple[Any, Exception | None]:
    """Load a file; return what it holds, or an error."""
    try:
        if file.kind == "safetensors":
            with tempfile.NamedTemporaryFile(suffix=".safetensors", dir=scratch()) as target:
                target.write(file.data)
                target.flush()
                return watched(lib, lambda: dict(sorted(lib.load(target.name).items()))), None
        return watched(lib, lambda: lib.load(io.BytesIO(file.data), weights_only=file.safe)), None
    except Exception as error:
        return None, error


def scratch() -> str | None:
    return "/dev/shm" if os.path.isdir("/dev/shm") else None


def watched(lib: types.ModuleType, load: Callable[[], Any]) -> Any:
    global _watching
    with limited(LIMIT if lib is mindtorch else 2 * LIMIT):
        _watching = lib is mindtorch
        try:
            return described(load())
        finally:
            _watching = False


#: Differences that are meant to be: the kinds of files, our outcome and PyTorch's.
EXPLAINED = explained(
    ("legacy", "^loaded$", "^AttributeError: type object 'torch.storage.UntypedStorage' has no", "PyTorch's legacy "
     "format does not read storages without a dtype, which it writes."),
    ("legacy|zip", "^loaded$", r"^TypeError: set_\(\) received", "PyTorch makes no tensors of storages without a "
     "dtype."),
    ("zip", "is there twice", "", "Of two records of a name PyTorch reads the one that it finds first."),
    ("zip", "(reaches into what follows it|leads out of the archive)", "", "PyTorch's reader takes records that "
     "overlap, and names that lead out of the archive."),
    ("zip", "^loaded$", "(not a ZIP archive|multidisk|too many files|unsupported|invalid header)", "Where a "
     "field only helps to find the directory, or concerns a record that is not read, zipfile does not look at it."),
    ("zip", "failed finding central directory", "^loaded$", "zipfile refuses versions and disks that PyTorch's reader "
     "passes over."),
    ("zip", "^loaded$", "^(UnicodeDecodeError|ValueError: invalid literal)", "PyTorch reads records of a format's "
     "version and alignment, of which nothing depends here."),
    ("zip", "(header of the record .* does not agree|has no header)", "^loaded$", "PyTorch's reader does not look at a "
     "name twice."),
    ("legacy|zip", "(multiplication overflow|calculation overflowed)", "^loaded$", "Steps beyond 64 "
     "bits are refused, even of nothing."),
    ("legacy|zip", "expected a dictionary of a tensor's (hooks|bits)", "^loaded$", "PyTorch keeps anything in the "
     "place of hooks, and does not look at empty bits."),
    ("legacy|zip", "a bytearray is made of bytes", "^loaded$", "A bytearray made of a size could be of any."),
    ("legacy", "should have a list of storages' keys, but has '", "^loaded$", "PyTorch takes the letters of a text for "
     "keys."),
    ("zip", "compressed badly", "^loaded$", "PyTorch's reader takes zeros for a record that does not inflate."),
    ("legacy|zip", "^loaded$", r".* \(.*nested_tensor\.py.*\)$", "PyTorch lets a file replace the parts of a nested "
     "tensor, and fails where it looks at them."),
    ("legacy|zip", "bytes are encoded as latin1", "^loaded$", "Other encodings make text larger than the file."),
    ("legacy|zip", r".* \((\S+ )*sparse\.py errors\.py\)$", "^loaded$", "PyTorch does not check what sparse tensors of "
     "files must be, and reads memory outside of them."),
    ("legacy", "out of bounds for storage", "^loaded$", "PyTorch lets a storage of a legacy file grow."),
    ("legacy|zip", "expected (a class of storages|the (number of elements|location|key) of a storage)", "", "PyTorch "
     "takes other types for sizes, keys and locations, and anything with a dtype for a class."),
    ("legacy", "wrong byte size", "^loaded$", "PyTorch multiplies sizes without looking for overflow."),
    ("legacy", "no data for the storage", "^loaded$", "PyTorch leaves such a storage as memory was before."),
    ("safetensors", "the dtype F4, which mindtorch does not have", "^loaded$", "Of float4 there is a name alone."),
    ("safetensors", "Storage size calculation overflowed", "^loaded$", "NumPy counts the bytes of an empty array as if "
     "no size were 0."),
    ("legacy|zip", "Can only create an empty", "^loaded$", "The memory of a tensor or storage made of a size would be "
     "as it was before."),
    ("legacy|zip", r"has the attribute '\w+', which is the tensor's", "^loaded$", "PyTorch lets a file replace a "
     "tensor's methods."),
    ("safetensors", "NumPy has at most", "^loaded$", "NumPy's arrays have at most 32 or 64 dimensions."),
    ("zip|legacy", "^loaded$", "(_DimRange|'_dynamo).* has no attribute|.*has no attribute '_dynamo", "PyTorch reads "
     "marks of the compiler when it makes nested tensors."),
    ("zip|legacy", "a range of sizes is a number", "^loaded$", "PyTorch takes anything for the numbers of such marks."),
)


def shown(error: Exception | None) -> str:
    """Return an error's type, its words, and the files that it came through."""
    if error is None:
        return "loaded"
    text = str(error)
    text = text.split("WeightsUnpickler error:")[-1].split("use case:")[-1] if "WeightsUnpickler" in text else text
    places = [os.path.basename(frame.filename) for frame in traceback.extract_tb(error.__traceback__)[-5:]]
    return f"{type(error).__name__}: {' '.join(text.split())[:300]} ({' '.join(dict.fromkeys(places))})"


def tried(file: File, compared: bool = True, mark: Callable[[str], None] = lambda text: None) -> Case:
    """Load a file here, and in PyTorch; return in what that is not as it should be."""
    _seen.clear()
    mark("ours")
    ours, error = loaded(mindtorch, file)
    text, wrong, reasons = shown(error), [], []
    if error is not None and not isinstance(error, CLEAR) and not (
            not file.safe and isinstance(error, (AttributeError, ImportError))):
        wrong.append(f"{text}, line {traceback.extract_tb(error.__traceback__)[-1].lineno}")
    if _seen:
        wrong.append(f"it did {_seen}")
    if compared and not wrong:
        mark("theirs")
        theirs, other = loaded(torch, file)
        if (error is None) != (other is None) or (error is None and ours != theirs):
            text = f"{text}, torch {shown(other)}" if error or other else f"loaded {first_difference(ours, theirs)}"
            reason = explanation(EXPLAINED, file.kind, shown(error), shown(other))
            reasons = [] if reason is None else [reason]
            if error is other is None and any(loaded(torch, file)[0] != theirs for _ in range(5)):
                reasons = ["PyTorch shows memory as it was before, other values each time."]
            wrong += [] if reasons else [text]
    return Case(f"{file.kind}, {text.split(':')[0]}", f"{file.kind}, weights_only={file.safe}", wrong, reasons)


def first_difference(ours: Any, theirs: Any) -> str:
    if isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple)) and len(ours) == len(theirs):
        return next(first_difference(a, b) for a, b in zip(ours, theirs, strict=True) if a != b)
    return f"{str(ours)[:150]}, torch {str(theirs)[:150]}"


def case(number: int, seed: int = 0) -> File:
    return mutated(random.Random(seed * 10**9 + number))


# -- many --------------------------------------------------------------------------------------------------------------

def warm() -> None:
    """Load each sample, so that modules which loading imports are there before they are watched."""
    for file in samples():
        for safe in (True, False):
            loaded(mindtorch, file._replace(safe=safe))


def cases(count: int, seed: int, start: int) -> Iterator[Case]:
    warm()
    return offline.in_forks(lambda number, mark: tried(case(number, seed), mark=mark), start, start + count)


def main(count: str = "1000", seed: str = "0", start: str = "0") -> None:
    warnings.simplefilter("ignore")
    offline.run(cases(int(count), int(seed), int(start)), int(count), int(start), f"mutated files, seed {seed}")


if __name__ == "__main__":
    main(*sys.argv[1:])
