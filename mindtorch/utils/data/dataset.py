"""Datasets: samples by index, or one after the other."""
from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

from ..._backends.random import Generator, default_generator
from ..._creation.random import randperm
from ..._tensor import Tensor

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples by index or key (``torch.utils.data.Dataset``). A subclass defines ``__getitem__`` and, for most
    samplers, ``__len__``; with ``__getitems__(indices)``, a loader asks for a batch at once.
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> Any:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Samples one after the other (``torch.utils.data.IterableDataset``). A subclass defines ``__iter__``.

    Each worker of a loader iterates over its whole copy of the dataset; ``get_worker_info`` lets it choose its part.
    """

    def __add__(self, other: Dataset[Any]) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """The rows of tensors of the same first size, as tuples (``torch.utils.data.TensorDataset``)."""

    def __init__(self, *tensors: Tensor):
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset[Any]):
    """Datasets of the same length side by side: samples are tuples, or dicts of keywords
    (``torch.utils.data.StackDataset``). Raises ValueError for no datasets, datasets given in both ways, or different
    lengths.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        if args and kwargs:
            raise ValueError("Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                             "input/output, but both types are given.")
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets: tuple[Any, ...] | dict[str, Any] = args or kwargs
        lengths = {len(dataset) for dataset in self._parts()}
        if len(lengths) > 1:
            raise ValueError("Size mismatch between datasets")
        self._length = lengths.pop()

    def _parts(self) -> Iterable[Any]:
        return self.datasets.values() if isinstance(self.datasets, dict) else self.datasets

    def _sample(self, parts: Iterable[Any]) -> Any:
        return dict(zip(self.datasets, parts, strict=True)) if isinstance(self.datasets, dict) else tuple(parts)

    def __getitem__(self, index: Any) -> Any:
        return self._sample(dataset[index] for dataset in self._parts())

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        columns = []
        for dataset in self._parts():
            columns.append(items_of(dataset, indices))
            if len(columns[-1]) != len(indices):
                raise ValueError("Nested dataset's output size mismatch."
                                 f" Expected {len(indices)}, got {len(columns[-1])}")
        return [self._sample(parts) for parts in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T_co]):
    """Datasets one after the other (``torch.utils.data.ConcatDataset``)."""

    def __init__(self, datasets: Iterable[Any]):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        place = bisect_right(self.cumulative_sizes, idx)
        return self.datasets[place][idx - (self.cumulative_sizes[place - 1] if place else 0)]


class ChainDataset(IterableDataset[T_co]):
    """Iterable datasets one after the other (``torch.utils.data.ChainDataset``)."""

    def __init__(self, datasets: Iterable[Any]):
        self.datasets = datasets

    def _checked(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self) -> Iterator[T_co]:
        for dataset in self._checked():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._checked())


class Subset(Dataset[T_co]):
    """The samples of a dataset at some indices (``torch.utils.data.Subset``). Raises NotImplementedError if a subclass
    defines ``__getitem__`` and not ``__getitems__``, which loaders call.
    """

    def __init__(self, dataset: Any, indices: Sequence[int]):
        self.dataset, self.indices = dataset, indices
        kind = type(self)
        if kind.__getitem__ is not Subset.__getitem__ and kind.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(f"{kind.__name__} overrides __getitem__ but not __getitems__. A loader calls the "
                                      "latter, so that both must be defined: for example as "
                                      "[self.__getitem__(idx) for idx in indices].")

    def __getitem__(self, idx: Any) -> Any:
        return self.dataset[[self.indices[i] for i in idx] if isinstance(idx, list) else self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        return items_of(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def items_of(dataset: Any, indices: Iterable[Any]) -> list[Any]:
    """Return the samples at several indices, asked for at once where the dataset can."""
    at_once: Callable[[Any], list[Any]] | None = getattr(dataset, "__getitems__", None)
    return at_once(indices) if at_once else [dataset[index] for index in indices]


def random_split(dataset: Any, lengths: Sequence[int | float],
                 generator: Generator | None = default_generator) -> list[Subset[Any]]:
    """Split a dataset into random, disjoint subsets of these lengths, or fractions of the whole
    (``torch.utils.data.random_split``). The remainder of fractions is dealt out one sample each, from the first subset
    on. Raises ValueError if a fraction is not in [0, 1], or the lengths do not add up to the dataset's.
    """
    whole = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        counts = [math.floor(whole * fraction) for fraction in lengths]
        for i in range(whole - sum(counts)):
            counts[i % len(counts)] += 1
        for i, count in enumerate(counts):
            if count == 0:
                warnings.warn(f"Length of split at index {i} is 0. This might result in an empty dataset.",
                              stacklevel=2)
        lengths = counts
    if sum(lengths) != whole:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(whole, generator=generator).tolist()
    return [Subset(dataset, order[int(end - length):int(end)])
            for end, length in zip(accumulate(lengths), lengths, strict=True)]
