"""How it works inside: a page for each room of the house, with its modules and a walk through one call."""
from __future__ import annotations

import ast
import sys
import tempfile
import tomllib
import warnings
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import mindtorch
from tests import house

from .pages import Page

ROOT = f"{mindtorch.__path__[0]}/"
WALKS = tomllib.loads((Path(__file__).parent / "walks.toml").read_text(encoding="utf-8"))
MOST = 40  #: lines of a walk
NAMELESS = {"<lambda>", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>", "<module>"}


@dataclass
class Step:
    """A function that a call enters: at which depth, in which room, its code, and how often in a row."""

    depth: int
    room: int | None
    code: CodeType
    times: int = 1


def pages() -> dict[str, Page]:
    """Return the rooms' pages, and the map, by their paths."""
    found = {f"inside/{slug(number)}.md": Page(titled(room), partial(room_page, number))
             for number, room in enumerate(house.HOUSE)}
    found["inside/index.md"] = Page("How it works inside", index)
    return found


def index() -> str:
    """Return the map, with what one has to know before."""
    introduction = (Path(__file__).parent / "text" / "inside.txt").read_text(encoding="utf-8").strip()
    names = "\n".join(slug(number) for number in range(len(house.HOUSE)))
    return f"{introduction}\n\n{the_map()}\n\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"


graph = lru_cache(house.graph)


def slug(number: int) -> str:
    """Return the name of a room's page, that of its first part; ``autograd`` is the name of two."""
    parts = [room.parts.split() for room in house.HOUSE]
    if parts[number][0].startswith("__"):
        return "namespaces"
    name = parts[number][0].replace(".", "-").removeprefix("_")
    return f"{name}-public" if any(f"_{name}" == others[0] for others in parts[:number]) else name


def the_map() -> str:
    rows = ["| room | what it holds |", "|---|---|"]
    for number, room in enumerate(house.HOUSE):
        rows.append(f"| [{titled(room)}]({slug(number)}.md) | {room.holds} |")
    return "\n".join(rows)


def titled(room: house.Room, most: int = 4) -> str:
    """Return the names of a room's parts, the first ones of many."""
    parts = [f"`{part.replace('.', '/')}`" for part in room.parts.split()]
    return " ".join(parts[:most]) + (" …" if len(parts) > most else "")


def room_page(number: int) -> str:
    """Return a room's page."""
    room, edges = house.HOUSE[number], graph()
    own = [module for module in edges if house.height(module) == number]
    below = rooms_of(target for module in own for target in edges[module])
    above = rooms_of(module for module in edges if any(house.height(target) == number for target in edges[module]))
    return "\n\n".join([
        f"# {titled(room)}", f"{room.holds[0].upper()}{room.holds[1:]}.", f"**Where a change goes:** {room.changes}.",
        "## A walk through one call", walk_text(number),
        "## Modules", modules_table(own),
        "## Neighbours", f"It stands on {linked(below - {number})}.", f"It serves {linked(above - {number})}.",
    ]) + "\n"


def rooms_of(modules: Iterator[str]) -> set[int]:
    return {number for module in modules if (number := house.height(module)) is not None}


def linked(numbers: set[int]) -> str:
    links = [f"[{titled(house.HOUSE[number], 2)}]({slug(number)}.md)" for number in sorted(numbers)]
    return ", ".join(links) or "no other room"


def modules_table(own: list[str]) -> str:
    """Return a table of modules, with the first sentence of each one's docstring."""
    rows = ["| module | what it is | lines |", "|---|---|---|"]
    for module, path in house.modules().items():
        if module in own:
            text = path.read_text(encoding="utf-8")
            doc = (ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
            if not text.strip():
                continue
            rows.append(f"| `{module.removeprefix('mindtorch.')}` | {doc} | {len(text.splitlines())} |")
    return "\n".join(rows)


# -- walks -------------------------------------------------------------------------------------------------------------


def walk_text(number: int) -> str:
    """Return a call of the room, and the functions that it enters there."""
    setup, call = WALKS[slug(number)]["setup"], WALKS[slug(number)]["call"]
    steps = [step for step in walk(setup, call) if step.code.co_name not in NAMELESS]
    assert any(step.room == number for step in steps), f"the walk of {slug(number)} does not enter the room"
    code = "\n".join(["import mindtorch as torch", *setup.splitlines(), "", call])
    lines, left_out = shallow(steps, number)
    more = f" {left_out} functions further down are left out." if left_out else ""
    return (f"```python\n{code}\n```\n\nThe last line enters these functions of this room, in this "
            f"order. A dot stands for functions of another room.{more}\n\n```text\n" + "\n".join(lines) + "\n```")


def shallow(steps: list[Step], number: int) -> tuple[list[str], int]:
    """Return the lines of a walk, without what is called too deep where they are too many, and the number left out."""
    deepest = max(step.depth for step in steps)
    first = min(step.depth for step in steps if step.room == number)
    while deepest > first:
        kept = merged([step for step in steps if step.depth <= deepest], number)
        if len(kept) <= MOST:
            break
        deepest -= 1
    kept = merged([step for step in steps if step.depth <= deepest], number)[:MOST]
    left_out = sum(step.room == number for step in steps) - sum(step.times for step in kept if step.room == number)
    return [line for step in kept for line in step_lines(step, number)], left_out


def walk(setup: str, call: str) -> list[Step]:
    """Run a call, and list the functions of the library that it enters."""
    space: dict[str, Any] = {"torch": mindtorch, "__name__": "walk"}
    steps: list[Step] = []
    stack: list[CodeType] = []

    def note(frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(ROOT):
            return
        if event == "call":
            steps.append(Step(len(stack), room_of(code.co_filename), code))
            stack.append(code)
        elif event == "return" and stack:
            stack.pop()

    compiled = compile(call, "<walk>", "exec")
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as place, chdir(place):  # where a call may write
        warnings.simplefilter("ignore")
        exec(setup, space)
        sys.setprofile(note)
        try:
            exec(compiled, space)
        finally:
            sys.setprofile(None)
    return steps


def room_of(file: str) -> int | None:
    parts = Path(file.removeprefix(ROOT)).with_suffix("").parts
    return house.height(".".join(["mindtorch", *(parts[:-1] if parts[-1] == "__init__" else parts)]))


def merged(steps: list[Step], number: int) -> list[Step]:
    """Merge what follows each other: the same function several times, and calls in other rooms, to one step each."""
    found: list[Step] = []
    for step in steps:
        last = found[-1] if found else None
        same = last is not None and (step.code is last.code if step.room == number else step.room == last.room)
        if same and last is not None:
            last.times += step.times
        else:
            found.append(replace(step))
    return found


def step_lines(step: Step, number: int) -> Iterator[str]:
    indent = "  " * min(step.depth, 12)
    times = f"  × {step.times}" if step.times > 1 else ""
    if step.room == number:
        file = step.code.co_filename.removeprefix(ROOT)
        yield f"{indent}{step.code.co_qualname.replace('<locals>.', '')}  ({file}:{step.code.co_firstlineno}){times}"
    elif step.room is not None:
        parts = " ".join(part.replace(".", "/") for part in house.HOUSE[step.room].parts.split()[:2])
        yield f"{indent}· {parts}{times}"
