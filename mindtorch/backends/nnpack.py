"""``torch.backends.nnpack``: mindtorch does not use NNPACK by itself."""


def is_available() -> bool:
    """Whether NNPACK is there: no (``torch.backends.nnpack.is_available``)."""
    return False
