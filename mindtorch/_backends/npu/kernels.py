"""From ATen operators to ACLNN: the kernels of the NPU backend, made from its rows, and the fallback to the CPU.

The meta kernel describes the outputs; a row (``ops``) names the ACLNN operator that computes them, and its values. A
composite operator may have a row, too: ACLNN then does in one call what its parts would do in several. Calls that ACLNN
does not take (a dtype, a number of dimensions) or refuses in its first phase go to those parts, or to the CPU and back.
Both are visible: a warning once per operator, and an entry in every trace.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from math import prod
from typing import Any

from ... import _device
from ..._base.about import about
from ..._base.call_site import warn_once
from ..._base.layout import Spec
from ..._base.size import Size
from ..._dispatch.dispatcher import (
    TENSOR_TYPES, call_on, flattened, has_derivative, is_seen, keys_of, outside_graph, registry,
)
from ..._dispatch.keys import AUTOGRAD, CPU, NONCONTIGUOUS, NPU
from ..._dispatch.local import local
from ..._dispatch.registry import Kernel, Operator
from ..._dispatch.return_types import pack
from ..._dispatch.schema import REQUIRED
from ..._dtype import DType, dtypes, get_default_dtype
from ..._tensor import Tensor, empty_tensor
from ..common import inplace_and_out
from ..common.overlap import check_writable
from ..common.pointwise import Pointwise
from ..random.generator import Generator
from . import aclnn, ops
from .bindings import binding
from .constants import ACLNN_MAX_SHAPE_RANK
from .descriptors import data_types, key_of
from .memory import write
from .ops.row import Aclnn, Call, Counted, Lists
from .runtime import current_queue


def takes(name: str, values: Any, device: _device.device) -> bool:
    """Return True if an ACLNN operator takes these dtypes and ranks; RuntimeError for another device's tensor."""
    for position, allowed in _tensor_dtypes(name):
        value = values[position]
        for tensor in value if value.__class__ is list or value.__class__ is tuple else (value,):
            if tensor is not None and tensor._device is not device and tensor._device != device:
                raise about(RuntimeError("Expected all tensors to be on the same device, but found at least two "
                                         f"devices, {device} and {tensor.device}! (when calling {name})"),
                            "mixed devices")
            if tensor is not None and (tensor._dtype not in allowed or len(tensor.shape) > ACLNN_MAX_SHAPE_RANK):
                return False
    return True


@cache
def _tensor_dtypes(name: str) -> list[tuple[int, frozenset[DType]]]:
    """Return the dtypes that an operator takes at each position of a tensor."""
    row = binding(name)
    return [(i, dtypes(row.parameters[i].takes) & data_types.keys()) for i in sorted({*row.reads, *row.writes})]


def defaults_of(op: Operator) -> tuple[Any, ...]:
    """Return the defaults of an operator's parameters, None for those without."""
    return tuple(None if p.default is REQUIRED else p.default for p in op.schema.parameters)


def device_of(args: Any) -> _device.device:
    """Return the device that canonical arguments name, or that their first NPU tensor is on."""
    if args and args[0].__class__ in TENSOR_TYPES and args[0]._keys & NPU:  # as it is for most
        return args[0]._device
    for arg in flattened(args):
        if arg.__class__ in TENSOR_TYPES and arg._keys & NPU:
            return arg._device
        if arg.__class__ is _device.device and arg.type == "npu":
            return _device.resolve_device(arg)
    return _device.resolve_device("npu")


def launched(op: Operator, calls: Iterable[Call], device: _device.device) -> bool:
    """Put ACLNN operators into the current stream of a device, if they take these values. Returns whether they do."""
    calls = tuple(calls)
    for name, values in calls:
        if not takes(name, values, device):
            return False
    return aclnn.launched(calls, current_queue(device.index or 0), op.name)


def looks_up(op: Operator) -> Callable[[tuple[Any, ...]], bool]:
    """Return the test whether arguments hold an index, which the CPU checks if ACLNN has nothing to compute."""
    names = [parameter.name for parameter in op.schema.parameters]
    place = names.index("index") if "index" in names else None
    return lambda args: place is not None and args[place].numel() > 0


def functional_kernel(op: Operator, row: Aclnn, specs_of: Callable[..., Any],
                      general: Callable[..., Any]) -> Callable[..., Any]:
    """Make a functional operator's kernel: ACLNN fills new outputs; ``general`` computes the rest."""
    defaults, indexed = defaults_of(op), looks_up(op)

    def kernel(*args: Any) -> Any:
        specs = specs_of(*args)
        args = (*args, *defaults[len(args):])
        if row.when is not None and not row.when(*args):
            return general(*args)
        if row.spec is not None:
            specs = row.spec(*args)
        device = device_of(args)
        if specs.__class__ is Spec:
            out = empty_tensor(specs, device)
            done = launched(op, row.calls(args, [out]), device) if out.numel() else not indexed(args)
            return out if done else general(*args)
        # None: one not asked for; a number is known as it is
        outs = [empty_tensor(spec, device) if spec.__class__ is Spec else spec for spec in specs]
        if any(out.numel() for out in outs if out.__class__ is Tensor) and not launched(
                op, row.calls(args, outs), device):
            return general(*args)
        return pack(op, outs)

    return kernel


def counted_kernel(op: Operator, row: Counted, meta: Callable[..., Any],
                   general: Callable[..., Any]) -> Callable[..., Any]:
    """Make the kernel of an operator with data-dependent shapes: ACLNN fills the start of large outputs."""
    defaults = defaults_of(op)

    def kernel(*args: Any) -> Any:
        specs = meta(*args)
        args = (*args, *defaults[len(args):])
        device = device_of(args)
        outs = [empty_tensor(Spec(shape, spec.dtype), device)
                for shape, spec in zip(row.room(*args), (specs,) if specs.__class__ is Spec else specs, strict=True)]
        name, values = row.call(args, outs)
        if not outs[0].numel() or not row.when(*args) or not takes(name, values, device):
            return general(*args)
        shapes = aclnn.counted(name, values, current_queue(device.index or 0), op.name)
        if shapes is None:
            return general(*args)
        if specs.__class__ is Spec:
            return cut(outs[0], shapes[0], specs)
        return pack(op, [cut(out, shape, spec) for out, shape, spec in zip(outs, shapes, specs, strict=True)])

    return kernel


def cut(out: Tensor, shape: tuple[int, ...], spec: Spec) -> Tensor:
    """Return the results that an operator has put at the start of a large enough output."""
    if spec.shape is not None:
        shape = spec.shape
    stride = None if spec.stride is None else spec.stride(shape)
    if shape == tuple(out.shape) and stride is None:
        return out
    found = empty_tensor(Spec(shape, spec.dtype, stride), out._device)
    return found.copy_(out.view(-1)[: prod(shape)].view(shape)) if found.numel() else found


def inplace_kernel(op: Operator, row: Aclnn, meta: Callable[..., Any],
                   general: Callable[..., Any]) -> Callable[..., Any]:
    """Make a pointwise in-place kernel: ACLNN writes into a matching tensor; ``general`` does the rest."""
    defaults = defaults_of(op)

    def kernel(self: Tensor, *args: Any) -> Tensor:
        spec = meta(self, *args)
        args = (self, *args, *defaults[1 + len(args):])
        if (spec.shape != tuple(self.shape) or spec.dtype is not self._dtype
                or (row.when is not None and not row.when(*args))):
            return general(*args)
        check_writable(self, args[1:])
        if self.numel() and not launched(op, [row.call(args, [self])], self._device):
            return general(*args)
        return self

    return kernel


def writing_kernel(op: Operator, row: Aclnn, check: Callable[..., Any]) -> Callable[..., Any]:
    """Make the kernel of an operator that exists in place only: ACLNN writes into its first argument."""
    defaults, on_cpu, indexed = defaults_of(op), fallback_of(op), looks_up(op)
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
                return on_cpu(*args) if indexed(args) else target
        return target if launched(op, row.calls(args, []), device_of(args)) else on_cpu(*args)

    return kernel


#: Of how many kinds of arguments an operator's outputs are remembered.
MOST_KNOWN = 512


def remembered(meta: Callable[..., Any]) -> Callable[..., Any]:
    """Cache the answers of a meta kernel that depends only on its arguments' layouts and numbers."""
    known: dict[Any, Any] = {}

    def specs_of(*args: Any) -> Any:
        key = (get_default_dtype(), *map(key_of, args))
        found = known.get(key)
        if found is None:
            found = meta(*args)
            if found.__class__ is Spec and found.shape is not None:
                found = found._replace(shape=Size(found.shape))  # which need not be made of every output then
            if len(known) < MOST_KNOWN:
                known[key] = found
        return found

    return specs_of


# -- operators that are written in others ----------------------------------------------------------------------------

def specs_by_parts(composite: Callable[..., Any]) -> Callable[..., Any]:
    """Return a meta kernel of an operator that is written in others: run those on meta tensors."""

    def specs_of(*args: Any) -> Any:
        result = composite(*[on_meta(arg) for arg in args])
        return spec_of(result) if result.__class__ in TENSOR_TYPES else tuple(map(spec_of, result))

    return specs_of


def on_meta(value: Any) -> Any:
    """Replace an NPU tensor by a meta tensor, a device by meta, a generator by None; keep everything else."""
    if value.__class__ in TENSOR_TYPES:
        return empty_tensor(Spec(tuple(value.shape), value._dtype, value._strides()), _device.META)
    if value.__class__ is _device.device:
        return _device.META
    if isinstance(value, Generator):
        return None
    if isinstance(value, (list, tuple)):
        return type(value)([on_meta(item) for item in value])
    return value


def spec_of(tensor: Tensor | None) -> Spec | None:
    if tensor is None:
        return None
    return Spec(tuple(tensor.shape), tensor._dtype, tensor._strides() if tensor._keys & NONCONTIGUOUS else None)


def at_once(op: Operator, row: Aclnn, composite: Callable[..., Any]) -> Kernel:
    """Make the kernel of a composite that has a row; it decomposes if recorded or not all on plain NPU tensors."""
    general = outside_graph(composite) if has_derivative(op) else composite
    specs_of = remembered(specs_by_parts(composite)) if row.spec is None else lambda *args: None
    kernel = functional_kernel(op, row, specs_of, general)
    if op.schema.returns_list:  # composites make tuples of them
        listing = kernel
        kernel = lambda *args: tuple(listing(*args))  # noqa: E731
    if has_derivative(op):
        return Kernel(kernel, row.origin)

    def unseen(*args: Any) -> Any:
        keys = keys_of(args)
        if (keys & ~(NPU | NONCONTIGUOUS | AUTOGRAD) or (keys & AUTOGRAD and local.grad_enabled)
                or any(is_seen(tensor) for tensor in args if tensor.__class__ in TENSOR_TYPES)):
            return composite(*args)
        return kernel(*args)

    return Kernel(unseen, row.origin, composite=True)


def lists_kernel(op: Operator, row: Lists, composite: Callable[..., Any]) -> Kernel:
    """Make the kernel of an operator on lists of tensors, which takes as many of them at a time as ACLNN does."""
    defaults, counted = defaults_of(op), has_derivative(op)

    def kernel(self: Any, *args: Any) -> Any:
        given = (self, *args, *defaults[1 + len(args):])
        keys = keys_of(given)
        if (keys & ~(NPU | NONCONTIGUOUS | AUTOGRAD) or (keys & AUTOGRAD and local.grad_enabled)
                or not go_together(given) or (row.when is not None and not row.when(*given))):
            return composite(self, *args)
        if op.is_inplace:
            outs = self
        else:
            outs = [empty_tensor(Spec(tuple(x.shape) if row.shape is None else row.shape, x._dtype), x._device)
                    for x in self]
        calls = []
        for start in range(0, len(self), MOST_IN_LIST):
            part = slice(start, start + MOST_IN_LIST)
            some = [value[part] if value.__class__ is list or value.__class__ is tuple else value for value in given]
            calls.append(row.call(some, [outs[part]]))
        if not launched(op, calls, self[0]._device):
            return composite(self, *args)
        if not op.is_inplace:
            return tuple(outs)
        if not counted:  # or else the dispatcher does
            for tensor in self:
                tensor._bump()
        return self

    return Kernel(kernel, row.origin, composite=not counted)


#: Tensors of a list that op-plugin gives an operator at a time, at most.
MOST_IN_LIST = 16


def go_together(args: Any) -> bool:
    """Return True if one operator takes these lists of tensors and numbers (ATen's ``can_use_fast_route``)."""
    first = args[0][0] if args[0] else None
    if first is None:
        return False
    for arg in args:
        if arg.__class__ is list and arg and arg[0].__class__ in TENSOR_TYPES:
            if len(arg) != len(args[0]):
                return False
            for own, tensor in zip(args[0], arg, strict=True):
                if (tensor._dtype is not first._dtype or tensor._device != first._device or not tensor.numel()
                        or tensor.shape != own.shape or not tensor.is_contiguous()):
                    return False
            continue
        numbers = (int, float, bool) if first._dtype.is_floating_point else (int, bool)
        if any(value is not None and value.__class__ not in numbers for value in flattened((arg,))):
            return False
        if arg.__class__ in (list, tuple) and len(arg) != len(args[0]):
            return False
    return True


def kernel_of(op: Operator) -> Kernel | None:
    """Return the kernel of an operator that has a row."""
    direct = ops.KERNELS.get(op.name)
    if direct is not None:
        return Kernel(direct, direct)
    row = ops.ACLNN_CALLS.get(op.name)
    if isinstance(row, Lists):
        one_by_one = op.kernel(CPU)
        assert one_by_one is not None and one_by_one.composite, op
        return lists_kernel(op, row, one_by_one.fn)
    meta = registry.meta_rows.get(op.name)
    if row is not None and meta is not None:
        if op.is_inplace:
            return Kernel(writing_kernel(op, row, meta), row.origin)
        if isinstance(row, Counted):
            return Kernel(counted_kernel(op, row, meta, fallback_of(op)), row.origin)
        specs_of = remembered(meta) if isinstance(meta, Pointwise) else meta
        return Kernel(functional_kernel(op, row, specs_of, fallback_of(op)), row.origin)
    if row is not None:
        general = op.kernel(CPU)
        assert general is not None and general.composite, op
        return at_once(op, row, general.fn)
    if op.functional is not None and op.is_inplace:
        row, meta = ops.ACLNN_CALLS.get(op.functional.name), registry.meta_rows.get(op.functional.name)
        if row is not None and isinstance(meta, Pointwise):
            form = inplace_and_out.kernel_of_form(op, NPU)
            assert form is not None
            return Kernel(inplace_kernel(op, row, remembered(meta), form.fn), row.origin)
    return None


# -- the CPU ---------------------------------------------------------------------------------------------------------

def fallback_of(op: Operator) -> Callable[..., Any]:
    """Run an operator on the CPU: copy what it reads there, and what it returns or wrote back."""

    def cpu_fallback(*args: Any) -> Any:
        warn_once(f"aten::{op.name} has no NPU kernel for these arguments: it runs on the CPU, and its operands are "
                  "copied there and back", about=op.name)
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
    """Return the CPU's kernel for an operator without a row."""
    if op.kernel(CPU) is None:
        return None
    function = fallback_of(op)
    return Kernel(function, function, fallback=True)
