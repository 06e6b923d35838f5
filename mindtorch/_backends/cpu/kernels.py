"""From functions of arrays to kernels on CPU tensors.

The general kernel calls the meta kernel first, so that every check and every stride is decided in one place.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
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
from ..._dispatch.registry import Finder, Kernel, Operator
from ..._dispatch.return_types import packer
from ..._dispatch.schema import REQUIRED
from ..._dtype import from_numpy_dtype, get_default_dtype
from ..._tensor import Tensor, from_array, new
from ..common.inplace_and_out import writing_kernel
from ..common.overlap import check_writable
from ..common.pointwise import Pointwise
from .fast_paths import REFUSALS, fast_path_of
from .ops import CPU_KERNELS
from .plans import ERRORS, MISSES, SEEN, Plan, Plans, exact, key_of, refuse, remembering
from .pointwise import pointwise_kernel
from .rows import Prepared, Rows, array_of, fit, on_arrays, out_of_memory, shares_memory

ndarray = np.ndarray
#: Operators whose meta kernels depend on more than sizes: on values, the default dtype, or whether to warn.
OF_MORE = {"index.Tensor", "index_put_", "where.self", "logsumexp", "searchsorted.Tensor",
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
    finder = None
    if op.is_inplace:
        general = list_kernel(op, row, meta) if op.writes_lists else writing_kernel(
            remembering(meta) if keeps else meta, on_arrays(row))
        if keeps and isinstance(row, Prepared) and not op.writes_lists:
            general, finder = planned_writes(op, row, meta, general)
    else:
        general, finder = general_kernel(op, row, meta, keeps)
    return Kernel(general, row, fast_path_of(op, general), plans=finder)


#: Types of settings that a meta kernel treats alike if they are equal: no number that is promoted with a tensor.
ALIKE = {"int", "bool", "str", "ScalarType", "MemoryFormat", "Layout", "Device", "float"}
#: Operators whose numbers are alike if they are equal: corrections and orders of norms.
OF_ALIKE_NUMBERS = {"var.correction", "std.correction", "var_mean.correction", "std_mean.correction",
                    "linalg_vector_norm"}


class Shape(NamedTuple):
    """How the calls of an operator are looked up.

    - ``kinds``: what each parameter up to the last tensor is, a key of ``KEYS``, and its default; None if only
      ``plans.key_of`` knows a call's cache key.
    - ``numbers``: the places of numbers among later settings, of which 1, 1.0 and True differ; None if they may be
      left out.
    - ``leading``: how many leading arguments are all the tensors, or -1 for a list of them; 0 for other calls.
    - ``taken``: how many leading arguments a plan's function takes.
    - ``planned``: how many arguments a call with a plan has before a generator, which no plan keeps.
    """

    kinds: tuple[tuple[str, Any], ...] | None
    numbers: tuple[int, ...] | None
    leading: int
    taken: int
    planned: int = -1

    @classmethod
    def of(cls, op: Operator, row: Any = None) -> Shape:
        """Return the shape of an operator's calls."""
        number = "setting" if op.name in OF_ALIKE_NUMBERS else "number"
        parameters = op.schema.parameters
        planned = len(parameters) - 1 if parameters and parameters[-1].base == "Generator" else -1
        kinds = [("list" if p.is_list else "tensor") if p.base == "Tensor" else number if p.base == "Scalar" else
                 "setting" if p.base in ALIKE else "" for p in parameters[:planned if planned >= 0 else None]]
        last = max([i + 1 for i, kind in enumerate(kinds) if kind in ("tensor", "list")], default=0)
        known = "" not in kinds and "wrapped numbers" not in op.flags
        leading = 0 if not known else -1 if kinds[:last] == ["list"] else last if {*kinds[:last]} == {"tensor"} else 0
        taken = row.count if isinstance(row, Prepared) else last if known and last else len(kinds)
        defaults = [p.default for p in parameters]
        numbers = tuple([i for i, kind in enumerate(kinds[last:]) if kind == "number"])
        given = all(defaults[last + i] is REQUIRED for i in numbers)
        return cls(tuple(zip(kinds[:last], defaults, strict=False)) if known else None, numbers if given else None,
                   leading, taken, planned)


def general_kernel(op: Operator, row: Rows, meta: Callable[..., Any], keeps: bool) -> tuple[Rows, Finder | None]:
    """Return a kernel that checks and describes by the meta kernel, then computes by the row; and what finds its plans.

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

    return by_layouts(plans, shape, first) if keeps else (lambda *args: first(None, args), None)


def planned_writes(op: Operator, row: Prepared, meta: Callable[..., Any], general: Rows) -> tuple[Rows, Finder]:
    """Return a kernel that writes by plan, and leaves to ``general`` calls without one, and values that the plan's
    function leaves to the plain row; and what finds its plans.
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

#: Computes a call without a plan, given its cache key, its arguments, and the entry in a plan's place, or None.
First = Callable[[Any, tuple[Any, ...], Any], Any]


def layouts_of(tensors: Any) -> list[Any]:
    """Return the layouts of tensors; None for None."""
    return [t if t is None else t._layout or t._layout_of_plans() for t in tensors]


def by_layouts(plans: Plans, shape: Shape, first: First, composite: Rows | None = None,
               policy: Rows | None = None) -> tuple[Rows, Finder]:
    """Return a kernel that runs the plan of a call, and leaves a call without a plan to ``first``; and all calls to the
    ``composite`` that it computes at once, if a mode redirects calls, or the values are not for the plan. With a
    ``policy`` of overlap, the plan writes into the first tensor. Return what finds the plans, too.
    """
    kernel, key_of_call = kernel_for(shape, "at once" if composite else "writing" if policy else "")(
        plans, first, composite or policy)

    def plan_of(*args: Any) -> Plan | None:
        try:
            plan = plans.get(key_of_call(*args))
        except TypeError:  # a list among the settings is not hashable
            plan = None
        return plan if plan.__class__ is Plan else None

    return kernel, Finder(plan_of, shape.taken)


#: The kernel, written out for an operator's tensors, and its cache key, for observers: a call less saves a tenth of
#: ``a.sum()``.
KERNEL = """
def make(plans, first, other):
    def key_of_call({parameters}):
        {layouts}
        return {key}

    def kernel({parameters}):
        {redirected}
        if plans.missed > MISSES and plans.skip():
            return first(None, {args}, None)
        {layouts}
        try:
            plan = plans.get(key := {key})
        except TypeError:  # a list among the settings is not hashable
            key = plan = None
        if plan.__class__ is not Plan:
            plans.missed = plans.missed + 1 if plan is None else 0
            return first(key, {args}, plan)
        plans.missed = 0
        {separate}
        try:
            result = silent().run(plan.run, {arrays}, *plan.settings)
        except ERRORS as error:
            plan.refuse(error)
            raise
        {returned}

    return kernel, key_of_call
"""
RETURNED = """
if (layout := plan.layout) is not None:
    if result.__class__ is not ndarray:
        if result is None:  # values that the row leaves to the composite
            return {left}
        result = asarray(result)
    if (base := result.base) is None{new} or base.__class__ is ndarray and base.base is None{apart}:
        out = new(Tensor)
        out._array, out._dtype, out._keys, out._layout = result, layout.dtype, CPU, layout
        return out
{none_left}
return plan.finish(result, [{values}])
"""
#: By the kind of a parameter: its part of the cache key, and the argument of a plan's function.
KEYS = {"tensor": ("{0}._layout or {0}._layout_of_plans()", "{0}._array"),
        "list": ("tuple(layouts_of({0}))", "array_of({0})"), "number": ("exact({0})", "{0}"), "setting": ("{0}", "{0}")}
#: The layouts and arrays of a list of tensors.
LISTED = """layouts, arrays = [], []
        for tensor in tensors:
            layouts.append(tensor._layout or tensor._layout_of_plans())
            arrays.append(tensor._array)"""
NAMES = {"CPU": CPU, "ERRORS": ERRORS, "MISSES": MISSES, "NONCONTIGUOUS": NONCONTIGUOUS, "Plan": Plan,
         "REDIRECTING": REDIRECTING, "TENSOR_TYPES": TENSOR_TYPES, "Tensor": Tensor, "array_of": array_of,
         "asarray": np.asarray, "dispatcher": dispatcher, "exact": exact, "get_default_dtype": get_default_dtype,
         "key_of": key_of, "layouts_of": layouts_of, "ndarray": ndarray, "new": new, "silent": silent}


@cache
def kernel_for(shape: Shape, form: str) -> Callable[..., Any]:
    """Return the function that makes the kernel for calls of a shape, and their cache key; for the ``form`` "at once",
    of a composite, given as ``other``, or "writing", in place, given its policy, or "".
    """
    kinds, taken, layouts = shape.kinds or (), shape.taken, ""
    new = apart = ""  # whether the result is none of the arrays, and whether its base is apart from them, if known
    told: list[str] = []  # of the cache key
    given: list[str] = []  # the arguments of the plan's function
    arrays: list[str] = []  # its names
    names = ["tensors"] if shape.leading < 0 else [f"{kind}_{i}" for i, (kind, _) in enumerate(kinds)]
    if shape.leading < 0:
        layouts, told, given, arrays = LISTED, ["*layouts"], ["arrays"], ["arrays"]
    else:
        for i, (name, (kind, _)) in enumerate(zip(names, kinds, strict=True)):
            unless = f"None if {name} is None else " if i and kind in ("tensor", "list") else ""
            part, array = [f"{unless}{text.format(name)}" for text in KEYS[kind]]
            told.append(part)
            if i < taken:
                given.append(f"array_{i} := {array}" if kind == "tensor" else array)
                arrays.append(f"array_{i}" if kind == "tensor" else array)
                if kind == "tensor":
                    new += f" and result is not array_{i}"
                    other = f"base is not array_{i} and base is not array_{i}.base"
                    apart += f" and (array_{i} is None or {other})" if i else f" and {other}"
        given, arrays = ([*found, *[f"*settings[:{taken - len(kinds)}]"] * (taken > len(kinds))]
                         for found in (given, arrays))
    told += ["*map(exact, settings)"] if shape.numbers is None else [
        *[f"exact(settings[{i}])" for i in shape.numbers], "settings"]
    if not shape.leading or shape.numbers != ():
        told.append("get_default_dtype()")  # which numbers and results may have
    key = f"({', '.join(told)},)"
    if shape.kinds is None:
        key, arrays, new = "key_of(settings)", ["*arrays"], " and not any([result is array for array in arrays])"
        given = [f"*(arrays := [array_of(setting) for setting in settings[:{taken}]])"]
    if shape.kinds is None or "list" in dict(kinds):
        apart = " and False"
    elif shape.planned >= 0:
        before = shape.planned - len(names)
        key = f"{key} if len(settings) <= {before} or settings[{before}] is None else None"
    call = ", ".join([*names, "*settings"])
    args = f"({call})" if names else "settings"
    parts = {"layouts": layouts, "key": key, "args": args, "arrays": ", ".join(given or ["*()"]), "new": new,
             "apart": apart, "values": ", ".join(arrays), "redirected": "", "left": "None", "none_left": "",
             "separate": "", "returned": RETURNED,
             "parameters": ", ".join([*[name if default is REQUIRED else f"{name}={default!r}" for name, (_, default)
                                        in zip(names, kinds, strict=True)], "*settings"])}
    if form == "at once":
        parts |= {"redirected": f"if dispatcher.mode & REDIRECTING:\n            return other({call})",
                  "left": f"other({call})", "none_left": f"if result is None:\n    return other({call})"}
    elif form == "writing":
        target, *inputs = [name for name in names if name.startswith("tensor_")] or ["settings[0]"]
        same = [f"{name} is {target} or {name}._storage is {target}._storage is not None" for name in inputs]
        check = f"other({target}, {args}[1:])"
        parts |= {"separate": f"if {' or '.join([f'{target}._keys & NONCONTIGUOUS', *same])}:\n            {check}"
                  if inputs else check,
                  "returned": f"return {target} if result is not False else first(None, {args}, None)"}
    parts["returned"] = parts["returned"].format(**parts).replace("\n", "\n        ")
    lines = [line for line in KERNEL.format(**parts).splitlines() if line.strip()]
    place = f"{__file__}: {form}{', ' * bool(form)}{parts['parameters']}, {taken}"
    made: Callable[..., Any] = define("make", "\n".join(lines), place, {**NAMES})
    return made
