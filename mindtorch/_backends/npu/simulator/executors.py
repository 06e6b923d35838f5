"""ACLNN operators in two phases: the first reads descriptors and makes an executor, the second queues a launch."""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from time import sleep
from typing import Any

import numpy as np

from ...._dtype import dtype_named, dtypes
from ..bindings import KINDS, WRITTEN, Binding, Parameter
from ..constants import (
    ACL_DT_UNDEFINED, ACLNN_ERR_PARAM_INVALID, ACLNN_ERR_PARAM_NULLPTR, ACLNN_MAX_SHAPE_RANK, DATA_TYPES, DTYPE_NAMES,
)
from . import faults, handles, watch
from .costs import Cost, costs
from .descriptors import DESCRIPTORS, FUNCTIONS as FUNCTIONS, AclTensor, AclTensorList, declared
from .devices import machine, stream_of
from .errors import Fault
from .memory import ALIGNMENT, TAIL
from .refusals import REFUSALS
from .streams import Stream, Task

#: Bytes of workspace that an operator asks for in any case; others need none but for operands with gaps.
WORKSPACES = dict.fromkeys(("aclnnMatmul", "aclnnMm", "aclnnBatchMatMul", "aclnnAddmm", "aclnnBaddbmm",
                            "aclnnReduceSum", "aclnnMean", "aclnnConvolution", "aclnnConvolutionBackward", "aclnnSort",
                            "aclnnTopk", "aclnnCumsum"), 16 * ALIGNMENT)
#: Operators that read and write through strides. All others have a contiguous copy made of an operand with gaps, by a
#: kernel of its own, in their workspace; and where the output has gaps, they compute it there and copy it.
STRIDED = frozenset({"aclnnInplaceCopy"})
#: Operators whose matrices may be transposed: a descriptor says so, and no copy is made.
TRANSPOSING = frozenset({"aclnnMatmul", "aclnnMm", "aclnnBatchMatMul", "aclnnAddmm", "aclnnBaddbmm"})
PIECE = 512  #: bytes that a piece of a workspace is a multiple of


class AclOpExecutor:
    """An aclOpExecutor: what an operator was asked to do."""

    __slots__ = ("operator", "repeatable", "values", "workspace")
    label = "aclOpExecutor"

    def __init__(self, operator: Operator, values: list[Any], workspace: int):
        self.operator, self.values, self.repeatable, self.workspace = operator, values, False, workspace


@declared("aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor*)")
def destroy_executor(handle: int | None) -> int:
    handles.remove(handle, AclOpExecutor, ACLNN_ERR_PARAM_INVALID)
    return 0


@declared("aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor*)")
def set_executor_repeatable(handle: int | None) -> int:
    handles.get(handle, AclOpExecutor, ACLNN_ERR_PARAM_INVALID).repeatable = True
    return 0


class Operator:
    """An operator of the table with its kernel; ``phase_one`` and ``phase_two`` are the bodies of its C functions."""

    def __init__(self, binding: Binding, kernel: Callable[..., Any]):
        self.name, self.kernel, self.parameters = binding.name, kernel, binding.parameters
        self.writes = tuple(parameter.kind in WRITTEN for parameter in binding.parameters)
        self.workspace = WORKSPACES.get(binding.name, 0)
        self.refusal = REFUSALS.get(binding.name)
        self._readers = [reader(binding.name, parameter) for parameter in binding.parameters]

    def __repr__(self) -> str:
        return self.name

    def phase_one(self, *arguments: Any) -> int:
        """aclnnXxxGetWorkspaceSize."""
        if faults.armed and (fault := faults.strike(self.name, 1)):
            raise fault
        if costs.scale:
            sleep(costs.phase_one * costs.scale)
        size, executor = arguments[-2:]
        if not size or not executor:
            raise Fault(ACLNN_ERR_PARAM_NULLPTR, f"{self.name}: workspaceSize or executor is null")
        values = [read(argument) for read, argument in zip(self._readers, arguments[:-2], strict=True)]
        if self.refusal is not None and (why := self.refusal(*values)):
            raise Fault(ACLNN_ERR_PARAM_INVALID, f"{self.name}: {why}")
        size[0] = workspace = self.workspace + self._copies(values)
        executor[0] = handles.add(AclOpExecutor(self, values, workspace))
        return 0

    def _copies(self, values: list[Any]) -> int:
        """Count the bytes of the contiguous copies of operands."""
        if self.name in STRIDED:
            return 0
        gaps = [value for value in values if value.__class__ is AclTensor and not value.is_contiguous]
        if self.name in TRANSPOSING:
            gaps = [tensor for tensor in gaps if not tensor.transposed().is_contiguous]
        return sum(-(-(tensor.numel * tensor.dtype.itemsize + TAIL) // PIECE) * PIECE for tensor in gaps)

    def phase_two(self, workspace: int | None, size: int, executor: int | None, stream: int | None) -> int:
        """aclnnXxx. The executor is used up, and everything is read: the descriptors may be destroyed after this."""
        found = handles.get(executor, AclOpExecutor, ACLNN_ERR_PARAM_INVALID)
        if not found.repeatable:
            handles.remove(executor, AclOpExecutor, ACLNN_ERR_PARAM_INVALID)
        queue = stream_of(stream)
        launch = Launch(found.operator, found.values)
        if faults.armed:
            if fault := faults.strike(self.name, 2):
                raise fault
            launch.fault = faults.strike(self.name, "async")
        if found.workspace:
            launch.workspace = self._workspace(queue, workspace, size, found.workspace)
        sanitizer = watch.active
        if sanitizer is not None:
            sanitizer.launch(queue, launch)
        queue.submit(launch)
        return 0

    def _workspace(self, stream: Stream, address: int | None, size: int, wanted: int) -> tuple[int, int]:
        if address is None or size < wanted:
            raise Fault(ACLNN_ERR_PARAM_NULLPTR, f"{self.name} needs a workspace of {wanted} bytes, got {size}")
        if not stream.device.memory.holds(address):
            message = f"{self.name}: the workspace {address:#x} is not memory of device {stream.device.number}"
            raise Fault(ACLNN_ERR_PARAM_INVALID, message, "host-pointer")
        return address, wanted


class Launch(Task):
    """A kernel in a stream's queue, with what it works on."""

    __slots__ = ("fault", "operator", "values", "workspace")

    def __init__(self, operator: Operator, values: list[Any]):
        self.operator, self.values = operator, values
        self.fault: Fault | None = None
        self.workspace: tuple[int, int] | None = None  #: address and size

    def __repr__(self) -> str:
        return self.operator.name

    def run(self, stream: Stream) -> None:
        if faults.pace or costs.scale:
            cost = self.cost()
            stream.delay(cost.launch * costs.scale)
            with stream.device.cores.taken(cost):
                stream.pause(self.operator.name, cost.computing * costs.scale)
                self._compute(stream)
            return
        if faults.lost:
            stream.pause(self.operator.name)
        self._compute(stream)

    def cost(self) -> Cost:
        """Return which cores the operator takes, and for how long, by the model."""
        operands = [operand for value, _ in zip(self.values, self.operator.parameters, strict=True)
                    for operand in (value if value.__class__ is list else [value]) if operand.__class__ is AclTensor]
        return costs.of(self.operator.name, [(DTYPE_NAMES[tensor.code], tensor.shape) for tensor in operands])

    def _compute(self, stream: Stream) -> None:
        if self.fault is not None:
            raise Fault(self.fault.code, f"{self} failed on {stream}: {self.fault.message}")
        if self.workspace is not None:
            ctypes.memset(self.workspace[0], 0xA5, self.workspace[1])
        shapes = self.operator.kernel(*[
            view(value, stream, write) if value.__class__ is AclTensor
            else [item and view(item, stream, write) for item in value] if value.__class__ is list
            else value
            for value, write in zip(self.values, self.operator.writes, strict=True)
        ])
        if shapes.__class__ is list:  # they depend on the data: aclGetViewShape returns them after a synchronisation
            outs = [value for value, write in zip(self.values, self.operator.writes, strict=True) if write]
            for out, shape in zip(outs, shapes, strict=True):
                out.shape = shape


def view(tensor: AclTensor, stream: Stream, write: bool) -> np.ndarray:
    """Return a tensor's elements in the memory of the stream's device, or of a peer."""
    memory = stream.device.memory
    if not memory.base <= tensor.data < memory.top:
        owner = machine.owner(tensor.data)
        if owner is not None and owner.number in stream.device.peers:
            memory = owner.memory
    buffer = memory.writable if write else memory.readonly
    found = tensor.views.get(id(buffer))
    return tensor.view(memory, buffer) if found is None else found


# -- reading the arguments of the first phase: a function for each parameter -----------------------------------------

def reader(operator: str, parameter: Parameter) -> Callable[[Any], Any]:
    """Return a function from the C argument of a parameter to what the kernel gets.

    It raises a ``Fault`` if the argument is a null pointer, not a live handle of the right kind, or a tensor of a dtype
    or rank that the device does not take.
    """
    if (cls := HANDLES.get(KINDS[parameter.kind])) is not None:
        return _handle_reader(f"{operator}: {parameter.name}", parameter, cls)
    return {"dtype": _dtype, "chars": _text}.get(parameter.kind, lambda value: value)


#: The class of a C type. A kernel gets tensors, and the ``value`` of everything else.
HANDLES = {f"{cls.label}*": cls for cls in DESCRIPTORS}


def _handle_reader(what: str, parameter: Parameter, cls: Any) -> Callable[[Any], Any]:
    objects, optional = handles.objects, parameter.optional
    codes = {DATA_TYPES[dtype.name]: dtype.name for dtype in dtypes(parameter.takes)}

    def check(tensor: Any) -> None:
        if tensor.code not in codes:
            given = DTYPE_NAMES.get(tensor.code, str(tensor.code))
            taken = ", ".join(sorted(codes.values()))
            raise Fault(ACLNN_ERR_PARAM_INVALID, f"{what} has dtype {given}, which is not among {taken}")
        if (rank := len(tensor.shape)) > ACLNN_MAX_SHAPE_RANK:
            raise Fault(ACLNN_ERR_PARAM_INVALID, f"{what} has {rank} dimensions: more than {ACLNN_MAX_SHAPE_RANK}")

    def missing(handle: int | None) -> None:
        if handle is not None:
            fault = handles.missing(handle, cls, 0)
            raise Fault(ACLNN_ERR_PARAM_INVALID, f"{what}: {fault.message}", fault.mistake)
        if not optional:
            raise Fault(ACLNN_ERR_PARAM_NULLPTR, f"{what} is null")

    def tensor(handle: int | None) -> Any:
        thing = objects.get(handle)  # type: ignore[arg-type]
        if thing.__class__ is not AclTensor:
            return missing(handle)
        if thing.code not in codes or len(thing.shape) > ACLNN_MAX_SHAPE_RANK:
            check(thing)
        return thing

    def wrapped(handle: int | None) -> Any:
        thing: Any = objects.get(handle)  # type: ignore[arg-type]
        if thing.__class__ is not cls:
            return missing(handle)
        if cls is AclTensorList:
            for item in thing.value:
                if item is not None:
                    check(item)
        return thing.value

    return tensor if cls is AclTensor else wrapped


def _dtype(code: int) -> Any:
    if code == ACL_DT_UNDEFINED:
        return None
    if code not in DTYPE_NAMES:
        raise Fault(ACLNN_ERR_PARAM_INVALID, f"aclDataType {code} is not supported")
    return dtype_named(DTYPE_NAMES[code])


def _text(address: int | None) -> str | None:
    return None if address is None else ctypes.string_at(address).decode()
