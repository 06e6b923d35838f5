"""ZeRO, FSDP and tensor parallelism against one process; what they send, and what they keep."""
import gc
from datetime import timedelta

import torch
import torch.distributed as dist
from reporting import report
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor import DTensor, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=timedelta(seconds=100))
rank, size = dist.get_rank(), dist.get_world_size()


def model(width=32):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 4))


def batches(count):
    generator = torch.Generator().manual_seed(1)
    return [(torch.randn(8, 8, generator=generator), torch.randn(8, 4, generator=generator)) for _ in range(count)]


def train(net, make, split, steps=6):
    optimizer = make(net.parameters())
    losses = []
    for x, y in batches(steps):
        optimizer.zero_grad()
        if split:
            x, y = x.chunk(size)[rank], y.chunk(size)[rank]
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        loss = loss.detach()
        if split:
            dist.all_reduce(loss, dist.ReduceOp.AVG)
        losses.append(loss.item())
    return losses


def adam(parameters):
    return torch.optim.Adam(parameters, lr=0.01)


def close(found, expected):
    assert max(abs(a - b) for a, b in zip(found, expected, strict=True)) < 1e-5, (found, expected)


def shard(net, mesh=None):
    for layer in net:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    return fully_shard(net, mesh=mesh)


def local(tensor):
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def count(net):
    return sum(local(parameter).numel() for parameter in net.parameters())


def check_zero_gives_the_losses_of_one_process():
    made = []

    def zero(parameters):
        made.append(ZeroRedundancyOptimizer(parameters, torch.optim.Adam, lr=0.01))
        return made[-1]

    close(train(DistributedDataParallel(model()), zero, split=True), train(model(), adam, split=False))
    kept = sum(tensor.numel() for state in made[0].optim.state.values() for tensor in state.values() if tensor.dim())
    assert kept == 2 * sum(parameter.numel() for parameter in made[0].parts[rank])
    total = torch.tensor(kept)
    dist.all_reduce(total)
    assert total == 2 * count(model()) and kept < total


def check_zero_gives_the_largest_parameters_to_the_ranks_with_the_fewest_elements():
    parameters = [nn.Parameter(torch.zeros(count)) for count in (1, 9, 3, 5, 4, 2)]
    optimizer = ZeroRedundancyOptimizer(parameters, torch.optim.SGD, lr=1.0)
    own = [parameter.numel() for group in optimizer.optim.param_groups for parameter in group["params"]]
    assert own == ([9], [5], [1, 4], [3, 2])[rank]


def check_zero_follows_a_schedule():
    net = nn.Linear(2, 2)
    optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.SGD, lr=1.0)
    optimizer.param_groups[0]["lr"] = 0.0
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert all(group["lr"] == 0 for group in optimizer.optim.param_groups)


def check_sharding_gives_the_losses_of_one_process():
    expected = train(model(), adam, split=False)
    close(train(shard(model()), adam, split=True), expected)
    close(train(fully_shard(model()), adam, split=True), expected)


def check_whole_parameters_are_freed_when_their_gradients_are_there():
    net, seen = shard(model()), []
    groups = [group for group in gc.get_objects() if type(group).__name__ == "FSDPParamGroup"]

    def watch(module, inputs, output):
        output.register_hook(lambda gradient: seen.append(sum(group.wholes is not None for group in groups)))

    net[0].register_forward_hook(watch)
    net(torch.ones(2, 8)).sum().backward()
    assert len(groups) >= 3 and seen == [0], seen


def check_the_norm_of_gradients_has_the_order_that_is_asked_for():
    plain, wrapped = model(), FullyShardedDataParallel(model())
    for net in plain, wrapped:
        net(torch.ones(2, 8)).sum().backward()
    for order in (1.0, 2.0, float("inf")):
        expected = nn.utils.clip_grad_norm_(plain.parameters(), 1e9, norm_type=order)
        assert torch.isclose(wrapped.clip_grad_norm_(1e9, norm_type=order), expected), order


def check_what_is_sharded_has_its_names_and_can_be_put_together():
    whole = model().state_dict()
    net = shard(model())
    assert count(net) <= count(model()) / size + 32 and net[0].weight.shape == (32, 8)
    found = net.state_dict()
    assert list(found) == list(whole)
    for name, tensor in whole.items():
        assert torch.equal(found[name].full_tensor(), tensor)


def check_parameters_that_cannot_be_divided():
    scalar, conv = model(), nn.Conv2d(4, 4, 3).to(memory_format=torch.channels_last)
    scalar.register_parameter("scale", nn.Parameter(torch.tensor(1.0)))
    for kind, message, call in (
            (ValueError, "Change scale to a 1D tensor", lambda: fully_shard(scalar)),
            (NotImplementedError, "does not support non-contiguous parameters", lambda: fully_shard(conv)),
            (AssertionError, "Shard dim 1 is invalid for 1D tensor",
             lambda: fully_shard(model(), shard_placement_fn=lambda parameter: Shard(1)))):
        try:
            call()
        except kind as error:
            assert message in str(error), error
        else:
            raise AssertionError(message)


def check_the_graph_does_not_keep_what_was_gathered():
    net = shard(model())
    out = net(batches(1)[0][0])
    layers = net[0], net[2], net[4]
    assert all(isinstance(layer.weight, DTensor) and layer._group.wholes is None for layer in layers)
    with torch.no_grad():
        net[2].weight.zero_()  # backward gathers again: it sees zeros, so no gradient goes further
    out.sum().backward()
    assert not net[0].weight.grad.full_tensor().any() and net[4].weight.grad.full_tensor().any()
    assert all(layer._group.wholes is None for layer in layers)


def check_layers_that_are_cut():
    def net():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))

    mesh = init_device_mesh("cpu", (size,))
    whole, cut = net(), parallelize_module(net(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    x, y = torch.randn(4, 8, generator=torch.Generator().manual_seed(2)).requires_grad_(), torch.zeros(4, 4)
    again = x.detach().clone().requires_grad_()
    nn.functional.mse_loss(whole(x), y).backward()
    nn.functional.mse_loss(cut(again), y).backward()
    torch.testing.assert_close(again.grad, x.grad)
    torch.testing.assert_close(cut[0].weight.grad.to_local(), whole[0].weight.grad.chunk(size)[rank])
    torch.testing.assert_close(cut[0].bias.grad.to_local(), whole[0].bias.grad.chunk(size)[rank])
    torch.testing.assert_close(cut[2].weight.grad.to_local(), whole[2].weight.grad.chunk(size, 1)[rank])
    torch.testing.assert_close(cut[2].bias.grad.full_tensor(), whole[2].bias.grad)


def check_what_each_strategy_sends():
    bytes_of_model = 4 * count(model())
    part = (size - 1) / size

    def sent(step):
        group = dist.new_group()
        step(group)
        return sum(sent for _, sent in group.traffic.values())

    def data_parallel(group, zero=False):
        net = DistributedDataParallel(model(), process_group=group)
        make = ZeroRedundancyOptimizer(net.parameters(), torch.optim.SGD, group, lr=0.1) if zero else None
        group.traffic.clear()
        net(batches(1)[0][0]).sum().backward()
        make.step() if make else None

    def fully(group):
        net = shard(model(), DeviceMesh.from_group(group, "cpu"))
        net(batches(1)[0][0]).sum().backward()

    def cut(group):
        net = parallelize_module(model(), DeviceMesh.from_group(group, "cpu"), {
            "0": ColwiseParallel(), "2": RowwiseParallel()}, src_data_rank=None)
        net(batches(1)[0][0]).sum().backward()

    assert sent(data_parallel) == 2 * bytes_of_model * part
    assert sent(lambda group: data_parallel(group, zero=True)) == 3 * bytes_of_model * part
    padded = bytes_of_model  # each parameter divides evenly
    # backward needs the last and the middle layers' weights again, and of the first none: nobody asks for x's gradient
    again = 4 * sum(count(layer) for layer in list(model())[1:])
    assert sent(fully) == (2 * padded + again) * part
    assert sent(cut) == 2 * 4 * (8 * 32) * part  # the row layer's output; nobody asks for x's gradient


def check_memory_by_formula():
    def live():
        storages = {}
        for item in gc.get_objects():
            if isinstance(item, torch.Tensor) and not isinstance(item, DTensor) and not item.is_meta:
                storages[item.untyped_storage().data_ptr()] = item.untyped_storage().nbytes()
        return sum(storages.values()) - before

    class Layer(nn.Linear):
        def forward(self, x):
            inside.append(live())
            return super().forward(x)

    def nearly(found, wanted):
        assert abs(found - wanted) < block / 20, (found, wanted)

    layers, width, before, inside = 6, 400, 0, []
    block = 4 * (width * width + width)  # bytes of the largest gathered block
    before = live()
    net = shard(nn.Sequential(*[layer for _ in range(layers) for layer in (Layer(width, width), nn.ReLU())]))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for kept in (1, 3):  # parameters; then also gradients and momenta
        del inside[:]
        net(torch.ones(2, width)).sum().backward()
        for found in inside:
            nearly(found, kept * layers * block / size + block)
        optimizer.step()
        nearly(live(), 3 * layers * block / size)


report(globals())
