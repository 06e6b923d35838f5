"""Processes that a program starts itself, by multiprocessing: with env://, with a file, and by Process."""
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP


def setup(rank, world_size, port):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=world_size)


def demo(rank, world_size, port, out):
    setup(rank, world_size, port)
    torch.manual_seed(0)
    model = DDP(torch.nn.Linear(10, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss = torch.nn.functional.mse_loss(model(torch.full((20, 10), rank + 1.0)), torch.zeros(20, 5))
    loss.backward()
    optimizer.step()
    out[rank] = loss.item()
    sys.stdout.write(f"spawn rank {rank} {model.module.weight.sum().item():.4f}\n")
    dist.destroy_process_group()


def by_file(rank, world_size, path, queue):
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=world_size)
    tensor = torch.ones(1) * rank
    if rank == 0:
        tensor += 1
        dist.send(tensor=tensor, dst=1)
    elif rank == 1:
        dist.recv(tensor=tensor, src=0)
    queue.put((rank, tensor.item()))
    dist.barrier()
    dist.destroy_process_group()


def fails(rank):
    if rank == 1:
        raise ValueError("not today")


def main():
    world_size = 2
    store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)  # for a free port
    port, out = store.port, torch.zeros(world_size).share_memory_()
    del store
    mp.spawn(demo, args=(world_size, port, out), nprocs=world_size, join=True)
    print("losses", [round(value, 4) for value in out.tolist()])
    context = mp.get_context("spawn")
    queue = context.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        processes = [context.Process(target=by_file, args=(rank, world_size, f"{folder}/shared", queue))
                     for rank in range(world_size)]
        for process in processes:
            process.start()
        print("received", sorted(queue.get() for _ in processes))
        for process in processes:
            process.join()
        print("ended", [process.exitcode for process in processes])
    try:
        mp.spawn(fails, nprocs=2)
    except mp.ProcessRaisedException as error:
        print("raised", error.error_index, str(error).strip().splitlines()[-1])


if __name__ == "__main__":
    main()
