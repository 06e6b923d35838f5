"""Errors of fake tensors, under PyTorch's names."""
from __future__ import annotations

from typing import Any


class UnsupportedFakeTensorException(RuntimeError):
    """A tensor that no fake tensor can stand for."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _OfAnOperator(RuntimeError):
    def __init__(self, func: Any) -> None:
        super().__init__(func)
        self.func = func


class UnsupportedOperatorException(_OfAnOperator):
    """An operator without a meta kernel."""


class DynamicOutputShapeException(_OfAnOperator):
    """An operator whose output's shape depends on data, where no ``ShapeEnv`` makes symbols for it."""


class DataDependentOutputException(_OfAnOperator):
    """An operator whose result is a Python number that depends on data."""


class UnsupportedMutationAliasingException(RuntimeError):
    """A write to memory that several inputs share, where that is not supported."""


#: Errors of a compiler for a graph that runs as it is written.
BEYOND_FAKE_TENSORS = (DataDependentOutputException, DynamicOutputShapeException, UnsupportedOperatorException,
                       UnsupportedFakeTensorException, UnsupportedMutationAliasingException)


class MetadataMismatchError(RuntimeError):
    """A fake tensor's shape, strides, dtype or device differs from the real one's."""
