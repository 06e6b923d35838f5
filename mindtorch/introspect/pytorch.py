"""PyTorch's tensors: its answers to what introspection asks. See ``library.Library``.

PyTorch is not imported here: what it answers for exists only where the program has imported it. What is asked of its
tensors runs outside of the program's modes, so that nobody sees it, and no class's own ``__torch_function__`` or
``__torch_dispatch__`` is run.
"""
from __future__ import annotations

import os
import re
import reprlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cache, partial, wraps
from time import perf_counter_ns
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from .._call_site import PACKAGE
from .._dispatch.keys import DispatchKeySet
from .._dispatch.observers import ActivityObserver, DispatchEvent, Observer, TensorMeta, ValueObserver, numbered
from .._dtype import COMPLEX, DTYPES, FLOATING, INTEGER, RARE, DType
from .library import BackwardPass, Kept, Layout, LiveStorage, Named, NodeLook, Record, TrainingObserver, hook_of
from .off_host import Pending
from .sampling import sampling

#: The tensors that a tensor of another layout consists of, by their methods.
PARTS = {"sparse_coo": ("_indices", "_values"), "sparse_csr": ("crow_indices", "col_indices", "values"),
         "sparse_csc": ("ccol_indices", "row_indices", "values"),
         "sparse_bsr": ("crow_indices", "col_indices", "values"),
         "sparse_bsc": ("ccol_indices", "row_indices", "values")}
FAKE = "FakeTensor"
SHOWN = 4  #: tensors of a nested one at most whose shapes are named
Answer = TypeVar("Answer", bound=Callable[..., Any])


def pytorch() -> ModuleType | None:
    """PyTorch's module, if the program has imported it (and ``torch`` does not mean mindtorch)."""
    found = sys.modules.get("torch")
    if found is None or found.__name__ != "torch":
        return None
    return found if all(hasattr(found, name) for name in ("Tensor", "autograd", "_C")) else None  # else half imported


def quietly(answer: Answer) -> Answer:
    """A method that runs outside of all modes, unrecorded, with no class's own ``__torch_function__``."""

    @wraps(answer)
    def outside(*args: Any) -> Any:
        torch = sys.modules["torch"]
        with torch._C.DisableTorchFunction(), torch.no_grad(), torch.utils._python_dispatch._disable_current_modes():
            return answer(*args)

    return outside  # type: ignore[return-value]


class PyTorch:
    """Asks PyTorch's tensors and nodes for what they tell in Python."""

    @quietly
    def layout(self, tensor: Any) -> Layout:
        dtype, device = dtype_of(tensor.dtype), str(tensor.device)
        if not _materialized(tensor):
            return Layout((0,), (1,), 0, dtype, device, False)
        if tensor.is_nested:
            return Layout((tensor.size(0),), (), 0, dtype, device, without=_nested(tensor))
        shape, layout = _ints(tensor.shape), str(tensor.layout).removeprefix("torch.")
        if layout != "strided":
            return Layout(shape, (), 0, dtype, device, without=_sparse(tensor, layout))
        return Layout(shape, _ints(tensor.stride()), int(tensor.storage_offset()), dtype, device,
                      without=_without(tensor))

    @quietly
    def owner(self, tensor: Any) -> Any:
        return tensor.untyped_storage() if _has_storage(tensor) else tensor

    @quietly
    def aliases(self, tensor: Any, names: Mapping[int, str]) -> list[Any]:
        if not _has_storage(tensor):
            return []
        found = {id(other): other for other in (tensor, *self.seen_by(tensor.untyped_storage(), names))}
        bases = {id(base): base for other in found.values() if (base := other._base) is not None}
        return list({**found, **bases}.values())

    @quietly
    def seen_by(self, storage: Any, names: Mapping[int, str]) -> list[Any]:
        named, memory = names.tensors.values() if isinstance(names, Named) else (), storage.untyped()._cdata
        return [other for other in named if is_pytorchs_tensor(other) and _has_storage(other)
                and other.untyped_storage()._cdata == memory]

    @quietly
    def storage_bytes(self, tensor: Any) -> int:
        if _has_storage(tensor):
            return int(tensor.untyped_storage().nbytes())
        parts = PARTS.get(str(tensor.layout).removeprefix("torch."), ())
        return sum(part.untyped_storage().nbytes() for part in (getattr(tensor, name)() for name in parts))

    @quietly
    def is_shared(self, tensor: Any) -> bool:
        return _has_storage(tensor) and tensor.device.type == "cpu" and tensor.untyped_storage().is_shared()

    @quietly
    def address(self, tensor: Any) -> int:
        if not _has_storage(tensor) or tensor.device.type == "meta" or _is_wrapper(tensor) or not tensor.numel():
            return 0
        return tensor.data_ptr()

    @quietly
    def record(self, tensor: Any, length: int) -> Record:
        inference = tensor.is_inference()
        hooks = (tensor._backward_hooks, getattr(tensor, "_post_accumulate_grad_hooks", None))
        return Record(tensor.requires_grad, None if inference else tensor._version, tensor._base,
                      tuple(_history(tensor.grad_fn, length)) if length else (), sum(len(h) for h in hooks if h),
                      inference)

    @quietly
    def grad(self, tensor: Any) -> Any:
        return tensor._grad if tensor.is_leaf or tensor.retains_grad else None  # else it warns

    # -- values --------------------------------------------------------------------------------------------------------

    @quietly
    def pending(self, tensor: Any) -> Pending | None:
        device = tensor.device
        runtime = getattr(sys.modules["torch"], device.type, None)
        if _without(tensor) or device.type in ("cpu", "meta") or not hasattr(runtime, "current_stream"):
            return None
        if getattr(runtime, "is_current_stream_capturing", bool)():
            return Pending("the graph that is captured", "", 0, (), queue=f"on {stream_name(device)}")
        try:
            done = runtime.current_stream(device).query()  # type: ignore[union-attr]
        except RuntimeError as error:  # of a kernel that ran before: devices report late
            return Pending("", "", 0, (), str(error), f"on {stream_name(device)}")
        return None if done else Pending("what is queued there", "", 0, (), queue=f"on {stream_name(device)}")

    @quietly
    def values(self, tensor: Any) -> np.ndarray | None:
        return None if self._absent(tensor) else _array(tensor)

    @quietly
    def sample(self, tensor: Any) -> np.ndarray | None:
        if self._absent(tensor):
            return None
        plain = tensor.is_quantized or tensor.is_conj() or tensor.is_neg() or tensor.dtype.is_complex
        far = not self.is_near(tensor)
        return _array(tensor.detach()[sampling(tensor.shape)] if far or plain else tensor)

    @quietly
    def elements(self, tensor: Any, indices: Sequence[tuple[int, ...]]) -> list[Any] | None:
        if self._absent(tensor):
            return None
        if self.is_near(tensor) and not tensor.is_quantized and not tensor.is_conj() and not tensor.is_neg():
            values = _array(tensor)
            return [values[index].item() for index in indices]
        plain = tensor.detach()
        return [_array(plain[index]).item() for index in indices]

    def _absent(self, tensor: Any) -> bool:
        return bool(self.layout(tensor).without) or tensor.device.type == "meta" or self.pending(tensor) is not None

    def is_near(self, tensor: Any) -> bool:
        return tensor.device.type == "cpu"

    # -- the graph -----------------------------------------------------------------------------------------------------

    @quietly
    def root(self, tensor: Any) -> Any:
        return sys.modules["torch"].autograd.graph.get_gradient_edge(tensor).node

    @quietly
    def node(self, node: Any) -> NodeLook:
        variable = getattr(node, "variable", None)
        tables = () if variable is None else (variable._backward_hooks, variable._post_accumulate_grad_hooks)
        hooks = tuple(hook_of(hook) for table in tables if table for hook in table.values())
        looks = [(_ints(output.shape), output.dtype) for output in node._input_metadata] if variable is None else [
            (self.layout(variable).shape, variable.dtype)]
        kept, freed = _kept(node)
        return NodeLook(
            name=node.name(), variable=variable, hooks=hooks, kept=None if freed else tuple(kept),
            edges=tuple(None if edge[0] is None else (edge[0], edge[1]) for edge in node.next_functions),
            outputs=tuple((shape, dtype_of(dtype).name) for shape, dtype in looks),
            order=-1 if variable is not None else node._sequence_nr())

    @quietly
    def counted(self, tensor: Any) -> Any:
        return tensor.untyped_storage()._cdata if _has_storage(tensor) and not _is_wrapper(tensor) else None

    @quietly
    def place(self, tensor: Any) -> Any:
        look = self.layout(tensor)
        if not _has_storage(tensor) or look.without:
            return None
        return tensor.untyped_storage()._cdata, look.shape, look.stride, look.offset

    @quietly
    def output_number(self, tensor: Any) -> int:
        return tensor.output_nr

    # -- the whole library ---------------------------------------------------------------------------------------------

    @quietly
    def storages(self, objects: Iterable[Any]) -> list[LiveStorage]:
        torch = sys.modules["torch"]
        found: dict[int, LiveStorage] = {}
        for item in objects:
            kind = type(item)
            if issubclass(kind, torch.Tensor) and _materialized(item) and _has_storage(item) and not _is_wrapper(item):
                memory, tensor = item.untyped_storage(), item
            elif issubclass(kind, torch.UntypedStorage):
                memory, tensor = item, None
            else:
                continue
            if memory.device.type == "meta":
                continue
            live = found.setdefault(memory._cdata, LiveStorage(str(memory.device), memory.data_ptr(), memory.nbytes()))
            if tensor is not None:
                live.tensors.append(tensor)
        return list(found.values())

    @contextmanager
    def training(self, observer: TrainingObserver) -> Iterator[None]:
        torch = sys.modules["torch"]
        hooks = sys.modules[torch.optim.Optimizer.__module__]
        with ExitStack() as block:
            for handle in (torch.nn.modules.module.register_module_forward_pre_hook(partial(observer.call, self)),
                           hooks.register_optimizer_step_pre_hook(observer.before_step),
                           hooks.register_optimizer_step_post_hook(observer.after_step)):
                block.callback(handle.remove)
            block.enter_context(torch.autograd.set_detect_anomaly(True, check_nan=False))
            block.enter_context(_mode()(partial(observer.operator, self)))
            yield

    def backward_pass(self) -> BackwardPass | None:
        torch = sys.modules["torch"]
        number = torch._C._current_graph_task_id()
        return None if number == -1 else BackwardPass(number, torch._C._current_autograd_node(), _roots)

    def is_grad_enabled(self) -> bool:
        return sys.modules["torch"].is_grad_enabled()

    def drops(self, packet: str, args: Sequence[Any]) -> bool:
        """Below autograd there is no dropout any more: its noise is what is left, and the function that asked for it.
        """
        frame: Any = sys._getframe(1) if packet in ("bernoulli_", "native_dropout") else None
        functional = os.path.join(library_path(), "nn", "functional.py")
        while frame is not None and frame.f_code.co_filename != functional:
            frame = frame.f_back
        return frame is not None and "dropout" in frame.f_code.co_name

    def observing(self, observer: Observer, activities: ActivityObserver | None) -> AbstractContextManager[Any]:
        return _mode()(lambda event, args, result: observer(event))


def is_pytorchs_tensor(value: Any) -> bool:
    """Whether an object is a tensor of PyTorch's."""
    torch = pytorch()
    return torch is not None and issubclass(type(value), torch.Tensor)


def is_pytorchs_node(value: Any) -> bool:
    """Whether an object is a node of PyTorch's autograd graph."""
    torch = pytorch()
    return torch is not None and hasattr(type(value), "next_functions") and isinstance(value, torch.autograd.graph.Node)


def is_pytorchs(value: Any) -> bool:
    """Whether an object is a tensor, a storage or a node of PyTorch's."""
    torch = pytorch()
    return torch is not None and (isinstance(value, (torch.UntypedStorage, torch.TypedStorage))
                                  or is_pytorchs_tensor(value) or is_pytorchs_node(value))


# -- tensors -----------------------------------------------------------------------------------------------------------


@cache
def dtype_of(dtype: Any) -> DType:
    """PyTorch's dtype as mindtorch's of that name; one that mindtorch lacks is described."""
    name = str(dtype).removeprefix("torch.")
    if name in DTYPES or name in RARE:
        return DTYPES.get(name) or RARE[name]
    quantized = name.startswith(("q", "float"))
    return DType(name, COMPLEX if dtype.is_complex else FLOATING if quantized else INTEGER, dtype.itemsize, 0)


def stream_name(device: Any) -> str:
    """The name of a device's current stream in pictures, such as ``cuda:0 stream 0``, which is the default stream."""
    stream = getattr(sys.modules["torch"], device.type).current_stream(device)
    return f"{device} stream {getattr(stream, 'stream_id', 0)}"


def _ints(sizes: Iterable[Any]) -> tuple[int, ...]:
    """Sizes as numbers; of a size that is only known as a symbol, the number that it was first seen with."""
    return tuple(size if type(size) is int else int(getattr(size.node, "hint", None) or 0) for size in sizes)


def _materialized(tensor: Any) -> bool:
    return type(tensor).__name__ not in ("UninitializedParameter", "UninitializedBuffer")


def _has_storage(tensor: Any) -> bool:
    torch = sys.modules["torch"]
    inside = torch._C._functorch
    return _materialized(tensor) and torch._C._has_storage(tensor) and not tensor.is_nested and not (
        inside.is_batchedtensor(tensor) or inside.is_gradtrackingtensor(tensor) or inside.is_functionaltensor(tensor))


def _is_wrapper(tensor: Any) -> bool:
    """Whether a tensor's operators are those of its class, so that what it has of memory means nothing."""
    torch = sys.modules["torch"]
    own = getattr(type(tensor), "__torch_dispatch__", None)
    return own is not None and own not in (torch.Tensor.__torch_dispatch__, torch._C._disabled_torch_dispatch_impl)


def _without(tensor: Any) -> str:
    """Why a strided tensor's elements are not to be read; '' if they are, or if the device says so."""
    kind = type(tensor).__name__
    if kind == FAKE:
        return "a FakeTensor: shape, dtype and device are known, there are no values"
    if _is_wrapper(tensor):
        return f"a {kind}, whose operators are its own (__torch_dispatch__): they are not run to draw it"
    if not _has_storage(tensor) and not tensor.is_nested and str(tensor.layout) == "torch.strided":
        return "a tensor inside a transform of torch.func: its memory is that of the tensors that it stands for"
    return ""


def _sparse(tensor: Any, layout: str) -> str:
    if layout not in PARTS:
        return f"layout {layout}: how its elements lie is known to its operators only"
    parts = ", ".join(f"x.{name}() {list(getattr(tensor, name)().shape)}" for name in PARTS[layout])
    return (f"layout {layout}: {tensor._nnz():,} of {tensor.numel():,} elements are stored, with their places; "
            f"its parts are ordinary tensors: {parts}")


def _nested(tensor: Any) -> str:
    torch = sys.modules["torch"]
    if str(tensor.layout) == "torch.jagged":
        lengths = tensor.offsets().diff().tolist()
        found = [f"[{length}, {', '.join(map(str, tensor.shape[2:]))}]" for length in lengths[:SHOWN]]
        count = len(lengths)
    else:
        sizes = torch._C._nested_tensor_size(tensor) if hasattr(torch._C, "_nested_tensor_size") else (
            tensor._nested_tensor_size())
        found, count = [str(size) for size in sizes[:SHOWN].tolist()], len(sizes)
    more = ", …" if count > SHOWN else ""
    return f"nested: {count} tensors one after the other, of shapes {', '.join(found)}{more}; x.unbind() gives them"


def _array(tensor: Any) -> np.ndarray:
    """Values as an array, the tensor's own memory where it lies on the host as NumPy has it."""
    torch = sys.modules["torch"]
    plain = tensor.detach().cpu()
    if plain.is_quantized:
        plain = plain.dequantize()
    if plain.is_conj() or plain.is_neg():
        plain = plain.resolve_conj().resolve_neg()
    name = str(plain.dtype).removeprefix("torch.")
    if name == "complex32":
        return plain.to(torch.complex64).numpy()
    if name == "bfloat16" or name.startswith("float8"):
        bits = torch.int16 if plain.dtype.itemsize == 2 else torch.uint8
        return plain.view(bits).numpy().view(dtype_of(plain.dtype).np)
    return plain.numpy()


# -- nodes -------------------------------------------------------------------------------------------------------------


def _history(node: Any, length: int) -> Iterator[Any]:
    while node is not None and length:
        variable = getattr(node, "variable", None)
        yield node.name() if variable is None else variable
        node, length = next((edge[0] for edge in node.next_functions if edge[0] is not None), None), length - 1


@contextmanager
def watching_nodes(nodes: Iterable[Any], observer: Callable[[Any, Sequence[Any], Sequence[Any]], None]
                   ) -> Iterator[None]:
    """A block in which an observer is told of each of these nodes that has run, of the gradients of its outputs, and of
    those of its inputs.
    """
    arrived: dict[int, Sequence[Any]] = {}
    with ExitStack() as block:
        for node in nodes:
            block.callback(node.register_prehook(partial(arrived.__setitem__, id(node))).remove)
            block.callback(node.register_hook(lambda results, _, node=node: observer(
                node, arrived.pop(id(node), ()), results)).remove)
        yield


def _kept(node: Any) -> tuple[list[Kept], bool]:
    """What a node keeps, and whether it was freed."""
    found: list[Kept] = []
    for attribute in dir(node):
        raw, name = attribute.startswith("_raw_saved_"), attribute.removeprefix("_raw").removeprefix("_saved_")
        if raw:
            name = {"tensors": "saved_tensors"}.get(name, name)
            try:
                saved = getattr(node, attribute)
            except RuntimeError:  # of a Function, which was freed
                return [], True
            several = isinstance(saved, tuple)
            for i, one in enumerate(saved if several else (saved,)):
                kept = _saved(f"{name}[{i}]" if several else name, one,
                              one.unpack if several else partial(getattr, node, attribute.removeprefix("_raw")))
                if kept is None:
                    return [], True
                found.append(kept)
        elif attribute.startswith("_saved_") and f"_raw{attribute}" not in dir(node):
            with suppress(RuntimeError):
                found.append(Kept(name, reprlib.repr(getattr(node, attribute))))
    return found, False


def _saved(name: str, saved: Any, unpack: Callable[[], Any]) -> Kept | None:
    """A saved tensor, which ``unpack`` returns, without asking the hooks that packed it; None if it was freed."""
    if saved.unpack_hook is not None:
        return Kept(name, "packed by a hook", is_tensor=True)
    tensor, version, stale = saved.data, None, False
    try:
        unpacked = unpack()
    except RuntimeError as refused:
        if tensor is None:
            return None
        expected = re.search(r"expected version (\d+)", str(refused))
        version, stale = int(expected[1]) if expected else None, True
    else:
        if unpacked is None:
            return Kept(name, "None")
        tensor = unpacked if tensor is None else tensor
        version = None if tensor.is_inference() else tensor._version
    text = f"{dtype_of(tensor.dtype).name}[{', '.join(map(str, tensor.shape))}]"
    return Kept(name, text, tensor, version, stale, True)


# -- what the dispatcher does ------------------------------------------------------------------------------------------


@cache
def _mode() -> Any:
    """The mode that tells an observer of operators: its class needs PyTorch's, so it is made when it is first used."""
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
                    _stream(device), self.depth, _site(), error), (*args, *kwargs.values()), result)

    return Observing


def _roots() -> Sequence[Any]:
    """The nodes that the running backward pass began with, as its caller's frame tells."""
    frame: Any = sys._getframe(1)
    engine = os.path.join(library_path(), "autograd", "graph.py")
    while frame is not None and not (frame.f_code.co_filename == engine and "t_outputs" in frame.f_locals):
        frame = frame.f_back
    outputs = () if frame is None else frame.f_locals["t_outputs"]
    return [PyTorch().root(output) for output in outputs if is_pytorchs_tensor(output) and output.requires_grad]


def asked() -> tuple[str, str]:
    """What asks for the operator that is running: ``backward`` and there the node by its name, or ``step of`` an
    optimizer; both '' in a forward pass.
    """
    torch = pytorch()
    if torch is None:
        return "", ""
    if (node := torch._C._current_autograd_node()) is not None:
        return "backward", node.name()
    frame: Any = sys._getframe(1)
    optimizers, engine = (os.path.join(library_path(), *below) for below in (("optim", ""), ("autograd", "graph.py")))
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(optimizers) and code.co_name == "step":
            return f"step of {type(frame.f_locals['self']).__name__}", ""
        if code.co_filename == engine:
            return "backward", ""
        frame = frame.f_back
    return "", ""


def library_path() -> str:
    """The folder that PyTorch is in; a name that no file has, if it is not loaded."""
    torch = pytorch()
    return "<PyTorch>" if torch is None else os.path.dirname(torch.__file__ or "")


def _tensors(values: Any) -> Iterator[Any]:
    for value in values.values() if isinstance(values, dict) else values if isinstance(values, (list, tuple)) else ():
        if is_pytorchs_tensor(value):
            yield value
        else:
            yield from _tensors(value)


def _described(value: Any) -> Any:
    """A tensor's metadata; lists of them for lists; everything else as it is."""
    if is_pytorchs_tensor(value):
        answers = PyTorch()
        look, memory = answers.layout(value), answers.owner(value)
        return TensorMeta(look.shape, look.dtype.name, look.stride, look.device, value.requires_grad, id(value),
                          0 if value.is_inference() else value._version, getattr(memory, "_cdata", 0))
    if isinstance(value, (list, tuple)):
        return tuple(map(_described, value))
    return value


def _device(values: Any) -> Any:
    """The device that an operator runs on: that of a tensor that is not on the host, if there is one."""
    devices = [tensor.device for tensor in _tensors(values)]
    return next((device for device in devices if device.type != "cpu"), devices[0] if devices else None)


def _stream(device: Any) -> str | None:
    """The stream that the operator went to; None on the host."""
    asynchronous = device is not None and hasattr(getattr(sys.modules["torch"], device.type, None), "current_stream")
    return stream_name(device) if asynchronous and device.type != "cpu" else None


def _key_set(values: Any, device: Any) -> tuple[str, ...]:
    """The keys that the operator's kernel was looked for under: autograd's, if it records, and the backend's."""
    kind = "cpu" if device is None else device.type
    backend = {"cpu": "CPU", "cuda": "CUDA", "mps": "MPS", "xpu": "XPU", "meta": "Meta"}.get(kind, "PrivateUse1")
    recorded = sys.modules["torch"].is_grad_enabled() and any(tensor.requires_grad for tensor in _tensors(values))
    return (f"Autograd{backend}", backend) if recorded else (backend,)


@cache
def _path(func: Any, keys: tuple[str, ...]) -> tuple[tuple[str, ...], str, int]:
    """The keys, and where the kernel of the last of them is registered, as PyTorch's table of kernels tells."""
    table = sys.modules["torch"]._C._dispatch_dump_table(func.name())
    found = re.search(rf"^{keys[-1]}: registered at (.*):(\d+) ", table, re.MULTILINE)
    return (keys, found[1], int(found[2])) if found else (keys, "", 0)


def _site() -> tuple[str, int, str]:
    """File, line and function of the innermost frame outside of both libraries."""
    library = os.path.join(library_path(), "")
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((PACKAGE, library)):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
