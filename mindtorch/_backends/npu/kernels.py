"""From ATen operators to ACLNN: the kernels of the NPU backend, made from its rows, and the fallback to the CPU.

The meta kernel says what the outputs are; a row (``ops``) says which ACLNN operator computes them and with which
values. What ACLNN does not take, a dtype or a number of dimensions, goes to the CPU and back, visibly: with a warning,
once per operator, and in every trace.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from ... import _device
from ..._about import about
from ..._call_site import call_site
from ..._dispatch.dispatcher import TENSOR_TYPES, call_on, flattened, registry
from ..._dispatch.keys import CPU, NONCONTIGUOUS, NPU
from ..._dispatch.registry import Kernel, Operator
from ..._dispatch.return_types import pack
from ..._dispatch.schema import REQUIRED
from ..._dtype import DType, dtypes
from ..._layout import Spec
from ..._tensor import Tensor, empty_tensor
from ..common import inplace_and_out
from ..common.inplace_and_out import check_writable
from ..common.pointwise import Pointwise
from . import ops
from .aclnn import data_types, launch
from .bindings import binding
from .constants import ACLNN_MAX_SHAPE_RANK
from .memory import write
from .ops.row import Aclnn, Call
from .runtime import current_queue


def takes(name: str, values: Any, device: _device.device) -> bool:
    """Whether an ACLNN operator takes these values: their dtypes and numbers of dimensions. Raises PyTorch's
    RuntimeError if a tensor is on another device.
    """
    for position, allowed in _tensor_dtypes(name):
        for tensor in flattened((values[position],)):
            if tensor is not None and tensor._device is not device and tensor._device != device:
                raise about(RuntimeError("Expected all tensors to be on the same device, but found at least two "
                                         f"devices, {device} and {tensor.device}! (when calling {name})"),
                            "mixed devices")
            if tensor is not None and (tensor._dtype not in allowed or len(tensor.shape) > ACLNN_MAX_SHAPE_RANK):
                return False
    return True


@cache
def _tensor_dtypes(name: str) -> list[tuple[int, frozenset[DType]]]:
    """The dtypes that an operator takes at each position of a tensor."""
    row = binding(name)
    return [(i, dtypes(row.parameters[i].takes) & data_types.keys()) for i in sorted({*row.reads, *row.writes})]


def defaults_of(op: Operator) -> tuple[Any, ...]:
    """The defaults of an operator's parameters, None for those without."""
    return tuple(None if p.default is REQUIRED else p.default for p in op.schema.parameters)


def device_of(args: Any) -> _device.device:
    """The device that canonical arguments name, or that their first NPU tensor is on."""
    for arg in flattened(args):
        if arg.__class__ in TENSOR_TYPES and arg._keys & NPU:
            return arg._device
        if arg.__class__ is _device.device and arg.type == "npu":
            return _device.resolve_device(arg)
    return _device.resolve_device("npu")


def launched(calls: Iterable[Call], device: _device.device) -> bool:
    """Put ACLNN operators into the current stream of a device, if they take these values. Returns whether they do."""
    calls = tuple(calls)
    if not all(takes(name, values, device) for name, values in calls):
        return False
    queue = current_queue(device.index or 0)
    for name, values in calls:
        launch(name, values, queue)
    return True


def functional_kernel(op: Operator, row: Aclnn, meta: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of a functional operator: describe the outputs, make them, have ACLNN fill them."""
    defaults, on_cpu = defaults_of(op), fallback_of(op)

    def kernel(*args: Any) -> Any:
        specs = meta(*args)
        args = (*args, *defaults[len(args):])
        if row.when is not None and not row.when(*args):
            return on_cpu(*args)
        device = device_of(args)
        outs = [None if spec is None else empty_tensor(spec, device)  # None: an output that is not asked for
                for spec in ((specs,) if specs.__class__ is Spec else specs)]
        if any(out is not None and out.numel() for out in outs) and not launched(row.calls(args, outs), device):
            return on_cpu(*args)
        return outs[0] if specs.__class__ is Spec else pack(op, outs)

    return kernel


def inplace_kernel(op: Operator, row: Aclnn, meta: Pointwise, general: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of a pointwise operator's in-place form: ACLNN writes into the tensor itself, where the result has its
    shape and dtype and nothing else lies in its memory in another order; ``general`` does everything else.
    """
    defaults = defaults_of(op)

    def kernel(self: Tensor, *args: Any) -> Tensor:
        spec = meta(self, *args)
        args = (self, *args, *defaults[1 + len(args):])
        if (spec.shape != tuple(self.shape) or spec.dtype is not self._dtype
                or (row.when is not None and not row.when(*args))):
            return general(*args)
        check_writable(self, args[1:])
        if self.numel() and not launched([row.call(args, [self])], self._device):
            return general(*args)
        return self

    return kernel


def writing_kernel(op: Operator, row: Aclnn, check: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of an operator that exists in place only: ACLNN writes into its first argument."""
    defaults, on_cpu = defaults_of(op), fallback_of(op)
    policy = getattr(check, "policy", check_writable)

    def kernel(*args: Any) -> Any:
        check(*args)
        args = (*args, *defaults[len(args):])
        if row.when is not None and not row.when(*args):
            return on_cpu(*args)
        target = args[0]
        if target.__class__ in TENSOR_TYPES:
            policy(target, args[1:])
            if not target.numel():
                return target
        return target if launched(row.calls(args, []), device_of(args)) else on_cpu(*args)

    return kernel


def kernel_of(op: Operator) -> Kernel | None:
    """The kernel of an operator that has a row."""
    direct = ops.KERNELS.get(op.name)
    if direct is not None:
        return Kernel(direct, direct)
    row = ops.ACLNN_CALLS.get(op.name)
    meta = registry.meta_rows.get(op.name)
    if row is not None and meta is not None:
        make = writing_kernel if op.is_inplace else functional_kernel
        return Kernel(make(op, row, meta), row.origin)
    if op.functional is not None and op.is_inplace:
        row, meta = ops.ACLNN_CALLS.get(op.functional.name), registry.meta_rows.get(op.functional.name)
        if row is not None and isinstance(meta, Pointwise):
            general = inplace_and_out.kernel_of_form(op, NPU)
            assert general is not None
            return Kernel(inplace_kernel(op, row, meta, general.fn), row.origin)
    return None


# -- the CPU ---------------------------------------------------------------------------------------------------------

_warned: set[str] = set()


def fallback_of(op: Operator) -> Callable[..., Any]:
    """Run an operator on the CPU: copy what it reads there, and what it returns or wrote back."""

    def cpu_fallback(*args: Any) -> Any:
        if op.name not in _warned:
            _warned.add(op.name)
            file, line, _ = call_site()
            warnings.warn_explicit(f"aten::{op.name} has no NPU kernel for these arguments: it runs on the CPU, and "
                                   "its operands are copied there and back", UserWarning, file, line)
        device = device_of(args)
        moved: dict[int, Tensor] = {}
        result = call_on(op, "cpu", *[_to_host(arg, moved) for arg in args])
        for position, parameter in enumerate(op.schema.parameters):
            if position < len(args) and (parameter.writes or (op.is_inplace and not position)):
                _write_back(args[position], moved)
        return args[0] if op.is_inplace else _to_npu(result, device)

    return cpu_fallback


def _to_host(value: Any, moved: dict[int, Tensor]) -> Any:
    if value.__class__ in TENSOR_TYPES:
        if value._keys & NPU:
            moved[id(value)] = host = value.detach().to("cpu")
            return host
        return value.detach()
    if isinstance(value, (list, tuple)):
        items = [_to_host(item, moved) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if value.__class__ is _device.device and value.type == "npu":
        return _device.CPU
    return value


def _write_back(value: Any, moved: dict[int, Tensor]) -> None:
    for tensor in flattened((value,)):
        host = moved.get(id(tensor))
        if host is not None:
            write(tensor, host, False)  # which does not count in the version: the dispatcher does


def _to_npu(value: Any, device: _device.device) -> Any:
    if value.__class__ in TENSOR_TYPES:
        stride = value._strides() if value._keys & NONCONTIGUOUS else None
        out = empty_tensor(Spec(tuple(value.shape), value._dtype, stride), device)
        return out.copy_(value)
    if isinstance(value, (list, tuple)):
        items = [_to_npu(item, device) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def fallback_kernel(op: Operator) -> Kernel | None:
    """The CPU's kernel for an operator without a row."""
    if op.kernel(CPU) is None:
        return None
    function = fallback_of(op)
    return Kernel(function, function, fallback=True)
