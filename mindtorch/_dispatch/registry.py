"""The operators: one ``Operator`` per overload, found by name, with its kernels by backend.

Rows (schemas, kernels, derivatives) are kept as written and adapted on first use, so importing hundreds of operators
costs one dictionary update each.
"""
from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from .._base.about import about
from . import schema as _schema
from .keys import BACKEND_NAMES, BACKEND_OF_DEVICE
from .tables import FamilyTable

#: The folder of the operators' families.
OPERATORS = Path(__file__).parents[1] / "_operators"
#: The flags that a heading may give to the operators below it; ``schemas`` explains them.
WORDS = frozenset({"function", "method", "in-place", "out", "operator only", "wrapped numbers", "exact dtype",
                   "no overlap", "TypeError", "dtype of out", "inplace_view", "contiguous out", "strided out",
                   "empty out resized", "explicit"})


def flags_of(heading: str) -> frozenset[str]:
    """Return the flags of a heading such as ``function, method, out``. Raises ValueError for an unknown flag."""
    flags = frozenset(heading.split(", "))
    if not flags <= WORDS:
        raise ValueError(f"unknown flags {sorted(flags - WORDS)}, expected some of {sorted(WORDS)}")
    return flags


def rows_of(table: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the rows below headings such as ``function, method:``, each with the heading's flags.

    A row with words in braces stands for one row per word; ``{}`` later in the row repeats the word.
    """
    flags: frozenset[str] = frozenset()
    for line in table.splitlines():
        if line.startswith(" "):
            words = re.search(r"{([^}]+)}", line)
            for word in words[1].split() if words else [""]:
                yield (line.replace(words[0], word).replace("{}", word) if words else line).strip(), flags
        elif line:
            flags = flags_of(line.removesuffix(":"))


def inplace_name(name: str) -> str:
    """Return an operator's in-place name: ``add_.Tensor`` for ``add.Tensor``."""
    packet, dot, overload = name.partition(".")
    return f"{packet}_{dot}{overload}"


class Finder(NamedTuple):
    """Finds the function of arrays that computes a call, or its plan: ``find`` takes the call's arguments, the function
    the first ``taken`` of them.
    """

    find: Callable[..., Any]
    taken: int


@dataclass
class Kernel:
    """An operator's implementation on a backend.

    ``fn`` takes the canonical arguments; ``fast``, if any, is an equivalent for inputs without the ``NonContiguous``
    key, or with it if ``strided``; ``origin`` is the function to show to readers. ``composite``: it calls other
    operators, which record their own derivatives. ``makes_view``: it only makes a layout. ``fallback``: another
    backend's kernel computes. ``registered``: a user registered it. ``counts``: in place, it bumps the tensor's version
    itself. ``records_none``: ``fast`` records nothing of what it calls. ``plans`` finds the plan of a call, where there
    are plans, and ``functions`` its function of arrays alone.
    """

    fn: Callable[..., Any]
    origin: Callable[..., Any]
    fast: Callable[..., Any] | None = None
    composite: bool = False
    makes_view: bool = False
    fallback: bool = False
    registered: bool = False
    counts: bool = False
    strided: bool = False
    records_none: bool = False
    plans: Finder | None = None
    functions: Finder | None = None

    @property
    def location(self) -> tuple[str, int]:
        """File and line of the origin; for a compiled function such as a NumPy ufunc, its name and 0."""
        function = inspect.unwrap(getattr(self.origin, "func", self.origin))  # unwrap a partial
        code = getattr(function, "__code__", None)
        return ((code.co_filename, code.co_firstlineno) if code
                else (f"numpy.{getattr(function, '__name__', function)}", 0))


class Operator:
    """One overload, such as ``aten::add.Tensor``; calling it dispatches.

    Arguments are canonical: positional, in the schema's order; trailing defaults may be omitted.
    """

    def __init__(self, registry: OpRegistry, text: str, flags: frozenset[str] = frozenset(),
                 functional: Operator | None = None, sentence: str = "", family: str = ""):
        self.registry = registry
        self.family = family  # the module of ``_operators`` with its schema and its rows
        self.text = text
        self.name = text[: text.index("(")]
        self.packet, _, self.overload = self.name.partition(".")
        self.flags = flags
        self._sentence = sentence
        self.functional = functional  # the out-of-place form of an in-place or out= form
        self.forms: list[Operator] = []  # the in-place and out= forms derived from this one
        self.kernels: dict[int, Kernel] = {}
        self.table: dict[int, Callable[..., Any]] = {}
        self.derivative: Any = None
        self.autograd: Callable[..., Any] | None = None  #: a library's replacement for recording the derivative
        self.tags: tuple[Any, ...] = ()  #: the ones that a library gave

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.call(*(self.canonical(args, kwargs) if kwargs else args))

    def canonical(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return positional and keyword arguments in the schema's order, with defaults filled in.

        Raises:
            TypeError: if there is no parameter of that name.
        """
        known = self.schema.positions
        filled = [*args, *(p.default for p in self.schema.parameters[len(args):])]
        for key, value in kwargs.items():
            if key not in known:
                raise about(TypeError(f"{self.name}() got an unexpected keyword argument '{key}'"),
                            "unknown argument", function=self.packet, keyword=key)
            filled[known[key]] = value
        return tuple(filled)

    def __repr__(self) -> str:
        return f"<Operator {'' if '::' in self.name else 'aten::'}{self.name}>"

    @cached_property
    def call(self) -> Callable[..., Any]:
        """The dispatching function; takes canonical arguments."""
        return self.registry.make_entry(self)

    def entry(self, kinds: str) -> Callable[..., Any]:
        """Return the dispatching function of calls with arguments of exactly these kinds (``dispatcher.entry_for``)."""
        return self.registry.make_entry(self, None, kinds)

    @cached_property
    def schema(self) -> _schema.Schema:
        return _schema.parse(self.text)

    @property
    def sentence(self) -> str:
        """The operator's description; overloads without one share that of their packet's first overload."""
        if self.functional is None:
            return self._sentence or self.registry.packets[self.packet][0]._sentence
        said = self.functional.sentence
        return said and f"{said} The result is written into `{'self' if self.is_inplace else 'out'}`."

    @cached_property
    def writes(self) -> tuple[int, ...]:
        """The positions of the arguments that the operator writes: by the schema, and ``self`` of an in-place form."""
        return tuple(i for i, parameter in enumerate(self.schema.parameters)
                     if parameter.writes or (self.is_inplace and i == 0))

    @property
    def is_inplace(self) -> bool:
        return self.packet.endswith("_") and not self.packet.endswith("__")

    @property
    def writes_lists(self) -> bool:
        """True if the operator works on lists of tensors, as ``_foreach_add_`` and ``_fused_sgd_`` do."""
        return self.schema.parameters[0].is_list

    @property
    def is_explicit(self) -> bool:
        """True if ``__torch_dispatch__`` receives this composite (PyTorch's "CompositeExplicitAutograd")."""
        return "explicit" in self.flags

    @property
    def out_form(self) -> Operator:
        return self.registry[f"{self.packet}.{self.overload}_out" if self.overload else f"{self.packet}.out"]

    @property
    def is_out(self) -> bool:
        return self.functional is not None and not self.is_inplace

    def kernel(self, backend: int) -> Kernel | None:
        """Return the kernel for a backend's key, or None. Adapt its row on first use."""
        found = self.kernels.get(backend)
        if found is None:
            found = self.registry.find_kernel(self, backend)
            if found is not None:
                self.kernels[backend] = found
        return found

    def backends(self) -> list[str]:
        """Return the names of the backends that have a kernel other than a fallback."""
        return [BACKEND_NAMES[b] for b in BACKEND_OF_DEVICE.values()
                if (kernel := self.kernel(b)) is not None and not kernel.fallback]

    def meta(self, *args: Any) -> Any:
        """Return the output specification (shape, dtype, stride) for these arguments, from the meta kernel's row."""
        row = self.registry.meta_rows.get(self.name)
        if row is None:
            raise NotImplementedError(f"aten::{self.name} has no meta kernel")
        return row(*args)


def family_table(registry: OpRegistry) -> FamilyTable:
    """Return a table that loads its rows from the operators' families."""
    table = FamilyTable(registry)
    table.written_in(f"{__name__.rpartition('._dispatch')[0]}.{OPERATORS.name}", [str(OPERATORS)])
    return table


class OpRegistry:
    """All operators, and the tables of their rows."""

    #: Returns the kernel of an operator for a backend's key; ``_backends`` defines the order of the look-up.
    find_kernel: Callable[[Operator, int], Kernel | None]
    #: Makes the dispatching function of an operator; set by ``dispatcher``.
    make_entry: Callable[..., Callable[..., Any]]

    def __init__(self) -> None:
        self.operators: dict[str, Operator] = {}
        self.packets: dict[str, list[Operator]] = {}
        #: The rows of the families in ``_operators``, by operator name.
        self.meta_rows, self.composites, self.derivatives, self.batching, self.autocast = (
            family_table(self) for _ in range(5))
        #: By composite: the wrapper of its function that records it as one node on CPU tensors of these keys.
        self.folds: dict[str, Callable[[Operator, Callable[..., Any], int], Callable[..., Any]]] = {}
        self.on_define: list[Callable[[str], None]] = []
        self.on_undefine: list[Callable[[str], None]] = []
        self.changes = 0  #: how often an operator's functions were replaced

    def define(self, row: str, flags: frozenset[str] = frozenset({"function"}), family: str = "") -> Operator:
        """Define an operator by a table's row: its schema, then its description after ``  # ``."""
        text, _, sentence = row.partition("  # ")
        op = Operator(self, text, flags, sentence=sentence, family=family)
        self.operators[op.name] = op
        self.packets.setdefault(op.packet, []).append(op)
        if "in-place" in flags:
            self._derive(op, f"{op.packet}_", op.overload)
        if "out" in flags:
            self._derive(op, op.packet, f"{op.overload}_out" if op.overload else "out")
        for hook in self.on_define:
            hook(op.packet)
        return op

    def _derive(self, op: Operator, packet: str, overload: str) -> None:
        name = f"{packet}.{overload}" if overload else packet
        form = Operator(self, name + op.text[op.text.index("("):], op.flags, op, family=op.family)
        op.forms.append(form)
        self.operators[name] = form
        if packet != op.packet:
            self.packets.setdefault(packet, []).append(form)

    def define_table(self, table: str, family: str) -> None:
        """Define a family's operators."""
        for row, flags in rows_of(table):
            self.define(row, flags, family)

    def __getitem__(self, name: str) -> Operator:
        """Return the operator of that name (``add.Tensor``, or ``add`` for the packet's first overload).

        Raises:
            AttributeError: if there is none.
        """
        found = self.operators.get(name)
        if found is None:
            if name not in self.packets:
                raise about(AttributeError(f"no operator is registered under the name '{name}'"),
                            "unknown operator", name=name)
            found = self.packets[name][0]
        return found

    def __contains__(self, name: str) -> bool:
        return name in self.operators or name in self.packets

    def register(self, name: str, device: str, fn: Callable[..., Any],
                 meta: Callable[..., Any] | None = None) -> Operator:
        """Register ``fn`` (tensors in, tensors out) as the kernel of ``name`` on ``device``.

        ``device`` is 'cpu', 'meta', 'npu', or 'composite' for a function that calls operators and so runs on every
        backend. A new name defines an operator with the signature of ``fn``. ``meta`` is the meta kernel: it takes the
        same arguments and returns meta tensors or output specifications.

        Raises:
            ValueError: for an unknown device.
        """
        if device != "composite" and device not in BACKEND_OF_DEVICE:
            raise ValueError(f"register(): unknown device '{device}', expected one of "
                             f"{[*BACKEND_OF_DEVICE, 'composite']}")
        op = self[name] if name in self else self.define(_schema_of(name, fn))
        backends = (1, 2, 4) if device == "composite" else (BACKEND_OF_DEVICE[device],)
        for backend in backends:
            op.kernels[backend] = Kernel(fn, fn, composite=device == "composite", registered=True)
        if meta is not None:
            op.kernels[BACKEND_OF_DEVICE["meta"]] = Kernel(meta, meta, registered=True)
        self.forget_resolved(op)
        return op

    def undefine(self, op: Operator) -> None:
        """Remove an operator that a library defined."""
        for form in (op, *op.forms):
            self.operators.pop(form.name, None)
            self.packets[form.packet] = [other for other in self.packets.get(form.packet, []) if other is not form]
            if not self.packets[form.packet]:
                del self.packets[form.packet]
            for hook in self.on_undefine:
                hook(form.packet)

    def register_derivative(self, name: str, derivative: Any) -> None:
        """Set an operator's derivative, replacing any other."""
        op = self[name]
        self.derivatives.get(op.name)  # load its family first, whose row would replace this one
        self.derivatives[op.name] = derivative
        self.forget_resolved(op)

    def forget_resolved(self, op: Operator) -> None:
        """Clear the dispatch tables of an operator and its forms."""
        self.changes += 1
        for form in (op, *op.forms):
            form.table.clear()
            form.derivative = None
            if form is not op:
                form.kernels.clear()
        for name in self.folds:  # the operator may be one of theirs
            self.operators[name].table.clear()

    def forget_rows(self, name: str) -> None:
        """Drop the kernels adapted from an operator's rows after one has changed, and clear its dispatch tables."""
        op = self.operators[name]
        op.kernels = {key: kernel for key, kernel in op.kernels.items() if kernel.registered}
        self.forget_resolved(op)


def _schema_of(name: str, fn: Callable[..., Any]) -> str:
    """Return a schema for a user's function: an argument without an annotation is a ``Tensor``."""
    types = {spelled: kind.__name__ for kind in (int, float, bool, str) for spelled in (kind, kind.__name__)}
    parts = []
    for parameter in inspect.signature(fn).parameters.values():
        kind = types.get(parameter.annotation, "Tensor" if parameter.default is parameter.empty else "Any")
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        parts.append(f"{kind} {parameter.name}{default}")
    return f"{name}({', '.join(parts)}) -> Tensor"


registry = OpRegistry()
