"""A model's forward pass, as plain data: which module called what on which tensors, what that took, where it failed.

Functions are those that the program calls (``add``, ``softmax``, ``scaled_dot_product_attention``); what a function
calls itself is not recorded. The recording's own time is left out of all times.
"""
from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, is_dataclass, replace
from time import perf_counter_ns
from typing import Any
from weakref import ref

from .._base.interrupts import contextmanager
from .libraries import is_tensor, libraries, library_of
from .module import extra_of
from .names import module_name
from .pytorch import user_site
from .sampling import BUDGET, Scan, scan
from .why import Explanation, explain

SECONDS = 0.5  #: in which all values are searched for extremes, NaN and infinities; of later ones there are none
EXTRA = 80  #: characters at most of what a module says of itself
OUTSIDE, UNSEEN = 0, -1  #: the sources of what the model was given, and of tensors that no recorded step made
DEEP = 6  #: levels at most of containers in which tensors are found


@dataclass(frozen=True)
class Value:
    """A tensor that steps pass on; ``scan`` is None where its values were not read."""

    dtype: str
    shape: tuple[int, ...]
    device: str
    bytes: int
    scan: Scan | None = None


@dataclass(frozen=True)
class Step:
    """A call of a module, whose class ``kind`` is, or of a function, whose ``kind`` is ''.

    ``number`` counts calls from 1 on in the order in which they began. ``name`` is a module's in the module above it,
    or the function's; ``path`` the module's from the top, or that of the module that called the function. ``sources``
    are (number of the function or empty module that made a tensor, the tensor) for each tensor that came in,
    ``OUTSIDE`` for the model's arguments, ``UNSEEN`` for one of unknown origin; ``reads`` are the parameters and
    buffers that a function was given. ``parameters`` and ``parameter_bytes`` count what a module holds, each tensor
    once.

    ``memory`` is the bytes of new tensors that it made, ``kept`` the bytes that autograd keeps for its backward pass
    and that no earlier step had kept, without parameters. ``time`` is in nanoseconds of the host. ``error`` is the
    message of an exception that it raised, also if the program caught it; an exception that went on through outer
    modules makes these ``failed``, too, and ``unreached`` names the modules inside that they did not come to call.
    """

    number: int
    name: str
    path: str
    kind: str
    extra: str
    sources: tuple[tuple[int, Value], ...]
    reads: tuple[str, ...]
    outputs: tuple[Value, ...]
    parts: tuple[Step, ...]
    parameters: int
    parameter_bytes: int
    memory: int
    kept: int
    time: int
    file: str
    line: int
    error: str = ""
    failed: bool = False
    unreached: tuple[str, ...] = ()


@dataclass
class ForwardFacts:
    """What calls of modules did: the outermost ones are ``steps``. ``arguments`` are (name, tensor) of the tensors that
    the model was given, ``results`` (number of the step that made it, tensor) of what it returned. ``grad`` says
    whether autograd recorded, ``training`` the outermost module's mode; ``why`` explains the exception that ended it.
    """

    steps: tuple[Step, ...] = ()
    arguments: tuple[tuple[str, Value], ...] = ()
    results: tuple[tuple[int, Value], ...] = ()
    grad: bool = True
    training: bool = True
    why: Explanation | None = None

    @property
    def failed(self) -> Step | None:
        """The innermost step that raised the exception that ended the call."""
        found, steps = None, self.steps
        while step := next((step for step in steps[::-1] if step.failed), None):
            found, steps = step, step.parts
        return found

    @property
    def first_nan(self) -> tuple[Step, Value] | None:
        """The first innermost step that returned NaN though it was given none, and the tensor."""
        for step in walk(self.steps):
            bad = next((value for value in step.outputs if is_bad(value)), None)
            if bad is not None and not step.parts and not any(is_bad(value) for _, value in step.sources):
                return step, bad
        return None


def is_bad(value: Value) -> bool:
    """Return True if NaN was found in a tensor."""
    return value.scan is not None and bool(value.scan.nans)


def walk(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield steps and those inside them, in the order in which they began."""
    for step in steps:
        yield step
        yield from walk(step.parts)


def forward(module: Any, /, *args: Any, **kwargs: Any) -> ForwardFacts:
    """Call a module, of mindtorch or of PyTorch, and describe what happened, also if the call raises an exception.

    The call is a usual one: it draws random numbers, and batch normalisation updates its statistics.
    """
    return forward_or_error(module, args, kwargs)[0]


def forward_or_error(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any],
                     namespace: Mapping[str, Any] | None = None) -> tuple[ForwardFacts, Exception | None]:
    """Return the steps of ``forward``, with tensors named as in a namespace, and the exception that ended the call."""
    found = ForwardFacts()
    try:
        with watch_forward(namespace, found=found, names={"": module}, arguments={**_numbered(args), **kwargs}):
            module(*args, **kwargs)
    except Exception as error:
        return found, error
    return found, None


def _numbered(args: Sequence[Any]) -> dict[str, Any]:
    return {"input" if len(args) == 1 else f"input {i}": value for i, value in enumerate(args)}


@contextmanager
def watch_forward(namespace: Mapping[str, Any] | None = None, *, found: ForwardFacts | None = None,
                  names: Mapping[str, Any] | None = None, arguments: Mapping[str, Any] | None = None
                  ) -> Iterator[ForwardFacts]:
    """Describe the calls of modules in a block, into the facts that it yields; modules have ``names``, or those of the
    ``namespace``. An exception is described, and raised again.
    """
    facts = ForwardFacts() if found is None else found
    recorder = _Recorder(names or {}, namespace or {})
    facts.arguments = tuple((name, recorder.value(tensor)) for name, given in (arguments or {}).items()
                            for tensor in tensors_in(given))
    recorder.given(arguments)
    error = None
    try:
        with ExitStack() as block:
            for library in libraries():
                block.enter_context(library.calls(recorder))
            yield facts
    except Exception as raised:
        error = raised
        raise
    finally:
        recorder.finish(facts, error)
        if error is not None:
            inner = error.__traceback__ and error.__traceback__.tb_next  # without this function's own frame
            facts.why = explain(error.with_traceback(inner or error.__traceback__), namespace)


def tensors_in(value: Any, depth: int = DEEP) -> Iterator[Any]:
    """Yield the tensors in arguments or results, however they are nested."""
    if is_tensor(value):
        yield value
    elif depth and not isinstance(value, (str, bytes, int, float, type(None))):
        inner: Iterable[Any] = ()
        if isinstance(value, Mapping):
            inner = list(value.values())
        elif isinstance(value, (list, tuple)):
            inner = value
        elif is_dataclass(value) and not isinstance(value, type):
            inner = vars(value).values() if hasattr(value, "__dict__") else ()
        for item in inner:
            yield from tensors_in(item, depth - 1)


@dataclass
class _Open:
    """A call that is running: a module's, or the whole program's."""

    number: int
    module: Any
    name: str
    path: str
    start: int
    spent: int
    args: tuple[Any, ...] = ()
    parts: list[Step] = field(default_factory=list)


class _Recorder:
    """Writes down calls as they end. What it takes itself is added up in ``spent``."""

    def __init__(self, names: Mapping[str, Any], namespace: Mapping[str, Any]):
        self.names, self.namespace = {id(module): name for name, module in names.items()}, namespace
        self.paths: dict[int, str] = {}  # of modules, from the outermost one that runs
        self.held: dict[Any, str] = {}  # parameters and buffers by their memory
        self.makers: dict[int, tuple[Any, int, Value]] = {}  # by a tensor's identity: a reference, its step, its facts
        self.nodes: dict[int, Any] = {}  # of the graph, which live as long as their identities are used
        self.kept: set[Any] = set()
        self.number, self.spent, self.scanning = OUTSIDE, 0, SECONDS
        self.started: list[int] = []
        self.is_busy = False  # what it asks of modules' tensors is none of the program's calls
        self.grad: bool | None = None
        self.training = True
        self.results: tuple[tuple[int, Value], ...] = ()
        self.open = [_Open(OUTSIDE, None, "", "", 0, 0)]

    # -- what is told ------------------------------------------------------------------------------------------------

    def called(self, function: Any) -> None:
        if not self.is_busy:
            self.number += 1
            self.started += [self.number, perf_counter_ns()]

    def returned(self, function: Any, given: Any, result: Any, error: BaseException | None = None) -> None:
        if self.is_busy:
            return
        now = perf_counter_ns()
        start, number = self.started.pop(), self.started.pop()
        outputs, name = list(tensors_in(result)), _name(function)
        inputs = list(tensors_in(given)) if outputs or error is not None or name == "setitem" else []
        if name == "setitem" and inputs:
            outputs = inputs[:1]
        if outputs or error is not None:
            self._note(name, number, inputs, outputs, error, now - start)
        self.spent += perf_counter_ns() - now

    def entered(self, module: Any, args: tuple[Any, ...]) -> None:
        now, self.is_busy = perf_counter_ns(), True
        if len(self.open) == 1:
            name = self.names.get(id(module))
            top = module_name(module, self.namespace) if name is None else name
            self.paths = {id(inner): path for path, inner in module.named_modules()}
            self.grad, self.training = library_is_recording(module), module.training
            for place, inner in module.named_modules():
                self._hold(inner, place)
            self.given(args)
        else:
            top = ""
        path, outer = self.paths.get(id(module), ""), self.open[-1].path
        below = path.removeprefix(f"{outer}.") if outer else path
        self.number += 1
        self.open.append(_Open(self.number, module, top or below, path, 0, 0, args))
        self.is_busy = False
        self.spent += perf_counter_ns() - now
        self.open[-1].start, self.open[-1].spent = perf_counter_ns(), self.spent

    def given(self, args: Any) -> None:
        """Note tensors that no step made as those that the model is given."""
        new = [tensor for tensor in tensors_in(args) if self._maker(tensor) == UNSEEN]
        self._made(new, OUTSIDE, list(map(self.value, new)))

    def left(self, module: Any, args: tuple[Any, ...], result: Any) -> None:
        now, self.is_busy = perf_counter_ns(), True
        self._close(now, list(tensors_in(result)), sys.exc_info()[1] if result is None else None)
        if len(self.open) == 1:
            self.results = tuple((self._maker(tensor), self.value(tensor)) for tensor in tensors_in(result))
        self.is_busy = False
        self.spent += perf_counter_ns() - now

    # -- what is written down ----------------------------------------------------------------------------------------

    def _note(self, name: str, number: int, inputs: list[Any], outputs: list[Any], error: BaseException | None,
              time: int) -> None:
        """Write down a function's call."""
        sources, reads = self._sources(inputs)
        before = {self._memory(tensor) for tensor in inputs}
        made = {memory: tensor for tensor in outputs if (memory := self._memory(tensor)) not in before}
        if error is None and not sources and all(self._memory(tensor) in self.held for tensor in outputs):
            return  # a parameter in another layout, or a buffer that counts: which reads the parameter
        views = {} if name.endswith("_") or name == "setitem" else {value.bytes: value for _, value in sources}
        values = tuple(self._computed(tensor, views if self._memory(tensor) in before else {}) for tensor in outputs)
        file, line, _ = user_site()
        self.open[-1].parts.append(Step(
            number, name, self.open[-1].path, "", "", sources, reads, values, (), 0, 0,
            sum(map(_bytes, made.values())), self._keep(outputs), time, file, line,
            "" if error is None else f"{type(error).__name__}: {error}", error is not None))
        self._made(outputs, number, values)

    def _close(self, now: int, outputs: list[Any], error: BaseException | None) -> None:
        """Write down the innermost module's call, which has ended."""
        call = self.open.pop()
        module, parts = call.module, _caught(call.parts, error)
        told = f"{type(error).__name__}: {error}" if error is not None and not (parts and parts[-1].failed) else ""
        sources: tuple[tuple[int, Value], ...] = ()
        if not parts:  # it computes nothing, or nothing that is seen
            sources, _ = self._sources(list(tensors_in(call.args)))
            self._made(outputs, call.number, [self.value(tensor) for tensor in outputs])
        size = {id(tensor): _size(tensor) for tensor in module.parameters()}.values()
        time = now - call.start - (self.spent - call.spent)
        self.open[-1].parts.append(Step(
            call.number, call.name, call.path, type(module).__name__, extra_of(module, EXTRA), sources, (),
            tuple(map(self.value, outputs)), parts, sum(count for count, _ in size),
            sum(size_bytes for _, size_bytes in size), sum(part.memory for part in parts),
            sum(part.kept for part in parts), time, "", 0, told, error is not None,
            () if error is None else tuple(_unreached(module, {part.path for part in parts if part.kind}, call.path))))

    def finish(self, facts: ForwardFacts, error: BaseException | None) -> None:
        """Write down the facts."""
        now = perf_counter_ns()
        while len(self.open) > 1:  # of an interrupt, modules are not told
            self._close(now, [], error)
        facts.steps, facts.results = _caught(self.open[0].parts, error), self.results
        facts.grad, facts.training = bool(self.grad), self.training
        self.nodes.clear()

    # -- what is known of tensors ------------------------------------------------------------------------------------

    def value(self, tensor: Any) -> Value:
        """Describe a tensor, as it was when a step made it."""
        known = self.makers.get(id(tensor))
        return known[2] if known is not None and known[0]() is tensor else self._computed(tensor, {})

    def _computed(self, tensor: Any, views: Mapping[int, Value]) -> Value:
        """Describe a new tensor; one that shows the whole memory of another has its figures."""
        library = library_of(tensor)
        look, found = library.layout(tensor), None
        size = math.prod(look.shape) * look.dtype.itemsize
        if (same := views.get(size)) is not None:
            found = same.scan
        elif self.scanning > 0 and library.is_near(tensor):
            start = perf_counter_ns()
            values = library.values(tensor)
            found = None if values is None else scan(values, look.dtype.name, min(BUDGET, self.scanning))
            self.scanning -= (perf_counter_ns() - start) / 1e9
        return Value(look.dtype.name, look.shape, look.device, size, found)

    def _sources(self, tensors: Sequence[Any]) -> tuple[tuple[tuple[int, Value], ...], tuple[str, ...]]:
        """Return the steps that made tensors, and the names of parameters and buffers among them."""
        found, reads = [], []
        for tensor in {id(tensor): tensor for tensor in tensors}.values():
            name = self.held.get(self._memory(tensor))
            if name is None or self._maker(tensor) > OUTSIDE:
                found.append((self._maker(tensor), self.value(tensor)))
            else:
                reads.append(name)
        return tuple(found), tuple(reads)

    def _maker(self, tensor: Any) -> int:
        known = self.makers.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else UNSEEN

    def _made(self, tensors: Iterable[Any], number: int, values: Iterable[Value]) -> None:
        for tensor, value in zip(tensors, values, strict=True):
            self.makers[id(tensor)] = ref(tensor), number, value

    def _hold(self, module: Any, path: str) -> None:
        """Note the names of a module's own parameters and buffers."""
        for name, tensor in (*module._parameters.items(), *module._buffers.items()):
            if tensor is not None:
                self.held.setdefault(self._memory(tensor), f"{path}.{name}" if path else name)

    def _memory(self, tensor: Any) -> Any:
        """Return a key equal for tensors on the same memory, as long as both live."""
        library = library_of(tensor)
        address = library.address(tensor)
        if not address:
            return library.counted(tensor) or id(tensor)
        look = library.layout(tensor)
        return look.device, address - look.offset * look.dtype.itemsize

    def _keep(self, outputs: Sequence[Any]) -> int:
        """Return the bytes that the nodes behind a step's outputs keep, of what is not kept or held yet."""
        total = 0
        stack = [library_of(tensor).root(tensor) for tensor in outputs if tensor.requires_grad and self.grad]
        while stack:
            node = stack.pop()
            if id(node) in self.nodes:
                continue
            self.nodes[id(node)] = node
            look = library_of(node).node(node)
            if look.variable is not None:
                continue
            stack += [edge[0] for edge in look.edges if edge is not None]
            for kept in look.kept or ():
                if kept.tensor is not None and (memory := self._memory(kept.tensor)) not in self.kept:
                    self.kept.add(memory)
                    total += 0 if memory in self.held else _bytes(kept.tensor)
        return total


def library_is_recording(module: Any) -> bool:
    """Return True if autograd records what a module computes."""
    tensor = next(iter(module.parameters()), None)
    return any(library.is_grad_enabled() for library in libraries()) if tensor is None else (
        library_of(tensor).is_grad_enabled())


def _caught(steps: Sequence[Step], error: BaseException | None) -> tuple[Step, ...]:
    """Return the steps of a call that ended by an error, or none: exceptions before that did not end it."""
    last = len(steps) if error is None else len(steps) - 1
    return tuple(step if i == last or not step.failed else replace(
        step, failed=False, unreached=(), parts=_caught(step.parts, None)) for i, step in enumerate(steps))


def _size(tensor: Any) -> tuple[int, int]:
    look = library_of(tensor).layout(tensor)
    count = math.prod(look.shape) if look.materialized else 0
    return count, count * look.dtype.itemsize


def _bytes(tensor: Any) -> int:
    return _size(tensor)[1]


def _name(function: Any) -> str:
    """Return the operator's name: ``add`` for ``Tensor.__add__``, ``mT`` for the property."""
    name = getattr(function, "__name__", type(function).__name__)
    if name == "__get__":
        owner = getattr(function, "__self__", None)
        name = getattr(owner, "__name__", None) or getattr(getattr(owner, "fget", None), "__name__", name)
    return name.strip("_") if name.startswith("__") else name


def _unreached(module: Any, called: set[str], path: str, name: str = "") -> Iterator[str]:
    """Yield the names of the modules inside one that were not called; of lists, which are not, those in them."""
    for key, child in module.named_children():
        below, here = f"{name}{key}", f"{path}.{key}" if path else key
        if type(child).__name__ in ("ModuleList", "ModuleDict"):
            yield from _unreached(child, called, here, f"{below}.")
        elif here not in called:
            yield below
