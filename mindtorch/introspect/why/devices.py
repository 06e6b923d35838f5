"""Why values are not where they are needed: mixed devices, late errors of a device, memory; truth of many values."""
from __future__ import annotations

import ast
import re

from .explanation import (
    CLASH, GOOD, Bars, Cell, Diagnosis, Fields, Fix, Group, Groups, ShapeRow, Shapes, Step, Steps, whole,
)
from .failure import Failure


def mixed(failure: Failure, f: Fields) -> Diagnosis:
    devices = list(dict.fromkeys(t.device for t in f.tensors))
    groups = tuple(Group(device, tuple(f"{t} {t.size}" for t in f.tensors if t.device == device), CLASH, True)
                   for device in devices)
    first, other = f.x, next((t for t in f.tensors if t.device != f.x.device), f.tensors[-1])
    layer = failure.packet == "linear"
    if other.device == "cpu" and not layer:  # what is on the host goes where the rest is
        first, other = other, first
    fixes = [Fix("bring them together", f"{first}.to({other}.device)")]
    if layer:
        fixes.append(Fix("or move the model to its inputs", f"model.to('{first.device}')"))
    if "meta" in devices:
        where = next(device for device in devices if device != "meta")
        make = f"model.to_empty(device='{where}')" if layer else f"torch.empty(…, device='{where}')"
        fixes = [Fix("meta tensors have no values: make them where the others are, and fill them", make),
                 Fix("or have all on meta, to learn shapes only", f"{other}.to('meta')")]
    return Diagnosis(
        f"{failure.packet if failure.calls else 'An operator'} was given tensors on {' and '.join(devices)}",
        "An operator runs on one device and reads its operands there; nothing is moved by itself. (Only a number, or "
        "a CPU tensor without dimensions, may be used anywhere.)", tuple(fixes), (Groups(groups),))


def absent(failure: Failure, f: Fields) -> Diagnosis:
    """Explain a device that is not there."""
    own = failure.library == "mindtorch"
    kind, what = ("npu", "an Ascend NPU, or its simulator") if own else ("cuda", "a GPU, where there is one")
    choice = f"device = '{kind}' if torch.{kind}.is_available() else 'cpu'"
    there = [("cpu", "the host's memory"), *[("npu:0", "Ascend, or the simulator")] * own, ("meta", "shapes only")]
    groups = tuple(Group(device, (said,), "", True) for device, said in there)
    return Diagnosis(
        f"there is no device {f.asked}",
        f"{failure.library} knows the devices below. {failure.message}.".replace("..", ".") if own else
        f"This PyTorch, on this machine, does not have it. {failure.message}.".replace("..", "."),
        (Fix(what, "device='npu'" if own else choice), Fix("the host", "device='cpu'")),
        (Groups(groups, f"so that a program runs on either: {choice}"),), ())


def truth(failure: Failure, f: Fields) -> Diagnosis:
    empty = 0 in f.x.shape
    fixes: tuple[Fix, ...] = (Fix("ask whether there are any", f"{f.x}.numel() > 0"),) if empty else (
        Fix("if one True is enough", f"{f.x}.any()"), Fix("if all must be", f"{f.x}.all()"),
        Fix("to choose element by element", "torch.where(condition, …, …)"),
        Fix("to combine conditions, use & and | with parentheses, not and/or", "(a > 0) & (b > …)"))
    node = failure.wrote.node
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        each, many = failure.wrote.text(node.left), failure.wrote.text(node.comparators[0])
        fixes = (Fix("in compares with ==, element by element; to ask for the same "
                     "tensor", f"any({each} is t "
                                                                                            f"for t in {many})"),
                 Fix("or for one of equal values", f"any(torch.equal({each}, t) for t in {many})"))
    return Diagnosis(
        f"{f.x} {f.x.size} has {'no value' if empty else 'many values'}: it is neither true nor false",
        "if, while, and, or, not, in and bool() need one truth value." + (
            "" if empty else " A comparison of tensors gives one for each element."), fixes,
        (Shapes((whole(f.x.label, f.x.shape, f.x.dtype), ShapeRow("needed", (Cell("1"),), "one element"))),))


def late(failure: Failure, f: Fields) -> Diagnosis:
    """Explain a stream's error, which the host learns of when it waits for the stream."""
    # what the device says is CANN's text, in which the operator and the stream are named
    found = re.match(r"(aclnn\w+|aclrt\w+) failed on stream (\d+) of device \d+: (.*)", f.said)
    operator, stream, reason = found.groups() if found else ("an operator", "?", f.said or f.code)
    call = failure.call()
    steps = (Step("the host", "queues operators and goes on", GOOD),
             Step(operator, f"fails on stream {stream}: {reason}", CLASH),
             Step(call.text if call else "this line", "waits for the stream, and learns of it"))
    restart = (Fix("give the device new streams, since all of them stopped at that failure; what had been computed "
                   "before stays", f"torch.npu.restart_device({f.device!r})"),) if f.stopped else ()
    return Diagnosis(
        f"{operator} failed on {f.device}; the host learnt of it here, where it waited",
        f"Operators on an NPU are queued and run later, so an error shows where the host next waits: when values are "
        f"read, copied or printed. The device says: {reason}. What it computed since is not to be relied on.",
        (*restart,
         Fix("have the host wait after every operator, so that the error comes at its line: set this before the kernel "
             "starts", "ACL_LAUNCH_BLOCKING=1"),
         Fix("or wait yourself after lines in question", "torch.npu.synchronize()"),
         Fix("or run it on the CPU, where errors come at once", "x.cpu()")), (Steps(steps),))


def out_of_memory(failure: Failure, f: Fields) -> Diagnosis:
    host, parts = f.host, (("total", "total"), ("free", "free on the device"), ("allocated", "in use by tensors"),
                           ("kept", "kept by the allocator, not in use"))
    bars = [("asked for", f.asked, CLASH)]
    bars += [(label, failure.facts[name], "") for name, label in parts if failure.facts.get(name) is not None]
    beyond = not host and f.total is not None and f.asked > f.total
    fixes = [Fix("use smaller batches, or a smaller dtype", "torch.float16"),
             Fix("evaluate without keeping tensors for backward", "with torch.no_grad(): …")]
    if host or beyond:
        fixes.insert(0, Fix("look at the shape: a product of large sizes, or a broadcast, that was not meant"))
    else:
        fixes[:0] = [Fix("give up tensors that are not needed: losses kept with their graphs, outputs in lists",
                         "del x"), Fix("give cached blocks back", "torch.npu.empty_cache()")]
    return Diagnosis(
        "the host does not have that much memory" if host else "this is more than the whole device has" if beyond
        else "the device's memory is full",
        "A tensor needs its elements times their size in one block." + (
            "" if host or beyond else " The allocator had no free block that large, gave back all that it kept, asked "
            "again, and the device had none."), tuple(fixes), (Bars(tuple(bars)),))
