"""Samplers: in which order a loader asks for samples. Random ones draw PyTorch's numbers."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

from ..._backends.random import Generator
from ..._creation import as_tensor, empty
from ..._creation.random import randint, randperm
from ..._dtype import float64, int64
from ..._methods.functions import multinomial

T_co = TypeVar("T_co", covariant=True)


def draw_seed(generator: Generator | None) -> int:
    """Return a number of 63 bits, drawn as PyTorch draws the seeds of samplers and workers."""
    return empty((), dtype=int64).random_(generator=generator).item()


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


class Sampler(Generic[T_co]):
    """Indices, or lists of indices, of samples (``torch.utils.data.Sampler``). A subclass defines ``__iter__`` and, for
    the length of a loader, ``__len__``.
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """All indices in order (``torch.utils.data.SequentialSampler``)."""

    def __init__(self, data_source: Sized):
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices in random order, or drawn with ``replacement`` (``torch.utils.data.RandomSampler``).

    Without a generator, each pass over it has one of its own, whose seed the default generator draws. Raises TypeError
    if ``replacement`` is not a bool, and ValueError if ``num_samples`` is not positive.
    """

    def __init__(self, data_source: Sized, replacement: bool = False, num_samples: int | None = None,
                 generator: Generator | None = None):
        self.data_source, self.replacement = data_source, replacement
        self._num_samples, self.generator = num_samples, generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        _check_count("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """The number of indices of a pass: by default the length of the data, which may change."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count, generator = len(self.data_source), self.generator
        if generator is None:
            generator = Generator().manual_seed(draw_seed(None))
        whole, rest = divmod(self.num_samples, 32 if self.replacement else count)
        if self.replacement:
            for _ in range(whole):
                yield from randint(count, (32,), generator=generator).tolist()
            yield from randint(count, (rest,), generator=generator).tolist()
        else:
            for _ in range(whole):
                yield from randperm(count, generator=generator).tolist()
            yield from randperm(count, generator=generator).tolist()[:rest]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """These indices in random order (``torch.utils.data.SubsetRandomSampler``)."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None):
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with probabilities in proportion to weights (``torch.utils.data.WeightedRandomSampler``). Raises
    ValueError if ``num_samples`` is not positive, ``replacement`` no bool, or the weights are not one-dimensional.
    """

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True,
                 generator: Generator | None = None):
        _check_count("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.dim() != 1:
            raise ValueError("weights should be a 1d sequence but given weights have shape "
                             f"{tuple(self.weights.shape)}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of ``batch_size`` indices of another sampler (``torch.utils.data.BatchSampler``). Raises ValueError if
    ``batch_size`` is not positive, or ``drop_last`` no bool.
    """

    def __init__(self, sampler: Sampler[Any] | Iterable[Any], batch_size: int, drop_last: bool):
        _check_count("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]  # a sampler without a length makes a loader without one
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
