"""Functions and operators of masked tensors, by their names."""
from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

from .._creation import ones_like, zeros_like
from .._creation.sparse import sparse_coo_tensor, sparse_csr_tensor
from .._dispatch.torch_function import DisableTorchFunctionSubclass
from .._dtype import bool_
from .._tensor import Tensor
from ..autograd import Function
from . import _ops
from .maskedtensor import SPARSE, MaskedTensor, as_masked_tensor, quietly, same, same_places

#: How operators of each kind run; those that move elements do to the mask what they do to the data.
ROWS = {
    "unary": """abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh
        bitwise_not ceil clamp clip conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac
        lgamma log log10 log1p log2 logit i0 isnan nan_to_num neg negative positive pow rad2deg reciprocal round rsqrt
        sigmoid sign sgn signbit sin sinc sinh sqrt square tan tanh trunc""",
    "binary": """add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div divide
        floor_divide fmod logaddexp logaddexp2 mul multiply nextafter remainder sub subtract true_divide eq ne le ge
        greater greater_equal gt less_equal lt less maximum minimum fmax fmin not_equal""",
    "moving": """select transpose permute split t slice slice_backward select_backward index expand view _unsafe_view
        _reshape_alias cat unsqueeze squeeze unfold unfold_backward im2col col2im stack""",
    "reduction": "sum mean amin amax argmin argmax prod all norm var std",
}
KINDS = {name: kind for kind, names in ROWS.items() for name in names.split()}


def function(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function above autograd: by its row, or by the operators that it calls."""
    name = getattr(func, "__name__", "")
    if KINDS.get(name) == "reduction":
        return reduced(name, *args, **kwargs)
    if name in FUNCTIONS:
        return FUNCTIONS[name](*args, **kwargs)
    written = getattr(func, "__wrapped__", None)
    if written is not None and inspect.isfunction(written):
        return written(*args, **kwargs)
    with DisableTorchFunctionSubclass():
        return func(*args, **kwargs)


def operator(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an operator below autograd. Warns of one that masked tensors do not have, and returns NotImplemented."""
    name = func.__name__.partition(".")[0]
    plain = name.removesuffix("_")
    kind = KINDS.get(plain)
    if name in OPERATORS:
        return OPERATORS[name](func, *args, **kwargs)
    if kind == "reduction":
        return reduced(name, *args, **kwargs)
    if kind == "moving":
        return wrapped(func(*each(args, data_of), **kwargs), func(*each(args, mask_of), **kwargs))
    if kind is not None:
        result, mask = (unary if kind == "unary" else binary)(func, args, kwargs)
        if plain == name:
            return wrapped(result, mask)
        args[0]._set_data_mask(result, mask)
        return args[0]
    warnings.warn(f"{name} is not implemented in __torch_dispatch__ for MaskedTensor: x.to_tensor(value) is an "
                  "ordinary tensor, which has all operators", stacklevel=2)
    return NotImplemented


def data_of(value: Any) -> Any:
    return value._masked_data if isinstance(value, MaskedTensor) else value


def mask_of(value: Any) -> Any:
    return value._masked_mask if isinstance(value, MaskedTensor) else value


def each(args: Any, change: Callable[[Any], Any]) -> list[Any]:
    """Return arguments with masked tensors, also in lists, changed."""
    return [type(arg)(each(arg, change)) if isinstance(arg, (list, tuple)) else change(arg) for arg in args]


def wrapped(data: Any, mask: Any) -> Any:
    if isinstance(data, (list, tuple)):
        return type(data)([wrapped(*pair) for pair in zip(data, mask, strict=True)])
    return quietly(data, mask)


def on_values(func: Any, first: Any, *rest: Any) -> Any:
    """Run an operator on a tensor, or on the values of a sparse one."""
    if first.layout not in SPARSE:
        return func(first, *rest)
    values = func(first.values(), *rest)
    if first.layout == SPARSE[0]:
        return sparse_coo_tensor(first.indices(), values, first.size()).coalesce()
    return sparse_csr_tensor(first.crow_indices(), first.col_indices(), values, first.size())


def unary(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """Return data and mask of an operator of one tensor. Raises ValueError for keywords, TypeError for more tensors."""
    if kwargs:
        raise ValueError("MaskedTensor unary ops require that len(kwargs) == 0. If you need support for this, please "
                         "open an issue on Github.")
    if any(isinstance(arg, Tensor) for arg in args[1:]):
        raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    return on_values(func, data_of(args[0]), *args[1:]), args[0]._masked_mask


def binary(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """Return data and mask of an operator of two tensors, or of one and a number. Raises ValueError if both have masks
    that differ.
    """
    if kwargs:
        raise ValueError("len(kwargs) must equal 0")
    left, right = args[:2]
    both = isinstance(left, MaskedTensor) and isinstance(right, MaskedTensor)
    if both and not same(left._masked_mask, right._masked_mask):
        raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
    a, b = data_of(left), data_of(right)
    mask = mask_of(left if isinstance(left, MaskedTensor) else right)
    if isinstance(a, Tensor) and a.layout in SPARSE:
        if isinstance(b, Tensor) and b.layout == a.layout:
            if not same_places(a, b):
                raise ValueError(f"{str(a.layout)[6:]} indices must match. If you need support for this, please open "
                                 "an issue on Github.")
            b = b.values()
        return on_values(func, a, b, *args[2:]), mask
    result = func(a, b, *args[2:])
    return result, mask.expand_as(result)


# -- reductions --------------------------------------------------------------------------------------------------------


def reduced(name: str, input: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """Return a reduction of the specified elements, which is specified where any of them is."""
    mask = input._masked_mask
    if dim is None:
        if input.is_sparse:
            input = quietly(input._masked_data.values(), mask.values())
            mask = input._masked_mask
        found = all_of(input) if name == "all" else getattr(_ops, name)(input, mask=mask)
        return as_masked_tensor(found, mask.any())
    if input.is_sparse:
        warnings.warn(f"The sparse version of {name} is not implemented in reductions.", stacklevel=2)
        return NotImplemented
    found = all_of(input, dim, keepdim) if name == "all" else getattr(_ops, name)(
        input, dim=dim, keepdim=keepdim, dtype=dtype, mask=mask)
    dims = [dim] if isinstance(dim, int) else dim
    return as_masked_tensor(found, mask.any(tuple(dims), keepdim) if dims else mask)


def all_of(input: Any, *where: Any) -> Any:
    return input._masked_data.masked_fill(~input._masked_mask, True).all(*where)


# -- functions above autograd ------------------------------------------------------------------------------------------


class _Same(Function):
    """A change of layout: ``forward`` is one of the functions below, and gradients keep the input's layout."""

    @staticmethod
    def forward(ctx: Any, input: Any, change: Callable[[Any, Any], Any]) -> Any:
        ctx.layout = input.layout
        return change(input._masked_data, input._masked_mask)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        to = {SPARSE[0]: "to_sparse", SPARSE[1]: "to_sparse_csr"}.get(ctx.layout, "to_dense")
        return getattr(grad, to)() if grad.layout != ctx.layout else grad, None


class _Where(Function):
    @staticmethod
    def forward(ctx: Any, condition: Any, input: Any, other: Any) -> Any:
        ctx.save_for_backward(condition)
        return chosen(condition, input, other)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        condition, = ctx.saved_tensors
        nothing = quietly(grad._masked_data, zeros_like(grad._masked_mask))
        return None, chosen(condition, grad, nothing), chosen(condition, nothing, grad)


def chosen(condition: Any, input: Any, other: Any) -> Any:
    parts = [each if isinstance(each, MaskedTensor) else quietly(each, ones_like(each, dtype=bool_))
             for each in (input, other)]
    return quietly(*(part[0].where(condition, part[1]) for part in zip(*[
        (each._masked_data, each._masked_mask) for each in parts], strict=True)))


def to_csr(data: Any, mask: Any) -> Any:
    if data.ndim != 2:
        raise ValueError(f"Only 2D tensors can be converted to the SparseCsr layout but got shape: {data.size()}")
    mask = mask.to_sparse_csr()
    return quietly(data.sparse_mask(mask), mask)


def to_coo(data: Any, mask: Any) -> Any:
    mask = mask.to_sparse().coalesce()
    return quietly(data.sparse_mask(mask), mask)


def changed(change: Callable[[Any, Any], Any], there: Callable[[Any], bool]) -> Callable[..., Any]:
    return lambda input, *args, **kwargs: input if there(input) else _Same.apply(input, change)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": _Where.apply,
    "contiguous": changed(lambda data, mask: quietly(data.contiguous(), mask.contiguous()),
                          lambda input: input.is_contiguous()),
    "to_dense": changed(lambda data, mask: quietly(data.to_dense(), mask.to_dense()),
                        lambda input: not input.is_sparse),
    "to_sparse": changed(to_coo, MaskedTensor.is_sparse_coo),
    "to_sparse_csr": changed(to_csr, MaskedTensor.is_sparse_csr),
}

# -- operators below autograd ------------------------------------------------------------------------------------------


def softmax(func: Any, input: Any, dim: int, half_to_float: bool) -> Any:
    mask = input._masked_mask
    out = input._masked_data.masked_fill(~mask, float("-inf")).softmax(dim)
    return quietly(out.masked_fill(~mask, 0.0), mask)


def softmax_backward(func: Any, grad: Any, output: Any, dim: int, dtype: Any) -> Any:
    if not (isinstance(grad, MaskedTensor) and isinstance(output, MaskedTensor)):
        raise ValueError(f"__torch_dispatch__, {func}: grad and output must both be MaskedTensors")
    mask, out = grad._masked_mask, output._masked_data
    data = grad._masked_data.masked_fill(~mask, 0.0)
    return quietly(out * (data - (data * out).sum(dim, True)), mask)


def on_data(func: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    return quietly(func(input._masked_data, *args, **kwargs), input._masked_mask)


def to_copy(func: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    return quietly(func(input._masked_data, *args, **kwargs),
                   func(input._masked_mask, *args, **{**kwargs, "dtype": bool_}))


def copy_(func: Any, target: Any, source: Any, non_blocking: bool = False) -> Any:
    if isinstance(source, MaskedTensor) and not same(target._masked_mask, source._masked_mask):
        raise ValueError("args[0] mask and args[1] mask must match but do not")
    func(target._masked_data, data_of(source))
    return target


def number(func: Any, input: Any) -> Any:
    if not input._masked_mask:
        raise ValueError(f"__torch_dispatch__, {func}: expected a mask tensor")
    return func(input._masked_data)


OPERATORS: dict[str, Callable[..., Any]] = {
    "_softmax": softmax, "_softmax_backward_data": softmax_backward,
    "detach": on_data, "clone": on_data, "ones_like": on_data, "zeros_like": on_data, "new_empty_strided": on_data,
    "_to_copy": to_copy, "copy_": copy_, "_local_scalar_dense": number,
    "where": lambda func, *args: chosen(*args),
    "is_same_size": lambda func, a, b: a.shape == b.shape,
}
