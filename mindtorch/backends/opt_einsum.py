"""``torch.backends.opt_einsum``: mindtorch does not use it; ``einsum`` goes from left to right."""
enabled = False
strategy: str | None = None


def is_available() -> bool:
    """Whether opt_einsum is used: no (``torch.backends.opt_einsum.is_available``)."""
    return False
