"""Every collective against NumPy, in four ranks."""
import operator
import warnings
from datetime import timedelta
from functools import reduce

import numpy as np
import torch
import torch.distributed as dist
from reporting import report

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
rank, size = dist.get_rank(), dist.get_world_size()
odd = dist.new_group([1, 3])
late = dist.new_group([2, 0], sort_ranks=False)
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16,
          torch.int32, torch.int64, torch.bool, torch.complex64]


def value(rank, shape=(2, 3), dtype=torch.float32):
    """A rank's tensor, which every other rank can compute as well; small integers, exact in every dtype."""
    generator = np.random.default_rng(rank)
    return torch.from_numpy(generator.integers(0, 4, shape)).to(dtype)


def equal(found, expected):
    assert found.dtype == expected.dtype and found.shape == expected.shape, (found, expected)
    assert torch.equal(found, expected), (found, expected)


def check_numbers_of_ranks():
    assert (dist.is_initialized(), dist.get_backend(), size) == (True, "gloo", 4)
    assert dist.get_rank(odd) == (rank // 2 if rank % 2 else -1) and dist.get_process_group_ranks(None) == [0, 1, 2, 3]
    if rank in (0, 2):
        assert dist.get_rank(late) == 1 - rank // 2 and dist.get_global_rank(late, 0) == 2
        assert dist.get_group_rank(late, 0) == 1 and dist.get_world_size(late) == 2


def check_all_reduce_of_each_dtype():
    for dtype in DTYPES:
        for op, combine in (("SUM", operator.add), ("MAX", torch.maximum), ("MIN", torch.minimum),
                            ("PRODUCT", operator.mul), ("BAND", operator.and_), ("BOR", operator.or_),
                            ("BXOR", operator.xor)):
            floating = dtype.is_floating_point or dtype.is_complex
            if (floating and op.startswith("B")) or (dtype.is_complex and op != "SUM"):
                continue
            tensor = value(rank, dtype=dtype)
            dist.all_reduce(tensor, getattr(dist.ReduceOp, op))
            equal(tensor, reduce(combine, [value(other, dtype=dtype) for other in range(size)]))


def check_an_average():
    tensor = value(rank)
    dist.all_reduce(tensor, dist.ReduceOp.AVG)
    equal(tensor, sum(value(other) for other in range(size)) / size)


def check_reduce_leaves_the_others_as_they_were():
    tensor = value(rank)
    dist.reduce(tensor, 2)
    equal(tensor, sum(value(other) for other in range(size)) if rank == 2 else value(rank))


def check_broadcast_of_each_dtype():
    for dtype in DTYPES:
        tensor = value(rank, dtype=dtype)
        dist.broadcast(tensor, 1)
        equal(tensor, value(1, dtype=dtype))


def check_all_gather():
    for dtype in DTYPES:
        out = [torch.empty(2, 3, dtype=dtype) for _ in range(size)]
        dist.all_gather(out, value(rank, dtype=dtype))
        for other in range(size):
            equal(out[other], value(other, dtype=dtype))


def check_all_gather_into_one_tensor():
    out = torch.empty(8, 3)
    dist.all_gather_into_tensor(out, value(rank))
    equal(out, torch.cat([value(other) for other in range(size)]))


def check_all_gather_of_a_part_of_the_output():
    out = torch.zeros(8, 3)
    out[2 * rank:2 * rank + 2] = value(rank)
    dist.all_gather_into_tensor(out, out[2 * rank:2 * rank + 2])
    equal(out, torch.cat([value(other) for other in range(size)]))


def check_reduce_scatter():
    out = torch.empty(2, 3)
    dist.reduce_scatter(out, [value(rank + other) for other in range(size)])
    equal(out, sum(value(rank + other) for other in range(size)))
    for dtype in (torch.float32, torch.bfloat16):
        out = torch.empty(2, 3, dtype=dtype)
        dist.reduce_scatter_tensor(out, value(rank, (8, 3), dtype), op=dist.ReduceOp.MAX)
        whole = reduce(torch.maximum, [value(other, (8, 3), dtype) for other in range(size)])
        equal(out, whole[2 * rank:2 * rank + 2])


def check_scatter_and_gather():
    out = torch.empty(2, 3)
    dist.scatter(out, [value(10 + other) for other in range(size)] if rank == 3 else None, src=3)
    equal(out, value(10 + rank))
    back = [torch.empty(2, 3) for _ in range(size)] if rank == 1 else None
    dist.gather(out, back, dst=1)
    for other in range(size) if rank == 1 else ():
        equal(back[other], value(10 + other))


def check_all_to_all():
    give = [torch.full((other + 1,), float(rank)) for other in range(size)]
    take = [torch.empty(rank + 1) for _ in range(size)]
    dist.all_to_all(take, give)
    for other in range(size):
        equal(take[other], torch.full((rank + 1,), float(other)))
    out = torch.empty(4, dtype=torch.int64)
    dist.all_to_all_single(out, torch.arange(4) + 10 * rank)
    equal(out, torch.arange(4) * 10 + rank)
    out = torch.empty(size * (rank + 1), 2)
    dist.all_to_all_single(out, torch.full((10, 2), float(rank)), [rank + 1] * size, [1, 2, 3, 4])
    equal(out, torch.arange(4.).repeat_interleave(rank + 1)[:, None].expand(-1, 2).contiguous())


def check_groups():
    tensor = value(rank)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dist.all_reduce(tensor, group=odd)
    equal(tensor, value(1) + value(3) if rank % 2 else value(rank))
    assert len(caught) == (rank + 1) % 2
    if rank in (0, 2):
        out = [torch.empty(2, 3), torch.empty(2, 3)]
        dist.all_gather(out, value(rank), group=late)
        equal(out[0], value(2))
        tensor = value(rank)
        dist.broadcast(tensor, 2, group=late)
        equal(tensor, value(2))
        tensor = value(rank)
        dist.broadcast(tensor, group=late, group_src=1)
        equal(tensor, value(0))


def check_groups_of_neighbours():
    before = dist.get_pg_count()
    mine, groups = dist.new_subgroups(2)
    assert dist.get_process_group_ranks(mine) == [rank // 2 * 2, rank // 2 * 2 + 1] and len(groups) == 2
    assert mine is groups[rank // 2] and groups[1 - rank // 2] is dist.GroupMember.NON_GROUP_MEMBER
    assert dist.get_pg_count() == before + 1
    mine, groups = dist.new_subgroups_by_enumeration([[0, 3]])
    assert (mine is None) == (rank in (1, 2))
    for call, said in [(lambda: dist.new_subgroups(3), "must be divisible by 'group_size=3'"),
                       (lambda: dist.new_subgroups(8), "must not exceed the world size (4)"),
                       (lambda: dist.new_subgroups_by_enumeration([[0, 1], [1]]), "Rank 1 has appeared in both"),
                       (lambda: dist.new_subgroups_by_enumeration([]), "cannot be empty")]:
        try:
            call()
        except ValueError as error:
            assert said in str(error), error
        else:
            raise AssertionError(said)


def check_works_that_run_beside_the_program():
    tensors = [value(rank + step) for step in range(8)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for step, work in reversed(list(enumerate(works))):
        assert work.wait() is True and work.is_completed() and work.is_success() and work.exception() is None
        equal(tensors[step], sum(value(other + step) for other in range(size)))


def check_strided_tensors():
    tensor = value(rank).t()
    dist.all_reduce(tensor)
    equal(tensor, sum(value(other) for other in range(size)).t())
    column = value(rank)[:, 1]
    dist.broadcast(column, 2)
    equal(column, value(2)[:, 1])


def check_empty_and_zero_dimensional_tensors():
    empty, number = torch.empty(0, 3), torch.tensor(float(rank))
    dist.all_reduce(empty)
    dist.all_reduce(number)
    assert empty.shape == (0, 3) and number.item() == 6 and number.shape == ()


def check_memory_of_contiguous_tensors_is_given_to_mpi():
    from mindtorch.distributed._collectives.buffers import Buffer
    tensor = torch.ones(4, 5)
    for dtype in DTYPES:
        tensor = torch.ones(4, 5, dtype=dtype)
        message = Buffer([tensor]).message()[0]
        assert np.shares_memory(message, tensor.numpy())
    assert not np.shares_memory(Buffer([tensor.t()]).array, tensor.numpy())


def check_messages():
    after, before = (rank + 1) % size, (rank - 1) % size
    for dtype in DTYPES:
        out = torch.empty(2, 3, dtype=dtype)
        work = dist.isend(value(rank, dtype=dtype), after)
        assert dist.recv(out, before) == before
        work.wait()
        equal(out, value(before, dtype=dtype))
    # by tag, in another order
    works = [dist.isend(torch.tensor([float(tag)]), after, tag=tag) for tag in range(3)]
    outs = [torch.empty(1) for _ in range(3)]
    works += [dist.irecv(outs[tag], before, tag=tag) for tag in (2, 0, 1)]
    for work in works:
        work.wait()
    assert [out.item() for out in outs] == [0, 1, 2]
    if rank == 0:
        out, senders = torch.empty(1), set()
        for _ in range(3):
            senders.add(dist.recv(out))
        assert senders == {1, 2, 3}
    else:
        dist.send(torch.tensor([1.]), 0)
    dist.barrier()  # or a faster rank's next message is one from "any"


def check_batches_of_messages():
    after, before, out = (rank + 1) % size, (rank - 1) % size, torch.empty(2, 3)
    batch = [dist.P2POp(dist.irecv, out, before), dist.P2POp(dist.isend, value(rank), after)]
    for work in dist.batch_isend_irecv(batch):
        work.wait()
    equal(out, value(before))


def check_objects():
    mine = {"rank": rank, "text": "x" * 10 ** rank}
    everyone = [{"rank": other, "text": "x" * 10 ** other} for other in range(size)]
    out = [None] * size
    dist.all_gather_object(out, mine)
    assert out == everyone
    out = [None] * size if rank == 1 else None
    dist.gather_object(mine, out, dst=1)
    assert out == (everyone if rank == 1 else None)
    out = [mine, rank] if rank == 2 else [None, None]
    dist.broadcast_object_list(out, src=2)
    assert out == [everyone[2], 2]
    out = [None]
    dist.scatter_object_list(out, everyone if rank == 0 else None, src=0)
    assert out == [mine]
    if rank == 0:
        dist.send_object_list([mine, 7], 3)
    elif rank == 3:
        out = [None, None]
        assert dist.recv_object_list(out, 0) == 0 and out == [everyone[0], 7]


def check_barriers():
    dist.barrier()
    dist.barrier(async_op=True).wait()
    dist.monitored_barrier()


def check_devices_that_a_backend_does_not_take():
    try:
        dist.all_reduce(torch.ones(2, device="npu"))
    except RuntimeError as error:
        assert "No backend type associated with device type npu" in str(error)
    else:
        raise AssertionError


def check_tensors_of_devices():
    devices = dist.new_group(backend="hccl")
    tensor = value(rank).to("npu")
    dist.all_reduce(tensor, group=devices)
    assert tensor.device.type == "npu"
    equal(tensor.cpu(), sum(value(other) for other in range(size)))
    out = torch.empty(8, 3, device="npu")
    dist.all_gather_into_tensor(out, value(rank).to("npu"), group=devices)
    equal(out.cpu(), torch.cat([value(other) for other in range(size)]))
    for dtype in (torch.int64, torch.bfloat16):
        tensor = value(rank, dtype=dtype).to("npu")
        dist.broadcast(tensor, 3, group=devices)
        equal(tensor.cpu(), value(3, dtype=dtype))
    out = torch.empty(2, 3, device="npu")
    work = dist.reduce_scatter_tensor(out, value(rank, (8, 3)).to("npu"), dist.ReduceOp.AVG, group=devices,
                                      async_op=True)
    assert work.wait()
    whole = sum(value(other, (8, 3)) for other in range(size)) / size
    equal(out.cpu(), whole[2 * rank:2 * rank + 2])
    assert work.is_completed() and devices.traffic["broadcast"][0] == 2
    tensor = value(rank).to("npu").t()  # not HCCL's, which takes memory without gaps: it goes by way of the host
    dist.all_reduce(tensor, group=devices)
    equal(tensor.cpu(), sum(value(other) for other in range(size)).t())
    dist.destroy_process_group(devices)


def check_calls_of_devices_that_do_not_match_are_errors_of_the_stream():
    devices = dist.new_group(backend="hccl")
    tensor = torch.ones(2 + rank // 3, device="npu")
    try:
        dist.all_reduce(tensor, group=devices)  # it does not wait: it is a task of the stream
        tensor.cpu()
    except torch.npu.AclError as error:
        for said in ("rank 0: all_reduce(SUM, float32[2]) at", "rank 3: all_reduce(SUM, float32[3]) at",
                     "against_numpy.py:"):
            assert said in str(error), error
    else:
        raise AssertionError
    torch.npu.restart_device("npu:0")


def check_traffic_is_counted():
    group = dist.new_group()
    dist.all_reduce(torch.ones(100), group=group)
    dist.all_gather_into_tensor(torch.empty(400), torch.ones(100), group=group)
    dist.reduce_scatter_tensor(torch.empty(100), torch.ones(400), group=group)
    assert group.traffic == {"all_reduce": (1, 600.0), "all_gather": (1, 1200.0), "reduce_scatter": (1, 1200.0)}


def check_samplers_ask_the_group():
    sampler = torch.utils.data.DistributedSampler(range(10), shuffle=False)
    assert list(sampler) == [(rank + 4 * step) % 10 for step in range(3)]


def check_mistakes_that_one_rank_can_see():
    for call, error, said in [
        (lambda: dist.all_reduce(3), TypeError, "Expected parameter `tensor` of type torch.Tensor"),
        (lambda: dist.all_gather([torch.ones(2)] * 4, torch.ones(3)), RuntimeError, "size at index 0"),
        (lambda: dist.all_gather([torch.ones(2)] * 4, torch.tensor([1, 2])), ValueError, "different dtypes"),
        (lambda: dist.broadcast(torch.ones(2), 7), ValueError, "7"),
        (lambda: dist.send(torch.ones(2), rank), ValueError, "destination rank should not be the same"),
        (lambda: dist.init_process_group("gloo"), ValueError, "twice"),
        (lambda: dist.new_group([5]), ValueError, "Rank 5 is out of range"),
        (lambda: dist.all_reduce(torch.ones(2), dist.ReduceOp.BAND), RuntimeError, "non-integral dtype"),
        (lambda: dist.all_reduce(torch.ones(2, dtype=torch.complex64), dist.ReduceOp.MAX), ValueError, "complex"),
        (lambda: dist.all_reduce(torch.tensor([1]), dist.ReduceOp.AVG), RuntimeError, "Float can't be cast"),
    ]:
        try:
            call()
        except error as found:
            assert said in str(found), found
        else:
            raise AssertionError(said)


def check_calls_that_do_not_match_are_errors_and_the_group_goes_on():
    for call, said in [
        (lambda: dist.all_reduce(torch.ones(3 + (rank == 2))), "rank 2: all_reduce(SUM, float32[4])"),
        (lambda: dist.all_reduce(torch.ones(3, dtype=torch.int32 if rank == 1 else torch.float32)), "int32[3]"),
        (lambda: dist.broadcast(torch.ones(3), 0) if rank else dist.all_reduce(torch.ones(3)), "rank 3: broadcast("),
        (lambda: dist.broadcast(torch.ones(3), rank % 2), "root 1"),
        (lambda: dist.all_reduce(torch.ones(3), dist.ReduceOp.MAX if rank == 3 else dist.ReduceOp.SUM), "(MAX, "),
        (lambda: dist.barrier() if rank else dist.new_group([0]), "rank 0: new_group([0])"),
        (lambda: dist.all_to_all_single(torch.empty(4 + (rank == 0)), torch.ones(4), [1, 1, 1, 1 + (rank == 0)]),
         "rank 3 sends 1 elements to rank 0"),
    ]:
        try:
            call()
        except dist.DistBackendError as error:
            assert said in str(error), error
            assert "against_numpy.py:" in str(error)
        else:
            raise AssertionError(said)
    tensor = value(rank)
    dist.all_reduce(tensor)
    equal(tensor, sum(value(other) for other in range(size)))


def check_groups_can_be_left_and_joined_again():
    dist.destroy_process_group()
    assert not dist.is_initialized()
    dist.init_process_group("mpi")
    tensor = value(rank)
    dist.all_reduce(tensor)
    equal(tensor, sum(value(other) for other in range(size)))


report(globals())
