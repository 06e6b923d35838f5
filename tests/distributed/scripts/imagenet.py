"""A classifier with the parts of the ImageNet example: samplers, meters that are reduced, a schedule, resuming."""
import argparse
import os
import tempfile
from enum import Enum

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset, Subset
from torch.utils.data.distributed import DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", default=2, type=int)
parser.add_argument("--batch-size", default=16, type=int)
parser.add_argument("--lr", default=0.1, type=float)
args = parser.parse_args()


class FakeData(Dataset):
    def __init__(self, size, seed):
        generator = torch.Generator().manual_seed(seed)
        self.target = torch.randint(10, (size,), generator=generator)
        self.images = torch.randn(size, 3, 8, 8, generator=generator) + self.target.view(-1, 1, 1, 1) / 5

    def __len__(self):
        return len(self.target)

    def __getitem__(self, index):
        return self.images[index], self.target[index]


class Summary(Enum):
    NONE = 0
    AVERAGE = 1


class AverageMeter:
    def __init__(self, name, fmt=":f", summary_type=Summary.AVERAGE):
        self.name, self.fmt, self.summary_type = name, fmt, summary_type
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def all_reduce(self):
        total = torch.tensor([self.sum, self.count], dtype=torch.float32)
        dist.all_reduce(total, dist.ReduceOp.SUM, async_op=False)
        self.sum, self.count = total.tolist()
        self.avg = self.sum / self.count

    def __str__(self):
        return ("{name} {val" + self.fmt + "} ({avg" + self.fmt + "})").format(**self.__dict__)


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        _, pred = output.topk(max(topk), 1, True, True)
        correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / target.size(0)) for k in topk]


def train(loader, model, criterion, optimizer, epoch):
    losses, top1 = AverageMeter("Loss", ":.4f"), AverageMeter("Acc@1", ":6.2f")
    model.train()
    for i, (images, target) in enumerate(loader):
        output = model(images)
        loss = criterion(output, target)
        losses.update(loss.item(), images.size(0))
        top1.update(accuracy(output, target)[0][0].item(), images.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if dist.get_rank() == 0:
            print(f"Epoch: [{epoch}][{i}/{len(loader)}]\t{losses}\t{top1}")


def validate(loader, model, criterion):
    losses, top1, top5 = AverageMeter("Loss"), AverageMeter("Acc@1"), AverageMeter("Acc@5")

    def run(loader):
        with torch.no_grad():
            for images, target in loader:
                output = model(images)
                acc1, acc5 = accuracy(output, target, topk=(1, 5))
                losses.update(criterion(output, target).item(), images.size(0))
                top1.update(acc1.item(), images.size(0))
                top5.update(acc5.item(), images.size(0))

    model.eval()
    run(loader)
    top1.all_reduce()
    top5.all_reduce()
    if len(loader.sampler) * dist.get_world_size() < len(loader.dataset):
        rest = Subset(loader.dataset, range(len(loader.sampler) * dist.get_world_size(), len(loader.dataset)))
        run(DataLoader(rest, batch_size=args.batch_size))
    print(f" * rank {dist.get_rank()} Acc@1 {top1.avg:.3f} Acc@5 {top5.avg:.3f}")
    return top1.avg


def main():
    dist.init_process_group(backend="gloo", init_method="env://")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
                          nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 10))
    model = nn.SyncBatchNorm.convert_sync_batchnorm(model) if torch.cuda.is_available() else model
    model = torch.nn.parallel.DistributedDataParallel(model)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9, weight_decay=1e-4, nesterov=True)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.1)
    train_set, val_set = FakeData(100, 1), FakeData(51, 2)
    sampler = DistributedSampler(train_set)
    loader = DataLoader(train_set, args.batch_size, shuffle=False, num_workers=0, sampler=sampler)
    val_loader = DataLoader(val_set, args.batch_size, sampler=DistributedSampler(val_set, shuffle=False,
                                                                                drop_last=True))
    path = os.path.join(tempfile.gettempdir(), f"checkpoint-{os.environ['MASTER_PORT']}.pth.tar")
    best = 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        train(loader, model, criterion, optimizer, epoch)
        best = max(best, validate(val_loader, model, criterion))
        scheduler.step()
        if dist.get_rank() == 0:
            torch.save({"epoch": epoch + 1, "state_dict": model.state_dict(), "best_acc1": best,
                        "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}, path)
    dist.barrier()
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["state_dict"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler.load_state_dict(checkpoint["scheduler"])
    print(f"rank {dist.get_rank()} resumes at {checkpoint['epoch']} with lr {scheduler.get_last_lr()[0]:.5f}, "
          f"momentum {optimizer.state_dict()['state'][0]['momentum_buffer'].abs().sum():.4f}")
    dist.barrier()
    if dist.get_rank() == 0:
        os.remove(path)
    dist.destroy_process_group()


main()
