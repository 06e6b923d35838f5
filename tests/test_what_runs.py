"""A tracer, a profiler, a debugger and an observer see the functions of the library that run without them."""
from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

import mindtorch as torch
from mindtorch import nn
from tests.garbage import every_object

LIBRARY = Path(torch.__file__).parent
#: Modules of observers, whose functions run only while something is observed.
OBSERVERS = {"_dispatch/observers.py", "_dispatch/sites.py", "_base/call_site.py", "_base/durations.py"}
#: Functions of theirs that describe a call for observers, with all that they call.
DESCRIBING = {"describe", "_path", "_composed", "_event", "tell_parts", "observed", "plan_of", "_plan_use"}
#: Functions that run now and then: they forget tensors that are gone, or compute what a tensor keeps from then on, for
#: which a description may have asked before.
NOW_AND_THEN = {("_storage/untyped.py", "UntypedStorage.add_alias.<locals>.<listcomp>"),
                ("_base/layout.py", "contiguous_strides")}
STEPS = 25  #: after so many, CPython 3.11 has rewritten the code of every function that each of them calls
Names = set[tuple[str, str]]


class Attention(nn.Module):
    """A block of a GPT."""

    def __init__(self, width: int = 16, heads: int = 2) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.rest = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        y = self.first(x)
        x = x + self.attention(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.rest(self.second(x))


class Last(nn.Module):
    """An LSTM, and a layer for its last output."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(x)[0][:, -1])


#: A model, the shape of its input and its optimizer.
MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], Callable[..., Any]]] = {
    "MLP": (lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)), (4, 8),
            lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9)),
    "CNN": (lambda: nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                                  nn.Linear(36, 3)), (4, 1, 8, 8), torch.optim.Adam),
    "GPT": (lambda: nn.Sequential(nn.Linear(8, 16), Attention(), nn.Flatten(), nn.Linear(80, 3)), (4, 5, 8),
            torch.optim.AdamW),
    "LSTM": (Last, (4, 5, 8), torch.optim.RMSprop),
}


def trainer(name: str) -> Callable[[], None]:
    """Build a function that takes one training step."""
    build, shape, optimizer_of = MODELS[name]
    torch.manual_seed(0)
    model, x, y = build(), torch.randn(*shape), torch.arange(4) % 3
    optimizer = optimizer_of(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

    return step


def named(code: CodeType) -> tuple[str, str] | None:
    """Return the file and the qualified name of a function of the library; None for other functions."""
    path = Path(code.co_filename.partition(": ")[0])  # functions that the library writes have a suffix
    return (str(path.relative_to(LIBRARY)), code.co_qualname) if path.is_relative_to(LIBRARY) else None


# -- plainly -----------------------------------------------------------------------------------------------------------

def codes() -> Iterator[CodeType]:
    """Yield the code of every function that is alive, and of those within them."""
    seen: set[int] = set()
    # isinstance would ask proxies of dead objects for their class
    stack = [function.__code__ for function in every_object() if type(function) is FunctionType]
    while stack:
        code = stack.pop()
        if id(code) not in seen:
            seen.add(id(code))
            yield code
            stack += [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def rewritten() -> Names:
    """Names of the library's functions whose code the interpreter has specialised, since they ran several times. It
    does so by itself: nothing is traced, profiled or held.
    """
    return {name for code in codes() if (name := named(code)) is not None
            and code._co_code_adaptive != code.co_code}  # type: ignore[attr-defined]


def plainly(step: Callable[[], None]) -> tuple[Names, Names]:
    """Names of functions that run in steps without an instrument, and of those of which it cannot be told."""
    if sys.version_info >= (3, 12):
        found: Names = set()

        def started(code: CodeType, offset: int) -> Any:
            if (name := named(code)) is not None:
                found.add(name)
            return sys.monitoring.DISABLE

        sys.monitoring.use_tool_id(4, "what runs")
        sys.monitoring.register_callback(4, sys.monitoring.events.PY_START, started)
        sys.monitoring.set_events(4, sys.monitoring.events.PY_START)
        try:
            step()
        finally:
            sys.monitoring.free_tool_id(4)
        return found, set()
    before = rewritten()
    for _ in range(STEPS):
        step()
    return rewritten() - before, before


# -- with instruments --------------------------------------------------------------------------------------------------

def describes(frame: FrameType | None) -> bool:
    """Return whether a function of an observer called this one, to describe what runs."""
    while frame is not None:
        if (name := named(frame.f_code)) is not None and name[0] in OBSERVERS and name[1] in DESCRIBING:
            return True
        frame = frame.f_back
    return False


def profiled(step: Callable[[], None], describing: bool = True) -> Names:
    """Names of functions that run under a profiler; without ``describing``, but for those that describe what runs."""
    found: Names = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and (name := named(frame.f_code)) is not None and name not in found and (
                describing or not describes(frame)):
            found.add(name)

    sys.setprofile(note)
    step()
    sys.setprofile(None)
    return found


def traced(step: Callable[[], None]) -> Names:
    """Names of functions that run under a debugger, which reads the variables of every frame at every line."""
    found: Names = set()
    held: dict[FrameType, Any] = {}

    def note(frame: FrameType, event: str, argument: Any) -> Any:
        name = named(frame.f_code)
        if name is None:
            return None
        found.add(name)
        held[frame] = frame.f_locals
        return note

    sys.settrace(note)
    step()
    sys.settrace(None)
    return found


def observed(step: Callable[[], None]) -> Names:
    """Names of functions that run while an observer is subscribed, but for those of observers."""
    with torch.observe():
        found = profiled(step, describing=False)
    return {(file, name) for file, name in found if file not in OBSERVERS and not file.startswith("introspect/")}


def differences(name: str) -> Iterator[str]:
    """Yield the functions that only some of the ways to run a training step call."""
    step = trainer(name)
    for _ in range(3):
        step()
    gc.collect()
    gc.disable()  # finalizers run at any time
    plain, unknown = plainly(step)
    ways = {"plain": plain}
    for way in (profiled, traced, observed):
        way(step)  # what is found out at a first call is not what runs
        ways[way.__name__] = way(step)
    every = set().union(*ways.values())
    for function in sorted(every - NOW_AND_THEN):
        missing = [way for way, found in ways.items() if function not in found
                   and not (way == "plain" and function in unknown)]
        if missing:
            yield f"{' '.join(function)}: not {', '.join(missing)}"


def alone(program: str) -> str:
    """Return what a program prints in a process of its own, in which nothing else has run."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300,
                          cwd=LIBRARY.parent)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


COMPARED = "from tests.test_what_runs import *\nprint(*differences({name!r}), sep='\\n')"
#: A path that runs only where nothing is traced or profiled.
PLANTED = """
import sys
from mindtorch import nn
right = nn.Linear.forward

def forward(self, x):
    return right(self, x) if sys.getprofile() is None and sys.gettrace() is None else torch.addmm(
        self.bias, x, self.weight.t())

nn.Linear.forward = forward
"""


@pytest.mark.parametrize("name", MODELS)
def test_instruments_see_what_runs_without_them(name: str) -> None:
    found = alone(COMPARED.format(name=name))
    assert not found, found


def test_a_path_that_an_instrument_turns_off_is_noticed() -> None:
    found = alone(f"import mindtorch as torch\n{PLANTED}\n{COMPARED.format(name='MLP')}")
    assert "linear" in found or "addmm" in found
