"""Dispatch keys: the facts about a call's arguments and its thread that decide which function runs.

Every tensor carries its keys as the bits of an int. The key set of a call is an ``|`` of these ints, and an operator's
table maps it to the function to call.
"""
from __future__ import annotations

from collections.abc import Iterator
from enum import IntFlag


class DispatchKey(IntFlag):
    """One key. The backends come first, then their wrappers; later bits are further outside."""

    CPU = 1
    Meta = 2
    NPU = 4
    Autograd = 8  #: some input requires grad
    NonContiguous = 16  #: some input is not contiguous: no fast path
    Inference = 32  #: some input was made in inference mode
    Pipeline = 64  #: some input is pending in a pipeline
    ThreadState = 128  #: some thread's state (grad mode, pipeline, hooks) is not the default: check it
    Observed = 256  #: an observer is subscribed
    Uninitialized = 512  #: some input is an uninitialized parameter of a lazy module
    Dual = 1024  #: some input has a tangent: forward-mode differentiation
    Batched = 2048  #: some input is batched by ``vmap``
    Python = 4096  #: some input's class has a ``__torch_dispatch__``, or the thread has a ``TorchDispatchMode``
    TorchFunction = 8192  #: some input's class has a ``__torch_function__``, or some thread a ``TorchFunctionMode``
    Added = 16384  #: some thread has added its own keys before Autograd: check the thread
    Conjugate = 32768  #: some input's elements are the conjugates of its memory's
    Negative = 65536  #: some input's elements are the negatives of its memory's
    OneByOne = 131072  #: every operator of PyTorch runs by itself: no function computes several at once
    Sparse = 262144  #: some input has its values beside their coordinates: the layout `sparse_coo`
    SparseCsr = 524288  #: some input has compressed rows or columns: the layouts `sparse_csr` to `sparse_bsc`


CPU, META, NPU = int(DispatchKey.CPU), int(DispatchKey.Meta), int(DispatchKey.NPU)
AUTOGRAD, NONCONTIGUOUS = int(DispatchKey.Autograd), int(DispatchKey.NonContiguous)
INFERENCE = int(DispatchKey.Inference)
UNINITIALIZED = int(DispatchKey.Uninitialized)
PIPELINE, THREAD_STATE, OBSERVED = int(DispatchKey.Pipeline), int(DispatchKey.ThreadState), int(DispatchKey.Observed)
DUAL, BATCHED = int(DispatchKey.Dual), int(DispatchKey.Batched)
PYTHON, FUNCTION = int(DispatchKey.Python), int(DispatchKey.TorchFunction)
ADDED = int(DispatchKey.Added)
ONE_BY_ONE = int(DispatchKey.OneByOne)
CONJUGATE, NEGATIVE = int(DispatchKey.Conjugate), int(DispatchKey.Negative)
MATH_BITS = CONJUGATE | NEGATIVE
SPARSE, SPARSE_CSR = int(DispatchKey.Sparse), int(DispatchKey.SparseCsr)
SPARSES = SPARSE | SPARSE_CSR
#: The mode's keys that change which function runs. An observer does not: it is notified of the unobserved run.
REDIRECTING = ~OBSERVED
#: Keys that an alias outside the graph does not take over from its tensor.
DERIVED = AUTOGRAD | DUAL | FUNCTION
BACKENDS = CPU | META | NPU
BACKEND_OF_DEVICE = {"cpu": CPU, "meta": META, "npu": NPU}
BACKEND_NAMES = {CPU: "CPU", META: "Meta", NPU: "NPU", SPARSE: "Sparse", SPARSE_CSR: "SparseCsr"}


def kernels_key(keys: int) -> int:
    """Return the key by which an operator's kernel is found: a sparse layout's if there is one, else the device's."""
    return keys & SPARSE_CSR or keys & SPARSE or keys & BACKENDS & -(keys & BACKENDS) or CPU


class DispatchKeySet:
    """A readable set of dispatch keys, in the order in which the dispatcher handles them."""

    ORDER = (DispatchKey.Batched, DispatchKey.Dual, DispatchKey.Added, DispatchKey.Pipeline, DispatchKey.Inference,
             DispatchKey.Autograd, DispatchKey.Negative, DispatchKey.Conjugate, DispatchKey.Python,
             DispatchKey.SparseCsr, DispatchKey.Sparse, DispatchKey.Meta, DispatchKey.NPU, DispatchKey.CPU)

    def __init__(self, bits: int):
        self.bits = bits

    def __iter__(self) -> Iterator[DispatchKey]:
        return (key for key in self.ORDER if self.bits & key)

    def __contains__(self, key: DispatchKey) -> bool:
        return bool(self.bits & key)

    def highest(self) -> DispatchKey | None:
        """Return the key whose kernel runs first, or None."""
        return next(iter(self), None)

    def names(self) -> list[tuple[str, DispatchKey]]:
        """Return each key with its name. A sparse layout's comes with its device's, as in PyTorch: ``SparseCPU``."""
        if not self.bits & SPARSES:
            return [(str(key.name), key) for key in self]
        device = BACKEND_NAMES.get(self.bits & BACKENDS, "")
        return [(f"{key.name}{device}" if key & SPARSES else str(key.name), key) for key in self if not key & BACKENDS]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(name for name, _ in self.names())})"
