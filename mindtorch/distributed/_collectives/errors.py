"""Errors between processes."""
from __future__ import annotations


class DistError(RuntimeError):
    """An error of ``torch.distributed`` (``torch.distributed.DistError``)."""


class DistBackendError(DistError):
    """A collective failed: a rank died, came too late, or called another one
    (``torch.distributed.DistBackendError``).
    """


class DistNetworkError(DistError):
    """The processes cannot reach each other (``torch.distributed.DistNetworkError``)."""


class DistStoreError(DistError):
    """The processes did not find each other in time (``torch.distributed.DistStoreError``)."""
