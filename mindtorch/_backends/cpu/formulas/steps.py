"""Steps of a plan: functions of arrays that compute the operators which formulas call."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...._base.quiet import silent
from ...._dispatch.dispatcher import TENSOR_TYPES, keys_of, resolve, tensors_of
from ...._dispatch.keys import AUTOGRAD, CPU, NONCONTIGUOUS
from ...._dispatch.registry import Kernel, Operator
from ...._tensor import Tensor, from_array
from ..rows import Rows, array_of

ndarray = np.ndarray
PLAIN = CPU | AUTOGRAD | NONCONTIGUOUS  #: the keys of tensors that a plan takes
MANY = 1 << 14  #: of so many elements, the operators take most of the time
#: What operators that only write do to arrays of their dtype, and how many arguments they take.
WRITES: dict[str, tuple[Rows, int]] = {
    "copy_": (np.copyto, 2), "fill_.Scalar": (ndarray.fill, 2), "zero_": (lambda x: x.fill(0), 1),
    "masked_fill_.Scalar": (lambda x, mask, value: np.copyto(x, value, where=mask), 3)}


class Step(NamedTuple):
    """An operator on arrays: the function, its arguments, and the result as a tensor.

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


def same(x: ndarray) -> ndarray:
    """Stand for an operator that returns its argument."""
    return x


def step_of(op: Operator, args: tuple[Any, ...], inputs: list[Any]) -> Step | None:
    """Call an operator, and return its step on arrays; None if that is not to be known."""
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
        if (finder := kernel.functions) is not None:
            run = finder.find(*args)
            return None if run is None else Step(run, args[:finder.taken], result)
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
    """Return the step of an operator that writes a new tensor: it makes a new array if nothing else refers to it."""
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
    finder = kernel.plans
    plan = None if finder is None else finder.find(*args)
    return (None, 0) if finder is None or plan is None else (plan, finder.taken)


def shares(tensor: Any, other: Any) -> bool:
    return bool(np.may_share_memory(tensor._array, other._array))


def view_of(source: ndarray, view: ndarray) -> Rows | None:
    """Return a function that makes a view of an array, as ``view`` is of ``source``; None if it is not known how."""
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
