"""Run against limits, each in a process of its own: ``python -m tests.limits``; the exit code counts what failed.

Memory (``RLIMIT_AS``), a full ``/dev/shm``, a full disk while a file is saved or submissions are graded, a thousand
threads, a million live tensors. At each, an error in words is raised or the result is right, and nothing is lost. The
full file systems are mounted in a namespace of the process, for which it must be root's.
"""
from __future__ import annotations

import ctypes
import multiprocessing
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import mindtorch as torch
from mindtorch import nn
from mindtorch.nn import functional as F

TOP = Path(__file__).parents[1]
GIB = 1 << 30
CLONE_NEWNS = 0x20000  #: Linux's
ROOM = Path("/mnt")  #: where a full disk is mounted


def refused(run: Callable[[], object], kind: type[BaseException], *words: str) -> str:
    """Return the error's first line. Raises AssertionError if there is none, or one of another kind or other words."""
    try:
        run()
    except kind as error:
        said = (str(error).strip().splitlines() or [""])[0]
        assert any(word in str(error) for word in words), said
        return said
    raise AssertionError("nothing was raised")


def still_works() -> None:
    """Train a step, as before the limit was met."""
    model = nn.Linear(4, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(3, 4)).sum().backward()
    optimizer.step()
    assert model.weight.grad is not None and model.weight.grad.sum().item() == 24


def memory() -> str:
    """Run operators that need more than the 2 GiB of address space that there are."""
    resource.setrlimit(resource.RLIMIT_AS, (2 * GIB, 2 * GIB))
    rows: list[Callable[[], object]] = [
        lambda: torch.ones(GIB), lambda: torch.empty(4 * GIB), lambda: torch.randn(GIB), lambda: torch.arange(GIB),
        lambda: torch.ones(1 << 16, 1) @ torch.ones(1, 1 << 16), lambda: torch.cat([torch.ones(1 << 27)] * 5),
        lambda: torch.ones(1 << 20).repeat(1 << 10), lambda: torch.ones(1).expand(GIB).contiguous(),
        lambda: (torch.ones(1 << 14, 1, requires_grad=True) * torch.ones(1, 1 << 15)).exp().sum().backward(),
        lambda: F.one_hot(torch.arange(1 << 17)), lambda: torch.ones(1 << 28).softmax(0),
        lambda: torch.ones(1 << 28).sort(), lambda: torch.ones(1 << 28).half().softmax(0),
        lambda: F.conv2d(torch.ones(8, 64, 1024, 1024), torch.ones(64, 64, 3, 3)),
        lambda: torch.linalg.svd(torch.ones(1 << 14, 1 << 14)),
        lambda: torch.ones(1 << 20)[torch.zeros(GIB, dtype=torch.int64)]]
    for row in rows:
        said = refused(row, RuntimeError, "you tried to allocate")
        still_works()
    return f"{len(rows)} operators: {said}"


def mounted(path: Path, size: str) -> None:
    """Mount an empty file system of ``size`` that this process alone sees."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)], check=True)


class Wide(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """Samples of 4 MB."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((1 << 20,), float(index))


def shared_memory() -> str:
    """Share 4 MB where ``/dev/shm`` has one: a tensor is refused, or goes another way with the right values."""
    mounted(Path("/dev/shm"), "1m")
    try:
        torch.ones(1 << 20).share_memory_()
        shared = "a tensor is shared all the same"
    except RuntimeError as error:
        shared = f"share_memory_: {error}"
    try:
        found = [batch.mean().item() for batch in torch.utils.data.DataLoader(Wide(), 2, num_workers=2)]
        assert found == [0.5, 2.5], found
        loader = "a DataLoader's batches arrive all the same"
    except RuntimeError as error:
        loader = f"DataLoader: {error}"
    still_works()
    assert not [*Path("/dev/shm").iterdir()], "files were left"
    return f"{shared}; {loader}".replace("\n", " ")[:300]


def saving() -> str:
    """Save a model where only a part of it has room: the file that was there stays."""
    mounted(ROOM, "1m")
    file = ROOM / "model.pt"
    torch.save(torch.arange(3), file)
    for zipped in (True, False):
        said = refused(lambda z=zipped: torch.save(torch.ones(1 << 20), file, _use_new_zipfile_serialization=z),
                       (OSError, RuntimeError), str(file))  # type: ignore[misc, arg-type]
        assert torch.load(file).tolist() == [0, 1, 2] and [path.name for path in ROOM.iterdir()] == ["model.pt"]
    torch.save(torch.ones(3), file)
    assert torch.load(file).tolist() == [1, 1, 1]
    return said


def grading() -> str:
    """Grade a second student where there is no room: the first one's grades stay, and the command says why it ends."""
    mounted(ROOM, "4m")
    submissions, grades, filler = ROOM / "class", ROOM / "grades.csv", ROOM / "filler"
    (submissions / "ada").mkdir(parents=True)

    def course(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "mindtorch", "course", *map(str, arguments)], cwd=TOP, text=True,
                              capture_output=True)

    def graded() -> list[str]:
        return sorted({line.split(",")[0] for line in grades.read_text().splitlines()[1:]})

    assert not course("release", ROOM / "release").returncode
    shutil.move(next((ROOM / "release").rglob("01_*.ipynb")), submissions / "ada" / "01_strides.ipynb")
    shutil.rmtree(ROOM / "release")
    options = ("--grades", grades, "--feedback", ROOM / "feedback", "--resume")
    assert not course("grade", submissions, *options).returncode
    shutil.copytree(submissions / "ada", submissions / "bob")
    before = grades.read_text()
    with open(filler, "wb", 0) as file, suppress(OSError):
        while file.write(bytes(256)):
            pass
    done = course("grade", submissions, *options)
    said = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert "No space left" in said and str(ROOM) in said, said
    assert grades.read_text() == before, "the grades that were there are lost"
    filler.unlink()
    assert not course("grade", submissions, *options).returncode and graded() == ["ada", "bob"]
    return said


def threads() -> str:
    """Compute gradients in a thousand threads at once."""
    start, right, wrong = threading.Barrier(1001), [], []

    def work(number: int) -> None:
        start.wait()
        x = torch.full((8,), float(number), requires_grad=True)
        (x * x).sum().backward()
        (right if x.grad is not None and x.grad.tolist() == [2.0 * number] * 8 else wrong).append(number)

    threading.stack_size(256 << 10)
    workers = [threading.Thread(target=work, args=(number,)) for number in range(1000)]
    for worker in workers:
        worker.start()
    start.wait()
    for worker in workers:
        worker.join()
    assert len(right) == 1000 and not wrong
    return "1,000 gradients are right"


def tensors() -> str:
    """Hold a million tensors, and give their memory back."""
    def held() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() >> 20

    before, begun = held(), time.process_time()
    many = [torch.full((4,), float(number)) for number in range(10**6)]
    made, most = time.process_time() - begun, held() - before
    assert all(many[number].sum().item() == 4 * number for number in range(0, 10**6, 9973))
    del many
    still_works()
    assert held() - before < most / 4, "the memory is not given back"
    return f"{made:.1f} s, {most} MiB, {held() - before} MiB afterwards"


LIMITS = (memory, shared_memory, saving, grading, threads, tensors)


def run(limit: Callable[[], str], answers: multiprocessing.connection.Connection) -> None:
    """Run one limit in this process, in a namespace of mounts of its own."""
    try:
        if limit in (shared_memory, saving, grading):
            if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS):
                raise OSError(ctypes.get_errno(), "no namespace of mounts")
            subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        answers.send((True, limit()))
    except BaseException as error:
        answers.send((False, f"{type(error).__name__}: {error}"))


def main() -> None:
    failed = 0
    for limit in LIMITS:
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("spawn").Process(target=run, args=(limit, theirs))
        process.start()
        theirs.close()
        try:
            held, said = ours.recv()
        except EOFError:
            held, said = False, "the process died"
        process.join()
        failed += not held
        print(f"{limit.__name__:14} {'held' if held else 'FAILED'}: {said}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
