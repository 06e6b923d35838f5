"""Where the kernel of an operator comes from: the one place that says in which order it is looked for."""
from __future__ import annotations

from ._autograd import derivatives, recording  # noqa: F401
from ._backend import by_key
from ._backends import cpu, meta, npu  # noqa: F401  (which enter their backends)
from ._backends.common import convert, forms, mixed, view  # noqa: F401
from ._composite import COMPOSITES
from ._dispatch.registry import Kernel, Operator
from ._dispatch.schemas import registry


def find_kernel(op: Operator, key: int) -> Kernel | None:
    """The kernel of an operator for a backend's dispatch key; what a user registered has been looked at before.

    The device's own comes first; then a composite, written in other operators; the in-place or ``out=`` form of an
    operator that has a kernel; copies and views, which are the same everywhere; last what the device falls back on.
    """
    backend = by_key[key]
    return (
        backend.kernel(op)
        or composite(op)
        or forms.kernel_of_form(op, key)
        or conversion(op)
        or view.kernel_of_view(op, key)
        or backend.fallback(op)
    )


def composite(op: Operator) -> Kernel | None:
    """A composite's function is its kernel on every backend; an ``out=`` form, which has a row of its own where it
    draws random numbers into ``out``, keeps autograd's check.
    """
    function = COMPOSITES.get(op.name)
    return None if function is None else Kernel(function, function, composite=not op.is_out)


def conversion(op: Operator) -> Kernel | None:
    """A copy's function is its kernel on every backend."""
    function = convert.KERNELS.get(op.name)
    return None if function is None else Kernel(function, function)


registry.find_kernel = find_kernel
