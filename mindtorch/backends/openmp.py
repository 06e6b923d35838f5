"""``torch.backends.openmp``: mindtorch does not use OpenMP by itself."""


def is_available() -> bool:
    """Return False: mindtorch does not use OpenMP (``torch.backends.openmp.is_available``)."""
    return False
