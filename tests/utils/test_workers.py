"""Worker processes: what they send, how they die, and that nothing is left of them."""
from __future__ import annotations

import gc
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mindtorch as torch
from mindtorch.course import session
from mindtorch.utils.data import DataLoader, Dataset, TensorDataset, dataloader


class Of(Dataset):
    """A dataset whose samples a function makes."""

    def __init__(self, function: Callable[[int], Any], length: int = 20):
        self.function, self.length = function, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return self.function(index)


def children() -> set[str]:
    """List this process's children, except for those that stay for good: multiprocessing's own helper, and the process
    of which the course's sessions are forks.
    """
    found = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    lasting = [getattr(resource_tracker._resource_tracker, "_pid", None)]
    if session._forks.cache_info().currsize:
        lasting.append(session._forks().process.pid)
    return set(found) - {*map(str, lasting)}


@pytest.fixture(scope="module", autouse=True)
def few_objects() -> Iterator[None]:
    """Leave out of collections, of which there are many here, what modules and earlier tests have made."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def wait_for_the_end() -> None:
    """Wait until no worker is left, for ten seconds at most."""
    end = time.monotonic() + 10
    while children() and time.monotonic() < end:
        multiprocessing.active_children()  # joins those that have ended
        gc.collect()
        time.sleep(0.02)
    assert not children()


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    gc.collect()
    before = children(), len(os.listdir("/proc/self/fd")), threading.active_count()
    yield
    gc.collect()
    after = children(), len(os.listdir("/proc/self/fd")), threading.active_count()
    assert all(now <= then for now, then in zip(after, before, strict=True)), (before, after)  # type: ignore[operator] # others may end


def test_large_and_small_batches_arrive_whole() -> None:
    def sample(index: int) -> Any:
        return {"large": torch.full((300, 100), float(index)), "half": torch.full((3,), index, dtype=torch.bfloat16),
                "array": np.full(50_000, index), "text": "x" * index, "empty": torch.empty(0, 4)}

    for index, batch in enumerate(DataLoader(Of(sample, 6), batch_size=None, num_workers=2)):
        expected = sample(index)
        assert batch["text"] == expected["text"] and (batch["array"].numpy() == expected["array"]).all()
        for name in ("large", "half", "empty"):
            assert batch[name].dtype is expected[name].dtype and torch.equal(batch[name], expected[name])
        batch["large"].add_(1)  # it is memory of one's own


def test_a_worker_computes_on_one_thread() -> None:
    assert [int(count) for count in DataLoader(Of(lambda _: torch.get_num_threads(), 2), num_workers=1)] == [1, 1]


def test_a_worker_draws_from_generators_of_its_own_seed() -> None:
    """Those of Python and of the library; NumPy's is seeded with four words of it."""
    def drawn(_: int) -> tuple[int, float, float, float]:
        info = torch.utils.data.get_worker_info()
        return info.seed, random.random(), torch.rand(1).item(), np.random.rand()

    torch.manual_seed(4)
    found = list(DataLoader(Of(drawn, 2), batch_size=None, num_workers=2))
    seeds = [row[0] for row in found]
    assert seeds[1] == seeds[0] + 1 and found[0][3] != found[1][3]
    for seed, ours, library, _ in found:
        assert ours == random.Random(seed).random()
        assert library == torch.rand(1, generator=torch.Generator().manual_seed(seed)).item()


def test_many_batches_may_be_kept() -> None:
    batches = list(DataLoader(Of(lambda index: torch.full((100, 100), float(index)), 600), num_workers=2))
    assert [int(batch[0, 0, 0]) for batch in batches] == list(range(600))


def test_a_row_of_a_large_tensor_is_sent_without_the_rest() -> None:
    table = torch.zeros(2000, 1000)
    for (row,) in DataLoader(TensorDataset(table), batch_size=None, num_workers=1):
        assert row.untyped_storage().nbytes() == 4000
        break


def test_parameters_and_leaves_keep_requires_grad() -> None:
    loader = DataLoader(Of(lambda index: (torch.nn.Parameter(torch.ones(2)), torch.ones(2, requires_grad=True)), 1),
                        batch_size=None, num_workers=1)
    parameter, leaf = next(iter(loader))
    assert isinstance(parameter, torch.nn.Parameter) and parameter.requires_grad and leaf.requires_grad


def test_a_result_of_recorded_operators_is_refused() -> None:
    loader = DataLoader(Of(lambda index: torch.ones(2, requires_grad=True) * 2), batch_size=None, num_workers=1)
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        next(iter(loader))


def test_an_exception_comes_with_its_type_and_the_workers_traceback() -> None:
    def sample(index: int) -> int:
        numbers: dict[int, int] = {}
        return numbers[index]

    with pytest.raises(KeyError) as raised:
        list(DataLoader(Of(sample), num_workers=2))
    text = str(raised.value)
    assert text.startswith("Caught KeyError in DataLoader worker process 0.\nOriginal Traceback")
    assert "return numbers[index]" in text


def test_an_exception_that_takes_more_than_a_message_becomes_a_runtime_error() -> None:
    def sample(index: int) -> int:
        raise UnicodeDecodeError("utf-8", b"x", 0, 1, "bad")

    with pytest.raises(RuntimeError, match="Caught UnicodeDecodeError in DataLoader worker process 0"):
        list(DataLoader(Of(sample), num_workers=1))


def test_a_loader_goes_on_after_an_exception() -> None:
    iterator = iter(DataLoader(Of(lambda index: 1 // (index - 1), 4), batch_size=None, num_workers=1))
    assert next(iterator) == -1
    with pytest.raises(ZeroDivisionError):
        next(iterator)
    assert list(iterator) == [1, 0]


def test_a_failing_worker_init_fn_is_reported() -> None:
    def fail(number: int) -> None:
        raise ValueError(f"not worker {number}")

    with pytest.raises(ValueError, match="not worker 0"):
        next(iter(DataLoader(Of(abs), num_workers=1, worker_init_fn=fail)))


@pytest.mark.parametrize(("end", "cause"), [
    (lambda: os.kill(os.getpid(), signal.SIGKILL), "is killed by signal: Killed. "),
    (lambda: os._exit(3), "exited unexpectedly with exit code 3"),
    (lambda: os._exit(0), "exited unexpectedly with exit code 0"),
    (lambda: os.closerange(3, 1000), "exited unexpectedly with exit code 1"),
])
def test_the_death_of_a_worker_is_told(end, cause) -> None:
    def sample(index: int) -> int:
        return end() if index == 5 else index

    iterator = iter(DataLoader(Of(sample), batch_size=None, num_workers=2))
    worker = iterator._workers[1]
    pid = worker.pid
    assert [next(iterator), next(iterator)] == [0, 1]
    worker.join(60)  # dead before more is sent to it, and before its last answer is read
    assert [next(iterator) for _ in range(3)] == [2, 3, 4]
    with pytest.raises(RuntimeError) as raised:
        next(iterator)
    assert str(raised.value) == f"DataLoader worker (pid(s) {pid}) exited unexpectedly"
    assert f"DataLoader worker (pid {pid}) {cause}" in str(raised.value.__cause__)


def test_a_worker_that_is_killed_from_outside_is_told() -> None:
    iterator = iter(DataLoader(Of(lambda index: time.sleep(60)), num_workers=2))
    os.kill(iterator._workers[0].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        next(iterator)


@pytest.mark.parametrize("hang", [
    lambda: time.sleep(60),
    lambda: (signal.signal(signal.SIGTERM, signal.SIG_IGN), time.sleep(60)),
    lambda: os.kill(os.getpid(), signal.SIGSTOP),
], ids=["sleeps", "does not heed SIGTERM", "is stopped"])
def test_a_worker_that_hangs_is_told_and_ended(hang, monkeypatch) -> None:
    monkeypatch.setattr(dataloader, "MP_STATUS_CHECK_INTERVAL", 0.3)
    iterator = iter(DataLoader(Of(lambda index: hang()), num_workers=2, timeout=0.3))
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.3 seconds"):
        next(iterator)
    del iterator
    wait_for_the_end()


def test_a_worker_without_memory_for_a_batch_says_so() -> None:
    def limit(number: int) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))

    iterator = iter(DataLoader(Of(lambda index: torch.ones(10 ** (5 - index % 2 * 4))), batch_size=None, num_workers=1,
                               worker_init_fn=limit))
    for _ in range(3):
        with pytest.raises(OSError, match=r"Caught OSError in DataLoader worker process 0(.|\n)*File too large"):
            next(iterator)
        assert next(iterator).shape == (10,)  # nothing was sent of the batch before


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="the system does not list a process's descriptors")
def test_a_worker_keeps_no_descriptor_of_the_batches_that_it_has_sent() -> None:
    def opened(index: int) -> Any:
        return torch.zeros(300_000), len(os.listdir("/proc/self/fd"))

    counts = [count.item() for _, count in DataLoader(Of(opened), batch_size=1, num_workers=1)]
    assert len(counts) == 20 and max(counts) <= counts[0] + 2


def test_a_process_without_a_descriptor_for_a_batch_says_so() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    iterator = iter(DataLoader(Of(lambda index: torch.ones(100_000)), batch_size=None, num_workers=1))
    next(iterator)
    free = os.dup(0)  # the lowest that is free
    os.close(free)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
        with pytest.raises(RuntimeError, match=r"Too many open files(.|\n)*ulimit -n"):
            list(iterator)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert not children()


def test_persistent_workers_that_were_ended_are_replaced() -> None:
    loader = DataLoader(Of(abs, 6), batch_size=None, num_workers=2, persistent_workers=True)
    iterator: Any = iter(loader)
    os.kill(iterator._workers[1].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(iterator)
    assert list(loader) == list(range(6)) == list(loader)


def test_a_slow_worker_times_out() -> None:
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.2 seconds"):
        next(iter(DataLoader(Of(lambda index: time.sleep(0.6)), num_workers=1, timeout=0.2)))


def test_an_iterator_that_is_dropped_ends_its_workers() -> None:
    for _ in DataLoader(Of(lambda index: torch.zeros(100, 1000)), num_workers=2):
        assert len(children()) == 2
        break
    gc.collect()
    assert not children()


def test_persistent_workers_stay_and_go_with_the_loader() -> None:
    loader = DataLoader(Of(lambda index: os.getpid()), batch_size=None, num_workers=2, persistent_workers=True)
    first = set(loader)
    iterator = iter(loader)
    next(iterator)
    assert set(loader) == first and len(first) == 2  # a pass that was abandoned is forgotten
    del loader, iterator


def test_an_interrupt_leaves_nothing() -> None:
    # a process started in the background ignores interrupts
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            for index, _ in enumerate(DataLoader(Of(lambda index: index), num_workers=2)):
                if index == 3:
                    os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not children()


def test_no_interrupt_is_lost_and_nothing_is_left_wherever_it_comes() -> None:
    """Of many passes, each of which a timer interrupts somewhere."""
    sent, caught, moments = 0, 0, random.Random(0)

    def interrupt(*args: Any) -> None:
        nonlocal sent
        sent += 1
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(8):
            gc.collect()  # Python drops exceptions in finalizers: those of the passes before run here
            try:
                signal.setitimer(signal.ITIMER_REAL, moments.uniform(1e-4, 0.05))
                while True:
                    data = [batch[:, 0].tolist() for batch in DataLoader(
                        Of(lambda index: torch.full((10_000,), float(index)), 8), batch_size=2, num_workers=2)]
                    assert data == [[0, 1], [2, 3], [4, 5], [6, 7]]
            except KeyboardInterrupt:
                caught += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    wait_for_the_end()  # some passes could not
    assert caught == sent == 8


def test_a_worker_heeds_signals_as_its_process_does_outside_of_blocks() -> None:
    """It is forked where signals wait."""
    before = signal.signal(signal.SIGTERM, lambda *args: os._exit(5))
    try:
        iterator = iter(DataLoader(Of(lambda index: os.kill(os.getpid(), signal.SIGTERM)), num_workers=1))
        with pytest.raises(RuntimeError) as raised:
            next(iterator)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert "exit code 5" in str(raised.value.__cause__)


def test_workers_start_while_threads_compute_and_draw() -> None:
    is_over = threading.Event()

    def compute() -> None:
        while not is_over.is_set():
            x = torch.randn(50, 50, requires_grad=True)
            (x @ x).sum().backward()
            with torch.no_grad():
                torch.ones(300_000).exp_()

    threads = [threading.Thread(target=compute) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            data = DataLoader(Of(lambda index: (torch.rand(3) @ torch.ones(3), torch.ones(300_000).exp()), 4),
                              num_workers=2)
            assert [exponentials.sum().item() > 8e5 for _, exponentials in data] == [True] * 4
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def test_out_of_order_gives_what_is_ready() -> None:
    def sample(index: int) -> int:
        time.sleep(0.5 if index == 0 else 0)
        return index

    found = list(DataLoader(Of(sample), batch_size=None, num_workers=2, in_order=False))
    assert sorted(found) == list(range(20)) and found[0] != 0


def test_workers_end_when_their_process_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("""
import os, time
from mindtorch.utils.data import DataLoader
class Slow:
    def __len__(self): return 9
    def __getitem__(self, index): time.sleep(60)
iterator = iter(DataLoader(Slow(), num_workers=2))
print(*[worker.pid for worker in iterator._workers], flush=True)
time.sleep(60)
""")
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        workers = process.stdout.readline().split()
        process.kill()
    end = time.monotonic() + 10
    while any(alive(pid) for pid in workers) and time.monotonic() < end:
        time.sleep(0.05)
    assert len(workers) == 2 and not any(alive(pid) for pid in workers)


def alive(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_other_ways_to_start_a_process(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("""
import mindtorch as torch
from mindtorch.course import session
from mindtorch.utils.data import DataLoader, IterableDataset
class Numbers(IterableDataset):
    def __iter__(self): return (torch.full((2,), i) for i in range(4))
if __name__ == "__main__":
    for method in ("spawn", "forkserver"):
        print([x.tolist() for x in DataLoader(Numbers(), 2, num_workers=1, multiprocessing_context=method)])
""")
    run = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=100)
    assert run.stdout.splitlines() == ["[[[0, 0], [1, 1]], [[2, 2], [3, 3]]]"] * 2, run.stderr
