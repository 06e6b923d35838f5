"""Generated Python: for each operator, a function that records its calls and one that runs its node in the backward
pass.

``Derivative.start`` and ``OperatorNode.apply_all`` determine step by step which inputs require grad, which values are
saved, and which values each formula needs. All this is fixed for an operator, and unrolled loops take a third of the
time. For ``exp``, whose derivative is ``grad * result``, the functions are

    def record(self):
        if not self._keys & AUTOGRAD or not local.grad_enabled:
            return inner(self)
        if AnomalyMode.enabled:
            return record_any(self)
        node = new(node_class)
        node._order, node.saved = next_sequence_nr(), [None]
        source = self._grad_fn if self._base is None or self._attr_version == self._version_counter[0] else self.grad_fn
        if source is not None:
            node._links = (0, source, self._output_nr),
        elif (edge := self._leaf_edge()) is not None:
            node._links = (0, *edge),
        result = inner(self)
        if (array := result._array) is None or (dtype := result._dtype).category < FLOATING:
            return finish(node, result)
        node._out_shape, node._out_dtype = array.shape, dtype
        result._grad_fn, result._keys = node, result._keys | AUTOGRAD
        node.saved[0] = save(twin(result), 0, node)
        return result

    def apply(self, grads):
        if (saved := self.saved) is None:
            raise freed(self)
        if (grad := grads[0]) is None:
            return apply_all(self, grads, saved)
        result_0, = saved
        if result_0.__class__ is Saved:
            result_0 = result_0.unpack(self)
        elif result_0.__class__ in TENSOR_TYPES and result_0._version_counter is not None:
            check_unchanged(result_0, 0, self)
        return [formula_0(grad, result_0)]

If several inputs may require grad, a third function, ``keep``, builds the list of saved values for those that do.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from keyword import iskeyword
from typing import Any

from .._base.generated import define
from .._device import CPU as HOST
from .._dispatch.dispatcher import TENSOR_TYPES
from .._dispatch.keys import AUTOGRAD, INFERENCE
from .._dispatch.local import local
from .._dispatch.schema import REQUIRED
from .._dispatch.schemas import registry
from .._dtype import FLOATING
from .anomaly import AnomalyMode
from .node import new, next_sequence_nr
from .saved import Saved, check_unchanged, freed, keep_list, save, twin

#: Facts of a tensor that a formula may need, as expressions.
FACTS = {
    "shape": "(tuple({0}.shape) if {0}._array is None else {0}._array.shape)", "stride": "{0}._strides()",
    "offset": "{0}._offset", "dtype": "{0}._dtype", "device": "{0}._device", "requires_grad": "{0}.requires_grad",
}
#: The node of a tensor, rebuilt if it is a view whose memory was written since.
SOURCE = "{0}._grad_fn if {0}._base is None or {0}._attr_version == {0}._version_counter[0] else {0}.grad_fn"
#: Operators whose overload for numbers has a node of its own, which C++ chooses and Python does not.
BY_NUMBER = {f"{name}.Tensor": f"{name}.Scalar" for name in ("add", "sub", "mul", "div")}
#: The names that all generated functions use.
NAMES: dict[str, Any] = {
    "AnomalyMode": AnomalyMode, "AUTOGRAD": AUTOGRAD, "FLOATING": FLOATING, "HOST": HOST, "INFERENCE": INFERENCE,
    "Saved": Saved, "TENSOR_TYPES": TENSOR_TYPES, "check_unchanged": check_unchanged, "freed": freed,
    "keep_list": keep_list, "local": local, "new": new, "next_sequence_nr": next_sequence_nr, "save": save,
    "twin": twin,
}
#: The generated functions' own variables.
OWN = frozenset({"rest", "inner", "record_any", "mask", "links", "source", "edge", "node", "node_class", "plan",
                 "plans", "plan_of", "finish", "check_refused", "by_number", "result", "array", "dtype", "hooks"})


def function(name: str, of: str, lines: Iterable[str], **names: Any) -> Callable[..., Any]:
    """Compile a generated function, with its source available to tracebacks and its file in this library."""
    made: Callable[..., Any] = define(name, "\n".join(lines) + "\n", f"{__file__}: {name} of {of}",
                                      {"__name__": __name__, **NAMES, **names})
    return made


#: The facts, as functions of a tensor.
FACT_OF: dict[str, Callable[[Any], Any]] = {fact: eval(f"lambda t: {text.format('t')}") for fact, text in FACTS.items()}


# -- a call's arguments -----------------------------------------------------------------------------------------------

class Arguments:
    """Spells a call's arguments: the first ones by the schema's names, all others as items of ``rest``."""

    def __init__(self, schema: Any, count: int) -> None:
        parameters = schema.parameters[:count]
        self.names = [f"{name}_" if name in NAMES or name in OWN or iskeyword(name) else name
                      for name in (parameter.name for parameter in parameters)]
        self.defaults = {f"default_{name}": parameter.default for name, parameter in
                         zip(self.names, parameters, strict=True) if parameter.default is not REQUIRED}
        more = ["*rest"] if count < len(schema.parameters) else []
        self.head = ", ".join([*[f"{name}=default_{name}" if f"default_{name}" in self.defaults else name
                                 for name in self.names], *more])
        self.call = ", ".join([*self.names, *more])

    def spell(self, position: int, default: str) -> str:
        """Return the expression of an argument, which may be missing at the end of a call."""
        if position < len(self.names):
            return self.names[position]
        at = position - len(self.names)
        return f"(rest[{at}] if len(rest) > {at} else {default})" if at else f"(rest[0] if rest else {default})"


class Kept:
    """Code for the list of values that a node saves from a call's arguments: preceding statements, items, and
    constants.

    A tensor that was never written in place is saved directly, any other as a ``Saved`` with its version.
    """

    def __init__(self, plan: Any, schema: Any, given: Arguments) -> None:
        self.before: list[str] = []
        self.items = ["None" if constant is None else f"constant_{index}"
                      for index, constant in enumerate(plan.template)]
        self.names: dict[str, Any] = {f"constant_{index}": constant for index, constant in enumerate(plan.template)
                                      if constant is not None}
        for index, position, fact in plan.input_saves:
            value = given.spell(position, self.items[index])
            if schema.parameters[position].is_tensor and not value.isidentifier():
                self.before.append(f"value_{index} = {value}")
                value = f"value_{index}"
            self.items[index] = self._item(index, position, schema.parameters[position], value, fact)
        if any("hooks" in item for item in self.items):
            self.before.insert(0, "hooks = local.saved_tensor_hooks")
        self.list = f"[{', '.join(self.items)}]"

    def _item(self, index: int, position: int, parameter: Any, value: str, fact: str | None) -> str:
        if not parameter.is_tensor:
            return value
        if parameter.is_list:
            self.names[f"fact_{index}"] = None if fact is None else FACT_OF[fact]
            return f"keep_list({value}, fact_{index})"
        item = FACTS[fact].format(value) if fact is not None else (
            f"({value} if {value}._version_counter is None and not {value}._keys & INFERENCE and not hooks "
            f"else save({value}))")
        if not position:
            return item
        instead = "None" if fact is not None else value  # for a number, or None
        return f"({item} if {value}.__class__ in TENSOR_TYPES else {instead})"


def indented(lines: Iterable[str], by: int) -> list[str]:
    return [f"{' ' * by}{line}" for line in lines]


# -- the three functions -----------------------------------------------------------------------------------------------

def recording(found: Any) -> Callable[..., Callable[..., Any]]:
    """Generate a function that wraps the backend's function (and a fallback that records any call) to record an
    operator's calls. None of the operator's inputs and outputs is a list.
    """
    last = max([position for _, position in found.inputs] + [position for position, _ in found.refused])
    given = Arguments(found.schema, last + 1)
    names: dict[str, Any] = {"node_class": found.node_class, "finish": found.finish, "plans": found.plans,
                             "plan_of": found.plan, "check_refused": found.check_refused, **given.defaults}
    refusals = []
    for position, _ in found.refused:
        refusals += [f"if {given.names[position]}.__class__ in TENSOR_TYPES and local.grad_enabled:",
                     f"    check_refused(({', '.join(given.names)},))"]
    lines = ["def make(inner, record_any):", f"    def record({given.head}):", *indented(refusals, 8)]
    if len(found.inputs) == 1:
        plan = found.node_class.plan = found.plan(1)
        found.node_class.apply, found.node_class._holds = plan.apply, plan.keeps_tensors
        kept = Kept(plan, found.schema, given)
        names |= kept.names
        name = given.names[found.inputs[0][1]]
        is_tensor = "" if not found.inputs[0][1] else f"{name}.__class__ not in TENSOR_TYPES or "
        look = [f"if {is_tensor}not {name}._keys & AUTOGRAD or not local.grad_enabled:",
                f"    return inner({given.call})",
                "if AnomalyMode.enabled:", f"    return record_any({given.call})",
                *kept.before,
                "node = new(node_class)",
                f"node._order, node.saved = next_sequence_nr(), {kept.list}",
                f"source = {SOURCE.format(name)}",
                "if source is not None:",
                f"    node._links = (0, source, {name}._output_nr),",
                f"elif (edge := {name}._leaf_edge()) is not None:",
                "    node._links = (0, *edge),"]
        has_outputs = [f"node.saved[{index}] = save(twin(result), 0, node)" if fact is None else
                       f"node.saved[{index}] = {FACTS[fact].format('result')}"
                       for index, _, fact in plan.output_saves]
    else:
        look = ["if not local.grad_enabled:", f"    return inner({given.call})", "mask, links = 0, ()"]
        for number, (bit, position) in enumerate(found.inputs):
            name, add = given.names[position], "+=" if number else "="
            is_tensor = "" if not position else f"{name}.__class__ in TENSOR_TYPES and "
            look += [f"if {is_tensor}{name}._keys & AUTOGRAD:",
                     f"    mask {add} {bit}",
                     f"    source = {SOURCE.format(name)}",
                     "    if source is not None:",
                     f"        links {add} ({number}, source, {name}._output_nr),",
                     f"    elif (edge := {name}._leaf_edge()) is not None:",
                     f"        links {add} ({number}, *edge),"]
        look += ["if not mask:", f"    return inner({given.call})"]
        if found.op.name in BY_NUMBER:  # formulas call the overload for numbers
            names["by_number"] = registry[BY_NUMBER[found.op.name]].call
            look += [f"if {given.names[1]}.__class__ not in TENSOR_TYPES and local.formula:",
                     f"    return by_number({given.call})"]
        look += ["if AnomalyMode.enabled:", f"    return record_any({given.call})",
                 "node = new(node_class)",
                 "node._order, node._links = next_sequence_nr(), links",
                 "node.plan = plan = plans.get(mask) or plan_of(mask)",
                 f"node.saved = plan.keep({given.call}) if plan.input_saves else plan.template.copy()"]
        has_outputs = ["if plan.output_saves:", "    node.save_outputs((result,))"]
    look.append(f"result = inner({given.call})")
    if found.real_only or (len(found.schema.returns) == 1 and found.schema.returns != ("",)):
        look.append("return finish(node, result)")
    elif len(found.schema.returns) > 1:
        look += connecting(len(found.schema.returns), found.row.outputs)
        look += [*has_outputs[:1], "    node.save_outputs(result)"] if len(found.inputs) > 1 else (
            ["node.save_outputs(result)"] * bool(has_outputs))
        look.append("return result")
    else:
        look += ["if (array := result._array) is None or (dtype := result._dtype).category < FLOATING:",
                 "    return finish(node, result)",
                 "node._out_shape, node._out_dtype = array.shape, dtype",
                 "result._grad_fn, result._keys = node, result._keys | AUTOGRAD",
                 *has_outputs,
                 "return result"]
    return function("make", found.op.name, [*lines, *indented(look, 8), "    return record"], **names)


def connecting(count: int, differentiable: Any) -> list[str]:
    """Return the lines that connect several outputs to their node, of which those ``differentiable`` have a gradient,
    or all if that is None.
    """
    outputs = [f"output_{number}" for number in range(count)]
    facts = ", ".join([f"({output}._array.shape, {output}._dtype, HOST)" for output in outputs])
    lines = [f"{', '.join(outputs)} = result",
             f"if {' or '.join([f'{o}.__class__ not in TENSOR_TYPES or {o}._array is None' for o in outputs])}:",
             "    return finish(node, result)",
             f"node._several = {facts}"]
    for number, output in enumerate(outputs):
        if differentiable is None or number in differentiable:
            lines += [f"if {output}._dtype.category >= FLOATING:",
                      f"    {output}._grad_fn, {output}._output_nr, {output}._keys = "
                      f"node, {number}, {output}._keys | AUTOGRAD"]
    return lines


def keeping(plan: Any, schema: Any, op: str) -> Callable[..., list[Any]]:
    """Generate a function that returns the saved values of a call, without the outputs."""
    given = Arguments(schema, max([position + 1 for _, position, _ in plan.input_saves
                                   if schema.parameters[position].default is REQUIRED], default=0))
    kept = Kept(plan, schema, given)
    return function("keep", op, [f"def keep({given.head}):", *indented([*kept.before, f"return {kept.list}"], 4)],
                    **given.defaults, **kept.names)


def applying(plan: Any, width: int, op: str, apply_all: Callable[..., Any],
             at_once: Callable[..., Any] | None = None) -> Callable[[Any, list[Any]], list[Any]]:
    """Generate a node's function from the outputs' gradients to the inputs', in a new list. It leaves the call to
    ``apply_all`` unless the first output has a gradient and all inputs' gradients are needed. ``at_once`` wraps the
    function of the formulas alone.
    """
    names: dict[str, Any] = {"apply_all": apply_all}
    kept = [f"{name}_{index}" for index, name in enumerate(plan.names)]
    values = ["grad", *kept, "grads"]
    narrowed = " or ((task := local.task) is not None and task.narrowed is not None)"
    lines = ["def apply(self, grads):", "    if (saved := self.saved) is None:", "        raise freed(self)",
             f"    if (grad := grads[0]) is None{narrowed if len(plan.formulas) > 1 else ''}:",
             "        return apply_all(self, grads, saved)"]
    if kept:
        lines.append(f"    {', '.join(kept)}, = saved")
    for index in plan.tensors:
        lines += [f"    if {kept[index]}.__class__ is Saved:",
                  f"        {kept[index]} = {kept[index]}.unpack(self)",
                  f"    elif {kept[index]}.__class__ in TENSOR_TYPES and {kept[index]}._version_counter is not None:",
                  f"        check_unchanged({kept[index]}, 0, self)"]
    results, calls = ["None"] * width, []
    for number, (where, formula, needs) in enumerate(plan.formulas):
        names[f"formula_{number}"] = formula
        call = f"formula_{number}({', '.join(values[need] for need in needs)})"
        if where.__class__ is int and len(plan.formulas) == 1:
            results[where] = call
            break
        places = (where,) if where.__class__ is int else where
        calls.append(f"    {', '.join(f'grad_{place}' for place in places)}{',' * (where is places)} = {call}")
        for place in places:
            if plan.mask >> place & 1:
                results[place] = f"grad_{place}"
    calls.append(f"    return [{', '.join(results)}]")
    if at_once is None:
        return function("apply", op, [*lines, *calls], **names)
    given = ", ".join([values[need] for need in sorted({need for _, _, needs in plan.formulas for need in needs})])
    formulas = function("formulas", op, [f"def formulas({given}):", *calls], **names)
    return function("apply", op, [*lines, f"    return at_once({given})"], at_once=at_once(formulas), **names)
