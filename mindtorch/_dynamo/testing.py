"""Backends that count, and comparisons, for tests (``torch._dynamo.testing``)."""
from __future__ import annotations

import functools
import math
import unittest
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from .._creation import zeros
from .._creation.random import randn
from .._dtype import DType, float16, float32
from .._tensor import Tensor
from .backends.registry import lookup_backend


def make_test_cls_with_patches(cls: Any, cls_prefix: str, fn_suffix: str, *patches: tuple[Any, str, Any],
                               xfail_prop: str | None = None,
                               decorator: Callable[[Any], Any] = lambda test: test) -> Any:
    """Return a test class whose tests run with other settings, ``(config, name, value)`` each
    (``torch._dynamo.testing.make_test_cls_with_patches``). Tests with the attribute ``xfail_prop`` are to fail.
    """

    def patched(test: Any) -> Any:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> Any:
            with ExitStack() as stack:
                for config, name, value in patches:
                    stack.enter_context(config.patch(name, value))
                return test(*args, **kwargs)

        return run

    made = type(f"{cls_prefix}{cls.__name__}", cls.__bases__, {})
    made.__qualname__ = made.__name__
    for name in dir(cls):
        value = getattr(cls, name)
        if name.startswith("test_") and callable(value):
            test = patched(value)
            test.__name__ = f"{name}{fn_suffix}"
            if xfail_prop is not None and hasattr(value, xfail_prop):
                test = unittest.expectedFailure(test)
            setattr(made, test.__name__, decorator(test))
        elif not hasattr(made, name):
            setattr(made, name, value)
    return made


class CompileCounter:
    """A backend that counts the graphs and the calls in them, and runs them as they are
    (``torch._dynamo.testing.CompileCounter``).
    """

    def __init__(self) -> None:
        self.frame_count = self.op_count = 0

    def __call__(self, gm: Any, example_inputs: Any) -> Callable[..., Any]:
        self.frame_count += 1
        self.op_count += sum("call" in node.op for node in gm.graph.nodes)
        return gm.forward

    def clear(self) -> None:
        """Count from zero again."""
        self.frame_count = self.op_count = 0


class CompileCounterWithBackend(CompileCounter):
    """A backend that counts, keeps the graphs, and hands them to a backend
    (``torch._dynamo.testing.CompileCounterWithBackend``).
    """

    def __init__(self, backend: Any) -> None:
        super().__init__()
        self.backend, self.graphs = backend, []  # type: ignore[var-annotated]

    def __call__(self, gm: Any, example_inputs: Any) -> Callable[..., Any]:
        super().__call__(gm, example_inputs)
        self.graphs.append(gm)
        made: Callable[..., Any] = lookup_backend(self.backend)(gm, example_inputs)
        return made

    def clear(self) -> None:
        """Count from zero again."""
        super().clear()
        self.graphs = []


class EagerAndRecordGraphs:
    """A backend that keeps the graphs and runs them as they are (``torch._dynamo.testing.EagerAndRecordGraphs``)."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: Any) -> Callable[..., Any]:
        self.graphs.append(gm)
        return gm.forward


def rand_strided(size: Sequence[int], stride: Sequence[int], dtype: DType = float32, device: Any = "cpu",
                 extra_size: int = 0) -> Tensor:
    """Return a tensor of random numbers, or of zeros for a dtype that is not of floating point, in a layout
    (``torch._dynamo.testing.rand_strided``). Its memory has ``extra_size`` elements more than it needs.
    """
    count = extra_size
    if all(n > 0 for n in size):
        count += 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=False))
    if not dtype.is_floating_point:
        memory = zeros(count, dtype=dtype, device=device)
    elif dtype.itemsize == 1:  # which has no normal distribution
        memory = randn(count, dtype=float16, device=device).to(dtype)
    else:
        memory = randn(count, dtype=dtype, device=device)
    return memory.as_strided(tuple(size), tuple(stride))


def same(ref: Any, res: Any, fp64_ref: Any = None, cos_similarity: bool = False, tol: float = 1e-4,
         equal_nan: bool = False, exact_dtype: bool = True, **options: Any) -> bool:
    """Return whether two results are alike: tensors within a tolerance, containers item by item
    (``torch._dynamo.utils.same``).
    """
    def alike(one: Any, other: Any) -> bool:
        return same(one, other, None, cos_similarity, tol, equal_nan, exact_dtype)

    if isinstance(ref, Tensor):
        if not isinstance(res, Tensor) or (exact_dtype and ref.dtype is not res.dtype) or ref.shape != res.shape:
            return False
        one, other = ref.detach().cpu().resolve_conj(), res.detach().cpu().resolve_conj()
        return bool(np.allclose(one.double().numpy() if not one.is_complex() else one.numpy(),
                                other.double().numpy() if not other.is_complex() else other.numpy(),
                                rtol=tol, atol=tol, equal_nan=equal_nan))
    if isinstance(ref, dict):
        return isinstance(res, dict) and ref.keys() == res.keys() and all(alike(ref[key], res[key]) for key in ref)
    if isinstance(ref, np.ndarray):
        return np.allclose(ref, res, rtol=tol, atol=tol, equal_nan=equal_nan)
    if isinstance(ref, Sequence) and not isinstance(ref, str):
        return isinstance(res, Sequence) and len(ref) == len(res) and all(map(alike, ref, res))
    if isinstance(ref, float):
        return math.isclose(ref, res, rel_tol=tol, abs_tol=tol) or (equal_nan and ref != ref and res != res)
    if is_dataclass(ref):
        return all(alike(getattr(ref, one.name), getattr(res, one.name)) for one in fields(ref))
    if hasattr(ref, "__dict__") and not callable(ref) and type(ref).__eq__ is object.__eq__:
        return type(ref) is type(res) and alike(vars(ref), vars(res))
    return bool(ref == res)
