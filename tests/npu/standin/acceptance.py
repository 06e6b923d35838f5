"""What the backend has to get right on a device that refuses what CANN refuses: a function for each concern. ``main``
runs them all on the stand-in libraries and prints the names of those that fail, each with its error.
"""
from __future__ import annotations

import ctypes
import gc
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any

import mindtorch as torch

CHECKS: list[Callable[[], None]] = []


def check(function: Callable[[], None]) -> Callable[[], None]:
    CHECKS.append(function)
    return function


def same(found: Any, expected: Any) -> None:
    assert found == expected, f"{found} is not {expected}"


def acl() -> Any:
    from mindtorch._backends.npu import runtime

    return runtime.module()


def of(device: int = 0) -> Any:
    from mindtorch._backends.npu.runtime import get_runtime

    return get_runtime(device)


def raises(kind: type[BaseException], words: str, action: Callable[[], Any]) -> BaseException:
    try:
        action()
    except BaseException as error:
        assert type(error) is kind and words in str(error), f"{type(error).__name__}: {error}"
        return error
    raise AssertionError(f"nothing was raised where {words!r} was expected")


@check
def environment() -> None:
    """What CANN reads from the environment is there before it is loaded."""
    torch.ones(2, device="npu")
    assert os.path.isdir(os.environ.get("ASCEND_OPP_PATH", "")), "ASCEND_OPP_PATH is no folder"
    same(os.environ.get("ASCEND_HOME_PATH"), os.environ.get("ASCEND_TOOLKIT_HOME"))


@check
def views() -> None:
    """Operators read views through strides and offsets, and compute what the CPU computes."""
    host = torch.arange(24.).reshape(4, 6) - 10
    device = host.to("npu")
    programs = [lambda x: x + x, lambda x: x.t() + x.t() * 2, lambda x: x[1:3, ::2] * x[:2, 1::2], lambda x: x.relu(),
                lambda x: x[:, 3] * x[:, :1], lambda x: x.t()[2:].relu(), lambda x: x.sum(), lambda x: x[::2].sum(0),
                lambda x: x.t().sum(1, True), lambda x: x @ x.t(), lambda x: x[1:, 2:5].t() @ x[1:, :2],
                lambda x: x[0].expand(3, 6) + 1, lambda x: x + -3]
    for number, program in enumerate(programs):
        expected, found = program(host), program(device)
        same(found.stride(), expected.stride())
        same((number, found.cpu().tolist()), (number, expected.tolist()))
    device[1:3, ::2].fill_(7)
    host[1:3, ::2].fill_(7)
    same(device.cpu().tolist(), host.tolist())


@check
def halves() -> None:
    """float16 and bfloat16 have their own codes and sizes."""
    for dtype in (torch.float16, torch.bfloat16):
        host = (torch.arange(40.) / 8 - 2).to(dtype)
        device = host.to("npu")
        same((device + device * 0.5).tolist(), (host + host * 0.5).tolist())
        same((device[1::2] + 1).dtype, dtype)


@check
def tails() -> None:
    """Pieces of one segment do not lie in each other's tails, workspaces neither."""
    pieces = [torch.full((128,), float(i), device="npu") for i in range(4)]
    same((pieces[0] + pieces[1])[:2].tolist(), [1, 1])
    same((pieces[2] * pieces[3])[:2].tolist(), [6, 6])
    a = torch.ones(16, 16, device="npu")
    same((a @ a)[0, 0].item(), 16)


@check
def threads() -> None:
    """Each thread has the context of its device."""
    results: list[Any] = []

    def work() -> None:
        try:
            results.append((torch.ones(3, device="npu:0") + 1).tolist())
            results.append((torch.ones(3, device="npu:1") + 1).tolist())
        except BaseException as error:
            results.append(str(error))

    torch.ones(1, device="npu:1")
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    same(results, [[2, 2, 2]] * 2)


@check
def contexts() -> None:
    """The end of an event, or hearing of another device's stream, leaves the thread's context as it was."""
    event = torch.npu.Event()
    with torch.npu.device(1):
        torch.ones(2, device="npu:1")
        event.record()
    one = torch.ones(2, device="npu:0")
    from mindtorch._backends.npu.runtime import current_queue

    queue = current_queue(0)
    del event
    gc.collect()
    same(acl().rt.memcpy_async(one.data_ptr(), 4, one.data_ptr() + 4, 4, 3, queue.handle), 0)
    event = torch.npu.Event()
    with torch.npu.device(1):
        event.record()
    event.wait(torch.npu.current_stream(0))
    one + 1
    same(one.tolist(), [1, 1])
    same(acl().rt.memcpy_async(one.data_ptr(), 4, one.data_ptr() + 4, 4, 3, queue.handle), 0)
    torch.npu.synchronize()


@check
def streams() -> None:
    """A stream that waits for another one runs after it; a look at data waits; copies are in the stream's order."""
    side = torch.npu.Stream()
    a = torch.ones(4, device="npu")
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        b = a * 3
    torch.npu.current_stream().wait_stream(side)
    same((a + b).tolist(), [4] * 4)
    same(acl().queued(side.npu_stream), 0)


@check
def pools() -> None:
    """Memory that is freed goes to work of the same stream only, while what uses it is pending."""
    side = torch.npu.Stream()
    a = torch.arange(300.0, device="cpu").to("npu")
    b = a * 2
    address = b.data_ptr()
    total = b + 1
    del b
    with torch.npu.stream(side):
        other = torch.zeros(300, device="npu")
        assert other.data_ptr() != address, "another stream got memory that pending work uses"
        side.synchronize()
    same(total[:3].tolist(), [1, 3, 5])
    c = torch.ones(300, device="npu")
    with torch.npu.stream(side):
        side.wait_stream(torch.npu.default_stream())
        use = c + 1
    c.record_stream(side)
    address = c.data_ptr()
    del c
    assert torch.empty(300, device="npu").data_ptr() != address, "memory that was recorded on a stream is given away"
    side.synchronize()
    same(use[:2].tolist(), [2, 2])


@check
def pinned() -> None:
    """Page-locked memory lives until the copies that were put in before have run, whoever waits for whatever."""
    hosts = [torch.full((64,), float(i)).pin_memory() for i in range(3)]
    devices, events = [], []
    for i in range(3):
        devices.append(hosts[i].to("npu", non_blocking=True))
        events.append(torch.npu.current_stream().record_event())
    hosts.clear()
    gc.collect()
    events[0].synchronize()
    gc.collect()
    events[0].synchronize()
    gc.collect()
    same([device[:2].tolist() for device in devices], [[float(i)] * 2 for i in range(3)])


@check
def refusals() -> None:
    """A failing second phase is an error with the device's words, and leaves nothing."""
    from mindtorch._backends.npu import aclnn

    a = torch.ones(8, 8, device="npu")
    torch.npu.synchronize()
    aclnn.release()
    before = acl().counts()["handles"], torch.npu.memory_allocated()
    everything: Any = ctypes.CDLL(None)
    for action, name in ((lambda: a + a, "aclnnAdd"), (lambda: a @ a, "aclnnMm")):
        everything.standin_fail(0, 361001)
        error = raises(torch.npu.AclError, f"{name} failed on npu:0 with ACLNN_ERR_RUNTIME_ERROR (361001)", action)
        everything.standin_fail(0, 0)
        assert "running failed as asked" in str(error), error
        del error
        gc.collect()
        same((acl().counts()["handles"], torch.npu.memory_allocated()), before)
    same((a + a)[0, 0].item(), 2)


@check
def handles() -> None:
    """Handles are used again, for other memory, and destroyed exactly once."""
    from mindtorch._backends.npu import aclnn

    a = torch.ones(2, 2, device="npu")

    def run() -> int:
        first = a @ a + a
        second = a @ a + first  # in other memory than the first, which still lives
        same((first.tolist(), second.tolist()), ([[3.0, 3.0]] * 2, [[5.0, 5.0]] * 2))
        del first, second
        gc.collect()
        torch.npu.synchronize()
        return int(acl().counts()["handles"])

    same(run(), run())  # those that are kept serve the second time
    aclnn.release()
    same(acl().counts()["handles"], 0)


@check
def scribbles() -> None:
    """Descriptors say what they should, though first phases write into them."""
    source, base = torch.arange(6.0).reshape(3, 2), torch.zeros(4, 2)
    rows = torch.tensor([1, 3, 1])
    expected = base.scatter_add(0, rows[:, None].expand(-1, 2), source).tolist()
    source, base, rows = source.to("npu"), base.to("npu"), rows.to("npu")
    a = torch.arange(4.0).reshape(2, 2)
    product, a = (a @ a).tolist(), a.to("npu")
    for _ in range(3):
        same(base.scatter_add(0, rows[:, None].expand(-1, 2), source).tolist(), expected)
        same((a @ a).tolist(), product)
        same([(a + 1).sum().item(), (a[0, 0] + a[1, 1]).item(), (a[0] + a[1]).tolist()], [10, 3, [2, 4]])


@check
def chance() -> None:
    """A program that the CPU could run is not failed by an operator that is refused, whichever call that is."""
    def program(device: str) -> list[Any]:
        a = torch.arange(12.0).reshape(3, 4).to(device)
        weights = [(torch.arange(4.0) * i).reshape(2, 2).to(device).t() for i in range(4)]  # with strides: one by one
        results = []
        for step in range(4):
            torch._fused_sgd_(weights, [weight * 0.5 for weight in weights], [], weight_decay=0.0, momentum=0.0,
                              lr=0.5, dampening=0.0, nesterov=False, maximize=False, is_first_step=step == 0)
            torch._foreach_add_(weights, 1)
            b = (a + a * 2 - 3).relu() @ a.t()
            c = torch.zeros(4, 3, device=device)
            c[1:, ::2] = a.t()[1:, ::2]
            c.copy_(c + torch.ones(3, device=device))
            results += [b.tolist(), b.sum(0).tolist(), c.tolist(), c[::2].half().tolist(), c.nonzero().tolist(),
                        torch.equal(b, b), *[weight.tolist() for weight in weights]]
        return results

    expected = program("cpu")
    torch.ones(1, device="npu")  # so that the libraries are loaded
    everything: Any = ctypes.CDLL(None)
    refuse = everything.standin_refuse_each
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it runs on the CPU
        for seed in range(1, 9):
            refuse(seed)
            same(program("npu"), expected)
    refuse(0)


@check
def memory() -> None:
    """Only the codes that mean it are out of memory."""
    faults = acl().faults
    faults["malloc"] = [207001] * 4
    raises(torch.OutOfMemoryError, "NPU out of memory", lambda: torch.empty(3 << 20, device="npu"))
    faults["malloc"] = [207018] * 4
    raises(torch.OutOfMemoryError, "NPU out of memory", lambda: torch.empty(3 << 20, device="npu"))
    faults["malloc"] = [507899] * 4
    raises(torch.npu.AclError, "aclrtMalloc failed", lambda: torch.empty(3 << 20, device="npu"))
    faults.clear()
    assert len(torch.ones(20 << 20, dtype=torch.uint8, device="npu").shape) == 1


@check
def queries() -> None:
    """A query that fails is an error."""
    one, event = torch.ones(2, device="npu"), torch.npu.Event()
    one + 1
    event.record()
    acl().faults["query_event_status"] = [507899]
    raises(torch.npu.AclError, "aclrtQueryEventStatus failed", event.query)
    acl().faults["stream_query"] = [507899]
    raises(torch.npu.AclError, "aclrtStreamQuery failed", torch.npu.current_stream().query)
    acl().faults.clear()
    torch.npu.synchronize()


@check
def peers() -> None:
    """Two devices can copy from each other, both ways."""
    there = torch.arange(3.0).to("npu:0").to("npu:1")
    same((there + 1).to("npu:0").tolist(), [1, 2, 3])


@check
def index_add() -> None:
    """ACLNN's IndexAdd adds into self itself, which the operator must not change."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without a row it runs on the CPU
        x, index = torch.zeros(3, 2, device="npu"), torch.tensor([2, 0, 2]).to("npu")
        same(x.index_add(0, index, torch.ones(3, 2, device="npu")).tolist(), [[1, 1], [0, 0], [2, 2]])
        same(x.tolist(), [[0, 0]] * 3)


@check
def failures() -> None:
    """After a late failure all streams have stopped; what failed has no value; after a restart the device works."""
    a = torch.ones(4, device="npu")
    torch.npu.synchronize()
    everything: Any = ctypes.CDLL(None)
    everything.standin_fail_late(507015)
    bad = a * 2
    raises(torch.npu.AclError, "aclnnMul failed on stream", torch.npu.synchronize)
    raises(torch.npu.AclError, "aclnnMul failed on stream", lambda: a + 1)
    torch.npu.restart_device()
    same((a + 1).tolist(), [2] * 4)
    raises(torch.npu.AclError, "aclnnMul failed on stream", bad.tolist)


@check
def forked() -> None:
    """A forked child is told, and calls nothing."""
    one = torch.ones(2, device="npu")
    before = len(acl().calls)
    told, tell = os.pipe()
    if not (pid := os.fork()):
        text = ""
        for action in (lambda: one + 1, one.tolist, torch.npu.device_count, lambda: torch.ones(1, device="npu")):
            try:
                action()
                text += "nothing was said; "
            except RuntimeError as error:
                text += "" if "in forked subprocess" in str(error) else str(error)
        calls = len(__import__("acl").calls) - before
        os.write(tell, f"{text}{calls} calls".encode())
        os._exit(0)
    os.waitpid(pid, 0)
    same(os.read(told, 1000).decode(), "0 calls")
    os.close(told)
    os.close(tell)


@check
def finalizing() -> None:
    """At the end all is given back, also what comes after something that cannot be."""
    from mindtorch._backends.npu import finalize

    kept = [torch.ones(100, device="npu"), torch.ones(100, device="npu:1"), torch.ones(5 << 20, device="npu")]
    side = torch.npu.Stream()
    events = [torch.npu.current_stream().record_event() for _ in range(2)]
    gc.collect()
    stand_in = acl()
    del events[0]
    torch.npu.synchronize()
    same(stand_in.counts()["events"], 1)  # the one that is referred to, which goes with its device
    stand_in.faults["free"] = [507899]
    raises(torch.npu.AclError, "aclrtFree failed", finalize)
    kept.clear()
    found = stand_in.counts()
    same({name: found[name] for name in ("contexts", "streams", "events", "blocks")},
         {"contexts": 0, "streams": 0, "events": 0, "blocks": 1})  # the one that could not be freed
    assert side and events


def main(*names: str) -> list[str]:
    """The concerns that fail, of these or of all, with their errors."""
    found = []
    for function in CHECKS:
        if names and function.__name__ not in names:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # what the device refuses must not go to the CPU unnoticed
                function()
        except Exception as error:
            found.append(f"{function.__name__}: {type(error).__name__}: {str(error)[:200]}")
    return found


if __name__ == "__main__":
    print("\n".join(main()) or "ok", flush=True)
