"""Single operators on small and on large tensors, to be timed: ``python -m tests.benchmarks.compare --rows``.

A row is a name, the inputs, and the call, which is the same text for both libraries. What is on eight elements shows
what it costs to reach the operator, the rest shows how it computes.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

Row = tuple[str, Callable[[Any], tuple[Any, ...]], Callable[..., Any]]


# -- inputs ------------------------------------------------------------------------------------------------------------

def normal(*shapes: tuple[int, ...], dtype: str = "float32", grad: bool = False) -> Callable[[Any], tuple[Any, ...]]:
    """Draw normally distributed numbers in these shapes."""
    def make(t: Any) -> tuple[Any, ...]:
        t.manual_seed(0)
        made = tuple(t.randn(shape).to(getattr(t, dtype)) for shape in shapes)
        return tuple(x.requires_grad_() for x in made) if grad else made

    return make


def indexed(shape: tuple[int, ...], *indices: tuple[int, tuple[int, ...]]) -> Callable[[Any], tuple[Any, ...]]:
    """Draw normally distributed numbers, and integers below a bound in these shapes."""
    def make(t: Any) -> tuple[Any, ...]:
        t.manual_seed(0)
        return t.randn(shape), *(t.randint(0, bound, size) for bound, size in indices)

    return make


def nothing(t: Any) -> tuple[Any, ...]:
    return ()


LONG, SQUARE, HEADS = (4_000_000,), (2000, 2000), (8, 8, 128, 64)
eight, small = normal((8,)), normal((2, 4))
long, longs, square, squares = normal(LONG), normal(LONG, LONG), normal(SQUARE), normal(SQUARE, SQUARE)
heads = normal(HEADS, HEADS, HEADS)


# -- calls of more than a line -----------------------------------------------------------------------------------------

def chain_small(t: Any, x: Any, y: Any) -> None:
    x.grad = None
    (x * y + x).tanh().sum().backward()


def without_grad(t: Any, x: Any) -> None:
    with t.no_grad():
        pass


def by_hand(t: Any, q: Any, k: Any, v: Any) -> Any:
    return (q @ k.transpose(-2, -1) / 8).softmax(-1) @ v


def layer_norm_by_hand(t: Any, x: Any) -> Any:
    var, mean = t.var_mean(x, 1, keepdim=True)
    return (x - mean) / (var + 1e-5).sqrt()


def index_put(t: Any, x: Any, i: Any, j: Any, v: Any) -> None:
    x[i, j] = v


def embedding_trained(t: Any, weight: Any, at: Any) -> None:
    weight.grad = None
    t.nn.functional.embedding(at, weight.requires_grad_()).sum().backward()


def loss_trained(t: Any, x: Any, target: Any) -> None:
    t.nn.functional.cross_entropy(x.requires_grad_(), target).backward()


# -- rows --------------------------------------------------------------------------------------------------------------

SMALL: list[Row] = [
    ("add", normal((8,), (8,)), lambda t, x, y: x + y),
    ("add grad", normal((8,), (8,), grad=True), lambda t, x, y: x + y),
    ("add_", normal((8,), (8,)), lambda t, x, y: x.add_(y)),
    ("argmax", small, lambda t, x: x.argmax(1)),
    ("cat", normal((8,), (8,)), lambda t, x, y: t.cat([x, y])),
    ("chain fwd+bwd ((x*y+x).tanh().sum())", normal((8,), (8,), grad=True), chain_small),
    ("clone", eight, lambda t, x: x.clone()),
    ("copy_", normal((8,), (8,)), lambda t, x, y: x.copy_(y)),
    ("cross_entropy", indexed((2, 4), (4, (2,))), lambda t, x, y: t.nn.functional.cross_entropy(x, y)),
    ("detach", eight, lambda t, x: x.detach()),
    ("eq all", normal((8,), (8,)), lambda t, x, y: (x == y).all()),
    ("exp", eight, lambda t, x: x.exp()),
    ("F.linear 2x4", normal((2, 4), (2, 4), (2,)), lambda t, x, w, b: t.nn.functional.linear(x, w, b)),
    ("item", normal(()), lambda t, x: x.item()),
    ("matmul 2x4@4x2", normal((2, 4), (4, 2)), lambda t, x, y: x @ y),
    ("max(dim)", small, lambda t, x: x.max(1)),
    ("mean dim", small, lambda t, x: x.mean(1)),
    ("mul scalar", eight, lambda t, x: x * 2.0),
    ("no_grad ctx", eight, without_grad),
    ("permute", small, lambda t, x: x.permute(1, 0)),
    ("randn(8)", nothing, lambda t: t.randn(8)),
    ("relu", eight, lambda t, x: x.relu()),
    ("repr", eight, lambda t, x: repr(x)),
    ("softmax", small, lambda t, x: x.softmax(1)),
    ("split/chunk", eight, lambda t, x: x.split(4)),
    ("stack", normal((8,), (8,)), lambda t, x, y: t.stack([x, y])),
    ("sum", eight, lambda t, x: x.sum()),
    ("t()", small, lambda t, x: x.t()),
    ("tensor([..])", nothing, lambda t: t.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])),
    ("view", eight, lambda t, x: x.view(2, 4)),
    ("where", normal((8,), (8,)), lambda t, x, y: t.where(x > 0, x, y)),
    ("x[0]", small, lambda t, x: x[0]),
    ("x[:,1:3]", small, lambda t, x: x[:, 1:3]),
    ("x[idx]", indexed((8,), (8, (4,))), lambda t, x, i: x[i]),
    ("x[mask]", lambda t: (t.arange(8.0), t.arange(8) % 2 == 0), lambda t, x, m: x[m]),
    ("zeros(8)", nothing, lambda t: t.zeros(8)),
]
LARGE: list[Row] = [
    ("add 4M", longs, lambda t, x, y: x + y),
    ("add_ 4M in place", longs, lambda t, x, y: x.add_(y, alpha=1e-6)),
    ("add transposed x+y.t()", squares, lambda t, x, y: x + y.t()),
    ("amax all", square, lambda t, x: x.amax()),
    ("amax first", square, lambda t, x: x.amax(0)),
    ("amax last", square, lambda t, x: x.amax(1)),
    ("argmax all", square, lambda t, x: x.argmax()),
    ("argmax first", square, lambda t, x: x.argmax(0)),
    ("argmax last", square, lambda t, x: x.argmax(1)),
    ("argsort last 2000x2000", square, lambda t, x: x.argsort(1)),
    ("attention (SDPA)", heads, lambda t, q, k, v: t.nn.functional.scaled_dot_product_attention(q, k, v)),
    ("attention fwd by hand 8x8x128x64", heads, by_hand),
    ("attention fwd+bwd by hand", normal(HEADS, HEADS, HEADS, grad=True),
     lambda t, q, k, v: by_hand(t, q, k, v).sum().backward()),
    ("bernoulli/dropout 4M", long, lambda t, x: t.nn.functional.dropout(x, 0.5)),
    ("bf16 add 1M", normal((1_000_000,), (1_000_000,), dtype="bfloat16"), lambda t, x, y: x + y),
    ("bincount 1M", lambda t: (t.randint(0, 1000, (1_000_000,)),), lambda t, x: t.bincount(x)),
    ("bmm 64x(128x64) @ transposed", normal((64, 128, 64), (64, 128, 64)), lambda t, x, y: x.bmm(y.transpose(1, 2))),
    ("bmm 64x(128x64x128)", normal((64, 128, 64), (64, 64, 128)), lambda t, x, y: x.bmm(y)),
    ("boolean mask x[m] 4M", lambda t: (*long(t), long(t)[0] > 0), lambda t, x, m: x[m]),
    ("broadcast add col", normal(SQUARE, (2000, 1)), lambda t, x, y: x + y),
    ("broadcast add row", normal(SQUARE, (2000,)), lambda t, x, y: x + y),
    ("cat 2x4M", longs, lambda t, x, y: t.cat([x, y])),
    ("cat dim1 2x(2000,2000)", squares, lambda t, x, y: t.cat([x, y], 1)),
    ("chain (x*y+x).tanh()*y 4M", longs, lambda t, x, y: (x * y + x).tanh() * y),
    ("clamp 4M", long, lambda t, x: x.clamp(-1.0, 1.0)),
    ("clone 4M", long, lambda t, x: x.clone()),
    ("cross_entropy fwd+bwd 256x1000", indexed((256, 1000), (1000, (256,))), loss_trained),
    ("cumsum first", square, lambda t, x: x.cumsum(0)),
    ("cumsum last", square, lambda t, x: x.cumsum(1)),
    ("einsum bhqd,bhkd->bhqk", heads, lambda t, q, k, v: t.einsum("bhqd,bhkd->bhqk", q, k)),
    ("embedding 50000x256, 32x128", indexed((50000, 256), (50000, (32, 128))),
     lambda t, w, at: t.nn.functional.embedding(at, w)),
    ("embedding fwd+bwd", indexed((50000, 256), (50000, (32, 128))), embedding_trained),
    ("exp 4M", long, lambda t, x: x.exp()),
    ("f16 mul 1M", normal((1_000_000,), (1_000_000,), dtype="float16"), lambda t, x, y: x * y),
    ("gather first", indexed(SQUARE, (2000, SQUARE)), lambda t, x, i: x.gather(0, i)),
    ("gather last", indexed(SQUARE, (2000, SQUARE)), lambda t, x, i: x.gather(1, i)),
    ("gelu 4M", long, lambda t, x: t.nn.functional.gelu(x)),
    ("gelu tanh 4M", long, lambda t, x: t.nn.functional.gelu(x, approximate="tanh")),
    ("gt 4M", longs, lambda t, x, y: x > y),
    ("index_add_", lambda t: (t.zeros(5000, 256), *indexed((4096, 256), (5000, (4096,)))(t)),
     lambda t, x, v, i: x.index_add_(0, i, v)),
    ("index_select", indexed((50000, 256), (50000, (4096,))), lambda t, x, i: x.index_select(0, i)),
    ("int64 add 1M", lambda t: (t.arange(1_000_000), t.arange(1_000_000)), lambda t, x, y: x + y),
    ("layer_norm 2000x2000", square, lambda t, x: t.nn.functional.layer_norm(x, (2000,))),
    ("linear 512x512 batch 64", normal((64, 512), (512, 512), (512,)),
     lambda t, x, w, b: t.nn.functional.linear(x, w, b)),
    ("log_softmax 2000x2000", square, lambda t, x: x.log_softmax(1)),
    ("logsumexp last", square, lambda t, x: x.logsumexp(1)),
    ("masked_fill 4M", lambda t: (*long(t), long(t)[0] > 0), lambda t, x, m: x.masked_fill(m, 0.0)),
    ("matmul 128", normal((128, 128), (128, 128)), lambda t, x, y: x @ y),
    ("matmul 512", normal((512, 512), (512, 512)), lambda t, x, y: x @ y),
    ("matmul 1024", normal((1024, 1024), (1024, 1024)), lambda t, x, y: x @ y),
    ("matmul f64 512", normal((512, 512), (512, 512), dtype="float64"), lambda t, x, y: x @ y),
    ("matmul int64 256", lambda t: (t.randint(0, 100, (256, 256)), t.randint(0, 100, (256, 256))),
     lambda t, x, y: x @ y),
    ("matmul x@y.t() 512", normal((512, 512), (512, 512)), lambda t, x, y: x @ y.t()),
    ("mean all", square, lambda t, x: x.mean()),
    ("mean first", square, lambda t, x: x.mean(0)),
    ("mean last", square, lambda t, x: x.mean(1)),
    ("mul 4M", longs, lambda t, x, y: x * y),
    ("mul scalar 4M", long, lambda t, x: x * 2.0),
    ("norm all", square, lambda t, x: x.norm()),
    ("one_hot 4096x1000", lambda t: (t.randint(0, 1000, (4096,)),),
     lambda t, x: t.nn.functional.one_hot(x, 1000)),
    ("pow2 4M", long, lambda t, x: x ** 2),
    ("pow3 4M", long, lambda t, x: x ** 3),
    ("rand 4M", nothing, lambda t: t.rand(4_000_000)),
    ("randn 4M", nothing, lambda t: t.randn(4_000_000)),
    ("randperm 1M", nothing, lambda t: t.randperm(1_000_000)),
    ("relu 4M", long, lambda t, x: x.relu()),
    ("scatter_add_ last", lambda t: (t.zeros(SQUARE), *indexed(SQUARE, (2000, SQUARE))(t)),
     lambda t, x, v, i: x.scatter_add_(1, i, v)),
    ("sigmoid 4M", long, lambda t, x: x.sigmoid()),
    ("silu 4M", long, lambda t, x: t.nn.functional.silu(x)),
    ("softmax 2000x2000", square, lambda t, x: x.softmax(1)),
    ("softmax dim0 2000x2000", square, lambda t, x: x.softmax(0)),
    ("sort 1M", normal((1_000_000,)), lambda t, x: x.sort()),
    ("sort last 2000x2000", square, lambda t, x: x.sort(1)),
    ("sqrt 4M", lambda t: (t.rand(4_000_000),), lambda t, x: x.sqrt()),
    ("stack dim-1 2x(2000,2000)", squares, lambda t, x, y: t.stack([x, y], -1)),
    ("sum all", square, lambda t, x: x.sum()),
    ("sum first", square, lambda t, x: x.sum(0)),
    ("sum last", square, lambda t, x: x.sum(1)),
    ("tanh 4M", long, lambda t, x: x.tanh()),
    ("to float64 4M", long, lambda t, x: x.double()),
    ("to int64 4M", long, lambda t, x: x.long()),
    ("topk 10 2000x2000", square, lambda t, x: x.topk(10)),
    ("transposed copy", square, lambda t, x: x.t().contiguous()),
    ("tril 2000", square, lambda t, x: x.tril()),
    ("unique 1M ints", lambda t: (t.randint(0, 1000, (1_000_000,)),), lambda t, x: x.unique()),
    ("var all", square, lambda t, x: x.var()),
    ("var first", square, lambda t, x: x.var(0)),
    ("var last", square, lambda t, x: x.var(1)),
    ("var_mean norm (layer_norm by hand)", square, layer_norm_by_hand),
    ("where 4M", lambda t: (*longs(t), longs(t)[0] > 0), lambda t, x, y, m: t.where(m, x, y)),
    ("x[i,j] adv index 1M", indexed(SQUARE, (2000, (1_000_000,)), (2000, (1_000_000,))), lambda t, x, i, j: x[i, j]),
    ("x[i,j]=v index_put 1M",
     lambda t: (*indexed(SQUARE, *[(2000, (1_000_000,))] * 2)(t), t.ones(1_000_000)), index_put),
    ("zeros 4M", nothing, lambda t: t.zeros(4_000_000)),
]
ROWS = [*((f"s8: {name}", inputs, call) for name, inputs, call in SMALL), *LARGE]
NAMES = [name for name, *_ in ROWS]


def call_of(t: Any, row: str) -> Callable[[], Any]:
    """Return the call of a row, on inputs of its own."""
    inputs, call = next((inputs, call) for name, inputs, call in ROWS if name == row)
    return partial(call, t, *inputs(t))
