"""Functions as tutorials have them, and what PyTorch's Dynamo makes of each: graphs, operators, breaks.

``torch`` is set by ``load``, so that the same source runs in both libraries. ``python -m tests.dynamo.functions`` asks
PyTorch and writes ``expected.json``.
"""
from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import itertools
import json
import math
import sys
import types
import typing
import warnings
from pathlib import Path

EXPECTED = Path(__file__).with_name("expected.json")
SOURCE = '''
F = torch.nn.functional
SCALE = 2.5
CONFIG = {"depth": 3, "act": "relu"}
LOG = []
COUNT = 0


def x(): return torch.arange(6.0).reshape(2, 3) - 1
def v(): return torch.arange(4.0) + 1


CASES = {}


def case(*make):
    def add(function):
        CASES[function.__name__] = (function, make)
        return function
    return add


# -- control flow

@case(x)
def straight(a): return (a.relu() * 2 + 1).sum()

@case(x)
def branch_on_data(a):
    b = a + 1
    if b.sum() > 0:
        return b * 2
    return b - 1

@case(x)
def branch_on_shape(a):
    if a.shape[0] > 1:
        a = a.t()
    return a.contiguous() + a.dim()

@case(x)
def inline_if(a): return a + 1 if a.mean() > 0 else a - 1

@case(x)
def and_on_data(a): return a * 2 if a.sum() > 0 and a.max() > 1 else a

@case(x)
def loop_of_range(a):
    for i in range(4):
        a = a * i + 1
    return a

@case(x)
def loop_with_break(a):
    for i in range(3):
        a = a + i
        print(end="")
    return a

@case(x)
def while_on_number(a):
    n = 3
    while n:
        a, n = a.sin(), n - 1
    return a

@case(x)
def while_on_data(a):
    while a.sum() < 100:
        a = a * 2 + 1
    return a

@case(x)
def asserts(a):
    assert a.sum() > -100, "too small"
    return a + 1

@case(x)
def match_statement(a):
    match CONFIG["act"]:
        case "relu": return a.relu()
        case _: return a

# -- breaks

@case(x)
def prints(a):
    b = a + 1
    print(end="")
    return b * 2

@case(x)
def prints_tensor(a):
    b = a + 1
    print(f"{b.shape} {b}", end="") if False else print("", end="")
    return b * 2

@case(v)
def item(a): return a * a.sum().item()

@case(v)
def tolist(a): return a * len(a.tolist())

@case(v)
def nonzero(a): return a.nonzero().sum() + 1

@case(v)
def mask(a): return a[a > 2] * 2

@case(v)
def explicit_break(a):
    b = a.sin()
    torch._dynamo.graph_break()
    return b.cos()

@case(v)
def two_breaks(a):
    b = a.sin()
    torch._dynamo.graph_break()
    b = b.cos()
    torch._dynamo.graph_break()
    return b.tan()

def helper_with_break(b):
    b = b * 2
    torch._dynamo.graph_break()
    return b + 1

@case(v)
def break_in_helper(a):
    b = a + 1
    return helper_with_break(b) * 3

def outer_helper(b): return helper_with_break(b - 1) - 1

@case(v)
def break_two_calls_down(a): return outer_helper(a + 1) * 3

@torch.compiler.disable
def disabled(a): return a * 3

@case(v)
def calls_disabled(a): return disabled(a + 1) - 1

@case(v)
def backward(a):
    b = a.clone().requires_grad_()
    (b * b).sum().backward()
    return b.grad + 1

@case(v)
def break_in_with(a):
    with torch.no_grad():
        b = a + 1
        torch._dynamo.graph_break()
        b = b * 2
    return b - 1

@case(v)
def break_in_try(a):
    try:
        b = a + 1
        torch._dynamo.graph_break()
        return b * 2
    except ValueError:
        return a

@case(v)
def break_on_the_stack(a): return (a + 1) * helper_with_break(a - 1) + (a * 3)

@case(v)
def float_of_tensor(a): return a * float(a.sum())

@case(v)
def int_of_tensor(a): return a + int(a[0])

@case(v)
def opens_file(a):
    b = a + 1
    open("/dev/null").close()
    return b * 2

@case(v)
def warns(a):
    b = a + 1
    with warnings.catch_warnings():
        pass
    return b * 2

@case(v)
def seeds(a):
    b = a + 1
    torch.manual_seed(0)
    return b * 2

# -- Python data

@case(x)
def mutates_dict(a):
    d = {"a": a}
    d["b"] = d["a"] + 1
    d.update(c=d.pop("b") * 2)
    return d

@case(x)
def mutates_list(a):
    out = []
    for row in a.unbind(0):
        out.append(row * 2)
    out[0] = out[0] + 1
    return out, out[::-1]

@case(x)
def appends_to_global(a):
    LOG.append(a.shape[0])
    return a + len(LOG)

@case(x)
def writes_global(a):
    global COUNT
    COUNT = COUNT + 1
    return a + 1

@case(x)
def comprehension(a): return torch.stack([a * i for i in range(3) if i != 1]), {k: a + k for k in (1, 2)}

@case(x)
def generators(a):
    def rows():
        for i in range(2):
            yield a[i] * i
    return sum(rows()) + sum(a[i] for i in range(2))

@case(x)
def closures(a):
    total = a * 0
    def add(b):
        nonlocal total
        total = total + b
        return total
    add(a)
    return add(a + 1), total

@case(x)
def returns_closure(a):
    b = a + 1
    return (lambda c: c + b)(a)

@case(x)
def zips(a):
    r = a.sum()
    for i, (one, other) in enumerate(zip(a.unbind(0), reversed(a.unbind(0)))):
        r = r + i * (one * other).sum()
    return r

@case(x)
def sorts(a): return a * sorted([3, 1, 2], key=lambda n: -n)[0] + max(1, 2) + sum([1, 2])

@case(x)
def strings(a):
    name = f"layer_{a.shape[1]}"
    return a + len(name.upper().split("_")) if name.startswith("layer") else a

@case(x)
def unpacking(a):
    first, *rest = a.unbind(1)
    (p, q), r = (first, rest[0]), rest[1]
    return p + q * r

Point = collections.namedtuple("Point", "x y")

@case(x)
def named_tuples(a):
    p = Point(a, a + 1)
    return Point(p.y, p.x * 2)

@dataclasses.dataclass
class Box:
    value: object
    scale: float = 2.0
    def scaled(self): return self.value * self.scale

@case(x)
def dataclass_inside(a): return Box(a).scaled() + Box(a, scale=1.0).value

class Account:
    total = 0
    def __init__(self, start): self.balance = start
    def __add__(self, other): return Account(self.balance + other)
    @property
    def doubled(self): return self.balance * 2
    @staticmethod
    def one(): return 1
    @classmethod
    def make(cls, start): return cls(start)

@case(x)
def classes(a): return (Account.make(a) + Account.one()).doubled

@case(x)
def partials(a): return functools.partial(torch.add, alpha=2)(a, a) + functools.reduce(lambda p, q: p + q, [a, a])

@case(x)
def itertools_chain(a): return sum(itertools.chain([a], [a * 2], itertools.repeat(a, 2)))

@case(x)
def counts(a):
    c = collections.Counter("hello")
    d = collections.defaultdict(list)
    d["k"].append(a)
    return d["k"][0] * c["l"]

# -- exceptions and contexts

@case(x)
def try_except(a):
    try:
        raise ValueError("no")
    except ValueError as error:
        return a + len(error.args)
    finally:
        a = a * 2

@case(x)
def missing_key(a):
    try:
        return a * CONFIG["missing"]
    except KeyError:
        return a * CONFIG["depth"]

@case(x)
def grad_modes(a):
    with torch.no_grad():
        b = a * 2
    with torch.enable_grad():
        c = b + 1
    return c

@contextlib.contextmanager
def scaled(n):
    yield n * 2

@case(x)
def own_context(a):
    with scaled(3) as n:
        return a * n

@case(x)
def decorated(a):
    @torch.no_grad()
    def inner(b): return b * 2
    return inner(a)

# -- modules

class MLP(torch.nn.Module):
    def __init__(self, breaks=False):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(3, 3) for _ in range(3)])
        self.norm = torch.nn.LayerNorm(3)
        self.breaks, self.calls = breaks, 0
    def forward(self, a):
        self.calls += 1
        for layer in self.layers:
            a = F.relu(layer(a))
        if self.breaks:
            torch._dynamo.graph_break()
        return self.norm(a)

PLAIN, BREAKING = MLP(), MLP(True)
SEQUENTIAL = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Dropout(0.5)).eval()

@case(x)
def module_loop(a): return PLAIN(a)

@case(x)
def module_with_break(a): return BREAKING(a) + 1

@case(x)
def sequential(a): return SEQUENTIAL(a)

@case(x)
def writes_input(a):
    a.add_(1)
    a[0] = 5
    return a * 2

@case(x)
def parameters_of_module(a): return sum(p.sum() for p in PLAIN.parameters()) + a

@case(x)
def is_training(a): return F.dropout(a, 0.5, training=SEQUENTIAL.training)
'''


def load(torch: types.ModuleType) -> dict[str, tuple[typing.Any, typing.Any]]:
    """Return the functions for a library: each with the makers of its arguments."""
    name = f"tests.dynamo.of_{torch.__name__}"
    module = types.ModuleType(name)
    vars(module).update(torch=torch, collections=collections, contextlib=contextlib, dataclasses=dataclasses,
                        functools=functools, itertools=itertools, math=math, warnings=warnings)
    sys.modules[name] = module
    exec(compile(SOURCE, f"<functions of {torch.__name__}>", "exec"), vars(module))
    return module.CASES  # type: ignore[no-any-return]


def measure(torch: types.ModuleType, function: typing.Any, make: typing.Any) -> dict[str, typing.Any]:
    """Return the graphs, their operators, and the lines of the breaks, of one function."""
    torch._dynamo.reset()
    ops: list[int] = []

    def backend(gm: typing.Any, inputs: typing.Any) -> typing.Any:
        ops.append(sum(node.op.startswith("call") for node in gm.graph.nodes))
        return gm.forward

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.compile(function, backend=backend)(*[one() for one in make])
    return {"graphs": len(ops), "ops": sum(ops)}


def main() -> None:
    """Ask PyTorch, and write what it says."""
    import torch

    found = {name: measure(torch, *one) for name, one in load(torch).items()}
    EXPECTED.write_text("{\n" + ",\n".join(f'"{name}": {json.dumps(one)}' for name, one in found.items()) + "\n}\n")


if __name__ == "__main__":
    main()
