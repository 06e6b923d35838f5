"""Quantised tensors: integers, with the scale and the zero point by which they stand for numbers.

An integer ``q`` stands for ``(q - zero_point) * scale``. Operators that move elements run on the integers; others ask
for ``dequantize()`` first.
"""
from __future__ import annotations

from typing import Any

from .._base.call_site import warn_once
from .._base.formats import QSCHEMES, qscheme
from .._dispatch import aten
from .._dtype import NAMES, QUANTIZED, DType, float32, float64, iinfo, int8, int32, int64, uint8
from .._tensor import Tensor
from .._tensor.printing import _append, _contents

#: The integers that quantised dtypes consist of, and their least and greatest.
INTEGERS = {QUANTIZED["qint8"]: int8, QUANTIZED["quint8"]: uint8, QUANTIZED["qint32"]: int32}
SMALLEST = 2.0 ** -128  #: a scale below has no finite inverse in float32
BY_TENSOR, BY_CHANNEL = QSCHEMES["per_tensor_affine"], QSCHEMES["per_channel_affine"]

DEPRECATED = ("torch.quantize_per_tensor, torch.quantize_per_channel and other quantized tensor creation functions "
              "that produce tensors with dtype torch.quint8, torch.qint8, and torch.qint32 are deprecated and will be "
              "removed in a future PyTorch release. Please see https://github.com/pytorch/pytorch/issues/184982 for "
              "more information.")


def limits(dtype: DType) -> tuple[int, int]:
    """Return the least and the greatest integer of a quantised dtype. Raises RuntimeError for another dtype."""
    if dtype not in INTEGERS:
        raise RuntimeError(f"ScalarType {NAMES.get(dtype.name, dtype.name)} is not supported in new_qtensor.")
    facts = iinfo(INTEGERS[dtype])
    return facts.min, facts.max


class QuantizedTensor(Tensor):
    """A tensor of integers that stand for numbers. ``scale`` and ``zero_point`` are numbers, or tensors with one for
    each index of the dimension ``axis``.
    """

    is_quantized = True
    _integers: Any
    _scale: Any
    _zero_point: Any
    _axis: int | None

    @staticmethod
    def __new__(cls: Any, integers: Any, dtype: DType, scale: Any, zero_point: Any, axis: int | None = None) -> Any:
        """Return a tensor that shares the integers."""
        warn_once(DEPRECATED)
        out = Tensor._make_wrapper_subclass(
            cls, integers.shape, integers._strides(), dtype=dtype, device=integers.device,
            storage_size=integers.untyped_storage().nbytes())
        out._integers, out._scale, out._zero_point, out._axis = integers, scale, zero_point, axis
        return out

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: ``__new__`` has made the tensor."""

    def like(self, integers: Any) -> Any:
        """Return a tensor of other integers, with this one's scale and zero point."""
        return QuantizedTensor(integers, self.dtype, self._scale, self._zero_point, self._axis)

    def int_repr(self) -> Any:
        """Return the integers (``torch.Tensor.int_repr``)."""
        return self._integers.clone()

    def dequantize(self) -> Any:
        """Return the numbers in float32 (``torch.Tensor.dequantize``)."""
        scale, zero_point = self._scale, self._zero_point
        if self._axis is not None:
            scale, zero_point = (each.to(float32).reshape([-1 if d == self._axis else 1 for d in range(self.ndim)])
                                 for each in (scale, zero_point))
        return (self._integers.to(float32) - zero_point) * scale

    def qscheme(self) -> qscheme:
        """Return how integers stand for numbers (``torch.Tensor.qscheme``)."""
        return BY_TENSOR if self._axis is None else BY_CHANNEL

    def q_scale(self) -> float:
        """Return the scale. Raises RuntimeError if there is one for each channel (``torch.Tensor.q_scale``)."""
        self._check(BY_TENSOR)
        return self._scale

    def q_zero_point(self) -> int:
        """Return the zero point. Raises RuntimeError if there is one for each channel (``torch.Tensor.q_zero_point``).
        """
        self._check(BY_TENSOR)
        return self._zero_point

    def q_per_channel_scales(self) -> Any:
        """Return the scales, in float64 (``torch.Tensor.q_per_channel_scales``)."""
        self._check(BY_CHANNEL)
        return self._scale

    def q_per_channel_zero_points(self) -> Any:
        """Return the zero points, in int64 (``torch.Tensor.q_per_channel_zero_points``)."""
        self._check(BY_CHANNEL)
        return self._zero_point

    def q_per_channel_axis(self) -> int:
        """Return the dimension whose indices have scales (``torch.Tensor.q_per_channel_axis``)."""
        self._check(BY_CHANNEL)
        assert self._axis is not None
        return self._axis

    def _check(self, wanted: Any) -> None:
        if self.qscheme() is not wanted:
            raise RuntimeError(f"Expected quantizer->qscheme() == {wanted.name} to be true, but got false: the tensor "
                               f"is quantised {self.qscheme().name}")

    def __repr__(self) -> str:  # type: ignore[override]
        told = [f"size={tuple(self.shape)}", f"dtype={self.dtype}", f"quantization_scheme={self.qscheme()}"]
        if self._axis is None:
            told += [f"scale={self._scale}", f"zero_point={self._zero_point}"]
        else:
            told += [f"scale={self._scale}", f"zero_point={self._zero_point}", f"axis={self._axis}"]
        if self.device.type != "cpu":
            told.insert(0, f"device='{self.device}'")
        return _append("tensor(" + _contents(self.dequantize(), len("tensor(")), told, len("tensor(")) + ")"

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return QuantizedTensor, (self._integers, self.dtype, self._scale, self._zero_point, self._axis)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return memo.setdefault(id(self), self.like(self._integers.clone()))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__.partition(".")[0]
        lists = [args[0]] if not isinstance(args[0], (list, tuple)) else args[0]
        first = next((each for each in [*lists, *args] if isinstance(each, QuantizedTensor)), None)
        if first is None or not (name in MOVES or name in COMPARISONS):
            raise NotImplementedError(f"{func} is not implemented for quantised tensors: x.dequantize() has the "
                                      "numbers, x.int_repr() the integers")
        if name == "_to_copy" and (kwargs or {}).get("dtype") not in (None, first.dtype):
            raise RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8: "
                               "x.dequantize() has the numbers")
        if name in COMPARISONS:
            return func(*(each.dequantize() if isinstance(each, QuantizedTensor) else each for each in args))
        if first._axis is not None and name not in KEEPS_AXES:
            if name != "select" or args[1] % first.ndim != first._axis:
                raise RuntimeError(f"{func} of a tensor that is quantised by channel: setting strides or moving its "
                                   "dimensions is not possible")
            at = int(args[2])
            return QuantizedTensor(func(first._integers, *args[1:]), first.dtype, float(first._scale[at]),
                                   int(first._zero_point[at]))
        inner = [_held(each) for each in args]
        if name == "relu":
            return first.like(first._integers.clamp(min=first._zero_point))
        out = func(*inner, **(kwargs or {}))
        if name == "copy_":
            return first
        return tuple(map(first.like, out)) if isinstance(out, (tuple, list)) else first.like(out)


def _held(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(_held, value))
    return value._integers if isinstance(value, QuantizedTensor) else value


#: Operators of quantised tensors that keep scale and zero point.
KEEPS_AXES = frozenset(("detach", "alias", "clone", "copy_", "contiguous", "_to_copy"))
MOVES = KEEPS_AXES | {"view", "_unsafe_view", "_reshape_alias", "reshape", "transpose", "t", "permute", "unsqueeze",
                      "squeeze", "select", "slice", "index", "index_select", "expand", "cat", "stack", "unbind",
                      "split", "split_with_sizes", "as_strided", "max", "min", "flip", "relu"}
COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge", "equal"))


def _quantized(input: Any, scale: Any, zero_point: Any, dtype: DType) -> Any:
    """Return the integers of numbers, given a broadcast scale and zero point."""
    least, most = limits(dtype)
    inverse = aten.reciprocal(scale) if isinstance(scale, Tensor) else input.new_tensor(1.0) / scale
    return (input * inverse + zero_point).round().clamp(least, most).to(INTEGERS[dtype])


def _check_input(input: Any) -> None:
    if input.dtype is not float32:
        raise RuntimeError(f"Quantize only works on Float Tensor, got {NAMES.get(input.dtype.name, input.dtype.name)}")


def quantize_per_tensor(input: Any, scale: Any, zero_point: Any, dtype: DType) -> Any:
    """Return a float32 tensor quantised with one scale and zero point (``torch.quantize_per_tensor``); of a list of
    tensors, one for each. Raises RuntimeError for another dtype, and for a zero point beyond the integers.
    """
    if isinstance(input, (list, tuple)):
        return tuple(quantize_per_tensor(*each, dtype) for each in zip(input, scale, zero_point, strict=True))
    _check_input(input)
    scale, zero_point, (least, most) = float(scale), int(zero_point), limits(dtype)
    for wrong, where in ((zero_point < least, "below lower"), (zero_point > most, "above upper")):
        if wrong:
            raise RuntimeError(f"quantize_tensor_per_tensor_affine zero_point {zero_point} is {where} bound.")
    return QuantizedTensor(_quantized(input.detach(), scale, zero_point, dtype), dtype, scale, zero_point)


def quantize_per_channel(input: Any, scales: Any, zero_points: Any, axis: int, dtype: DType) -> Any:
    """Return a float32 tensor quantised with a scale and a zero point for each index of ``axis``
    (``torch.quantize_per_channel``).
    """
    _check_input(input)
    axis = axis % input.ndim
    if scales.numel() != input.shape[axis] or zero_points.numel() != input.shape[axis]:
        raise RuntimeError(f"Channels must match the number of scales: the dimension {axis} has size "
                           f"{input.shape[axis]}, and there are {scales.numel()}")
    broadcast = [-1 if d == axis else 1 for d in range(input.ndim)]
    integers = _quantized(input.detach(), scales.to(float32).reshape(broadcast), zero_points.reshape(broadcast), dtype)
    return QuantizedTensor(integers, dtype, scales.to(float64), zero_points.to(int64), axis)


def chosen(least: float, most: float, lowest: int, highest: int, reduce_range: bool = False) -> tuple[float, int]:
    """Return scale and zero point by which a range's numbers use all integers (FBGEMM's ``ChooseQuantizationParams``).
    """
    if reduce_range:
        lowest, highest = int(lowest / 2), highest // 2
    least, most = min(least, 0.0), max(most, 0.0)
    scale = (most - least) / (highest - lowest)
    if scale < SMALLEST:
        scale = 0.1
    errors = [abs(lowest) + abs(least / scale), abs(highest) + abs(most / scale)]
    start = lowest - least / scale if errors[0] < errors[1] else highest - most / scale
    return scale, lowest if start < lowest else highest if start > highest else round(start)


def quantize_per_tensor_dynamic(input: Any, dtype: DType, reduce_range: bool) -> Any:
    """Return a float32 tensor quantised with the scale and the zero point that fit its range
    (``torch.quantize_per_tensor_dynamic``).
    """
    _check_input(input)
    least, most = (float(each) for each in (input.min(), input.max())) if input.numel() else (0.0, 0.0)
    return quantize_per_tensor(input, *chosen(least, most, *limits(dtype), reduce_range), dtype)


def dequantize(tensor: Any) -> Any:
    """Return a quantised tensor's numbers in float32, of a list those of each (``torch.dequantize``)."""
    if isinstance(tensor, (list, tuple)):
        return tuple(map(dequantize, tensor))
    return tensor.dequantize() if isinstance(tensor, QuantizedTensor) else tensor.to(float32)


