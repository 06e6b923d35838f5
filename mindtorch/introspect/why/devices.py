"""Why values are not where they are needed: mixed devices, tensors without data, and what leaves a tensor."""
from __future__ import annotations

import re

from .facts import CLASH, GONE, GOOD, Bars, Cell, Cure, Finding, Group, Groups, ShapeRow, Shapes, Step, Steps
from .scene import Scene
from .shapes import cells, text


def mixed(scene: Scene, match: re.Match[str]) -> Finding:
    call = scene.outermost
    involved = scene.of_call(call)
    devices = list(dict.fromkeys(t.device for t in involved))
    members = [tuple(f"{t.label} {text(t.shape)}" for t in involved if t.device == device) for device in devices]
    groups = tuple(Group(device, named, CLASH, True) for device, named in zip(devices, members, strict=True))
    first, other = involved[0], next((t for t in involved if t.device != involved[0].device), involved[-1])
    layer = call is not None and call.op.packet == "linear"
    if other.device == "cpu" and not layer:  # what is on the host goes where the rest is
        first, other = other, first
    cures = [Cure("bring them together", f"{first.label}.to({other.label}.device)")]
    if layer:
        cures.append(Cure("or move the model to its inputs", f"model.to('{first.device}')"))
    if "meta" in devices:
        where = next(device for device in devices if device != "meta")
        make = f"model.to_empty(device='{where}')" if layer else f"torch.empty(…, device='{where}')"
        cures = [Cure("meta tensors have no values: make them where the others are, and fill them", make),
                 Cure("or have all on meta, to learn shapes only", f"{other.label}.to('meta')")]  # fmt: skip
    packet = call.op.packet if call else "An operator"
    return Finding(
        f"{packet} was given tensors on {' and '.join(devices)}",
        "An operator runs on one device and reads its operands there; nothing is moved by itself. (Only a number, or "
        "a CPU tensor without dimensions, may be used anywhere.)",
        tuple(cures),
        (Groups(groups),),
    )


def no_data(scene: Scene, match: re.Match[str]) -> Finding:
    involved = scene.of_innermost()
    tensor = next((t for t in involved if t.device == "meta"), None)
    label, shape = (tensor.label, text(tensor.shape)) if tensor else ("the tensor", "")
    return Finding(
        f"{label} is on the meta device: it has a shape, and no values",
        "Meta tensors let operators work out shapes, strides and dtypes without computing. There is nothing to read, "
        "and nothing to copy.",
        (Cure("make new, uninitialised memory of that shape elsewhere", f"torch.empty_like({label}, device='cpu')"),
         Cure("of a module, and initialise or load it then", "model.to_empty(device='cpu')"),
         Cure("or look at what there is", f"{label}.shape, {label}.dtype")),
        (Groups((Group("meta", (f"{label}: shape {shape}", "values: none"), GONE, True),)),),
    )  # fmt: skip


def no_device(scene: Scene, match: re.Match[str]) -> Finding:
    asked = match["asked"] or match["ordinal"]
    cures = [Cure("an Ascend NPU, or its simulator", "device='npu'"), Cure("the host", "device='cpu'")]
    groups = tuple(Group(name, (said,), "", True) for name, said in
                   (("cpu", "the host's memory"), ("npu:0", "Ascend, or the simulator"),
                    ("meta", "shapes only")))  # fmt: skip
    note = "so that a program runs on either: device = 'npu' if torch.npu.is_available() else 'cpu'"
    return Finding(f"there is no device {asked}", f"mindtorch knows the devices below. {scene.message}.".replace(
        "..", "."), tuple(cures), (Groups(groups, note),), ())


def numpy(scene: Scene, match: re.Match[str]) -> Finding:
    tensor = scene.of_innermost()[0]
    steps = (Step(tensor.label, f"requires grad{', ' + tensor.node if tensor.node else ', a leaf'}"),
             Step("NumPy", "knows no gradients: the graph would end here unseen", CLASH))  # fmt: skip
    return Finding(
        f"{tensor.label} requires grad, and NumPy cannot follow its history",
        "An array would share the tensor's memory, and what NumPy does with it would be missing from the graph. So the "
        "program must say that the history ends here.",
        (Cure("leave the graph, sharing the memory", f"{tensor.label}.detach().numpy()"),
         Cure("for values only, from any device", f"{tensor.label}.numpy(force=True)"),
         Cure("or compute without a graph from the start", "with torch.no_grad(): …")),
        (Steps(steps),),
    )  # fmt: skip


def off_host(scene: Scene, match: re.Match[str]) -> Finding:
    tensor = scene.of_innermost()[0]
    groups = (
        Group(tensor.device, (f"{tensor.label} {text(tensor.shape)}",), "", True),
        Group("cpu", ("NumPy",), CLASH, True),
    )
    return Finding(
        f"{tensor.label} is on {tensor.device}, and NumPy sees the host's memory only",
        "numpy() shares memory with the tensor, which is on the device. A copy must be asked for.",
        (Cure("copy it to the host", f"{tensor.label}.cpu().numpy()"),
         Cure("from any device, and whether or not it requires grad", f"{tensor.label}.numpy(force=True)")),
        (Groups(groups),),
    )  # fmt: skip


def truth(scene: Scene, match: re.Match[str]) -> Finding:
    tensor = scene.of_innermost()[0]
    empty = "no values" in match[0]
    cures = (Cure("ask whether there are any", f"{tensor.label}.numel() > 0"),) if empty else (
        Cure("if one True is enough", f"{tensor.label}.any()"), Cure("if all must be", f"{tensor.label}.all()"),
        Cure("to choose element by element", "torch.where(condition, a, b)"),
        Cure("to combine conditions, use & and | with parentheses, not and/or", "(a > 0) & (b > 0)"))  # fmt: skip
    count = "no value" if empty else "many values"
    return Finding(
        f"{tensor.label} {text(tensor.shape)} has {count}: it is neither true nor false",
        "if, while, and, or, not, in and bool() need one truth value." + (
            "" if empty else " A comparison of tensors gives one for each element."),
        cures,
        (Shapes((ShapeRow(tensor.label, cells(tensor.shape, range(len(tensor.shape))), tensor.dtype),
                 ShapeRow("needed", (Cell("1"),), "one element"))),),
    )  # fmt: skip


def one_number(scene: Scene, match: re.Match[str]) -> Finding:
    tensor = scene.of_innermost()[0]
    return Finding(
        f"{tensor.label} {text(tensor.shape)} is more than one number",
        "item(), float(), int() and the like take a tensor of exactly one element.",
        (Cure("all its values as lists", f"{tensor.label}.tolist()"), Cure("one of them", f"{tensor.label}[0].item()"),
         Cure("or reduce first", f"{tensor.label}.mean().item()")),
        (Shapes((ShapeRow(tensor.label, cells(tensor.shape, range(len(tensor.shape)))),
                 ShapeRow("needed", (Cell("1"),), "one element"))),),
    )  # fmt: skip


def late(scene: Scene, match: re.Match[str]) -> Finding:
    """An error of an operator on a stream, which the host learns of when it waits for the stream."""
    device, reason = match["device"], match["reason"] or match["code"]
    found = re.match(r"(aclnn\w+|aclrt\w+) failed on stream (\d+) of device \d+: (.*)", reason)
    operator, stream, reason = found.groups() if found else ("an operator", "?", reason)
    call = scene.call()
    waits = call.text if call else "this line"
    steps = (Step("the host", "queues operators and goes on", GOOD), Step(operator, f"fails on stream {stream}: {reason}", CLASH),
             Step(waits, "waits for the stream, and learns of it"))  # fmt: skip
    return Finding(
        f"{operator} failed on {device}; the host learnt of it here, where it waited",
        f"Operators on an NPU are queued and run later, so an error shows where the host next waits: when values are "
        f"read, copied or printed. The device says: {reason}. What it computed since is not to be relied on.",
        (Cure("have the host wait after every operator, so that the error comes at its line: set this before the kernel "
              "starts", "ACL_LAUNCH_BLOCKING=1"),
         Cure("or wait yourself after lines in question", "torch.npu.synchronize()"),
         Cure("or run it on the CPU, where errors come at once", "x.cpu()")),
        (Steps(steps),),
    )  # fmt: skip


# -- memory --------------------------------------------------------------------------------------------------------

UNITS = {"bytes": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
AMOUNT = r"([\d.,]+) (bytes|B|KiB|MiB|GiB|TiB)"


def amount(found: tuple[str, str]) -> int:
    return round(float(found[0].replace(",", "")) * UNITS[found[1]])


def out_of_memory(scene: Scene, match: re.Match[str]) -> Finding:
    message = scene.message
    asked = re.search(rf"allocate {AMOUNT}", message)
    parts = (("total", rf"total capacity of {AMOUNT}"), ("free on the device", rf"of which {AMOUNT} is free"),
             ("in use by tensors", rf"memory {AMOUNT} is allocated"),
             ("kept by the allocator, not in use", rf"and {AMOUNT} is reserved"))  # fmt: skip
    bars = [("asked for", amount(asked.groups()), CLASH)] if asked else []  # type: ignore[arg-type]
    bars += [(name, amount(found.groups()), "") for name, pattern in parts  # type: ignore[arg-type]
             if (found := re.search(pattern, message))]  # fmt: skip
    host = "DefaultCPUAllocator" in message or isinstance(scene.error, MemoryError)
    involved = scene.of_call(scene.outermost)
    sizes = {label: size for label, size, _ in bars}
    beyond = not host and sizes.get("asked for", 0) > sizes.get("total", float("inf"))
    cures = [] if host or beyond else [
        Cure("let go of tensors that are not needed: losses kept with their graphs, outputs in lists", "del x"),
        Cure("give cached blocks back", "torch.npu.empty_cache()"),
    ]
    cures += [Cure("use smaller batches, or a smaller dtype", "torch.float16"),
              Cure("evaluate without keeping tensors for backward", "with torch.no_grad(): …")]  # fmt: skip
    if host or beyond:
        cures.insert(0, Cure("look at the shape: a product of large sizes, or a broadcast, that was not meant"))
    return Finding(
        "the host has not that much memory" if host else "this is more than the whole device has" if beyond
        else "the device's memory is full",
        "A tensor needs its elements times their size in one block." + (
            "" if host or beyond else " The allocator had no free block that large, gave back all that it kept, asked again, "
            "and the device had none."),
        tuple(cures),
        (Bars(tuple(bars)),) if bars else (),
        involved,
    )  # fmt: skip
