"""fully_shard: layer by layer, mixed precision, explicit prefetching, deferred initialization, full state dicts."""
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions, get_model_state_dict, get_optimizer_state_dict, set_model_state_dict,
)
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Shard


class Transformer(nn.Module):
    def __init__(self, vocab=32, dim=24, layers=3):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(dim, 4, 48, dropout=0.0, batch_first=True)
                                     for _ in range(layers)])
        self.norm = nn.LayerNorm(dim)
        self.output = nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        x = self.tok_embeddings(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x))


def inspect_model(model):
    assert isinstance(model, Transformer) and isinstance(model, FSDPModule)
    for param in model.parameters():
        assert isinstance(param, DTensor) and param.placements == (Shard(0),)
    total = sum(param.to_local().numel() for param in model.parameters())
    print(f"rank {dist.get_rank()} keeps {total} of {sum(param.numel() for param in model.parameters())}")


def shard(model, **kwargs):
    for layer in model.layers:
        fully_shard(layer, **kwargs)
    return fully_shard(model, **kwargs)


def set_modules_to_prefetch(model, number):
    for i, layer in enumerate(model.layers):
        if i < len(model.layers) - number:
            layer.set_modules_to_forward_prefetch([model.layers[i + j] for j in range(1, number + 1)])
        if i >= number:
            layer.set_modules_to_backward_prefetch([model.layers[i - j] for j in range(1, number + 1)])


def train(model, steps=4, explicit=False):
    optim = torch.optim.Adam(model.parameters(), lr=1e-2, eps=1e-5)
    torch.manual_seed(dist.get_rank() + 1)
    for step in range(steps):
        if explicit:
            model.unshard()
        x = torch.randint(0, 32, (4, 8))
        loss = nn.functional.cross_entropy(model(x).float().flatten(0, 1), x.roll(1, 1).flatten())
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0).full_tensor()
        optim.step()
        optim.zero_grad()
        print(f"rank {dist.get_rank()} step {step} loss {loss.item():.3f} norm {norm.item():.3f}")
    return optim


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = shard(Transformer())
    inspect_model(model)
    set_modules_to_prefetch(model, 1)
    optim = train(model)
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    full = get_model_state_dict(model, options=options)
    state = get_optimizer_state_dict(model, optim, options=options)
    if dist.get_rank() == 0:
        print(f"full state: {len(full)} tensors, {full['output.weight'].abs().sum():.2f}, "
              f"{state['state']['output.weight']['exp_avg_sq'].sqrt().sum():.4f}")
    with torch.device("meta"):
        late = Transformer()
    late = shard(late)
    late.to_empty(device="cpu")
    set_model_state_dict(late, full, options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True))
    pairs = zip(model.parameters(), late.parameters(), strict=True)
    same = all(torch.equal(a.full_tensor(), b.full_tensor()) for a, b in pairs)
    print(f"rank {dist.get_rank()} loaded {same}")
    torch.manual_seed(0)
    mixed = shard(Transformer(), mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16,
                                                               reduce_dtype=torch.float32))
    tokens = torch.arange(16).view(2, 8)
    out = mixed(tokens)
    out.float().sum().backward()
    print(f"rank {dist.get_rank()} mixed {out.dtype} {mixed.output.weight.dtype} {mixed.output.weight.grad.dtype}")
    torch.manual_seed(0)
    accumulated = shard(Transformer())
    for i in range(3):
        accumulated.set_requires_gradient_sync(i == 2)
        accumulated(tokens + i).logsumexp(-1).mean().backward()
    print(f"rank {dist.get_rank()} accumulated {accumulated.output.weight.grad.full_tensor().abs().sum():.4f}")
    dist.destroy_process_group()


main()
