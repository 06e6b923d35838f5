"""``torch.backends.mps``: there are no Apple GPUs here."""


def is_built() -> bool:
    """Whether this was built for MPS: no (``torch.backends.mps.is_built``)."""
    return False


def is_available() -> bool:
    """Whether there is an MPS device: no (``torch.backends.mps.is_available``)."""
    return False
