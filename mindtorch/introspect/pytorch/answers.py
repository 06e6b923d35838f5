"""Asks PyTorch's tensors, nodes and dispatcher. See ``library.Library``."""
from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any

import numpy as np

from ..._base.interrupts import contextmanager
from ..._dispatch.observers import ActivityObserver, DispatchEvent, Observer
from ..layouts import PARTS
from ..library import (
    BackwardPass, CallObserver, Layout, LiveStorage, ModuleObserver, Named, NodeLook, Record, TrainingObserver,
    WriteObserver, called,
)
from ..off_host import Pending
from ..sampling import sampling
from .calls import observing_calls, observing_modules
from .dispatching import backward_roots, function_mode, observing_mode, written_by
from .loaded import is_pytorchs_tensor, library_path, quietly
from .nodes import history, look_of, root_of
from .tensors import array_of, has_storage, is_wrapper, layout_of, materialized, owner_of, stream_name, without_values


class PyTorch:
    """Asks PyTorch's tensors and nodes for what they tell in Python."""

    def layout(self, tensor: Any) -> Layout:
        return layout_of(tensor)

    def owner(self, tensor: Any) -> Any:
        return owner_of(tensor)

    @quietly
    def aliases(self, tensor: Any, names: Mapping[int, str]) -> list[Any]:
        if not has_storage(tensor):
            return []
        found = {id(other): other for other in (tensor, *self.seen_by(tensor.untyped_storage(), names))}
        bases = {id(base): base for other in found.values() if (base := other._base) is not None}
        return list({**found, **bases}.values())

    @quietly
    def seen_by(self, storage: Any, names: Mapping[int, str]) -> list[Any]:
        named, memory = names.tensors.values() if isinstance(names, Named) else (), storage.untyped()._cdata
        return [other for other in named if is_pytorchs_tensor(other) and has_storage(other)
                and other.untyped_storage()._cdata == memory]

    @quietly
    def storage_bytes(self, tensor: Any) -> int:
        if has_storage(tensor):
            return int(tensor.untyped_storage().nbytes())
        parts = PARTS.get(str(tensor.layout).removeprefix("torch."), ())
        return sum(part.untyped_storage().nbytes() for part in (getattr(tensor, name)() for name in parts))

    @quietly
    def is_shared(self, tensor: Any) -> bool:
        return has_storage(tensor) and tensor.device.type == "cpu" and tensor.untyped_storage().is_shared()

    @quietly
    def address(self, tensor: Any) -> int:
        if not has_storage(tensor) or tensor.device.type == "meta" or is_wrapper(tensor) or not tensor.numel():
            return 0
        return tensor.data_ptr()

    @quietly
    def record(self, tensor: Any, length: int) -> Record:
        inference = tensor.is_inference()
        hooks = (tensor._backward_hooks, getattr(tensor, "_post_accumulate_grad_hooks", None))
        return Record(tensor.requires_grad, None if inference else tensor._version, tensor._base,
                      tuple(history(tensor.grad_fn, length)) if length else (), sum(len(h) for h in hooks if h),
                      inference)

    @quietly
    def grad(self, tensor: Any) -> Any:
        return tensor._grad if tensor.is_leaf or tensor.retains_grad else None  # else it warns

    # -- values --------------------------------------------------------------------------------------------------------

    @quietly
    def pending(self, tensor: Any) -> Pending | None:
        device = tensor.device
        runtime = getattr(sys.modules["torch"], device.type, None)
        if without_values(tensor) or device.type in ("cpu", "meta") or not hasattr(runtime, "current_stream"):
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
        return None if self._absent(tensor) else array_of(tensor)

    @quietly
    def sample(self, tensor: Any) -> np.ndarray | None:
        if self._absent(tensor):
            return None
        if tensor.is_conj():
            tensor = tensor.conj()  # of the same magnitude, and nothing is copied
        costly = tensor.is_quantized or tensor.is_neg() or not self.is_near(tensor)
        return array_of(tensor.detach()[sampling(tensor.shape)] if costly else tensor)

    @quietly
    def elements(self, tensor: Any, indices: Sequence[tuple[int, ...]]) -> list[Any] | None:
        if self._absent(tensor):
            return None
        if self.is_near(tensor) and not tensor.is_quantized and not tensor.is_conj() and not tensor.is_neg():
            values = array_of(tensor)
            return [values[index].item() for index in indices]
        plain = tensor.detach()
        return [array_of(plain[index]).item() for index in indices]

    def _absent(self, tensor: Any) -> bool:
        return bool(self.layout(tensor).without) or tensor.device.type == "meta" or self.pending(tensor) is not None

    def is_near(self, tensor: Any) -> bool:
        return tensor.device.type == "cpu"

    # -- the graph -----------------------------------------------------------------------------------------------------

    def root(self, tensor: Any) -> Any:
        return root_of(tensor)

    def node(self, node: Any) -> NodeLook:
        return look_of(node)

    @quietly
    def links(self, node: Any) -> tuple[list[Any], Any]:
        return [edge[0] for edge in node.next_functions if edge[0] is not None], getattr(node, "variable", None)

    def given(self, event: DispatchEvent, args: Sequence[Any]) -> Mapping[str, Any] | None:
        return None  # above, where its functions are seen

    @quietly
    def counted(self, tensor: Any) -> Any:
        return tensor.untyped_storage()._cdata if has_storage(tensor) and not is_wrapper(tensor) else None

    @quietly
    def place(self, tensor: Any) -> Any:
        look = self.layout(tensor)
        if not has_storage(tensor) or look.without:
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
            if issubclass(kind, torch.Tensor) and materialized(item) and has_storage(item) and not is_wrapper(item):
                memory, tensor = item.untyped_storage(), item
            elif issubclass(kind, torch.UntypedStorage):
                memory, tensor = item, None
            else:
                continue
            if memory.device.type == "meta":
                continue
            live = found.setdefault(memory._cdata, LiveStorage(
                str(memory.device), memory.data_ptr(), memory.nbytes(), []))
            if tensor is not None:
                live.tensors.append(tensor)
        return list(found.values())

    @contextmanager
    def training(self, observer: TrainingObserver) -> Iterator[None]:
        torch = sys.modules["torch"]
        hooks = sys.modules[torch.optim.Optimizer.__module__]
        with ExitStack() as block:
            for handle in (torch.nn.modules.module.register_module_forward_pre_hook(partial(called, self, observer)),
                           hooks.register_optimizer_step_pre_hook(observer.before_step),
                           hooks.register_optimizer_step_post_hook(observer.after_step)):
                block.callback(handle.remove)
            block.enter_context(torch.autograd.set_detect_anomaly(True, check_nan=False))
            block.enter_context(observing_mode()(partial(observer.operator, self)))
            block.enter_context(function_mode()(observer.function))
            yield

    def calls(self, observer: CallObserver) -> AbstractContextManager[None]:
        torch = sys.modules["torch"]
        return observing_calls(torch.overrides.TorchFunctionMode, torch.nn.modules.module, observer, quietly)

    def modules(self, observer: ModuleObserver) -> AbstractContextManager[None]:
        return observing_modules(sys.modules["torch"].nn.modules.module, observer, quietly)

    def backward_pass(self) -> BackwardPass | None:
        torch = sys.modules["torch"]
        number = torch._C._current_graph_task_id()
        return None if number == -1 else BackwardPass(number, torch._C._current_autograd_node(), backward_roots)

    def is_grad_enabled(self) -> bool:
        return sys.modules["torch"].is_grad_enabled()

    def drops(self, packet: str, args: Sequence[Any]) -> bool:
        """Return True for dropout's noise, which is what is left of dropout below autograd."""
        frame: Any = sys._getframe(1) if packet in ("bernoulli_", "native_dropout") else None
        functional = os.path.join(library_path(), "nn", "functional.py")
        while frame is not None and frame.f_code.co_filename != functional:
            frame = frame.f_back
        return frame is not None and "dropout" in frame.f_code.co_name

    def observing(self, observer: Observer, activities: ActivityObserver | None) -> AbstractContextManager[Any]:
        return observing_mode()(lambda event, args, result: observer(event))

    def watching_writes(self, observer: WriteObserver) -> AbstractContextManager[Any]:
        return observing_mode()(lambda event, args, result: observer(event, written_by(event)))
