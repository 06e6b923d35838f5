"""Calls of PyTorch's dispatcher, as events like those of mindtorch's own, and their causes."""
from __future__ import annotations

import inspect
import os
import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from time import perf_counter_ns
from typing import Any

from ..._base.call_site import PACKAGE
from ..._dispatch.keys import DispatchKeySet
from ..._dispatch.observers import DispatchEvent, TensorMeta, ValueObserver, numbered
from .loaded import is_pytorchs_tensor, library_path, pytorch, tensors_in
from .nodes import root_of
from .tensors import layout_of, owner_of, stream_name


@cache
def observing_mode() -> Any:
    """Return a mode that reports operators to an observer; its class, made on first use, needs PyTorch's."""
    torch = sys.modules["torch"]

    class Observing(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[name-defined]
        """Tells an observer of each operator below autograd, as the backend's kernels get it, and of its values."""

        def __init__(self, observer: ValueObserver):
            super().__init__()
            self.observer, self.depth = observer, 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            called, sequence, kwargs = perf_counter_ns(), numbered(), kwargs or {}
            if func.namespace == "profiler":  # which PyTorch calls around its own functions, in case it is profiled
                return func(*args, **kwargs)
            inputs = tuple(map(_described, (*args, *kwargs.values())))
            error, result, self.depth = None, None, self.depth + 1
            start = perf_counter_ns()
            try:
                result = func(*args, **kwargs)
                return result
            except BaseException as raised:
                error = f"{type(raised).__name__}: {raised}"
                raise
            finally:
                duration = perf_counter_ns() - start
                self.depth -= 1
                thread, device = threading.current_thread(), _device((args, kwargs, result))
                outputs = result if isinstance(result, (list, tuple)) else () if error else (result,)
                name = func.name().removeprefix("aten::")
                path, file, line = _path(func, _key_set((args, kwargs), device))
                self.observer(DispatchEvent(
                    sequence, name, DispatchKeySet(0), path, func._schema.name.rpartition("::")[2], file, line, False,
                    inputs, tuple(map(_described, outputs)), called, start, duration, thread.ident or 0, thread.name,
                    _stream(device), self.depth, user_site(), error), (*args, *kwargs.values()), result)

    return Observing


@cache
def function_mode() -> Any:
    """Return a mode that reports calls of loss functions, which below autograd are operators like any other."""
    torch = sys.modules["torch"]
    functional = torch.nn.functional
    signatures = {getattr(functional, name): inspect.signature(getattr(functional, name)) for name in (
        "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div",
        "binary_cross_entropy", "binary_cross_entropy_with_logits", "soft_margin_loss", "hinge_embedding_loss",
        "margin_ranking_loss", "cosine_embedding_loss")}
    attention = functional.scaled_dot_product_attention  # of C, without a signature

    class Reporting(torch.overrides.TorchFunctionMode):  # type: ignore[name-defined]
        """Reports functions with their arguments by name."""

        def __init__(self, observer: Callable[[str, Mapping[str, Any], tuple[str, int, str]], None]):
            super().__init__()
            self.observer = observer

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result, kwargs = func(*args, **(kwargs or {})), kwargs or {}
            signature = signatures.get(func)
            if signature is not None or func is attention:
                given = signature.bind(*args, **kwargs).arguments if signature is not None else {
                    **dict(zip(("query", "key", "value", "attn_mask"), args, strict=False)), **kwargs}
                self.observer(func.__name__, given, user_site())
            return result

    return Reporting


def written_by(event: DispatchEvent) -> list[tuple[Any, int]]:
    """Return the written storages with new versions; this event's writes, counted later, are added."""
    positional, has_out = _writes(event.op)
    written = [given for given, writes in zip(event.inputs, positional, strict=False) if writes]
    metas = (meta for given in (*written, event.outputs * has_out)
             for meta in (given if isinstance(given, tuple) else (given,)))
    return [(meta.counter, meta.version + 1) for meta in metas if isinstance(meta, TensorMeta)]


@cache
def _writes(name: str) -> tuple[tuple[bool, ...], bool]:
    """Return which of its arguments by position an operator writes to, and whether it returns others that it wrote to.
    """
    namespace, _, rest = name.rpartition("::")
    packet, _, overload = rest.partition(".")
    schema = sys.modules["torch"]._C._get_schema(f"{namespace or 'aten'}::{packet}", overload)
    writes = [(bool(of.alias_info and of.alias_info.is_write), of.kwarg_only) for of in schema.arguments]
    return tuple(wrote for wrote, named in writes if not named), any(wrote and named for wrote, named in writes)


def backward_roots() -> Sequence[Any]:
    """Return the nodes that the running backward pass began with, found in its caller's frame."""
    frame: Any = sys._getframe(1)
    engine = os.path.join(library_path(), "autograd", "graph.py")
    while frame is not None and not (frame.f_code.co_filename == engine and "t_outputs" in frame.f_locals):
        frame = frame.f_back
    outputs = () if frame is None else frame.f_locals["t_outputs"]
    return [root_of(output) for output in outputs if is_pytorchs_tensor(output) and output.requires_grad]


def asked() -> tuple[str, str]:
    """Return the operator's caller: ``backward`` and the node, ``step of`` an optimizer, or '' twice."""
    torch = pytorch()
    if torch is None:
        return "", ""
    if (node := torch._C._current_autograd_node()) is not None:
        return "backward", node.name().rpartition("::")[2]
    frame: Any = sys._getframe(1)
    optimizers, *engine = (os.path.join(library_path(), *below) for below in (
        ("optim", ""), ("autograd", "__init__.py"), ("autograd", "graph.py")))  # backward and grad, and what they call
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(optimizers) and code.co_name == "step":
            return f"step of {type(frame.f_locals['self']).__name__}", ""
        if code.co_filename in engine:
            return "backward", ""
        frame = frame.f_back
    return "", ""


def _described(value: Any) -> Any:
    """Replace tensors by their metadata, also inside lists."""
    if is_pytorchs_tensor(value):
        look, memory = layout_of(value), owner_of(value)
        return TensorMeta(look.shape, look.dtype.name, look.stride, look.device, value.requires_grad, id(value),
                          0 if value.is_inference() else value._version, getattr(memory, "_cdata", 0))
    if isinstance(value, (list, tuple)):
        return tuple(map(_described, value))
    return value


def _device(values: Any) -> Any:
    """Return an operator's device: that of a tensor off the host, if there is one."""
    devices = [tensor.device for tensor in tensors_in(values)]
    return next((device for device in devices if device.type != "cpu"), devices[0] if devices else None)


def _stream(device: Any) -> str | None:
    """Return the stream that the operator went to, or None on the host."""
    asynchronous = device is not None and hasattr(getattr(sys.modules["torch"], device.type, None), "current_stream")
    return stream_name(device) if asynchronous and device.type != "cpu" else None


def _key_set(values: Any, device: Any) -> tuple[str, ...]:
    """Return the keys under which the operator's kernel was looked up: autograd's, if it records, and the backend's."""
    kind = "cpu" if device is None else device.type
    backend = {"cpu": "CPU", "cuda": "CUDA", "mps": "MPS", "xpu": "XPU", "meta": "Meta"}.get(kind, "PrivateUse1")
    recorded = sys.modules["torch"].is_grad_enabled() and any(tensor.requires_grad for tensor in tensors_in(values))
    return (f"Autograd{backend}", backend) if recorded else (backend,)


@cache
def _path(func: Any, keys: tuple[str, ...]) -> tuple[tuple[str, ...], str, int]:
    """Return the keys, and the file and line where PyTorch's kernel table registers the last of them."""
    table = sys.modules["torch"]._C._dispatch_dump_table(func.name())
    found = re.search(rf"^{keys[-1]}: registered at (.*):(\d+) ", table, re.MULTILINE)
    return (keys, found[1], int(found[2])) if found else (keys, "", 0)


def user_site() -> tuple[str, int, str]:
    """File, line and function of the innermost frame outside of both libraries."""
    library = os.path.join(library_path(), "")
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((PACKAGE, library)):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
