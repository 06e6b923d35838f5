"""Derivatives: one table row per operator, and the graph nodes that are built from it.

A row gives a formula for each differentiable input. The names of a formula's parameters declare its needs:

    derivative("mul.Tensor", self=lambda grad, other: grad * other, other=lambda grad, self: grad * self)

``grad`` is the gradient of the (first) output, ``grads`` those of all outputs (None where no gradient arrived). The
name of an input or an output (``result``, or its name in the schema) is a value saved by the forward pass.
``self_shape``, ``self_dtype``, ``self_device``, ``self_stride``, ``self_offset``, ``self_requires_grad`` save only that
fact of an input. A key of several names, ``"input, weight, bias"``, is one formula that returns a tuple for them; it
may take ``output_mask``, the flags of the wanted gradients. A formula for a list of tensors returns a list. Formulas
call operators, so they run on every backend and have derivatives themselves. An operator of the registry is a formula,
too: its first parameter is ``grad``, the others are its needs. The engine sums gradients of broadcast inputs to their
shapes.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

from .._base.about import about
from .._dispatch.aten import clone, scalar_tensor
from .._dispatch.dispatcher import TENSOR_TYPES
from .._dispatch.keys import AUTOGRAD
from .._dispatch.local import local
from .._dispatch.registry import Operator
from .._dispatch.schema import REQUIRED
from .._dispatch.schemas import registry
from .._dtype import FLOATING, bool_, complex128, float64, int64
from .anomaly import AnomalyMode, remember_call
from .node import Node, new, next_sequence_nr
from .parts import PARTS
from .saved import Saved, SavedTensor, check_unchanged, freed, save, save_slice, saved_as, twin
from .views import CopySlices
from .written import FACT_OF, applying, keeping, recording

Formula = Callable[..., Any]
#: Wraps the formulas of an operator's nodes to compute at once; set by ``_wiring``.
at_once: Callable[[Formula, Operator, Callable[[], None]], Formula]
#: PyTorch's names of saved facts, as in ``_saved_self_sym_sizes``.
FACT_NAMES = {"shape": "sym_sizes", "stride": "sym_strides", "offset": "sym_storage_offset", "dtype": "scalar_type",
              "device": "device", "requires_grad": "requires_grad"}
#: The dtypes of the tensors as which PyTorch saves numbers that take the place of tensors.
NUMBERS = {bool: bool_, int: int64, float: float64, complex: complex128}
#: The ends of a slice that PyTorch saves where an index has none.
ENDS = {"start": 0, "end": 2**63 - 1}


class Row(NamedTuple):
    """A derivative as written in a table."""

    formulas: dict[str, Formula]  #: by input name
    node: str | None = None  #: the node's name, if not the usual one
    outputs: tuple[int, ...] | None = None  #: the outputs with a gradient, if not all floating point ones


NOT_DIFFERENTIABLE = Row({})
shape_of = FACT_OF["shape"]

#: Inputs that must not require grad. PyTorch refuses such calls, because their gradients would silently be omitted.
REFUSED = {name: inputs.split() for name, inputs in {
    "binary_cross_entropy": "weight", "binary_cross_entropy_with_logits": "weight pos_weight",
    "fractional_max_pool2d": "random_samples", "fractional_max_pool3d": "random_samples",
    "linalg_pinv.atol_rtol_tensor": "atol rtol", "multi_margin_loss": "weight",
    "native_batch_norm": "running_mean running_var", "nll_loss_forward": "weight", "nll_loss2d_forward": "weight",
    "soft_margin_loss": "target",
}.items()}
#: Operators whose complex outputs must not require grad: those that take complex numbers, but are not in PyTorch's list
#: of gradients that are right for them.
REAL_ONLY = frozenset({
    "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "_conj_copy", "_log_softmax", "_neg_view_copy",
    "_reshape_alias_copy", "_softmax", "_sparse_sum", "_to_sparse", "_to_sparse_bsc", "_to_sparse_bsr",
    "_to_sparse_csc", "_to_sparse_csr", "_trilinear", "amax", "amin", "cummax", "cummin", "embedding", "geqrf",
    "index_reduce", "kthvalue", "median", "mode", "nan_to_num", "nanmedian", "native_dropout", "normal",
    "scatter_reduce", "select_copy", "select_scatter", "silu", "slice_copy", "slice_scatter", "soft_margin_loss",
    "sparse_compressed_tensor", "view_as_complex_copy",
})


def derivative(names: str, node: str | None = None, outputs: tuple[int, ...] | None = None, /,
               **formulas: Formula) -> None:
    """Set the derivative of operators, named by words in a string (``torch.library.register_autograd``).

    ``node`` is the graph node's name; by default ``mul.Tensor`` makes a ``MulBackward0``. ``outputs`` are the
    differentiable ones, by default all that are floating point or complex.
    """
    for name in names.split():
        registry.register_derivative(name, Row(formulas, node, outputs))


def not_differentiable(names: str) -> None:
    """Declare that the outputs of these operators never require grad."""
    for name in names.split():
        registry.register_derivative(name, NOT_DIFFERENTIABLE)


def callable_of(formula: Formula) -> tuple[Formula, Sequence[str]]:
    """Return a formula's function and the names of its needs."""
    if isinstance(formula, Operator):
        return formula.call, ["grad", *[parameter.name for parameter in formula.schema.parameters[1:]]]
    code = formula.__code__
    return formula, code.co_varnames[: code.co_argcount]


def is_of_library(formula: Formula) -> bool:
    """Return True if a formula belongs to this library, so that it does not store gradients."""
    return isinstance(formula, Operator) or (formula.__module__ or "").startswith(f"{__name__.partition('.')[0]}.")


def node_name(op: Operator) -> str:
    """Return PyTorch's usual name of an operator's node."""
    parts = op.packet.strip("_").split("_")
    return "".join(part[:1].upper() + part[1:] for part in parts) + "Backward0"


class Plan:
    """The values to save and the formulas to run for one set of inputs that require grad.

    A formula indexes its needs in a list: the gradient of the first output, the saved values in the order of ``names``,
    last the list of all gradients. ``template`` holds the saved values that do not depend on the call. ``keep`` returns
    the values to save from a call's arguments, ``apply`` runs the formulas.
    """

    __slots__ = ("mask", "formulas", "names", "template", "input_saves", "output_saves", "tensors", "keeps_tensors",
                 "keeps_first", "keep", "apply")
    keep: Callable[..., list[Any]]
    apply: Callable[[Any, list[Any]], list[Any]]

    def __init__(self, mask: int) -> None:
        self.mask = mask
        self.formulas: list[tuple[Any, Formula, list[int]]] = []  # (positions of the results, formula, its needs)
        self.names: list[str] = []
        self.template: list[Any] = []
        self.input_saves: list[tuple[int, int, str | None]] = []  # (index among the saved values, position, fact)
        self.output_saves: list[tuple[int, int, Any]] = []  # (index among the saved values, number of the output, fact)
        self.tensors: list[int] = []  #: which saved values are tensors
        self.keeps_tensors = False
        self.keeps_first = False  #: whether the first input is saved, which an in-place operator overwrites


def original_of(tensor: Any) -> Any:
    """Return a copy of a tensor that is about to be written, with its tangents."""
    copy = clone(tensor)
    for level, tangent in (tensor._tangents or {}).items():
        level.attach(copy, tangent)
    return copy


class Derivative:
    """A row compiled for one operator: the node's class, and a plan for each set of inputs that require grad."""

    def __init__(self, op: Operator, row: Row | None):
        self.op = op
        self.row = row
        functional = op.functional or op
        self.schema = schema = functional.schema
        name = (row.node if row is not None else None) or node_name(functional)
        name = name if row is not None else "torch::autograd::NotImplemented"
        own = {"name": lambda node: name} if "::" in name else {}  # a node that PyTorch writes by hand in C++
        base = OperatorNode if row is not None else NotImplementedNode
        self.node_class: type[OperatorNode] = type(name.rpartition("::")[2], (base,), own)
        self.node_class.derivative = self
        if (part := PARTS.get(op.name)) is not None:
            self.node_class._part = staticmethod(part)
        self.node_class._makes_gradients = row is not None and all(map(is_of_library, row.formulas.values()))
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
        self.refused = [(schema.positions[name], name) for name in REFUSED.get(functional.name, ())]
        self.real_only = functional.packet in REAL_ONLY
        self.node_class._width = len(self.inputs)
        self.plans: dict[int, Plan] = {}

    def plan(self, mask: int) -> Plan:
        """Return the plan for the inputs whose bits are set."""
        found = self.plans.get(mask)
        if found is None:
            found = self.plans[mask] = self._make_plan(mask)
        return found

    def _make_plan(self, mask: int) -> Plan:
        plan = Plan(mask)
        if self.row is None:
            plan.keep = lambda *args: []
            return plan
        parameters, positions = self.schema.parameters, self.schema.positions
        used: dict[str, tuple[int, Callable[..., Any], Any]] = {}  # key of the row -> its first input, formula, needs
        # in PyTorch's order, which is alphabetical
        for i, name in sorted(enumerate(self.names), key=lambda item: self.keys[item[1]]):
            key = self.keys[name]
            if mask >> i & 1 and key not in used:
                used[key] = i, *callable_of(self.row.formulas[key])
        wanted = {need: key for key, (_, _, needs) in used.items() for need in needs if need not in ("grad", "grads")}
        for key, formula in self.row.formulas.items():  # numbers are saved even if no wanted formula needs them
            for need in () if key in used else callable_of(formula)[1]:
                if (at := positions.get(need)) is not None and not parameters[at].is_tensor:
                    wanted.setdefault(need, key)
        indices: dict[str, int] = {"grad": 0, "grads": -1}
        for index, need in enumerate(sorted(wanted), 1):  # pack hooks are called in this order
            indices[need] = index
            self._add_save(plan, need, wanted[need])
        for key, (i, formula, needs) in used.items():
            parts = [part.strip() for part in key.split(",")]
            where = i if len(parts) == 1 else tuple(self.names.index(part) for part in parts)
            plan.formulas.append((where, formula, [indices[need] for need in needs]))
        plan.keep = keeping(plan, self.schema, self.op.name)
        if self.has_lists or any(parameters[at].is_list and parameters[at].is_tensor
                                 for _, at, fact in plan.input_saves if not fact):
            plan.apply = OperatorNode.apply_any
        else:
            self._set_apply(plan, any(not isinstance(formula, Operator) for formula in self.row.formulas.values())
                            and all(-1 not in needs for _, _, needs in plan.formulas))
        return plan

    def _set_apply(self, plan: Plan, by_plans: bool) -> None:
        """Set the function of a plan's nodes, with plans of their formulas, until these turn out not to be worth it."""
        def planned(formulas: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
            return at_once(formulas, self.op, lambda: self._set_apply(plan, False))  # noqa: F821 (put here later)

        plan.apply = applying(plan, len(self.inputs), self.op.name, OperatorNode.apply_all,
                              planned if by_plans else None)
        if getattr(self.node_class, "plan", None) is plan:
            self.node_class.apply = plan.apply  # type: ignore[assignment, method-assign]

    def _add_save(self, plan: Plan, need: str, key: str) -> None:
        """Add a formula's need to the values that a plan saves."""
        positions, returns = self.schema.positions, self.schema.returns
        outputs = {name: number for number, name in enumerate(returns) if name} | {"result": 0}
        base, fact, constant = need, None, None
        for fact_name in FACT_OF:
            if need.endswith("_" + fact_name) and need not in positions and need not in outputs:
                base, fact = need[: -len(fact_name) - 1], fact_name
        index = len(plan.names)
        if base in positions:
            parameter = self.schema.parameters[positions[base]]
            constant = None if parameter.default is REQUIRED else parameter.default
            plan.input_saves.append((index, positions[base], fact))
            plan.keeps_tensors |= parameter.is_tensor and fact is None
            plan.keeps_first |= fact is None and not positions[base]
        elif base in outputs:
            plan.output_saves.append((index, outputs[base], fact))
            plan.keeps_tensors |= fact is None
        elif need == "output_mask":
            constant = tuple(bool(plan.mask >> self.names.index(part.strip()) & 1) for part in key.split(","))
        else:
            raise ValueError(f"derivative of {self.op.name}: a formula needs {need!r}, which is neither an input nor "
                             "an output")
        plan.names.append(need)
        plan.template.append(constant)
        if fact is None and (base in outputs or (base in positions and parameter.is_tensor)):
            plan.tensors.append(index)

    def start(self, args: tuple[Any, ...], inplace: bool = False, always: bool = False) -> OperatorNode | None:
        """Return a node for a call, with edges and saved inputs; None if no input requires grad, unless ``always``."""
        mask = width = 0
        count = len(args)
        links: list[Any] = []
        for bit, position in self.inputs:
            arg: Any = args[position] if position < count else None
            if arg.__class__ in TENSOR_TYPES:
                if arg._keys & AUTOGRAD:
                    mask |= bit
                    edge = arg._grad_edge()
                    if edge is not None:
                        links.append((width, *edge))
            elif arg.__class__ is list or arg.__class__ is tuple:
                width -= 1
                for tensor in arg:
                    width += 1
                    if tensor is not None and tensor._keys & AUTOGRAD:
                        mask |= bit
                        edge = tensor._grad_edge()
                        if edge is not None:
                            links.append((width, *edge))
            width += 1
        if not mask:
            if not always:
                return None
            mask = 1
        node = new(self.node_class)
        node._order = next_sequence_nr()
        node._links = tuple(links)
        node.plan = plan = self.plan(mask)
        node.saved = plan.keep(*((original_of(args[0]), *args[1:]) if inplace and plan.keeps_first else args))
        if self.has_lists:
            node._width = width
            node.lengths = [len(args[p]) if isinstance(args[p], (list, tuple)) else None for _, p in self.inputs]
        if AnomalyMode.enabled:
            remember_call(node)
        return node

    def check_refused(self, args: tuple[Any, ...]) -> None:
        """Raise RuntimeError if an input without a derivative requires grad."""
        for position, name in self.refused:
            arg: Any = args[position] if position < len(args) else None
            if arg.__class__ in TENSOR_TYPES and arg._keys & AUTOGRAD:
                raise RuntimeError(f"The function '{self.op.packet}' is not differentiable with respect to argument "
                                   f"'{name}'. This input cannot have requires_grad True.")

    def check_real(self, outputs: Any) -> None:
        """Raise RuntimeError if an output of an operator that is ``real_only`` is complex: it is to require grad."""
        for output in outputs:
            if output.__class__ in TENSOR_TYPES and output._dtype.is_complex:
                raise RuntimeError(f"{self.op.packet} does not support automatic differentiation for outputs with "
                                   "complex dtype.")

    def apart(self, args: tuple[Any, ...], mask: int, inplace: bool) -> OperatorNode:
        """Return a node outside the graph for a call and the inputs of ``mask``, with inputs saved as in ``start``."""
        node = new(self.node_class)
        node.plan = plan = self.plan(mask)
        node.saved = plan.keep(*((clone(args[0]), *args[1:]) if inplace and plan.keeps_first else args))
        if self.has_lists:
            node.lengths = [len(args[p]) if isinstance(args[p], (list, tuple)) else None for _, p in self.inputs]
        return node

    def finish(self, node: OperatorNode, result: Any) -> Any:
        """Connect a call's outputs to its node."""
        if self.real_only:
            self.check_real((result,) if result.__class__ in TENSOR_TYPES else result)
        if result.__class__ in TENSOR_TYPES:
            array, dtype = result._array, result._dtype
            if array is None:
                node._outputs = ((shape_of(result), dtype, result._device),)
            else:
                node._out_shape, node._out_dtype = array.shape, dtype
            if dtype.category >= FLOATING:
                result._grad_fn = node
                result._keys |= AUTOGRAD
            if node.plan.output_saves:
                node.save_outputs((result,))
        else:
            # some outputs are None, and some are numbers
            node._outputs = tuple([(shape_of(t), t._dtype, t._device) if t.__class__ in TENSOR_TYPES else None
                                   for t in result])
            differentiable = None if self.row is None else self.row.outputs
            for number, output in enumerate(result):
                if (output.__class__ in TENSOR_TYPES and output._dtype.category >= FLOATING
                        and (differentiable is None or number in differentiable)):
                    output._grad_fn, output._output_nr = node, number
                    output._keys |= AUTOGRAD
            node.save_outputs(result)
        return result

    def recording(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap ``inner`` to record a node for each call."""
        start, finish = self.start, self.finish

        def record(*args: Any) -> Any:
            if not local.grad_enabled:
                return inner(*args)
            node = start(args)
            result = inner(*args)
            return result if node is None else finish(node, result)

        schema = self.schema
        if schema.returns_list or self.has_lists or self.row is None:
            return record
        return self.make_recording(inner, record)

    @cached_property
    def make_recording(self) -> Callable[..., Callable[..., Any]]:
        """The generated ``make`` function: it wraps the backend's function, given a fallback that records any call."""
        return recording(self)


class OperatorNode(Node):
    """A node built from a derivative's row."""

    derivative: Derivative
    plan: Plan
    saved: list[Any] | None
    lengths: list[int | None] | None = None

    def apply(self, grads: list[Any]) -> list[Any]:
        return self.plan.apply(self, grads)

    def apply_any(self, grads: list[Any]) -> list[Any]:
        """Run the formulas, whatever their needs."""
        if self.saved is None:
            raise freed(self)
        return self.apply_all(grads, self.saved)

    def apply_all(self, grads: list[Any], saved: list[Any]) -> list[Any]:
        """Run all formulas whose results are wanted, unless no gradient arrived."""
        plan = self.plan
        results: list[Any] = [None] * len(self.derivative.inputs)
        if grads[0] is not None or any(g is not None for g in grads):
            values = [grads[0]]
            for value in saved:
                kind = value.__class__
                values.append(value.unpack(self) if kind is Saved else
                              self._unpacked(value) if kind is list or kind in TENSOR_TYPES else value)
            values.append(grads)
            task = local.task
            wanted = None if task is None or self.lengths is not None else task.wanted_of(self)
            for where, formula, needs in plan.formulas:
                if where.__class__ is int:
                    if wanted is not None and where not in wanted:
                        continue
                    results[where] = formula(*[values[need] for need in needs])
                    continue
                for position, part in zip(where, formula(*[values[need] for need in needs]), strict=True):
                    results[position] = part
        if self.lengths is None:
            return results
        flat: list[Any] = []
        for result, length in zip(results, self.lengths, strict=True):
            flat.extend([result] if length is None else [None] * length if result is None else result)
        return flat

    def _unpacked(self, value: Any, shown: bool = False) -> Any:
        """Unpack a saved value, for a formula or (``shown``) for a user."""
        if value.__class__ is Saved:
            return value.unpack(self)
        if value.__class__ is list:
            return [self._unpacked(item, shown) for item in value]
        if value.__class__ in TENSOR_TYPES and value._version_counter is not None:
            check_unchanged(value, 0, self, shown=shown)
        return value

    def release_variables(self) -> None:
        if self.plan.keeps_tensors:
            self.saved = None

    def save_outputs(self, outputs: Any) -> None:
        """Save the outputs that the formulas need."""
        for i, number, fact in self.plan.output_saves:
            output = outputs[number]
            if fact is not None:
                self.saved[i] = FACT_OF[fact](output)  # type: ignore[index]
            elif output is not None and output._grad_fn is self:
                self.saved[i] = save(twin(output), number, self)
            elif output is not None:
                slices = None if output._base is None else output._base._grad_fn
                is_slice = slices.__class__ is CopySlices and slices.replay is None
                self.saved[i] = save_slice(output, slices) if is_slice else save(output)  # type: ignore[index]

    def keep_outputs(self, outputs: Any) -> None:
        """Save the outputs on a node outside the graph: they keep their own place in it."""
        for i, number, fact in self.plan.output_saves:
            output = outputs[number]
            self.saved[i] = FACT_OF[fact](output) if fact else None if output is None else save(output)  # type: ignore[index]

    def row_of(self, i: int, gradient: Any) -> Any:
        """Return the gradient of the i-th differentiable input from the gradient of the only output."""
        values = [gradient, *[self._unpacked(value) for value in self.saved or ()], [gradient]]
        for where, formula, needs in self.plan.formulas:
            if where == i:
                return formula(*[values[need] for need in needs])
            if where.__class__ is tuple and i in where:
                return formula(*[values[need] for need in needs])[where.index(i)]
        return None

    # -- node._saved_self and similar attributes -------------------------------------------------------------------

    def _kept_at(self, name: str) -> int | None:
        """Return the index of the saved value with this name in PyTorch, or None if this node does not need it."""
        positions = self.derivative.schema.positions
        return next((i for i, kept in enumerate(self.plan.names) if _attribute(kept, positions) == name), None)

    def _kept_tensor(self, at: int, i: int | None = None) -> Saved | None:
        """Return a saved tensor, or the i-th of a list, as a ``Saved``, which accepts hooks."""
        if self.saved is None:
            raise freed(self)
        found: Saved | None = self.saved[at] if i is None else self.saved[at][i]
        if found.__class__ in TENSOR_TYPES:
            found = self.saved[at] = saved_as(found)
        return found

    def _kept_names(self) -> list[str]:
        """Return the names of all values that a node of this operator may save."""
        plan = self.derivative.plan((1 << len(self.derivative.inputs)) - 1)
        return [_attribute(name, self.derivative.schema.positions) for name in plan.names if name != "output_mask"]

    def __getattr__(self, attribute: str) -> Any:
        raw = attribute.startswith("_raw_saved_")
        name = attribute[11 if raw else 7:]
        if not (raw or attribute.startswith("_saved_")) or name not in self._kept_names():
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute}'")
        at: Any = self._kept_at(name)
        if self.saved is None:
            raise freed(self)
        if at is None and not raw and name.endswith(("_sym_sizes", "_sym_strides")):
            return self._fact(*name.split("_sym_"))
        value = None if at is None else self.saved[at]
        if isinstance(value, list) and value and value[0].__class__ is Saved:
            items = [SavedTensor(self, partial(self._kept_tensor, at, i)) for i in range(len(value))]
            return tuple(items if raw else [item.unpack() for item in items])
        if raw:
            return SavedTensor(self, lambda: None if at is None else self._kept_tensor(at))
        if value.__class__ is Saved:
            return value.unpack(self, True)
        value, at = self._unpacked(value, True), self.derivative.schema.positions.get(name)
        if at is None:
            return value
        parameter = self.derivative.schema.parameters[at]
        if parameter.is_tensor and value.__class__ in NUMBERS:  # which PyTorch saves as tensors
            return scalar_tensor(value, NUMBERS[value.__class__])
        if value is None and self.derivative.op.name == "slice.Tensor":
            return ENDS[name]
        return _unsigned(value) if parameter.base in ("int", "SymInt") else value

    def _fact(self, name: str, fact: str) -> tuple[int, ...] | None:
        """Return the sizes of an input that is saved only for another input's gradient; an empty tuple for strides."""
        at = self._kept_at(name)
        if fact == "strides" or at is None:
            return None if at is None else ()
        value: Any = self.saved[at]  # type: ignore[index]
        return tuple((value.unpack(self, True) if value.__class__ is Saved else self._unpacked(value, True)).shape)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(f"_saved_{name}" for name in self._kept_names())]


class NotImplementedNode(OperatorNode):
    """The node of an operator without a derivative: it can be recorded, but its backward raises."""

    def apply(self, grads: list[Any]) -> list[Any]:
        op = self.derivative.op
        raise about(RuntimeError(f"derivative for {op.packet} is not implemented" if "::" not in op.name else
                                 f"Trying to backward through {op.name.replace('::', '.')}.default but no autograd "
                                 "formula was registered. Please use register_autograd to add one."), "no derivative")


def _unsigned(value: Any) -> Any:
    """Return an integer, or each one of a list, as PyTorch shows those of 64 bits: negative ones plus 2**64."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(_unsigned, value))
    return value % 2**64 if type(value) is int else value


def _attribute(name: str, positions: dict[str, int]) -> str:
    """Return PyTorch's name of a saved value: ``self_sym_sizes`` for ``self_shape``."""
    base, _, fact = name.rpartition("_")
    return f"{base}_{FACT_NAMES[fact]}" if name not in positions and fact in FACT_NAMES else name
