"""A transformer in stages, one a rank, by the schedules GPipe and 1F1B, each stage with an optimizer of its own."""
import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe


@dataclass
class ModelArgs:
    dim: int = 16
    n_layers: int = 4
    n_heads: int = 2
    vocab_size: int = 40


class Transformer(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.tok_embeddings = nn.Embedding(args.vocab_size, args.dim)
        self.layers = nn.ModuleDict({str(i): nn.TransformerDecoderLayer(args.dim, args.n_heads, 32, dropout=0.0,
                                                                       batch_first=True)
                                     for i in range(args.n_layers)})
        self.norm = nn.LayerNorm(args.dim)
        self.output = nn.Linear(args.dim, args.vocab_size)

    def forward(self, tokens):
        # PyTorch receives only contiguous gradients, which the flat view's are
        h = self.tok_embeddings(tokens) if self.tok_embeddings else tokens.flatten().view_as(tokens)
        for layer in self.layers.values():
            h = layer(h, h)
        h = self.norm(h) if self.norm else h
        return self.output(h).clone() if self.output else h.contiguous()


def manual_model_split(model, args):
    each = args.n_layers // world_size
    for i in range(args.n_layers):
        if i // each != stage_index:
            del model.layers[str(i)]
    if stage_index > 0:
        model.tok_embeddings = None
    if stage_index < world_size - 1:
        model.norm = model.output = None
    return PipelineStage(model, stage_index, world_size, device)


dist.init_process_group()
rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
stage_index, device = rank, torch.device("cpu")
args = ModelArgs()


def tokenwise_loss_fn(outputs, targets):
    return nn.functional.cross_entropy(outputs.reshape(-1, args.vocab_size), targets.reshape(-1))


for kind in (ScheduleGPipe, Schedule1F1B):
    torch.manual_seed(0)
    x = torch.randint(args.vocab_size, (16, 6))
    y = torch.randint(args.vocab_size, (16, 6))
    stage = manual_model_split(Transformer(args), args)
    optimizer = torch.optim.SGD(stage.submod.parameters(), lr=0.1)
    schedule = kind(stage, n_microbatches=4, loss_fn=tokenwise_loss_fn)
    for step in range(3):
        optimizer.zero_grad()
        if rank == 0:
            schedule.step(x)
        elif rank == world_size - 1:
            losses = []
            output = schedule.step(target=y, losses=losses)
            rounded = [round(loss.item(), 4) for loss in losses]
            print(f"{kind.__name__} step {step} losses {rounded} {tuple(output.shape)}")
        else:
            schedule.step()
        optimizer.step()
    print(f"{kind.__name__} rank {rank} {sum(p.abs().sum() for p in stage.submod.parameters()).item():.3f}")
dist.destroy_process_group()
