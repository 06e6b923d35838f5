"""``torch.distributed.algorithms.ddp_comm_hooks``: ways to average the gradients of ``DistributedDataParallel``."""
from . import default_hooks as default_hooks, powerSGD_hook as powerSGD_hook
