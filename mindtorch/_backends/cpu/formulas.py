"""Derivatives computed at once: one plan on arrays for the operators that a node's formulas call.

A formula is a function that calls operators, each of which looks for its own plan and makes a tensor. For few numbers
that costs several times what NumPy takes. After some calls of the same layouts and settings, the formulas run on meta
tensors, which have no values to depend on; the calls that observers are told of are looked up on the CPU, and what they
compute of arrays is written out as one function. It has to return the same bits as the formulas; they compute wherever
it does not fit: gradients that are recorded, batched or seen by a mode, other devices, many numbers.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np

from ..._base.generated import define
from ..._base.layout import Layout
from ..._base.quiet import silent
from ..._device import CPU as HOST, device
from ..._dispatch import dispatcher
from ..._dispatch.dispatcher import TENSOR_TYPES, keys_of, resolve, tensors_of
from ..._dispatch.keys import AUTOGRAD, CPU, NONCONTIGUOUS, OBSERVED
from ..._dispatch.local import local
from ..._dispatch.observers import parts_of, subscribed, tell_parts, untold
from ..._dispatch.registry import Kernel, Operator
from ..._dispatch.schemas import registry
from ..._dtype import get_default_dtype
from ..._tensor import Tensor, from_array, new
from .plans import MISSES, SETTINGS, UNFIT, Plan, Plans
from .rows import Rows, array_of

ndarray = np.ndarray
PLAIN = CPU | AUTOGRAD | NONCONTIGUOUS  #: the keys of tensors that a plan takes
MANY = 1 << 14  #: of so many elements, the operators take most of the time
CALLS = 2  #: a plan is made at the call after so many of its layouts, since it costs as much as a dozen of them
FEWEST = 3  #: operators of a plan: fewer cost less by themselves


Gradient = tuple[int, Layout | None, int]


class Replay(NamedTuple):
    """A plan: the function of arrays; for each gradient the number of a result, its layout and version, or the number
    of the value that it is, or None; and the registry's changes when it was made.
    """

    run: Rows
    gradients: tuple[Gradient | None, ...]
    changes: int


def at_once(formulas: Callable[..., list[Any]], op: Operator, abandon: Callable[[], None]) -> Callable[..., list[Any]]:
    """Return a node's formulas with plans. ``abandon`` is called if the first calls do not allow one: no plan that is
    looked for in vain costs anything from then on.
    """
    plans = Plans()

    def planned(*values: Any) -> list[Any]:
        if dispatcher.mode & ~OBSERVED or local.grad_enabled or (plans.missed > MISSES and plans.skip()):
            return formulas(*values)
        key: list[Any] = [get_default_dtype()]
        arrays = []
        for value in values:
            kind = value.__class__
            if kind in TENSOR_TYPES:
                if value._keys & ~PLAIN or (array := value._array).size > MANY:
                    return formulas(*values)
                arrays.append(array)
                key.append(value._layout or value._layout_of_plans())
            elif kind in SETTINGS:
                key += kind, value
            elif kind is float:
                key += kind, value or str(value)
            elif kind is tuple:
                key += value
            else:
                return formulas(*values)
        try:
            plan = plans.get(found := tuple(key))
        except TypeError:  # a setting that is not hashable
            return formulas(*values)
        if plan.__class__ is not Replay or plan.changes != registry.changes:
            plans.missed += 1
            return formulas(*values) if plan is UNFIT else learn(found, plan, values)
        plans.missed, start = 0, perf_counter_ns() if dispatcher.mode & OBSERVED else 0
        try:
            results = silent().run(plan.run, *arrays)
        except Exception:  # the operators raise it again, in their names
            results = None
        if results is None:
            return formulas(*values)
        gradients = [part and (values[part[0]] if part[1] is None else tensor_of(results[part[0]], *part[1:]))
                     for part in plan.gradients]
        if start:
            tell_parts(formulas, values, gradients, start, perf_counter_ns() - start)
        return gradients

    def learn(key: Any, known: Any, values: tuple[Any, ...]) -> list[Any]:
        count, reads = known if known.__class__ is int else 0, local.reads
        expected = formulas(*values)
        if local.reads != reads:  # other values may ask for other operators, or be refused
            plans.keep(key, UNFIT)
            return expected
        if count < CALLS:
            plans.keep(key, count + 1)
            return expected
        try:
            with untold():
                plan = replay_of(formulas, op, values, expected)
        except Exception:  # an operator refuses a stand-in, or the function of its plan its arrays
            plan = None
        if plan is None and not any(kept.__class__ is Replay for kept in plans.values()):
            abandon()
        plans.keep(key, plan or UNFIT)
        return expected

    return planned


#: What operators that only write do to arrays of their dtype, and how many arguments they take.
WRITES: dict[str, tuple[Rows, int]] = {
    "copy_": (np.copyto, 2), "fill_.Scalar": (ndarray.fill, 2), "zero_": (lambda x: x.fill(0), 1),
    "masked_fill_.Scalar": (lambda x, mask, value: np.copyto(x, value, where=mask), 3)}


def tensor_of(result: Any, layout: Any, version: int) -> Tensor:
    """Return a tensor of a result."""
    out = new(Tensor)
    if version:
        out._start_counter()[0] = version
    out._array = result if result.__class__ is ndarray else np.asarray(result)
    out._dtype, out._keys, out._layout = layout.dtype, CPU, layout
    return out


def same(x: ndarray) -> ndarray:
    """Stand for an operator that returns its argument."""
    return x


# -- how a plan is made ------------------------------------------------------------------------------------------------

class Step(NamedTuple):
    """What an operator computes: a function of arrays, its arguments, and the result as a tensor.

    - ``writes``: it writes into its first argument, and returns False if it does not take the values.
    - ``checked``: the function is known to compute the result.
    - ``leaves``: it returns None for values that it does not take.
    - ``views``: the result is a view of the argument.
    """

    run: Rows
    args: Sequence[Any]
    result: Any
    writes: bool = False
    checked: bool = False
    leaves: bool = False
    views: bool = False


class Tape:
    """The lines of a plan's function, as the operators of formulas are looked up."""

    def __init__(self, stand_ins: Sequence[Any], values: Sequence[Any]) -> None:
        self.lines: list[str] = []
        self.space: dict[str, Any] = {}  #: the functions and settings that the lines name
        self.inputs: dict[str, Any] = {}
        self.known: dict[int, tuple[str, Any]] = {}  #: by a stand-in's id: name and tensor
        self.count = 0
        for stand_in, value in zip(stand_ins, values, strict=True):
            if value.__class__ in TENSOR_TYPES:
                if any(value is other for other in self.inputs.values()):
                    value = value._saved_alias()  # a later call may have two tensors
                self.inputs[name := f"x{len(self.inputs)}"] = value
                self.known[id(stand_in)] = name, value

    def actual(self, value: Any) -> Any:
        """Return an operator's argument with tensors instead of stand-ins."""
        if value.__class__ in TENSOR_TYPES:
            return self.known[id(value)][1]
        if value.__class__ is list or value.__class__ is tuple:
            return value.__class__([self.actual(item) for item in value])
        return HOST if value.__class__ is device and value.type == "meta" else value

    def spelled(self, value: Any) -> str:
        """Return the expression of a step's argument."""
        if value.__class__ in TENSOR_TYPES:
            return next(name for name, tensor in self.known.values() if tensor is value)
        if value.__class__ is list and value and value[0].__class__ in TENSOR_TYPES:
            return f"[{', '.join(map(self.spelled, value))}]"
        self.space[name := f"c{len(self.space)}"] = value
        return name

    def add(self, step: Step, made: Any) -> bool:
        """Add an operator, whose results have these stand-ins; return whether its function computes them."""
        if not (step.checked or step.run is same or is_right(step)):
            return False
        self.count += 1
        several = step.result.__class__ is not Tensor
        outputs, made = (step.result, made) if several else ((step.result,), (made,))
        targets = [f"v{self.count}_{i}" for i in range(len(outputs))]
        if step.run is same or step.writes:
            targets = [self.spelled(step.result)]
        if step.run is not same:
            self.space[function := f"f{self.count}"] = step.run
            call = f"{function}({', '.join(map(self.spelled, step.args))})"
            if step.writes:
                self.lines.append(f"if {call} is False: return None")
            else:
                self.lines.append(f"{', '.join(targets)}{',' * several} = {call}")
                if step.leaves and not several:
                    self.lines.append(f"if {targets[0]} is None: return None")
                # NumPy may return a number, which cannot be written
                self.lines += [f"{target} = asarray({target})" for target, tensor in zip(targets, outputs, strict=True)
                               if not tensor.ndim]
        for target, stand_in, tensor in zip(targets, made, outputs, strict=True):
            for other in [other for other, (_, held) in self.known.items() if held is tensor]:  # it was written
                self.known[other] = target, tensor
            self.known[id(stand_in)] = target, tensor
        return True

    def gradients(self, made: Sequence[Any], values: Sequence[Any],
                  expected: Sequence[Any]) -> list[Gradient | None] | None:
        """Add the line that returns the gradients, and describe them; return None if one is no new contiguous tensor.
        """
        order: list[str] = []
        gradients: list[Gradient | None] = []
        for stand_in, wanted in zip(made, expected, strict=True):
            name, tensor = ("", None) if stand_in is None else self.known[id(stand_in)]
            if tensor is None:
                gradients.append(None)
            elif name in self.inputs:
                gradients.append((next(i for i, value in enumerate(values) if value is tensor), None, 0))
            elif tensor._keys != CPU or not tensor._array.size or any(
                    shares(tensor, value) for value in self.inputs.values()):
                return None
            else:
                order += [name] * (name not in order)
                gradients.append((order.index(name), tensor._layout_of_plans(), wanted._version))
        self.lines.append(f"return {', '.join(order)},")
        return gradients


def replay_of(formulas: Callable[..., list[Any]], op: Operator, values: tuple[Any, ...],
              expected: list[Any]) -> Replay | None:
    """Return the plan of formulas whose gradients of some values are known; None if they do not allow one, or have too
    few operators.
    """
    with subscribed(lambda event: None):
        found = parts_of(formulas, values)
    if found is None:
        return None
    stand_ins, made, parts = found
    parts.sort(key=lambda part: part[0].sequence)
    tape, at = Tape(stand_ins, values), 0
    while at < len(parts):
        event, given, result = parts[at]
        at += 1
        step = step_of(registry[event.op], tape.actual(tuple(given)), [*tape.inputs.values()])
        if step is not None:
            if not tape.add(step, result):
                return None
            while at < len(parts) and parts[at][0].depth > event.depth:
                at += 1
        elif at == len(parts) or parts[at][0].depth <= event.depth:
            return None  # it calls no operators that could stand for it
    gradients = None if tape.count < FEWEST else tape.gradients(made, values, expected)
    if gradients is None:
        return None
    run = function_of(tuple(tape.inputs), tuple(tape.space), tuple(tape.lines), op.name)(*tape.space.values())
    results = silent().run(run, *[value._array for value in tape.inputs.values()])
    for part, wanted in zip(gradients, expected, strict=True):
        if part is None or part[1] is None:
            right = wanted is (part and values[part[0]])
        else:
            array = np.asarray(results[part[0]])
            right = (wanted is not None and wanted._keys == CPU and wanted._base is None and array.flags.writeable
                     and is_alike(array, wanted._array))
        if not right:
            return None
    return Replay(run, tuple(gradients), registry.changes)


@lru_cache(1 << 10)
def function_of(inputs: tuple[str, ...], names: tuple[str, ...], lines: tuple[str, ...],
                op: str) -> Callable[..., Rows]:
    """Return what makes the function of arrays from the functions and settings that its lines name."""
    text = "\n".join([f"def make({', '.join(names)}):", f"    def run({', '.join(inputs)}):",
                      *[f"        {line}" for line in lines], "    return run\n"])
    made: Callable[..., Rows] = define("make", text, f"{__file__}: formulas of {op}, {hash(text) & 0xFFFFFF:x}",
                                       {"asarray": np.asarray})
    return made


def step_of(op: Operator, args: tuple[Any, ...], inputs: list[Any]) -> Step | None:
    """Call an operator, and return what it computes of arrays; None if that is not to be known."""
    kernel = op.kernel(CPU)
    if kernel is None or kernel.registered or op.family == "random" or op.is_out:
        return None
    keys = keys_of(args) & ~AUTOGRAD
    if keys & ~(CPU | NONCONTIGUOUS):
        return None
    if op.is_inplace:
        return writing_step(op, kernel, args, inputs)
    result: Any = op.call(*args)
    outputs = tensors_of([result] if result.__class__ is Tensor else result)
    if not outputs or any(out._keys & ~PLAIN or out._array.size > MANY for out in outputs):
        return None
    if result.__class__ is Tensor:
        array: Any = outputs[0]._array
        if any(result is arg for arg in args):
            return Step(same, (), result)
        if result._base is not None or (op.family == "views" and shares(result, args[0])):
            run = view_of(args[0]._array, array)
            return None if run is None else Step(run, args[:1], result, views=True)
        if op.family == "creation" and (op.packet.endswith("_like") or "new_" in op.packet or not tensors_of(args)):
            return Step(array.copy().copy, (), result)
        if (find := found_by(kernel, "function_of")) is not None:
            run = find(args)
            return None if run is None else Step(run, args[:find.taken], result)
    op.call(*args)
    op.call(*args)  # of which one has made a plan
    plan, taken = planned_of(kernel, args)
    if plan is not None and len(outputs) == (1 if result.__class__ is Tensor else len(result)):
        args = (*args, *[parameter.default for parameter in op.schema.parameters[len(args):taken]])
        return Step(plan.run, (*args[:taken], *plan.settings), result, leaves=True)
    if kernel.composite or result.__class__ is not Tensor or keys & NONCONTIGUOUS or result._keys & NONCONTIGUOUS:
        return None
    function, dtypes = op.table.get(keys) or resolve(op, keys), [
        arg._dtype if arg.__class__ in TENSOR_TYPES else None for arg in args]
    if any(arg.__class__ is list for arg in args):
        return None

    def by_tensors(*values: Any) -> Any:
        return function(*[value if dtype is None else from_array(np.asarray(value), dtype)
                          for value, dtype in zip(values, dtypes, strict=True)])._array

    return Step(by_tensors, args, result)


def is_right(step: Step) -> bool:
    """Return whether the function of a step computes the bits of the operator's result, laid out as these are, in new
    memory, unless that is a view.
    """
    given = [array_of(arg) for arg in step.args]
    made = silent().run(step.run, *given)
    pairs: Any = [(made, step.result)] if step.result.__class__ is Tensor else [*zip(made, step.result, strict=True)]
    new_memory = step.views or not any(np.may_share_memory(array, tensor._array)
                                       for array, _ in pairs for tensor in tensors_of(step.args))
    return new_memory and all(is_alike(np.asarray(array), tensor._array) for array, tensor in pairs)


def is_alike(array: ndarray, other: ndarray, bits: bool = True) -> bool:
    """Return whether two arrays agree in dtype, shape, strides, and ``bits``."""
    steps = [[step for step, size in zip(x.strides, x.shape, strict=True) if size > 1] for x in (array, other)]
    return (array.dtype is other.dtype and array.shape == other.shape and steps[0] == steps[1]
            and (not bits or array.tobytes() == other.tobytes()))


def writing_step(op: Operator, kernel: Kernel, args: tuple[Any, ...], inputs: list[Any]) -> Step | None:
    """Return what an operator that writes a new tensor computes: a new array, if nothing else refers to its memory."""
    target, functional = args[0], op.functional
    array: Any = target._array
    if target.__class__ is not Tensor or any(shares(target, value) for value in inputs):
        return None
    step = None if functional is None or target._storage is not None else step_of(functional, args, inputs)
    if step is not None and step.result.__class__ is Tensor and is_right(step) and is_alike(
            array_of(step.result), np.empty_like(array), False):
        return step._replace(result=op.call(*args), checked=True)
    before = array.copy()
    for _ in range(3):  # of which one makes a plan
        array[...] = before
        result = op.call(*args)
    if op.name in WRITES and (op.name != "copy_" or args[1]._dtype is target._dtype):
        run, taken = WRITES[op.name]
        return Step(run, args[:taken], result, True, True)
    plan, taken = planned_of(kernel, args)
    return None if plan is None else Step(plan.run, (*args[:taken], *plan.settings), result, True, True)


def planned_of(kernel: Kernel, args: tuple[Any, ...]) -> tuple[Any, int]:
    """Return the plan of an operator's call, if any, and how many arguments its function takes."""
    find = found_by(kernel, "plan_of")
    plan = find and find(*args)
    return (plan, find.taken) if plan.__class__ is Plan else (None, 0)


def found_by(kernel: Kernel, name: str) -> Any:
    """Return what finds the function of a call of an operator's kernel; None without it."""
    return getattr(kernel.fast, name, None) or getattr(kernel.fn, name, None)


def shares(tensor: Any, other: Any) -> bool:
    return bool(np.may_share_memory(tensor._array, other._array))


def view_of(source: ndarray, view: ndarray) -> Rows | None:
    """Return what makes a view of an array like one that is known."""
    shape, strides = view.shape, view.strides
    if source.flags.c_contiguous and view.flags.c_contiguous and source.size == view.size:
        return lambda x: x.reshape(shape)
    if source.flags.c_contiguous and source.dtype.kind != "V" and source.size:
        dtype, offset = source.dtype, view.ctypes.data - source.ctypes.data
        return lambda x: ndarray(shape, dtype, x, offset, strides)
    places = [*zip(source.shape, source.strides, strict=True)]
    if sorted(places) == sorted(zip(shape, strides, strict=True)) and len(set(places)) == len(places):
        order = [places.index(place) for place in zip(shape, strides, strict=True)]
        return lambda x: x.transpose(order)
    return None
