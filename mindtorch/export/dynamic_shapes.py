"""Which sizes of the inputs an exported program leaves free (``torch.export.dynamic_shapes``)."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any

from .._dynamo.exc import UserError
from .._tensor import Tensor
from .._transforms.pytree import tree_flatten, tree_leaves, tree_unflatten
from ..fx.experimental.dims import DimDynamic, RelaxedUnspecConstraint, StatelessSymbolicContext, StrictMinMaxConstraint
from ..utils._sympy.numbers import int_oo
from ..utils._sympy.value_ranges import ValueRanges
from .unlift import check_inputs


class _DimHint(Enum):
    """The treatment of a size without a name."""

    AUTO = "AUTO"  #: a symbol, or a number if the program needs one
    STATIC = "STATIC"  #: a number
    DYNAMIC = "DYNAMIC"  #: a symbol


class Dim:
    """A name of a free size: dimensions of one name are equal (``torch.export.Dim``). ``2 * dim + 1`` is another size
    that depends on it.
    """

    AUTO, DYNAMIC, STATIC = _DimHint.AUTO, _DimHint.DYNAMIC, _DimHint.STATIC

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        lower, upper = 0 if min is None else min, int_oo if max is None else max
        if upper <= lower:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__, self.min, self.max = name, lower, upper
        self.root: Dim = self
        self.fn: Callable[[Any], Any] = lambda size: size

    def _derived(self, name: str, fn: Callable[[Any], Any]) -> Dim:
        made = object.__new__(Dim)
        made.__name__, made.root = name, self.root
        made.fn = lambda size: fn(self.fn(size))
        made.min, made.max = fn(self.min), fn(self.max)
        return made

    def __add__(self, other: int) -> Dim:
        _check_int(other, "add")
        return self._derived(f"{self.__name__} + {other}", lambda size: size + other)

    __radd__ = __add__

    def __sub__(self, other: int) -> Dim:
        _check_int(other, "sub")
        return self._derived(f"{self.__name__} - {other}", lambda size: size - other)

    def __rsub__(self, other: int) -> Dim:
        raise NotImplementedError(f"Attempted to negate {self.__name__}. Only increasing linear operations with "
                                  "integer coefficients are supported.")

    def __mul__(self, other: int) -> Dim:
        _check_int(other, "mul")
        if other <= 0:
            raise NotImplementedError(f"Attempted to multiply {other} with {self.__name__}, where a positive integer "
                                      "was expected. Only increasing linear operations with integer coefficients are "
                                      "supported.")
        return self._derived(f"{other}*{self.__name__}", lambda size: size * other)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        ends = [f"min={self.min}" if self.min else "", f"max={self.max}" if self.max != int_oo else ""]
        return f"Dim({', '.join([repr(self.__name__), *filter(None, ends)])})"


def _check_int(other: Any, operation: str) -> None:
    if type(other) is not int:
        raise NotImplementedError(f"Attempted to {operation} {other} to a Dim, where an integer was expected. Only "
                                  "increasing linear operations with integer coefficients are supported.")


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Return several ``Dim``s of one range (``torch.export.dims``)."""
    return tuple([Dim(name, min=min, max=max) for name in names])


class ShapesCollection:
    """Free sizes by tensor, for inputs that are deeply nested (``torch.export.ShapesCollection``)."""

    def __init__(self) -> None:
        self._shapes: dict[int, Any] = {}

    def __setitem__(self, t: Any, shape: Any) -> None:
        self._shapes[id(t)] = shape

    def __getitem__(self, t: Any) -> Any:
        return self._shapes[id(t)]

    def __len__(self) -> int:
        return len(self._shapes)

    def of(self, value: Any) -> Any:
        """Return the nested specification of a nested value."""
        if isinstance(value, (list, tuple)):
            return [self.of(item) for item in value]
        if isinstance(value, dict):
            return {key: self.of(item) for key, item in value.items()}
        return self._shapes.get(id(value))

    def dynamic_shapes(self, m: Any, args: Any, kwargs: Any = None) -> Any:
        """Return the ``dynamic_shapes`` argument of ``export``."""
        return {name: self.of(value) for name, value in combined_args(m, args, kwargs or {}).items()}


class AdditionalInputs:
    """Further example inputs, which say what sizes are free: those in which the inputs differ
    (``torch.export.AdditionalInputs``). The exported program has to take them all.
    """

    def __init__(self) -> None:
        self._examples: list[tuple[tuple[Any, ...], dict[str, Any] | None]] = []

    def add(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        """Add the arguments of a call. Raises AssertionError unless they are a tuple, and a dict or None."""
        if type(args) is not tuple:
            raise AssertionError(f"Representative args {args} must be a tuple")
        if kwargs is not None and type(kwargs) is not dict:
            raise AssertionError(f"Representative kwargs {kwargs} must be None or a dict")
        self._examples.append((args, kwargs))

    def dynamic_shapes(self, m: Any, args: Any, kwargs: Any = None) -> Any:
        """Return the ``dynamic_shapes`` argument of ``export``, for these example inputs and the added ones.

        Raises:
            ValueError: if the inputs differ in structure, or in a value that cannot be free.
        """
        found = [tree_flatten(combined_args(m, *given)) for given in (
            (args, kwargs or {}), *[(args, kwargs or {}) for args, kwargs in self._examples])]
        structure = found[0][1]
        if any(other != structure for _, other in found):
            raise ValueError("The additional inputs have other structures than the inputs: "
                             f"{[spec for _, spec in found]}")
        return tree_unflatten([_merged(leaves) for leaves in zip(*[leaves for leaves, _ in found], strict=True)],
                              structure)

    def verify(self, ep: Any) -> None:
        """Raise RuntimeError if an exported program does not take one of the added inputs."""
        for args, kwargs in self._examples:
            check_inputs(ep, args, kwargs or {})


def _merged(values: tuple[Any, ...]) -> Any:
    """Return the specification of an argument given by several example values."""
    if all(isinstance(value, Tensor) for value in values):
        shapes = [tuple(value.shape) for value in values]
        if len({*map(len, shapes)}) == 1:
            return tuple([None if len({*sizes}) == 1 else Dim.DYNAMIC for sizes in zip(*shapes, strict=True)])
        raise ValueError(f"The additional inputs have other numbers of dimensions than the inputs: {shapes}")
    if len({*map(type, values)}) > 1:
        raise ValueError("The following inputs were found to have differing types, so they cannot be marked as "
                         f"dynamic: {values}.")
    if all(value == values[0] for value in values):
        return None
    if type(values[0]) is not int:
        raise ValueError("The following inputs were found to have differing values, but they cannot be marked as "
                         f"dynamic: {values}.")
    return Dim.DYNAMIC


def combined_args(module: Any, args: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by the names of the function's parameters."""
    function = module.forward if hasattr(module, "forward") else module
    signature = inspect.signature(function)
    found = dict(signature.bind(*args, **kwargs).arguments)
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD and name in found:
            found |= found.pop(name)
    return found


def argument_names(module: Any, args: Any, kwargs: Mapping[str, Any]) -> list[str]:
    """Return a name for each argument of a call; those behind ``*args`` are numbered."""
    function = module.forward if hasattr(module, "forward") else module
    parameters = inspect.signature(function).parameters
    return [own for name, value in combined_args(module, args, kwargs).items()
            for own in ([f"{name}_{i}" for i in range(len(value))] if name in parameters
                        and parameters[name].kind is inspect.Parameter.VAR_POSITIONAL else [name])]


def of_leaves(combined: Mapping[str, Any], dynamic_shapes: Any) -> list[Any]:
    """Return the specification of each leaf among the arguments.

    Raises:
        UserError: if the specification has another structure.
    """
    if dynamic_shapes is None or not dynamic_shapes:
        return [None] * len(tree_leaves(dict(combined)))
    if isinstance(dynamic_shapes, Mapping):
        if set(dynamic_shapes) != set(combined):
            raise UserError("When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names "
                            f"{list(combined)} of `inputs`, but here they are {list(dynamic_shapes)}. Since here "
                            "`inputs` is a list/tuple enclosing a single dict, maybe you just forgot to enclose "
                            "`dynamic_shapes` in a list/tuple? For more information about this error, see: "
                            "https://pytorch.org/docs/main/generated/exportdb/index.html#dynamic-shapes-validation")
        specs = [dynamic_shapes[name] for name in combined]
    else:
        specs = list(dynamic_shapes)
        if len(specs) != len(combined):
            raise UserError(f"Expected `dynamic_shapes` to have {len(combined)} elements, as many as there are inputs, "
                            f"but it has {len(specs)}")
    return [spec for (name, value), given in zip(combined.items(), specs, strict=True)
            for spec in _walk(value, given, f"inputs['{name}']")]


def _walk(value: Any, spec: Any, path: str) -> Iterator[Any]:
    if isinstance(value, Tensor) or not isinstance(value, (list, tuple, dict)):
        leaves = tree_leaves(value)
        if not isinstance(value, Tensor) and len(leaves) != 1:
            yield from [None] * len(leaves) if spec is None else tree_leaves(spec)
            return
        if isinstance(value, Tensor):
            _check_spec(value, spec, path)
        yield spec
    elif spec is None:
        yield from [None] * len(tree_leaves(value))
    elif isinstance(value, dict):
        if not isinstance(spec, Mapping) or set(spec) != set(value):
            raise UserError(f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `{path}` is a "
                            f"dict with keys {list(value)}, but the specification is {spec}")
        for key, item in value.items():
            yield from _walk(item, spec[key], f"{path}['{key}']")
    else:
        if not isinstance(spec, (list, tuple)) or len(spec) != len(value):
            raise UserError(f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `{path}` is a "
                            f"{type(value).__name__}, but `dynamic_shapes{path[6:]}` is {spec}")
        for i, (item, of_item) in enumerate(zip(value, spec, strict=True)):
            yield from _walk(item, of_item, f"{path}[{i}]")


def _check_spec(tensor: Tensor, spec: Any, path: str) -> None:
    if spec is None or isinstance(spec, _DimHint):
        return
    if isinstance(spec, Mapping):
        wrong = [dim for dim in spec if not isinstance(dim, int) or not -tensor.dim() <= dim < tensor.dim()]
        if wrong:
            raise UserError(f"Unexpected dimension {wrong[0]} in `dynamic_shapes` of `{path}`, which has "
                            f"{tensor.dim()} dimensions")
    elif not isinstance(spec, (list, tuple)):
        raise UserError(f"Unexpected dynamic_shape {spec!r} of tensor at `{path}`, try None or a dict")
    elif len(spec) != tensor.dim():
        raise UserError(f"Expected dynamic shape spec {spec} at `dynamic_shapes{path[6:]}` to have the same length as "
                        f"the actual tensor shape {tensor.shape} (expected {tensor.dim()}, but got {len(spec)} "
                        "instead)")


def by_dimension(spec: Any, ndim: int) -> list[Any]:
    """Return a tensor's specification as one item for each dimension."""
    if spec is None or isinstance(spec, _DimHint):
        return [spec] * ndim
    if isinstance(spec, Mapping):
        found = {dim % ndim: value for dim, value in spec.items()}
        return [found.get(dim) for dim in range(ndim)]
    return list(spec)


_NONE: Any = None


def context_of(tensor: Tensor, spec: Any) -> StatelessSymbolicContext:
    """Return how the sizes of a tensor become symbols."""
    kinds, constraints = [], []
    dynamic = getattr(tensor, "_dynamo_dynamic_indices", ())
    for i, wanted in enumerate(by_dimension(spec, tensor.dim())):
        kind, constraint = DimDynamic.STATIC, _NONE
        if isinstance(wanted, Dim):
            kind, constraint = DimDynamic.DYNAMIC, StrictMinMaxConstraint(vr=ValueRanges(wanted.min, wanted.max))
        elif wanted is _DimHint.DYNAMIC or (wanted is None and i in dynamic):
            kind, constraint = DimDynamic.DYNAMIC, RelaxedUnspecConstraint()
        elif wanted is _DimHint.AUTO:
            kind = DimDynamic.DUCK
        elif isinstance(wanted, int) and wanted != tensor.shape[i]:
            raise UserError(f"Static shape constraint of {wanted} does not match input size of {tensor.shape[i]}, for "
                            f"dimension {i}")
        kinds.append(kind)
        constraints.append(constraint)
    return StatelessSymbolicContext(dynamic_sizes=kinds, constraint_sizes=constraints)
