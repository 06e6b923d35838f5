"""Parts of an explanation of an error: text, the call, the tensors involved, and pictures as plain data."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

CLASH = "clash"  #: the mark of what does not fit
GOOD = "good"  #: of what fits
GONE = "gone"  #: of what was there once
NONE = ""
Shape = tuple[int, ...]
Fields = SimpleNamespace


def text(shape: Sequence[int]) -> str:
    """Format a shape: ``[2, 3]``."""
    return f"[{', '.join(map(str, shape))}]"


@dataclass(frozen=True)
class Fix:
    """A way out: what to do, and the code that does it ('' if there is no one line for it). ``tried`` is what ran with
    it, without an error, on a copy of everything; '' if it was not tried.
    """

    text: str
    code: str = ""
    tried: str = ""


@dataclass(frozen=True)
class Involved:
    """A tensor that an error is about. Strides and offset count elements; ``role`` is the parameter that it was given
    for, ``name`` what the program calls it ('' if nothing does), ``of`` the name of the tensor that it is a view of.
    ``node`` names its ``grad_fn``; ``version`` is None where writes are not counted.
    """

    role: str
    name: str
    of: str
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    device: str
    version: int | None
    requires_grad: bool
    node: str
    storage: int

    @property
    def label(self) -> str:
        """Its name in a sentence: its own, or the parameter's; ``self`` as PyTorch's documentation has it."""
        return self.name or ("input" if self.role == "self" else self.role) or "the tensor"

    def __str__(self) -> str:
        return self.label

    @property
    def size(self) -> str:
        """Its shape as in a sentence."""
        return text(self.shape)


@dataclass(frozen=True)
class Call:
    """Where the error arose: the operator ('' if none was called), the user's file and line, the line's text."""

    operator: str
    file: str
    line: int
    function: str
    text: str


@dataclass(frozen=True)
class Cell:
    """A size or another short text, with a mark."""

    text: str
    mark: str = NONE


@dataclass(frozen=True)
class ShapeRow:
    """A tensor's sizes, one per column; None leaves a column empty. ``note`` stands behind them."""

    label: str
    cells: tuple[Cell | None, ...]
    note: str = ""


@dataclass(frozen=True)
class Shapes:
    """Sizes under each other, so that those that must agree stand in one column; ``head`` names the columns."""

    rows: tuple[ShapeRow, ...]
    head: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Places:
    """A storage's elements from ``first`` on: ``seen[i]`` are the numbers, in reading order, of a tensor's elements
    that lie at position ``first + i``. ``total`` positions there are; ``storage`` is the storage's number.
    """

    label: str
    first: int
    seen: tuple[tuple[int, ...], ...]
    total: int
    storage: int
    note: str = ""


@dataclass(frozen=True)
class Ruler:
    """Which numbers are allowed, ``low`` to ``high``, and those that were ``asked`` for."""

    label: str
    low: int
    high: int
    asked: tuple[int, ...]
    note: str = ""


@dataclass(frozen=True)
class Step:
    """One stage of something that happens in order."""

    title: str
    detail: str = ""
    mark: str = NONE


@dataclass(frozen=True)
class Steps:
    """Events from the first to the last; ``arrow`` stands between two steps."""

    steps: tuple[Step, ...]
    note: str = ""
    arrow: str = "→"


@dataclass(frozen=True)
class Group:
    """Things that have something in common, such as tensors on a device (``device`` if ``title`` is one's name)."""

    title: str
    members: tuple[str, ...]
    mark: str = NONE
    device: bool = False


@dataclass(frozen=True)
class Groups:
    """Groups side by side."""

    groups: tuple[Group, ...]
    note: str = ""


@dataclass(frozen=True)
class Bars:
    """Amounts of bytes, drawn to one scale."""

    rows: tuple[tuple[str, int, str], ...]  # label, bytes, mark
    note: str = ""


Picture = Shapes | Places | Ruler | Steps | Groups | Bars


def cells(shape: Iterable[int], clashing: Iterable[int] = (), good: Iterable[int] = ()) -> tuple[Cell, ...]:
    """Build the cells of a shape's sizes, some dimensions marked."""
    clashing, good = set(clashing), set(good)
    return tuple(Cell(str(size), CLASH if d in clashing else GOOD if d in good else "") for d, size in enumerate(shape))


def whole(label: str, shape: Iterable[int], note: str = "") -> ShapeRow:
    """Build the row of a shape that does not fit at all."""
    sizes = tuple(shape)
    return ShapeRow(label, cells(sizes, range(len(sizes))), note)


def aside(label: str, lead: int, shape: Iterable[int], clashing: Iterable[int] = (), note: str = "") -> ShapeRow:
    """Build the row of a shape that begins some columns to the right."""
    return ShapeRow(label, (*(None,) * lead, *cells(shape, clashing)), note)


def plain(*tensors: Involved, note: Callable[[Involved], str] = lambda t: f"{t.dtype} on {t.device}") -> Shapes:
    """Show the shapes of tensors, unmarked."""
    return Shapes(tuple(ShapeRow(t.label, cells(t.shape), note(t)) for t in tensors))


def numbered(tensor: Involved, *wrong: int, negative: bool = False) -> Shapes:
    """Show a shape under its dimensions' numbers, optionally also the negative ones."""
    ndim = len(tensor.shape)
    head = tuple(f"dim {d} ({d - ndim})" if negative else f"dim {d}" for d in range(ndim))
    return Shapes((ShapeRow("size" if negative else tensor.label, cells(tensor.shape, wrong)),), head)


def by_dtype(involved: Iterable[Involved], *wrong: str) -> Groups:
    """Return tensors side by side, those of one dtype together."""
    tensors = list(involved)
    return Groups(tuple(
        Group(dtype, tuple(f"{t} {t.size}" for t in tensors if t.dtype == dtype), CLASH if dtype in wrong else "")
        for dtype in dict.fromkeys(t.dtype for t in tensors)))


def given(wrong: Iterable[str], *right: str) -> Groups:
    """Show what was given beside what is accepted."""
    return Groups((Group("given", tuple(wrong), CLASH), Group("taken", right, GOOD)))


@dataclass(frozen=True)
class Explanation:
    """Why an error arose. ``kind`` is the name of the row that knows it, '' for an error that no row knows; ``error``
    and ``message`` are the exception's type and text. It holds no tensor, no frame and no exception.
    """

    kind: str
    title: str
    cause: str
    fixes: tuple[Fix, ...]
    error: str
    message: str
    call: Call | None
    tensors: tuple[Involved, ...]
    pictures: tuple[Picture, ...]


@dataclass(frozen=True)
class Diagnosis:
    """What a row's function finds out; of ``fixes`` None is left out, ``tensors`` are None for those of the call."""

    title: str
    cause: str
    fixes: Sequence[Fix | None] = ()
    pictures: Sequence[Picture] = ()
    tensors: tuple[Involved, ...] | None = None
