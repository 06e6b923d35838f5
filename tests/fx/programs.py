"""Programs for tracing, as functions of the library that they are written for: PyTorch, or this one."""
import math
import operator
from collections.abc import Callable
from typing import Any


def functions(torch: Any) -> dict[str, Callable[..., Any]]:  # noqa: C901  # a list
    """Return functions by name."""
    F = torch.nn.functional

    def arithmetic(x, y=3, *, z: int = 4):
        return (1 - x) / y + z * x // 2 % 3 - 2 ** x @ x

    def comparisons(x, y):
        return {"lt": x < y, "ge": x >= 2, "eq": x == y, "ne": x != None}  # noqa: E711

    def bits(x):
        return ~x & (x | 3) ^ x << 1 >> 2, -x, +x, abs(x)

    def methods(x):
        y = x.view(x.size(0), -1).transpose(0, 1).contiguous()
        return y.softmax(dim=-1).sum(-1, keepdim=True).to(torch.float64).relu_()

    def attributes(x):
        return x.shape[0], x.dtype, x.T, x.device, x.grad.data.ndim

    def indexing(x, i):
        return x[0], x[..., None, 1:], x[i], x[:, i, ::2], x[[0, 1]]

    def unpacking(x):
        a, b, c = x.chunk(3)
        (d, e), f = a, b
        return [a, (d, e), {"f": f, "c": c}, slice(c, 2)]

    def variadic(x, *args, **kwargs):
        return torch.add(args[0], x) + kwargs["scale"]

    def pointwise(x):
        return torch.sin(x).exp() + torch.special.expit(x) + torch.where(x > 0, x, 0.5) + torch.clamp(x, min=0)

    def reductions(x):
        return torch.max(x, dim=1)[0], torch.norm(x), torch.linalg.norm(x), torch.var_mean(x, 0), torch.unique(x)

    def joining(x, y):
        return torch.cat([x, y], dim=-1), torch.stack((x, y)), torch.split(x, 2), torch.einsum("ij,jk->ik", x, y)

    def made_in_size(x):
        n, kind = x.size(0), {"dtype": x.dtype, "device": x.device}
        made = torch.zeros(n), torch.ones((n, 3)), torch.full([n], 2.0, **kind), torch.empty(x.shape), torch.arange(n)
        return *made, torch.rand(x.shape[1:], **kind), torch.randint(0, n, (2,)), torch.eye(n), torch.linspace(0, 1, n)

    def constants(x):
        return x + torch.ones(2), torch.eye(2) @ x, torch.zeros_like(x), torch.full_like(x, math.pi)

    def activations(x):
        return (F.relu(x), F.gelu(x), F.silu(x), F.leaky_relu(x, 0.2), F.softmax(x, 1), F.log_softmax(x, dim=0),
                F.glu(x), F.hardtanh(x, -2, 2), F.logsigmoid(x), F.softplus(x))

    def layers(x, w):
        return (F.linear(x, w), F.conv2d(x, w, stride=2), F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.embedding(x, w),
                F.layer_norm(x, (4,)), F.batch_norm(x, w, w), F.dropout(x, 0.1), F.pad(x, (1, 1)), F.interpolate(x, 2))

    def losses(x, y):
        return (F.cross_entropy(x, y), F.mse_loss(x, y), F.nll_loss(x, y, reduction="sum"), F.l1_loss,
                F.binary_cross_entropy(x, y), F.kl_div(x, y))[:3]

    def attention(q, k, v):
        weights = (q @ k.transpose(-2, -1) / math.sqrt(8)).softmax(-1)
        return weights @ v, F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def keywords(x):
        return torch.add(input=x, other=x, alpha=2), x.add(other=1), torch.flatten(x, start_dim=1)

    def operators(x):
        return torch.ops.aten.add.Tensor(x, 2), torch.ops.aten.relu(x), operator.mul(x, x), operator.iadd(x, 1)

    def dtypes(x):
        return (x.to(torch.float16), x.to(device="cpu"), torch.empty_like(x, dtype=torch.int64), x.type(torch.bool),
                x.to(memory_format=torch.channels_last), float("inf") * x, x * float("nan"))

    def names(x, add, torch_1, lambda_=1, self_=2):
        relu = add + torch_1
        return relu.relu() + relu.relu_().add(lambda_) + self_

    def unused(x):
        x.sum()
        torch.sin(x)
        return x

    def splitting(x):
        return torch.broadcast_tensors(x, x), torch.meshgrid(x, x, indexing="ij"), torch.tensordot(x, x, dims=1)

    def fourier(x):
        return torch.fft.rfft(x), torch.fft.ifft(x, norm="ortho"), torch.special.erf(x)

    def assertions(x):
        torch._assert(x.shape[0] == 2, "two rows")
        return x

    def math_functions(x):
        return math.sqrt(x.shape[0]) + math.floor(x.size(1))

    return {name: value for name, value in locals().items() if callable(value) and name != "F"}


def modules(torch: Any) -> dict[str, Any]:
    """Return modules by name."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(4)
            self.scale = nn.Parameter(torch.ones(4))
            self.register_buffer("shift", torch.zeros(4))

        def forward(self, x, *, factor: float = 2.0):
            return self.norm(x) * self.scale * factor + self.shift

    class Tower(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), Block())
            self.blocks = nn.ModuleList([Block(), Block()])
            self.again = self.blocks[0]

        def forward(self, x: torch.Tensor, mask=None) -> torch.Tensor:
            x = self.layers(x)
            for block in self.blocks:
                x = x + block(x, factor=3.0)
            return self.again(x).mean(0)

    class Convolutions(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)
            self.pool, self.drop = nn.AdaptiveAvgPool2d(1), nn.Dropout(0.5)
            self.head = nn.Linear(2, 10)

        def forward(self, x):
            x = torch.relu(self.bn1(self.conv1(x)))
            return self.head(self.drop(torch.flatten(self.pool(x), 1)))

    return {"Block": Block(), "Tower": Tower(), "Convolutions": Convolutions()}
