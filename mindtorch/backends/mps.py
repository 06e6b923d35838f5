"""``torch.backends.mps``: there are no Apple GPUs here."""


def is_built() -> bool:
    """Return False: mindtorch is not built for MPS (``torch.backends.mps.is_built``)."""
    return False


def is_available() -> bool:
    """Return False: there is no MPS device (``torch.backends.mps.is_available``)."""
    return False
