"""Processes that no launcher has started: they meet at an address, in a file or in a store."""
import os
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank, size, way, place):
    if way == "store":
        store = dist.TCPStore("localhost", int(place), size, rank == 0)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    elif way == "env":
        os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=place)
        if rank == 1:  # rank 0, which answers it, must not wait in MPI meanwhile
            answered = dist.Store.get
            dist.Store.get = lambda store, key: (time.sleep(0.3), answered(store, key))[1]
        dist.init_process_group("gloo", rank=rank, world_size=size)
    else:
        dist.init_process_group("gloo", init_method=place, rank=rank, world_size=size)
    total = torch.full((3,), float(rank + 1))
    dist.all_reduce(total)
    assert total.tolist() == [3.0] * 3
    if way == "kill" and rank == 1:
        os.kill(os.getpid(), 9)
    if way == "kill":
        dist.barrier()
    dist.destroy_process_group()


def free_port():
    store = dist.TCPStore("localhost", 0, 1, True)
    return str(store.port)


if __name__ == "__main__":
    for way in sys.argv[1:]:
        place = "file://" + tempfile.mktemp() if way in ("file", "kill") else free_port()
        try:
            mp.spawn(work, (2, way, place), nprocs=2)
            print("ENDED", way)
        except mp.ProcessExitedException as error:
            print("ENDED", way, error)
