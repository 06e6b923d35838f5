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
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
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
    model = DistributedDataParallel(nn.Linear(6, 2))
    state = powerSGD_hook.PowerSGDState(None, 2, start_powerSGD_iter=2, min_compression_rate=0.1)
    model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
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


report(globals())
