"""``torch.distributed.elastic``: of it, what scripts import; ``python -m mindtorch launch`` restarts ranks."""
