"""Functionalization: programs that write and alias, as programs that only compute.

A ``FunctionalTensor`` wraps the value that a tensor has at this moment. An operator that writes computes a new value in
place of the old one. Tensors that share memory share a ``Memory``: the value of the whole, which a view's write changes
by the inverse of the view (``select_scatter`` for ``select``). A view knows its way from the whole, and is computed
again when it is read after a write. So the operators below this mode, which a tracer records, neither write nor depend
on aliasing.

``FunctionalTensorMode`` runs below autograd: it records derivatives as of the program that writes.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .._base.interrupts import contextmanager
from .._base.layout import contiguous_strides, overlaps_itself
from .._device import META
from .._dispatch import python as dispatch
from .._dispatch.dispatcher import switched
from .._dispatch.keys import CPU, MATH_BITS
from .._dispatch.local import local
from .._dispatch.overloads import OpOverload, overload_of
from .._dispatch.registry import Operator
from .._dispatch.schemas import registry
from .._dtype import int64
from .._tensor import Tensor
from .._transforms.pytree import tree_leaves, tree_map
from ..utils._python_dispatch import TorchDispatchMode
from .auto_functionalized import auto_functionalized
from .view_inverses import INVERSES

#: The functional form of operators that have another name than their own without the underscore.
FUNCTIONAL = {"normal_": "normal_functional", "bernoulli_.float": "bernoulli.p",
              "_native_batch_norm_legit": "_native_batch_norm_legit_functional",
              "native_batch_norm": "_native_batch_norm_legit_functional",
              "_batch_norm_with_update": "_batch_norm_with_update_functional",
              "rrelu_with_noise": "rrelu_with_noise_functional"}


#: Composites that write arguments without their schema's saying so.
WRITE_STATISTICS = ("batch_norm", "instance_norm")
DATA: Any = Tensor.__dict__["data"]


class View(NamedTuple):
    """One step from a tensor to a view of it (``ViewMeta``): an operator, its other arguments, which of several outputs
    the view is, the grad mode and the version when it was taken, the operator that took it in place, if one did, and
    whether it is ``x.data``, which counts its writes alone.
    """

    op: Operator
    args: tuple[Any, ...]
    number: int | None
    grad_enabled: bool = True
    version: int = 0
    in_place: Operator | None = None
    is_data: bool = False

    def of(self, base: Any, copies: bool) -> Any:
        """Return the view of a value, by the operator's ``*_copy`` form if it ``copies``."""
        made = (copying(self.op) if copies else self.op).call(base, *self.args)
        return made if self.number is None else made[self.number]

    def undone(self, base: Any, view: Any, copies: bool) -> Any:
        """Return a base whose view has this value, and that has the former values elsewhere."""
        return INVERSES[self.op.name](base, view, *self.args, copies=copies, index=self.number)


def replayed(base: Any, views: Sequence[View], writes: int = 0) -> Any:
    """Return the view of a base that some steps lead to, each in its grad mode. Steps in place move a view, which has
    the base that it had before, but not the base.

    Of the writes that the base's version counts, the last ``writes`` are the function's: a view that was taken before
    them learns of them as in eager mode, when its history is next asked for.
    """
    found = base
    with switched(grad_enabled=local.grad_enabled):
        for view in views:
            local.grad_enabled = view.grad_enabled
            if view.is_data:
                found = found.data
                continue
            if view.in_place is None or found is base:
                found, taken = view.of(found, False), view.version
            else:
                version, taken = found._version, view.version + 1
                found = view.in_place.call(found, *view.args)
                found._version_counter[0] = version  # the function's writes are counted with those of the graph
                if found._attr_version != version + 1:
                    found._attr_version = -1  # its history, or that it has none, is that of the layout before
                    continue
            if writes and found._version_counter is base._version_counter:
                found._attr_version = base._version - writes + taken
    return found


def copying(op: Operator) -> Operator:
    """Return the ``*_copy`` form of a view operator: ``select_copy.int`` of ``select.int``."""
    packet, dot, overload = op.name.partition(".")
    return registry.operators.get(f"{packet}_copy{dot}{overload}", op)


def written_back(base: Any, views: Sequence[View], value: Any, copies: bool) -> Any:
    """Return the value of the whole after a write of a value to the view that some steps lead to."""
    if shares_elements(base, views):
        return put_back(base, views, value, copies)
    bases = [base]
    for view in views[:-1]:
        bases.append(view.of(bases[-1], copies))
    for view, each in zip(reversed(views), reversed(bases), strict=False):
        value = view.undone(each, value, copies)
    return value


def shares_elements(base: Any, views: Sequence[View]) -> bool:
    """Return True if a step makes several elements of one element, or of some none: its inverse is no operator."""
    if any(view.op.name == "unfold" for view in views):
        return True
    if all(view.op.name != "expand" for view in views):
        return False
    layout = without_values(base)
    with switched(dispatch_modes=()):
        for view in views:
            layout = view.of(layout, False)
            if overlaps_itself(tuple(layout.shape), layout._strides()):
                return True
    return False


def put_back(base: Any, views: Sequence[View], value: Any, copies: bool) -> Any:
    """Return the whole with a view's values, put where the view of the elements' numbers finds them."""
    if any(view.op.name == "as_strided" for view in views) and not base.is_contiguous():
        raise NotImplementedError("functionalize: a write through both as_strided and expand or unfold to a tensor "
                                  "that is not contiguous: write to a view without as_strided")
    index = registry["arange"].call(base.numel(), int64, None, base._device)
    for view in (View(registry["view"], (tuple(base.shape),), None), *views):
        index = view.of(index, copies)
    return registry["put"].call(base, index, value)


class Memory:
    """The value of memory that several tensors share (``FunctionalStorageImpl``), with the number of writes."""

    def __init__(self, base: Any):
        self.base = base
        self.generation = 0
        self.frozen = False
        self.quiet = 0  #: how many of the writes were made without grad mode


class FunctionalTensor(Tensor):
    """A tensor inside functionalization (``torch._subclasses.functional_tensor.FunctionalTensor``).

    ``_value`` is its value as of ``_generation``, ``_memory`` what it shares with its views, ``_views`` its way from
    the memory's value.
    """

    _value: Any
    _memory: Memory
    _views: tuple[View, ...] = ()
    _generation: int = 0
    _mode: FunctionalTensorMode
    _moved: bool = False  #: whether its layout was changed in place
    _set: bool = False  #: whether it was given other memory, by ``set_``

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator as the innermost mode of its tensors does, outside of that mode's block."""
        mode = next(leaf._mode for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, FunctionalTensor))
        return mode.__torch_dispatch__(func, types, args, kwargs or {})

    @property
    def data(self) -> Any:
        """The tensor without its history, as a view that counts its writes alone."""
        out: Any = DATA.fget(self)
        out._views = (*out._views[:-1], out._views[-1]._replace(is_data=True))
        return out

    @data.setter
    def data(self, value: Any) -> None:
        DATA.fset(self, value)

    @property
    def elem(self) -> FunctionalTensor:
        """The tensor that PyTorch's wraps, of which ``torch._from_functional_tensor`` returns the value: this one."""
        return self

    def value(self) -> Any:
        """Return the value, computed again if the memory was written since (``torch._sync``)."""
        if self._generation != self._memory.generation:
            self._generation = self._memory.generation
            self._value = self._memory.base
            for view in self._views:
                self._value = view.of(self._value, self._mode.copies)
        return self._value

    def checked(self) -> FunctionalTensor:
        """Return this tensor. Raise AssertionError, if that is switched on, unless its value has its shape and dtype.
        """
        if dispatch.checks_layouts:
            assert (tuple(self.shape), self._dtype) == (tuple(self._value.shape), self._value._dtype), (
                f"a functional tensor of shape {self.shape} has a value of shape {self._value.shape}")
        return self

    @staticmethod
    def to_functional(x: Any) -> FunctionalTensor:
        """Return a functional tensor of this value, with its place in the graph."""
        out = current_mode().wrap(x)
        return out.requires_grad_(x.requires_grad)  # type: ignore[return-value]

    def from_functional(self) -> Any:
        """Return the value."""
        return self.value()

    def write(self, value: Any) -> None:
        """Give the tensor, and the memory that it shares, another value."""
        memory, copies = self._memory, self._mode.copies
        if memory.frozen:
            raise RuntimeError("cannot mutate tensors with frozen storage")
        if overlaps_itself(tuple(self.shape), self._strides()):
            raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a "
                               "single memory location. Please clone() the tensor before performing the operation.")
        if value._dtype is not self._dtype:
            value = registry["_to_copy"].call(value, self._dtype)
        base = written_back(memory.base, self._views, value, copies)
        if base.shape == memory.base.shape and base._strides() != memory.base._strides():
            base = registry["copy"].call(memory.base, base)  # the layout of a tensor stays when it is written
        memory.base = base
        memory.generation += 1
        memory.quiet += not local.grad_enabled
        if tuple(self.value().shape) != tuple(self.shape):  # an ``out=`` that was resized
            take_layout(self, self._value)
        self.checked()

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"FunctionalTensor({self._value!r})"


def take_layout(tensor: Any, value: Any) -> None:
    """Give a wrapper the layout of its value."""
    tensor._set_layout(tensor._storage, value.shape, value._strides(), value._offset)


class FunctionalTensorMode(TorchDispatchMode):
    """A block in which operators compute on functional tensors
    (``torch._subclasses.functional_tensor.FunctionalTensorMode``).

    With ``copies``, views are copied, too (``functionalize(remove="mutations_and_views")``). With ``recording``, the
    values below may have a history of their own, as in ``grad(functionalize(f))``. With ``pre_dispatch``, composites
    stay whole, but for those that share or write memory, and those that ``table`` decomposes.
    """

    def __init__(self, pre_dispatch: bool = False, export: bool = False, _allow_token_discovery: bool = False, *,
                 copies: bool = False, recording: bool = False, table: Mapping[Any, Any] | None = None):
        super().__init__()
        self.copies, self.recording, self.table = copies, recording, table or {}
        self.pre_dispatch, self.export = pre_dispatch, export

    @classmethod
    def is_infra_mode(cls) -> bool:
        return True

    # -- wrapping --------------------------------------------------------------------------------------------------

    def wrap(self, value: Any) -> FunctionalTensor:
        """Return a functional tensor of this value, with memory of its own."""
        return self._wrapper(value, Memory(value), value._strides(), value._offset)

    def whole(self, memory: Memory) -> FunctionalTensor:
        """Return a functional tensor of all of a memory."""
        return self._wrapper(memory.base, memory, memory.base._strides(), memory.base._offset)

    def _wrapper(self, value: Any, memory: Memory, stride: Any, offset: int) -> FunctionalTensor:
        out: FunctionalTensor = Tensor._make_wrapper_subclass(
            FunctionalTensor, value.shape, stride, offset, dtype=value._dtype, device=value._device)
        out._value, out._memory, out._generation, out._mode = value, memory, memory.generation, self
        out._keys |= value._keys & MATH_BITS
        return out.checked()

    def _view(self, source: FunctionalTensor, value: Any, view: View, layout: Any) -> FunctionalTensor:
        """Return a functional tensor that is a view of another one."""
        out = self._wrapper(value, source._memory, layout._strides(), layout._offset)
        out._views = (*source._views, view)
        out._storage = source.untyped_storage()
        out._storage.add_alias(out)
        return out

    # -- operators -------------------------------------------------------------------------------------------------

    def __torch_dispatch__(self, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator on the tensors' values."""
        op, given = func._operator, func._canonical(args, kwargs or {})
        with switched(below_autograd=local.below_autograd and not self.recording):
            if op.name in SPECIAL:
                return SPECIAL[op.name](self, *given)
            if self.pre_dispatch and func.is_composite and (
                    func in self.table or "(a" in op.text or op.name in WRITE_STATISTICS):
                with self:  # what a composite shares and writes is known of the operators that it calls
                    return self.table.get(func, func.decompose)(*args, **(kwargs or {}))
            if op.is_out or op.writes:
                return self._written(func, given)
            kernel = op.kernel(CPU)
            if kernel is not None and kernel.makes_view and isinstance(given[0], FunctionalTensor):
                return self._viewed(func, given)
            return self._computed(func, given)

    def _computed(self, func: OpOverload, given: Any) -> Any:
        tensors = [leaf for leaf in tree_leaves(given) if isinstance(leaf, Tensor)]
        result = call(func, tree_map(value_of, given))
        if tensors and not any(isinstance(tensor, FunctionalTensor) for tensor in tensors):
            return result
        if self.pre_dispatch and func.is_composite and isinstance(result, Tensor) and any(
                result.untyped_storage() is value_of(tensor).untyped_storage() for tensor in tensors):
            out = self.wrap(result)  # a composite's result that may share memory, as ``dropout``'s without training
            out._memory.frozen = True
            return out
        return tree_map(lambda leaf: self.wrap(leaf) if isinstance(leaf, Tensor) else leaf, result)

    def _viewed(self, func: OpOverload, given: Any) -> Any:
        op, source = func._operator, given[0]
        value, rest = source.value(), given[1:]
        made = copying(op).call(value, *rest) if self.copies else call(func, (value, *rest))
        layout = on_layout(op, source, *rest) if self.copies else made
        taken = local.grad_enabled, 0 if source.is_inference() else source._version
        if isinstance(made, Tensor):
            return self._view(source, made, View(op, rest, None, *taken), layout)
        return type(made)([self._view(source, each, View(op, rest, i, *taken), layout[i])
                           for i, each in enumerate(made)])

    def _written(self, func: OpOverload, given: Any) -> Any:
        op = func._operator
        if "inplace_view" in op.flags:
            return self._moved(op, given)
        count = len(op.schema.parameters)
        targets = list(given[count]) if op.is_out and isinstance(given[-1], (tuple, list)) else (
            [given[-1]] if op.is_out else [given[i] for i in op.writes if i < len(given) and given[i] is not None])
        flat: list[Any] = [target for target in tree_leaves(targets) if isinstance(target, Tensor)]
        if not any(isinstance(target, FunctionalTensor) for target in flat):
            if any(isinstance(leaf, FunctionalTensor) for leaf in tree_leaves(given)) and flat:
                raise RuntimeError("mutating a non-functional tensor with a functional tensor is not allowed. Please "
                                   "ensure that all of your inputs are wrapped inside of a functionalize() call.")
            return self._computed(func, given) if not flat else call(func, given)
        values = tree_map(value_of, given[:count] if op.is_out else given)
        if "::" in op.name and not op.is_inplace and not op.is_out:
            return self._written_by_custom(func, given, values)
        pure = functional_of(func)
        if op.writes and not op.is_inplace and not op.is_out:
            results = pure._operator.call(*values)
            kept = len(op.schema.returns)
            for target, value in zip(targets, results[kept:], strict=True):
                target.write(value)
            return self.wrap(results[0]) if kept == 1 else tuple([self.wrap(value) for value in results[:kept]])
        results = call(pure, values)
        results = [results] if isinstance(results, Tensor) else list(results)
        if op.is_inplace and (results[0].shape != flat[0].shape or results[0]._dtype is not flat[0]._dtype):
            with switched(dispatch_modes=()):  # an operator that cannot write its results refuses them
                op.call(*tree_map(without_values, given))
        for target, value in zip(flat, results, strict=False):
            target.write(value)
        return (flat[0] if len(flat) == 1 else tuple(flat)) if not op.writes_lists else None

    def _written_by_custom(self, func: OpOverload, given: Any, values: Any) -> Any:
        """Call an operator of ``torch.library`` that writes, on copies, and write these."""
        parameters = func._operator.schema.parameters
        results = auto_functionalized(func, **{parameter.name: value for parameter, value in zip(
            parameters, values, strict=False)})
        written = [given[place] for place in func._operator.writes if place < len(given)]
        returned, copies = results[:len(results) - len(written)], results[len(results) - len(written):]
        for target, value in zip(tree_leaves(written), tree_leaves(copies), strict=True):
            if isinstance(target, FunctionalTensor):
                target.write(value)
        wrapped = tree_map(lambda leaf: self.wrap(leaf) if isinstance(leaf, Tensor) else leaf, returned)
        return wrapped[0] if len(wrapped) == 1 else wrapped

    def _moved(self, op: Operator, given: Any) -> Any:
        """Change a tensor's layout in place: it becomes a view of what it was."""
        target = given[0]
        if not isinstance(target, FunctionalTensor):
            return op.call(*given)
        packet, dot, overload = op.name.partition(".")
        view = View(registry[f"{packet[:-1]}{dot}{overload}"], tuple(given[1:]), None, local.grad_enabled,
                    target._version, op)
        layout = on_layout(view.op, target, *given[1:])
        target._value = view.of(target.value(), self.copies)
        target._views, target._moved, target._mode = (*target._views, view), True, self
        take_layout(target, layout)
        return target


def call(func: OpOverload, values: Any) -> Any:
    """Call an overload, which the modes below receive as the same one."""
    with switched(formula=func._overloadname == "Scalar"):
        return func._operator.call(*values)


def value_of(leaf: Any) -> Any:
    """Return the value of a functional tensor; any other as it is."""
    return leaf.value() if isinstance(leaf, FunctionalTensor) else leaf


def without_values(leaf: Any) -> Any:
    """Return a tensor without values in the layout of another one; any other value as it is."""
    if not isinstance(leaf, Tensor):
        return leaf
    like = registry["empty_strided"].call(leaf.shape, leaf._strides(), leaf._dtype, None, META)
    like._offset = leaf._offset
    return like


def on_layout(op: Operator, tensor: Any, *args: Any) -> Any:
    """Call a view operator on a tensor without values in the layout of another one."""
    with switched(dispatch_modes=()):
        return op.call(without_values(tensor), *args)


def functional_of(func: OpOverload) -> OpOverload:
    """Return the overload that computes what another one writes."""
    op = func._operator
    if op.functional is not None:
        return overload_of(op.functional, func._overloadname == "Scalar")
    packet, dot, overload = op.name.partition(".")
    found = registry.operators.get(FUNCTIONAL.get(op.name, f"{packet.rstrip('_')}{dot}{overload}"))
    if found is None:
        raise NotImplementedError(f"functionalize: {func} writes its inputs and has no form that returns new values")
    return overload_of(found)


def _lift_fresh(mode: FunctionalTensorMode, tensor: Any) -> Any:
    if isinstance(tensor, FunctionalTensor):
        return registry["view"].call(tensor, tensor.shape)
    return mode.wrap(registry["lift_fresh"].call(tensor))


def _resize_(mode: FunctionalTensorMode, tensor: Any, size: Any, memory_format: Any = None) -> Any:
    if not isinstance(tensor, FunctionalTensor):
        return registry["resize_"].call(tensor, size, memory_format)
    layout = on_layout(registry["resize_"], tensor, size, memory_format)
    if layout.numel() > tensor.numel():
        if tensor._views:
            raise RuntimeError("Attempted to resize a view tensor to a larger size. This is not allowed in the "
                               "functionalization pass")
        value = registry["resize"].call(tensor.value(), size, memory_format)
        take_layout(tensor, value)
        tensor._views = ()
        tensor.write(value)
        return tensor
    return mode._moved(registry["as_strided_"], (tensor, layout.shape, layout._strides(), tensor._offset))


def _set_(mode: FunctionalTensorMode, tensor: Any, source: Any) -> Any:
    tensor._value, tensor._memory, tensor._views = source.value(), source._memory, source._views
    tensor._generation, tensor._set = source._generation, True
    tensor._storage = source.untyped_storage()
    take_layout(tensor, source)
    return tensor


def _set_window(mode: FunctionalTensorMode, tensor: Any, source: Any, offset: int = 0, size: Any = None,
                stride: Any = ()) -> Any:
    """Give a tensor the memory of a storage, and the layout of a window of it."""
    owner = next((alias for alias in source.untyped().aliases() if isinstance(alias, FunctionalTensor)), None)
    if not isinstance(tensor, FunctionalTensor) or not isinstance(owner, FunctionalTensor):
        raise RuntimeError("set_ inside functionalize() takes memory of tensors that functionalize() made, and gives "
                           "it to such tensors")
    shape = (owner.untyped_storage().nbytes() // owner.element_size(),) if size is None else tuple(size)
    steps = tuple(stride) or contiguous_strides(shape)
    view = View(registry["as_strided"], (shape, steps, offset), None)
    tensor._value, tensor._memory, tensor._views = view.of(owner._memory.base, mode.copies), owner._memory, (view,)
    tensor._generation, tensor._set = owner._memory.generation, True
    tensor._storage = owner.untyped_storage()
    tensor._set_layout(tensor._storage, shape, steps, offset)
    return tensor


SPECIAL: dict[str, Callable[..., Any]] = {
    "lift_fresh": _lift_fresh, "resize_": _resize_, "set_.source_Tensor": _set_,
    **{f"set_.source_{form}": _set_window for form in ("Storage", "Storage_storage_offset")}}


@contextmanager
def disable_functional_mode() -> Iterator[None]:
    """Run a block without the innermost functionalization
    (``torch._subclasses.functional_tensor.disable_functional_mode``).
    """
    modes = local.dispatch_modes
    place = next((i for i in reversed(range(len(modes))) if isinstance(modes[i], FunctionalTensorMode)), None)
    if place is None:
        yield
        return
    with switched(dispatch_modes=modes[:place] + modes[place + 1:]):
        yield


def dispatch_functionalize(func: Callable[..., Any], mode: FunctionalTensorMode | None = None) -> Callable[..., Any]:
    """Return a function that runs ``func`` on functional tensors, and returns their values
    (``torch._subclasses.functional_tensor.dispatch_functionalize``).
    """
    mode = FunctionalTensorMode() if mode is None else mode

    def inner(*args: Any, **kwargs: Any) -> Any:
        with mode:
            given, named = tree_map(lambda leaf: FunctionalTensor.to_functional(leaf) if isinstance(leaf, Tensor)
                                    else leaf, (args, kwargs))
            return tree_map(value_of, func(*given, **named))

    return inner


# -- torch's private functions, on which its own tests and tracers are written ---------------------------------------

_entered: list[FunctionalTensorMode] = []
_outside = FunctionalTensorMode()


def _enable_functionalization(*, reapply_views: bool = False) -> None:
    """Enter functionalization (``torch._enable_functionalization``)."""
    _entered.append(FunctionalTensorMode(copies=not reapply_views))
    _entered[-1].__enter__()


def _disable_functionalization() -> None:
    """Leave functionalization (``torch._disable_functionalization``)."""
    _entered.pop().__exit__(None, None, None)


def current_mode() -> FunctionalTensorMode:
    """Return the innermost functionalization, or one with which tensors are wrapped before they enter it."""
    return next((mode for mode in reversed(local.dispatch_modes) if isinstance(mode, FunctionalTensorMode)), _outside)


def _to_functional_tensor(t: Any) -> FunctionalTensor:
    """Return a functional tensor of this value (``torch._to_functional_tensor``)."""
    return current_mode().wrap(t)


def _from_functional_tensor(t: Any) -> Any:
    """Return the value of a functional tensor (``torch._from_functional_tensor``)."""
    if not isinstance(t, FunctionalTensor):
        raise RuntimeError("_from_functional_tensor(): expected a functional tensor")
    return t._value


def _is_functional_tensor(t: Any) -> bool:
    """Return True for a functional tensor (``torch._is_functional_tensor``)."""
    return isinstance(t, FunctionalTensor)


def _sync(t: Any) -> None:
    """Compute a functional tensor's value again if its memory was written (``torch._sync``)."""
    if isinstance(t, FunctionalTensor):
        t.value()


def _freeze_functional_tensor(t: Any) -> None:
    """Forbid writes to a functional tensor's memory (``torch._freeze_functional_tensor``)."""
    t._memory.frozen = True
