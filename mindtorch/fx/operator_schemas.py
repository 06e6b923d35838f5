"""Arguments of calls matched to the signatures of functions, modules and operators (``torch.fx.operator_schemas``)."""
from __future__ import annotations

import functools
import inspect
import numbers
import typing
from collections.abc import Callable, Iterable
from inspect import Parameter, Signature
from typing import Any, NamedTuple

from .._backends.random import Generator
from .._device import device
from .._dispatch.overloads import FunctionSchema, OpOverload, OpOverloadPacket, packet_of
from .._dtype import DType
from .._tensor import Tensor
from ..nn.module import Module, typename
from ._names import torch

__all__ = ["ArgsKwargsPair", "check_for_mutable_operation", "create_type_hint", "get_signature_for_torch_op",
           "normalize_function", "normalize_module", "type_matches"]
__dir__ = __all__.copy
#: Python's types of the types in schemas; PyTorch takes dtypes, layouts and memory formats for numbers.
TYPES: dict[str, Any] = {"Tensor": Tensor, "Scalar": numbers.Number, "int": int, "SymInt": int, "float": float,
                         "bool": bool, "str": str, "ScalarType": int, "Layout": int, "MemoryFormat": int,
                         "Device": device, "Generator": Generator}


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call (``torch.fx.operator_schemas.ArgsKwargsPair``)."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def _python_type(text: str) -> Any:
    """Return the annotation of a type in a schema: ``int[2]?``."""
    if text.endswith("?"):
        return typing.Optional[_python_type(text[:-1])]  # noqa: UP045
    if text.endswith("]"):
        return typing.List[_python_type(text[:text.index("[")])]  # type: ignore[misc]  # noqa: UP006
    return TYPES.get(text, Any)


@functools.cache
def _signature(schema: FunctionSchema) -> Signature:
    parameters: list[Parameter] = []
    for argument in schema.arguments:
        kind: Any = Parameter.KEYWORD_ONLY if argument.kwarg_only else Parameter.POSITIONAL_OR_KEYWORD
        if argument.name == "from":  # a word of Python: it, and those before it, have no names
            kind = Parameter.POSITIONAL_ONLY
            parameters = [parameter.replace(kind=kind) for parameter in parameters]
        parameters.append(Parameter("input" if argument.name == "self" else argument.name, kind,
                                    default=argument.default_value if argument.has_default_value() else Parameter.empty,
                                    annotation=_python_type(argument.type)))
    returned = [_python_type(result.type) for result in schema.returns]
    return Signature(parameters, return_annotation=returned[0] if len(returned) == 1 else tuple(returned) or None)


def _schemas(op: Any) -> list[FunctionSchema] | None:
    """Return the schemas of an operator or of the function of one; None for another function."""
    if isinstance(op, OpOverload):
        return [op._schema]
    packet: Any = op
    if not isinstance(op, OpOverloadPacket):
        if not hasattr(op, "packet"):
            return None
        namespace, _, name = op.packet.rpartition("::")
        packet = packet_of(namespace or "aten", name)
    return [getattr(packet, name)._schema for name in dict.fromkeys(packet.overloads())]


def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """Return the signatures of an operator's overloads, and with ``return_schemas`` also the schemas; None for a
    function that is not an operator (``torch.fx.operator_schemas.get_signature_for_torch_op``).
    """
    schemas = _schemas(op)
    signatures = None if schemas is None else list(map(_signature, schemas))
    return (signatures, schemas) if return_schemas else signatures


def _fits(signature: Signature, args: Iterable[Any], kwargs: dict[str, Any]) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def check_for_mutable_operation(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise RuntimeError if the only overload that takes these arguments writes one of them
    (``torch.fx.operator_schemas.check_for_mutable_operation``).
    """
    fitting = [schema for schema in _schemas(target) or () if _fits(_signature(schema), args, kwargs)]
    if len(fitting) == 1 and fitting[0].is_mutable:
        raise RuntimeError(f"Tried to trace mutable operation {fitting[0]}. FX only supports functional code, so "
                           "operations that mutate operands in-place (e.g. via `out` arguments) are not supported")


def create_type_hint(x: Any) -> Any:
    """Return the type of a list or tuple of types: of their common base
    (``torch.fx.operator_schemas.create_type_hint``).
    """
    if not isinstance(x, (list, tuple)):
        return x
    base: Any = next((kind for kind in x if all(issubclass(other, kind) for other in x)), Any)
    return list[base] if isinstance(x, list) else tuple[base, ...]


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Return True if a parameter of one type takes an argument of another
    (``torch.fx.operator_schemas.type_matches``).
    """
    if signature_type is argument_type:
        return True
    origin, items = typing.get_origin(signature_type), typing.get_args(signature_type)
    if origin is typing.Union:
        return any(type_matches(item, argument_type) for item in items)
    if origin is list:
        if argument_type is int:  # a number stands for all items
            return items[0] is int
        if typing.get_origin(argument_type) not in (list, tuple):
            return False
        return all(item is ... or (isinstance(item, type) and issubclass(item, items[0]))
                   for item in typing.get_args(argument_type))
    if signature_type is int and argument_type is DType:
        return True
    if signature_type is numbers.Number and argument_type in (int, float):
        return True
    return isinstance(argument_type, type) and isinstance(signature_type, type) and issubclass(argument_type,
                                                                                               signature_type)


def normalize_function(target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None,
                       arg_types: tuple[Any, ...] | None = None, kwarg_types: dict[str, Any] | None = None,
                       normalize_to_only_use_kwargs: bool = False) -> ArgsKwargsPair | None:
    """Return a call's arguments as the signature names them, with defaults; None if no signature fits. The types of
    arguments decide between overloads (``torch.fx.operator_schemas.normalize_function``).

    Raises:
        RuntimeError: if several overloads fit, and types are not given.
    """
    kwargs = kwargs or {}
    signatures = get_signature_for_torch_op(target)
    if signatures is None:
        return _normalized(inspect.signature(inspect.unwrap(target)), args, kwargs, normalize_to_only_use_kwargs)
    fitting = [signature for signature in signatures if _fits(signature, args, kwargs)]
    if len(fitting) > 1 and (arg_types is not None or kwarg_types is not None):
        fitting = [signature for signature in fitting if _takes(signature, arg_types or (), kwarg_types or {})][:1]
    if len(fitting) > 1:
        shown = "\n".join(map(str, fitting))
        raise RuntimeError(f"Tried to normalize arguments to {typename(target)} but the schema match was ambiguous! "
                           "Please provide argument types to the normalize_arguments() call. Available schemas:\n"
                           f"{shown}")
    return _normalized(fitting[0], args, kwargs, normalize_to_only_use_kwargs) if fitting else None


def _takes(signature: Signature, arg_types: tuple[Any, ...], kwarg_types: dict[str, Any]) -> bool:
    if not _fits(signature, arg_types, kwarg_types):
        return False
    bound = signature.bind(*arg_types, **kwarg_types).arguments
    return all(type_matches(signature.parameters[name].annotation, kind) for name, kind in bound.items())


def normalize_module(root: Module, target: str, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None,
                     normalize_to_only_use_kwargs: bool = False) -> ArgsKwargsPair | None:
    """Return the arguments of a call of a module of ``torch.nn`` as its ``forward`` names them, with defaults; None for
    another module (``torch.fx.operator_schemas.normalize_module``).

    Raises:
        RuntimeError: if there is no module of that path.
    """
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(f"Tried to normalize node with target {target} but root did not have that "
                           "target!") from error
    if getattr(torch.nn, type(module).__name__, None) is not type(module):
        return None
    return _normalized(inspect.signature(inspect.unwrap(module.forward)), args, kwargs or {},
                       normalize_to_only_use_kwargs)


def _normalized(signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any],
                only_kwargs: bool) -> ArgsKwargsPair | None:
    if any(parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
           or (parameter.kind is Parameter.POSITIONAL_ONLY and "from" not in signature.parameters)
           for parameter in signature.parameters.values()):
        return None
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    count = 0 if only_kwargs else len(args)
    values = list(bound.arguments.items())
    return ArgsKwargsPair(tuple(value for _, value in values[:count]), dict(values[count:]))
