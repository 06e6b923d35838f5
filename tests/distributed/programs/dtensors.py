"""DTensors on four processes: each operator as on one, under every placement; sharded training as on one process."""
import io
import itertools
import random

import torch
import torch.distributed as dist
from reporting import report
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor, rand
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, loss_parallel, parallelize_module
from torch.nn import functional as F

from tests import FULL

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (size,))
grid = init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("dp", "tp"))
R, P = Replicate(), Partial()


def spread(tensor, placement, on=mesh):
    """Return a leaf that is a DTensor of a tensor, also under a partial placement."""
    if isinstance(placement, Partial):
        return DTensor.from_local(tensor / size, on, [placement]).detach().requires_grad_()
    return distribute_tensor(tensor, on, [placement]).requires_grad_()


def agrees(function, *shapes):
    """Check values, strides and gradients of a function under every third combination of its inputs' placements, drawn
    at random, or with MINDTORCH_FULL=1 under all.
    """
    inputs = [torch.randn(*shape, generator=torch.Generator().manual_seed(1)) for shape in shapes]
    plain = [x.clone().requires_grad_() for x in inputs]
    expected = function(*plain)
    weights = torch.randn(expected.shape, generator=torch.Generator().manual_seed(2))
    (expected * weights).sum().backward()
    every = [*itertools.product(*[[R, P, *map(Shard, range(x.dim()))] for x in inputs])]
    for placements in every if FULL else random.Random(1).sample(every, -(-len(every) // 3)):
        leaves = [spread(x, placement) for x, placement in zip(inputs, placements, strict=True)]
        found = function(*leaves)
        assert found.stride() == expected.stride(), (placements, found.stride(), expected.stride())
        torch.testing.assert_close(found.full_tensor(), expected, rtol=1e-4, atol=1e-5, msg=str(placements))
        (found * distribute_tensor(weights, mesh)).sum().backward()
        for leaf, reference in zip(leaves, plain, strict=True):
            torch.testing.assert_close(leaf.grad.full_tensor(), reference.grad, rtol=1e-4, atol=1e-5,
                                       msg=str(placements))


def check_pointwise():
    agrees(lambda a, b: (a + b).relu() * 2 + 1, (5, 6), (6,))
    agrees(lambda a, b: a * b, (5, 6), (5, 1))


def check_views_that_are_written():
    def written(a, factor):
        double = a * 2
        double.view(4, 2, 3).mul_(factor)
        double[:, 1].add_(1)
        return double

    plain = torch.arange(24.0).view(4, 6).requires_grad_()
    expected = written(plain, 3)
    expected.square().sum().backward()
    for placement in (R, Shard(0)):
        leaf = spread(plain.detach(), placement)
        found = written(leaf, 3)
        found.square().sum().backward()
        assert torch.equal(found.full_tensor(), expected)
        assert torch.equal(leaf.grad.full_tensor(), plain.grad)


def check_views_that_lie_elsewhere_are_views():
    def first(x):
        x[..., 0] += 1
        return x

    def late(x):
        row = x[0]
        part = row[1:]
        part.mul_(2)
        x.sub_(1)
        return part + row[1:] + x[0, 1:]

    def others(x):
        x[1:3].mul_(3)
        x.t()[0].add_(2)
        x.view(-1)[::3].neg_()
        x.diagonal().zero_()
        x[1] = x[0] * 2
        return x

    for function in (first, late, others):
        plain = torch.arange(20.0).reshape(5, 4).requires_grad_()
        expected = function(plain * 1)
        (expected * expected).sum().backward()
        for placement in (Shard(0), Shard(1), R):
            leaf = spread(plain.detach(), placement)
            found = function(leaf * 1)
            torch.testing.assert_close(found.full_tensor(), expected)
            (found * found).sum().backward()
            torch.testing.assert_close(leaf.grad.full_tensor(), plain.grad)


def check_equality_and_files():
    plain = torch.arange(10.0).view(5, 2)
    one, other = distribute_tensor(plain, mesh, [Shard(0)]), distribute_tensor(plain, mesh, [R])
    assert torch.equal(one, other) and not torch.equal(one, other + (other == 9))
    file = io.BytesIO()
    torch.save(one, file)
    file.seek(0)
    found = torch.load(file, weights_only=False)
    assert found.placements == one.placements and torch.equal(found.full_tensor(), plain)


def check_reductions():
    agrees(lambda a: a.sum(1) + a.mean(1) + a.amax(1) + a.max(1)[0], (5, 6))
    agrees(lambda a: torch.linalg.vector_norm(a, 3), (5, 6))


def check_products():
    agrees(F.linear, (2, 4, 6), (8, 6), (8,))
    agrees(lambda a, b: torch.einsum("bij,bkj->bik", a, b), (2, 4, 6), (2, 3, 6))


def check_views():
    agrees(lambda a: a.view(2, 4, 6).permute(1, 0, 2).reshape(8, 6)[:, 1:4], (8, 6))
    agrees(lambda a: torch.cat([a.split(2, 1)[1], a[1].unsqueeze(1).expand(6, 2).t().reshape(4, 3)[:, :2]], 1), (4, 6))
    agrees(lambda a: a.squeeze() + a.squeeze(0), (3, 3))  # of which a rank may have one row


def check_layers():
    agrees(lambda x, w, b: F.layer_norm(x, (6,), w, b), (4, 2, 6), (6,), (6,))
    agrees(lambda x, w, b: F.max_pool2d(F.conv2d(x, w, b), 2), (4, 1, 6, 6), (4, 1, 3, 3), (4,))
    for channels in (2, 4):
        agrees(lambda x, w, b: F.conv_transpose1d(x, w, b), (4, 4, 5), (4, channels, 3), (channels,))
    agrees(lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), (2, 4, 5, 8))


def check_embedding_and_losses():
    indices, target = torch.tensor([[1, 2], [0, 5]]), torch.tensor([1, 2, -100, 0])
    agrees(lambda w: F.embedding(distribute_tensor(indices, mesh) if isinstance(w, DTensor) else indices, w), (6, 4))
    agrees(lambda x: F.cross_entropy(x, distribute_tensor(target, mesh) if isinstance(x, DTensor) else target), (4, 8))
    agrees(lambda a, b: F.mse_loss(a, b), (4, 6), (4, 6))


def check_a_loss_whose_classes_are_divided():
    x, target = torch.randn(4, 8, generator=torch.Generator().manual_seed(3)), torch.tensor([1, 7, -100, 0])
    plain, leaf = x.clone().requires_grad_(), spread(x, Shard(1))
    F.cross_entropy(plain, target).backward()
    with loss_parallel(), CommDebugMode() as seen:
        loss = F.cross_entropy(leaf, distribute_tensor(target, mesh))
        loss.backward()
    assert set(seen.get_comm_counts()) <= {torch.ops.c10d_functional.all_reduce}  # no logits were gathered
    assert leaf.grad.placements == (Shard(1),)
    torch.testing.assert_close(leaf.grad.full_tensor(), plain.grad)


def check_random_numbers_are_those_of_one_process():
    torch.manual_seed(5)
    expected = torch.rand(5, 6), torch.empty(5, 6).normal_(), F.dropout(torch.ones(5, 6))
    for placement in (R, Shard(0), Shard(1)):
        torch.manual_seed(5)
        found = (rand(5, 6, device_mesh=mesh, placements=[placement]),
                 distribute_tensor(torch.empty(5, 6), mesh, [placement], src_data_rank=None).normal_(),
                 F.dropout(distribute_tensor(torch.ones(5, 6), mesh, [placement])))
        for one, other in zip(found, expected, strict=True):
            assert torch.equal(one.full_tensor(), other)


def check_every_redistribution_on_a_grid():
    whole = torch.arange(7 * 5.0).view(7, 5)
    choices = [R, Shard(0), Shard(1)]
    for source in itertools.product(choices, choices):
        for target in itertools.product(choices, choices):
            x = distribute_tensor(whole, grid, source).requires_grad_()
            y = x.redistribute(placements=target)
            assert torch.equal(y.full_tensor(), whole), (source, target)
            assert not x.detach().redistribute(placements=target).requires_grad
            (y * y).sum().backward()
            assert x.grad.placements == source and torch.equal(x.grad.full_tensor(), 2 * whole)


def check_communication_is_counted():
    x = distribute_tensor(torch.ones(8, 4), mesh, [Shard(0)])
    with CommDebugMode() as seen:
        (x @ distribute_tensor(torch.ones(4, 4), mesh)).sum().full_tensor()
    assert seen.get_comm_counts() == {torch.ops.c10d_functional.all_reduce: 1} and seen.get_total_counts() == 1


def check_a_view_is_not_made_in_place():
    for name, arguments in (("transpose_", (0, 1)), ("t_", ()), ("unsqueeze_", (0,))):
        try:
            getattr(distribute_tensor(torch.ones(2, 3), mesh), name)(*arguments)
        except NotImplementedError as error:
            assert "does not have a sharding strategy" in str(error)
        else:
            raise AssertionError(name)


def check_a_mesh_is_sliced_by_names():
    assert grid["dp"].get_group() is grid.get_group("dp") and grid["tp"].size() == size // 2
    assert grid.get_coordinate() == (rank // (size // 2), rank % (size // 2))
    assert grid._flatten("all").get_group().ranks == tuple(range(size))


def check_an_operator_without_a_rule_names_itself_and_the_placements():
    try:
        torch.histc(distribute_tensor(torch.eye(4), mesh, [Shard(1)]))
    except NotImplementedError as error:
        assert "aten.histc.default" in str(error) and "Spec(S(1) on (4, 4))" in str(error)
    else:
        raise AssertionError("no error")


class Tied(nn.Module):
    """A model with a tied, a frozen and a normal layer."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table, self.frozen, self.up = nn.Embedding(12, 8), nn.Linear(8, 8), nn.Linear(8, 20)
        self.down, self.norm, self.head = nn.Linear(20, 8), nn.LayerNorm(8), nn.Linear(8, 12, bias=False)
        self.head.weight = self.table.weight
        self.frozen.requires_grad_(False)

    def forward(self, indices):
        x = self.frozen(self.table(indices))
        return self.head(self.norm(x + self.down(self.up(x).tanh())))


def trained(model, optimizer, group, steps=5):
    """Return losses and whole parameters after steps with clipping and with weight decay by name."""
    named = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    groups = [{"params": [p for name, p in named if name.endswith("weight") is decays], "weight_decay": 0.1 * decays}
              for decays in (True, False)]
    optimizer, losses = optimizer(groups, lr=0.05), []
    ranks, here = (1, 0) if group is None else (group.size(), group.rank())
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        tokens = torch.randint(12, (8, 6), generator=generator)
        part = tokens.chunk(ranks)[here]
        optimizer.zero_grad()
        loss = F.cross_entropy(model(part[:, :-1]).flatten(0, 1), part[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.2)
        optimizer.step()
        loss = loss.detach()
        if group is not None:
            dist.all_reduce(loss, dist.ReduceOp.AVG, group=group)
        losses.append(loss)
    whole = [value.full_tensor() if isinstance(value, DTensor) else value for value in model.state_dict().values()]
    return [torch.stack(losses), *whole]


def cut(model, tensor_mesh):
    return parallelize_module(model, tensor_mesh, {
        "up": ColwiseParallel(), "down": RowwiseParallel(), "table": RowwiseParallel(input_layouts=R),
        "head": ColwiseParallel(output_layouts=R)})


def sharded(model, data_mesh):
    for layer in (model.up, model.down):
        fully_shard(layer, mesh=data_mesh)
    return fully_shard(model, mesh=data_mesh)


def check_training_is_that_of_one_process():
    for optimizer in (torch.optim.AdamW, torch.optim.Adafactor):
        expected = trained(Tied(), optimizer, None)
        for name, model, group in (
                ("fully_shard", sharded(Tied(), mesh), mesh.get_group()),
                ("replicas of parts", sharded(Tied(), grid), dist.group.WORLD),
                ("tensor parallel", cut(Tied(), mesh), None),
                ("both", sharded(cut(Tied(), grid["tp"]), grid["dp"]), grid.get_group("dp"))):
            assert model.head.weight is model.table.weight and not model.frozen.weight.requires_grad, name
            for one, other in zip(trained(model, optimizer, group), expected, strict=True):
                torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5, msg=f"{name}: {one} {other}")


def check_gradients_are_added_up_without_communication():
    net, reference = fully_shard(nn.Linear(4, 3)), nn.Linear(4, 3)
    reference.load_state_dict({name: value.full_tensor() for name, value in net.state_dict().items()})
    x = torch.randn(2, 4, generator=torch.Generator().manual_seed(rank))
    net.set_requires_gradient_sync(False)
    net(x).sum().backward()
    assert net.weight.grad is None
    net.set_requires_gradient_sync(True)
    net(x).square().sum().backward()
    (reference(x).sum() + reference(x).square().sum()).backward()
    dist.all_reduce(reference.weight.grad, dist.ReduceOp.AVG)
    torch.testing.assert_close(net.weight.grad.full_tensor(), reference.weight.grad)


def check_mixed_precision():
    net = fully_shard(nn.Linear(4, 4), mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32, torch.float32))
    out = net(torch.ones(2, 4))
    out.sum().backward()
    assert out.dtype == net.weight.dtype == net.weight.grad.dtype == torch.float32


report(globals())
