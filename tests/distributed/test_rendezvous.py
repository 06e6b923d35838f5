"""How processes find each other: stores, processes that no launcher has started, and torchrun's options."""
from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from datetime import timedelta

import pytest

import mindtorch.distributed as dist
from mindtorch._run.hub import Manager

from .running import HERE, TOP, needs_mpi, processes_with


def tried(store) -> list:
    """Return the results of all that a store does."""
    store.set("a", "1")
    store.set("b", b"\x00\xff")
    found = [store.get("a"), store.get("b"), store.add("n", 3), store.add("n", -1), store.get("n"),
             store.compare_set("a", "1", "2"), store.compare_set("a", "9", "3"), store.get("a"),
             store.check(["a", "b"]), store.check(["a", "z"]), store.delete_key("b"),
             store.check(["b"])]
    store.append("a", "x")
    store.set_timeout(timedelta(seconds=0.1))
    try:
        store.get("missing")
    except RuntimeError:
        found.append("late")
    return [*found, store.get("a"), store.multi_get(["a", "n"])]


@pytest.mark.parametrize("kind", ["HashStore", "FileStore", "TCPStore", "PrefixStore"])
def test_a_store_does_what_pytorch_s_does(kind: str, tmp_path) -> None:
    theirs = pytest.importorskip("torch.distributed", reason="PyTorch, the reference of these tests, is not installed")

    def made(library):
        if kind == "FileStore":
            return library.FileStore(str(tmp_path / library.__name__), 1)
        if kind == "TCPStore":
            return library.TCPStore("localhost", 0, 1, True)
        store = library.HashStore()
        return library.PrefixStore("in", store) if kind == "PrefixStore" else store

    reference = tried(made(theirs))
    found = tried(made(dist))
    assert found == reference
    assert found[-3:] == ["late", b"2x", [b"2x", b"2"]]


def test_get_waits_for_another_client_of_a_tcp_store() -> None:
    server = dist.TCPStore("localhost", 0, 2, True, timedelta(seconds=20), wait_for_workers=False)
    client = dist.TCPStore("localhost", server.port, 2, False, timedelta(seconds=20), wait_for_workers=False)
    threading.Timer(0.05, lambda: server.set("late", "here")).start()
    assert client.get("late") == b"here"
    with pytest.raises(dist.DistNetworkError, match="has timed out after"):
        dist.TCPStore("localhost", 1, 2, False, timedelta(seconds=0.2))


def run(*words: str, seconds: float = 120) -> tuple[int, str, list[str]]:
    """Run mindtorch's command line; return status, output, and the processes that it leaves."""
    token = f"MINDTORCH_TEST={os.getpid()}-{time.monotonic_ns()}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TOP), str(HERE / "programs")]),
                   "OMP_NUM_THREADS": "1", **dict([token.split("=")])}
    ended = subprocess.run([sys.executable, "-m", "mindtorch", *words], env=environment, capture_output=True,
                           text=True, timeout=seconds)
    end = time.monotonic() + 10
    while (left := processes_with(token)) and time.monotonic() < end:  # a hub notices within a moment
        time.sleep(0.1)
    return ended.returncode, ended.stdout + ended.stderr, left


@needs_mpi
def test_processes_that_no_launcher_has_started() -> None:
    status, output, left = run("run", str(HERE / "programs" / "spawned.py"), "env", "store", "kill")
    assert status == 0 and left == [], output
    assert [line for line in output.splitlines() if line.startswith("ENDED")] == [
        "ENDED env", "ENDED store", "ENDED kill process 1 terminated with signal SIGKILL"]


def test_worlds_on_one_machine_have_names_of_their_own() -> None:
    one, other = (Manager(1).answer("get_my_kvsname", {}) for _ in range(2))
    assert one != other and one.startswith("my_kvsname kvsname=mindtorch-")


@needs_mpi
def test_torchrun_s_options() -> None:
    status, output, left = run("torchrun", "--nproc_per_node=2", "--standalone", "--nnodes=1", "--rdzv-backend", "c10d",
                               "--max_restarts=1", "-m", "launched", "--lr", "3")
    assert status == 0 and left == [], output
    assert sorted(line for line in output.splitlines() if line.startswith("RANK")) == [
        f"RANK {rank} of 2, attempt 1, ['--lr', '3'], localhost, sum 2.0" for rank in range(2)]
    assert "launch: rank 1 exited with 3" in output and "started again" in output
