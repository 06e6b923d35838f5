"""Idioms of Python in compiled functions: their results, and all that they change, are those of the plain functions."""
from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import mindtorch as torch
from mindtorch._dynamo.testing import same
from tests.dynamo import idioms

CALLS = 4


def differences(found: Any, expected: Any, where: str) -> Iterator[str]:
    """Yield in what two values differ, part by part, each with its place."""
    if type(found) is not type(expected):
        yield f"{where} is {found!r}, not {expected!r}"
    elif isinstance(expected, torch.Tensor):
        kinds = [(x.dtype, x.shape, x.stride(), x.requires_grad) for x in (found, expected)]
        if kinds[0] != kinds[1] or not torch.equal(found, expected):
            yield f"{where} is {found} of {kinds[0]}, not {expected} of {kinds[1]}"
    elif isinstance(expected, dict) and [*found] == [*expected]:
        for key, value in expected.items():
            yield from differences(found[key], value, f"{where}[{key!r}]")
    elif isinstance(expected, list | tuple) and len(found) == len(expected):
        for place, value in enumerate(expected):
            yield from differences(found[place], value, f"{where}[{place}]")
    elif found != expected:
        yield f"{where} is {found!r}, not {expected!r}"


def outcomes(function: Any) -> list[dict[str, Any]]:
    """Call a program several times, each with another tensor, at last with other settings, and return what it returns
    and what it leaves behind.
    """
    settings, found = idioms.reset(), []
    for call in range(CALLS):
        torch.manual_seed(0)
        x = torch.arange(1.0, 3.0) * (call + 1) * (-1 if call == 2 else 1)
        if call == CALLS - 1:
            settings.size += 5
            settings.members.add(77)
            settings.values.append(1.5)
            settings.table["z"] = 1
            settings.items.append(0)
        found.append(copy.deepcopy({"result": function(x, settings), "x": x, **idioms.state(settings)}))
    return found


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("program", idioms.PROGRAMS, ids=lambda program: program.__name__)
def test_calls_return_and_change_what_plain_ones_do(program, backend) -> None:
    torch._dynamo.reset()
    assert [*differences(outcomes(torch.compile(program, backend=backend)), outcomes(program), "calls")] == []


class Odd:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return self.n == other.n

    def __bool__(self):
        return self.n


class Table(dict):
    def update(self, *args):  # type: ignore[override]
        raise AssertionError("a user's method is not called to make a copy")

    clear = update


DATA_MODEL = {
    "not equal is the inverse of equal": lambda x: x + (Odd(1) != Odd(1)),
    "a class of dictionaries": lambda x: Table(a=x)["a"] * 2,
    "an iterator that is left": lambda x: [*zip(i := iter([1, 2, 3]), [x], strict=False), [*i]],
    "an attribute that comes and goes": lambda x: (setattr(o := Odd(2), "m", x), delattr(o, "m"), hasattr(o, "m")),
    "dtypes as Python's types": lambda x: x.to(bool).to(float).to(int),
}


@pytest.mark.parametrize("name", DATA_MODEL)
def test_the_data_model_is_pythons(name) -> None:
    function, x = DATA_MODEL[name], torch.ones(2)
    assert str(torch.compile(function, backend="eager", fullgraph=True)(x)) == str(function(x))


def test_a_truth_that_is_no_bool_raises_as_python_does() -> None:
    with pytest.raises(TypeError, match="__bool__ should return bool, returned int"):
        torch.compile(lambda x: x + 1 if Odd(1) else x, backend="eager")(torch.ones(2))


class Held:
    """Computes once, and grows in place."""

    def __init__(self, value: Any) -> None:
        self.value, self.computed = value, 0

    @functools.cached_property
    def double(self) -> Any:
        self.computed += 1
        return self.value * 2

    def __iadd__(self, other: Any) -> Held:
        self.value = self.value + other
        return self


class Reflecting:
    def __iadd__(self, other: Any) -> Any:
        return NotImplemented

    def __add__(self, other: Any) -> Any:
        return other * 5


class Refusal(ValueError):
    def __init__(self, share: float) -> None:
        super().__init__(share, "refused")
        self.share = share


def caches(x):
    held = Held(x)
    return held.double + held.double + held.computed


def grows(x):
    held = same_one = Held(x)
    held += 3
    return same_one.value, held is same_one


def reflects(x):
    total = Reflecting()
    total += x
    return total


def counts(x):
    numbers = itertools.count(2, 3)
    counted = [a * i for i, a in zip(itertools.count(1), x, strict=False)]
    return x * next(numbers) + next(numbers), next(numbers), counted


def refuses(x):
    try:
        raise Refusal(3.0)
    except Refusal as error:
        return x * error.share, error.args


@pytest.mark.parametrize("function", [caches, grows, reflects, counts, refuses, lambda x: torch.Tensor.add(x, other=1),
                                      lambda x: (torch.Tensor.size(x), torch.Tensor.mul(x, 2))])
def test_one_graph_holds_what_objects_compute_by_their_methods(function) -> None:
    x = torch.arange(4.0).reshape(2, 2)
    assert same(torch.compile(function, backend="eager", fullgraph=True)(x), function(x))


def test_a_tuple_that_a_result_holds_twice_is_one_tuple() -> None:
    def twice(x):
        pair = (x + 1, x)
        return pair, [pair]

    first, (second,) = torch.compile(twice, backend="eager", fullgraph=True)(torch.ones(2))
    assert first is second and first[0].tolist() == [2, 2]


def doubled(x):
    return x * 2


def named(cls):
    return cls.__name__


class Pair(NamedTuple):
    first: Any
    second: Any = 3

    def key(self):
        return 5

    @property
    def product(self):
        return self.first * self.second

    scale, name = staticmethod(doubled), classmethod(named)


Pair.weight = 7


class Items(list):
    limit = 3

    scale, name = staticmethod(doubled), classmethod(named)

    @property
    def last(self):
        return self[-1]


ITEMS = Items([torch.ones(2), 4])


def of_pairs(x):
    pair = Pair(x)
    return (pair.key(), pair.product, pair.scale(x), pair.name(), pair.weight, pair._replace(second=x).second,
            pair._asdict()["second"], pair._fields, pair[1:], Pair(1).index(3))


def of_lists(x):
    made = Items([x, 2])
    return [(items.limit, items.scale(x), items.name(), items.last, len(items)) for items in (made, ITEMS)]


def of_augmented_numbers(x):
    total, product, difference, quotient, power = 0, 2, 3.0, 1, 2
    for value in (x, x + 1):
        total += value
    product *= x
    difference -= x
    quotient /= x + 1
    power **= x
    return total, product, difference, quotient, power, x


ATTRIBUTES = ["__name__", "__qualname__", "__code__", "__annotations__", "__dict__", "__call__", "func", "append",
              "send", "__next__", "add", "nothing"]


def of_attributes(x):
    def function(a, b):
        return a

    values = (functools.partial(function, b=x), function, [], {}, {1}, (), iter([]), zip([1]), map(len, []),
              filter(None, []), (a for a in []), len, torch.sin, "a")
    return x, [[name for name in ATTRIBUTES if hasattr(value, name)] for value in values]


def of_types_by_name(x):
    return x.type(torch.HalfTensor), x.type("torch.DoubleTensor").type(x.type())


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("function", [of_attributes, of_types_by_name, of_pairs, of_lists, of_augmented_numbers])
def test_a_program_of_python_is_one_graph_with_its_results(function, backend) -> None:
    x = torch.arange(1.0, 3.0)
    assert str(torch.compile(function, backend=backend, fullgraph=True)(x)) == str(function(x))


def test_a_filter_goes_on_behind_a_graph_break() -> None:
    def function(x):
        calls = []
        left = filter(lambda n: calls.append(n) or n % 2, [1, 2, 3, 4, 5])
        x = x + next(left)
        torch._dynamo.graph_break()
        return x + next(left), calls, [*filter(None, [0, 1, 2])]

    assert str(torch.compile(function, backend="eager")(torch.ones(1))) == str(function(torch.ones(1)))


@pytest.mark.parametrize("dynamic", [None, True])
def test_variables_may_have_the_names_of_builtins(dynamic) -> None:
    def inner(input):
        if input.sum() > 0:
            return input + 1
        return input - 1

    def function(x, len=2, iter=3, list=None, hasattr=1, id=4, *tuple, bool=6, slice=7, **dict):
        y = inner(x + len + iter + hasattr + id + bool + slice + tuple[0] + dict["a"])
        list.append(y)
        torch._dynamo.graph_break()
        return y * (len if y.sum() > 0 else iter), y.shape[0], id, slice

    compiled = torch.compile(function, backend="eager", dynamic=dynamic)
    for size in (2, 3, 4):
        ours, theirs = [], []
        found = compiled(torch.ones(size), 2, 3, ours, 1, 4, 5, a=-30)
        assert str(found) == str(function(torch.ones(size), 2, 3, theirs, 1, 4, 5, a=-30)) and str(ours) == str(theirs)
