"""Tensors saved for backward, with their version, or packed by a pair of hooks."""
from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .._base.about import about
from .._base.errors import type_string
from .._base.interrupts import contextmanager
from .._dispatch.aten import detach
from .._dispatch.dispatcher import TENSOR_TYPES, is_seen
from .._dispatch.keys import AUTOGRAD, DUAL, INFERENCE
from .._dispatch.local import local
from .anomaly import AnomalyMode
from .grad_mode import no_grad
from .node import new
from .utils import ON_CPU

FREED = ("Trying to backward through the graph a second time (or directly access saved tensors after they have already "
         "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
         "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
         "saved tensors after calling backward.")


def twin(tensor: Any) -> Any:
    """Return an output outside the graph, for its node to save; by ``detach`` if a ``__torch_dispatch__`` is active."""
    return _detached(tensor) if is_seen(tensor) else tensor._saved_alias()


def _detached(tensor: Any) -> Any:
    """Return a tensor detached, with the tangents that ``detach`` drops."""
    return _with_tangents(detach(tensor), tensor)


def _with_tangents(out: Any, tensor: Any) -> Any:
    if tensor._tangents is not None:
        out._tangents = tensor._tangents
        out._keys |= DUAL
    return out


class Saved:
    """A tensor saved for backward.

    ``output_nr`` is the number of the node's output, or None for an input. An output is saved as a twin outside the
    graph, to avoid a reference cycle with its node. ``packed`` replaces ``tensor`` if hooks were used.
    """

    __slots__ = ("tensor", "version", "output_nr", "packed")
    tensor: Any
    version: int
    output_nr: int | None
    packed: Packed | Slice | None

    def unpack(self, node: Any, attach: bool = False) -> Any:
        """Return the tensor for ``node``. An output has its history only if grad mode is on or ``attach`` is set.

        Raises:
            RuntimeError: PyTorch's, if it was written or detached in place since.
        """
        tensor = self.tensor
        if tensor is None:
            return self.packed.restore(node, self.output_nr)  # type: ignore[union-attr]
        cell = tensor._version_counter
        if cell is not None and (cell[0] != self.version or tensor._detached_at):
            check_unchanged(tensor, self.version, node, self.output_nr, attach)
        if self.output_nr is not None:
            if is_seen(tensor):
                tensor = _detached(tensor)
            if attach or local.grad_enabled:
                return attached(tensor, node, self.output_nr)
        return tensor

    def pack(self, pack: Callable[[Any], Any], unpack: Callable[[Any], Any], node: Any) -> None:
        """Replace the tensor by the result of ``pack``."""
        tensor = self.tensor
        if self.output_nr is not None:
            tensor = attached(tensor, node, self.output_nr)
        version = tensor._version
        with no_grad():
            value = pack(tensor)
        if tensor._version != version:
            raise RuntimeError("A saved tensor pack hook is modifying its input in place. Tensors provided as input to "
                               "pack hook cannot be modified by in-place operations as this can lead to unexpected "
                               "side-effects. Please open an issue if you need to perform in-place operations on the "
                               "input to a pack hook.")
        edge = tensor._grad_edge() if self.output_nr is None and tensor._keys & AUTOGRAD else None
        self.packed = Packed(value, unpack, edge, tensor._grad_fn is None)
        self.tensor = None


def freed(node: Any) -> RuntimeError:
    """Return PyTorch's error for a node whose saved values were freed."""
    return about(RuntimeError(FREED), "backward twice", node=node)


def check_unchanged(tensor: Any, version: int, node: Any, output_nr: int | None = None, shown: bool = False) -> None:
    """Raise PyTorch's RuntimeError if a tensor saved by ``node`` has been written since, or detached in place.
    Detaching does not matter if the tensor is only ``shown``.
    """
    if node._order < tensor._detached_at and output_nr is None and not shown:
        raise about(RuntimeError("Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). "
                                 "This is not supported, please use out-of-place `.detach()` instead"),
                    "detached saved tensor", self=tensor, node=node.name())
    if tensor._version != version:
        raise modified(tensor, version, node, output_nr)


def modified(tensor: Any, version: int, node: Any, output_nr: int | None = None) -> RuntimeError:
    """Return PyTorch's error for a tensor, an input or an output of ``node``, that was written after it was saved."""
    origin = ""
    if output_nr is not None:
        origin = f", which is output {output_nr} of {node.forward_name()},"
    elif tensor.grad_fn is not None:
        origin = f", which is output {tensor._output_nr} of {tensor._grad_fn.forward_name()},"
    hint = ("the backtrace further above shows the operation that failed to compute its gradient. The variable in "
            "question was changed in there or anywhere later. Good luck!") if AnomalyMode.enabled else (
            "enable anomaly detection to find the operation that failed to compute its gradient, with "
            "torch.autograd.set_detect_anomaly(True, check_nan=False).")
    return about(RuntimeError("one of the variables needed for gradient computation has been modified by an inplace "
                              f"operation: [{type_string(tensor)} {list(tensor.shape)}]{origin} is at version "
                              f"{tensor._version}; expected version {version} instead. Hint: {hint}"),
                 "modified saved tensor", tensor=tensor, node=node, now=tensor._version, wanted=version)


class Packed(NamedTuple):
    """The result of a pack hook, its unpack hook, and the tensor's place in the graph."""

    value: Any
    unpack: Callable[[Any], Any]
    edge: Any
    is_leaf: bool

    def restore(self, node: Any, output_nr: int | None) -> Any:
        """Return the result of the unpack hook, at the saved tensor's place in the graph."""
        tensor = self.unpack(self.value)
        if tensor.__class__ not in TENSOR_TYPES:
            raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                            f"{type(tensor).__name__}")
        if output_nr is not None:
            return attached(tensor, node, output_nr)
        if self.edge is None:
            return tensor if not tensor._keys & AUTOGRAD else tensor._shallow_copy_and_detach()
        source, number = self.edge
        if not self.is_leaf:
            return attached(tensor, source, number)
        out = tensor._shallow_copy_and_detach()
        out._keys |= AUTOGRAD
        out._accumulator = weakref.ref(source)
        return out


class Slice(NamedTuple):
    """A twin of an output that was written into a view, and its version. The history of that view, the ``CopySlices``
    of its base, holds the node that saves it, so it is only referred to weakly, in place of a pack hook's result.
    """

    value: Any
    version: int
    history: Callable[[], Any]
    unpack: None = None

    def restore(self, node: Any, output_nr: int | None) -> Any:
        """Return the tensor, in its place in the graph if grad mode is on."""
        check_unchanged(self.value, self.version, node, 0)
        value = _detached(self.value) if is_seen(self.value) else self.value
        slices = self.history() if local.grad_enabled else None
        return value if slices is None else slices.view_of(value)


def save_slice(tensor: Any, slices: Any) -> Saved:
    """Save an output that was written into a view, whose base has the node ``slices`` for its history."""
    saved = save(tensor)
    if saved.packed is None and not tensor._keys & ~ON_CPU:
        saved.tensor, saved.packed = None, Slice(twin(tensor), saved.version, weakref.ref(slices))
    return saved


def attached(tensor: Any, node: Any, output_nr: int) -> Any:
    """Return a tensor over the same memory that is an output of ``node``."""
    out = tensor._shallow_copy_and_detach()
    out._grad_fn, out._output_nr = node, output_nr
    out._keys |= AUTOGRAD
    return _with_tangents(out, tensor)


def save(tensor: Any, output_nr: int | None = None, node: Any = None) -> Saved:
    """Save a tensor for backward: an input, or an output of ``node``. Raises RuntimeError for an inference tensor."""
    if tensor._keys & INFERENCE:
        raise about(RuntimeError("Inference tensors cannot be saved for backward. Please do not use Tensors created "
                                 "in inference mode in computation tracked by autograd. To work around this, you can "
                                 "make a clone to get a normal tensor and use it in autograd, or use "
                                 "`torch.no_grad()` instead of `torch.inference_mode()`."), "inference tensor")
    saved = new(Saved)
    saved.tensor, saved.output_nr, saved.packed = tensor, output_nr, None
    saved.version = 0 if (cell := tensor._version_counter) is None else cell[0]
    if local.saved_tensor_hooks:
        pack, unpack = local.saved_tensor_hooks[-1]
        saved.pack(pack, unpack, node)
    return saved


def keep_list(value: Any, fact: Callable[[Any], Any] | None) -> Any:
    """Save a list's tensors, or a fact of each; None for None."""
    if value is None:
        return None
    if fact is not None:
        return [fact(item) for item in value]
    return [save(item) if item.__class__ in TENSOR_TYPES else item for item in value]


def saved_as(tensor: Any, version: int = 0) -> Saved:
    """Return a ``Saved`` of an input that was kept directly, with the version that it had."""
    saved = new(Saved)
    saved.tensor, saved.version, saved.output_nr, saved.packed = tensor, version, None, None
    return saved


class SavedTensor:
    """The value of ``node._raw_saved_self``: a handle on a saved tensor, for registering hooks."""

    def __init__(self, node: Any, find: Callable[[], Saved | None]):
        self._node, self._find = node, find

    @property
    def data(self) -> Any:
        """The saved value: the tensor, or the result of a pack hook."""
        saved = self._find()
        return None if saved is None else saved.tensor if saved.packed is None else saved.packed.value

    @property
    def unpack_hook(self) -> Callable[[Any], Any] | None:
        """The hook that restores the tensor."""
        saved = self._find()
        return None if saved is None or saved.packed is None else saved.packed.unpack

    def unpack(self) -> Any:
        """Return the tensor."""
        saved = self._find()
        return None if saved is None else saved.unpack(self._node, True)

    def register_hooks(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        """Save ``pack_hook(tensor)`` in place of the tensor; ``unpack_hook`` restores it.

        Raises:
            TypeError: if a hook is not callable.
            RuntimeError: if there is no tensor, it was freed, or it already has hooks.
        """
        _check_hooks("register_hooks", pack_hook, unpack_hook)
        try:
            saved = self._find()
        except RuntimeError:
            raise RuntimeError("Calling register_hooks on a saved tensor after it has been freed. Saved intermediate "
                               "values of the graph are freed when you call .backward() or autograd.grad(). Specify "
                               "retain_graph=True if you need to backward through the graph a second time or if you "
                               "need to access saved variables after calling backward.") from None
        if saved is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        if saved.packed is not None:
            raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only "
                               "one pair of hooks is allowed at a time.")
        saved.pack(pack_hook, unpack_hook, self._node)


def push_hooks(pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
    """Save ``pack_hook(tensor)`` in place of each tensor in this thread from now on.

    Raises:
        TypeError: if a hook is not callable.
        RuntimeError: if such hooks are disabled, with the message of ``disable_saved_tensors_hooks``.
    """
    _check_hooks("saved_tensors_hooks", pack_hook, unpack_hook)
    if local.saved_tensor_hooks_disabled is not None:
        raise RuntimeError(local.saved_tensor_hooks_disabled)
    local.saved_tensor_hooks = (*local.saved_tensor_hooks, (pack_hook, unpack_hook))


def pop_hooks() -> None:
    """Undo the last ``push_hooks``."""
    local.saved_tensor_hooks = local.saved_tensor_hooks[:-1]


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Run a block in which using ``saved_tensors_hooks`` is an error with this message
    (``torch.autograd.graph.disable_saved_tensors_hooks``).

    Raises:
        RuntimeError: if such hooks are in use.
    """
    if local.saved_tensor_hooks:
        raise RuntimeError(error_message)
    before, local.saved_tensor_hooks_disabled = local.saved_tensor_hooks_disabled, error_message
    try:
        yield
    finally:
        local.saved_tensor_hooks_disabled = before


def _check_hooks(where: str, *hooks: Any) -> None:
    for hook in hooks:
        if not callable(hook):
            raise TypeError(f"{where}(): expected functions as hooks, but got {type(hook).__name__}")
