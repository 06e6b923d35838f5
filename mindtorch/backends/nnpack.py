"""``torch.backends.nnpack``: mindtorch does not use NNPACK by itself."""


def is_available() -> bool:
    """Return False: mindtorch does not use NNPACK (``torch.backends.nnpack.is_available``)."""
    return False
