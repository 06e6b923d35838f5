"""``torch.backends.opt_einsum``: mindtorch does not use it; ``einsum`` goes from left to right."""
enabled = False
strategy: str | None = None


def is_available() -> bool:
    """Return False: mindtorch does not use opt_einsum (``torch.backends.opt_einsum.is_available``)."""
    return False
