"""What a rank sees of its launcher; rank 1 fails in the first attempt."""
import os
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo", init_method="env://")
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and dist.get_rank() == 1:
    sys.exit(3)
total = torch.ones(1)
dist.all_reduce(total)
sys.stdout.write(f"RANK {os.environ['LOCAL_RANK']} of {os.environ['WORLD_SIZE']}, attempt "
                 f"{os.environ['TORCHELASTIC_RESTART_COUNT']}, {sys.argv[1:]}, {os.environ['MASTER_ADDR']}, "
                 f"sum {total.item()}\n")
dist.destroy_process_group()
