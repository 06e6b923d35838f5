"""Derivatives: a table row an operator, and what makes a graph node of it.

A row gives a formula for each differentiable input. A formula's own parameter names say what it needs:

    derivative("mul.Tensor", self=lambda grad, other: grad * other, other=lambda grad, self: grad * self)

``grad`` is the gradient of the (first) output, ``grads`` those of all outputs (None where nothing arrived); the name
of an input or, for an output, ``result`` or its name in the schema is a value kept from the forward call;
``self_shape``, ``self_dtype``, ``self_device``, ``self_stride``, ``self_offset``, ``self_requires_grad`` keep
only that fact of an input. A key of several names, ``"input, weight, bias"``, is one formula that returns a tuple for
them; it may take ``output_mask``, which says what is needed. A formula for a list of tensors returns a list.
Formulas are written in operators, so they run on every backend and have derivatives themselves. What was broadcast
is summed back by the engine.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._dispatch.dispatcher import TENSOR_TYPES, wrappers
from .._dispatch.keys import AUTOGRAD
from .._dispatch.registry import Operator
from .._dispatch.schema import REQUIRED
from .._dispatch.schemas import registry
from .._dtype import FLOATING
from . import views
from .anomaly import AnomalyMode, remember_call
from .node import FREED, Node, SavedTensor, new, next_sequence_nr, save

Formula = Callable[..., Any]
FACTS: dict[str, Callable[[Any], Any]] = {
    "shape": lambda t: t.shape, "dtype": lambda t: t._dtype, "device": lambda t: t._device,
    "stride": lambda t: t._strides(), "offset": lambda t: t._offset, "requires_grad": lambda t: t.requires_grad,
}  # fmt: skip


class Row:
    """A derivative as it was written: formulas by input name, and the node's name where it is not the usual one."""

    def __init__(self, formulas: dict[str, Formula], node: str | None = None):
        self.formulas = formulas
        self.node = node


NOT_DIFFERENTIABLE = Row({})


def derivative(names: str, node: str | None = None, /, **formulas: Formula) -> None:
    """Give operators (names separated by spaces) their derivative. ``node`` is the graph node's name; by default
    ``mul.Tensor`` makes a ``MulBackward0``.
    """
    for name in names.split():
        registry.register_derivative(name, Row(formulas, node))


def not_differentiable(names: str) -> None:
    """Say of operators that their outputs never require grad."""
    for name in names.split():
        registry.register_derivative(name, NOT_DIFFERENTIABLE)


def node_name(op: Operator) -> str:
    """PyTorch's usual name of an operator's node."""
    parts = op.packet.strip("_").split("_")
    return "".join(part[:1].upper() + part[1:] for part in parts) + "Backward0"


class Plan:
    """What to keep and what to compute, given which inputs require grad."""

    __slots__ = ("formulas", "saves", "output_saves", "keeps_tensors", "mask")

    def __init__(self) -> None:
        self.formulas: list[tuple[Any, Formula, tuple[int, ...]]] = []  # (positions, formula, indices of values)
        self.saves: list[tuple[str, str, int, Any]] = []  # (name, kind, position, default or fact)
        self.output_saves: list[tuple[int, int, Any]] = []  # (index in saves, which output, fact or None)
        self.keeps_tensors = False
        self.mask = 0


class Derivative:
    """A row, made ready for one operator: the node's class, and a plan for each set of inputs that require grad."""

    def __init__(self, op: Operator, row: Row | None):
        self.op = op
        self.row = row
        functional = op.functional or op
        self.schema = schema = functional.schema
        name = (row.node if row is not None else None) or node_name(functional)
        self.node_class: type[OperatorNode] = type(name if row is not None else "NotImplemented", (OperatorNode,), {})
        keys = {} if row is None else {part.strip(): key for key in row.formulas for part in key.split(",")}
        unknown = [key for key in keys if key not in schema.positions]
        if unknown:
            raise ValueError(f"derivative of {op.name}: the schema has no input {unknown[0]!r}")
        names = list(keys) if row is not None else [p.name for p in schema.parameters if p.is_tensor]
        names.sort(key=schema.positions.__getitem__)
        self.keys = keys
        self.names = names
        self.inputs = [(1 << i, schema.positions[n]) for i, n in enumerate(names)]
        self.has_lists = any(schema.parameters[position].is_list for _, position in self.inputs)
        self.single = schema.returns == ("",) and not schema.returns_list
        self.plans: dict[int, Plan] = {}
        self.node_class.derivative = self

    def plan(self, mask: int) -> Plan:
        """The plan for the inputs whose bits are set."""
        found = self.plans.get(mask)
        if found is None:
            found = self.plans[mask] = self._make_plan(mask)
        return found

    def _make_plan(self, mask: int) -> Plan:
        plan = Plan()
        plan.mask = mask
        if self.row is None:
            return plan
        indices: dict[str, int] = {"grad": 0, "grads": 1}
        done = set()
        for i, name in enumerate(self.names):
            key = self.keys[name]
            if not mask >> i & 1 or key in done:
                continue
            done.add(key)
            formula = self.row.formulas[key]
            code = formula.__code__
            needs = []
            for need in code.co_varnames[: code.co_argcount]:
                if need not in indices:
                    indices[need] = 2 + len(plan.saves)
                    plan.saves.append(self._save_of(need, key, mask))
                needs.append(indices[need])
            parts = [part.strip() for part in key.split(",")]
            where = self.names.index(name) if len(parts) == 1 else tuple(self.names.index(part) for part in parts)
            plan.formulas.append((where, formula, tuple(needs)))
        for i, (_, kind, position, extra) in enumerate(plan.saves):
            if kind.startswith("output"):
                plan.output_saves.append((i, position, extra))
            if kind == "output" or kind == "input" and self.schema.parameters[position].is_tensor:
                plan.keeps_tensors = True
        return plan

    def _save_of(self, need: str, key: str, mask: int) -> tuple[str, str, int, Any]:
        positions, returns = self.schema.positions, self.schema.returns
        if need in positions:
            default = self.schema.parameters[positions[need]].default
            return (need, "input", positions[need], None if default is REQUIRED else default)
        if need == "result":
            return (need, "output", 0, None)
        if need in returns:
            return (need, "output", returns.index(need), None)
        if need == "output_mask":
            parts = [part.strip() for part in key.split(",")]
            return (need, "constant", 0, tuple(bool(mask >> self.names.index(part) & 1) for part in parts))
        base, _, fact = need.rpartition("_")
        for fact_name in FACTS:
            if need.endswith("_" + fact_name):
                base, fact = need[: -len(fact_name) - 1], fact_name
        if base in positions and fact in FACTS:
            return (need, "fact", positions[base], FACTS[fact])
        if base == "result" and fact in FACTS:
            return (need, "output_fact", 0, FACTS[fact])
        raise ValueError(f"derivative of {self.op.name}: a formula needs {need!r}, which is neither an input nor an output")

    def start(self, args: tuple[Any, ...], inplace: bool = False) -> OperatorNode | None:
        """A node for a call, its edges set and its inputs saved; None if no differentiable input requires grad."""
        mask = 0
        count = len(args)
        edges: list[Any] = []
        for bit, position in self.inputs:
            arg = args[position] if position < count else None
            kind = arg.__class__
            if kind in TENSOR_TYPES:
                if arg._keys & AUTOGRAD:
                    mask |= bit
                    edges.append(arg._grad_edge())
                else:
                    edges.append(None)
            elif kind is list or kind is tuple:
                inner = [t._grad_edge() if t is not None and t._keys & AUTOGRAD else None for t in arg]
                edges.extend(inner)
                if any(inner):
                    mask |= bit
            else:
                edges.append(None)
        if not mask:
            return None
        plan = self.plans.get(mask) or self.plan(mask)
        node = new(self.node_class)
        node.sequence_nr = next_sequence_nr()
        node.plan = plan
        node.edges = tuple(edges)
        if self.has_lists:
            node.lengths = [len(args[p]) if isinstance(args[p], (list, tuple)) else None for _, p in self.inputs]
        saved: list[Any] = []
        for _, kind, position, extra in plan.saves:
            if kind == "input":
                value = args[position] if position < count else extra
                if value.__class__ in TENSOR_TYPES:
                    value = save(value if not (inplace and position == 0) else registry["clone"].call(value))
                elif value.__class__ in (list, tuple) and value and value[0].__class__ in TENSOR_TYPES:
                    value = [None if t is None else save(t) for t in value]
            elif kind == "fact":
                value = args[position]
                value = [extra(t) for t in value] if isinstance(value, (list, tuple)) else (
                    extra(value) if value.__class__ in TENSOR_TYPES else None)
            else:
                value = extra  # constants; outputs are filled in when they are there
            saved.append(value)
        node.saved = saved
        if AnomalyMode.enabled:
            remember_call(node)
        return node

    def finish(self, node: OperatorNode, result: Any) -> Any:
        """Tie a call's outputs to its node."""
        if result.__class__ in TENSOR_TYPES:
            dtype = result._dtype
            array = result._array
            node.shapes = (result.shape if array is None else array.shape,)
            node.dtypes = (dtype,)
            if dtype.category >= FLOATING:
                result._grad_fn = node
                result._keys |= AUTOGRAD
            outputs = (result,)
        else:
            outputs = tuple(result)
            node.shapes = tuple(None if t is None else t.shape for t in outputs)
            node.dtypes = tuple(None if t is None else t._dtype for t in outputs)
            for number, output in enumerate(outputs):
                if output is not None and output._dtype.category >= FLOATING:
                    output._grad_fn, output._output_nr = node, number
                    output._keys |= AUTOGRAD
        node.device = outputs[0]._device if outputs else None
        for i, position, fact in node.plan.output_saves:
            output = outputs[position]
            if fact is not None:
                node.saved[i] = fact(output)
            elif output._dtype.category >= FLOATING:
                node.saved[i] = save(output._twin(), position)
            else:
                node.saved[i] = save(output)
        return result


class OperatorNode(Node):
    """A node made from a derivative's row."""

    derivative: Derivative
    plan: Plan
    saved: list[Any] | None
    lengths: list[int | None] | None = None

    def apply(self, grads: list[Any]) -> list[Any]:
        values = self.saved
        if values is None:
            raise RuntimeError(FREED)
        if self.derivative.row is None:
            raise RuntimeError(f"derivative for aten::{self.derivative.op.name} is not implemented")
        results: list[Any] = [None] * len(self.derivative.inputs)
        if any(g is not None for g in grads):
            unpacked = [grads[0], grads]
            for value in values:
                kind = value.__class__
                if kind is SavedTensor:
                    value = value.unpack(self)
                elif kind is list and value and value[0].__class__ is SavedTensor:
                    value = [None if s is None else s.unpack(self) for s in value]
                unpacked.append(value)
            for where, formula, needs in self.plan.formulas:
                result = formula(*[unpacked[i] for i in needs])
                if where.__class__ is tuple:
                    for position, part in zip(where, result, strict=True):
                        if self.plan.mask >> position & 1:
                            results[position] = part
                else:
                    results[where] = result
        if self.lengths is None:
            return results
        flat: list[Any] = []
        for result, length in zip(results, self.lengths, strict=True):
            if length is None:
                flat.append(result)
            else:
                flat.extend([None] * length if result is None else result)
        return flat

    def release(self) -> None:
        if self.plan.keeps_tensors:
            self.saved = None

    def saved_names(self) -> list[str]:
        """The names of what this node keeps, as in ``_saved_self``."""
        return [name for name, *_ in self.plan.saves]

    def __getattr__(self, attribute: str) -> Any:
        raw = attribute.startswith("_raw_saved_")
        if raw or attribute.startswith("_saved_"):
            wanted = attribute[11 if raw else 7:]
            for i, (name, kind, position, _) in enumerate(self.plan.saves):
                if name == wanted or name == {"sym_sizes": "shape"}.get(wanted):
                    if self.saved is None:
                        raise RuntimeError(FREED)
                    value = self.saved[i]
                    return value if raw or value.__class__ is not SavedTensor else value.unpack(self)
            parameters = self.derivative.schema.positions
            if wanted in parameters:
                return None
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute}'")


def derivative_of(op: Operator) -> Derivative | None:
    """The derivative that an operator, or the operator that it is a form of, has; None if its outputs never require
    grad.
    """
    if op.derivative is None:
        functional = op.functional or op
        row = registry.derivatives.get(op.name) or registry.derivatives.get(functional.name)
        op.derivative = NOT_DIFFERENTIABLE if row is NOT_DIFFERENTIABLE else Derivative(op, row)
    return None if op.derivative is NOT_DIFFERENTIABLE else op.derivative


def _autograd(op: Operator, _keys: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The Autograd key: run the backend's function and record a node for it."""
    if op.is_out:
        return lambda inner: _out_form(op, inner)
    found = derivative_of(op)
    if op.is_inplace:
        return lambda inner: _inplace_form(op, found, inner)
    if found is None:
        return lambda inner: inner
    start, finish = found.start, found.finish

    def wrap(inner: Callable[..., Any]) -> Callable[..., Any]:
        def record(*args: Any) -> Any:
            node = start(args)
            result = inner(*args)
            return result if node is None else finish(node, result)

        return record

    return wrap


def _inplace_form(op: Operator, found: Derivative | None, inner: Callable[..., Any]) -> Callable[..., Any]:
    def record(self: Any, *args: Any) -> Any:
        views.check_inplace(self)
        node = None if found is None else found.start((self, *args), inplace=True)
        result = inner(self, *args)
        if node is not None and found is not None:
            found.finish(node, result) if self._base is None else views.describe(node, self)
            views.rebase(self, node)
            _save_outputs(node, self)
        return result

    return record


def _save_outputs(node: OperatorNode, output: Any) -> None:
    """Save the output of an in-place operator again: its version is known only now."""
    for i, (_, kind, *_rest) in enumerate(node.plan.saves):
        if kind == "output" and node.saved is not None:
            node.saved[i] = save(output._twin(), 0)


def _out_form(op: Operator, inner: Callable[..., Any]) -> Callable[..., Any]:
    def refuse(*args: Any) -> Any:
        flat = [t for a in args for t in (a if isinstance(a, (list, tuple)) else (a,)) if t.__class__ in TENSOR_TYPES]
        if any(t._keys & AUTOGRAD for t in flat):
            raise RuntimeError(
                f"{op.packet}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                "arguments requires grad."
            )
        return inner(*args)

    return refuse


def _start_node(name: str, args: tuple[Any, ...]) -> Node:
    found = derivative_of(registry[name])
    node = found.start(args) if found is not None else None
    if node is None:
        raise RuntimeError(f"aten::{name} has no derivative for these arguments")
    return node


views.start_node = _start_node
wrappers[AUTOGRAD] = _autograd  # type: ignore[assignment]
