"""Programs of Python's idioms: functions of a tensor of two elements and of ``Settings``, which some of them change."""
from __future__ import annotations

import bisect
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import heapq
import itertools
import math
import operator
import random
import re
import string
import types
from collections.abc import Callable
from typing import Any

import mindtorch as torch
from mindtorch import nn

F = nn.functional
COUNT = 0
PROGRAMS: list[Callable[..., Any]] = []


def program(function):
    """Register a program."""
    PROGRAMS.append(function)
    return function


class Settings:
    """State of an object and of its class, and methods of the data model that read it."""

    def __init__(self):
        self.size, self.members, self.values = 3, {1, 2}, [1.0]
        self.inner = types.SimpleNamespace(offset=1, members={3})

    @property
    def twice(self):
        return self.size * 2

    def __call__(self, x):
        return x * self.size

    def __len__(self):
        return self.size

    def __getitem__(self, place):
        return self.values[place]

    def __contains__(self, member):
        return member in self.members

    def __eq__(self, other):
        return self.size == other.size

    def __hash__(self):
        return 1

    def __iter__(self):
        return iter(self.values)

    def __bool__(self):
        return self.size > 2


#: What the class of the settings holds at first.
SHARED: dict[str, Any] = {
    "count": 2, "table": {"k": 1.0}, "items": [1, 2], "recent": collections.deque([1, 2], maxlen=3),
    "ordered": collections.OrderedDict(a=1), "letters": collections.Counter("aab"),
    "lists": collections.defaultdict(list),
}


def reset() -> Settings:
    """Give the globals and the class their first values, and return settings with theirs."""
    global COUNT
    COUNT = 0
    for name, value in copy.deepcopy(SHARED).items():
        setattr(Settings, name, value)
    return Settings()


def state(settings: Settings) -> dict[str, Any]:
    """Return all that a program may change beside its tensor."""
    return {**vars(settings), **{name: getattr(Settings, name) for name in SHARED}, "COUNT": COUNT}


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Access(enum.Flag):
    READ = 1
    WRITE = 2


@dataclasses.dataclass
class Record:
    first: Any
    second: int = 2
    rest: list[Any] = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.third = self.second + 1


@program
def writes_to_a_global(x, settings):
    global COUNT
    COUNT = COUNT + 1
    return x + COUNT


@program
def reads_of_an_object(x, settings):
    y = x + settings.size + len(settings.members) + settings.twice + len(settings) + settings[0] + (1 in settings)
    return y + sum(settings) + bool(settings) + settings.inner.offset + len(settings.inner.members) + settings(x)


@program
def writes_to_an_object(x, settings):
    settings.size += 1
    settings.members.add(settings.size)
    settings.values.append(2.0)
    settings.inner.offset += 1
    settings.inner.members |= {settings.size}
    settings.made = x
    return x + settings.size


@program
def writes_to_a_class(x, settings):
    Settings.count = Settings.count + 1
    return x * Settings.count


@program
def writes_to_collections(x, settings):
    settings.recent.append(settings.size)
    settings.recent.rotate(1)
    settings.ordered["b"] = 2
    settings.ordered.move_to_end("a")
    settings.letters["z"] += 1
    settings.lists["q"].append(1)
    total = x + len(settings.recent) + settings.recent[0] + len(settings.ordered) + settings.letters["a"]
    return total + len(settings.lists), list(settings.ordered), settings.letters.most_common(1)


@program
def writes_to_arguments(x, settings):
    x.add_(1)
    settings.values.insert(0, 7)
    settings.table["k"] += 1
    settings.items.extend([3])
    settings.items.pop(0)
    settings.items.sort(reverse=True)
    del settings.table["k"]
    settings.table["k"] = 4
    return x * 2, settings.items[:], settings.values[0], dict(settings.table)


@program
def sets(x, settings):
    one, other = {1, 2, 3}, {2, 5}
    sizes = [len(made) for made in (one & other, one | other, one - other, one ^ other)]
    one.update(other)
    one.discard(1)
    return x + sum(sizes) + len(one), sizes, sorted(one), one >= {2}, one.isdisjoint({99}), frozenset(other)


@program
def dictionaries(x, settings):
    made = {"a": x, **{"b": 2}}
    made.update(c=3)
    made.setdefault("e", x + 1)
    popped, default = made.pop("b"), made.get("absent", 7)
    changed = {key: value if isinstance(value, int) else value * 2 for key, value in made.items()}
    return changed, popped, default, list(made), "a" in made, made | {"q": 1}


@program
def comprehensions(x, settings):
    return ([i * x for i in range(3) if i], {i: x + i for i in (1, 2)}, {i % 2 for i in range(5)},
            tuple(x[i] for i in range(2)), [[i + j for j in range(i)] for i in range(3)])


@program
def generators(x, settings):
    def shifted(count):
        for i in range(count):
            sent = yield x + i
            assert sent is None
        return 9

    def delegating():
        value = yield from shifted(2)
        yield x * value

    return list(delegating()), next(iter(shifted(1))), sum(shifted(3))


@program
def exceptions(x, settings):
    log = []
    try:
        try:
            settings.table["absent"]
        except KeyError as error:
            log.append(str(error))
            raise ValueError("v") from error
        finally:
            log.append("finally")
    except (ValueError, TypeError) as error:
        log.append(type(error.__cause__).__name__)
    else:
        log.append("never")
    return x + len(log), log


@program
def matches(x, settings):
    def kind(value):
        match value:
            case 0:
                return "zero"
            case [first, *rest]:
                return "list", first, len(rest)
            case {"k": found, **others}:
                return "dictionary", found, len(others)
            case str() as text:
                return text
            case Record(first=1, second=second):
                return "record", second
            case _:
                return "other"

    return x + 1, [kind(value) for value in (0, [1, 2, 3], {"k": 2, "z": 1}, "text", 2.5, Record(1), Record(2))]


@program
def dataclass_instances(x, settings):
    record = Record(x)
    record.rest.append(x)
    replaced = dataclasses.replace(Record(1, 5), second=7)
    return (record.first + record.second + record.third, len(record.rest), replaced.second, replaced.third,
            dataclasses.asdict(Record(1)), Record(1) == Record(1), [field.name for field in dataclasses.fields(Record)])


@program
def enumerations(x, settings):
    return (x + Level.HIGH + (Colour.RED is Colour.RED) + Colour.BLUE.value, Colour.RED.name, Colour["BLUE"].value,
            [colour.value for colour in Colour], (Access.READ | Access.WRITE).value, Level(1) == 1,
            Colour(2) is Colour.BLUE)


@program
def iterators(x, settings):
    numbers = [3, 1, 2]
    made = [itertools.chain(numbers, (4,)), itertools.islice(itertools.count(2), 3), itertools.accumulate(numbers),
            itertools.islice(itertools.product(numbers, repeat=2), 3), zip(numbers, "abc", strict=True),
            reversed(numbers), map(operator.mul, numbers, numbers), itertools.pairwise(numbers), enumerate(numbers, 1),
            itertools.takewhile(lambda n: n > 2, numbers), itertools.starmap(pow, [(2, 3)]),
            itertools.combinations(numbers, 2)]
    groups = [(key, list(group)) for key, group in itertools.groupby([1, 1, 2])]
    return (x + 1, [list(iterator) for iterator in made], groups, sorted(numbers, key=lambda n: -n),
            max(numbers, key=lambda n: -n), min(numbers), functools.reduce(operator.add, numbers),
            any(n > 2 for n in numbers), all(numbers))


@program
def strings(x, settings):
    text, percent, braces = "ab", "%s-%d", "{}{k}"
    return (x + len(text), f"{text!r:>6}|{1.5:.2f}|{x.shape[0]:03d}", percent % (text, 3), braces.format(1, k=2),
            text.upper() + text[::-1], ",".join(str(i) for i in range(3)), text in "xaby", "a-b".partition("-"),
            text.startswith("a"), text * 2, text.replace("a", "z"), [ord(letter) for letter in text], str(x.dtype),
            repr(x.shape), str(x.device), text.encode(), "x".join(["a", "b"]), text.zfill(4), text.find("b"),
            int("12"), float("1.5"), bool(""), text < "b", text.title().center(6, "*"))


@program
def numbers(x, settings):
    return (x + 1, divmod(7, 3), round(2.567, 2), abs(-3), pow(2, 5, 7), 7 // 2, -7 % 3, 1 << 4, 6 & 3, 6 | 1, 6 ^ 2,
            ~5, 3 + 4j, math.sqrt(2), math.ceil(2.1), math.pi, int(3.9), float(2), bool(0), complex(1, 2).conjugate(),
            10 ** -2, 0.1 + 0.2, math.isclose(1, 1 + 1e-10), (5).bit_length(), hex(255), math.inf > 1,
            math.gcd(12, 18), "yes" if 3 > 2 > 1 else "no", not 0)


@program
def closures(x, settings):
    count = 0

    def increase(by=1):
        nonlocal count
        count += by
        return count

    def factorial(n):
        return 1 if n == 0 else n * factorial(n - 1)

    def total(first, *rest, scale=2, **named):
        return first + sum(rest) + scale + sum(named.values())

    shifts = [lambda n, i=i: n + i for i in range(3)]
    increase()
    increase(5)
    return (x + count, [shift(1) for shift in shifts], factorial(4), total(1, 2, 3, scale=4, c=5),
            total(*[1, 2], **{"z": 3}), (lambda *values: len(values))(1, 2))


@program
def context_managers(x, settings):
    log = []

    class Swallowing:
        def __enter__(self):
            log.append("enter")
            return 5

        def __exit__(self, kind, *error):
            log.append(kind.__name__ if kind else None)
            return True

    @contextlib.contextmanager
    def logged():
        log.append("begin")
        try:
            yield 3
        finally:
            log.append("end")

    with Swallowing() as entered:
        y = x + entered
    with Swallowing():
        raise KeyError(1)
    with logged() as scale, torch.no_grad():
        y = y * scale
    with contextlib.suppress(ValueError):
        raise ValueError
    with contextlib.nullcontext(2) as offset:
        y = y + offset
    return y, log, y.requires_grad


@program
def unpacking(x, settings):
    first, *rest = [1, 2, 3]
    (second, third), fourth = (4, 5), 6
    (size,), dimensions = x.shape, x.dim()
    one = other = 2
    one, other = other + 1, one
    walrus = (four := 4) + four
    del first
    *most, last = range(4)
    left, right = x.split(1)[:2]
    return (x.view(-1, *x.shape), rest, second + third + fourth, size + dimensions, one, other, walrus, most, last,
            left + right)


@program
def augmented_assignments(x, settings):
    y = x.clone()
    y += 1
    y[0] = 5
    y[1:] *= 2
    y -= x
    y.add_(1).mul_(2)
    y[y > 3] = 0
    made, pair, text, members, table = [1, 2], (1,), "a", {1}, {1: 2}
    made += [3]
    made *= 2
    pair += (2,)
    text += "b"
    members |= {2}
    table |= {3: 4}
    return y, made, pair, text, members, table


@program
def loops(x, settings):
    total, product, highest, values, log = 0, 1, None, [], []
    for i, value in enumerate(x):
        total += value
        product *= value + 1
        highest = value if highest is None else highest + value
        values.append(value)
        if i > 5:
            break
    else:
        log.append("no break")
    i = 0
    while i < x.shape[0]:
        i += 1
        if i == 1:
            continue
        total = total + i
    while len(log) < 4:
        log.append(len(log))
    return total, product, highest, torch.stack(values), sum(values), log


@program
def tensor_attributes(x, settings):
    y = x * 2 if x.shape[0] > 1 else x
    product = torch.cat([y, x]) @ torch.ones(2 * x.shape[0])
    return (product, x[None].T, x.new_zeros(2), torch.zeros_like(x), x.size(), x.shape == (2,), x.numel(), x is x,
            x.dtype == torch.float32, isinstance(x, torch.Tensor), type(x).__name__, x.ndim, len(x), x.is_contiguous(),
            x.device.type, torch.is_tensor(x), x.element_size(), x.stride(), x.requires_grad)


@program
def classes_of_the_function(x, settings):
    class Base:
        made = 0

        def __init__(self, value):
            self.value = value
            Base.made += 1

        def __add__(self, other):
            return Base(self.value + (other.value if isinstance(other, Base) else other))

        def __radd__(self, other):
            return self + other

        def __lt__(self, other):
            return self.value < other.value

        def __repr__(self):
            return "a Base"

        def __getattr__(self, name):
            if name.startswith("dynamic_"):
                return name.removeprefix("dynamic_")
            raise AttributeError(name)

        @classmethod
        def one(cls):
            return cls(1)

        @staticmethod
        def four():
            return 4

    class Derived(Base):
        def __init__(self, value):
            super().__init__(value)
            self.weight = 2

        def __call__(self):
            return super().one().value + self.weight

    total, derived = Base(x) + Base(x) + 3, Derived(1)
    return ((3 + total).value, derived(), derived.dynamic_name, hasattr(derived, "absent"),
            getattr(derived, "absent", 5), Base.four(), isinstance(derived, Base), issubclass(Derived, Base),
            Derived.__mro__[1].__name__, derived.__class__.__name__, vars(derived)["weight"], callable(derived),
            Base(1) < Base(2), sorted([Base(2), Base(1)])[0].value, Base.made, f"{derived}")


@program
def graph_breaks(x, settings):
    y = x + 1
    settings.values.append(3)
    print(end="")
    y = y * 2 if y.sum() > 3 else y - 1
    made = [y]
    made.append(float(y.sum()))
    for i in range(2):
        made[0] = made[0] + i
        if made[0].sum() > 100:
            break
    return made, len(settings.values)


@program
def partials_and_operators(x, settings):
    doubled = functools.partial(torch.add, alpha=2)
    total = functools.partial(lambda first, second, third=1: first + second + third, 1, third=5)
    summed, swapped, size = operator.methodcaller("sum"), operator.itemgetter(1, 0), operator.attrgetter("size")
    function, method = "sin", "cos"
    return (doubled(x, x), total(2), summed(x), swapped([3, 4]), size(settings), operator.mul(x, 2), F.relu(x),
            getattr(torch, function)(x), getattr(x, method)())


@program
def functions_of_the_standard_library(x, settings):
    heap, ordered = [], [1, 3, 5]
    for n in (3, 1, 2):
        heapq.heappush(heap, n)
    bisect.insort(ordered, 4)
    return (x + heapq.heappop(heap), heap, ordered, bisect.bisect(ordered, 3), re.sub("a", "b", "cat"),
            copy.copy([1, 2]), copy.deepcopy({"a": [1]}), string.digits[:3])


@program
def modules(x, settings):
    linear = nn.Linear(2, 2)
    with torch.no_grad():
        linear.weight.fill_(0.5)
        linear.bias.zero_()
    layers, named = nn.Sequential(nn.ReLU(), nn.Identity()), nn.ModuleDict({"a": nn.Tanh()})
    return (linear(x).detach(), layers(x), named["a"](x), [type(layer).__name__ for layer in layers], len(layers),
            "a" in named)


@program
def random_numbers(x, settings):
    torch.manual_seed(3)
    random.seed(1)
    return torch.rand(2), random.random(), torch.randint(0, 5, (2,)), F.dropout(x, 0.5)


@program
def views(x, settings):
    column = x.view(2, 1)
    row = column.t()
    row[0, 0] = 9
    rest = x[1:]
    rest.mul_(3)
    first, second = x.unbind()
    return (column, row, rest, first, second, x.unsqueeze(0).expand(3, 2), x.flip(0), x[None], x[..., :1], x[[1, 0]],
            x[torch.tensor([0])])


@program
def assertions(x, settings):
    assert x.shape[0] == 2, "no"
    if (size := x.shape[0]) > 1:
        pass
    doubled = [double for n in (1, 2, 3) if (double := n * 2) > 2]
    try:
        assert size == 3, f"bad {size}"
    except AssertionError as error:
        message = str(error)
    return x + size, doubled, message
