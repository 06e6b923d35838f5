"""A Llama-like model on a mesh of two dimensions: fully_shard over one, tensor and sequence parallelism over one."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel, loss_parallel, parallelize_module,
)

VOCAB, DIM, HEADS, LENGTH = 32, 16, 4, 8


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.n_heads = HEADS
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(DIM, DIM, bias=False) for _ in range(4))

    def forward(self, x, freqs):
        bsz, seqlen, _ = x.shape
        q, k, v = (w(x).view(bsz, seqlen, self.n_heads, -1) for w in (self.wq, self.wk, self.wv))
        q, k = (torch.view_as_real(torch.view_as_complex(t.float().reshape(*t.shape[:-1], -1, 2)) *
                                   freqs.view(1, seqlen, 1, -1)).flatten(3) for t in (q, k))
        out = F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)), is_causal=True)
        return self.wo(out.transpose(1, 2).contiguous().view(bsz, seqlen, -1))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w3 = nn.Linear(DIM, 32, bias=False), nn.Linear(DIM, 32, bias=False)
        self.w2 = nn.Linear(32, DIM, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.feed_forward = Attention(), FeedForward()
        self.attention_norm, self.ffn_norm = nn.RMSNorm(DIM), nn.RMSNorm(DIM)

    def forward(self, x, freqs):
        h = x + self.attention(self.attention_norm(x), freqs)
        return h + self.feed_forward(self.ffn_norm(h))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok_embeddings = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleList([Block(), Block()])
        self.norm = nn.RMSNorm(DIM)
        self.output = nn.Linear(DIM, VOCAB, bias=False)
        angles = torch.outer(torch.arange(LENGTH), 1.0 / 10000 ** (torch.arange(0, DIM // HEADS, 2) / (DIM // HEADS)))
        self.register_buffer("freqs", torch.polar(torch.ones_like(angles), angles), persistent=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens)
        for layer in self.layers:
            h = layer(h, self.freqs)
        return self.output(self.norm(h))


dist.init_process_group("gloo")
tp_size = 2
mesh = init_device_mesh("cpu", (dist.get_world_size() // tp_size, tp_size), mesh_dim_names=("dp", "tp"))
tp_mesh, dp_mesh = mesh["tp"], mesh["dp"]
dp_rank = dp_mesh.get_local_rank()
torch.manual_seed(0)
model = Transformer()
model = parallelize_module(model, tp_mesh, {
    "tok_embeddings": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
    "norm": SequenceParallel(),
    "output": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False)})
for layer in model.layers:
    layer.attention.n_heads //= tp_mesh.size()
    parallelize_module(layer, tp_mesh, {
        "attention_norm": SequenceParallel(),
        "attention": PrepareModuleInput(input_layouts=(Shard(1), None), desired_input_layouts=(Replicate(), None)),
        "attention.wq": ColwiseParallel(), "attention.wk": ColwiseParallel(), "attention.wv": ColwiseParallel(),
        "attention.wo": RowwiseParallel(output_layouts=Shard(1)),
        "ffn_norm": SequenceParallel(),
        "feed_forward": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
        "feed_forward.w1": ColwiseParallel(), "feed_forward.w2": RowwiseParallel(output_layouts=Shard(1)),
        "feed_forward.w3": ColwiseParallel()})
    fully_shard(layer, mesh=dp_mesh)
sharded = fully_shard(model, mesh=dp_mesh)
optimizer = torch.optim.AdamW(sharded.parameters(), lr=3e-3, foreach=True, eps=1e-5)
for i in range(4):
    torch.manual_seed(i + dp_rank)
    inp = torch.randint(VOCAB, (4, LENGTH))
    with loss_parallel():
        output = sharded(inp)
        loss = F.cross_entropy(output.flatten(0, 1), inp.roll(1, 1).flatten(0, 1))
        loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(sharded.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    print(f"rank {dist.get_rank()} iter {i} loss {loss.full_tensor().item():.4f} norm {norm.full_tensor().item():.3f}")
for name, param in list(sharded.named_parameters())[:4]:
    print(f"rank {dist.get_rank()} {name} {len(param.placements)} {tuple(param.to_local().shape)} "
          f"{param.full_tensor().sum().item():.3f}")
dist.destroy_process_group()
