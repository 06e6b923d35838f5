"""Tensors that go through queues to other processes share their memory with the sender's."""
from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import mindtorch as torch
import mindtorch.multiprocessing as mp


def add_one(inbox: Any, outbox: Any) -> None:
    whole, part = inbox.get(), inbox.get()
    whole += 1
    outbox.put((part, whole.untyped_storage() is part.untyped_storage()))
    inbox.get()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_tensor_in_a_queue_is_the_same_memory_on_both_sides(method) -> None:
    context = mp.get_context(method)
    inbox, outbox = context.Queue(), context.Queue()
    process = context.Process(target=add_one, args=(inbox, outbox))
    process.start()
    tensor = torch.zeros(3)
    inbox.put(tensor)
    inbox.put(tensor[1:])
    part, together = outbox.get(timeout=60)
    inbox.put(None)
    process.join(60)
    assert process.exitcode == 0 and together
    assert tensor.tolist() == [1, 1, 1] and part.untyped_storage() is tensor.untyped_storage()


def count(number: int, total: torch.Tensor) -> None:
    total[number] += number + 1


def fail(number: int) -> None:
    if number == 0:
        raise ValueError("no")
    os._exit(7)


def leave(number: int) -> None:
    os._exit(7)


def test_spawn_runs_a_function_in_processes() -> None:
    total = torch.zeros(2).share_memory_()
    mp.start_processes(count, (total,), nprocs=2, start_method="fork")
    mp.spawn(count, (total,), nprocs=1)
    assert total.tolist() == [2, 2]


def test_a_process_that_fails_is_told() -> None:
    with pytest.raises(mp.ProcessRaisedException, match=r"Process 0 terminated with the following error:(.|\n)*no"):
        mp.start_processes(fail, nprocs=1, start_method="fork")
    with pytest.raises(mp.ProcessExitedException, match="process 0 terminated with exit code 7") as raised:
        mp.start_processes(leave, nprocs=1, start_method="fork")
    assert raised.value.exit_code == 7


def test_a_result_of_recorded_operators_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Cowardly refusing"):
        mp.SimpleQueue().put(torch.ones(2, requires_grad=True) * 2)


PROGRAM = """
import sys
import torch
import torch.multiprocessing as mp

def work(rank, model):
    with torch.no_grad():
        model.weight.fill_("mindtorch" in torch.__version__)

if __name__ == "__main__":
    model = torch.nn.Linear(1, 1).share_memory()
    mp.start_processes(work, (model,), start_method=sys.argv[1])
    print(torch.__version__, model.weight.item())
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_that_a_program_for_pytorch_starts_anew_run_on_mindtorch_too(tmp_path: Path, method: str) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    command = [sys.executable, "-m", "mindtorch", "run", str(script), method]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.stdout == f"{torch.__version__} 1.0\n", ran.stderr


def _sleep(number: int) -> None:
    time.sleep(600)


@pytest.mark.parametrize("join", [True, False])
def test_an_interrupt_while_processes_start_leaves_none_behind(monkeypatch: pytest.MonkeyPatch, join: bool) -> None:
    kind = multiprocessing.get_context("spawn").Process
    start = kind.start

    def interrupted(process: Any) -> None:
        start(process)
        if len(multiprocessing.active_children()) > 1:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(kind, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        mp.start_processes(_sleep, nprocs=3, join=join)
    assert not multiprocessing.active_children()


def test_an_interrupt_while_processes_are_waited_for_ends_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(context: Any) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(mp.ProcessContext, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        mp.start_processes(_sleep, nprocs=2)
    assert not multiprocessing.active_children()


def test_storages_are_shared_by_descriptors() -> None:
    mp.set_sharing_strategy("file_descriptor")
    mp.set_sharing_strategy("file_system")  # shares by descriptors, too
    assert mp.get_sharing_strategy() == "file_descriptor"
    with pytest.raises(AssertionError, match="invalid sharing strategy 'names'"):
        mp.set_sharing_strategy("names")
