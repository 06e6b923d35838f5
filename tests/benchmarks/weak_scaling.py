"""Weak scaling: every rank has as much to compute however many there are. ``python -m tests.benchmarks.weak_scaling``.

Each row is a number of ranks that this machine starts: the seconds of a training step by ``DistributedDataParallel``,
the part of them in which rank 0's program waited for data, what it sent, and the efficiency, which is the time of one
rank over that of so many. Ranks share this machine's cores: with more ranks than cores the efficiency cannot be more
than cores over ranks, which is printed beside it. Then follows the model
(``mindtorch/distributed/_collectives/costs.py``) with the measured time of one rank: what 4 to 1,000
ranks would cost, one a machine, on several networks. Lesson 14 of the course plots it. Times are printed, never
asserted.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from typing import Any

from mindtorch.distributed._collectives.costs import Network, efficiency, ring, tree

WIDTH, LAYERS, BATCH, WARM = 512, 6, 256, 2
NETWORKS = {
    "gigabit Ethernet": Network(50e-6, 125e6), "10 gigabit Ethernet": Network(20e-6, 1.25e9),
    "InfiniBand, 200 gigabit": Network(2e-6, 25e9),
}
RANKS = (4, 16, 64, 256, 1000)
OVERLAP = 0.5  #: of a step, in the model: backward is about two thirds of it, and its first bucket comes a bit later


def one_rank(steps: int) -> None:
    """Train in a rank that the launcher started; rank 0 prints what it measured."""
    import time

    import mindtorch as torch
    import mindtorch.distributed as dist
    from mindtorch import introspect, nn

    dist.init_process_group("mpi")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = [layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    group = dist.new_group()
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers), process_group=group, bucket_cap_mb=2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.randn(BATCH, WIDTH)

    def step() -> None:
        optimizer.zero_grad()
        model(data).square().mean().backward()
        optimizer.step()

    for _ in range(WARM):
        step()
    group.traffic.clear()
    seconds = []
    for _ in range(steps):
        dist.barrier()
        start = time.perf_counter()
        step()
        dist.barrier()
        seconds.append(time.perf_counter() - start)
    sent = sum(nbytes for _, nbytes in group.traffic.values()) / steps
    with introspect.timeline() as found:
        step()
    share = introspect.rank_shares(introspect.timeline_of_ranks(found))[0]
    if dist.get_rank() == 0:
        gradients = sum(parameter.numel() * 4 for parameter in model.parameters())
        print("MEASURED", json.dumps({"seconds": min(seconds), "median": sorted(seconds)[steps // 2], "sent": sent,
                                      "gradients": gradients, "waits": share.waits / (share.computes + share.waits)}))
    dist.destroy_process_group()


def measured(ranks: int, steps: int) -> dict[str, Any]:
    """Run so many ranks and return the measurements of rank 0."""
    command = [sys.executable, "-m", "mindtorch", "launch", "-n", str(ranks), __file__, "--rank", str(steps)]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout
    found: dict[str, Any] = json.loads(output.partition("MEASURED ")[2].splitlines()[0])
    return found


def model(compute: float, nbytes: float) -> list[tuple[str, str, list[float]]]:
    """Compute the efficiencies of ``RANKS`` by network and algorithm, if a step takes one rank ``compute`` seconds."""
    return [(name, algorithm.__name__, [efficiency(compute, nbytes, ranks, network, algorithm, OVERLAP)
                                        for ranks in RANKS])
            for name, network in NETWORKS.items() for algorithm in (ring, tree)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.weak_scaling", description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4], help="the numbers of ranks")
    parser.add_argument("--steps", type=int, default=10, help="of training that are timed; the fastest counts")
    parser.add_argument("--rank", type=int, metavar="STEPS", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank is not None:
        one_rank(options.rank)
        return
    cores = os.cpu_count() or 1
    print(f"{LAYERS} layers of {WIDTH} x {WIDTH}, {BATCH} rows a rank, {cores} cores\n"
          "ranks   ms a step   waits   MB sent   efficiency   at most")
    first = None
    for ranks in options.ranks:
        found = measured(ranks, options.steps)
        first = first or found
        print(f"{ranks:5d} {1e3 * found['seconds']:11.1f} {found['waits']:7.0%} {found['sent'] / 1e6:9.2f} "
              f"{first['seconds'] / found['seconds']:12.0%} {min(1.0, cores / ranks):9.0%}", flush=True)
    assert first is not None
    print(f"\nmodel: {1e3 * first['seconds']:.1f} ms of work a step, {first['gradients'] / 1e6:.2f} MB of gradients, "
          f"which travel during {OVERLAP:.0%} of it; one rank a machine\n{'efficiency with':>32} "
          + "".join(f"{ranks:>8,}" for ranks in RANKS))
    for name, algorithm, shares in model(first["seconds"], first["gradients"]):
        print(f"{name + ', ' + algorithm:>32} " + "".join(f"{share:>8.0%}" for share in shares))


if __name__ == "__main__":
    main()
