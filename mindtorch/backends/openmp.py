"""``torch.backends.openmp``: mindtorch does not use OpenMP by itself."""


def is_available() -> bool:
    """Whether OpenMP is there: no (``torch.backends.openmp.is_available``)."""
    return False
