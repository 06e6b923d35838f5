"""Lesson 22: how does a group of operators become one loop?"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

from ..._base.interrupts import contextmanager
from ..limits import LOADING
from ..tasks import Lab, lesson

Step = tuple[str, str, tuple[Any, ...]]  #: a name, a formula with places for the arguments, and these
INDICES = "ijkl"

#: What is computed, the shapes of the input arrays, and the array of each result, by the name of its step.
CASES: tuple[tuple[tuple[Step, ...], dict[str, tuple[int, ...]], dict[str, str]], ...] = (
    ((("y", "{0} + {1}", ("a", "b")),), {"a": (4,), "b": (4,)}, {"y": "out"}),
    ((("y", "{0} * {1}", ("a", 2.5)),), {"a": (4,)}, {"y": "out"}),
    ((("t", "{0} * {1}", ("a", 2.0)), ("y", "{0} + {1}", ("t", "b"))), {"a": (4,), "b": (4,)}, {"y": "out"}),
    ((("t", "{0} + {1}", ("a", "b")), ("y", "{0} * {1}", ("t", "t"))), {"a": (4,), "b": (4,)}, {"y": "out"}),
    ((("y", "{0} * {1}", ("a", "a")), ("z", "{0} + {1}", ("y", "a"))), {"a": (4,)}, {"z": "out"}),
    ((("t", "{0} - {1}", ("a", "b")), ("y", "max({0}, 0.0)", ("t",)), ("z", "{0} * {1}", ("y", "t"))),
     {"a": (4,), "b": (4,)}, {"y": "first", "z": "second"}),
    ((("y", "{0} + {1}", ("a", 1.0)), ("z", "{0} + {1}", ("y", 1.0))), {"a": (4,)}, {"y": "first", "z": "second"}),
    ((("y", "{0} - {1}", ("a", "b")),), {"a": (2, 3), "b": (2, 3)}, {"y": "out"}),
    ((("y", "{0} - {1}", ("a", "b")),), {"a": (2, 3), "b": (3,)}, {"y": "out"}),
    ((("y", "{0} * {1}", ("a", "s")),), {"a": (2, 3), "s": ()}, {"y": "out"}),
    ((("t", "{0} - {1}", ("a", "m")), ("y", "{0} / {1}", ("t", "r"))), {"a": (2, 3), "m": (2, 1), "r": (1, 3)},
     {"y": "out"}),
    ((("y", "{0} + {1}", ("c", "a")),), {"a": (2, 3, 2), "c": (3, 1)}, {"y": "out"}),
    ((("p", "{0} > {1}", ("a", "b")), ("y", "{1} if {0} else {2}", ("p", "a", "b"))), {"a": (3,), "b": (3,)},
     {"y": "out"}),
)


class _Number(float):
    """A number that counts what is computed with it."""

    count = 0


def _counted(own):
    """Return a method of float that counts its calls."""
    def compute(self, other):
        _Number.count += 1
        found = own(self, other)
        return found if isinstance(found, bool) else _Number(found)

    return compute


for _name in ("add", "sub", "mul", "truediv", "radd", "rsub", "rmul", "gt", "lt"):
    setattr(_Number, f"__{_name}__", _counted(getattr(float, f"__{_name}__")))


class _Array:
    """An array that counts how often its elements are read and written."""

    def __init__(self, shape, first):
        self.shape, self.reads, self.writes = shape, 0, 0
        self.values = {place: _Number(first + 1.5 * number - 2)
                       for number, place in enumerate(product(*map(range, shape)))}

    def _place(self, index):
        place = index if isinstance(index, tuple) else (index,)
        if len(place) != len(self.shape):
            raise IndexError(f"{len(place)} indices for {len(self.shape)} dimensions")
        if place not in self.values:
            raise IndexError(f"index {place} for the shape {self.shape}")
        return place

    def __getitem__(self, index):
        self.reads += 1
        return self.values[self._place(index)]

    def __setitem__(self, index, value):
        self.writes += 1
        self.values[self._place(index)] = value


def loop_text(body: Sequence[str], arrays: Sequence[str], shape: Sequence[int]) -> str:
    """Return the text of a function ``kernel(*arrays)``, with a loop for each dimension around the statements."""
    lines = [f"def kernel({', '.join(arrays)}):"]
    lines += [f"{'    ' * (d + 1)}for {INDICES[d]} in range({size}):" for d, size in enumerate(shape)]
    return "\n".join([*lines, *[f"{'    ' * (len(shape) + 1)}{line}" for line in body]])


def _run(function, steps, shapes, results):
    """Return the results of the loop of a part's statements, and how much it reads, writes and computes."""
    shape = max(shapes.values(), key=lambda one: (len(one), one))
    body = function(list(steps), dict(shapes), dict(results), len(shape))
    if not isinstance(body, list | tuple) or not all(isinstance(line, str) for line in body):
        return {"what body returns": f"a {type(body).__name__}, not a list of lines"}
    given = {name: _Array(of, 3 * place) if of else _Number(3.5) for place, (name, of) in enumerate(shapes.items())}
    written = {name: _Array(shape, 0) for name in results.values()}
    space: dict[str, Any] = {}
    text = loop_text(body, [*given, *written], shape)
    try:
        exec(compile(text, "the loop", "exec"), space)
    except SyntaxError as error:
        return {"a line that is not Python": (error.text or "").strip()}
    _Number.count = 0
    try:
        space["kernel"](*given.values(), *written.values())
    except (NameError, IndexError, TypeError) as error:
        return {"the loop": f"{type(error).__name__}: {error}"}
    every = len(next(iter(written.values())).values)
    reads = {name: array.reads / every for name, array in (given | written).items() if isinstance(array, _Array)}
    return {**{name: tuple(map(float, array.values.values())) for name, array in written.items()},
            "reads for each element": reads,
            "writes for each element": {name: array.writes / every for name, array in written.items()},
            "operations for each element": _Number.count / every}


def _described(steps, shapes, results):
    words = [f"{name} = {formula.format(*arguments)}" for name, formula, arguments in steps]
    arrays = [f"{name} {list(shape)}" for name, shape in shapes.items()]
    return f"{'; '.join(words)}, of {', '.join(arrays)}; results: {', '.join(results)}"


@contextmanager
def replace_bodies(body: Callable[..., list[str]]) -> Iterator[None]:
    """Have the compiler take the statements of its loops from ``body(steps, arrays, results, dims)`` in a block."""
    from ..._compile import kernels, loops
    from ..._compile.graph import Value

    seam: Any = kernels
    own = seam.loop_of

    def mine(group: Any, results: Any, arrays: Any, literal: Any, flat: bool, known: Any) -> Any:
        found = own(group, results, arrays, literal, flat, known)
        if found is None:
            return None
        steps = [step for step in group.steps if step.outputs[0] not in known]
        names: dict[Any, str] = {**{value: name for value, name in arrays.items() if value not in results}, **known}
        read, rows = dict.fromkeys(value for step in steps for value in step.inputs if value in names), []
        for number, step in enumerate(steps):
            inputs = [*dict.fromkeys(value for value in step.args if value.__class__ is Value)]
            formula = loops.expression(step, {value: f"{{{i}}}" for i, value in enumerate(inputs)}, literal)
            rows.append((f"value_{number}", formula, tuple(names[value] for value in inputs)))
            names[step.outputs[0]] = f"value_{number}"
        shapes = {names[value]: value.shape[:1] if flat else value.shape for value in read}
        return loops.Loop(body(rows, shapes, {names[value]: arrays[value] for value in results if value not in known},
                               found.span), found.span)

    seam.loop_of = mine
    try:
        yield
    finally:
        seam.loop_of = own


LESSON = lesson(
    "loops", body=partial(Lab, cases=CASES, run=_run, describe=_described, seconds=LOADING,
                          refuses=("_compile.loops.loop_of",)))
