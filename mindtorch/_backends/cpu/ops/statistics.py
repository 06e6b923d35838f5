"""Composites of statistics, computed at once: quantiles, correlations, means without NaN, and integrals."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..precision import is_half
from . import AT_ONCE
from .pointwise import lerp
from .sums import nansum, total

ndarray = np.ndarray
Run = Callable[..., Any]
FLOATS = "fd"
ROUNDING: dict[str, np.ufunc] = {"lower": np.floor, "higher": np.ceil, "nearest": np.rint}


def quantile(ignore_nan: bool) -> Run:
    """Return a function that prepares ``quantile`` or ``nanquantile``; ``q`` is a number or an array."""
    def prepare(x: ndarray, q: Any, dim: int | None = None, keepdim: bool = False, interpolation: str = "linear") -> (
            Run | None):
        if x.dtype.char not in FLOATS:
            return None
        axis = None if dim is None or not x.ndim else dim % x.ndim
        others = [1 if d == axis or axis is None else n for d, n in enumerate(x.shape)
                  if keepdim or (axis is not None and d != axis)]
        count, several = x.size if axis is None else x.shape[axis], np.ndim(q) == 1
        number, rounded = x.dtype.type, ROUNDING.get(interpolation)

        def run(x: ndarray, q: Any = q) -> ndarray | None:
            if q.__class__ is ndarray and not (q.min() >= 0 and q.max() <= 1):
                return None  # refused
            line = (x.reshape(1, -1) if axis is None else np.moveaxis(x, axis, -1).reshape(-1, count)).copy()
            line.sort(-1)
            if ignore_nan:
                places = number(q) * (count - 1 - np.isnan(line).sum(-1, keepdims=True)).astype(x.dtype)
                places = np.maximum(places, 0)
            else:
                places = np.where(np.isnan(line[:, -1:]), number(count - 1), number(q) * number(count - 1))
            rows = np.arange(len(line))[:, None]
            if rounded is not None:
                found = line[rows, rounded(places).astype(np.int64)]
            else:
                below = places.astype(np.int64)
                weight = places - below if interpolation == "linear" else np.full_like(places, 0.5)
                found = lerp(line[rows, below], line[rows, np.ceil(places).astype(np.int64)],
                                     weight.astype(x.dtype, copy=False))
            found = found.reshape(*others, found.shape[-1])
            return np.moveaxis(found, -1, 0) if several else found[..., 0]

        return run if x.size else None

    return prepare


def nanmean(x: ndarray, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Run | None:
    if (x.dtype.char not in FLOATS and not is_half(x)) or dtype is not None or not x.size:
        return None
    axis, kind = tuple(dim) if dim and x.ndim else None, x.dtype
    settled: Any = nansum.prepare(x, axis, keepdim)

    def run(x: ndarray) -> ndarray:
        count: Any = (~np.isnan(x)).sum(axis, np.int64, keepdims=keepdim)
        return np.asarray(settled(x) / count.astype(kind))

    return run


def corrcoef(x: ndarray) -> Run | None:
    """Prepare correlations of the rows, of more than one observation; of one row, the composite warns alike."""
    if x.dtype.char not in FLOATS or x.ndim != 2 or min(x.shape) < 2:
        return None
    number = x.dtype.type
    observations = number(x.shape[1])

    def run(x: ndarray) -> ndarray:
        away = x - total(x, (1,), True) / observations
        found = away.dot(away.T) / (observations - 1)
        deviation = np.sqrt(found.diagonal())
        found /= deviation[:, None]
        found /= deviation
        return np.clip(found, number(-1), number(1), out=found)

    return run


def trapezoid(cumulative: bool) -> Run:
    """Return a function that prepares ``trapezoid`` or ``cumulative_trapezoid`` over points."""
    def prepare(y: ndarray, x: ndarray, dim: int = -1) -> Run | None:
        if y.dtype.char not in FLOATS or x.dtype is not y.dtype or not y.size or not x.size:
            return None
        axis = dim % y.ndim
        vector = x.ndim == 1
        shape = tuple([len(x) if d == axis else 1 for d in range(y.ndim)]) if vector else (
            (1,) * (y.ndim - x.ndim) + x.shape)
        before = tuple([slice(0, -1) if d == axis else slice(None) for d in range(y.ndim)])
        behind = tuple([slice(1, None) if d == axis else slice(None) for d in range(y.ndim)])
        if len(shape) != y.ndim:
            return None

        def run(y: ndarray, x: ndarray) -> ndarray:
            x = x.reshape(shape)
            parts = (y[before] + y[behind]) * (x[behind] - x[before])
            found: ndarray = np.add.accumulate(parts, axis) if cumulative else np.asarray(total(parts, (axis,)))
            return found / y.dtype.type(2)

        return run

    return prepare


AT_ONCE.add(nanmean, corrcoef)
AT_ONCE.update({f"{name}quantile{overload}": quantile(bool(name))
                for name in ("", "nan") for overload in ("", ".scalar")})
AT_ONCE.update({"trapezoid.x": trapezoid(False), "trapz.x": trapezoid(False),
                "cumulative_trapezoid.x": trapezoid(True)})
