"""Operators of one's own: define them, give them kernels and derivatives, from a notebook cell or a module
(``torch.library``).

    @library.kernel("softclip(Tensor self, float limit=1.0) -> Tensor", "cpu")
    def softclip(self, limit=1.0): ...

    library.meta("softclip", lambda self, limit=1.0: torch.empty_like(self))
    library.derivative("softclip", self=lambda grad, self, limit: ...)

The operator is then ``torch.softclip``, a method of tensors, and part of every trace. In PyTorch's own words, which
put operators into namespaces of ``torch.ops``:

    @library.custom_op("mine::softclip", mutates_args=())
    def softclip(x: torch.Tensor, limit: float = 1.0) -> torch.Tensor: ...

    @softclip.register_fake
    def _(x, limit=1.0): return torch.empty_like(x)
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, wraps
from typing import Any

from ._autograd.derivative import derivative as derivative, not_differentiable as not_differentiable
from ._autograd.function import Function
from ._base.interrupts import contextmanager
from ._device import device
from ._dispatch.dispatcher import TENSOR_TYPES, has_derivative, switched, tensors_of
from ._dispatch.keys import AUTOGRAD
from ._dispatch.overloads import OpOverload, OpOverloadPacket, ops as ops, overload_of
from ._dispatch.registry import Operator, flags_of
from ._dispatch.schemas import registry
from ._dispatch.tags import Tag
from ._dtype import DType
from ._library.infer_schema import infer_schema as infer_schema
from ._transforms import batching
from .amp.autocast_mode import is_autocast_available

__all__ = ["CustomOpDef", "Library", "custom_op", "define", "derivative", "impl", "infer_schema", "kernel", "meta",
           "not_differentiable", "opcheck", "ops", "register_autocast", "register_autograd", "register_fake",
           "register_kernel", "register_vmap", "triton_op", "wrap_triton"]
__dir__ = __all__.copy


def define(schema: str, flags: str = "function, method", *, lib: Library | None = None, tags: Any = ()) -> Operator:
    """Define an operator from an ATen schema, ``name.overload(Tensor self, ...) -> Tensor`` (``torch.library.define``),
    or as in PyTorch from a name with a namespace and the schema: ``define("mine::f", "(Tensor x) -> Tensor")``.

    ``flags`` are PyTorch's ``variants``, 'function' and 'method', and 'in-place' and 'out' for forms that write into
    ``self`` and into ``out=``. The text behind ``  # `` describes the operator.

    Raises:
        ValueError: for an unknown flag.
        RuntimeError: if the schema cannot be parsed, or the operator exists already.
    """
    if flags.startswith("("):
        schema, flags = schema + flags, "operator only"
    name, given, _ = schema.partition("(")
    if not given:
        raise RuntimeError(f"Tried to parse a function schema but only the operator name was given: {name}")
    if name in registry.operators:
        raise RuntimeError(f"define(): aten::{name} exists already; impl() replaces a kernel of it")
    op = registry.define(schema, flags_of(flags))
    try:  # parse it now: an error belongs to the cell that made it
        unknown = {parameter.base for parameter in op.schema.parameters} - _BASES
        if unknown:
            raise ValueError(f"unknown type specifier {', '.join(sorted(unknown))} in {schema!r}. There are "
                             f"{', '.join(sorted(_BASES))}, with [] for lists and ? for what may be None")
    except ValueError as error:
        registry.undefine(op)
        raise RuntimeError(str(error)) from None
    op.tags = (tags,) if isinstance(tags, Tag) else tuple(tags)
    return op


#: ATen's types of parameters.
_BASES = {"Any", "Device", "Generator", "Layout", "MemoryFormat", "Scalar", "ScalarType", "Storage", "Stream", "Tensor",
          "bool", "complex", "float", "int", "str"}


#: PyTorch's dispatch keys of kernels, and device types, by the names that the registry has for them.
DEVICES = {"CPU": "cpu", "Meta": "meta", "PrivateUse1": "npu", "NPU": "npu", "CompositeImplicitAutograd": "composite",
           "CompositeExplicitAutograd": "explicit", "": "composite", "default": "explicit",
           "AutocastCPU": "autocast cpu", "AutocastPrivateUse1": "autocast npu",
           **{prefix + kind: "" for kind in ("CUDA", "XPU", "MPS") for prefix in ("", "Autocast", "Autograd")},
           **dict.fromkeys(("cuda", "xpu", "mps"), "")}  # kernels for other devices are never called


def impl(name: Any, types: Any, func: Callable[..., Any] | None = None, *, lib: Library | None = None) -> Any:
    """Make ``func`` an operator's kernel on 'cpu', 'meta' or 'npu', on several, or 'composite' for all of them
    (``torch.library.impl``); a decorator without ``func``. Raises AttributeError if there is no such operator.
    """
    if isinstance(name, Library):  # torch.library.impl(lib, "name", "CPU")
        return partial(_impl_in, name, types, func or "")
    if func is None:
        return lambda function: impl(name, types, function) and function
    op = registry[name.removeprefix("aten::")]
    for kind in [types] if isinstance(types, str) else types:
        _register(op, DEVICES.get(kind, kind), func)
    return op


def fallthrough_kernel() -> None:
    """Stand for "no kernel here" in ``Library.impl``; never called (``torch.library.fallthrough_kernel``).

    Raises:
        NotImplementedError: when it is.
    """
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def _impl_in(lib: Library, name: str, key: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    lib.impl(name, function, key)
    return function


def _register(op: Operator, device: str, function: Callable[..., Any]) -> None:
    if device.startswith("Autograd"):
        op.autograd = function
        registry.forget_resolved(op)
    elif device.startswith("autocast"):
        policies, kind = {**registry.autocast.get(op.name, {})}, device.split()[1]
        policies.pop(kind, None)
        registry.autocast[op.name] = policies if function is fallthrough_kernel else {**policies, kind: function}
    elif device == "explicit":
        for kind in ("cpu", "meta", "npu"):
            registry.register(op.name, kind, _below_autograd(function))
    elif device:
        registry.register(op.name, device, function if device == "composite" else _below_autograd(function))


def _below_autograd(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a kernel so that its calls record no derivatives; autograd surrounds it."""

    @wraps(function)
    def call(*args: Any) -> Any:
        if not any(tensor._keys & AUTOGRAD for tensor in tensors_of(args)):
            return function(*args)
        with switched(below_autograd=True):
            return function(*args)

    return call


def kernel(schema: str, device: str = "cpu") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate an operator's kernel on ``device``; define the operator if it is new (``torch.library.custom_op``)."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        name = schema.partition("(")[0].strip()
        if name not in registry:
            define(schema)
        impl(name, device, function)
        return function

    return register


def meta(name: str, function: Callable[..., Any]) -> Operator:
    """Give an operator a meta kernel, which takes the same arguments and returns an empty output of the right shape,
    dtype and strides (``torch.library.register_fake``).
    """
    return impl(name, "meta", function)


# -- as PyTorch has it -------------------------------------------------------------------------------------------------


class Library:
    """Operators of a namespace, and kernels, for as long as it lives (``torch.library.Library``): ``kind`` is 'DEF' for
    a new namespace, 'FRAGMENT' for one that may exist, 'IMPL' for kernels of operators that exist. Raises ValueError
    for another kind, or for a name that is reserved.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = ""):
        self._defined: list[Operator] = []  # before the checks: one that was refused has nothing to take back
        self._replaced: list[tuple[Operator, dict[int, Any], Any, Any]] = []
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in ("prim",) or (ns == "aten" and kind == "DEF"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def _named(self, name: str) -> str:
        name = name.removeprefix(f"{self.ns}::")
        return name if self.ns == "aten" else f"{self.ns}::{name}"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an operator by its schema, and return its name (``torch.library.Library.define``)."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        op = define(self._named(schema), "operator only", tags=tags)
        self._defined.append(op)
        return op.name.removeprefix(f"{self.ns}::")

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False,
             allow_override: bool = False) -> None:
        """Make a function an operator's kernel for a dispatch key, by default the library's
        (``torch.library.Library.impl``). Raises TypeError if it cannot be called, and RuntimeError if there is no such
        operator.
        """
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = dispatch_key or self.dispatch_key
        name = op_name if isinstance(op_name, str) else op_name.name().removeprefix("aten::")
        op = registry.operators.get(self._named(name))
        if op is None:
            raise RuntimeError(f"There is no operator {self.ns}::{name} to give a kernel to")
        self._replaced.append((op, dict(op.kernels), op.autograd, registry.autocast.get(op.name, {})))
        _register(op, DEVICES.get(key, key), fn)

    def _destroy(self) -> None:
        """Remove everything that the library defined and registered."""
        for op, kernels, autograd, policies in reversed(self._replaced):
            op.kernels, op.autograd, name = kernels, autograd, op.name
            registry.forget_resolved(op)
            if registry.operators.get(name) is op and registry.autocast.get(name, {}) != policies:
                registry.autocast[name] = policies
        for op in self._defined:
            registry.undefine(op)
            registry.batching.pop(op.name, None)
            registry.autocast.pop(op.name, None)
        self._replaced, self._defined = [], []

    def __del__(self) -> None:
        if registry is not None:  # None while the interpreter ends
            self._destroy()

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"


@contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """Run a block with a library that is removed at its end."""
    lib = Library(*args, **kwargs)
    try:
        yield lib
    finally:
        lib._destroy()


class CustomOpDef:
    """An operator that ``custom_op`` made of a function (``torch.library.CustomOpDef``); calling it dispatches."""

    def __init__(self, namespace: str, name: str, schema: str, function: Callable[..., Any], tags: Any = ()):
        self._lib = Library(namespace, "FRAGMENT")
        given = (tags,) if isinstance(tags, Tag) else tags or ()
        self._lib.define(name + schema, tags=(Tag.pt2_compliant_tag, *given))
        self._namespace, self._name, self._qualname, self._init_fn = namespace, name, f"{namespace}::{name}", function
        self._one = schema.endswith("-> Tensor")
        nothing = schema.endswith("-> ()")  # there is nothing of which to know a shape
        self._lib.impl(name, (lambda *args: None) if nothing else self._no_fake, "Meta")

    @property
    def _opoverload(self) -> OpOverload:
        """The latest definition of the name: the cell that made the operator may have been run again."""
        return overload_of(registry[self._qualname])

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """Make a function the kernel on a device type, on several, or on all for None; a decorator without ``fn``
        (``torch.library.CustomOpDef.register_kernel``).
        """

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            own = _checked(function, self._opoverload._operator, self._one)
            named = isinstance(device_types, str)
            for kind in ["cpu", "npu"] if device_types is None else [device_types] if named else device_types:
                self._lib.impl(self._name, own, device(kind).type)
            return function

        return register if fn is None else register(fn)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Decorate a function that returns empty outputs of the right shape, dtype and strides
        (``torch.library.CustomOpDef.register_fake``).
        """
        self._lib.impl(self._name, fn, "Meta")
        return fn

    def _no_fake(self, *args: Any) -> Any:
        raise RuntimeError(f"There was no fake impl registered for {self}. This is necessary for meta tensors, "
                           "pipeline mode and torch.compile to work. Please use "
                           f"`{self._init_fn.__name__}.register_fake` to add an fake impl.")

    def register_autograd(self, backward: Callable[..., Any], /, *,
                          setup_context: Callable[..., Any] | None = None) -> None:
        """Give the operator its derivative: ``backward(ctx, *grads)`` returns the inputs' gradients, and
        ``setup_context(ctx, inputs, output)`` keeps what it needs (``torch.library.CustomOpDef.register_autograd``).
        """
        register_autograd(self._qualname, backward, setup_context=setup_context)

    def register_vmap(self, func: Callable[..., Any] | None = None, /) -> Any:
        """Say how the operator runs on a batch (``torch.library.CustomOpDef.register_vmap``)."""
        return register_vmap(self, func)

    def register_autocast(self, device_type: str, cast_inputs: DType) -> None:
        """Set the dtype that autocast casts the operator's inputs to (``torch.library.CustomOpDef``)."""
        register_autocast(self, device_type, cast_inputs)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"


#: By its name, each operator that ``custom_op`` made, which lasts without a reference; made again, it is replaced.
_made: dict[str, CustomOpDef] = {}


def _checked(function: Callable[..., Any], op: Operator, one: bool) -> Callable[..., Any]:
    """Return a function whose results must not share memory with its arguments, nor with one another; the result is a
    tensor if it is ``one``.
    """

    @wraps(function)
    def call(*args: Any) -> Any:
        result = function(*args)
        if one and result.__class__ not in TENSOR_TYPES:
            raise RuntimeError(f"Unable to cast {result!r} to Tensor")
        seen = {id(tensor.untyped_storage()) for tensor in tensors_of(args)}
        for tensor in tensors_of(result if isinstance(result, tuple) else (result,)):
            if id(tensor.untyped_storage()) in seen:
                raise RuntimeError(
                    f"{op.name}: The output of this custom operator (1) must not also be an input to this custom "
                    "operator and (2) may not alias any inputs to this custom operator or other returns. The most "
                    "common way to trigger this error is if we have y = custom_op(x) and y and x are the same Tensor. "
                    "Please instead return a clone of the offending output tensor(s) (e.g. return x.clone()) or "
                    "refactor the custom operator to not return y.")
            seen.add(id(tensor.untyped_storage()))
        return result

    return call


def custom_op(name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: Any, device_types: Any = None,
              schema: str | None = None, tags: Any = None) -> Any:
    """Make an operator of a function, ``namespace::name``, with the schema that its annotations say
    (``torch.library.custom_op``); a decorator without ``fn``. ``mutates_args`` names the arguments that it writes.
    """

    def make(function: Callable[..., Any]) -> CustomOpDef:
        namespace, _, short = name.partition("::")
        if not short:
            raise ValueError(f"Expected {name} to be of the form namespace::name")
        text = schema or infer_schema(function, mutates_args=mutates_args)
        if name in _made:  # a cell is run again
            _made.pop(name)._lib._destroy()
        made = _made[name] = CustomOpDef(namespace, short, text, function, tags)
        made.register_kernel(device_types, function)
        return made

    return make if fn is None else make(fn)


def triton_op(name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: Any,
              schema: str | None = None) -> Any:
    """Refuse to make an operator of Triton kernels (``torch.library.triton_op``).

    Raises:
        NotImplementedError: always, since no device here runs Triton.
    """
    raise NotImplementedError(f"torch.library.triton_op({name!r}): there is no Triton here. Write the operator's "
                              "function by tensors, or by kernels of the device, and make it one by "
                              "torch.library.custom_op")


def wrap_triton(triton_kernel: Any, /) -> Any:
    """Refuse a Triton kernel (``torch.library.wrap_triton``).

    Raises:
        NotImplementedError: always, since no device here runs Triton.
    """
    raise NotImplementedError("torch.library.wrap_triton: there is no Triton here. Call a function of tensors, made an "
                              "operator by torch.library.custom_op")


def _operator(op: Any) -> Operator:
    """Return the operator that a name, an overload or a ``CustomOpDef`` stands for."""
    if isinstance(op, CustomOpDef):
        op = op._opoverload
    return op._operator if isinstance(op, OpOverload) else registry[op.removeprefix("aten::")]


def register_kernel(op: Any, device_types: Any, func: Callable[..., Any] | None = None, /, *,
                    lib: Library | None = None) -> Any:
    """Make a function an operator's kernel on device types (``torch.library.register_kernel``)."""
    if func is None:
        return lambda function: register_kernel(op, device_types, function)
    kinds = ["explicit"] if device_types is None else [device_types] if isinstance(device_types, str) else device_types
    for kind in kinds:
        _register(_operator(op), DEVICES.get(kind, kind), func)
    return func


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None,
                  allow_override: bool = False) -> Any:
    """Make a function an operator's meta kernel (``torch.library.register_fake``)."""
    return register_kernel(op, "meta", func)


def register_autograd(op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None,
                      lib: Library | None = None) -> None:
    """Give an operator its derivative by a backward function, as ``torch.autograd.Function`` has it
    (``torch.library.register_autograd``).
    """
    found = _operator(op)

    def forward(*args: Any) -> Any:
        with switched(below_autograd=True):
            return found.call(*args)

    def keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        if setup_context is not None:
            setup_context(ctx, inputs, output)

    name = f"{found.name.replace('::', '_').replace('.', '_')}{'' if found.overload else '_default'}"
    made = type(f"GeneratedBackwardFor_{name}", (Function,), {
        "forward": staticmethod(forward), "setup_context": staticmethod(keep), "backward": staticmethod(backward)})
    found.autograd = lambda *args: made.apply(*args)  # type: ignore[attr-defined]
    registry.forget_resolved(found)


def register_autocast(op: Any, device_type: str, cast_inputs: DType, /, *, lib: Library | None = None) -> None:
    """Have an operator's floating point inputs on a device type cast to a dtype where autocast is enabled for it;
    inside the operator autocast is off (``torch.library.register_autocast``). Inputs in double precision stay. Raises
    ValueError if the device type has no autocast.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if not is_autocast_available(device_type):
        raise ValueError(f"Device type '{device_type}' does not support autocast.")
    found = _operator(op)
    registry.autocast[found.name] = {**registry.autocast.get(found.name, {}), device(device_type).type: cast_inputs}
    registry.forget_resolved(found)


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """Say how an operator runs on all elements of a batch inside ``vmap``; a decorator without ``func``
    (``torch.library.register_vmap``). ``func(info, in_dims, *args)`` gets ``info.batch_size`` and ``info.randomness``,
    and for each argument the dimension of the batch, or None; it returns the results and the dimensions of the batch
    in them.
    """
    if func is None:
        return lambda function: register_vmap(op, function)
    found = _operator(op)
    registry.batching.get(found.name)  # load its family first, whose row would replace this one
    registry.batching[found.name] = batching.registered(func)
    registry.forget_resolved(found)
    return func


class OpCheckError(Exception):
    """``opcheck`` found something wrong with an operator (``torch.testing._internal.optests.generate_tests``)."""


def opcheck(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *,
            test_utils: Any = ("test_schema", "test_autograd_registration", "test_faketensor"),
            raise_exception: bool = True) -> dict[str, Any]:
    """Check an operator's declarations by a call: its schema's writes, its derivative, and its meta kernel
    (``torch.library.opcheck``).

    Returns:
        For each test 'SUCCESS', or the error, which is raised if ``raise_exception``.

    Raises:
        RuntimeError: for all overloads of a name together.
        ValueError: for an unknown test.
        OpCheckError: if a test fails.
    """
    if isinstance(op, OpOverloadPacket):
        raise RuntimeError("opcheck can only test operators without overloads. Got the following overloads for "
                           f"{op._qualified_op_name}: {op.overloads()}")
    found, results = _operator(op), {}
    names = [*CHECKS] if test_utils == "ALL" else [test_utils] if isinstance(test_utils, str) else test_utils
    if not isinstance(names, (list, tuple)) or not set(names) <= set(CHECKS):
        raise ValueError(f"opcheck(op, ..., test_utils={names}), expected test_utils to be subset of {tuple(CHECKS)} "
                         "but it was not")
    for name in names:
        try:
            CHECKS[name](found, overload_of(found)._canonical(args, kwargs or {}))
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error} "
                                   "(scroll up for stack trace)") from error
            results[name] = error  # type: ignore[assignment]
    return results


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to each tensor among arguments, also in lists."""
    if value.__class__ in TENSOR_TYPES:
        return function(value)
    return value.__class__(_mapped(function, item) for item in value) if value.__class__ in (list, tuple) else value


def _check_schema(op: Operator, args: tuple[Any, ...]) -> None:
    def copied(tensor: Any) -> Any:  # an ``out=`` form refuses what requires grad
        return tensor.detach().clone().requires_grad_(op.is_out and tensor.requires_grad)

    copies = _mapped(copied, args)
    before = _mapped(lambda tensor: tensor.detach().clone(), copies)
    outputs = tensors_of((op.call(*copies),))
    written = {len(args) - 1} if op.is_out else op.writes
    for i in set(range(len(args))).difference(written):
        name = op.schema.parameters[i].name
        for was, now in zip(tensors_of((before[i],)), tensors_of((copies[i],)), strict=True):
            if not bool(((was == now) | (was != was)).all()):
                raise RuntimeError(f"Argument {name} is not defined as mutable but was mutated")
            if any(output.untyped_storage() is now.untyped_storage() for output in outputs):
                raise RuntimeError(f"{op.name}: an output aliases the input {name}, which the schema does not say. "
                                   "Custom operators must not return an input or a view of one")


def _check_autograd(op: Operator, args: tuple[Any, ...]) -> None:
    if any(tensor._keys & AUTOGRAD for tensor in tensors_of(args)) and op.autograd is None and (
            not has_derivative(op)):
        raise RuntimeError(f"{op.name}: an input requires grad, but no derivative is registered: use "
                           "torch.library.register_autograd")


def _check_meta(op: Operator, args: tuple[Any, ...]) -> None:
    def described(result: Any) -> list[Any]:
        return [(tuple(t.shape), t._dtype, t._strides()) for t in tensors_of((result,))]

    real = described(op.call(*_mapped(lambda tensor: tensor.detach().clone(), args)))
    fake = described(op.call(*_mapped(lambda tensor: tensor.detach().to("meta"), args)))
    if real != fake:
        raise RuntimeError(f"{op.name}: the meta kernel says {fake}, but the outputs are {real}")


CHECKS = {"test_schema": _check_schema, "test_autograd_registration": _check_autograd, "test_faketensor": _check_meta}
