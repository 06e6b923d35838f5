"""Datasets, samplers and the order of a loader are PyTorch's for a seed."""
from __future__ import annotations

import random
import types
from itertools import islice
from typing import Any

import numpy as np
import pytest

import mindtorch
import mindtorch.utils.data.distributed
from tests.support import array, seed_all, torch

data = mindtorch.utils.data


def plain(value: Any) -> Any:
    """Batches as nested lists of numbers, with the dtypes of tensors."""
    if isinstance(value, (mindtorch.Tensor, torch.Tensor)):
        return str(value.dtype), array(value).tolist()
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(item) for item in value]
    return value


def both(program: Any) -> None:
    """Check that a program gives the same in both libraries, and leaves the generators in the same state."""
    found = []
    for lib in (torch, mindtorch):
        seed_all(lib, 3)
        np.random.seed(1)
        random.seed(2)
        found.append((plain(program(lib, lib.utils.data)), plain(lib.rand(2))))
    assert found[0] == found[1]


def rows(lib: types.ModuleType) -> Any:
    return lib.utils.data.TensorDataset(lib.arange(100).view(25, 4).float(), lib.arange(25))


def draws(lib: types.ModuleType) -> Any:
    """Make a dataset whose samples come from all generators of the process."""

    class Draws(lib.utils.data.Dataset):  # type: ignore[name-defined, misc]
        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: int) -> Any:
            info = lib.utils.data.get_worker_info()
            return lib.rand(1), int(np.random.randint(1000)), random.randrange(1000), -1 if info is None else info.seed

    return Draws()


def counted(lib: types.ModuleType) -> Any:
    class Counted(lib.utils.data.IterableDataset):  # type: ignore[name-defined, misc]
        def __iter__(self) -> Any:
            info = lib.utils.data.get_worker_info()
            return iter(range(5)) if info is None else iter(range(info.id * 100, info.id * 100 + 3 * info.id + 2))

    return Counted()


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("options", [
    {}, {"shuffle": True}, {"shuffle": True, "drop_last": True}, {"batch_size": None, "shuffle": True},
], ids=str)
def test_a_loader_has_the_order_of_pytorch(options, workers) -> None:
    options = {"batch_size": 7, "num_workers": workers} | options
    both(lambda lib, data: [list(data.DataLoader(rows(lib), **options)) for _ in range(2)])


@pytest.mark.parametrize("workers", [0, 2])
def test_a_generator_decides_on_order_and_seeds(workers) -> None:
    def program(lib: types.ModuleType, data: Any) -> Any:
        generator = lib.Generator().manual_seed(5)
        loader = data.DataLoader(draws(lib), 2, shuffle=True, num_workers=workers, generator=generator)
        return [list(loader), list(loader)]

    both(program)


def test_persistent_workers_go_on_with_their_generators() -> None:
    def program(lib: types.ModuleType, data: Any) -> Any:
        loader = data.DataLoader(draws(lib), 1, shuffle=True, num_workers=2, persistent_workers=True)
        return [list(loader), list(loader)]

    both(program)


@pytest.mark.parametrize("sampler", [
    lambda lib, data: data.RandomSampler(range(25)),
    lambda lib, data: data.RandomSampler(range(25), num_samples=60),
    lambda lib, data: data.RandomSampler(range(25), replacement=True, num_samples=70),
    lambda lib, data: data.SubsetRandomSampler([3, 9, 1, 20]),
    lambda lib, data: data.WeightedRandomSampler([0.1, 3, 0, 2], 5, replacement=True),
    lambda lib, data: data.WeightedRandomSampler([0.1, 3, 1, 2], 3, replacement=False),
    lambda lib, data: data.distributed.DistributedSampler(range(25), 3, 1, seed=4),
    lambda lib, data: data.distributed.DistributedSampler(range(25), 3, 1, drop_last=True, shuffle=False),
    lambda lib, data: data.distributed.DistributedSampler(range(2), 5, 4),
    lambda lib, data: data.BatchSampler(data.SequentialSampler(range(7)), 3, False),
    lambda lib, data: data.BatchSampler(data.SequentialSampler(range(7)), 3, True),
])
def test_samplers_draw_the_numbers_of_pytorch(sampler) -> None:
    both(lambda lib, data: [len(sampler(lib, data)), list(sampler(lib, data)), list(sampler(lib, data))])


def test_a_pass_with_replacement_may_be_endless() -> None:
    def program(lib: types.ModuleType, data: Any) -> Any:
        sampler = data.RandomSampler(range(25), replacement=True, num_samples=int(1e18))
        return list(islice(data.DataLoader(rows(lib), 10, sampler=sampler), 5))

    both(program)


def test_a_sampler_that_draws_at_once_is_asked_as_often_as_by_pytorch() -> None:
    def program(lib: types.ModuleType, data: Any) -> Any:
        class Eager(data.Sampler):  # type: ignore[misc]
            def __iter__(self) -> Any:
                return iter(lib.randperm(25).tolist())

        return [list(data.DataLoader(rows(lib), 10, sampler=Eager(), num_workers=workers)) for workers in (0, 1)]

    both(program)


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("size", [None, 2])
def test_iterable_datasets_are_spread_over_workers_as_in_pytorch(workers, size) -> None:
    both(lambda lib, data: list(data.DataLoader(counted(lib), size, num_workers=workers)))
    both(lambda lib, data: list(data.DataLoader(counted(lib), 2, num_workers=workers, drop_last=True)))


@pytest.mark.parametrize("lengths", [[3, 7], [0.3, 0.3, 0.4], [0.5, 0.25, 0.25]], ids=str)
def test_random_split_is_that_of_pytorch(lengths) -> None:
    both(lambda lib, data: [part.indices for part in data.random_split(range(10), lengths)])


@pytest.mark.parametrize("wrong", [
    lambda lib, data: data.random_split(range(10), [3, 3]),
    lambda lib, data: data.random_split(range(10), [-0.5, 1.5]),
    lambda lib, data: data.RandomSampler([]),
    lambda lib, data: data.BatchSampler([1], 0, False),
    lambda lib, data: data.WeightedRandomSampler([[1.0]], 1),
    lambda lib, data: data.DataLoader([1], num_workers=-1),
    lambda lib, data: data.DataLoader([1], prefetch_factor=2),
    lambda lib, data: data.DataLoader([1], persistent_workers=True),
    lambda lib, data: data.DataLoader([1], shuffle=True, sampler=[0]),
    lambda lib, data: data.DataLoader([1], batch_sampler=[[0]], batch_size=2),
    lambda lib, data: data.DataLoader([1], batch_size=None, drop_last=True),
    lambda lib, data: data.DataLoader([1], multiprocessing_context="fork"),
    lambda lib, data: data.DataLoader([1], num_workers=1, multiprocessing_context="bad"),
    lambda lib, data: data.DataLoader(counted(lib), shuffle=True),
    lambda lib, data: data.DataLoader(counted(lib), batch_sampler=[[0]]),
    lambda lib, data: setattr(data.DataLoader([1]), "batch_size", 3),
    lambda lib, data: data.default_collate([object()]),
    lambda lib, data: data.default_collate([[1], [1, 2]]),
    lambda lib, data: data.StackDataset(),
    lambda lib, data: data.StackDataset([1], [1, 2]),
    lambda lib, data: len(data.DataLoader(counted(lib))),
])
def test_what_is_wrong_raises_the_errors_of_pytorch(wrong) -> None:
    errors = []
    for lib in (torch, mindtorch):
        with pytest.raises(Exception) as raised:
            wrong(lib, lib.utils.data)
        errors.append((raised.type, str(raised.value)))
    assert errors[0] == errors[1]


@pytest.mark.parametrize("batch", [
    [1, 2], [1.5, 2], [True, False], ["a", "b"], [(1, "x"), (2, "y")], [{"a": 1, "b": [1.0, 2]}] * 2,
    [np.arange(3), np.arange(3)], [np.float32(1), np.float32(2)], [np.arange(3, dtype=np.int16)] * 2,
], ids=str)
def test_batches_and_conversions_are_those_of_pytorch(batch) -> None:
    both(lambda lib, data: str(data.default_collate(batch)))
    both(lambda lib, data: str(data.default_convert(batch)))


def test_a_loader_warns_of_more_samples_than_the_length_said() -> None:
    class Long(data.IterableDataset):
        def __iter__(self) -> Any:
            return iter(range(4))

        def __len__(self) -> int:
            return 3

    loader = data.DataLoader(Long(), batch_size=None)
    assert len(loader) == 3
    with pytest.warns(UserWarning, match="was reported to be 3.*but 4 samples have been fetched"):
        list(loader)


def test_a_pass_reads_what_stands_in_for_a_loader_as_its_kind_says() -> None:
    def program(t: Any, data: Any) -> Any:
        module = data.dataloader

        class Batches:
            """The arguments of a pass, as libraries with a loader of their own give them."""

            dataset = property(iter)
            _auto_collation, drop_last, in_order, pin_memory, pin_memory_device = False, False, True, False, ""
            _IterableDataset_len_called = generator = None
            num_workers, timeout, prefetch_factor, persistent_workers = 0, 0, 2, False
            _dataset_kind = module._DatasetKind.Iterable
            _index_sampler = [None] * 5

            def collate_fn(self, batch: Any) -> Any:
                return batch

            def __iter__(self) -> Any:
                return iter([t.ones(2), t.zeros(1)])

        kinds = [data.DataLoader([1, 2])._dataset_kind, module._DatasetKind.Map]
        return [*module._SingleProcessDataLoaderIter(Batches())], kinds

    both(program)


@pytest.mark.parametrize("settings", [
    {"batch_sampler": [[0, 1], [2]]}, {"batch_size": None}, {"batch_size": 2}, {"batch_size": 2, "drop_last": True}])
def test_a_loader_says_how_it_batches(settings: dict[str, Any]) -> None:
    told = []
    for lib in (mindtorch, torch):
        loader = lib.utils.data.DataLoader(lib.utils.data.TensorDataset(lib.arange(5.0)), **settings)
        told.append([loader.batch_size, loader.drop_last, len(loader), type(loader.sampler).__name__,
                     type(loader.batch_sampler).__name__, [part.tolist() for part, in loader]])
    assert told[0] == told[1]
