"""Assigns to modules the names from higher layers, which they cannot import.

Only this module defines the order in which kernels are looked up, the function of each dispatch key, and the values of
the names that modules declare to be set by ``_wiring``.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._autograd import (  # noqa: F401  (folded enters its operators)
    derivative, folded, forward, function, grad_mode, recording, views,
)
from ._backends import cpu, meta, npu, sparse  # noqa: F401  (they enter themselves into the table of backends)
from ._backends.common import convert, cross_device, inplace_and_out, math_bits, uninitialized, view
from ._backends.common.pointwise import Pointwise
from ._backends.cpu.at_once import with_plans
from ._backends.cpu.forms import with_fast_form
from ._backends.cpu.formulas import at_once
from ._base.backend import by_key
from ._dispatch import binding, observers, pipeline, torch_dispatch
from ._dispatch.dispatcher import key_handlers, registry
from ._dispatch.keys import (
    AUTOGRAD, BACKENDS, BATCHED, CPU, DUAL, INFERENCE, MATH_BITS, OBSERVED, PIPELINE, PYTHON, THREAD_STATE,
    UNINITIALIZED,
)
from ._dispatch.registry import Kernel, Operator
from ._storage import UntypedStorage
from ._storage.typed import typed
from ._tensor import Tensor
from ._transforms import batching

key_handlers.update({
    OBSERVED: observers.observed,
    THREAD_STATE: grad_mode.with_local_state,
    BATCHED: lambda op, keys: batching.on_batched(op, keys),
    DUAL: forward.on_duals,
    PIPELINE: pipeline.wait_for_inputs,
    INFERENCE: grad_mode.on_inference_tensors,
    AUTOGRAD: recording.record_in_graph,
    MATH_BITS: math_bits.on_math_bits,
    BACKENDS: cross_device.on_several_devices,
    UNINITIALIZED: uninitialized.on_uninitialized,
    PYTHON: torch_dispatch.in_python,
})
# Its kernels count optimizers' steps and record nothing: tensors that require grad are added to one by one.
registry["_foreach_add_.Scalar"].autograd = lambda *args: registry.composites["_foreach_add_.Scalar"](*args)
# Names that their modules declare.
binding.Tensor = Tensor
UntypedStorage.typed = typed  # type: ignore[assignment]
views.start_node = recording.start_node
derivative.at_once = at_once
torch_dispatch.mark_view = views.mark_view
function.generated_rule = lambda function: batching.generated_rule(function)
forward.is_pointwise = lambda op: isinstance(registry.meta_rows.get(op.name), Pointwise)


def find_kernel(op: Operator, key: int) -> Kernel | None:
    """Find the kernel of an operator for a backend's dispatch key. Kernels that users registered come first.

    The order is: the device's own kernel; a composite, written in other operators; the in-place or ``out=`` form of an
    operator that has a kernel; copies and views, which are the same on all devices; the device's fallback.
    """
    backend = by_key[key]
    if not key & BACKENDS:  # a sparse layout, of which no copy or view of memory makes anything
        return backend.kernel(op) or composite(op, key)
    return (backend.kernel(op) or composite(op, key) or form(op, key)
            or common(op, key, convert.KERNELS.get(op.name))
            or common(op, key, view.KERNELS.get(op.name), makes_view=True) or backend.fallback(op))


def composite(op: Operator, key: int) -> Kernel | None:
    """Return the composite of an operator. An ``out=`` form with its own row keeps autograd's check."""
    return common(op, key, registry.composites.get(op.name), composite=not op.is_out)


def form(op: Operator, key: int) -> Kernel | None:
    """Return the in-place or ``out=`` form of an operator that has a kernel; on the CPU, some have a fast path."""
    kernel = inplace_and_out.kernel_of_form(op, key)
    return kernel if kernel is None or key != CPU else with_fast_form(op, kernel)


def common(op: Operator, key: int, function: Callable[..., Any] | None, **traits: Any) -> Kernel | None:
    """Return a kernel from a function that serves all backends; on the CPU, some have plans."""
    if function is None:
        return None
    return with_plans(op, function, **traits) if key == CPU else Kernel(function, function, None, **traits)


registry.find_kernel = find_kernel
