"""``assert_close``: an AssertionError that reports where two tensors differ, and how much."""
from __future__ import annotations

import cmath
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .._creation import as_tensor
from .._dtype import FLOATING, DType, int64, promote_types
from .._methods.functions import isclose
from .._tensor import Tensor

#: Relative and absolute tolerance by dtype; all others are compared exactly.
TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}
#: Those of ``assert_allclose``.
LOOSER = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}
_NUMBERS = {int: "int64", float: "float64", complex: "complex128"}
Tolerance = tuple[float, float]
Message = str | Callable[[str], str] | None


class _Comparison:
    """The options of ``assert_close``, applied to each item of its nested arguments."""

    def __init__(self, rtol: float | None, atol: float | None, message: Message, **options: bool):
        self.rtol, self.atol, self.message, self.options = rtol, atol, message, options

    def fail(self, text: str, path: tuple[Any, ...], error: type[Exception] = AssertionError) -> None:
        """Raise the error, with the item that it is about, or with the user's message."""
        if path:
            text += f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in path)}"
        if self.message is not None and error is AssertionError:
            text = self.message(text) if callable(self.message) else self.message
        raise error(text)

    def compare(self, actual: Any, expected: Any, path: tuple[Any, ...] = ()) -> None:
        """Compare two items, or their contents."""
        both = (actual, expected)
        if all(isinstance(item, Sequence) and not isinstance(item, str) for item in both):
            if len(actual) != len(expected):
                self.fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path)
            for i, (left, right) in enumerate(zip(actual, expected, strict=True)):
                self.compare(left, right, (*path, i))
        elif all(isinstance(item, Mapping) for item in both):
            self.compare_mappings(actual, expected, path)
        elif actual is None or expected is None:
            if actual is not expected:
                self.fail(f"None mismatch: {actual} is not {expected}", path)
        elif all(isinstance(item, (bool, np.bool_)) for item in both):
            if bool(actual) is not bool(expected):
                self.fail(f"Booleans mismatch: {actual} is not {expected}", path)
        elif all(isinstance(item, (int, float, complex, np.number)) for item in both):
            numbers = [item.item() if isinstance(item, np.number) else item for item in both]
            self.compare_numbers(numbers[0], numbers[1], path)
        else:
            self.compare_tensors(*self.tensors(actual, expected, path), path)

    def compare_mappings(self, actual: Any, expected: Any, path: tuple[Any, ...]) -> None:
        """Compare the values of two mappings under the same keys."""
        keys, wanted = set(actual), set(expected)
        if keys != wanted:
            self.fail("The keys of the mappings do not match:\n"
                      f"Missing keys in the actual mapping: {sorted(wanted - keys)}\n"
                      f"Additional keys in the actual mapping: {sorted(keys - wanted)}", path)
        ordered: Any = keys
        with suppress(TypeError):
            ordered = sorted(keys)
        for key in ordered:
            self.compare(actual[key], expected[key], (*path, key))

    def tolerances(self, dtypes: list[str], path: tuple[Any, ...]) -> Tolerance:
        """Return the tolerances that were given, or the larger ones of the dtypes."""
        if (self.rtol is None) != (self.atol is None):
            missing = "rtol" if self.rtol is None else "atol"
            self.fail(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.", path,
                      ValueError)
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        found = [TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
        return max(rtol for rtol, _ in found), max(atol for _, atol in found)

    def compare_numbers(self, actual: Any, expected: Any, path: tuple[Any, ...]) -> None:
        """Compare two numbers of Python."""
        tolerance = self.tolerances([_NUMBERS[type(item)] for item in (actual, expected)], path)
        if self.options["check_dtype"] and type(actual) is not type(expected):
            self.fail(f"The (d)types do not match: {type(actual)} != {type(expected)}.", path)
        if actual == expected or (self.options["equal_nan"] and cmath.isnan(actual) and cmath.isnan(expected)):
            return
        difference = abs(actual - expected)
        if not cmath.isfinite(difference) or difference > tolerance[1] + tolerance[0] * abs(expected):
            self.fail(_of_numbers(actual, expected, tolerance), path)

    def tensors(self, actual: Any, expected: Any, path: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
        """Convert both items to tensors, if their types are related and allow it."""
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if related and (self.options["allow_subclasses"] or type(actual) is type(expected)):
            with suppress(Exception):
                left, right = (item if isinstance(item, Tensor) else as_tensor(item) for item in (actual, expected))
                return left, right
        self.fail(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.", path,
                  TypeError)
        raise AssertionError

    def compare_tensors(self, actual: Tensor, expected: Tensor, path: tuple[Any, ...]) -> None:
        """Compare two tensors: first their attributes, as asked, then their values."""
        tolerance = self.tolerances([actual.dtype.name, expected.dtype.name], path)
        attributes: dict[str, Callable[[Tensor], Any]] = {"shape": lambda t: t.shape}
        if self.options["check_layout"]:
            attributes["layout"] = lambda t: t.layout
        if self.options["check_stride"]:
            attributes["stride()"] = lambda t: tuple(t.stride())
        if self.options["check_device"]:
            attributes["device"] = lambda t: t.device
        if self.options["check_dtype"]:
            attributes["dtype"] = lambda t: t.dtype
        for name, of in attributes.items():
            if of(actual) != of(expected):
                self.fail(f"The values for attribute '{name}' do not match: {of(actual)} != {of(expected)}.", path)
        if actual.is_meta or expected.is_meta:
            return
        if actual.device != expected.device:
            actual, expected = actual.cpu(), expected.cpu()
        dtype: DType = promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.detach().to(dtype), expected.detach().to(dtype)
        matches = isclose(actual, expected, rtol=tolerance[0], atol=tolerance[1], equal_nan=self.options["equal_nan"])
        if not matches.all():
            self.fail(_of_numbers(actual.item(), expected.item(), tolerance) if not matches.ndim
                      else _of_tensors(actual, expected, matches, tolerance), path)


def _differences(what: str, numbers: list[tuple[str, Any, Any]], tolerance: Tolerance, extra: str) -> str:
    exact = tolerance == (0, 0)
    lines = [f"{what} are not {'equal' if exact else 'close'}!", "", extra]
    for (kind, difference, index), allowed in zip(numbers, tolerance[::-1], strict=True):
        text = (f"{kind.title()} difference: {difference}" if index is None
                else f"Greatest {kind} difference: {difference} at index {index}")
        lines.append(text if exact else f"{text} (up to {allowed} allowed)")
    return "\n".join(lines)


def _of_numbers(actual: Any, expected: Any, tolerance: Tolerance) -> str:
    difference = abs(actual - expected)
    relative = float("inf") if expected == 0 else difference / abs(expected)
    return _differences("Scalars", [("absolute", difference, None), ("relative", relative, None)], tolerance,
                        f"Expected {expected} but got {actual}.")


def _of_tensors(actual: Tensor, expected: Tensor, matches: Tensor, tolerance: Tolerance) -> str:
    wrong, count = matches.numel() - int(matches.sum()), matches.numel()
    if actual.dtype.category < FLOATING:
        actual, expected = actual.to(int64), expected.to(int64)
    absolute = (actual - expected).abs()
    numbers = []
    for kind, values in (("absolute", absolute), ("relative", absolute / expected.abs())):
        flat = values.masked_fill(matches, 0).flatten()
        place = int(flat.argmax())
        index = tuple(int(part) for part in np.unravel_index(place, tuple(matches.shape)))
        numbers.append((kind, flat[place].item(), index))
    return _differences("Tensor-likes", numbers, tolerance,
                        f"Mismatched elements: {wrong} / {count} ({wrong / count:.1%})")


def assert_close(actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
                 atol: float | None = None, equal_nan: bool = False, check_device: bool = True,
                 check_dtype: bool = True, check_layout: bool = True, check_stride: bool = False,
                 msg: Message = None) -> None:
    """Check that tensors, or what tensors can be made of, also in sequences and mappings, are equal up to tolerances
    that their dtypes have (``torch.testing.assert_close``). ``msg`` is the error's text, or makes it of the usual one.
    Raises AssertionError if they differ, and ValueError if only one of ``rtol`` and ``atol`` is given, and TypeError
    for what cannot be compared.
    """
    _Comparison(rtol, atol, msg, allow_subclasses=allow_subclasses, equal_nan=equal_nan, check_device=check_device,
                check_dtype=check_dtype, check_layout=check_layout, check_stride=check_stride).compare(actual, expected)


def assert_allclose(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None,
                    equal_nan: bool = True, msg: str = "") -> None:
    """Compare values only: the old name of ``assert_close`` (``torch.testing.assert_allclose``)."""
    warnings.warn("`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. "
                  "Please use `torch.testing.assert_close()` instead.", FutureWarning, stacklevel=2)
    if not isinstance(actual, Tensor):
        actual = as_tensor(actual)
    if not isinstance(expected, Tensor):
        expected = as_tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        tolerances = [LOOSER.get(tensor.dtype.name, (0.0, 0.0)) for tensor in (actual, expected)]
        rtol, atol = max(rtol for rtol, _ in tolerances), max(atol for _, atol in tolerances)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False,
                 check_stride=False, msg=msg or None)
