"""Stores: what ranks write for each other before, and beside, collectives."""
import datetime
import os
import tempfile

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
rank, size = dist.get_rank(), dist.get_world_size()
port = [None]
if rank == 0:
    server = dist.TCPStore("localhost", 0, size, True, wait_for_workers=False)
    port = [server.port]
dist.broadcast_object_list(port)
store = server if rank == 0 else dist.TCPStore("localhost", port[0], size, False)
store.set(f"name-{rank}", f"rank {rank}")
store.wait([f"name-{r}" for r in range(size)], datetime.timedelta(seconds=60))
print(f"rank {rank} reads {[store.get(f'name-{r}').decode() for r in range(size)]}")
store.add("arrived", 1)
dist.barrier()
print(f"rank {rank} counts {store.add('arrived', 0)} {store.get('arrived')}")
if rank == 0:
    print("swap", store.compare_set("lock", "", "mine"), store.compare_set("lock", "mine", "yours"),
          store.compare_set("lock", "wrong", "theirs"), store.check(["lock", "nothing"]), store.delete_key("lock"))
    store.append("log", "a")
    store.append("log", "b")
    store.multi_set(["x", "y"], ["1", "2"])
dist.barrier()
print(f"rank {rank} log {store.get('log')} {store.multi_get(['x', 'y'])}")
try:
    store.wait(["never"], datetime.timedelta(milliseconds=100))
except RuntimeError as error:
    print(f"rank {rank} {type(error).__name__}")
prefixed = dist.PrefixStore(f"own-{rank}", store)
prefixed.set("key", str(rank))
print(f"rank {rank} prefix {prefixed.get('key')} {store.get(f'own-{rank}/key')}")
path = os.path.join(tempfile.gettempdir(), f"store-{os.environ['MASTER_PORT']}")
files = dist.FileStore(path, size)
files.add("n", rank + 1)
dist.barrier()
print(f"rank {rank} file {files.add('n', 0)}")
dist.barrier()
if rank == 0 and os.path.exists(path):
    os.remove(path)
again = dist.TCPStore("localhost", port[0], size, rank == 0, wait_for_workers=False) if rank else store
print(f"rank {rank} again {again.get('name-0')} {type(again).__name__} timeout {again.timeout}")
total = torch.tensor([rank])
dist.all_reduce(total)
print(f"rank {rank} total {total.item()} {dist.get_backend()} {dist.is_torchelastic_launched()}")
dist.destroy_process_group()
