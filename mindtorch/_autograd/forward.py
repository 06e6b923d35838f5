"""Forward mode: tensors with tangents, and how operators propagate them.

A dual tensor is an ordinary tensor with the ``Dual`` key and a tangent for each level of forward mode that it depends
on: its derivative along that level's direction. The tables of derivatives serve both modes. A row computes ``J^H grad``
for the Jacobian J of an operator, in operators, and is linear in ``grad``. Hence:

- A pointwise operator on real numbers has a diagonal J, so its row maps the tangent to ``J tangent``.
- The tangent of a view is the same view of the tangent, so that writes reach it, too.
- Any other operator's row is differentiated again, with respect to ``grad``, along the tangent.

Numbers separate the levels of nested calls. An operator's work for one level runs with ``dual_below`` set to its
number, so that it uses only the outer levels. A graph node saves dual tensors as they are, so gradients of dual tensors
have tangents, too.
"""
from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

from .._base.about import about, kind_of
from .._base.layout import overlaps_itself, storage_size
from .._dispatch.aten import (
    _to_copy, as_strided, clone, copy_, expand, masked_fill_Scalar as masked_fill, mean_dim as mean_dims,
    new_empty_strided, real, reshape, sum_dim_IntList as sum_dims, zeros_like,
)
from .._dispatch.dispatcher import TENSOR_TYPES, flattened, has_derivative, resolve, tensors_of
from .._dispatch.keys import AUTOGRAD, BACKENDS, CPU, DUAL
from .._dispatch.local import local
from .._dispatch.registry import Operator
from .._dispatch.schemas import registry
from .._dtype import FLOATING, float32
from .derivative import Derivative
from .engine import grad as gradients_of
from .grad_mode import enable_grad
from .recording import derivative_of
from .saved import Saved
from .tangents import LINEAR, PARTS, ZERO_AT_ZERO, equal_to_extreme
from .utils import spread

#: Whether an operator computes each element of its output from the same element of its inputs; set by ``_wiring``.
is_pointwise: Callable[[Operator], bool]
_next_number = itertools.count(1).__next__


class Level:
    """A direction of differentiation, valid until ``end``."""

    def __init__(self) -> None:
        self.number = _next_number()
        self.alive = True
        self._duals: list[weakref.ref[Any]] = []

    def attach(self, tensor: Any, tangent: Any) -> None:
        """Set a tensor's tangent at this level."""
        tensor._tangents = {**(tensor._tangents or {}), self: tangent}
        tensor._keys |= DUAL
        self._duals.append(weakref.ref(tensor))

    def detach(self, tensor: Any) -> None:
        """Remove a tensor's tangent at this level."""
        if tensor._tangents is not None and tensor._tangents.pop(self, None) is not None and not tensor._tangents:
            tensor._tangents = None
            tensor._keys &= ~DUAL

    def end(self) -> None:
        """Remove all tangents of this level."""
        self.alive = False
        for reference in self._duals:
            tensor = reference()
            if tensor is not None:
                self.detach(tensor)
        self._duals.clear()


def tangent_of(tensor: Any, level: Level) -> Any:
    """Return the tangent of a tensor at a level, or None. A view without one receives its part of its base's."""
    found = tensor._tangents and tensor._tangents.get(level)
    if found is None and (base := tensor._base) is not None and base._tangents and level in base._tangents:
        found = _under(level, _seen_through, level, tensor, base._tangents[level])
        level.attach(tensor, found)
    return found


def _seen_through(level: Level, view: Any, tangent: Any) -> Any:
    """Return a view's part of its base's tangent."""
    if view._view_func is not None:
        return view._view_func(tangent)
    layout = view.shape, view._strides(), view._offset
    laid_out = _in_storage(tangent, view._base, *layout)
    if laid_out is not tangent:
        level.attach(view._base, laid_out)
    return as_strided(laid_out, *layout)


def _under(level: Level, function: Callable[..., Any], *args: Any) -> Any:
    """Call a function that uses only the levels outside this one."""
    before, local.dual_below = local.dual_below, level.number
    try:
        return function(*args)
    finally:
        local.dual_below = before


def _unhooked(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function without the user's saved-tensor hooks: it saves tensors for forward mode only."""
    before, local.saved_tensor_hooks = local.saved_tensor_hooks, ()
    try:
        return function(*args)
    finally:
        local.saved_tensor_hooks = before


def set_tangent(tensor: Any, level: Level, tangent: Any) -> None:
    """Set a tensor's tangent, converted to the tensor's dtype and layout (``Tensor._set_fw_grad``)."""
    if tangent._dtype is not tensor._dtype:
        tangent = _to_copy(tangent, tensor._dtype)
    level.attach(tensor, _under(level, _laid_out, tangent, tensor))


def check_tangent(tensor: Any, tangent: Any) -> None:
    """Raise PyTorch's RuntimeError if a tangent's size differs from its tensor's, or only one of the two is complex."""
    if tangent.shape != tensor.shape:
        raise RuntimeError("Trying to set a forward gradient that has a different size than that of the original "
                           f"Tensor, this is not supported. Tensor is of size {list(tensor.shape)} while the given "
                           f"forward gradient is of size {list(tangent.shape)}.")
    if tangent._dtype.is_complex != tensor._dtype.is_complex:
        raise RuntimeError("Expected both tensor and its forward grad to be floating point dtype, or both complex, but "
                           f"got {tensor.dtype} and {tangent.dtype}")


def _laid_out(tangent: Any, tensor: Any) -> Any:
    """Return a tangent with the shape and, if it is dense, the strides of a tensor, so that both have equal views."""
    shape, strides = tensor.shape, tensor._strides()
    if tangent.shape == shape and (not tensor._is_dense() or all(
            n == 1 or a == b for n, a, b in zip(shape, strides, tangent._strides(), strict=True))):
        return tangent
    tangent = expand(tangent, tuple(shape))
    return copy_(new_empty_strided(tangent, tuple(shape), strides), tangent) if tensor._is_dense() else tangent


def _in_storage(tangent: Any, tensor: Any, size: Any, stride: Any, offset: int | None = None) -> Any:
    """Return a tangent that lies as its tensor does in a storage as long, for views of the storage by any strides."""
    shape, strides, start = tuple(tensor.shape), tensor._strides(), tensor._offset
    length = max(storage_size(shape, strides, start), storage_size(size, stride, start if offset is None else offset),
                 0 if tensor._storage is None else tensor._storage.nbytes() // tensor.itemsize)
    whole = tangent if tangent._base is None else tangent._base
    if (tangent._strides(), tangent._offset, whole.numel()) == (strides, start, length):
        return tangent
    return as_strided(spread(tangent, length, shape, strides, start, True), shape, strides, start)


def write_tangent(tensor: Any, level: Level, tangent: Any) -> None:
    """Set the new tangent of a tensor that was written in place; a view's is written into its base's tangent."""
    have, base = tangent_of(tensor, level), tensor._base
    if have is None and base is not None:
        if tangent_of(base, level) is None:
            zeros = new_empty_strided(base, tuple(base.shape), base._strides()).zero_()
            level.attach(base, zeros)
            _let_views_look(base)
        have = tangent_of(tensor, level)
    if have is None or have.shape != tensor.shape or overlaps_itself(have.shape, have._strides()) or (
            have._keys & AUTOGRAD and have._grad_fn is None and local.grad_enabled):
        set_tangent(tensor, level, tangent)
        _let_views_look(tensor)
    elif have is not tangent:
        if tensor._grad_fn is not None:  # the node may have saved the tensor, whose tangent is the one before the write
            have = _replaced(tensor, level)
        copy_(have, tangent)


def _replaced(tensor: Any, level: Level) -> Any:
    """Give a tensor, or the base that it is a view of, a copy of its tangent, and return the tensor's part of it."""
    root = tensor if tensor._base is None or not (tensor._base._tangents or {}).get(level) is not None else tensor._base
    level.attach(root, clone(root._tangents[level]))
    if root._batched is None and root._storage is not None:
        for view in root._storage.aliases():
            if view._base is root:
                level.detach(view)
        _let_views_look(root)
    return tangent_of(tensor, level)


def _let_views_look(base: Any) -> None:
    """Add the ``Dual`` key to a tensor's views, so that they look up its tangent."""
    for view in base._storage.aliases() if base._storage is not None else ():
        if view._base is base:
            view._keys |= DUAL


def live_level(values: Any) -> Level | None:
    """Return the innermost live level below ``dual_below`` among the tangents of tensors, or None."""
    found, limit = None, local.dual_below
    for tensor in tensors_of(values):
        if tensor._keys & DUAL:
            owner = tensor if tensor._tangents or tensor._base is None else tensor._base
            for level in owner._tangents or ():
                if level.alive and level.number < limit and (found is None or level.number > found.number):
                    found = level
    return found


def on_duals(op: Operator, keys: int) -> Callable[..., Any]:
    """Return the Dual key's function, which runs an operator and computes its outputs' tangents from the inputs'."""
    backend = keys & BACKENDS or CPU
    kernel = op.kernel(backend & -backend)
    if kernel is not None and kernel.composite and not has_derivative(op):
        return kernel.fn

    def plain(*args: Any) -> Any:
        return (op.table.get(keys) or resolve(op, keys))(*args)

    found = None if op.is_out else derivative_of(op)
    if not op.is_out and found is None:
        return plain
    makes_view = kernel is not None and kernel.makes_view
    own = _own_tangents((op.functional or op).name)
    tangents: Any = own or (_tangents_of_views if makes_view else _tangents_pointwise if is_pointwise(  # noqa: F821 (put here later)
        op.functional or op) else _tangents_by_transposing)

    def call(*args: Any) -> Any:
        level = None if local.inference else live_level(args)
        if level is None:
            return plain(*args)
        if found is None or found.row is None or (op.is_inplace and op.writes_lists):
            raise refused(op)
        before, local.dual_below = local.dual_below, level.number
        try:
            step = None if makes_view else Step(found, level, args, op.is_inplace)
            if own is not None and op.is_inplace and step is not None:  # its formula needs the overwritten input
                step.args = (clone(args[0]), *args[1:])
            moved = tangents(op, level, args) if makes_view and op.is_inplace else None
            result = call(*args)
            if makes_view:
                moved = tangents(op, level, args) if moved is None else moved
            elif step is not None:
                step.finish(result)
                moved = [step.own(tangent) for tangent in tangents(step)]
            outputs = [result] if result.__class__ in TENSOR_TYPES else result
            for output, tangent in zip(outputs, moved or (), strict=bool(moved)):
                if tangent is None or (not op.is_inplace and any(output is arg for arg in args)):
                    continue
                if op.is_inplace and not makes_view:
                    write_tangent(output, level, tangent)
                else:
                    level.attach(output, tangent)
                _share_with_node(output, level)
            return result
        except (NotImplementedError, RuntimeError) as error:
            if kind_of(error) != "no derivative":
                raise
            raise refused(op) from None
        finally:
            local.dual_below = before

    return call


def refused(op: Operator) -> NotImplementedError:
    """Return the error of an operator without tangents: an ``out=`` function, or one without a derivative, or whose
    derivative has none.
    """
    because = "it is an out= function" if op.is_out else (
        "it has not been implemented yet.\nPlease file an issue to PyTorch at "
        "https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml so that we can prioritize its "
        "implementation or submit a PR adding the implementation to derivatives.yaml")
    return about(NotImplementedError(f"Trying to use forward AD with {op.packet}{'_out' * op.is_out} that does not "
                                     f"support it because {because}"), "no forward mode", name=op.name)


def _share_with_node(output: Any, level: Level) -> None:
    """Set an output's tangent also on its twin, which the node saves."""
    for kept in getattr(output._grad_fn, "saved", None) or ():
        if kept.__class__ is Saved and kept.output_nr == output._output_nr and kept.tensor is not None:
            level.attach(kept.tensor, output._tangents[level])


def _tangents_of_views(op: Operator, level: Level, args: tuple[Any, ...]) -> list[Any]:
    """Return the tangents of views: the same views of the tangent, after it has the layout of its tensor."""
    self = args[0]
    tangent = tangent_of(self, level)
    if tangent is None:
        return []
    laid_out = _in_storage(tangent, self, *args[1:]) if op.packet == "as_strided" else _laid_out(tangent, self)
    if laid_out is not tangent:
        level.attach(self, laid_out)
    if op.packet == "_reshape_alias":  # its strides are the tensor's
        return [reshape(laid_out, args[1])]
    view = registry[op.packet[:-1] + op.name[len(op.packet):]] if op.is_inplace else op
    result = view.call(laid_out, *args[1:])
    return [result] if result.__class__ in TENSOR_TYPES else list(result)


class Step:
    """A call of an operator with tangents among its inputs. A node outside the graph saves values for its derivative.
    """

    def __init__(self, found: Derivative, level: Level, args: tuple[Any, ...], inplace: bool):
        self.found, self.args = found, args
        #: for each differentiable input, the tangent, or a list of them for a list of tensors
        self.tangents: list[Any] = []
        mask = 0
        for bit, position in found.inputs:
            arg = args[position] if position < len(args) else None
            if arg.__class__ in TENSOR_TYPES:
                tangent: Any = tangent_of(arg, level)
            else:
                tangent = [None if t is None else tangent_of(t, level) for t in arg or ()] if isinstance(
                    arg, (list, tuple)) else None
            self.tangents.append(tangent)
            if any(t is not None for t in flattened((tangent,))):
                mask |= bit
        self.mask = mask
        self.node = _unhooked(found.apart, args, mask, inplace)
        self.outputs: list[Any] = []

    def arguments(self) -> list[Any]:
        """Return all arguments of the operator, defaults included."""
        return [*self.args, *(p.default for p in self.found.schema.parameters[len(self.args):])]

    def finish(self, result: Any) -> None:
        """Save the outputs that the derivative needs."""
        self.outputs = [result] if result.__class__ in TENSOR_TYPES else list(result)
        _unhooked(self.node.keep_outputs, self.outputs)

    def own(self, tangent: Any) -> Any:
        """Return an output's tangent, copied if it shares memory with an input's."""
        given = [t for t in flattened(self.tangents) if t is not None]
        shared = {id(t) for t in given} | {id(t._base) for t in given if t._base is not None}
        return clone(tangent) if tangent is not None and {id(tangent), id(tangent._base)} & shared else tangent

    def is_differentiable(self, number: int) -> bool:
        """Return True if an output is differentiable."""
        output, differentiable = self.outputs[number], self.found.row.outputs  # type: ignore[union-attr]
        return (output.__class__ in TENSOR_TYPES and output._dtype.category >= FLOATING
                and (differentiable is None or number in differentiable))


def _tangents_pointwise(step: Step) -> list[Any]:
    """Return the tangents of a pointwise operator: its row applied to them. Complex tangents take the general path."""
    output = step.outputs[0]
    given = [t for t in step.tangents if t is not None]
    if len(step.outputs) != 1 or output._dtype.is_complex or any(t._dtype.is_complex for t in given):
        return _tangents_by_transposing(step)
    shape, total = output.shape, None
    for i, tangent in enumerate(step.tangents):
        if tangent is not None:
            part = step.node.row_of(i, _like(tangent, shape, output._dtype))
            if part is not None:
                if part.shape != shape:  # a number given as a tensor, which is not pointwise
                    return _tangents_by_transposing(step)
                total = part if total is None else total + part
    if total is None:
        return [zeros_of(output)]
    return [_like(total, shape, output._dtype)]


def _tangents_by_transposing(step: Step) -> list[Any]:
    """Return the tangents of any operator. Its row is linear in the outputs' gradients, so the row's derivative with
    respect to these, along the tangents, is the operator's.
    """
    outputs = step.outputs
    if not step.mask:  # the row's function is for the inputs that have derivatives
        return [zeros_of(output) if step.is_differentiable(i) else None for i, output in enumerate(outputs)]
    given = *tensors_of(step.args), *tensors_of(step.tangents)
    records = local.grad_enabled and any(t._keys & AUTOGRAD for t in given)
    with enable_grad():
        starts = [zeros_of(output).requires_grad_() if step.is_differentiable(i) else None
                  for i, output in enumerate(outputs)]
        rows = _unhooked(step.node.apply, list(starts))
    tangents = []
    for tangent, row in zip(flattened(step.tangents), rows, strict=True):
        if tangent is not None and row is not None and row._keys & AUTOGRAD:
            tangents.append((row, _like(tangent, row.shape, row._dtype)))
    wanted = [start for start in starts if start is not None]
    found: Any = iter(gradients_of([row for row, _ in tangents], wanted, [t for _, t in tangents], allow_unused=True,
                                   create_graph=records) if tangents else [None] * len(wanted))
    results = []
    for output, start in zip(outputs, starts, strict=True):
        tangent = None if start is None else next(found)
        results.append(tangent if tangent is not None or start is None else zeros_of(output))
    return results


def _own_tangents(name: str) -> Callable[[Step], list[Any]] | None:
    """Return the rule of an operator whose tangents its derivative does not yield, or None."""
    if name in PARTS:
        return lambda step: _tangents_by_parts(step, PARTS[name])
    return _tangents_zero_at_zero if name in ZERO_AT_ZERO else _tangents_linear if name in LINEAR else OWN.get(name)


def _tangents_by_parts(step: Step, parts: tuple[Callable[..., Any], ...]) -> list[Any]:
    """Add the parts of the inputs that have tangents."""
    output, args, total = step.outputs[0], step.arguments(), None
    for part, tangent in zip(parts, step.tangents, strict=True):
        if tangent is not None:
            found = part(tangent, output, *args)
            total = found if total is None else total + found
    return [_like(total, output.shape, output._dtype)]


def _tangents_linear(step: Step) -> list[Any]:
    """Call the operator again on the tangents."""
    args = step.arguments()
    for (_, position), tangent in zip(step.found.inputs, step.tangents, strict=True):
        args[position] = zeros_of(args[position]) if tangent is None else tangent
    op = step.found.op
    return [(op.functional or op).call(*args)]


def _tangents_zero_at_zero(step: Step) -> list[Any]:
    """Set the tangent to zero where the output is zero, since its derivative is NaN there."""
    first, *rest = _tangents_by_transposing(step)
    return [masked_fill(first, step.outputs[0] == 0, 0), *rest]


def _tangents_of_scattered(step: Step) -> list[Any]:
    self, dim, index, src, reduce, include_self = step.arguments()
    if reduce not in ("amax", "amin"):
        return _tangents_by_transposing(step) if reduce == "prod" else _tangents_linear(step)
    d_self, d_src = [zeros_of(x) if tangent is None else tangent
                     for x, tangent in zip((self, src), step.tangents, strict=True)]
    return [equal_to_extreme(d_self, d_src, step.outputs[0], self, dim, index, src, include_self)]


def _tangents_of_logcumsumexp(step: Step) -> list[Any]:
    """Return the tangent of ``logcumsumexp``: its row takes the logarithm of ``grad``, with no derivative at zero."""
    self, dim = step.args
    if not self.ndim or not self.numel():
        return [step.tangents[0]]
    weights = (self - real(self).amax(dim, True)).exp()
    return [(weights * step.tangents[0]).cumsum(dim) / (weights.cumsum(dim) + 1e-13)]  # which may be 0


def _tangents_of_quotient(step: Step) -> list[Any]:
    """Return the tangent of a quotient by a single division, so that a zero divisor does not give inf - inf."""
    output, of_self, of_other = step.outputs[0], *step.tangents
    through = None if of_other is None else of_other * output
    above = of_self if through is None else -through if of_self is None else of_self - through
    return [_like(above / step.args[1], output.shape, output._dtype)]


def _tangents_of_normalized(step: Step) -> list[Any]:
    """Return the tangents of a normalization and of its statistics, which are part of each other's derivatives; the
    row takes them for constants. Squares of half precision would overflow.
    """
    args, (output, mean, rstd) = step.arguments(), step.outputs
    if not mean.numel():  # of running statistics
        return _tangents_by_transposing(step)
    per_channel = step.found.op.packet == "native_batch_norm"
    given = args[0], args[1 if per_channel else 2], *step.tangents
    input, weight, dx, dw, db = [
        t if t is None or t._dtype.itemsize > 2 else _to_copy(t, float32) for t in given]
    dims = tuple(d for d in range(input.ndim) if (d != 1 if per_channel else d >= input.ndim - len(args[1])))

    def spread(value: Any) -> Any:
        return reshape(value, (-1, *(1,) * (input.ndim - 2))) if per_channel else value

    centred = input - input.mean(dims, True)
    r = ((centred * centred).mean(dims, True) + args[-1]).rsqrt()
    scaled = centred * r
    dx = zeros_of(input) if dx is None else dx
    d_mean, along = dx.mean(dims, True), (scaled * dx).mean(dims, True)
    total = r * (dx - d_mean - scaled * along)
    total = total if weight is None else total * spread(weight)
    total = total if dw is None else total + scaled * spread(dw)
    total = total if db is None else total + spread(db)
    return [_like(total, output.shape, output._dtype), _like(reshape(d_mean, mean.shape), mean.shape, mean._dtype),
            _like(reshape(-r * r * along, rstd.shape), rstd.shape, rstd._dtype)]


def _tangents_of_the_first(step: Step) -> list[Any]:
    """Return the tangent, if there is one of the first operand: on that of the second it does not depend."""
    return [None] if step.tangents[0] is None else _tangents_pointwise(step)


def _tangents_of_nansum(step: Step) -> list[Any]:
    """Return the sum of the tangents of elements that are not NaN; those of NaN may be NaN."""
    self, dim, keepdim, _ = step.arguments()
    tangent = masked_fill(step.tangents[0], self.isnan(), 0)
    return [sum_dims(tangent, dim or tuple(range(self.ndim)), keepdim, step.outputs[0]._dtype)]


def _tangents_of_moments(step: Step) -> list[Any]:
    """Return the tangents of ``var_mean`` and ``std_mean``; a mean of no tangents is NaN, their sum is 0."""
    spread, mean = (_tangents_by_transposing if step.found.op.packet == "var_mean" else _tangents_zero_at_zero)(step)
    self, dim, _, keepdim = step.arguments()
    return [spread, mean if self.numel() else mean_dims(step.tangents[0], dim, keepdim)]


OWN = {"copysign.Tensor": _tangents_of_the_first, "nextafter": _tangents_of_the_first,
       "logcumsumexp": _tangents_of_logcumsumexp, "nansum": _tangents_of_nansum,
       "var_mean.correction": _tangents_of_moments, "std_mean.correction": _tangents_of_moments,
       "scatter_reduce.two": _tangents_of_scattered, "div.Tensor": _tangents_of_quotient,
       "native_layer_norm": _tangents_of_normalized, "native_batch_norm": _tangents_of_normalized}


def zeros_of(output: Any) -> Any:
    """Return zeros like an output, outside the graph."""
    return zeros_like(output._shallow_copy_and_detach())


def _like(tensor: Any, shape: Any, dtype: Any) -> Any:
    """Return a tensor expanded to a shape and converted to a dtype."""
    if tensor.shape != shape:
        tensor = expand(tensor, tuple(shape))
    return tensor if tensor._dtype is dtype else _to_copy(tensor, dtype)

