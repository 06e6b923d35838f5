"""Builtin functions in Python, which the interpreter reads in place of those in C (``torch._dynamo.polyfills``)."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

MISSING = object()


def all_(values: Iterable[Any]) -> bool:
    for value in values:  # noqa: SIM110 (this is ``all``)
        if not value:
            return False
    return True


def any_(values: Iterable[Any]) -> bool:
    for value in values:  # noqa: SIM110 (this is ``any``)
        if value:
            return True
    return False


def sum_(values: Iterable[Any], start: Any = 0) -> Any:
    for value in values:
        start = start + value
    return start


def _best(better: Callable[[Any, Any], Any], args: Any, key: Any, default: Any) -> Any:
    values = iter(args[0] if len(args) == 1 else args)
    try:
        best = next(values)
    except StopIteration:
        if default is MISSING:
            raise ValueError("arg is an empty sequence") from None
        return default
    of_best = best if key is None else key(best)
    for value in values:
        of_value = value if key is None else key(value)
        if better(of_value, of_best):
            best, of_best = value, of_value
    return best


def max_(*args: Any, key: Any = None, default: Any = MISSING) -> Any:
    return _best(lambda one, other: one > other, args, key, default)


def min_(*args: Any, key: Any = None, default: Any = MISSING) -> Any:
    return _best(lambda one, other: one < other, args, key, default)


def reduce_(function: Callable[..., Any], values: Iterable[Any], start: Any = MISSING) -> Any:
    iterator = iter(values)
    if start is MISSING:
        start = next(iterator)
    for value in iterator:
        start = function(start, value)
    return start


def chain_(*values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        yield from value


def chain_from_iterable(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        yield from value


def repeat_(value: Any, times: Any = None) -> Iterator[Any]:
    if times is None:
        while True:
            yield value
    for _ in range(times):
        yield value


def cycle_(values: Iterable[Any]) -> Iterator[Any]:
    kept = []
    for value in values:
        yield value
        kept.append(value)
    while kept:
        for value in kept:
            yield value


def islice_(values: Iterable[Any], *args: Any) -> Iterator[Any]:
    limits = slice(*args)
    start, stop, step = limits.start or 0, limits.stop, limits.step or 1
    if stop is not None and stop <= 0:
        return
    for number, value in enumerate(values):
        if number >= start and (number - start) % step == 0:
            yield value
        if stop is not None and number + 1 >= stop:
            return


def accumulate_(iterable: Iterable[Any], func: Any = None, *, initial: Any = None) -> Iterator[Any]:
    iterator = iter(iterable)
    total = initial
    if initial is None:
        try:
            total = next(iterator)
        except StopIteration:
            return
    yield total
    for value in iterator:
        total = total + value if func is None else func(total, value)
        yield total


def product_(*values: Iterable[Any], repeat: int = 1) -> Iterator[Any]:
    pools = [tuple(value) for value in values] * repeat
    rows: list[Any] = [()]
    for pool in pools:
        rows = [(*row, value) for row in rows for value in pool]
    yield from rows


def combinations_(values: Iterable[Any], length: int) -> Iterator[Any]:
    pool = tuple(values)
    for numbers in indices_of_combinations(len(pool), length):
        yield tuple([pool[number] for number in numbers])


def permutations_(values: Iterable[Any], length: Any = None) -> Iterator[Any]:
    pool = tuple(values)
    for numbers in indices_of_permutations(len(pool), len(pool) if length is None else length):
        yield tuple([pool[number] for number in numbers])


def indices_of_combinations(size: int, length: int) -> list[Any]:
    rows: list[Any] = [()]
    for _ in range(length):
        rows = [(*row, number) for row in rows for number in range(row[-1] + 1 if row else 0, size)]
    return rows


def indices_of_permutations(size: int, length: int) -> list[Any]:
    rows: list[Any] = [()]
    for _ in range(length):
        rows = [(*row, number) for row in rows for number in range(size) if number not in row]
    return rows


def zip_longest_(*values: Iterable[Any], fillvalue: Any = None) -> Iterator[Any]:
    iterators = [iter(value) for value in values]
    left = [True for _ in iterators]
    while True:
        items = []
        for number, iterator in enumerate(iterators):
            item = next(iterator, MISSING) if left[number] else MISSING
            if item is MISSING:
                left[number] = False
                item = fillvalue
            items.append(item)
        if not any(left):
            return
        yield tuple(items)


def pairwise_(values: Iterable[Any]) -> Iterator[Any]:
    before: Any = MISSING
    for value in values:
        if before is not MISSING:
            yield before, value
        before = value


def starmap_(function: Callable[..., Any], values: Iterable[Any]) -> Iterator[Any]:
    for args in values:
        yield function(*args)


def takewhile_(function: Callable[..., Any], values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if not function(value):
            return
        yield value


def dropwhile_(function: Callable[..., Any], values: Iterable[Any]) -> Iterator[Any]:
    dropping = True
    for value in values:
        if dropping and function(value):
            continue
        dropping = False
        yield value


def filterfalse_(function: Any, values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if not (value if function is None else function(value)):
            yield value


def compress_(values: Iterable[Any], selectors: Iterable[Any]) -> Iterator[Any]:
    for value, selected in zip(values, selectors, strict=False):
        if selected:
            yield value


def groupby_(values: Iterable[Any], key: Any = None) -> Iterator[Any]:
    group: list[Any] = []
    of_group: Any = MISSING
    for value in values:
        of_value = value if key is None else key(value)
        if of_group is not MISSING and of_value != of_group:
            yield of_group, iter(group)
            group = []
        of_group = of_value
        group.append(value)
    if of_group is not MISSING:
        yield of_group, iter(group)


def tee_(values: Iterable[Any], count: int = 2) -> Any:
    kept = list(values)
    return tuple([iter(kept) for _ in range(count)])


def reversed_(values: Any) -> Iterator[Any]:
    for number in range(len(values) - 1, -1, -1):
        yield values[number]


def call_until(function: Callable[[], Any], end: Any) -> Iterator[Any]:
    while True:
        value = function()
        if value == end:
            return
        yield value


def counter_init(self: Any, iterable: Any = None, /, **named: Any) -> None:
    if iterable is not None:
        if hasattr(iterable, "items"):
            for key, count in iterable.items():
                self[key] = self.get(key, 0) + count
        else:
            for key in iterable:
                self[key] = self.get(key, 0) + 1
    for key, count in named.items():
        self[key] = self.get(key, 0) + count
