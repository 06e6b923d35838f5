"""``torch.backends.mkl``: mindtorch does not use MKL by itself."""


def is_available() -> bool:
    """Return False: mindtorch does not use MKL (``torch.backends.mkl.is_available``)."""
    return False
