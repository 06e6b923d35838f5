"""DistributedDataParallel against one process, which is given all parts of the batch."""
import copy
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from reporting import report
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from mindtorch import introspect, viz

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
rank, size = dist.get_rank(), dist.get_world_size()


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 4))


def batches(count):
    generator = torch.Generator().manual_seed(1)
    return [(torch.randn(8, 8, generator=generator), torch.randn(8, 4, generator=generator)) for _ in range(count)]


def part(tensor):
    return tensor.chunk(size)[rank]


def train(net, split, steps=6, passes=1, block=None):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for x, y in batches(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(part(x) if split else x), part(y) if split else y)
        loss.backward()
        optimizer.step()
        loss = loss.detach()
        if split:
            dist.all_reduce(loss, dist.ReduceOp.AVG)
        losses.append(loss.item())
    return losses


def close(found, expected, tolerance=1e-5):
    assert max(abs(a - b) for a, b in zip(found, expected, strict=True)) < tolerance, (found, expected)


def check_losses_are_those_of_one_process():
    expected = train(model(), split=False)
    close(train(DistributedDataParallel(model()), split=True), expected)
    close(train(DistributedDataParallel(model(), bucket_cap_mb=0.002), split=True), expected)
    close(train(DistributedDataParallel(model(), gradient_as_bucket_view=True), split=True), expected)
    assert expected[-1] < expected[0] or len(set(expected)) == len(expected)


def check_buckets_go_from_the_last_layer_to_the_first():
    net = DistributedDataParallel(model(), bucket_cap_mb=0.002)
    parameters = [parameter for bucket in net.buckets for parameter in bucket.parameters]
    assert [id(p) for p in parameters] == [id(p) for p in reversed(list(net.module.parameters()))]
    assert len(net.buckets) > 2 and len(DistributedDataParallel(model()).buckets) == 1


def check_communication_begins_before_backward_ends():
    net = DistributedDataParallel(model(), bucket_cap_mb=0.002)
    seen = []
    first = next(net.module.parameters())
    first.register_hook(lambda grad: seen.append([bucket.work is not None for bucket in net.buckets]))
    net(part(batches(1)[0][0])).sum().backward()
    assert seen and seen[0][0] and not seen[0][-1], seen


def check_all_ranks_start_as_rank_0():
    torch.manual_seed(rank)
    net = nn.BatchNorm1d(3)
    nn.init.normal_(net.weight)
    net.running_mean.fill_(rank)
    net = DistributedDataParallel(net)
    out = [None] * size
    dist.all_gather_object(out, (net.module.weight.tolist(), net.module.running_mean.tolist()))
    assert all(item == out[0] for item in out) and out[0][1] == [0, 0, 0]


def check_buffers_are_those_of_rank_0_in_each_forward_pass():
    net = DistributedDataParallel(nn.BatchNorm1d(3))
    net.module.running_mean.fill_(rank)
    net(torch.zeros(4, 3))
    assert net.module.running_mean.tolist() == [0, 0, 0]
    for passes in range(2):  # only the first of several forward passes without gradients
        net.module.running_mean.fill_(rank + 1)
        with torch.no_grad():
            net.eval()(torch.zeros(4, 3))
        mean, expected = net.module.running_mean[0].item(), 1 + rank * passes
        assert mean == expected, (mean, expected)
    net = DistributedDataParallel(nn.BatchNorm1d(3), broadcast_buffers=False)
    net.module.running_mean.fill_(rank)
    net(torch.zeros(4, 3))
    torch.testing.assert_close(net.module.running_mean, torch.full((3,), 0.9 * rank))


def check_gradients_that_add_up_before_they_are_averaged():
    reference, net = model(), DistributedDataParallel(model())
    for index, (x, y) in enumerate(batches(3)):
        nn.functional.mse_loss(reference(x), y).backward()
        if index < 2:
            with net.no_sync():
                nn.functional.mse_loss(net(part(x)), part(y)).backward()
        else:
            nn.functional.mse_loss(net(part(x)), part(y)).backward()
    for parameter, expected in zip(net.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, expected.grad)


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.never = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x, branch):
        return (self.b if branch else self.a)(x)


def check_unused_parameters():
    torch.manual_seed(0)
    net = DistributedDataParallel(Branches(), find_unused_parameters=True)
    for _ in range(2):
        net.zero_grad()
        net(torch.ones(1, 2), rank == 0).sum().backward()
        assert torch.equal(net.module.b.bias.grad, torch.full((2,), 1 / size))
        assert torch.equal(net.module.a.bias.grad, torch.full((2,), (size - 1) / size))
        assert net.module.never.weight.grad is None


def check_unused_parameters_that_are_not_expected_are_an_error():
    net = DistributedDataParallel(Branches())
    net(torch.ones(1, 2), True).sum().backward()
    try:
        net(torch.ones(1, 2), True)
    except RuntimeError as error:
        assert "finished reduction in the prior iteration" in str(error) and "never.weight" in str(error)
    else:
        raise AssertionError


def check_a_module_without_parameters_is_refused():
    try:
        DistributedDataParallel(nn.ReLU())
    except RuntimeError as error:
        assert "is not needed" in str(error)
    else:
        raise AssertionError


def check_state_and_copies():
    net = DistributedDataParallel(model())
    assert next(iter(net.state_dict())) == "module.0.weight"
    plain = copy.deepcopy(net.module)
    x = batches(1)[0][0]
    assert torch.equal(plain(x), net(x))


def check_the_graph_marks_the_hooks_that_wait_for_gradients():
    net = DistributedDataParallel(model())
    loss = net(part(batches(1)[0][0])).sum()
    leaves = [node for node in introspect.graph_facts(loss).nodes if node.variable]
    assert len(leaves) == 6
    for leaf in leaves:
        [hook] = leaf.hooks
        assert hook.name == "DistributedDataParallel._arrived" and "nn/parallel/distributed.py:" in hook.place
    assert viz.graph_text(introspect.graph_facts(loss)).count("ƒ _arrived") == 6


def check_traffic_is_two_times_the_parameters():
    group = dist.new_group()
    net = DistributedDataParallel(model(), process_group=group)
    group.traffic.clear()
    net(part(batches(1)[0][0])).sum().backward()
    count = sum(parameter.numel() for parameter in net.parameters())
    assert group.traffic == {"all_reduce": (1, 2 * 4 * count * (size - 1) / size)}


report(globals())
sys.stdout.flush()
