"""Printing: `repr(tensor)` is PyTorch's, character for character.

Values become text in four steps: the corners that a summary shows are cut out of the array, each element becomes a
cell, cells are laid out in brackets, and suffixes add the facts that values do not show. The cost of all but the first
step is proportional to the text, not to the tensor.
"""
from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
from collections.abc import Iterator
from textwrap import indent
from typing import TYPE_CHECKING, Any

import numpy as np

from .._dispatch.keys import BATCHED, SPARSES
from .._dispatch.local import shared
from .._dtype import DType, bool_, complex64, complex128, float64, get_default_dtype, int64

if TYPE_CHECKING:
    from . import Tensor


def type_text(tensor: Any) -> str:
    """Return the dtype and the shape of a tensor, or of a description of one: ``float32[2, 3]``."""
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape or ())}"


@dataclasses.dataclass
class PrinterOptions:
    """The options of `set_printoptions`, with PyTorch's defaults."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PRINT_OPTS = PrinterOptions()

_PROFILES: dict[str, dict[str, float]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(precision: int | None = None, threshold: float | None = None, edgeitems: int | None = None,
                     linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None) -> None:
    """Set how tensors print (``torch.set_printoptions``).

    precision: digits after the point. threshold: tensors of more elements are summarised. edgeitems: elements shown at
    each end of a summarised dimension. linewidth: characters per line. profile: "default", "short" or "full", set
    before the other options. sci_mode: scientific notation always (True), never (False), or where magnitudes ask for it
    (None, and whenever it is not given). An option that is None keeps its value. Raises ValueError if the profile is
    unknown.
    """
    if profile is not None and profile not in _PROFILES:
        raise ValueError(f"set_printoptions: profile {profile!r} is not one of {', '.join(_PROFILES)}")
    preset = {} if profile is None else _PROFILES[profile]
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    given = {name: value for name, value in given.items() if value is not None}
    for name, value in {**preset, **given, "sci_mode": sci_mode}.items():
        setattr(PRINT_OPTS, name, value)


def get_printoptions() -> dict[str, Any]:
    """Return the present settings, as keyword arguments for ``set_printoptions`` (``torch.get_printoptions``)."""
    return dataclasses.asdict(PRINT_OPTS)


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Set options as `set_printoptions` does, and restore the former ones on leaving the block."""
    former = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**former)


def _str(tensor: Tensor, *, tensor_contents: str | None = None) -> str:
    """Return the text of `repr(tensor)`; `tensor_contents` stands in for the values if given."""
    if tensor._keys & BATCHED:
        whole, dim, frame = tensor._batched
        return f"BatchedTensor(lvl={frame.level}, bdim={dim}, value=\n{indent(_str(whole), '    ')}\n)"
    names = [base.__name__ for base in type(tensor).__mro__]
    plain = names[0] in ("Tensor", "Parameter")
    prefix = "tensor(" if plain else f"{names[0]}("
    contents_of = _parts if tensor._keys & SPARSES else _contents
    contents = contents_of(tensor, len(prefix)) if tensor_contents is None else tensor_contents
    text = _append(prefix + contents, _suffixes(tensor), len(prefix), tensor.is_sparse) + ")"
    parameter = "Parameter" in names or getattr(tensor, "_is_param", False)
    return f"Parameter({text})" if not plain and parameter else text


# ---- values ----------------------------------------------------------------------------------


def _contents(tensor: Tensor, indent: int) -> str:
    if tensor.is_meta:
        return "..."
    if tensor.numel() == 0:
        return "[]"
    shape, edge = tuple(tensor.shape), PRINT_OPTS.edgeitems
    summarised = tensor.numel() > PRINT_OPTS.threshold
    if summarised and shape and not edge:
        return "[...]"
    elided = [summarised and size > 2 * edge for size in shape]
    values = tensor._host("repr")
    if any(elided):
        values = values[np.ix_(*(np.r_[:edge, size - edge:size] if cut else np.arange(size)
                                 for size, cut in zip(shape, elided, strict=True)))]
    texts, width = _cells(values.reshape(-1), tensor.dtype)
    if not shape:
        return texts[0]
    cells = np.array(texts, dtype=object).reshape(values.shape)
    return _brackets(cells, elided, indent, width)


def _parts(tensor: Tensor, indent: int) -> str:
    """Return the texts of the tensors that a sparse one consists of."""
    texts = []
    for name, part in tensor._sparse.named():
        prefix = f"{name}=tensor("
        size = f", size={tuple(part.shape)}" if part.is_meta or not part.numel() else ""
        texts.append(f"{prefix}{_contents(part, indent + len(prefix))}{size})")
    return f",\n{' ' * indent}".join(texts)


def _cells(values: np.ndarray, dtype: DType) -> tuple[list[str], int]:
    """Return the aligned text of each element, and the width that a line allows for one."""
    if dtype.is_complex:
        values = values.astype(np.complex128)  # complex32 does not know its parts
        real, real_width = _float_cells(values.real)
        imag, imag_width = _float_cells(values.imag)
        signed = (text if text[0] == "-" else "+" + text for text in imag)
        # The sign between the parts is not counted, the j is.
        return [f"{re:>{real_width}}{im}j" for re, im in zip(real, signed, strict=True)], real_width + imag_width + 1
    if dtype.is_floating_point:
        texts, width = _float_cells(values)
    else:
        texts = [str(value) for value in values.tolist()]
        width = max(map(len, texts))
    return [text.rjust(width) for text in texts], width


def _float_cells(values: np.ndarray) -> tuple[list[str], int]:
    """Return each element's text in one format, set by finite non-zero elements, and the widest's width."""
    with np.errstate(invalid="ignore"):  # uninitialised memory may hold signalling NaNs
        values = values.astype(np.float64)
    decisive = np.isfinite(values) & (values != 0)
    texts = list(map(f"{{:{_float_format(values[decisive])}}}".format, values.tolist()))
    return texts, max(map(len, itertools.compress(texts, decisive.tolist())), default=1)


def _float_format(values: np.ndarray) -> str:
    """Return the format specification that suits all the values: scientific, whole or fixed-point."""
    whole = "#.0f"  # a point, and nothing behind it
    if not values.size:
        return whole
    magnitudes = np.abs(values)
    smallest, largest = float(magnitudes.min()), float(magnitudes.max())
    scientific = PRINT_OPTS.sci_mode
    if scientific is None:
        scientific = largest / smallest > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4
    if scientific:
        return f".{PRINT_OPTS.precision}e"
    return whole if np.array_equal(values, np.ceil(values)) else f".{PRINT_OPTS.precision}f"


def _brackets(cells: np.ndarray, elided: list[bool], indent: int, width: int) -> str:
    """Nest brackets around `cells`; an elided dimension gets dots between its two ends."""
    if cells.ndim == 1:
        parts, dots = cells.tolist(), " ..."
    else:
        parts, dots = [_brackets(row, elided[1:], indent + 1, width) for row in cells], "..."
    if elided[0]:
        parts.insert(PRINT_OPTS.edgeitems, dots)
    if cells.ndim == 1:
        per_line = max(1, math.floor((PRINT_OPTS.linewidth - indent) / (width + 2)))
        parts = [", ".join(parts[start:start + per_line]) for start in range(0, len(parts), per_line)]
    separator = "," + "\n" * max(1, cells.ndim - 1) + " " * (indent + 1)
    return "[" + separator.join(parts) + "]"


# ---- suffixes --------------------------------------------------------------------------------


def _suffixes(tensor: Tensor) -> list[str]:
    """Return the facts that the values alone do not show."""
    default = get_default_dtype()
    implied = {default}
    sparse = bool(tensor._keys & SPARSES)
    if sparse:
        shows_size = True
        implied |= {complex128 if default is float64 else complex64, int64, bool_}
    elif tensor.is_meta or getattr(tensor, "fake_mode", None) is not None:
        shows_size = True
    elif tensor.numel() == 0:
        shows_size = tensor.dim() != 1
    else:
        shows_size = not PRINT_OPTS.edgeitems
        implied |= {complex128 if default is float64 else complex64, int64, bool_}
    suffixes = []
    if tensor.device.type != "cpu":
        suffixes.append(f"device='{tensor.device}'")
    if shows_size:
        suffixes.append(f"size={tuple(tensor.shape)}")
    if sparse and not tensor._sparse.values.is_meta:
        suffixes.append(f"nnz={tensor._sparse.nnz}")
    if tensor.dtype not in implied:
        suffixes.append(f"dtype={tensor.dtype}")
    if sparse:
        suffixes.append(f"layout={tensor.layout}")
    node = _grad_fn_name(tensor)
    if node is not None:
        suffixes.append(f"grad_fn=<{node}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    if shared.dual_levels and (tangent := (tensor._tangents or {}).get(shared.dual_levels[-1])) is not None:
        suffixes.append(f"tangent={tangent}")
    return suffixes


def _grad_fn_name(tensor: Tensor) -> str | None:
    try:
        node = tensor.grad_fn
    except RuntimeError:
        return "Invalid"  # a view made, then written to, under no_grad: its history cannot be rebuilt
    # Some nodes carry a C++ namespace: torch::autograd::CopySlices.
    return None if node is None else type(node).__name__


def _append(text: str, suffixes: list[str], indent: int, new_line: bool = False) -> str:
    """Append suffixes to `text`, each on a new line if the current one is full; the first always if ``new_line``."""
    if new_line and suffixes:
        first, *suffixes = suffixes
        text += ",\n" + " " * indent + first
    column = len(text.rsplit("\n", 1)[-1]) + 2
    for suffix in suffixes:
        if column + len(suffix) + 2 > PRINT_OPTS.linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text
