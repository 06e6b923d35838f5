"""From functions of arrays to kernels on CPU tensors.

The general kernel calls the meta kernel first, so that every check and every stride is decided in one place.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from ..._base.generated import define
from ..._base.layout import Spec
from ..._base.quiet import silent
from ..._dispatch import dispatcher
from ..._dispatch.dispatcher import TENSOR_TYPES, registry
from ..._dispatch.keys import CPU, NONCONTIGUOUS, REDIRECTING
from ..._dispatch.registry import Kernel, Operator
from ..._dispatch.return_types import packer
from ..._dispatch.schema import REQUIRED
from ..._dtype import from_numpy_dtype, get_default_dtype
from ..._tensor import Tensor, from_array, new
from ..common.inplace_and_out import writing_kernel
from ..common.overlap import check_writable
from ..common.pointwise import Pointwise
from .fast_paths import REFUSALS, fast_path_of
from .ops import CPU_KERNELS
from .plans import ERRORS, MISSES, SEEN, Plan, Plans, key_of, refuse, remembering
from .pointwise import pointwise_kernel
from .rows import Prepared, Rows, array_of, fit, on_arrays, out_of_memory, shares_memory

ndarray = np.ndarray
#: Operators whose meta kernels depend on more than sizes: on values, the default dtype, or whether to warn.
OF_MORE = {"index.Tensor", "index_put_", "scatter_.reduce", "where.self", "logsumexp", "searchsorted.Tensor",
           "searchsorted.Scalar", "bucketize.Tensor", "bucketize.Scalar"}


def kernel_of(op: Operator) -> Kernel | None:
    """Return the CPU kernel of an operator that has a row, else None."""
    row = CPU_KERNELS.get(op.name)
    if row is None:
        return None
    meta = registry.meta_rows.get(op.name)
    if isinstance(meta, Pointwise):
        return pointwise_kernel(op, row, meta)
    if meta is None:
        raise NotImplementedError(f"aten::{op.name} has a CPU row but no meta kernel")
    keeps = (op.family not in ("creation", "random") or isinstance(row, Prepared)) and op.name not in OF_MORE
    if op.is_inplace:
        general = list_kernel(op, row, meta) if op.writes_lists else writing_kernel(
            remembering(meta) if keeps else meta, on_arrays(row))
        if keeps and isinstance(row, Prepared) and not op.writes_lists:
            general = planned_writes(op, row, meta, general)
    else:
        general = general_kernel(op, row, meta, keeps)
    return Kernel(general, row, fast_path_of(op, general))


#: Types of settings that a meta kernel treats alike if they are equal: no number that is promoted with a tensor.
ALIKE = {"int", "bool", "str", "ScalarType", "MemoryFormat", "Layout", "Device", "float"}
#: Operators whose numbers are alike if they are equal: corrections and orders of norms.
OF_ALIKE_NUMBERS = {"var.correction", "std.correction", "var_mean.correction", "std_mean.correction",
                    "linalg_vector_norm"}


class Shape(NamedTuple):
    """How the calls of an operator are looked up. ``leading``: how many leading arguments are tensors, or -1 for a
    list of tensors; 0 if the others cannot be a cache key as they are. ``numbers``: whether settings, where there are
    any, have numbers of which 1, 1.0 and True differ. ``taken``: how many leading arguments a plan's function takes.
    ``alike``: without leading tensors, whether equal settings are alike. ``among``: for alike settings after a first
    tensor, with further tensors among them, perhaps with one of ``numbers`` after the last: whether each parameter up
    to the last tensor is one, and its default.
    """

    leading: int
    numbers: bool
    taken: int
    alike: bool = False
    among: tuple[tuple[bool, Any], ...] = ()

    @classmethod
    def of(cls, op: Operator, row: Any = None) -> Shape:
        """Return the shape of an operator's calls."""
        parameters = op.schema.parameters
        count = next((i for i, p in enumerate(parameters) if p.base != "Tensor" or p.is_list), len(parameters))
        if not count and parameters and parameters[0].base == "Tensor" and not parameters[0].inner_optional:
            count = -1
        kinds = {p.base for p in parameters[abs(count):]} - ALIKE
        numbers = kinds == {"Scalar"} and op.name not in OF_ALIKE_NUMBERS
        leading = count if "wrapped numbers" not in op.flags and kinds <= {"Scalar"} else 0
        taken = row.count if isinstance(row, Prepared) else abs(leading) or len(parameters)
        alike = not leading and kinds <= {"Tensor"} and "wrapped numbers" not in op.flags
        among: tuple[tuple[bool, Any], ...] = ()
        last = max([i for i, p in enumerate(parameters) if p.base == "Tensor"], default=0)
        numbered = [i for i, p in enumerate(parameters) if p.base == "Scalar"] == [last + 1] and kinds == {
            "Tensor", "Scalar"} and "wrapped numbers" not in op.flags
        if (alike or numbered) and count > 0 and not any(p.base == "Tensor" and p.is_list for p in parameters):
            among = tuple([(p.base == "Tensor", p.default) for p in parameters[:last + 1]])
            numbers, alike = numbered, True
        return cls(leading, numbers and (leading != 0 or among != ()), taken, alike, among)


def general_kernel(op: Operator, row: Rows, meta: Callable[..., Any], keeps: bool) -> Callable[..., Any]:
    """Return a kernel that checks and describes by the meta kernel, then computes by the row.

    With ``keeps``, the second call of a cache key makes a plan, and later ones reuse it without a check: a layout that
    does not come again costs no plan. Refused calls have none.
    """
    plans, shape = Plans(), Shape.of(op, row)
    taken, sure = shape.taken, row.sure if isinstance(row, Prepared) and keeps else None
    compute = None if sure is None else unchecked(op, sure, taken)

    def first(key: Any, args: tuple[Any, ...], plan: Any = None) -> Any:
        if plan is None:
            if compute is not None and (found := compute(*args)) is not None:
                plans.keep(key, SEEN)
                return found
            specs = meta(*args)
            found = checked(op, row, specs, taken, args)
            plans.keep(key, (specs,))
            return found
        plan = Plan(op, row, meta(*args) if plan is SEEN else plan[0], args[taken:])
        plans.keep(key, plan)
        return plan.compute(*map(array_of, args[:taken]))

    return by_layouts(plans, shape, first) if keeps else lambda *args: first(None, args)


def planned_writes(op: Operator, row: Prepared, meta: Callable[..., Any], general: Rows) -> Rows:
    """Return a kernel that writes by plan, and leaves to ``general`` calls without one, and values that the plan's
    function leaves to the plain row.
    """
    plans, shape = Plans(), Shape.of(op, row)

    def first(key: Any, args: tuple[Any, ...], plan: Any = None) -> Any:
        general(*args)
        plans.keep(key, SEEN if plan is None else Plan(op, row, None, args[shape.taken:]))
        return args[0]

    return by_layouts(plans, shape, first, policy=getattr(meta, "policy", check_writable))


def checked(op: Operator, row: Rows, specs: Any, count: int, args: tuple[Any, ...]) -> Any:
    """Compute the first call of a layout without a plan, given the meta kernel's description of the outputs."""
    arrays = [array_of(arg) for arg in args[:count]]
    try:
        results = silent().run(row, *arrays, *args[count:])
    except ERRORS as error:
        refuse(error, specs)
        raise
    if specs is None or results is None:  # a composite's result, or a call that is left to the composite
        return results
    if specs.__class__ is Spec:
        return fit(op, results, specs, arrays)
    return packer(op)([fit(op, result, spec, arrays) if spec.__class__ is Spec else spec
                       for result, spec in zip(results, specs, strict=True)])


def unchecked(op: Operator, settle: Callable[..., Rows | None], count: int) -> Callable[..., Any]:
    """Return a function that computes the first call of a layout without a plan and without the meta kernel's checks.
    It returns None if ``settle`` returns no function for the call, or NumPy refuses it, or the result is not new.

    That is safe because ``settle`` takes contiguous arrays that leave nothing to decide: of one dtype, which NumPy
    keeps.
    """
    def settled(arrays: Any, settings: Any) -> Any:
        return None if (run := settle(*arrays, *settings)) is None else run(*arrays)

    def of_one(self: Any, *settings: Any) -> Any:
        array = self._array
        if self._keys & NONCONTIGUOUS or (run := settle(array, *settings)) is None:
            return None
        return made(silent().run(run, array), [array])

    def of_more(*args: Any) -> Any:
        arrays: list[Any] = []
        for arg in args[:count]:
            if arg.__class__ in TENSOR_TYPES:
                if arg._keys & NONCONTIGUOUS:
                    return None
                arrays.append(arg._array)
            else:
                arrays.append(array_of(arg))
        return made(silent().run(settled, arrays, args[count:]), arrays)

    def made(result: Any, arrays: list[Any]) -> Any:
        if result.__class__ is ndarray:
            return fresh(result, arrays)
        if result.__class__ is tuple:
            outputs = [fresh(np.asarray(part), arrays) for part in result]
            return None if any([out is None for out in outputs]) else packer(op)(outputs)  # noqa: C419
        return result if result is None or result.__class__ is bool else fresh(np.asarray(result), arrays)

    parameter = op.schema.parameters[0]
    alone = count == 1 and parameter.is_tensor and not parameter.is_list and not parameter.optional
    compute = of_one if alone else of_more

    def call(*args: Any) -> Any:
        try:
            return compute(*args)
        except REFUSALS:
            return None

    return call


def fresh(array: ndarray, inputs: list[Any]) -> Tensor | None:
    """Return a tensor of an array; None unless it is new, contiguous and not empty."""
    if not array.size or not array.flags.c_contiguous or shares_memory(array, inputs):
        return None
    return from_array(array, from_numpy_dtype(array.dtype))


# -- kernels that write lists ------------------------------------------------------------------------------------------

LAYOUT, ARRAYS = attrgetter("_layout"), partial(map, attrgetter("_array"))


def list_kernel(op: Operator, row: Rows, check: Callable[..., None]) -> Callable[..., Any]:
    """Return the kernel of an operator that writes lists of tensors, whose layouts are checked once."""
    plans, count = Plans(), sum(parameter.is_tensor and parameter.is_list for parameter in op.schema.parameters)

    def kernel(*args: Any) -> Any:
        lists, others = args[:count], args[count:]
        arrays = [*map(list, map(ARRAYS, lists))]
        run = plans.get((*map(len, lists), *map(LAYOUT, chain(*lists))))
        if run is None:
            key = *map(len, lists), *layouts_of(chain(*lists))
            run = plans.get(key) or plans.keep(key, planned(args, arrays))
        if not TENSOR_TYPES.isdisjoint(map(type, others)):
            others = tuple(map(array_of, others))
        try:
            silent().run(run, *arrays, *others)
        except MemoryError as error:
            raise out_of_memory(error) from None
        return args[0]

    def planned(args: tuple[Any, ...], arrays: list[Any]) -> Rows:
        check(*args)
        for target in args[0]:
            check_writable(target)
        return (row.prepare(*arrays) if isinstance(row, Prepared) else None) or row

    return kernel


# -- kernels that look for a plan --------------------------------------------------------------------------------------

#: Computes a call without a plan, given its cache key, its arguments, and what is kept instead of a plan, or None.
First = Callable[[Any, tuple[Any, ...], Any], Any]


def key_of_call(shape: Shape, args: tuple[Any, ...]) -> Any:
    """Return the cache key of a call, as the kernels below make it; None for a call without one. For observers."""
    count = abs(shape.leading)
    if not shape.alike and (not count or (shape.numbers and len(args) > count)):
        return key_of(args)
    if not count:
        key = mixed((*args, *[default for _, default in shape.among[len(args):]]))
        return (*key, exact(args[len(shape.among)])) if shape.numbers and len(args) > len(shape.among) else key
    return (*layouts_of(args[0] if shape.leading < 0 else args[:count]), args[count:])


def exact(number: Any) -> tuple[Any, Any]:
    """Return a number as a cache key of its own: 1, 1.0 and True are equal, and so are 0.0 and -0.0."""
    return number.__class__, number or str(number)


def mixed(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the cache key of tensors, lists of tensors and settings in any order, and the default dtype, which a
    factory's result may have.
    """
    key = [*args]
    for i, arg in enumerate(args):
        kind = arg.__class__
        if kind in TENSOR_TYPES:
            key[i] = arg._layout or arg._layout_of_plans()
        elif kind is list:
            key[i] = tuple(layouts_of(arg))
    return (*key, get_default_dtype())


def layouts_of(tensors: Any) -> list[Any]:
    """Return the layouts of tensors; None for None."""
    return [t if t is None else t._layout or t._layout_of_plans() for t in tensors]


def by_layouts(plans: Plans, shape: Shape, first: First, composite: Rows | None = None,
               policy: Rows | None = None) -> Callable[..., Any]:
    """Return a kernel that runs the plan of a call, and leaves a call without a plan to ``first``; and all calls to the
    ``composite`` that it computes at once, if a mode redirects calls, or the values are not for the plan. With a
    ``policy`` of overlap, the plan writes into the first tensor.
    """
    key, kind = mixed if shape.alike else key_of, "at once" if composite else "writing" if policy else ""
    others = key, shape.taken, composite or policy
    kernel = kernel_for(0, shape.numbers and shape.among != (), kind, shape.among,
                        shape.taken if shape.among else 0)(plans, first, None, *others)
    if shape.leading:
        kernel = kernel_for(shape.leading, shape.numbers, kind)(plans, first, kernel, *others)

    def plan_of(*args: Any) -> Plan | None:
        try:
            plan = plans.get(key_of_call(shape, args))
        except TypeError:  # a list among the settings is not hashable
            plan = None
        return plan if plan.__class__ is Plan else None

    kernel.plan_of = plan_of  # type: ignore[attr-defined]
    return kernel


#: The kernel, written out for the leading tensors of an operator: a call less saves a tenth of ``a.sum()``.
KERNEL = """
def make(plans, first, by_numbers, key_of, taken, other):
    def kernel({parameters}):
        {redirected}
        {numbers}
        if plans.missed > MISSES and plans.skip():
            return first(None, {args}, None)
        {layouts}
        try:
            plan = plans.get(key := {key})
        except TypeError:  # a list among the settings is not hashable
            key = plan = None
        if plan.__class__ is not Plan:
            plans.missed = 0 if plan else plans.missed + 1
            return first(key, {args}, plan)
        plans.missed = 0
        {separate}
        try:
            result = silent().run(plan.run, {arrays}, *plan.settings)
        except ERRORS as error:
            plan.refuse(error)
            raise
        {returned}

    return kernel
"""
RETURNED = """
if (layout := plan.layout) is not None:
    if result.__class__ is not ndarray:
        if result is None:  # values that the row leaves to the composite
            return {left}
        result = asarray(result)
    if result.base is None{new}:
        out = new(Tensor)
        out._array, out._dtype, out._keys, out._layout = result, layout.dtype, CPU, layout
        return out
{none_left}
return plan.finish(result, [{values}])
"""

NAMES = {"CPU": CPU, "ERRORS": ERRORS, "MISSES": MISSES, "NONCONTIGUOUS": NONCONTIGUOUS, "Plan": Plan,
         "REDIRECTING": REDIRECTING, "TENSOR_TYPES": TENSOR_TYPES, "Tensor": Tensor, "array_of": array_of,
         "asarray": np.asarray, "dispatcher": dispatcher, "exact": exact, "get_default_dtype": get_default_dtype,
         "ndarray": ndarray, "new": new, "silent": silent}


@lru_cache
def kernel_for(leading: int, numbers: bool, form: str, among: tuple[tuple[bool, Any], ...] = (),
               taken: int = 0) -> Callable[..., Callable[..., Any]]:
    """Return the function that makes the kernel for so many leading tensors, all but the first perhaps None, for a list
    of tensors (-1), or for any arguments (0), perhaps with tensors ``among`` the first, of which it takes some; for the
    ``form`` "at once", of a composite, given as ``other``, or "writing", in place, given its policy, or "".
    """
    kinds = among or ((True, REQUIRED), *[(True, None)] * (leading - 1)) if among or leading > 0 else ()
    tensors = [f"{'tensor' if of_tensor else 'setting'}_{i}" for i, (of_tensor, _) in enumerate(kinds)]
    parts = {"layouts": "", "new": ""}
    if kinds:
        told, given, arrays = [], [], []
        for i, (name, (of_tensor, _)) in enumerate(zip(tensors, kinds, strict=True)):
            unless = f"None if {name} is None else " if i else ""
            told.append(f"{unless}{name}._layout or {name}._layout_of_plans()" if of_tensor else name)
            if i < (taken if among else leading):
                given.append(f"array_{i} := {unless}{name}._array" if of_tensor else name)
                arrays.append(f"array_{i}" if of_tensor else name)
        rest = [f"*settings[:{taken - len(among)}]"] if taken > len(among) else []
        number = "*([exact(settings[0])] if settings else ())"
        last = f"*settings, get_default_dtype(), {number * numbers}" if among else "settings"
        parts |= {"key": f"({', '.join(told)}, {last})",
                  "values": ", ".join([*arrays, *rest]), "arrays": ", ".join([*given, *rest]),
                  "new": "".join([f" and result is not {array}" for array in arrays if array.startswith("array")])}
    elif leading:
        tensors = ["tensors"]
        parts |= {"layouts": "layouts, arrays = [], []\n"
                             "        for tensor in tensors:\n"
                             "            layouts.append(tensor._layout or tensor._layout_of_plans())\n"
                             "            arrays.append(tensor._array)",
                  "key": "(*layouts, settings)", "arrays": "arrays", "values": "arrays"}
    else:
        parts |= {"key": "key_of(args)", "values": "*arrays",
                  "arrays": "*(arrays := [arg._array if arg.__class__ in TENSOR_TYPES else array_of(arg) "
                            "if arg.__class__ is list else arg for arg in args[:taken]])",
                  "new": " and not any([result is array for array in arrays])"}
    call = ", ".join([*tensors, "*settings"])
    defaults = [name if default is REQUIRED else f"{name}={default!r}"
                for name, (_, default) in zip(tensors, kinds, strict=True)] if kinds else tensors
    parts |= {"parameters": "*args", "args": "args"} if not tensors else {
        "parameters": ", ".join([*defaults, "*settings"]), "args": f"({call})"}
    numbers = numbers and leading != 0
    parts["numbers"] = f"if settings and by_numbers is not None: return by_numbers({call})" if numbers else ""
    call = call if tensors else "*args"
    parts |= {"redirected": "", "left": "None", "none_left": "", "separate": "", "returned": RETURNED}
    if form == "at once":
        parts |= {"redirected": f"if dispatcher.mode & REDIRECTING:\n            return other({call})",
                  "left": f"other({call})", "none_left": f"if result is None:\n    return other({call})"}
    elif form == "writing":
        target, *inputs = [name for name in tensors if name.startswith("tensor_")] or ["args[0]"]
        same = [f"{name} is {target} or {name}._storage is {target}._storage is not None" for name in inputs]
        check = f"other({target}, {f'({call})' if tensors else 'args'}[1:])"
        parts |= {"separate": f"if {' or '.join([f'{target}._keys & NONCONTIGUOUS', *same])}:\n            {check}"
                  if inputs else check,
                  "returned": f"return {target} if result is not False else first(None, {parts['args']}, None)"}
    parts["returned"] = parts["returned"].format(**parts).replace("\n", "\n        ")
    lines = [line for line in KERNEL.format(**parts).splitlines() if line.strip()]
    place = f"{__file__}: {form}{', ' * bool(form)}{call}"
    made: Callable[..., Callable[..., Any]] = define("make", "\n".join(lines), place, {**NAMES})
    return made
