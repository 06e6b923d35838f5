"""Collectives with gradients, uneven inputs, hooks and pipelines, on two processes."""
import copy

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.distributed.nn as dist_nn
from reporting import report
from torch import nn
from torch.distributed._composable import replicate
from torch.distributed.algorithms import Join
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.pipelining import (
    PipelineStage, Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B, ScheduleLoopedBFS, SplitPoint, pipe_split,
    pipeline,
)
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()


def check_collectives_have_gradients():
    x = torch.full((2,), rank + 1.0, requires_grad=True)
    (dist_nn.all_reduce(x) * (rank + 1)).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    y = torch.full((2,), rank + 1.0, requires_grad=True)
    parts = dist_nn.all_gather(y)
    (parts[0] * 2 + parts[1] * 5 * rank).sum().backward()
    assert y.grad.tolist() == [[4.0, 4.0], [5.0, 5.0]][rank]
    z = torch.arange(4.0, requires_grad=True)
    out = functional.all_gather_tensor(functional.reduce_scatter_tensor(z, "sum", 0, dist.group.WORLD), 0,
                                       dist.group.WORLD)
    out.square().sum().backward()
    assert out.tolist() == [0.0, 2.0, 4.0, 6.0] and z.grad.tolist() == [0.0, 8.0, 16.0, 24.0]
    assert functional.permute_tensor(torch.ones(1) * rank, [1, 0], dist.group.WORLD).item() == 1 - rank


def check_ranks_with_fewer_batches():
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(2, 1))
    reference = nn.Linear(2, 1)
    reference.load_state_dict(model.module.state_dict())
    optimizers = [torch.optim.SGD(net.parameters(), lr=0.1) for net in (model, reference)]
    with Join([model]):
        for batch in range(2 + 2 * rank):
            optimizers[0].zero_grad()
            model(torch.full((1, 2), batch + rank + 1.0)).square().sum().backward()
            optimizers[0].step()
    for batch in range(4):
        optimizers[1].zero_grad()
        for other in range(size):
            if batch < 2 + 2 * other:
                (reference(torch.full((1, 2), batch + other + 1.0)).square().sum() / size).backward()
        optimizers[1].step()
    torch.testing.assert_close(model.module.weight, reference.weight)


def check_approximations_of_full_rank_are_averages():
    for hook, full in ((powerSGD_hook.powerSGD_hook, 2), (powerSGD_hook.batched_powerSGD_hook, 4)):
        model = DistributedDataParallel(nn.Linear(6, 2))
        state = powerSGD_hook.PowerSGDState(None, full, start_powerSGD_iter=2, min_compression_rate=0.1)
        model.register_comm_hook(state, hook)
        for step in range(4):
            model.zero_grad()
            x = torch.arange(24.0).view(4, 6).sin() * (step + rank + 1)
            model(x).square().sum().backward()
            mine = torch.autograd.grad(model.module(x).square().sum(), model.module.weight)[0]
            dist.all_reduce(mine)
            torch.testing.assert_close(model.module.weight.grad, mine / size, rtol=1e-4, atol=1e-4)
        assert state.iter == 4 and state.compression_stats()[0] < 1


def check_replicated_modules_average_gradients():
    net = replicate(nn.Sequential(nn.Linear(2, 1), nn.Linear(1, 1)), ignored_modules=None)
    assert type(net).__name__ == "DDPSequential" and replicate.state(net) is not None
    for syncs in (False, True):
        net.set_requires_gradient_sync(syncs)
        net.zero_grad()
        with torch.no_grad():
            for parameter in net.parameters():
                parameter.fill_(1.0)
        net(torch.full((1, 2), rank + 1.0)).sum().backward()
        assert net[0].weight.grad.tolist() == [[1.5] * 2 if syncs else [rank + 1.0] * 2], (syncs, net[0].weight.grad)
    for call in (lambda: replicate(net), lambda: copy.deepcopy(net)):
        try:
            call()
        except AssertionError:
            continue
        raise AssertionError("it should have been refused")


def check_hooks_average_gradients():
    for hook, tolerance in ((default_hooks.allreduce_hook, 1e-6), (default_hooks.fp16_compress_hook, 1e-3),
                            (lambda group, bucket: dist.all_reduce(bucket.buffer().div_(size), async_op=True)
                             .get_future().then(lambda future: future.value()[0]), 1e-6)):
        model = DistributedDataParallel(nn.Linear(2, 1))
        model.register_comm_hook(None, hook)
        model(torch.full((1, 2), rank + 0.1)).sum().backward()
        torch.testing.assert_close(model.module.weight.grad, torch.full((1, 2), 0.6), rtol=tolerance, atol=tolerance)


def check_pipelines():
    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(4, 6), nn.Tanh()), nn.Linear(6, 3)]
    x, y = torch.randn(8, 4), torch.randn(8, 3)
    loss = nn.functional.mse_loss(layers[1](layers[0](x)), y)
    loss.backward()
    expected = [parameter.grad for parameter in layers[rank].parameters()]
    for schedule in (ScheduleGPipe, Schedule1F1B):
        layers[rank].zero_grad()
        run = schedule(PipelineStage(layers[rank], rank, size, "cpu"), 4, nn.functional.mse_loss)
        losses = []
        for _ in range(2):
            layers[rank].zero_grad()
            out = run.step(x) if rank == 0 else run.step(target=y, losses=losses)
        for parameter, gradient in zip(layers[rank].parameters(), expected, strict=True):
            torch.testing.assert_close(parameter.grad, gradient)
        assert rank == 0 or (out.shape == y.shape and abs(torch.stack(losses).mean() - loss) < 1e-6)


class Blocks(nn.Module):
    """Blocks whose stages need the model's input as well."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.inside = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(4))
        self.last = nn.Linear(4, 3)

    def forward(self, x):
        y = x
        for block in self.inside:
            y = block(y) + x
        return self.last(y)


class Marked(Blocks):
    """Blocks that say where they are divided."""

    def forward(self, x):
        y = self.inside[1](self.inside[0](x))
        pipe_split()
        return self.last(self.inside[3](self.inside[2](y)) + x)


def check_groups_are_split_and_tensors_travel_together():
    group = dist.split_group(split_ranks=[[1], [0]])
    assert dist.get_process_group_ranks(group) == [rank]
    several = [torch.full((2,), rank + 1.0), torch.full((3,), rank + 2.0)]
    dist.all_reduce_coalesced(several)
    assert [x.tolist() for x in several] == [[3.0] * 2, [5.0] * 3]
    rows = [[torch.empty(1), torch.empty(2)] for _ in range(size)]
    dist.all_gather_coalesced(rows, [torch.full((1,), float(rank)), torch.full((2,), rank + 4.0)])
    assert [[x.tolist() for x in row] for row in rows] == [[[0.0], [4.0] * 2], [[1.0], [5.0] * 2]]


def check_models_are_divided_into_stages():
    begin = SplitPoint.BEGINNING
    x, y = torch.randn(8, 4), torch.randn(8, 3)
    for model, spec in ((Blocks(), {"inside.1": SplitPoint.END, "last": begin}),
                        (Blocks(), {"inside.1": begin, "inside.2": begin, "last": begin}), (Marked(), None)):
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        expected = {name: parameter.grad for name, parameter in model.named_parameters()}
        model.zero_grad()
        pipe = pipeline(model, (x[:2],), split_spec=spec)
        torch.testing.assert_close(pipe(x), model(x))
        names = [name for i in range(pipe.num_stages) for name, _ in pipe.get_stage_module(i).named_parameters()]
        assert sorted(names) == sorted(expected), names
        stages = [pipe.build_stage(i, "cpu") for i in range(rank, pipe.num_stages, size)]
        kinds = (Schedule1F1B,) if len(stages) == 1 else (ScheduleInterleaved1F1B, ScheduleLoopedBFS)
        for kind in kinds if pipe.num_stages % size == 0 else ():
            run = kind(stages[0] if kind is Schedule1F1B else stages, 4, nn.functional.mse_loss)
            model.zero_grad()
            losses = []
            run.step(*[x] * (rank == 0), **{"target": y, "losses": losses} if rank else {})
            for stage in stages:
                for name, parameter in stage.submod.named_parameters():
                    torch.testing.assert_close(parameter.grad, expected[name], msg=f"{kind} {name}")
            assert rank == 0 or abs(torch.stack(losses).mean() - loss) < 1e-6


def check_what_cannot_be_divided():
    tied = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    tied[1].weight = tied[0].weight
    for model, spec, why in ((tied, {"1": SplitPoint.BEGINNING}, "each would train its own"),
                             (Blocks(), {"outside": SplitPoint.END}, "only the submodules")):
        try:
            pipeline(model, (torch.ones(1, 3 if model is tied else 4),), split_spec=spec)
        except (RuntimeError, ValueError) as error:
            assert why in str(error), error
        else:
            raise AssertionError(why)


report(globals())
