"""Lesson 13: what are the two C calls behind `a + b`?"""
from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import partial
from typing import Any

from ..tasks import Lab, described, lesson
from . import torch

REFUSED = 161002  #: CANN's code for a parameter that is not valid


class Acl:
    """CANN's functions that call an operator, with a log; ``plan`` and ``run`` return CANN's code first, 0 if well."""

    def __init__(self) -> None:
        from ..._backends.npu import aclnn, bindings, constants

        self._aclnn, self._bindings, self._constants = aclnn, bindings, constants
        self.live: dict[int, str] = {}  #: the handles that were made and not destroyed, with their kinds
        #: Executors that were not run yet, with the bytes of workspace that they need, and their descriptors.
        self.planned: dict[int, tuple[int, tuple[int, ...]]] = {}
        self.wrong: list[str] = []  #: mistakes in the calls
        self._workspaces: dict[int, Any] = {}

    def create_tensor(self, tensor: Any) -> int:
        """Make a descriptor of a tensor on the device: shape, strides, offset, dtype, and where its memory begins."""
        storage = tensor.untyped_storage()
        sizes, strides, room = map(_int64s, (tensor.shape, tensor.stride(),
                                             [storage.nbytes() // tensor.element_size()]))
        handle = self._aclnn.functions["aclCreateTensor"](
            ctypes.addressof(sizes), tensor.dim(), self._constants.DATA_TYPES[tensor.dtype.name],
            ctypes.addressof(strides), tensor.storage_offset(), self._constants.ACL_FORMAT_ND, ctypes.addressof(room),
            1, storage.data_ptr())
        self.live[handle] = "tensor"
        return handle

    def create_scalar(self, number: float) -> int:
        """Make a descriptor of a number."""
        value = ctypes.c_float(number)
        handle = self._aclnn.functions["aclCreateScalar"](ctypes.addressof(value),
                                                          self._constants.DATA_TYPES["float32"])
        self.live[handle] = "scalar"
        return handle

    def destroy(self, handle: int) -> None:
        """Destroy a descriptor, exactly once."""
        kind = self.live.pop(handle, None)
        if kind is None:
            self.wrong.append("a handle is destroyed that is not a descriptor, or no longer one")
        else:
            self._aclnn.functions["aclDestroyTensor" if kind == "tensor" else "aclDestroyScalar"](handle)

    def plan(self, name: str, *handles: int) -> tuple[int, int, int]:
        """Call ``<name>GetWorkspaceSize``; return its code, the workspace's bytes and the executor."""
        if not all(isinstance(handle, int) for handle in handles):
            self.wrong.append("an operator is planned with a value that is not a descriptor's handle")
            return REFUSED, 0, 0
        if any(handle not in self.live for handle in handles):
            self.wrong.append("an operator is planned with a descriptor that does not exist, or no longer")
            return REFUSED, 0, 0
        missing = len(self._bindings.binding(name).parameters) - len(handles)
        if missing and name != "aclnnMatmul":
            self.wrong.append("an operator is planned with the wrong number of operands")
            return REFUSED, 0, 0
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        code = self._aclnn.function(name).plan(*handles, *[0] * missing, ctypes.addressof(size),
                                               ctypes.addressof(executor))
        if code == 0:
            self.planned[executor.value or 0] = size.value, handles
        return code, size.value, executor.value or 0

    def workspace(self, size: int) -> int:
        """Return the address of ``size`` bytes of scratch memory on the device."""
        if not size:
            self.wrong.append("scratch memory is requested although none is needed")
        memory = torch.empty(size, dtype=torch.uint8, device="npu")
        self._workspaces[memory.data_ptr()] = memory
        return memory.data_ptr()

    def run(self, name: str, workspace: int | None, size: int, executor: int, stream: int) -> int:
        """Call phase two, which puts the planned operator into a stream, and return its code."""
        if executor not in self.planned:
            self.wrong.append("an operator is run that was not planned, or is run a second time")
            return REFUSED
        need, handles = self.planned[executor]
        if need != size or (size and workspace not in self._workspaces):
            self.wrong.append("an operator is run without the workspace that it needs")
            return REFUSED
        del self.planned[executor]
        if any(handle not in self.live for handle in handles):
            self.wrong.append("an operator is run whose descriptors no longer exist")
            return REFUSED
        if not stream:
            self.wrong.append("an operator is run without its stream")
            return REFUSED
        return self._aclnn.function(name).run(workspace, size, executor, stream)


def _int64s(values: Sequence[int]) -> Any:
    return (ctypes.c_int64 * len(values))(*values)


def current_stream() -> int:
    """Return the handle of the current stream."""
    from ..._backends.npu import runtime

    return runtime.current_queue(0).handle


PROGRAMS = ("aclnnRelu", "aclnnAdd with alpha 2", "aclnnAdd of views", "aclnnMatmul, which wants a workspace",
            "aclnnTanh of float64, which is refused", "aclnnSqrt, whose second phase fails")


def _run(function, program, factor=1.0):
    """Return the result, whether there was an error, and how the functions were used."""
    name = program.partition(" ")[0].removesuffix(",")
    acl = Acl()
    a = torch.tensor([[1.0, -2.0], [3.0, 4.0]], device="npu") * factor
    out = torch.zeros(2, 2, device="npu")
    operands = (a, out)
    if name == "aclnnAdd":
        operands = (a.t(), a.flip(0), 1.0, out) if "views" in program else (a, a.t().contiguous(), 2.0, out)
    elif name == "aclnnMatmul":
        operands = (a, a.t(), out)
    elif name == "aclnnTanh":
        operands = (a.double(), out.double())
    faults = torch.npu.simulator.faults
    if name == "aclnnSqrt":
        faults.fail("aclnnSqrt", phase=2)
    raised = "no"
    try:
        function(acl, name, operands, current_stream())
    except RuntimeError:
        raised = "RuntimeError"
    finally:
        faults.clear()
    torch.npu.synchronize()
    seen = {"mistakes in the calls": sorted(set(acl.wrong)), "whether it raises an error": raised}
    if name not in ("aclnnTanh", "aclnnSqrt"):
        seen["the result"] = out.cpu()
    return seen | {"descriptors that are left behind": len(acl.live), "operators that were planned but not run":
                   len(acl.planned)}


LESSON = lesson(
    "npu", launch=partial(Lab, cases=tuple((name,) for name in PROGRAMS), run=_run, describe=described))
