"""Trains models by one strategy of parallelism after another, on PyTorch and on mindtorch, and keeps what came out.

Six models; one process, DDP, ZeRO, ``fully_shard``, tensor parallel, and the last two together; AdamW and Adafactor,
with clipping and with weight decay chosen by name. The gathered parameters and the losses go into a file of arrays.
"""
import itertools
import json
import sys

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.functional import cross_entropy, mse_loss, scaled_dot_product_attention
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_, clip_grads_with_norm_, get_total_norm

WORDS, WIDTH, LENGTH, BATCH = 24, 16, 6, 8
COL, ROW = ColwiseParallel, RowwiseParallel


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (layer(x).unflatten(-1, (-1, 4)).transpose(1, 2) for layer in (self.q, self.k, self.v))
        return self.out(scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(WIDTH), Attention()
        self.norm2, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 32), nn.Linear(32, WIDTH)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, tied=False):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.norm, self.head, self.tied = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False), tied
        self.tie()

    def tie(self):
        if self.tied:
            self.head.weight = self.words.weight

    def forward(self, x):
        x = self.words(x) + self.places(torch.arange(LENGTH))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.lstm = nn.Embedding(WORDS, WIDTH), nn.LSTM(WIDTH, WIDTH, batch_first=True)
        self.up, self.down = nn.Linear(WIDTH, 32), nn.Linear(32, WORDS)

    def forward(self, x):
        return self.down(torch.tanh(self.up(self.lstm(self.words(x))[0])))


class CNN(nn.Module):
    def __init__(self, frozen=False):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(2, b), nn.ReLU(),
                                                   nn.MaxPool2d(2)) for a, b in ((3, 4), (4, 8))])
        self.up, self.down = nn.Linear(32, 16), nn.Linear(16, 8)
        self.blocks.requires_grad_(not frozen)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.down(torch.tanh(self.up(x.flatten(1))))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(8, 32), nn.Linear(32, 16), nn.Linear(16, 5)

    def forward(self, x):
        return self.third(torch.tanh(self.second(torch.tanh(self.first(x)))))


def words(generator):
    tokens = torch.randint(WORDS, (BATCH, LENGTH + 1), generator=generator)
    return tokens[:, :-1], tokens[:, 1:]


def language(output, target):
    return cross_entropy(output.flatten(0, 1), target.flatten())


def images(generator):
    return torch.randn(BATCH, 3, 8, 8, generator=generator), torch.randint(8, (BATCH,), generator=generator)


def rows(generator):
    return torch.randn(BATCH, 8, generator=generator), torch.randn(BATCH, 5, generator=generator)


#: How tensor parallelism divides a model.
PLANS = {
    GPT: {"words": ROW(input_layouts=Replicate()), "blocks.*.attention.[qkv]": COL(), "blocks.*.attention.out": ROW(),
          "blocks.*.up": COL(), "blocks.*.down": ROW(), "head": COL(output_layouts=Replicate())},
    LSTM: {"words": COL(output_layouts=Replicate()), "up": COL(), "down": ROW()},
    CNN: {"up": COL(), "down": ROW()},
    MLP: {"first": COL(), "second": ROW(), "third": COL(output_layouts=Replicate())},
}
#: For each model how it is made, a batch for it, and its loss.
MODELS = {"mlp": (MLP, rows, mse_loss), "cnn": (CNN, images, cross_entropy), "gpt": (GPT, words, language),
          "lstm": (LSTM, words, language), "tied gpt": (lambda: GPT(tied=True), words, language),
          "frozen backbone": (lambda: CNN(frozen=True), images, cross_entropy)}
OPTIMIZERS = {"adamw": (torch.optim.AdamW, {"lr": 0.01}), "adafactor": (torch.optim.Adafactor, {"lr": 0.01})}


def groups(model):
    """Return the parameters in two groups: weight decay is for those whose names say that they are weights."""
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    decays = {name for name in named if name.endswith("weight") and "norm" not in name}
    return [{"params": [p for name, p in named.items() if (name in decays) is decay], "weight_decay": 0.1 * decay}
            for decay in (True, False)]


def shard(model, mesh):
    for part in getattr(model, "blocks", ()):
        fully_shard(part, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def cut(model, mesh):
    parallelize_module(model, mesh, PLANS[type(model)])
    if hasattr(model, "tie"):
        model.tie()
    return model


def clip(parameters, limit):
    """Clip gradients; those on several meshes, or on none, cannot meet in one call, so each kind gives its norm."""
    kinds = {}
    for parameter in parameters:
        if parameter.grad is not None:
            kinds.setdefault(getattr(parameter.grad, "device_mesh", None), []).append(parameter)
    if len(kinds) == 1:
        clip_grad_norm_(itertools.chain(*kinds.values()), limit)
        return
    norms = [get_total_norm([parameter.grad for parameter in kind]) for kind in kinds.values()]
    total = torch.stack([whole(norm) for norm in norms]).norm()
    for kind in kinds.values():
        clip_grads_with_norm_(kind, limit, total)


def whole(tensor):
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def train(model, strategy, optimizer, steps):
    """Return the losses and the gathered parameters."""
    make, batch, criterion = MODELS[model]
    kind, options = OPTIMIZERS[optimizer]
    torch.manual_seed(0)
    net, generator = make(), torch.Generator().manual_seed(1)
    size, flat = dist.get_world_size(), init_device_mesh("cpu", (dist.get_world_size(),))
    part, parts = (dist.get_rank(), size) if strategy in ("ddp", "zero", "fully_shard") else (0, 1)
    run = net
    if strategy in ("ddp", "zero"):
        run = DistributedDataParallel(net)
    elif strategy == "fully_shard":
        shard(net, flat)
    elif strategy == "tensor parallel":
        cut(net, flat)
    elif strategy == "both":
        mesh = init_device_mesh("cpu", (max(size // 2, 1), min(size, 2)), mesh_dim_names=("dp", "tp"))
        shard(cut(net, mesh["tp"]), mesh["dp"])
        part, parts = mesh.get_local_rank("dp"), mesh["dp"].size()
    if strategy == "zero":
        made = ZeroRedundancyOptimizer(groups(net), kind, **options)
    else:
        made = kind(groups(net), foreach=False, **options)
    losses = []
    for _ in range(steps):
        x, y = (tensor.chunk(parts)[part] for tensor in batch(generator))
        made.zero_grad()
        loss = criterion(run(x), y)
        loss.backward()
        clip(net.parameters(), 0.5)
        made.step()
        loss = loss.detach().clone()
        dist.all_reduce(loss)
        losses.append(loss.item() / size)
    return losses, {name: whole(value.detach()).numpy() for name, value in net.named_parameters()}


def main(path, options):
    dist.init_process_group("gloo")
    found = {}
    for key in itertools.product(options["models"], options["strategies"], options["optimizers"]):
        name = "/".join(key)
        try:
            losses, parameters = train(*key, options["steps"])
        except Exception as error:
            found[f"{name}/error"] = np.array(f"{type(error).__name__}: {error}")
            continue
        found[f"{name}/losses"] = np.array(losses)
        found.update({f"{name}/parameter/{place}": value for place, value in parameters.items()})
    if dist.get_rank() == 0:
        np.savez(path, **found)
    dist.destroy_process_group()


main(sys.argv[1], json.loads(sys.argv[2]))
