"""A reader's parts in the running library: kernels, a backward engine, an allocator's policy, a dispatch key.

Each is put in by a context manager, and taken out after its block, whatever happens in it. A part serves the thread
that put it in; other threads keep the library's own. Blocks may be nested and may end in any order. The last part that
was put in runs first; its own calls reach the part below it, and finally the library's own, so a part may use the
function that it replaces. Without parts the library's functions are untouched, and cost nothing more.
"""
from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from .._autograd import engine
from .._autograd.accumulate import AccumulateGrad
from .._autograd.node import Node
from .._backends.npu.allocator import Allocator, Block
from .._base.interrupts import contextmanager
from .._base.layout import Spec
from .._dispatch.dispatcher import TENSOR_TYPES, has_derivative, keys_of, set_mode, switched, tensors_of
from .._dispatch.keys import ADDED, BACKEND_OF_DEVICE, BACKENDS, META, DispatchKey
from .._dispatch.local import local
from .._dispatch.registry import Kernel, Operator
from .._dispatch.schemas import registry
from .._tensor.printing import type_text
from .said import Refused

_lock = threading.RLock()


class Layer:
    """A reader's function, for one thread. While it runs, its calls go to the layer below."""

    def __init__(self, run: Callable[..., Any], function: Callable[..., Any]):
        self.run, self.function = run, function
        self.thread, self.running = threading.get_ident(), False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.running = True
        try:
            return self.run(*args, **kwargs)
        finally:
            self.running = False


class Seam:
    """A place of the library where readers' functions come before its own; ``undo`` takes it out."""

    def __init__(self, own: Callable[..., Any]):
        self.own = own
        self.layers: list[Layer] = []
        self.undo: Callable[[], None]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        here = threading.get_ident()
        for layer in reversed(self.layers):
            if layer.thread == here and not layer.running:
                return layer(*args, **kwargs)
        return self.own(*args, **kwargs)

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The function that traces show for the place, with its file and line."""
        return self.layers[-1].function if self.layers else self.own

    @property
    def __name__(self) -> str:
        return getattr(self.__wrapped__, "__name__", "<lambda>")


_seams: dict[Any, Seam] = {}


@contextmanager
def _layered(place: Any, own: Callable[[], Callable[..., Any]], put: Callable[[Seam], Callable[[], None]],
             run: Callable[..., Any], function: Callable[..., Any]) -> Iterator[None]:
    """Add a function at a place for a block; the first installs the seam ``put``, the last removes it."""
    layer = Layer(run, function)
    with _lock:
        seam = _seams.get(place)
        if seam is None:
            seam = Seam(own())
            seam.undo = put(seam)
            _seams[place] = seam
        seam.layers.append(layer)
    try:
        yield
    finally:
        with _lock:
            seam.layers.remove(layer)
            if not seam.layers:
                del _seams[place]
                seam.undo()


def _check_callable(what: str, function: Any, fewest: int, most: int, example: str) -> None:
    """Refuse a value that cannot be called with ``fewest`` to ``most`` arguments."""
    if not callable(function):
        raise Refused(f"{what} needs a function, but {function!r} cannot be called")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions in C have no signature
        return
    for count in (fewest, most):
        try:
            signature.bind(*range(count))
        except TypeError:
            counts = f"{fewest} to {most}" if fewest != most else str(fewest)
            raise Refused(f"{what} passes {counts} arguments, but {getattr(function, '__name__', 'the function')}"
                          f"{signature} does not take {count}: begin it with {example}") from None


# -- kernels -----------------------------------------------------------------------------------------------------------


def replace(operator: str, device: str, function: Callable[..., Any]) -> AbstractContextManager[None]:
    """Let ``function`` compute an operator on 'cpu', 'meta' or 'npu', in this thread and for the block.

    It is called with the operator's arguments in the order of its schema, tensors for tensors (a number may stand where
    Python's operators were given one, as in ``a + 1``), and returns new tensors. Autograd records around it. The
    in-place and ``out=`` forms use it too. ``operator`` is a name such as 'add.Tensor', or 'relu'.

    Raises:
        Refused: at once, if there is no such operator or device, if it has no kernel of its own there to replace, or if
            ``function`` takes another number of arguments; in a call, if what it returns does not agree in number,
            shape, dtype and device with the meta kernel, or shares the memory of an argument.
    """
    what = f"replace({operator!r}, {device!r}, ...)"
    if operator not in registry:
        raise Refused(f"{what}: there is no operator of that name")
    op = registry[operator]
    if device not in BACKEND_OF_DEVICE:
        raise Refused(f"{what}: there is no device {device!r}; there are {', '.join(BACKEND_OF_DEVICE)}")
    key = BACKEND_OF_DEVICE[device]
    own = _replaceable(op, key, what)
    parameters = op.schema.parameters
    fewest = sum(parameter.default is type(parameter).default for parameter in parameters)
    written = ", ".join(str(p).partition(" ")[2].replace(" = ", "=") for p in parameters)
    _check_callable(what, function, fewest, len(parameters), f"def mine({written})")
    name = getattr(function, "__name__", "the function")

    def run(*args: Any) -> Any:
        expected = _expected(op, key, own, args)
        with switched(below_autograd=True, grad_enabled=False):
            result = function(*args)
        _check_result(f"{what}: {name}", result, expected, args)
        return result

    def put(seam: Seam) -> Callable[[], None]:
        forms = (op, *op.forms)
        before = [dict(form.kernels) for form in forms]

        def undo() -> None:
            registry.forget_resolved(op)
            for form, kernels in zip(forms, before, strict=True):
                form.kernels = kernels

        op.kernels[key] = Kernel(seam, seam, registered=True)
        registry.forget_resolved(op)
        return undo

    return _layered((op.name, key), lambda: own.fn, put, run, function)


def _replaceable(op: Operator, key: int, what: str) -> Kernel:
    """Return the kernel to replace, the library's own or a reader's. Refuse it if a function cannot replace it."""
    if op.functional is not None or op.is_inplace:
        of = op.functional.name if op.functional is not None else op.name.replace("_.", ".").removesuffix("_")
        raise Refused(f"{what}: {op.name} is a form of {of}, which only writes its result elsewhere: replace {of}")
    kernel = op.kernel(key)
    if kernel is None:
        raise Refused(f"{what}: {op.name} has no kernel there to replace")
    if kernel.makes_view:
        raise Refused(f"{what}: {op.name} only makes a view, which the library must know: it cannot be replaced")
    if kernel.composite and not has_derivative(op):
        raise Refused(f"{what}: {op.name} is written in other operators, which %%dispatch shows: replace one of those")
    return kernel


def _expected(op: Operator, key: int, own: Kernel, args: tuple[Any, ...]) -> list[Any]:
    """Return the outputs that the meta kernel in force describes (the one below for a meta kernel)."""
    meta = own if key == META else op.kernel(META)
    if meta is None:
        raise Refused(f"{op.name} has no meta kernel to describe its outputs: replace that first")
    if not meta.registered and op.name in registry.meta_rows:
        said = op.meta(*args)
        return [said] if isinstance(said, Spec) else list(said)
    with switched(below_autograd=True):
        return tensors_of((meta.fn(*map(_on_meta, args)),))


def _on_meta(value: Any) -> Any:
    if value.__class__ in TENSOR_TYPES:
        return value.detach().to("meta")
    return [_on_meta(item) for item in value] if isinstance(value, list | tuple) else value


def _check_result(what: str, result: Any, expected: list[Any], args: tuple[Any, ...]) -> None:
    """Refuse a result that would break later operators."""
    outputs = tensors_of((result,))
    if len(outputs) != len(expected) or not (isinstance(result, list | tuple) or outputs):
        wanted = "a tensor" if len(expected) == 1 else f"{len(expected)} tensors"
        hint = ": write return" if result is None else (
            ": torch.from_numpy makes a tensor of it" if type(result).__name__ == "ndarray" else "")
        raise Refused(f"{what} must return {wanted}, but returned {_a(result)}{hint}")
    inputs = tensors_of(args)
    device = inputs[0].device if inputs else None
    for got, wanted in zip(outputs, expected, strict=True):
        if got.dtype != wanted.dtype or (wanted.shape is not None and tuple(got.shape) != tuple(wanted.shape)):
            raise Refused(f"{what} returned {_type(got)}, but the meta kernel says {_type(wanted)} for "
                          f"{', '.join(map(_type, args))}")
        if keys_of((got,)) & BACKENDS & ~keys_of(args):
            raise Refused(f"{what} returned a tensor on {got.device}, but its arguments are on {device}")
        if any(got is given or got._storage is given._storage for given in inputs):
            raise Refused(f"{what} returned an argument, or a view of one: this operator makes a new tensor")


def _type(value: Any) -> str:
    if value.__class__ in TENSOR_TYPES or isinstance(value, Spec):
        return type_text(value)
    return repr(value) if isinstance(value, int | float | bool | str) else type(value).__name__


def _a(value: Any) -> str:
    """Return the name of a wrong value for a sentence."""
    if value is None:
        return "nothing"
    tensors = len(tensors_of((value,)))
    kind = type(value).__name__
    if tensors:
        return f"{tensors} tensors" if tensors > 1 else _type(value)
    return f"{'an' if kind[0] in 'aeio' or kind == 'ndarray' else 'a'} {kind}"


# -- the engine --------------------------------------------------------------------------------------------------------


def replace_engine(function: Callable[[Sequence[Any], Sequence[Any]], None]) -> AbstractContextManager[None]:
    """Let ``function(roots, gradients)`` run the backward passes of this thread, for the block.

    ``roots`` are pairs (node, number of output), as in ``next_functions``, and ``gradients`` the gradients to start
    from. The function calls nodes, ``node(gradient)``, which return the gradients of their inputs; the nodes of leaves
    add the gradient to ``.grad``. It records nothing. Saved tensors are freed after it, unless ``retain_graph``.
    ``autograd.grad``, ``backward(inputs=...)`` and ``create_graph=True`` stay with the library's engine, since they
    need more than this.

    Raises:
        Refused: at once, if it does not take two arguments; after a pass, if no leaf got a gradient, or one got a
            gradient of another shape or dtype than its own. The gradients are then those from before.
    """
    _check_callable("replace_engine", function, 2, 2, "def engine(roots, gradients)")

    def run(roots: Sequence[Any], gradients: Sequence[Any], retain_graph: bool | None, create_graph: bool,
            inputs: Any = None, capture: bool = False, own: bool = False) -> Any:
        if create_graph or inputs is not None:
            return _seams["engine"].own(roots, gradients, retain_graph, create_graph, inputs, capture, own)
        if local.pipeline is not None:
            local.pipeline.flush()
        nodes = _below(roots)
        leaves = [node.variable for node in nodes if isinstance(node, AccumulateGrad)]
        before = [leaf._grad for leaf in leaves]
        versions = [None if gradient is None else gradient._version for gradient in before]
        with switched(grad_enabled=False):
            function(list(roots), list(gradients))
        try:
            _check_gradients(leaves, before, versions)
        except Refused:
            for leaf, gradient in zip(leaves, before, strict=True):
                leaf._grad = gradient
            raise
        if not retain_graph:
            for node in nodes:
                node.release_variables()
        return ()

    def put(seam: Seam) -> Callable[[], None]:
        own, engine.execute = engine.execute, seam

        def undo() -> None:
            engine.execute = own

        return undo

    return _layered("engine", lambda: engine.execute, put, run, function)


def _below(roots: Sequence[tuple[Node, int]]) -> list[Node]:
    """Return all nodes of the graph below some."""
    found = dict.fromkeys(node for node, _ in roots)
    nodes = list(found)
    for node in nodes:
        node.unfold()
        for _, below, _ in node._links:
            if below not in found:
                found[below] = None
                nodes.append(below)
    return nodes


def _check_gradients(leaves: list[Any], before: list[Any], versions: list[int | None]) -> None:
    """Refuse a pass that gave no leaf a gradient, or one a gradient of the wrong shape or dtype."""
    untouched = 0
    for leaf, old, version in zip(leaves, before, versions, strict=True):
        gradient = leaf._grad
        if gradient is old and (old is None or old._version == version):
            untouched += 1
        elif tuple(gradient.shape) != tuple(leaf.shape) or gradient.dtype != leaf.dtype:
            raise Refused(f"the engine gave a leaf {_type(leaf)} a gradient {_type(gradient)}: sum the gradient of a "
                          "broadcast tensor to the leaf's shape")
    if leaves and untouched == len(leaves):
        raise Refused("the engine has returned, but no leaf has a gradient: call the nodes of leaves, too")


# -- the allocator -----------------------------------------------------------------------------------------------------


def replace_allocator(policy: Callable[[Sequence[tuple[int, int]], int], int | None]) -> AbstractContextManager[None]:
    """Let ``policy(free, size)`` pick the NPU's memory for this thread's tensors, for the block.

    ``free`` lists the free blocks that are large enough, as pairs (address, bytes) in the order of their addresses;
    ``size`` is the number of bytes needed. The policy returns the position in the list of the block to take, or None
    for new memory from the device. The rest of a block stays free.

    Raises:
        Refused: at once, if it does not take two arguments; when memory is needed, if it returns anything else.
    """
    _check_callable("replace_allocator", policy, 2, 2, "def policy(free, size)")
    name = getattr(policy, "__name__", "the policy")

    def run(fitting: Sequence[Block], size: int) -> Block | None:
        free = sorted(fitting, key=lambda block: block.ptr)
        picked = policy([(block.ptr, block.size) for block in free], size)
        if picked is None:
            return None
        if type(picked) is not int or not 0 <= picked < len(free):
            raise Refused(f"{name} must return None, or the position of a block in the list, 0 to {len(free) - 1}, "
                          f"but returned {picked!r}")
        return free[picked]

    def put(seam: Seam) -> Callable[[], None]:
        own = Allocator.__dict__["fit"]
        Allocator.fit = staticmethod(seam)

        def undo() -> None:
            Allocator.fit = own

        return undo

    return _layered("allocator", lambda: Allocator.fit, put, run, policy)


# -- dispatch keys -----------------------------------------------------------------------------------------------------


class AddedKey:
    """A reader's dispatch key: its name, and the kernel that runs for every operator."""

    def __init__(self, name: str, kernel: Callable[..., Any]):
        self.name, self.kernel, self.running = name, kernel, False

    def __call__(self, op: Operator, *args: Any) -> Any:
        if self.running:
            raise Refused(f"the kernel of the key {self.name!r} called {op.name}, which came back to the same kernel, "
                          f"and would for ever. Call operators inside `with excluded({self.name!r}):`")
        self.running = True
        try:
            return self.kernel(op, *args)
        finally:
            self.running = False


_threads_with_keys: list[int] = []


@contextmanager
def add_key(name: str, kernel: Callable[..., Any]) -> Iterator[None]:
    """Let the dispatcher call ``kernel(op, *args)`` first, for every operator that this thread calls in the block.

    The key stands where PyTorch's autocast keys stand: before Autograd, so that autograd records the kernel's calls.
    ``op.name`` is the operator's name, such as 'mm', and ``op(*args)`` calls it again, from the top: inside ``with
    excluded(name):`` that call skips this key. A key that is added inside the block of another comes before it. Raises
    Refused if a key of this name is there, or ``kernel`` cannot be called so; in a call, if the kernel calls an
    operator without excluding its key.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise Refused(f"add_key: {name!r} is not a name for a key")
    if name in DispatchKey.__members__ or any(key.name == name for key in local.added):
        raise Refused(f"add_key: there is a key {name!r} already")
    if not callable(kernel):
        raise Refused(f"add_key needs a function, but {kernel!r} cannot be called")
    try:
        inspect.signature(kernel).bind(None, *range(9))
    except TypeError:
        raise Refused("add_key: operators have different numbers of arguments: begin the kernel with "
                      "def kernel(op, *args)") from None
    before = local.added
    local.added = (*before, AddedKey(name, kernel))
    _hold(1)
    try:
        yield
    finally:
        _hold(-1)
        local.added = before


def _hold(step: int) -> None:
    """Count the blocks with keys: while there is one, every call checks its thread."""
    with _lock:
        if step > 0:
            _threads_with_keys.append(threading.get_ident())
        else:
            _threads_with_keys.remove(threading.get_ident())
        set_mode(ADDED, bool(_threads_with_keys))


@contextmanager
def excluded(name: str) -> Iterator[None]:
    """Skip a key in a block of this thread (PyTorch's ``ExcludeDispatchKeyGuard``); Refused if unknown."""
    before = local.added
    if not any(key.name == name for key in before):
        raise Refused(f"excluded({name!r}): there is no key of that name to exclude")
    local.added = tuple(key for key in before if key.name != name)
    try:
        yield
    finally:
        local.added = before
