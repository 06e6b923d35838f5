"""Interrupts, failures, forks and the end of Python: state and values are right after them, and nothing hangs."""
from __future__ import annotations

import random
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch._backends.npu import aclnn
from mindtorch._base.interrupts import uninterrupted
from mindtorch._dispatch import dispatcher
from mindtorch._dispatch.local import local

simulator = torch.npu.simulator
pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")


@pytest.fixture(autouse=True)
def listening():
    """Python's handler of SIGINT, also where the tests were started in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def timer():
    """Sets off SIGINT after so many seconds."""
    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def out_of_time(number, frame):
    raise KeyboardInterrupt("out of time")


def test_an_interrupt_waits_for_the_end_of_the_outermost_block():
    done = []
    with pytest.raises(KeyboardInterrupt):
        with uninterrupted():
            with uninterrupted():
                signal.raise_signal(signal.SIGINT)
                done.append("inside")
            done.append("outside")
        done.append("after")
    assert done == ["inside", "outside"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(("device", "turns", "raises"), [
    ("cpu", 150, "SIGINT"), ("npu", 40, "SIGINT"), ("npu", 40, "SIGALRM")])
def test_training_that_is_interrupted_anywhere_goes_on_rightly(device, turns, raises, timer):
    drawn = random.Random(0)
    if raises == "SIGALRM":  # its handler itself, as of a limit of time
        signal.signal(signal.SIGALRM, out_of_time)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)).to(device)
    optimizer, x = torch.optim.Adam(model.parameters()), torch.randn(3, 4).to(device)
    bystanders = [torch.full((50,), float(i)).to(device) for i in range(4)]

    def step():
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        with torch.observe(), torch.no_grad():
            model(x).sum().item()

    step()
    start = time.perf_counter()
    step()
    usual = time.perf_counter() - start
    for _ in range(turns):
        try:
            timer(drawn.uniform(1e-5, usual))
            step()
            timer(0)
        except KeyboardInterrupt:
            timer(0)
        assert local.task is None and local.grad_enabled and not dispatcher.mode
        assert all(bool((t == i).all()) for i, t in enumerate(bystanders))
    optimizer.zero_grad()
    if device == "npu":
        torch.npu.synchronize()
        aclnn.release()  # what is kept for further calls
        kinds = set(simulator.live_handles())
        assert kinds <= {"aclrtContext", "aclrtStream", "aclrtEvent"}
    step()
    assert all(bool(p.isfinite().all()) for p in model.parameters())


def test_a_wait_for_the_device_can_be_interrupted(timer):
    x = torch.ones(3, device="npu")
    torch.npu.synchronize()
    simulator.hold()
    try:
        y = x + 1
        timer(0.05)
        with pytest.raises(KeyboardInterrupt):
            y.tolist()
    finally:
        simulator.release()
    assert y.tolist() == [2, 2, 2]


def test_what_a_failed_operator_should_have_computed_is_never_read():
    x = torch.ones(3, device="npu")
    simulator.faults.fail("aclnnExp")
    y = x.exp()
    z = y * 2
    with pytest.raises(RuntimeError, match="aclnnExp failed"):
        torch.npu.synchronize()
    for look in (y.tolist, lambda: z.sum().item(), y.cpu, lambda: y + 1, lambda: y[:2].tolist()):
        with pytest.raises(RuntimeError, match="aclnnExp failed"):
            look()
    assert y.fill_(2.0).tolist() == [2, 2, 2] and (x + 1).tolist() == [2, 2, 2]


@pytest.mark.parametrize(("program", "says"), [
    ("torch.npu.simulator.hold(); y = x + 1", ""),
    ("""
     class Last:
         def __del__(self):
             try:
                 (x + 1).tolist()
             except Exception:  # at the very end, when modules are gone; it must not hang
                 pass
     os.kept = Last()
     """, ""),
    ("""
     pid = os.fork()
     if not pid:
         print((torch.ones(2) + 1).tolist())
         try:
             x.cpu()
         except RuntimeError as error:
             print(error)
         sys.exit()
     os.waitpid(pid, 0)
     """, "[2.0, 2.0]\nCannot re-initialize NPU in forked subprocess"),
], ids=["held at exit", "used by a finalizer", "forked"])
def test_a_process_that_used_the_device_ends(program, says):
    text = ("import os, sys, mindtorch as torch\nx = torch.ones(3, device='npu')\n(x + 1).cpu()\n"
            + textwrap.dedent(program))
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert not done.returncode and not done.stderr and done.stdout.startswith(says), done
