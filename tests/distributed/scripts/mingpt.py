"""A GPT with a trainer that writes snapshots, and is started again by torchrun after one rank has failed."""
import os
import tempfile
from dataclasses import asdict, dataclass
from typing import Any

import torch
import torch.nn as nn
from torch.distributed import destroy_process_group, init_process_group
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, random_split
from torch.utils.data.distributed import DistributedSampler

TEXT = "to be or not to be, that is the question: whether 'tis nobler in the mind to suffer " * 4


@dataclass
class GPTConfig:
    vocab_size: int
    block_size: int = 16
    n_layer: int = 2
    n_head: int = 4
    n_embd: int = 32


class CharDataset(Dataset):
    def __init__(self, text, block_size):
        chars = sorted(set(text))
        self.stoi = {ch: i for i, ch in enumerate(chars)}
        self.vocab_size, self.block_size, self.data = len(chars), block_size, text

    def __len__(self):
        return len(self.data) - self.block_size

    def __getitem__(self, index):
        chunk = torch.tensor([self.stoi[s] for s in self.data[index:index + self.block_size + 1]], dtype=torch.long)
        return chunk[:-1], chunk[1:]


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(config.n_embd), nn.LayerNorm(config.n_embd)
        self.attn = nn.MultiheadAttention(config.n_embd, config.n_head, batch_first=True)
        self.register_buffer("mask", torch.triu(torch.ones(config.block_size, config.block_size), 1).bool())
        self.mlp = nn.Sequential(nn.Linear(config.n_embd, 4 * config.n_embd), nn.GELU(),
                                 nn.Linear(4 * config.n_embd, config.n_embd))

    def forward(self, x):
        y = self.ln1(x)
        x = x + self.attn(y, y, y, attn_mask=self.mask[:x.size(1), :x.size(1)], need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.tok_emb = nn.Embedding(config.vocab_size, config.n_embd)
        self.pos_emb = nn.Parameter(torch.zeros(1, config.block_size, config.n_embd))
        self.blocks = nn.Sequential(*[Block(config) for _ in range(config.n_layer)])
        self.ln_f = nn.LayerNorm(config.n_embd)
        self.head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            module.weight.data.normal_(mean=0.0, std=0.02)
            if isinstance(module, nn.Linear) and module.bias is not None:
                module.bias.data.zero_()

    def forward(self, idx, targets=None):
        x = self.tok_emb(idx) + self.pos_emb[:, :idx.size(1), :]
        logits = self.head(self.ln_f(self.blocks(x)))
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)


@dataclass
class Snapshot:
    model_state: dict[str, Any]
    optimizer_state: dict[str, Any]
    finished_epoch: int


class Trainer:
    def __init__(self, model, optimizer, dataset, path):
        self.local_rank, self.global_rank = int(os.environ["LOCAL_RANK"]), int(os.environ["RANK"])
        self.path, self.epochs_run = path, 0
        self.loader = DataLoader(dataset, batch_size=32, shuffle=False, sampler=DistributedSampler(dataset))
        self.model, self.optimizer = model, optimizer
        if os.path.exists(path):
            snapshot = Snapshot(**torch.load(path, map_location="cpu", weights_only=False))
            self.model.load_state_dict(snapshot.model_state)
            self.optimizer.load_state_dict(snapshot.optimizer_state)
            self.epochs_run = snapshot.finished_epoch
            print(f"rank {self.global_rank} resumes training from snapshot at epoch {self.epochs_run}", flush=True)
        self.model = DDP(self.model)

    def run_epoch(self, epoch):
        self.loader.sampler.set_epoch(epoch)
        for step, (source, targets) in enumerate(self.loader):
            _, loss = self.model(source, targets)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            if step % 2 == 0 and self.local_rank == 0:
                print(f"epoch {epoch} | step {step} | loss {loss.item():.4f}", flush=True)

    def train(self, epochs):
        for epoch in range(self.epochs_run, epochs):
            if epoch == 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and self.global_rank == 1:
                os._exit(3)  # as a machine that goes
            self.run_epoch(epoch)
            if self.local_rank == 0:
                snapshot = Snapshot(self.model.module.state_dict(), self.optimizer.state_dict(), epoch + 1)
                torch.save(asdict(snapshot), self.path + ".new")
                os.replace(self.path + ".new", self.path)
            torch.distributed.barrier()


@record
def main():
    init_process_group(backend="gloo")
    torch.manual_seed(0)
    dataset = CharDataset(TEXT, 16)
    train_set, _ = random_split(dataset, [len(dataset) - 50, 50], generator=torch.Generator().manual_seed(1))
    model = GPT(GPTConfig(dataset.vocab_size))
    decay = [p for n, p in model.named_parameters() if p.dim() > 1]
    rest = [p for n, p in model.named_parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}],
                                  lr=3e-3, betas=(0.9, 0.95), eps=1e-6)
    path = os.path.join(tempfile.gettempdir(), f"snapshot-{os.environ['SNAPSHOT']}.pt")
    Trainer(model, optimizer, train_set, path).train(3)
    if int(os.environ["RANK"]) == 0:
        os.remove(path)
    destroy_process_group()


if __name__ == "__main__":
    main()
