"""``__torch_dispatch__``: the Python key, below autograd and above the backends.

A call goes to the thread's innermost ``TorchDispatchMode``, then to the arguments' classes that define the method.
Calls that these handlers make record no derivatives: autograd has recorded the outer call.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._base.formats import strided
from .dispatcher import TENSOR_TYPES, resolve, switched, tensors_of, written_of
from .keys import BACKENDS, CPU, PYTHON
from .local import local
from .overloads import OpOverload, overload_of, shown_arguments
from .registry import Operator, registry
from .torch_function import insert, refused

#: Marks a tensor as a view of another; set by ``_wiring``.
mark_view: Callable[[Any, Any], None]


def disabled_torch_dispatch(func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Call the function with ``__torch_dispatch__`` switched off (``torch._C._disabled_torch_dispatch_impl``)."""
    with switched(dispatch_off=True):
        return func(*args, **(kwargs or {}))


def dispatches(kind: Any) -> bool:
    """Return True if a class defines its own ``__torch_dispatch__``."""
    return getattr(kind, "__torch_dispatch__", disabled_torch_dispatch) is not disabled_torch_dispatch


def in_python(op: Operator, keys: int) -> Callable[..., Any]:
    """Return the Python key's function: it offers a call to a mode and to the arguments' classes, if there are any."""

    def call(*args: Any) -> Any:
        modes = local.dispatch_modes
        tensors: list[Any] = []
        for tensor in tensors_of(args):
            if tensor._keys & PYTHON and type(tensor) not in map(type, tensors):
                insert(tensors, tensor)
        if local.dispatch_off or not (modes or tensors):
            return (op.table.get(keys) or resolve(op, keys))(*args)
        if op.name in TENSORS_FOR_NUMBERS:
            args = _with_tensors(op, args)
        versions = [(t, t._version_counter and t._version_counter[0]) for t in written_of(op, args)]
        result = _ask(op, modes, tensors, args)
        for tensor, version in versions:
            if (tensor._version_counter and tensor._version_counter[0]) == version:
                tensor._bump()
        if op.is_inplace:
            return args[0]
        backends = keys & BACKENDS
        kernel = op.kernel(backends & -backends or CPU)  # the first of several
        if kernel is not None and kernel.makes_view and op.packet not in OWN_COUNTER:
            _tie_views(result, args[0], op.packet != "detach")
        return result

    return call


def before_dispatch(op: Operator) -> Callable[..., Any]:
    """Return a function that offers a call to the innermost ``pre_dispatch`` mode; calls that the mode makes go on to
    the next one, then to autograd (PyTorch's key "PreDispatch").
    """

    def call(*args: Any) -> Any:
        modes = local.dispatch_modes
        place = max(i for i, mode in enumerate(modes) if mode.pre_dispatch)
        overload = _shown(op, args)
        types = tuple(dict.fromkeys(type(tensor) for tensor in tensors_of(args) if tensor._keys & PYTHON))
        given, keywords = shown_arguments(op, args)
        with switched(dispatch_modes=modes[:place] + modes[place + 1:], formula=False):
            return _checked(op, modes[place].__torch_dispatch__(overload, types, given, keywords))

    return call


#: Operators whose outputs share memory but count writes separately.
OWN_COUNTER = ("unsafe_split", "unsafe_split_with_sizes", "unsafe_chunk", "_unsafe_view")


#: Operators that take a number here where PyTorch converts it to a tensor first.
TENSORS_FOR_NUMBERS = ("where.self",)


def _with_tensors(op: Operator, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Replace numbers by tensors of the result's dtype, on the first tensor's device."""
    if all(arg.__class__ in TENSOR_TYPES for arg in args):
        return args
    options = op.meta(*args).dtype, strided, args[0]._device
    return tuple([arg if arg.__class__ in TENSOR_TYPES else registry["scalar_tensor"].call(arg, *options)
                  for arg in args])


def _ask(op: Operator, modes: tuple[Any, ...], tensors: list[Any], args: tuple[Any, ...]) -> Any:
    overload, types = _shown(op, args), tuple(map(type, tensors))
    given, keywords = shown_arguments(op, args)
    if modes:
        mode = modes[-1]
        handler = overload.py_kernels.get(type(mode))
        with switched(dispatch_modes=modes[:-1], below_autograd=True, formula=False):
            result = (mode.__torch_dispatch__(overload, types, given, keywords) if handler is None
                      else handler(mode, *given, **keywords))
        if result is not NotImplemented:
            return _checked(op, result)
    for tensor in tensors:
        handler = overload.py_kernels.get(type(tensor))
        with switched(below_autograd=True, formula=False):
            result = (type(tensor).__torch_dispatch__(overload, types, given, keywords) if handler is None
                      else handler(*given, **keywords))
        if result is not NotImplemented:
            return _checked(op, result)
    raise refused(f"torch._ops.{overload}", "__torch_dispatch__", modes, types)


def _shown(op: Operator, args: tuple[Any, ...]) -> OpOverload:
    """Return the overload that a handler receives for a call."""
    by_number = op.name in BY_NUMBER and args[1].__class__ not in TENSOR_TYPES
    return overload_of(op, by_number and (BY_NUMBER[op.name] or local.formula))


#: Operators that PyTorch overloads for numbers, and whether a call from Python chooses that; formulas always do.
BY_NUMBER = {f"{name}{form}.Tensor": compares for form in ("", "_") for names, compares in {
    "add sub mul div": False, "eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor": True}.items()
    for name in names.split()}


def _checked(op: Operator, result: Any) -> Any:
    """Return a handler's result. Raises RuntimeError if it is not a tensor and the schema requires one."""
    if (op.text.rpartition("-> ")[2] in ("Tensor", "Tensor(a)", "Tensor(a!)") and result is not None
            and result.__class__ not in TENSOR_TYPES and not op.is_inplace):
        raise RuntimeError(f"Unable to cast {result!r} to Tensor")
    return result


def _tie_views(result: Any, source: Any, differentiable: bool) -> None:
    """Share the source's version counter with the view that a class returned; if ``differentiable``, also mark it as a
    view. Skip tensors that are already views: a kernel made them.
    """
    for out in tensors_of((result,)):
        if out._keys & PYTHON and out._base is None and out is not source and out._grad_fn is None:
            if source._version_counter is None:
                source._version_counter = [0, source._storage]
            out._version_counter = source._version_counter
            if differentiable:
                mark_view(out, source)  # noqa: F821 (put here later)
