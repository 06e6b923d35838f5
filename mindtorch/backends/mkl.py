"""``torch.backends.mkl``: mindtorch does not use MKL by itself."""


def is_available() -> bool:
    """Whether MKL is there: no (``torch.backends.mkl.is_available``)."""
    return False
