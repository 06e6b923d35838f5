"""One rank does something wrong; all others wait for it in a call."""
import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

fault = sys.argv[1]
culprit = int(os.environ["RANK"]) == 1
if fault == "late at the start" and culprit:
    time.sleep(30)
dist.init_process_group("gloo", timeout=timedelta(seconds=5 if fault.startswith("late") else 60))
rank = dist.get_rank()
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)))
out = net(torch.ones(2, 4))
if culprit:
    if fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "no shared memory":
        os.kill(os.getpid(), signal.SIGBUS)
    if fault == "exits":
        sys.exit(3)
    if fault == "ends":
        sys.exit()
    if fault == "late":
        time.sleep(30)
    if fault == "raises in backward":
        def fail(gradient):
            raise ArithmeticError("no gradient today")
        out.register_hook(fail)
    if fault == "another call":
        dist.broadcast(torch.ones(2), 0)
    if fault == "does not come back":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
if fault == "does not come back" and rank == 2:
    raise ArithmeticError("while another rank sleeps")
if fault == "does not come back" and culprit:
    time.sleep(60)
if fault == "to the launcher":
    dist.barrier()
    if culprit:
        launcher = int(os.environ["TORCHELASTIC_RUN_ID"].split("-")[1])
        time.sleep(0.5)
        os.kill(launcher, signal.Signals[sys.argv[2]])
    if sys.argv[2] != "SIGKILL":
        time.sleep(60)
    while True:  # an error of the call ends them
        dist.all_reduce(torch.ones(2)) if not culprit else time.sleep(60)
if fault == "received by nobody":
    dist.recv(torch.ones(3)) if culprit else dist.send(torch.ones(2), 1)
out.sum().backward()
