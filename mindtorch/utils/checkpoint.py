"""``torch.utils.checkpoint``: memory for time. What backward needs of a function is computed again, not kept."""
from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .._autograd.engine import backward as run_backward
from .._autograd.function import Function
from .._autograd.grad_mode import enable_grad, no_grad
from .._backends.random import fork_rng, get_rng_state, set_rng_state
from .._base.about import place, sketch, sketch_call
from .._base.call_site import call_site
from .._base.forks import load_module
from .._base.interrupts import contextmanager
from .._dispatch.dispatcher import set_local
from .._dispatch.local import local
from .._dispatch.overloads import ops
from .._tensor import Tensor
from .._transforms.pytree import tree_leaves
from ..autograd.graph import saved_tensors_hooks
from ._python_dispatch import TorchDispatchMode
from ._selective_checkpoint import (
    CheckpointPolicy as CheckpointPolicy, SelectiveCheckpointContext as SelectiveCheckpointContext,
    create_selective_checkpoint_contexts as create_selective_checkpoint_contexts,
)

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Return the indices of the accelerators on which tensors lie, and the states of their generators
    (``torch.utils.checkpoint.get_device_states``).
    """
    places = [leaf.device for leaf in tree_leaves(args) if isinstance(leaf, Tensor)]
    indices = [place.index or 0 for place in places if place.type not in ("cpu", "meta")]
    return indices, [load_module("mindtorch.npu").get_rng_state(index) for index in indices]


def set_device_states(devices: list[int], states: list[Tensor], *, device_type: str | None = None) -> None:
    """Set the states of accelerators' generators (``torch.utils.checkpoint.set_device_states``)."""
    for index, state in zip(devices, states, strict=True):
        load_module("mindtorch.npu").set_rng_state(state, index)


class CheckpointError(RuntimeError):
    """The function did not do the same when it was computed again."""


#: Whether a function that runs again is left as soon as all is there; None: as its checkpoint says.
_early_stop: bool | None = None


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Run a block whose checkpoints rerun their functions to the end in backward, or only as far as needed
    (``torch.utils.checkpoint.set_checkpoint_early_stop``).
    """
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


#: Whether checkpoints show what ran where the second call differs; None: as each says.
_debug: bool | None = None


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Run a block whose checkpoints compare the operators of both calls in their errors, or do not; None leaves it to
    their argument ``debug`` (``torch.utils.checkpoint.set_checkpoint_debug_enabled``).
    """
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


class _Log(TorchDispatchMode):
    """A block that notes each operator, the shapes and dtypes of its tensors, and the line that called it. Without
    ``detach``, which checkpoints call themselves.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is ops.aten.detach.default:
            return result
        self.lines.append(f"{func}{sketch_call(args, kwargs or {})} -> {sketch(result)}  # {place(call_site())}")
        return result


DIFFERENT = """An error happened while unpacking tensors.

Operators of the original forward pass:
{}

Operators of the recomputation:
{}

You are seeing this error because you passed `debug=True` to checkpoint, and the tensors saved by the original forward
pass differ from those saved by the recomputation. The first line that differs above is where the function did another
thing: it may read a global state, draw random numbers of its own, or depend on what it has changed itself."""


class _EnoughSaved(Exception):
    """All that was kept before is there again: the rest of the function need not run."""


class _Circumstances:
    """The random numbers and the precision in which a function ran, to run it again in."""

    def __init__(self, keep_random: bool):
        self.random = get_rng_state() if keep_random else None
        self.autocast = local.autocast

    @contextmanager
    def again(self) -> Iterator[None]:
        """Run a block in the same circumstances."""
        before = local.autocast
        with fork_rng(enabled=self.random is not None):
            if self.random is not None:
                set_rng_state(self.random)
            set_local("autocast", self.autocast)
            try:
                yield
            finally:
                set_local("autocast", before)


def noop_context_fn() -> Contexts:
    """Return two blocks that change nothing (``torch.utils.checkpoint.noop_context_fn``)."""
    return nullcontext(), nullcontext()


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
               context_fn: Callable[[], Contexts] = noop_context_fn, determinism_check: str = "default",
               debug: bool = False, early_stop: bool = True, **kwargs: Any) -> Any:
    """Call ``function(*args, **kwargs)`` and save only its arguments for backward, which calls the function again
    (``torch.utils.checkpoint.checkpoint``).

    With ``preserve_rng_state`` (the default) both calls draw the same random numbers. ``use_reentrant`` chooses the
    older way, which needs an argument that requires grad. ``debug`` has the error list the operators of both calls.
    Raises CheckpointError in backward, if the second call saves other tensors than the first, and ValueError for
    unknown arguments.
    """
    if use_reentrant is None:
        warnings.warn("torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
                      "use_reentrant=False is recommended, but if you need to preserve the current default behavior, "
                      "you can pass use_reentrant=True.", stacklevel=2)
        use_reentrant = True
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of {{'default': ..., 'none': ...}}, but got "
                         f"{determinism_check}")
    keep_random = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        if debug if _debug is None else _debug:
            if context_fn is not noop_context_fn:
                raise ValueError("debug=True is incompatible with non-default context_fn")
            context_fn = _logs
        frame = _Frame(function, args, kwargs, keep_random, context_fn, determinism_check == "default",
                       early_stop if _early_stop is None else _early_stop)
        with frame.forward_context, saved_tensors_hooks(frame.pack, frame.unpack):
            return function(*args, **kwargs)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    if not any(isinstance(arg, Tensor) and arg.requires_grad for arg in args):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)
    return CheckpointFunction.apply(function, keep_random, *args)


def _logs() -> Contexts:
    return _Log(), _Log()


# -- by hooks on what is kept ------------------------------------------------------------------------------------------


class _Kept:
    """A node's placeholder for the ``number``-th saved tensor."""

    def __init__(self, number: int):
        self.number = number


class _Outside:
    """The stand-in for a backward pass when saved tensors are read without one."""


def _described(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


class _Frame:
    """One call of a function."""

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any, keep_random: bool,
                 context_fn: Callable[[], Contexts], check: bool, early_stop: bool):
        self.call = lambda: function(*args, **kwargs)
        self.forward_context, self.recompute_context = context_fn()
        self.circumstances, self.check, self.early_stop = _Circumstances(keep_random), check, early_stop
        self.kept: list[weakref.ref[_Kept]] = []  # a node that is done lets go of its tensor
        self.descriptions: list[dict[str, Any]] = []
        #: for each backward pass, by their numbers, the tensors that were computed again and not asked for yet
        self.computed: weakref.WeakKeyDictionary[Any, dict[int, Tensor]] = weakref.WeakKeyDictionary()

    def pack(self, tensor: Tensor) -> _Kept:
        """Note a saved tensor's properties."""
        kept = _Kept(len(self.kept))
        self.kept.append(weakref.ref(kept))
        self.descriptions.append(_described(tensor))
        return kept

    def unpack(self, kept: _Kept) -> Tensor:
        """Give the tensor, for which the function is called again, once a backward pass."""
        task = local.task or _Outside()
        values = self.computed.get(task)
        if values is None:
            try:
                values = self.computed[task] = self.recompute()
            except CheckpointError as error:
                logs = [log for log in (self.forward_context, self.recompute_context) if isinstance(log, _Log)]
                if not logs:
                    raise
                raise CheckpointError(DIFFERENT.format(*["\n".join(log.lines) for log in logs])) from error
        if kept.number not in values:
            raise CheckpointError("torch.utils.checkpoint: Unpack is being triggered for a tensor that was already "
                                  "unpacked once. If you are calling ctx.saved_tensors in backward, make sure to do so "
                                  "only once. Otherwise please open an issue with details on your use case.")
        return values.pop(kept.number)

    def recompute(self) -> dict[int, Tensor]:
        """Call the function again, and return the tensors that it would save, by number."""
        found: list[Tensor] = []

        def note(tensor: Tensor) -> Tensor:
            if len(found) == len(self.kept):
                raise CheckpointError("torch.utils.checkpoint: trying to save more tensors during recomputation than "
                                      "during the original forward pass.")
            found.append(tensor.detach() if tensor.requires_grad else tensor)
            if self.early_stop and len(found) == len(self.kept):
                raise _EnoughSaved
            return found[-1]

        with self.circumstances.again(), enable_grad(), self.recompute_context:
            try:
                with saved_tensors_hooks(note, lambda tensor: tensor):
                    self.call()
            except _EnoughSaved:
                pass
        if len(found) != len(self.kept):
            raise CheckpointError("torch.utils.checkpoint: A different number of tensors was saved during the original "
                                  f"forward and recomputation.\nNumber of tensors saved during forward: "
                                  f"{len(self.kept)}\nNumber of tensors saved during recomputation: {len(found)}.")
        for number, (value, before) in enumerate(zip(found, self.descriptions, strict=True)):
            if self.check and _described(value) != before:
                raise CheckpointError("torch.utils.checkpoint: Recomputed values for the following tensors have "
                                      f"different metadata than during the forward pass.\ntensor at position "
                                      f"{number}:\nsaved metadata: {before}\nrecomputed metadata: "
                                      f"{_described(value)}\n.")
        return {number: value for number, value in enumerate(found) if self.kept[number]() is not None}


# -- by a function whose backward runs another backward pass -----------------------------------------------------------


class CheckpointFunction(Function):
    """The older way (``torch.utils.checkpoint.CheckpointFunction``)."""

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], keep_random: bool, *args: Any) -> Any:
        """Call the function without recording it."""
        ctx.function, ctx.circumstances = function, _Circumstances(keep_random)
        ctx.others = [None if isinstance(arg, Tensor) else arg for arg in args]
        ctx.places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Run the function again, recorded, and backward through it; RuntimeError for some inputs only."""
        if local.task.needed is not None:
            raise RuntimeError("When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                               "passing an `inputs` parameter to .backward(). To resolve this error, you can either "
                               "set use_reentrant=False, or call .backward() without passing the `inputs` argument.")
        args = list(ctx.others)
        for at, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[at] = tensor.detach().requires_grad_(tensor.requires_grad)
        with ctx.circumstances.again(), enable_grad():
            outputs = ctx.function(*args)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [(out, grad) for out, grad in zip(outputs, grads, strict=True)
                 if isinstance(out, Tensor) and out.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        run_backward([out for out, _ in pairs], [grad for _, grad in pairs])
        return None, None, *(arg.grad if isinstance(arg, Tensor) else None for arg in args)


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None,
                          **kwargs: Any) -> Any:
    """Call functions, or a Sequential's modules, in turn, in this many checkpoints; the last segment is computed as
    usual (``torch.utils.checkpoint.checkpoint_sequential``).
    """
    if use_reentrant is None:
        warnings.warn("torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed "
                      "explicitly. use_reentrant=False is recommended.", stacklevel=2)
        use_reentrant = True
    keep_random = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    chain = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def run(start: int, end: int) -> Callable[[Any], Any]:
        def segment(value: Any) -> Any:
            for function in chain[start:end]:
                value = function(value)
            return value

        return segment

    size, start = len(chain) // segments, 0
    for start in range(0, size * (segments - 1), size):
        input = checkpoint(run(start, start + size), input, use_reentrant=use_reentrant,
                           preserve_rng_state=keep_random)
    return run(size * (segments - 1), len(chain))(input)


__all__ = ["CheckpointError", "CheckpointFunction", "CheckpointPolicy", "SelectiveCheckpointContext", "checkpoint",
           "checkpoint_sequential", "create_selective_checkpoint_contexts", "noop_context_fn",
           "set_checkpoint_debug_enabled", "set_checkpoint_early_stop"]
