"""A long session: `python -m tests.soak --minutes 60` trains, draws, traces and breaks an NPU, round after round.

Each minute it prints what the process holds: memory, Python objects, threads, open files, processes, files of shared
memory, and the simulated NPU's handles and bytes. What is held in the last third must be what was held in the first,
after a warm-up, but for ``SLACK``; otherwise the exit code is 1.
"""
from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import random
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import mindtorch as torch
from mindtorch import introspect, nn, viz
from mindtorch._base import loops

#: By how much the last third may exceed the first: a share of it, and a number.
SLACK: dict[str, tuple[float, float]] = {"memory (MiB)": (0.03, 8.0), "objects": (0.01, 500), "npu bytes": (0.0, 0.0)}
Round = Callable[[random.Random], None]


def _model(width: int = 32) -> nn.Sequential:
    return nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 4))


def train(drawn: random.Random, device: str = "cpu", steps: int = 20) -> None:
    """Train a model for some steps, with an optimizer of a random kind."""
    model, loss = _model().to(device), nn.CrossEntropyLoss()
    kind = drawn.choice([torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop])
    optimizer = kind(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model(torch.randn(8, 16, device=device)), torch.randint(0, 4, (8,), device=device)).backward()
        optimizer.step()
    saved = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    assert device != "cpu" or bool(saved.isfinite().all())


def load(drawn: random.Random) -> None:
    """Run an epoch from worker processes, and save and load a file."""
    data = torch.utils.data.TensorDataset(torch.randn(32, 3), torch.arange(32))
    for x, _ in torch.utils.data.DataLoader(data, 8, shuffle=True, num_workers=drawn.choice([0, 2])):
        assert x.shape == (8, 3)
    with tempfile.TemporaryDirectory() as folder:
        torch.save(_model().state_dict(), path := f"{folder}/model.pt")
        torch.load(path)


def draw(drawn: random.Random) -> None:
    """Cards, graphs, traces and time lines of new tensors."""
    x = torch.randn(drawn.randrange(1, 50), 7, requires_grad=True)
    y = (x @ torch.randn(7, 3)).relu().sum()
    viz.tensor_card(x)
    viz.graph_page(introspect.graph_facts(y))
    with torch.observe() as trace, introspect.timeline() as spans:
        y.backward()
        (torch.ones(3, device="npu") + 1).cpu()
    viz.dispatch_page(trace.events)
    viz.timeline_page(spans)
    viz.tensors_page(introspect.tensors_facts({"x": x, "y": y}))
    viz.storage_page(introspect.storage_facts(x))
    viz.memory_page(introspect.memory_facts())
    viz.module_page(introspect.module_facts(_model()))
    with torch.pipeline():
        assert (x.detach() * 2).sum().shape == ()
    try:
        x.view(-1, 6, 5, 4)
    except RuntimeError as error:
        viz.why_page(introspect.explain(error))


def compute(drawn: random.Random) -> None:
    """Streams, events and copies of an NPU, of which some fail."""
    side = torch.npu.Stream()
    x = torch.randn(64, 64, device="npu")
    with torch.npu.stream(side):
        side.wait_stream(torch.npu.default_stream())
        y = x @ x
    y.record_stream(torch.npu.current_stream())
    torch.npu.current_stream().wait_event(side.record_event())
    assert (y + 1).cpu().shape == (64, 64)
    torch.ones(16).pin_memory().to("npu", non_blocking=True)


def break_npu(drawn: random.Random) -> None:
    """Run the same and a training loop while calls fail; then the device works again."""
    faults = torch.npu.simulator.faults
    faults.fail("*", drawn.choice([1, 2, "async"]), probability=0.05, seed=drawn.randrange(2**30))
    if drawn.random() < 0.5:
        faults.fail_next(drawn.choice(["malloc", "create_event", "record_event", "create_stream", "memcpy_async",
                                       "aclCreateTensor", "synchronize_stream"]))
    for part in (compute, lambda drawn: train(drawn, "npu", 5)):
        with suppress(RuntimeError):
            part(drawn)
    faults.clear()
    with suppress(RuntimeError):  # of what had failed
        torch.npu.synchronize()
    torch.npu.restart_device()  # at a failure all of its streams stop
    compute(drawn)


ROUNDS: dict[str, Round] = {
    "train": train, "train on an NPU": lambda drawn: train(drawn, "npu", 5), "load": load, "draw": draw,
    "compute": compute, "break": break_npu,
}


def held() -> dict[str, float]:
    """Measure the resources that this process holds."""
    gc.collect()
    torch.npu.empty_cache()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    shared = [p for p in Path("/dev/shm").glob("*") if f"{os.getpid()}" in p.name]
    return {
        "memory (MiB)": resident / 2**20, "objects": len(gc.get_objects()), "threads": threading.active_count(),
        "files": len(os.listdir("/proc/self/fd")), "processes": len(multiprocessing.active_children()),
        "shared files": len(shared), "npu handles": sum(torch.npu.simulator.live_handles().values()),
        "npu bytes": sum(torch.npu.simulator.live_bytes().values()),
    }


def run(minutes: float, seed: int = 0, every: float = 60.0) -> list[dict[str, float]]:
    """Play rounds for so long, and sample what is held every so many seconds."""
    drawn, samples, counts = random.Random(seed), [], dict.fromkeys(ROUNDS, 0)
    torch.manual_seed(seed)
    end = time.monotonic() + 60 * minutes
    due = time.monotonic() + every
    while time.monotonic() < end:
        name = drawn.choice(list(ROUNDS))
        ROUNDS[name](drawn)
        counts[name] += 1
        if time.monotonic() >= due:
            due += every
            samples.append(held())
            shown = ", ".join(f"{what} {amount:.1f}".removesuffix(".0") for what, amount in samples[-1].items())
            print(f"minute {len(samples)}: {sum(counts.values())} rounds; {shown}", flush=True)
    print("rounds:", counts)
    return samples


def growth(samples: list[dict[str, float]]) -> list[str]:
    """Return the resources that grow from the first third of the samples to the last; the first tenth is a warm-up."""
    samples = samples[len(samples) // 10:]
    third = max(1, len(samples) // 3)
    found = []
    for what in samples[0]:
        first, last = (max(s[what] for s in part) for part in (samples[:third], samples[-third:]))
        share, number = SLACK.get(what, (0.0, 0.0))
        if last > first * (1 + share) + number:
            found.append(f"{what}: {first:.1f} at first, {last:.1f} at last")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=float, default=60, help="seconds between samples")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for loop in vars(loops).values():
        if isinstance(loop, loops.Loop):
            loop.compiled(loops.REPAID + 1)  # now, not when NumPy has computed enough
    found = growth(run(options.minutes, options.seed, options.every))
    print("\n".join(found) or "flat")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
