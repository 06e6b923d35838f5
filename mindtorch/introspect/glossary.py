"""The same thing under three names: what CANN, CUDA and PyTorch call it. mindtorch's names are PyTorch's."""
from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """One thing: its names on an Ascend NPU, on a GPU by CUDA and in PyTorch, '–' where it has none, and what it is."""

    cann: str
    cuda: str
    torch: str
    meaning: str


TABLE = """
NPU, device | GPU, device | torch.device("npu:0"), ("cuda:0") |
    What computes: it has memory of its own, and works while the host goes on.
host | host | device "cpu" |
    The processor that runs Python, and puts work into streams.
context (aclrtContext) | primary context (CUcontext) | made at the first use of a device |
    What a process has on a device: its memory, its streams, its loaded code.
stream (aclrtStream) | stream (cudaStream_t) | torch.npu.Stream, torch.cuda.Stream |
    A queue: what is put into it runs in order, beside other streams.
default stream | default stream 0, the legacy stream | torch.npu.default_stream(), torch.cuda.default_stream() |
    The stream that is current as long as nobody chooses another one.
event (aclrtEvent) | event (cudaEvent_t) | torch.npu.Event, torch.cuda.Event |
    A mark in a stream, to wait for, to ask for, or to measure the time between two.
aclrtStreamWaitEvent | cudaStreamWaitEvent | Stream.wait_event, wait_stream |
    One stream goes on when another one has come to a mark; the host does not wait.
aclrtSynchronizeStream | cudaStreamSynchronize | Stream.synchronize() |
    The host waits until a stream has run all that it was given.
aclrtSynchronizeDevice | cudaDeviceSynchronize | torch.npu.synchronize(), torch.cuda.synchronize() |
    The host waits for all streams of a device.
operator (aclnnAdd), kernel on AI Cores | kernel (<<<grid, block>>>) | ATen operator (aten::add) |
    What computes a result from tensors; the call returns before it has run.
two phases: GetWorkspaceSize, then run | algorithm search, workspace (cuBLAS, cuDNN) | inside the operator |
    An operator is planned, says how much scratch memory it needs, and is then put into the stream.
warm-up: operator binaries are loaded, tasks compiled (first call) | warm-up: modules are loaded lazily, cuDNN tries
  algorithms (first call) | warm-up runs, torch.utils.benchmark |
    The first call of an operator pays for what is done once: time a later one. %%dispatch marks first calls with ¹.
workspace | workspace | a block in use that no tensor holds |
    Scratch memory of one operator while it runs.
device memory (aclrtMalloc) | device memory (cudaMalloc) | untyped_storage() |
    Memory that the device reads and writes, and the host only by copies.
pinned host memory (aclrtMallocHost) | page-locked memory (cudaMallocHost) | pin_memory() |
    Host memory that the device can copy by itself, while the host does something else.
aclrtMemcpyAsync | cudaMemcpyAsync | copy_(..., non_blocking=True) |
    A copy that is put into a stream; from memory that is not pinned, the host waits all the same.
caching allocator of torch.npu | CUDACachingAllocator | memory_allocated, memory_reserved |
    Keeps memory that tensors gave back, since asking the device for memory is slow.
segment | segment (cudaMalloc block of 2 MiB, 20 MiB, ...) | memory_snapshot() |
    A piece that the allocator took from the device, and cuts into blocks.
deferred free | block waiting for events of other streams | Tensor.record_stream |
    Memory that the program gave back while work that is queued still uses it.
out of memory: 207001 | cudaErrorMemoryAllocation (2) | torch.OutOfMemoryError |
    Neither the allocator nor the device has a piece that is large enough.
asynchronous error | sticky error: "kernel errors might be asynchronously reported" | RuntimeError at a later line |
    An operator failed in its stream; the host hears of it when it next waits, at a line that is not to blame.
ASCEND_LAUNCH_BLOCKING=1, ACL_LAUNCH_BLOCKING=1 | CUDA_LAUNCH_BLOCKING=1 | the same variables |
    The host waits for every operator, so that an error arises at the line that caused it.
sanitizer of the simulator, msSanitizer | compute-sanitizer | torch.cuda._sanitizer |
    Finds races between streams, use after free, access beyond the end.
HCCL | NCCL | torch.distributed backend "hccl", "nccl" |
    Collective operations between devices.
msprof | Nsight Systems, CUPTI | torch.profiler |
    Notes when the host and each stream did what; timelines are drawn from it.
"""
ENTRIES = re.split(r"\n(?! )", TABLE.strip())
GLOSSARY = tuple(Term(*(re.sub(r"\s+", " ", part).strip() for part in entry.split("|"))) for entry in ENTRIES)
