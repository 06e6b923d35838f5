"""The simulator's model of time: which cores operators take, for how long, and when streams can overlap."""
from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

import mindtorch as torch
from mindtorch._backends.npu.simulator import acl_memory, executors, streams
from mindtorch._backends.npu.simulator.costs import CONSTANTS, Cores, Cost, Costs, work_of

simulator = torch.npu.simulator
costs = simulator.costs


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    yield
    costs.reset()
    simulator.faults.clear()


def test_small_operators_take_a_core_and_are_bound_by_their_launch() -> None:
    small = costs.of("aclnnAdd", [("float32", (8,))] * 3)
    assert small[:3] == ("vector", 1, 48) and str(small) == "1 of 48 vector cores"
    assert costs.launch <= small.seconds < 1.1 * costs.launch


def test_large_operators_fill_the_device_and_are_bound_by_memory_or_arithmetic() -> None:
    large = costs.of("aclnnAdd", [("float32", (1 << 24,))] * 3)
    assert large[:3] == ("vector", 48, 48)
    assert large.seconds == pytest.approx(costs.launch + 3 * (4 << 24) / costs.memory_bandwidth)
    product = costs.of("aclnnMatmul", [("float16", (4096, 4096))] * 3)
    assert product[:3] == ("cube", 24, 24)
    work = 2 * 4096**3 / (costs.cube_operations * costs.frequency * 24)
    assert product.seconds == pytest.approx(costs.launch + work)
    single = costs.of("aclnnMatmul", [("float32", (4096, 4096))] * 3)
    assert single.seconds == pytest.approx(costs.launch + 4 * work)


@pytest.mark.parametrize(("name", "shapes", "products"), [
    ("aclnnFlashAttentionScore", [(1, 4, 64, 32), *[(1, 4, 96, 32)] * 2, (1, 4, 64, 32)], 2 * 4 * 64 * 96 * 32),
    ("aclnnFlashAttentionScoreGrad", [(1, 4, 64, 32), (1, 4, 96, 32), (1, 4, 96, 32)], 5 * 4 * 64 * 96 * 32),
    ("aclnnConvolution", [(2, 3, 8, 8), (5, 3, 3, 3), (2, 5, 6, 6)], 2 * 5 * 6 * 6 * 3 * 3 * 3),
    ("aclnnConvolutionBackward", [(2, 5, 6, 6), (2, 3, 8, 8), (5, 3, 3, 3)], 2 * 2 * 5 * 6 * 6 * 3 * 3 * 3),
    ("aclnnMm", [(4, 5), (5, 6), (4, 6)], 4 * 5 * 6),
])
def test_what_cube_cores_compute_follows_from_the_shapes(name: str, shapes: list[tuple[int, ...]],
                                                         products: int) -> None:
    assert work_of(name, shapes) == 2 * products


def test_what_ai_cores_have_no_arithmetic_for_goes_to_the_aicpu() -> None:
    assert costs.of("aclnnAdd", [("float64", (100,))] * 3)[:3] == ("aicpu", 1, 6)
    slow, fast = (costs.of("aclnnAdd", [(dtype, (1 << 20,))] * 3).seconds for dtype in ("float64", "float32"))
    assert slow > 50 * fast


def test_constants_state_their_sources_and_can_be_set() -> None:
    assert all(kind in ("documented", "model") and source for _, _, kind, source in CONSTANTS.values())
    assert len(costs.table().splitlines()) == len(CONSTANTS)
    costs.vector_cores = 40
    assert costs.of("aclnnAdd", [("float32", (1 << 24,))] * 3).cores == 40
    with pytest.raises(AttributeError, match="the model has no constant 'cores'"):
        costs.cores = 3
    with pytest.raises(ValueError, match="launch must be positive"):
        costs.launch = -1.0
    costs.reset()
    assert costs.vector_cores == 48 and vars(costs) == vars(Costs())


def test_streams_overlap_as_far_as_cores_are_free() -> None:
    """An operator waits for cores of its own kind, and for as many as it takes."""
    cores, side = simulator.devices.machine.devices[0].cores, torch.npu.Stream()
    small, matrix = torch.ones(8, device="npu"), torch.ones(8, 8, device="npu")
    torch.npu.synchronize()
    simulator.slow(1e-6)
    main = torch.npu.current_stream()
    with cores.taken(Cost("vector", 48, 48, 0.0)):
        waiting = small + 1
        with torch.npu.stream(side):
            product = matrix @ matrix
        side.synchronize()  # the cube cores are free
        assert not main.query()
    with cores.taken(Cost("vector", 47, 48, 0.0)):
        main.synchronize()  # one is enough for it
    assert waiting.tolist() == [2] * 8 and product[0, 0].item() == 8


def test_who_wants_all_cores_is_not_overtaken_for_ever() -> None:
    cores, order = Cores(), []
    all_of_them, one = Cost("vector", 48, 48, 0.0), Cost("vector", 1, 48, 0.0)
    started = threading.Event()

    def take(name: str, cost: Cost) -> None:
        started.set()
        with cores.taken(cost):
            order.append(name)

    with cores.taken(one):
        large = threading.Thread(target=take, args=("large", all_of_them))
        large.start()
        started.wait()
        while not cores._waiting["vector"]:
            time.sleep(0.001)
        small = threading.Thread(target=take, args=("small", one))
        small.start()
        while len(cores._waiting["vector"]) < 2:
            time.sleep(0.001)
        assert not order
    large.join()
    small.join()
    assert order == ["large", "small"]


def test_in_the_model_s_time_an_operator_takes_as_long_as_the_model_says() -> None:
    x = torch.ones(8, device="npu")
    torch.npu.synchronize()
    costs.scale = 4000.0  # 5 us become 20 ms
    begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    begin.record()
    y = x + 1
    end.record()
    end.synchronize()
    assert begin.elapsed_time(end) >= 19.9 and y.tolist() == [2] * 8


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float]]:
    """What is waited for, and how long, without waiting: by the host, and by streams."""
    found: list[tuple[str, float]] = []
    for module in (executors, acl_memory):
        monkeypatch.setattr(module, "sleep", lambda seconds: found.append(("host", seconds)))
    monkeypatch.setattr(streams.Stream, "delay", lambda self, seconds: seconds and found.append(("stream", seconds)))
    return found


def test_with_a_scale_planning_launching_computing_and_copying_take_the_model_s_time(
        slept: list[tuple[str, float]]) -> None:
    x = torch.ones(1 << 20, device="npu")
    host = torch.ones(1 << 20).pin_memory()
    y = torch.empty(1 << 20, device="npu")
    torch.npu.synchronize()
    costs.scale = 2.0
    cost = costs.of("aclnnAdds", [("float32", (1 << 20,))] * 2)
    x + 1
    torch.npu.synchronize()
    assert slept == [("host", 2 * costs.phase_one), ("stream", 2 * costs.launch), ("stream", 2 * cost.computing)]
    slept.clear()
    x.cpu()
    y.copy_(host, non_blocking=True)
    torch.npu.synchronize()
    moved = 2 * (costs.transfer_latency + (4 << 20) / costs.transfer_bandwidth)
    assert slept == [("host", pytest.approx(moved)), ("stream", pytest.approx(moved))]
    assert costs.copy(4 << 20, inside=True) == pytest.approx(costs.launch + (8 << 20) / costs.memory_bandwidth)


def test_without_a_scale_nothing_waits(slept: list[tuple[str, float]]) -> None:
    (torch.ones(8, device="npu") + 1).cpu()
    assert not slept


def test_workspaces_depend_on_strides_where_operands_are_made_contiguous() -> None:
    from mindtorch._backends.npu import aclnn, descriptors

    def workspace(name: str, *values: object) -> int:
        """What the first phase says, by an operator that is planned and not run."""
        import ctypes

        call, handles = aclnn.function(name), descriptors.Handles()
        args = [convert(value, handles) for convert, value in zip(call.converters, values, strict=True)]
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        assert call.plan(*args, ctypes.addressof(size), ctypes.addressof(executor)) == 0
        descriptors.functions["aclDestroyAclOpExecutor"](executor.value)
        descriptors.destroy(handles)
        return size.value

    a, out = torch.ones(16, 16, device="npu"), torch.empty(16, 16, device="npu")
    torch.npu.synchronize()
    assert workspace("aclnnAdd", a, a, 1, out) == 0
    assert workspace("aclnnAdd", a.t(), a, 1, out) == 1536  # 1024 bytes and the tail, in pieces of 512
    assert workspace("aclnnAdd", a.t(), a.t(), 1, out.t()) == 3 * 1536
    assert workspace("aclnnInplaceCopy", out, a.t()) == 0
    assert workspace("aclnnMm", a.t(), a, out, 0) == workspace("aclnnMm", a, a, out, 0)  # it knows transposed ones
    gaps = torch.ones(16, 32, device="npu")[:, ::2]
    assert workspace("aclnnMm", gaps, a, out, 0) == workspace("aclnnMm", a, a, out, 0) + 1536
