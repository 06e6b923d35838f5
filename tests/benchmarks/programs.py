"""The programs that are timed: each takes a library (``mindtorch`` or ``torch``) and returns a function to call.

A program uses the public API only and is the same text for both libraries.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

Program = Callable[[Any], Callable[[], Any]]


def add(t: Any, device: str = "cpu") -> Callable[[], Any]:
    a, b = t.ones(8, device=device), t.ones(8, device=device)
    return lambda: a + b


def add_with_grad(t: Any) -> Callable[[], Any]:
    a, b = t.ones(8, requires_grad=True), t.ones(8)
    return lambda: a + b


def view(t: Any) -> Callable[[], Any]:
    a = t.ones(8)
    return lambda: a.view(2, 4)


def index(t: Any) -> Callable[[], Any]:
    a = t.ones(8)
    return lambda: a[2]


def index_slice(t: Any) -> Callable[[], Any]:
    a = t.ones(8)
    return lambda: a[1:5]


def index_none(t: Any) -> Callable[[], Any]:
    x = t.ones(4, 3)
    return lambda: x[1:, None]


def chain(t: Any) -> Callable[[], Any]:
    a, b, c = t.ones(8, requires_grad=True), t.ones(8), t.ones(8)

    def run() -> None:
        a.grad = None
        (a * b + c).relu().sum().backward()

    return run


def matmul(t: Any) -> Callable[[], Any]:
    a, b = t.ones(512, 512), t.ones(512, 512)
    return lambda: a @ b


def large_add(t: Any) -> Callable[[], Any]:
    a, b = t.ones(4_000_000), t.ones(4_000_000)
    return lambda: a + b


def large_exp(t: Any) -> Callable[[], Any]:
    a = t.ones(4_000_000)
    return lambda: a.exp()


def large_sum(t: Any) -> Callable[[], Any]:
    a = t.ones(4_000_000)
    return lambda: a.sum()


def transposed_copy(t: Any) -> Callable[[], Any]:
    a = t.ones(2000, 2000).t()
    return lambda: a.contiguous()


def softmax(t: Any) -> Callable[[], Any]:
    a = t.ones(2000, 2000)
    return lambda: a.softmax(1)


def _compiled(t: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function with mindtorch; PyTorch, with which it is compared, runs it as it is."""
    return t.compile(function) if t.__name__ == "mindtorch" else function


def pointwise_chain(t: Any) -> Callable[[], Any]:
    x, y = t.ones(4_000_000) * 0.5, t.ones(4_000_000) * 0.25
    function = _compiled(t, lambda x, y: ((x * y + 1) * x - y).relu() * 0.5)
    return lambda: function(x, y)


def pointwise_chain_of_numpy(t: Any) -> Callable[[], Any]:
    """Run the chain with kernels of NumPy, also where a loop is faster."""
    with patch("mindtorch._compile.kernels.define", lambda *text: None):
        run = pointwise_chain(t)
        run()
    return run


def _training(t: Any, model: Any, optimizer: Any, x: Any, y: Any, loss: Any,
              compiled: bool = False) -> Callable[[], Any]:
    def value(x: Any, y: Any) -> Any:
        return loss(model(x), y)

    value = _compiled(t, value) if compiled else value

    def step() -> None:
        optimizer.zero_grad()
        value(x, y).backward()
        optimizer.step()

    return step


def _mlp(t: Any, make_optimizer: Callable[[Any], Any], device: str = "cpu",
         compiled: bool = False) -> Callable[[], Any]:
    t.manual_seed(0)
    nn = t.nn
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
    model = model.to(device)
    x, y = t.randn(32, 64).to(device), t.randint(0, 10, (32,)).to(device)
    return _training(t, model, make_optimizer(model.parameters()), x, y, nn.CrossEntropyLoss(), compiled)


def mlp_sgd(t: Any, device: str = "cpu", compiled: bool = False) -> Callable[[], Any]:
    return _mlp(t, lambda parameters: t.optim.SGD(parameters, lr=0.01, momentum=0.9), device, compiled)


def mlp_adam(t: Any) -> Callable[[], Any]:
    return _mlp(t, lambda parameters: t.optim.Adam(parameters))


def cnn(t: Any) -> Callable[[], Any]:
    t.manual_seed(0)
    nn = t.nn
    model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1),
                          nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 7 * 7, 10))
    x, y = t.randn(32, 1, 28, 28), t.randint(0, 10, (32,))
    return _training(t, model, t.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), x, y, nn.CrossEntropyLoss())


def resnet(t: Any) -> Callable[[], Any]:
    """Train a stem and three residual blocks of 16 and 32 channels, batch 8 of 32 x 32."""
    t.manual_seed(0)
    nn = t.nn

    class Block(nn.Module):  # type: ignore[name-defined]
        def __init__(self, before: int, channels: int, stride: int = 1) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(before, channels, 3, stride, padding=1, bias=False)
            self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.norm1, self.norm2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
            self.short: Any = nn.Identity() if before == channels else nn.Conv2d(before, channels, 1, stride)

        def forward(self, x: Any) -> Any:
            inner = self.norm2(self.conv2(nn.functional.relu(self.norm1(self.conv1(x)))))
            return nn.functional.relu(inner + self.short(x))

    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), Block(16, 16),
                          Block(16, 32, 2), Block(32, 32), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    x, y = t.randn(8, 3, 32, 32), t.randint(0, 10, (8,))
    return _training(t, model, t.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), x, y, nn.CrossEntropyLoss())


def unet(t: Any) -> Callable[[], Any]:
    """Train two scales of 16 and 32 channels with a skip connection, as a step of diffusion, batch 4 of 32 x 32."""
    t.manual_seed(0)
    nn = t.nn

    def convolutions(before: int, channels: int) -> Any:
        return nn.Sequential(nn.Conv2d(before, channels, 3, padding=1), nn.GroupNorm(4, channels), nn.SiLU(),
                             nn.Conv2d(channels, channels, 3, padding=1), nn.GroupNorm(4, channels), nn.SiLU())

    down, middle, joined = convolutions(3, 16), convolutions(16, 32), convolutions(32, 16)
    up, last = nn.ConvTranspose2d(32, 16, 2, stride=2), nn.Conv2d(16, 3, 1)
    parameters = [p for part in (down, middle, joined, up, last) for p in part.parameters()]

    def model(x: Any) -> Any:
        first = down(x)
        return last(joined(t.cat([first, up(middle(nn.functional.avg_pool2d(first, 2)))], 1)))

    x, noise = t.randn(4, 3, 32, 32), t.randn(4, 3, 32, 32)
    return _training(t, model, t.optim.AdamW(parameters), x, noise, nn.MSELoss())


def vit(t: Any) -> Callable[[], Any]:
    """Train two layers of width 64 with four heads over 16 patches and a class token, batch 8 of 32 x 32."""
    t.manual_seed(0)
    nn = t.nn
    patches, head = nn.Conv2d(3, 64, 8, stride=8), nn.Linear(64, 10)
    layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
    layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    token, places = nn.Parameter(t.zeros(1, 1, 64)), nn.Parameter(t.randn(1, 17, 64))
    parameters = [token, places, *(p for part in (patches, layers, head) for p in part.parameters())]

    def model(x: Any) -> Any:
        tokens = t.cat([token.expand(len(x), -1, -1), patches(x).flatten(2).transpose(1, 2)], 1)
        return head(layers(tokens + places)[:, 0])

    x, y = t.randn(8, 3, 32, 32), t.randint(0, 10, (8,))
    return _training(t, model, t.optim.AdamW(parameters), x, y, nn.CrossEntropyLoss())


def lstm(t: Any) -> Callable[[], Any]:
    t.manual_seed(0)
    network, head = t.nn.LSTM(128, 128), t.nn.Linear(128, 10)
    optimizer = t.optim.Adam([*network.parameters(), *head.parameters()])
    x, y = t.randn(32, 32, 128), t.randint(0, 10, (32,))
    return _training(t, lambda x: head(network(x)[0][-1]), optimizer, x, y, t.nn.CrossEntropyLoss())


def gpt(t: Any, compiled: bool = False) -> Callable[[], Any]:
    """Two layers of width 64 with four heads, over 32 tokens, batch 8."""
    t.manual_seed(0)
    nn = t.nn

    class Block(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(64), nn.LayerNorm(64)
            self.qkv, self.out = nn.Linear(64, 192), nn.Linear(64, 64)
            self.mlp = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))

        def forward(self, x: Any) -> Any:
            heads = (part.view(8, 32, 4, 16).transpose(1, 2) for part in self.qkv(self.norm1(x)).split(64, dim=2))
            attended = nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
            x = x + self.out(attended.transpose(1, 2).reshape(8, 32, 64))
            return x + self.mlp(self.norm2(x))

    tokens, places = nn.Embedding(65, 64), nn.Embedding(32, 64)
    blocks, head = nn.Sequential(Block(), Block(), nn.LayerNorm(64)), nn.Linear(64, 65, bias=False)
    parameters = [p for part in (tokens, places, blocks, head) for p in part.parameters()]
    x, y = t.randint(0, 65, (8, 32)), t.randint(0, 65, (8 * 32,))
    return _training(t, lambda x: head(blocks(tokens(x) + places(t.arange(32)))).view(-1, 65),
                     t.optim.AdamW(parameters), x, y, nn.CrossEntropyLoss(), compiled)


def layer_norm(t: Any) -> Callable[[], Any]:
    norm, x = t.nn.LayerNorm(512), t.randn(1024, 512, requires_grad=True)
    return lambda: norm(x).sum().backward()


def attention(t: Any) -> Callable[[], Any]:
    q, k, v = (t.randn(8, 4, 128, 32, requires_grad=True) for _ in range(3))
    return lambda: t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()


#: name, program, and the ratio to PyTorch that it should not exceed (None: not promised yet)
PROGRAMS: list[tuple[str, Program, float | None]] = [
    ("a + b, 8 elements", add, 3.0),
    ("a + b with grad, 8 elements", add_with_grad, 3.0),
    ("view, 8 elements", view, 3.0),
    ("index a[2]", index, 4.0),
    ("index a[1:5]", index_slice, 4.0),
    ("index x[1:, None]", index_none, 2.0),
    ("chain of 4, forward and backward", chain, 1.2),
    ("matmul 512 x 512", matmul, None),
    ("add, 4M elements", large_add, None),
    ("exp, 4M elements", large_exp, None),
    ("sum, 4M elements", large_sum, None),
    ("transposed copy 2000 x 2000", transposed_copy, None),
    ("softmax 2000 x 2000", softmax, None),
    ("MLP training step, SGD momentum", mlp_sgd, 0.6),
    ("MLP training step, Adam", mlp_adam, 0.5),
    ("CNN training step", cnn, 0.9),
    ("ResNet training step", resnet, 1.0),
    ("UNet training step, AdamW", unet, 1.1),
    ("ViT training step, AdamW", vit, 1.0),
    ("LSTM training step", lstm, 1.0),
    ("GPT training step, AdamW", gpt, 1.0),
    ("compiled: chain of 6, 4M elements", pointwise_chain, 0.5),
    ("compiled: the same without numba", pointwise_chain_of_numpy, None),
    ("compiled: MLP training step, SGD", partial(mlp_sgd, compiled=True), 0.6),
    ("compiled: GPT training step", partial(gpt, compiled=True), 0.8),
    ("layer_norm, forward and backward", layer_norm, 1.5),
    ("attention, forward and backward", attention, 1.5),
]
IMPORT_RATIO = 0.2
NAMES = [name for name, *_ in PROGRAMS]


def call_of(t: Any, row: str) -> Callable[[], Any]:
    """Return the program of a row."""
    return next(program for name, program, _ in PROGRAMS if name == row)(t)
