"""``torch.distributed.tensor``: of it, layers that are spread over processes (``parallel``)."""
