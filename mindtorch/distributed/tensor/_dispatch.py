"""How an operator runs on DTensors: its rule's cheapest row is chosen, inputs are redistributed, and the operator runs
on this process's parts.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from ..._autograd.views import replayed
from ..._base.size import Size
from ..._creation import empty_strided
from ..._tensor import Tensor
from ...utils._python_dispatch import _disable_current_modes
from ._dtensor_spec import DTensorSpec, TensorMeta, local_strides
from ._ops.nn import classes_divided
from ._ops.rows import RULES, Call, Row, Rule, Run
from ._ops.view import MOVES
from ._redistribute import cost, redistribute_local_tensor
from .placement_types import Placement, Replicate, Shard, _StridedShard

#: Whether plain tensors count as replicated (``torch.distributed.tensor.experimental.implicit_replication``).
implicit_replication: ContextVar[bool] = ContextVar("implicit_replication", default=False)
#: The arguments that are the output's size: an operator on parts is given the part's.
SIZES = {"view": "size", "_unsafe_view": "size", "reshape": "shape", "expand": "size", "new_zeros": "size",
         "new_ones": "size", "new_empty": "size", "new_full": "size", "new_empty_strided": "size",
         "select_backward": "input_sizes", "slice_backward": "input_sizes"}
_metas: dict[Any, Any] = {}


def spec_of(tensor: Tensor) -> TensorMeta:
    """Return the shape, strides and dtype of a tensor."""
    return TensorMeta(Size(tensor.shape), tuple(tensor.stride()), tensor.dtype)


def base_name(func: Any) -> str:
    """Return an operator's name without namespace, overload and in-place mark."""
    name = func._schema.name.partition("::")[2]
    return name.removesuffix("_") if not name.endswith("__") else name


def bound(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return a call's arguments by their names, with defaults."""
    given = {}
    for index, argument in enumerate(func._schema.arguments):
        if index < len(args):
            given[argument.name] = args[index]
        elif argument.name in kwargs:
            given[argument.name] = kwargs[argument.name]
        elif argument.has_default_value():
            given[argument.name] = argument.default_value
    return given


def call_with(func: Any, given: dict[str, Any]) -> Any:
    """Call an operator with arguments by their names."""
    positional, keywords = [], {}
    for argument in func._schema.arguments:
        if argument.name in given:
            if argument.kwarg_only:
                keywords[argument.name] = given[argument.name]
            else:
                positional.append(given[argument.name])
    return func(*positional, **keywords)


def each_tensor(given: dict[str, Any], function: Callable[[str, Tensor], Any]) -> dict[str, Any]:
    """Return arguments with a function of each tensor, in order, in its place."""
    return {name: function(name, value) if isinstance(value, Tensor) else
            [function(name, item) if isinstance(item, Tensor) else item for item in value]
            if isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value) else value
            for name, value in given.items()}


def output_metas(func: Any, given: dict[str, Any], metas: Sequence[TensorMeta]) -> Any:
    """Return the outputs of an operator on whole tensors, without data; of a comparison, which needs data, a bool."""
    if base_name(func) in ("equal", "allclose"):
        return True
    rest = iter(metas)
    masked = each_tensor(given, lambda name, tensor: next(rest))
    key = func, repr(masked)
    if key not in _metas:
        rest = iter(metas)
        whole = each_tensor(given, lambda name, tensor: empty_strided(*(meta := next(rest))[:2], dtype=meta.dtype,
                                                                      device="meta"))
        if "device" in whole and whole["device"] is not None:
            whole["device"] = "meta"
        if len(_metas) > 10_000:
            _metas.clear()
        with _disable_current_modes():
            found = call_with(func, whole)
        _metas[key] = found
    return _metas[key]


def flat(outputs: Any) -> list[Any]:
    """Return the outputs of an operator as a list."""
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def dispatch(cls: Any, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Run an operator with a DTensor among its arguments."""
    name = base_name(func)
    if name.startswith("_foreach_"):
        return one_by_one(func, name, args, kwargs)
    if name.startswith("_fused_") and name.endswith(("adam", "adamw", "sgd", "adagrad")):
        return step(cls, func, args, kwargs)
    given = bound(func, args, kwargs)
    if are_numbers(cls, given):
        return call_with(func, each_tensor(given, lambda _, x: x.full_tensor() if isinstance(x, cls) else x))
    specs, locals_, places = inputs_of(cls, func, given)
    mesh = specs[0].mesh
    if func._schema.name == "aten::_local_scalar_dense":
        whole = specs[0].with_placements([Replicate()] * mesh.ndim)
        return func(redistribute_local_tensor(locals_[0], specs[0], whole))
    rule = RULES.get(name)
    written = [index for argument in func._schema.arguments if argument.alias_info is not None
               and argument.alias_info.is_write for index in places.get(argument.name, ())]
    if rule is None or (written and name in MOVES):
        raise NotImplementedError(
            f"Operator {func} does not have a sharding strategy registered: it was called with "
            f"{', '.join(map(str, specs))} on {mesh}. Call it on `to_local()` or `full_tensor()`")
    metas = [specs[written[0]].tensor_meta] if written else output_metas(func, given, [s.tensor_meta for s in specs])
    outputs = [meta if not isinstance(meta, Tensor) else spec_of(meta) for meta in ([metas[0]] if written
                                                                                  else flat(metas))]
    call = Call(name, given, specs, places, outputs)
    choices = [chosen(call, rule, i, written) for i in range(mesh.ndim)]
    if None in choices:
        reduce_before(cls, func, given, specs)
        return dispatch(cls, func, args, kwargs)
    rows = [row for row in choices if row is not None]
    wanted = [spec.with_placements([row.inputs[j] for row in rows]) for j, spec in enumerate(specs)]
    results = [DTensorSpec(mesh, tuple(row.outputs[min(j, len(row.outputs) - 1)] for row in rows), meta)
               if isinstance(meta, TensorMeta) else None for j, meta in enumerate(outputs)]
    parts = [local if spec.placements == goal.placements else redistribute_local_tensor(local, spec, goal)
             for local, spec, goal in zip(locals_, specs, wanted, strict=True)]
    rest = iter(parts)
    local = each_tensor(given, lambda name, tensor: next(rest))
    if name in SIZES and SIZES[name] in local:
        shape_to_parts(name, local, results[0])
    found = run(call, func, local, rows, wanted, results)
    if written:
        tensors = list(tensors_in(given))
        for index in written:
            written_back(tensors[index])
        return tensors[written[0]] if len(written) == 1 else [tensors[index] for index in written]
    source = next((tensor for tensor in tensors_in(given) if isinstance(tensor, cls)), None) if func.is_view else None
    elsewhere = source._elsewhere if source is not None else None
    if source is not None and parts[0] is not locals_[0]:
        elsewhere = Elsewhere(source, parts[0], wanted[0], source._version)
    return wrapped(cls, func, given, found, results, elsewhere)


class Elsewhere:
    """Where a view's elements are, if the operator that made it had to redistribute: a part of their own.

    The view is still one: a write to it comes back to where its source lies, and a write to the source, or to another
    view, comes to the part before the view is used again.
    """

    def __init__(self, source: Any, part: Tensor, spec: DTensorSpec, version: int):
        self.source, self.part, self.spec, self.version = source, part, spec, version


def refresh(tensor: Any) -> None:
    """Bring what has been written to the source of a view to the view's elements, if they are elsewhere."""
    place = tensor._elsewhere
    if place is None:
        return
    refresh(place.source)
    if place.version != place.source._version:
        place.part.copy_(redistribute_local_tensor(place.source._local_tensor, place.source._spec, place.spec))
        place.version = place.source._version


def written_back(tensor: Any) -> None:
    """Bring what has been written to a view whose elements are elsewhere to those of its source."""
    place = getattr(tensor, "_elsewhere", None)
    if place is None:
        return
    tensor._bump()
    while place is not None:
        source = place.source
        source._local_tensor.copy_(redistribute_local_tensor(place.part, place.spec, source._spec))
        place.version = source._version
        place = source._elsewhere


def tensors_in(given: dict[str, Any]) -> Iterator[Tensor]:
    """Yield the tensors of a call's arguments, in order."""
    for value in given.values():
        yield from (item for item in (value if isinstance(value, (list, tuple)) else (value,))
                    if isinstance(item, Tensor))


def are_numbers(cls: Any, given: dict[str, Any]) -> bool:
    """Return True if all DTensors are single numbers that meet plain tensors, or lie on several meshes: then every
    process computes with the numbers, as in clipping the gradients of parameters of both kinds.
    """
    distributed: list[Any] = []
    plain: list[Any] = []
    each_tensor(given, lambda _, x: (distributed if isinstance(x, cls) else plain).append(x))
    return all(tensor.numel() == 1 for tensor in distributed) and (
        any(tensor.numel() > 1 for tensor in plain) or len({tensor._spec.mesh for tensor in distributed}) > 1)


def inputs_of(cls: Any, func: Any, given: dict[str, Any]) -> tuple[list[DTensorSpec], list[Tensor],
                                                                   dict[str, list[int]]]:
    """Return the specs and parts of a call's tensors, and which of them belong to each argument.

    Raises:
        RuntimeError: if a tensor with several elements is no DTensor, or the meshes differ.
    """
    meshes: list[Any] = []
    tensors: list[Any] = []
    places: dict[str, list[int]] = {}

    def note(name: str, tensor: Tensor) -> Tensor:
        places.setdefault(name, []).append(len(tensors))
        tensors.append(tensor)
        if isinstance(tensor, cls):
            refresh(tensor)
            meshes.append(tensor._spec.mesh)
        return tensor

    each_tensor(given, note)
    mesh = meshes[0]
    if any(other != mesh for other in meshes):
        raise RuntimeError(f"{func}: got DTensors of different meshes, {' and '.join(map(str, dict.fromkeys(meshes)))};"
                           " DTensor does not support cross-mesh operations yet")
    specs = []
    for tensor in tensors:
        if isinstance(tensor, cls):
            specs.append(tensor._spec)
        elif tensor.numel() == 1 or implicit_replication.get() or (
                classes_divided.get() and base_name(func).startswith("nll_loss")):  # all processes have the targets
            specs.append(DTensorSpec(mesh, (Replicate(),) * mesh.ndim, spec_of(tensor)))
        else:
            raise RuntimeError(
                f"{func}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before "
                "calling distributed operators! Please see https://docs.pytorch.org/docs/main/distributed.tensor.html"
                "#mixed-tensor-and-dtensor-operations for more details.")
    return specs, [tensor._local_tensor if isinstance(tensor, cls) else tensor for tensor in tensors], places


def reduce_before(cls: Any, func: Any, given: dict[str, Any], specs: Sequence[DTensorSpec]) -> None:
    """Reduce the tensor that is written in place, which is still partial; its value stays.

    Raises:
        RuntimeError: if it is not partial, or a view, but would have to be put elsewhere.
    """
    target = next(value for value in given.values() if isinstance(value, cls))
    spec = target._spec
    if target._is_view() or not any(placement.is_partial() for placement in spec.placements):
        raise RuntimeError(f"{func}: in-place operations that require placement changes are not supported: the inputs "
                           f"are {', '.join(map(str, specs))}; redistribute them first, or use the form that returns a "
                           "new tensor")
    whole = spec.with_placements([Replicate() if p.is_partial() else p for p in spec.placements])
    target._local_tensor = redistribute_local_tensor(target._local_tensor, spec, whole)
    target._spec = whole


def chosen(call: Call, rule: Rule, i: int, written: Sequence[int]) -> Row | None:
    """Return the cheapest row for one dimension of the mesh, or None: what is written in place stays where it is."""
    call.mesh_dim = i
    now = [spec.placements[i] for spec in call.specs]
    factors = {place.split_factor for place in now if isinstance(place, _StridedShard)}
    best: Row | None = None
    least = math.inf
    for row in (call.all(Replicate()), *rule(call)):
        for factor in (None, *factors):
            way = row if factor is None else strided(row, factor)
            if any(way.inputs[j] != now[j] for j in written) or (written and way.outputs[0] != now[written[0]]):
                continue
            price = sum(cost(place, goal, spec.nbytes)
                        for place, goal, spec in zip(now, way.inputs, call.specs, strict=True))
            if price < least:
                best, least = way, price
    return best


def strided(row: Row, factor: int) -> Row:
    """Return the row in which parts are divided after those of later dimensions of the mesh."""
    def late(placement: Placement) -> Placement:
        return _StridedShard(placement.dim, split_factor=factor) if isinstance(placement, Shard) else placement

    return Row(tuple(map(late, row.outputs)), tuple(map(late, row.inputs)), row.run)


def shape_to_parts(name: str, local: dict[str, Any], spec: DTensorSpec | None) -> None:
    """Put the shape of this process's part where an operator takes its output's size."""
    if spec is None:
        return
    local[SIZES[name]] = shape = list(spec.local_shape())
    if name == "new_empty_strided":
        local["stride"] = list(local_strides(spec, shape))


def run(call: Call, func: Any, local: dict[str, Any], rows: Sequence[Row], specs: list[DTensorSpec],
        outputs: list[Any]) -> Any:
    """Run the operator on this process's parts, or what the chosen rows run in its place."""
    runs = {row.run for row in rows if row.run is not None}
    if len(runs) > 1:
        raise NotImplementedError(f"{func} with {', '.join(map(str, specs))}: each dimension of the mesh divides it in "
                                  "another way; redistribute the inputs first")
    for replacement in runs:
        dims = [i for i, row in enumerate(rows) if row.run is replacement]
        return replacement(Run(call, func, local, dims, specs, outputs))
    return call_with(func, local)


def wrapped(cls: Any, func: Any, given: dict[str, Any], found: Any, specs: Sequence[DTensorSpec | None],
            elsewhere: Elsewhere | None) -> Any:
    """Return this process's outputs as DTensors; a view shares its input's storage."""
    name, source = next(((name, value) for name, value in given.items() if isinstance(value, cls)), ("", None)
                        ) if func.is_view else ("", None)
    options = {key: value for key, value in given.items() if key != name}

    def wrap(output: Any, spec: DTensorSpec | None, number: int = 0) -> Any:
        if not isinstance(output, Tensor) or spec is None:
            return output
        out = cls(output, spec, requires_grad=False)
        if source is not None:
            out._storage = source.untyped_storage()
            out._storage.add_alias(out)
            out._elsewhere = elsewhere
            out._view_func = again(func, name, options, replayed(source), number)
        return out

    if isinstance(found, (tuple, list)):
        make = getattr(type(found), "_make", type(found))
        return make([wrap(*pair, number) for number, pair in enumerate(zip(found, specs, strict=True))])
    return wrap(found, specs[0])


def again(func: Any, name: str, options: dict[str, Any], before: Callable[[Any], Any],
          number: int) -> Callable[[Any], Any]:
    """Return a function that rebuilds a view from its base by the same operators: strides of a whole say nothing of
    the parts.
    """
    return lambda base: flat(call_with(func, {name: before(base), **options}))[number]


def step(cls: Any, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Run a fused optimizer on the parts of parameters: gradients, and its state, come to where these lie."""
    given = bound(func, args, kwargs)
    specs = [parameter._spec if isinstance(parameter, cls) else None for parameter in given["self"]]

    def part(tensor: Any, spec: DTensorSpec | None) -> Any:
        if not isinstance(tensor, cls):
            return tensor
        if spec is not None and tensor._spec.placements != spec.placements and tensor.shape == spec.shape:
            goal = tensor._spec.with_placements(spec.placements)
            tensor._local_tensor = redistribute_local_tensor(tensor._local_tensor, tensor._spec, goal)
            tensor._spec = goal
        return tensor._local_tensor

    local = {name: [part(tensor, spec) for tensor, spec in zip(value, specs, strict=True)]
             if isinstance(value, (list, tuple)) and len(value) == len(specs) else part(value, None)
             for name, value in given.items()}
    with _disable_current_modes():
        call_with(func, local)


def one_by_one(func: Any, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Run an operator on lists of tensors as the operator on one tensor for each of them."""
    from ..._dispatch.overloads import ops

    given = bound(func, args, kwargs)
    in_place = func._schema.name.endswith("_")
    count = len(next(value for value in given.values() if isinstance(value, (list, tuple))))
    plain = {"norm": "linalg_vector_norm"}.get(name.removeprefix("_foreach_"), name.removeprefix("_foreach_"))
    packet = getattr(ops.aten, plain + ("_" if in_place else ""))
    found = []
    for index in range(count):
        one = {key: value[index] if isinstance(value, (list, tuple)) else value for key, value in given.items()}
        keywords = {key: one.pop(key) for key in ("alpha", "value", "dtype", "non_blocking")
                    if key in one and one[key] is not None}
        if "scalars" in one and plain.startswith("addc"):
            keywords["value"] = one.pop("scalars")
        found.append(packet(*[value for key, value in one.items() if value is not None], **keywords))
    return None if in_place and not func._schema.returns else found
