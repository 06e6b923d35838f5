"""Mutated files: `python -m tests.saving.fuzz 10000 0` loads so many, of a seed, and says what became of them.

A mutated file may load, or raise one of ``CLEAR``. Anything else is a finding: another error, an event that loading
has no business with (``FORBIDDEN``: running code, starting processes, writing files), more memory than ``LIMIT``, or
more seconds than ``SLOW``.
"""
from __future__ import annotations

import encodings.cp437  # noqa: F401 - zipfile loads it when it meets such a name
import io
import pickle
import random
import resource
import sys
import time
import traceback
import tracemalloc
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Iterator
from typing import Any

import mindtorch as torch

#: What a hostile or damaged file may raise.
CLEAR = (pickle.UnpicklingError, RuntimeError, EOFError, ValueError)
LIMIT, SLOW = 64 * 2**20, 2.0
FORBIDDEN = ("os.", "subprocess.", "shutil.", "socket.", "exec", "compile", "ctypes.", "import")
_watching = False
_seen: list[str] = []


def _audit(event: str, args: Any) -> None:
    writes = event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+")
    if _watching and (writes or event.startswith(FORBIDDEN)):
        _seen.append(f"{event} {args}"[:200])


sys.addaudithook(_audit)


def samples() -> list[bytes]:
    """Files of both formats, with all that files have."""
    base = torch.arange(12.0).view(3, 4)
    net = torch.nn.Linear(3, 2)
    net(torch.ones(1, 3)).sum().backward()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    optimizer.step()
    marked = torch.ones(2)
    marked.note = "attribute"
    things = [
        {"base": base, "view": base.t(), "part": base[1:, ::2], "empty": torch.ones(0), "flags": torch.tensor([True])},
        OrderedDict(net=net.state_dict(), optimizer=optimizer.state_dict(), epoch=3, names=("a", 2.5, {1, 2}, b"x")),
        [torch.nn.Parameter(torch.ones(2)), marked, torch.ones(2, device="meta"), torch.Size([1, 2]), torch.float16,
         torch.device("cpu"), torch.strided, torch.tensor([1 + 2j]), base.untyped_storage(), bytearray(b"abc")],
    ]
    files = []
    for thing in things:
        for zipped in (True, False):
            file = io.BytesIO()
            torch.save(thing, file, _use_new_zipfile_serialization=zipped)
            files.append(file.getvalue())
    return files


def _bytes(data: bytearray, rng: random.Random) -> None:
    """Change some bytes, cut, repeat or move a part, or write an extreme number somewhere."""
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(7):
            case 0:
                data[at : at + 1] = bytes([rng.randrange(256)])
            case 1 if at < len(data):
                data[at] ^= 1 << rng.randrange(8)
            case 2:
                del data[at : at + rng.choice((1, 2, 16, 256, len(data)))]
            case 3:
                start = rng.randrange(len(data) + 1)
                data[at:at] = data[start : start + rng.choice((1, 8, 64, 512))]
            case 4:
                size = rng.choice((1, 2, 4, 8))
                number = rng.choice((0, 1, -1, 2**7, 2**31 - 1, 2**31, 2**62, -(2**63)))
                data[at : at + size] = (number % 2 ** (8 * size)).to_bytes(size, "little")
            case 5:
                data[at:at] = rng.choice(_PIECES)
            case 6:
                data[at : at + rng.choice((1, 4, 30))] = rng.randbytes(rng.choice((1, 4, 30)))


#: Parts of pickles that are up to something.
_PIECES = [
    b"cos\nsystem\n", b"cbuiltins\neval\n", b"cposix\nsystem\nX\x04\x00\x00\x00trueq\x00\x85R", b"R", b"b", b"Q",
    b"h\x00", b"c_codecs\nencode\n", b"cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R", b"(" * 50, b"0", b"2",
    b"ctorch\nTensor\nJ\xff\xff\xff\x7f\x85R", b"ctorch._utils\n_rebuild_tensor_v2\n", b"ctorch\nFloatStorage\n",
    b"\x8a\xff" + b"\x7f" * 255, b"\x81", b"\x93", b"ctorch.storage\nUntypedStorage\nJ\xff\xff\xff\x7f\x85R",
    b"cmindtorch\nload\n", b"}(K\x00h\x00s", b"\x95\xff\xff\xff\xff\xff\xff\xff\x7f", b"X\xff\xff\xff\x7f",
    b"ctorch._tensor\n_rebuild_from_type_v2\n",
]


def mutated(sample: bytes, rng: random.Random) -> bytes:
    """A sample, changed: as a whole, or in one record of its archive."""
    if sample[:2] != b"PK" or rng.random() < 0.4:
        data = bytearray(sample)
        _bytes(data, rng)
        return bytes(data)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(sample)) as source, zipfile.ZipFile(out, "w") as target:
        names = source.namelist()
        chosen = names[0] if rng.random() < 0.6 else rng.choice(names)
        for name in names:
            data = bytearray(source.read(name))
            if name == chosen:
                _bytes(data, rng)
            target.writestr(zipfile.ZipInfo(name), bytes(data), rng.choice((0, 0, 8)))
    return out.getvalue()


def mutations(count: int, seed: int = 0) -> Iterator[bytes]:
    """So many mutated files."""
    files, rng = samples(), random.Random(seed)
    for _ in range(count):
        yield mutated(rng.choice(files), rng)


def tried(file: bytes) -> tuple[str, str | None]:
    """What became of loading a file, and what is wrong with that, if anything is."""
    global _watching
    _seen.clear()
    tracemalloc.reset_peak()
    before, start = tracemalloc.get_traced_memory()[0], time.process_time()
    _watching = True
    try:
        torch.load(io.BytesIO(file))
        outcome, error = "loaded", None
    except Exception as raised:
        outcome, error = type(raised).__name__, raised
    finally:
        _watching = False
    peak = tracemalloc.get_traced_memory()[1] - before
    if error is not None and not isinstance(error, CLEAR):
        where = traceback.extract_tb(error.__traceback__)[-1]
        return outcome, f"{outcome}: {error} ({where.filename}, line {where.lineno})"
    if _seen:
        return outcome, f"it did {_seen}"
    if peak > LIMIT:
        return outcome, f"it took {peak} bytes"
    if time.process_time() - start > SLOW:
        return outcome, f"it took {time.process_time() - start:.1f} s"
    return outcome, None


def main(count: int, seed: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))
    import warnings
    warnings.simplefilter("ignore")
    for file in samples():  # so that what loading imports is there
        tried(file)
    tracemalloc.start()
    outcomes: Counter[str] = Counter()
    findings = []
    for number, file in enumerate(mutations(count, seed)):
        outcome, wrong = tried(file)
        outcomes[outcome] += 1
        if wrong is not None:
            findings.append((number, wrong))
    print(f"{count} mutated files:", ", ".join(f"{name} {times}" for name, times in outcomes.most_common()))
    print(f"{len(findings)} findings, at most {LIMIT >> 20} MiB and {SLOW} s each")
    for number, wrong in findings[:20]:
        print(number, wrong[:300])


if __name__ == "__main__":
    main(*map(int, [*sys.argv[1:], 1000, 0][:2]))
