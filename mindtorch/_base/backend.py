"""The interface of a kind of device: one ``Backend`` each, in one table.

It corresponds to c10's ``DeviceGuardImplInterface``, the allocators and ``PrivateUse1HooksInterface`` in PyTorch. The
packages in ``_backends`` subclass it and register themselves; everything else finds a device by its name in
``backends``.
"""
from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # the build imports this without NumPy
    import numpy as np

    from .._device import device
    from .._dispatch.registry import Kernel, Operator
    from .._tensor import Tensor


#: Attention kernels by PyTorch's numbers (``nn.attention.SDPBackend``): in operators, blocked, the device's.
MATH, FLASH, OVERRIDEABLE = 0, 1, 4


class AttentionKernels:
    """The attention kernels that may be chosen, in all threads. With ``FLASH`` a device's own may be, too."""

    __slots__ = ("enabled",)

    def __init__(self) -> None:
        self.enabled = {MATH, FLASH}


attention_kernels = AttentionKernels()  #: ``nn.attention.sdpa_kernel`` changes it


class DeviceMemory(Protocol):
    """Device memory of a storage; it is freed when nothing refers to it."""

    address: int

    def grown(self, nbytes: int) -> DeviceMemory:
        """Return new memory of ``nbytes`` bytes: as many of these bytes as fit, then zeros."""

    def copy_from(self, source: DeviceMemory | np.ndarray, nbytes: int) -> None:
        """Copy ``nbytes`` bytes of other memory, or of the host's, to the start of this."""

    def read(self, nbytes: int) -> np.ndarray:
        """Return the first ``nbytes`` bytes as a host array, after pending work."""


class Backend:
    """A kind of device. Features that it lacks (memory, several devices, streams) keep the defaults below."""

    name: str  #: the device type, as in ``torch.device(name)``
    key: int  #: the dispatch key of its tensors

    def kernel(self, op: Operator) -> Kernel | None:
        """Return the device's own kernel of an operator; None if it has none."""

    def fallback(self, op: Operator) -> Kernel | None:
        """Return a kernel for an operator that has none on any device; None if there is no fallback."""

    def allocate(self, nbytes: int, where: device) -> DeviceMemory | np.ndarray | None:
        """Allocate uninitialised memory for a storage: device memory, a host byte array, or None for no memory."""

    def read(self, tensor: Tensor, operation: str) -> np.ndarray:
        """Return the values of a tensor without a host array as a fresh one, for ``operation``, after pending work."""
        raise NotImplementedError(f"{operation}: no kernel reads from the device {tensor.device}")

    def write(self, target: Tensor, source: Tensor, non_blocking: bool) -> None:
        """Write the values of a tensor on any device, broadcast and converted, into a tensor of this one."""
        raise NotImplementedError(f"copy_: no kernel writes to the device {target.device}")

    def pin_memory(self, tensor: Tensor) -> Tensor:
        """Copy a CPU tensor to page-locked host memory, from which this device copies by itself."""
        raise NotImplementedError(f"pin_memory: {self.name} devices do not copy from page-locked memory")

    def current_index(self) -> int | None:
        """Return the index of the current device of this kind; None if there is only one."""

    def selected(self, where: device) -> AbstractContextManager[Any]:
        """Return a block in which operators without a tensor argument run on this device of the kind."""
        return nullcontext()

    def accelerates(self) -> bool:
        """Return True if programs that ask for any accelerator get this device."""
        return False

    def attention_kernel(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> int:
        """Return the attention kernel for inputs that suit blocked kernels (ATen's ``_fused_sdp_choice_stub``)."""
        return MATH

    def stream_type(self) -> type[Any] | None:
        """Return the class of the device's streams; None if operators run synchronously."""

    def event_type(self) -> type[Any] | None:
        """Return the class of the device's events; None if there are no streams."""

    def stream_name(self) -> str | None:
        """Return a name of the calling thread's current stream; None if there are no streams."""


#: The backends by device type, and by dispatch key.
backends: dict[str, Backend] = {}
by_key: dict[int, Backend] = {}


def register(backend: Backend) -> None:
    """Register a backend, replacing any other of the same name."""
    backends[backend.name] = by_key[backend.key] = backend
