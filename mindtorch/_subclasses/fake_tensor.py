"""``torch._subclasses.fake_tensor``: programs on fake tensors, which have shapes, dtypes and devices, and no values.

``FakeTensorMode`` sees every operator below autograd. It gives the meta kernel a meta tensor for each fake one, and
makes fake tensors of the results, on the device that the operator's would be on.
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._creation import empty, empty_strided
from .._device import META, device as Device, get_default_device, resolve_device
from .._dispatch.dispatcher import TENSOR_TYPES, flattened, switched, tensors_of
from .._dispatch.keys import SPARSES
from .._dispatch.local import local
from .._functorch import config
from .._guards import ConstantSource
from .._tensor import Tensor
from .._transforms.pytree import tree_map
from ..nn.parameter import Parameter
from ..overrides import TorchFunctionMode
from ..utils._python_dispatch import TorchDispatchMode
from . import fake_impls
from .fake_class import FakeTensor as FakeTensor, fakes_among
from .fake_converter import FakeTensorConverter as FakeTensorConverter
from .fake_errors import (
    DataDependentOutputException as DataDependentOutputException,
    DynamicOutputShapeException as DynamicOutputShapeException, MetadataMismatchError as MetadataMismatchError,
    UnsupportedFakeTensorException as UnsupportedFakeTensorException,
    UnsupportedMutationAliasingException as UnsupportedMutationAliasingException,
    UnsupportedOperatorException as UnsupportedOperatorException,
)

#: Elements at most of a tensor whose value is kept.
CONSTANT_NUMEL_LIMIT = 1
LIFTS = frozenset({"lift", "lift_fresh", "lift_fresh_copy"})


#: The classes of tensors that fake ones stand for.
PLAIN = (Tensor, Parameter)


class FakeTensorMode(TorchDispatchMode):
    """A block in which operators make fake tensors (``torch._subclasses.FakeTensorMode``).

    ``from_tensor`` makes a fake tensor of a real one. With a ``shape_env``, its sizes are symbols. Real tensors beside
    fake ones are an error unless ``allow_non_fake_inputs``.
    """

    def __init__(self, *, allow_fallback_kernels: bool = True, allow_non_fake_inputs: bool = False,
                 shape_env: Any = None, static_shapes: bool | None = None, export: bool = False) -> None:
        super().__init__()
        self.allow_fallback_kernels, self.allow_non_fake_inputs = allow_fallback_kernels, allow_non_fake_inputs
        self.shape_env, self.export = shape_env, export
        self.static_shapes = shape_env is None if static_shapes is None else static_shapes
        self.fake_tensor_converter = FakeTensorConverter(export=export)
        self.allow_scalar_outputs = False
        self.propagate_real_tensors = config.fake_tensor_propagate_real_tensors
        self.allow_meta = config.fake_tensor_allow_meta
        self._entered: list[bool] = []

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Return True: the mode is part of the compiler's machinery."""
        return True

    def __enter__(self) -> FakeTensorMode:
        """Enter the mode, unless it is the innermost one already."""
        entered = not (local.dispatch_modes and local.dispatch_modes[-1] is self)
        self._entered.append(entered)
        if entered:
            super().__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        if self._entered.pop():
            super().__exit__(*exc)

    def from_tensor(self, tensor: Tensor, *, static_shapes: bool | None = None, source: Any = None,
                    symbolic_context: Any = None, trace: bool = True) -> Any:
        """Return the fake tensor that stands for a real one: always the same, while the real one lives.

        Raises:
            UnsupportedFakeTensorException: if no fake tensor can stand for it.
        """
        if isinstance(tensor, FakeTensor) and tensor.fake_mode is self:
            return tensor
        if source is None:
            source = ConstantSource(f"__meta_utils_unknown_tensor{len(self.fake_tensor_converter.tensor_memo)}")
        static = self.static_shapes if static_shapes is None else static_shapes
        if static and symbolic_context is not None:
            raise AssertionError("cannot set both static_shapes and symbolic_context")
        return self.fake_tensor_converter.from_real_tensor(
            self, tensor, shape_env=None if static else self.shape_env, source=source,
            symbolic_context=symbolic_context)

    def empty(self, shape: Any, strides: Any, dtype: Any, device: Any) -> Any:
        """Return a new fake tensor."""
        with switched(dispatch_modes=()):
            made = (empty_strided(shape, strides, dtype=dtype, device="meta") if strides is not None
                    else empty(shape, dtype=dtype, device="meta"))
        return FakeTensor(self, made, device)

    # -- operators -------------------------------------------------------------------------------------------------

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator on fake tensors.

        Raises:
            AssertionError: for real tensors beside fake ones, and for fake tensors of another mode.
            UnsupportedOperatorException: if the operator has no meta kernel.
        """
        kwargs = kwargs or {}
        if any(type(t) not in PLAIN and not isinstance(t, FakeTensor) for t in tensors_of((*args, *kwargs.values()))):
            return NotImplemented  # another class, which sees it first
        canonical = func._canonical(args, kwargs)
        op = func._operator
        if op.name in LIFTS and not isinstance(canonical[0], FakeTensor):
            return self._lifted(op, canonical[0])
        canonical = tuple([self._converted(func, args, kwargs, value) for value in canonical])
        fakes = fakes_among(canonical)
        known = self._from_constants(func, canonical, fakes)
        if known is not None:
            return known
        special = fake_impls.SPECIAL.get(op.name)
        if special is not None:
            result = special(self, func, canonical)
            if result is not NotImplemented:
                return self._with_real(func, canonical, result)
        written = fakes_among([value for place, value in enumerate(canonical) if place in self._written(op, canonical)])
        if written:
            self.forget_constants(written)
        return self._with_real(func, canonical, self._run(func, canonical, fakes, written))

    @staticmethod
    def _written(op: Any, canonical: tuple[Any, ...]) -> tuple[int, ...]:
        return (len(canonical) - 1,) if op.is_out else op.writes

    def _lifted(self, op: Any, tensor: Tensor) -> Any:
        """Return the fake tensor of a new real one, with its value if it is small."""
        if type(tensor) is not Tensor:
            raise AssertionError(f"expected a plain tensor, got {type(tensor).__name__}")
        with switched(dispatch_modes=()):
            value = tensor.clone() if op.name == "lift_fresh_copy" else tensor
        small = not tensor.is_meta and tensor.numel() <= CONSTANT_NUMEL_LIMIT
        return self.fake_tensor_converter.from_real_tensor(self, value, make_constant=small)

    def _converted(self, func: Any, args: Any, kwargs: Any, value: Any) -> Any:
        """Return an argument with fake tensors for real ones, where that is allowed."""
        if value.__class__ is list or value.__class__ is tuple:
            return type(value)([self._converted(func, args, kwargs, item) for item in value])
        if value.__class__ not in TENSOR_TYPES:
            return value
        if isinstance(value, FakeTensor):
            if value.fake_mode is not self:
                raise AssertionError("Mixing fake modes NYI")
            return value
        if not self.allow_non_fake_inputs:
            raise AssertionError("Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
                                 f"'allow_non_fake_inputs'. Found in {shown_call(func, args, kwargs)}")
        return self.from_tensor(value)

    def forget_constants(self, written: list[Any]) -> None:
        """Forget the values of tensors that an operator writes, and of those that share their memory."""
        for fake in written:
            if fake.constant is not None:
                self.fake_tensor_converter.invalidate_constants(fake.constant)
                fake.constant = None
            for alias in () if fake._keys & SPARSES else fake.untyped_storage().aliases():
                if isinstance(alias, FakeTensor) and alias.constant is not None:
                    self.fake_tensor_converter.invalidate_constants(alias.constant)
                    alias.constant = None

    def _from_constants(self, func: Any, canonical: tuple[Any, ...], fakes: list[Any]) -> Any:
        """Return the result with its value, if the values of all tensors are known and the result is small."""
        if not fakes or any(fake.constant is None for fake in fakes) or not fake_impls.is_known(func, canonical):
            return None
        op = func._operator
        if "inplace_view" in op.flags or op.name.startswith(("set_", "resize")):
            return None
        values = tree_map(lambda value: value.constant if isinstance(value, FakeTensor) else value, canonical)
        with switched(dispatch_modes=()):
            result = op.call(*values)
        if op.is_inplace or op.is_out:
            for fake in fakes_among([canonical[place] for place in self._written(op, canonical)]):
                fake._bump()
            return canonical[0] if op.is_inplace else canonical[-1]
        tensors = tensors_of(result if isinstance(result, (list, tuple)) else [result])
        if not tensors or any(tensor.numel() > CONSTANT_NUMEL_LIMIT for tensor in tensors):
            return None if tensors else result

        def known(value: Any) -> Any:
            if value.__class__ not in TENSOR_TYPES:
                return value
            return self.fake_tensor_converter.from_real_tensor(self, value, make_constant=True)

        return tree_map(known, result)

    def _with_real(self, func: Any, canonical: tuple[Any, ...], result: Any) -> Any:
        """Give results the real tensors that the operator makes of the real tensors behind the arguments."""
        if not self.propagate_real_tensors:
            return result
        fakes = fakes_among(canonical)
        if any(fake.real_tensor is None for fake in fakes) or not fakes:
            return result
        values = tree_map(lambda value: value.real_tensor if isinstance(value, FakeTensor) else _concrete(value),
                          canonical)
        with switched(dispatch_modes=()):
            real = func._operator.call(*values)
        for fake, value in zip(flattened([result]), flattened([real]), strict=False):
            if isinstance(fake, FakeTensor) and value.__class__ in TENSOR_TYPES:
                fake.real_tensor = value
        return result

    def _run(self, func: Any, canonical: tuple[Any, ...], fakes: list[Any], written: list[Any]) -> Any:
        """Run the meta kernel, and return fake tensors for its results."""
        op = func._operator
        values, where = self._on_meta(op, canonical)
        described = {id(fake): fake.described() for fake in fakes}
        values = tree_map(lambda value: described[id(value)] if isinstance(value, FakeTensor) else value, values)
        back = {id(meta): fake for fake in fakes for meta in [described[id(fake)]]}
        if where is None:
            where = fake_impls.device_of(func, fakes) if fakes else get_default_device()
        with switched(dispatch_modes=(), dispatch_off=False):
            try:
                result = op.call(*values)
            except NotImplementedError as error:
                if "depends on data" in str(error):
                    raise DynamicOutputShapeException(func) from error
                raise UnsupportedOperatorException(func) from error
        for fake in written:
            fake.take_layout(described[id(fake)])

        def wrapped(value: Any) -> Any:
            if value.__class__ not in TENSOR_TYPES:
                return value
            found = back.get(id(value))
            return FakeTensor(self, value, where) if found is None else found

        if op.is_inplace:
            return canonical[0]
        return tree_map(wrapped, result)

    def _on_meta(self, op: Any, canonical: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
        """Return the arguments with the meta device for any other, and the device that was given."""
        place = op.schema.positions.get("device")
        if place is None or place >= len(canonical):
            return canonical, None
        given = canonical[place]
        if given is None and fakes_among(canonical):
            return canonical, None
        where = resolve_device(given if given is None or isinstance(given, Device) else Device(given))
        if where.type == "meta" and not self.allow_meta:
            raise RuntimeError("meta tensors are not allowed among fake ones")
        return (*canonical[:place], META, *canonical[place + 1:]), where


def _concrete(value: Any) -> Any:
    """Return a symbolic number's value for the real tensors."""
    if isinstance(value, (list, tuple)):
        return type(value)([_concrete(item) for item in value])
    return value.node.hint if hasattr(value, "node") and value.node.hint is not None else value


def shown_call(func: Any, args: Any, kwargs: Any) -> str:
    """Return a call as text."""
    return f"{func}({', '.join([*map(repr, args), *(f'{name}={value!r}' for name, value in kwargs.items())])})"


def is_fake(x: Any) -> bool:
    """Return True for a fake tensor, and for a subclass or a view made of fake tensors."""
    if isinstance(x, FakeTensor):
        return True
    if hasattr(x, "__tensor_flatten__"):
        inner = [is_fake(getattr(x, name)) for name in x.__tensor_flatten__()[0]]
        return bool(inner) and all(inner)
    return False


def maybe_get_fake_mode(t: Any) -> FakeTensorMode | None:
    """Return the mode of a fake tensor, None for any other value."""
    return getattr(t, "fake_mode", None)


@contextmanager
def unset_fake_temporarily() -> Iterator[FakeTensorMode | None]:
    """Run a block without the innermost ``FakeTensorMode``, which is yielded."""
    modes = local.dispatch_modes
    mode = next((mode for mode in reversed(modes) if isinstance(mode, FakeTensorMode)), None)
    with switched(dispatch_modes=tuple([other for other in modes if other is not mode])):
        yield mode


class FakeCopyMode(TorchFunctionMode):
    """A block in which ``deepcopy`` and ``clone`` of real tensors make fake ones
    (``torch._subclasses.fake_tensor.FakeCopyMode``).
    """

    def __init__(self, fake_mode: FakeTensorMode) -> None:
        super().__init__()
        self.fake_mode = fake_mode

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Make a fake tensor of what is copied; call any other function."""
        name = getattr(func, "__name__", "")
        if name == "clone":
            return func(self.fake_mode.from_tensor(args[0], static_shapes=True), **(kwargs or {}))
        if name == "__deepcopy__":
            tensor, memo = args
            if id(tensor) not in memo:
                memo[id(tensor)] = self.fake_mode.from_tensor(tensor, static_shapes=True)
            return memo[id(tensor)]
        return func(*args, **(kwargs or {}))
