"""A dataset as a function from a sampler's indices to a batch, for this process or a worker."""
from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from ..dataset import items_of

Fetch = Callable[[Any], Any]


class _DatasetKind:
    """How a loader reads its dataset: by indices, or as it comes."""

    Map = 0
    Iterable = 1


def fetcher(kind: int, dataset: Any, batches: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> Fetch:
    """Return a function that fetches the samples for one ``index``, a list of indices if ``batches``, and collates
    them.

    It raises StopIteration where an iterable dataset ends.
    """
    if kind == _DatasetKind.Map:
        if batches:
            return lambda indices: collate_fn(items_of(dataset, indices))
        return lambda index: collate_fn(dataset[index])
    samples = iter(dataset)
    if not batches:
        return lambda _: collate_fn(next(samples))

    def fetch(places: list[None]) -> Any:
        batch = list(islice(samples, len(places)))
        if not batch or (drop_last and len(batch) < len(places)):
            raise StopIteration
        return collate_fn(batch)

    return fetch
