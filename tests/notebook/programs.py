"""Programs that are run on mindtorch and on PyTorch: each makes tensors with a library's module, and returns its
variables.
"""
from __future__ import annotations

from collections import namedtuple

Pair = namedtuple("Pair", "left right")

def contiguous(torch):
    x = torch.arange(12.0).view(3, 4)
    return locals()


def transposed(torch):
    x = torch.arange(12.0).view(3, 4)
    y = x.t()
    return locals()


def sliced(torch):
    x = torch.arange(24).view(4, 6)
    y, z = x[1:3, ::2], x[:, 5]
    return locals()


def expanded(torch):
    x = torch.arange(3.0)
    y = x.expand(2, 3)
    return locals()


def overlapping(torch):
    x = torch.arange(6.0)
    y = x.as_strided((4, 3), (1, 1))
    return locals()


def permuted(torch):
    x = torch.zeros(2, 3, 4, 5)
    y = x.permute(0, 3, 1, 2)
    z = x.contiguous(memory_format=torch.channels_last)
    return locals()


def single(torch):
    x = torch.tensor(3.5)
    y = torch.tensor([[7]])
    return locals()


def empty(torch):
    x = torch.empty(3, 0, 2)
    y = torch.empty(0)
    return locals()


def dtypes(torch):
    return {name: torch.ones(2, 3, dtype=getattr(torch, name)) for name in (
        "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
        "complex128")}


def special_values(torch):
    x = torch.tensor([[1.0, float("nan")], [float("inf"), -2.0]])
    return locals()


def meta(torch):
    x = torch.empty(100, 100, device="meta")
    y = x[::2]
    return locals()


def large(torch):
    x = torch.arange(200_000.0).view(500, 400)
    y = x.t()
    return locals()


def picture(torch):
    x = torch.linspace(0, 1, 256).view(16, 16)
    y = (torch.arange(3 * 256) % 256).to(torch.uint8).view(3, 16, 16)
    return locals()


def written_in_place(torch):
    x = torch.zeros(4)
    y = x[1:]
    x.add_(1)
    y.mul_(2)
    x[0] = 5
    return locals()


def leaf(torch):
    x = torch.ones(3, requires_grad=True)
    return locals()


def chain(torch):
    x = torch.ones(2, 3, requires_grad=True)
    y = (x * 2).exp().sum()
    return locals()


def parallel_edges(torch):
    h = torch.arange(3.0, requires_grad=True)
    y = (h * h).sum()
    return locals()


def product(torch):
    x = torch.ones(3, 4)
    w = torch.ones(4, 2, requires_grad=True)
    loss = (x @ w).relu().sum()
    return locals()


def after_backward(torch):
    w = torch.ones(4, 2, requires_grad=True)
    h = w.exp()
    loss = (h * h).sum()
    loss.backward()
    return locals()


def kept_graph(torch):
    w = torch.ones(4, requires_grad=True)
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    return locals()


def retained(torch):
    w = torch.ones(4, requires_grad=True)
    h = w.exp()
    h.retain_grad()
    loss = h.sum()
    loss.backward()
    return locals()


def stale(torch):
    w = torch.ones(4, requires_grad=True)
    h = w.exp()
    y = h * 2
    h.detach().add_(1)
    return locals()


def hooked(torch):
    w = torch.ones(4, requires_grad=True)
    w.register_hook(lambda grad: grad)
    return locals()


def detached(torch):
    w = torch.ones(4, requires_grad=True)
    y = (w * 2).detach()
    return locals()


def unrecorded(torch):
    w = torch.ones(4, requires_grad=True)
    with torch.no_grad():
        y = w * 2
    return locals()


def inference(torch):
    with torch.inference_mode():
        x = torch.ones(3)
        y = x[1:]
    return locals()


def several_outputs(torch):
    x = torch.arange(6.0, requires_grad=True)
    a, b = x.split(3)
    top = torch.arange(6.0).view(2, 3).max(1)
    return locals()


def views_in_the_graph(torch):
    x = torch.arange(6.0, requires_grad=True)
    y = x.view(2, 3).t()[1]
    loss = y.sum()
    return locals()


def concatenated(torch):
    a = torch.ones(2, requires_grad=True)
    b = torch.zeros(3, requires_grad=True)
    y = torch.cat([a, b])
    return locals()


def indexed(torch):
    x = torch.arange(6.0, requires_grad=True)
    y = x[torch.tensor([0, 2])]
    return locals()


def own_function(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = torch.ones(3, requires_grad=True)
    y = Double.apply(x)
    return {"x": x, "y": y}


def packed(torch):
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numel(), lambda n: 1 / 0):
        y = x.exp()
    return locals()


def layer(torch):
    model = torch.nn.Linear(3, 2)
    loss = model(torch.ones(1, 3)).sum()
    loss.backward()
    return locals()


def network(torch):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    model[0].requires_grad_(False)
    loss = model(torch.ones(2, 3)).mean()
    return locals()


def tied(torch):
    model = torch.nn.ModuleList([torch.nn.Linear(3, 3, bias=False) for _ in range(2)])
    model[1].weight = model[0].weight
    return locals()


def lazy(torch):
    model = torch.nn.LazyLinear(2)
    return locals()


def trained(torch):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    return locals()


def containers(torch):
    x = torch.arange(6.0)
    xs = [x, x[1:], (x[2:], 3)]
    d = {"a": x.view(2, 3), 2: "text"}
    pair = Pair(x, torch.ones(2))
    return locals()


def loaded(torch):
    data = torch.utils.data.TensorDataset(torch.arange(4.0), torch.arange(4))
    loader = torch.utils.data.DataLoader(data, batch_size=2)
    return locals()


PROGRAMS = [contiguous, transposed, sliced, expanded, overlapping, permuted, single, empty, dtypes, special_values,
            meta, large, picture, written_in_place, leaf, chain, parallel_edges, product, after_backward, kept_graph,
            retained, stale, hooked, detached, unrecorded, inference, several_outputs, views_in_the_graph, concatenated,
            indexed, own_function, packed, layer, network, tied, lazy, trained, containers, loaded]
