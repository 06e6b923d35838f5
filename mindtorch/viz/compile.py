"""``%%compile``: from the function to the program that runs, with the times beside."""
from __future__ import annotations

import re
from typing import Any

from .._base.call_site import place_of
from .._base.durations import time_text
from ..introspect.compiled import Compiled, CompileFacts, ProgramFacts
from .html import Markup, in_text, join, page, row, table, tag
from .palette import count_text, mono, number_text, place_text, size_text, soft

WIDTH = 50  #: percent of the line that the longest bar takes
PASSES = ("forward", "backward")
#: Why there is nothing to see, by whether the cell's last expression was called.
NOTHING = ("There was nothing to compile: %%compile compiles the last expression of a cell, and this cell ends with a "
           "statement. Write the expression alone in the last line, without `name =` before it.",
           "Nothing was compiled: the expression ran as it is written, which the settings, the stance or a mode of "
           "this thread (such as autocast) ask for.")


def compile_page(facts: CompileFacts) -> Markup:
    """Draw what ``%%compile`` shows."""
    one, failed = facts.latest, _failed(facts) if facts.failure else []
    if one is None:
        said = failed or [tag("div", NOTHING[facts.is_reached], class_="mt-soft")]
        return page(*said, kind="compile", sheet="compile")
    is_broken = one.graph_break is not None
    parts = _broken(one) if is_broken else [_summary(one), _race(facts), *_made(one)]
    then = "it runs as it is written" if is_broken else "the program runs"
    guards = tag("ul", *(tag("li", said) for said in one.guards))
    return page(*failed, *parts, _details(f"Guards: when this holds again, {then} (TorchDynamo)", guards),
                kind="compile", sheet="compile")


def _failed(facts: CompileFacts) -> list[Markup | None]:
    """Draw a failure: when it happened, and what there was before."""
    head = tag("div", tag("b", "✗ ", facts.failure, class_="mt-alert"), _at(facts.file, facts.line))
    if not facts.is_reached:
        said = "The cell failed before its last expression, which is what %%compile compiles: nothing was recorded."
        return [head, tag("div", said, class_="mt-summary")]
    if facts.latest is not None:
        said = "The compiled program had run; it failed when it was called again, to be timed. This had been compiled:"
        return [head, tag("div", said, class_="mt-summary")]
    count = count_text(len(facts.unfinished), "operator")
    said = ("The first call, which is recorded, failed, so there is no program. Until then "
            + (f"{count} had been recorded:" if facts.unfinished else "no operator had been recorded."))
    return [head, tag("div", said, class_="mt-summary"),
            _code("\n".join(facts.unfinished)) if facts.unfinished else None]


def _at(file: str, line: int) -> Markup | None:
    """Return the place of something, to be put behind it."""
    return join([" at ", mono(place_text(file, line), place_of(file, line))]) if file else None


def _broken(one: Compiled) -> list[Markup]:
    found = one.graph_break
    assert found is not None
    return [tag("div", tag("b", "graph break: ", class_="mt-alert"), found.reason, _at(found.file, found.line)),
            tag("div", "There is no program: with a graph break all runs as it is written.", class_="mt-summary")]


def _summary(one: Compiled) -> Markup:
    kernels = [kernel for program in one.programs for kernel in program.kernels]
    fused = sum(len(operators) for _, operators, _ in kernels)
    kept = sum(size for program in one.programs for size, _ in program.buffers)
    return tag("div", tag("span", count_text(one.operators, "operator"), class_="mt-fact"), " recorded, ",
               tag("span", count_text(len(kernels), "kernel"), class_="mt-fact"),
               f" made of {count_text(fused, 'operator')}, " if kernels else ", ",
               f"{size_text(kept)} of buffers, compiled in {time_text(one.seconds * 1e9)}", class_="mt-summary")


def _race(facts: CompileFacts) -> Markup | None:
    if facts.written is None or facts.compiled is None:
        return None
    longest = max(facts.written, facts.compiled)

    def lane(name: str, seconds: float, more: str) -> list[Any]:
        bar = tag("span", class_="mt-bar", style=f"width:{max(0.5, WIDTH * seconds / longest):.1f}%")
        said = join([bar, mono(time_text(seconds * 1e9)), soft(more)], " ")
        return [tag("span", name, plain=f"{name}: "), tag("span", said, plain=f"{said.plain}\n")]

    part = facts.compiled / facts.written
    ratio = f"{part:.2f} of the time" if part < 0.995 else f"{number_text(part, 3)} times as long"
    return tag("div", *lane("as it is written", facts.written, ""), *lane("compiled", facts.compiled, ratio),
               class_="mt-race")


def _made(one: Compiled) -> list[Markup]:
    rows = [_kernel(PASSES[number], *kernel) for number, program in enumerate(one.programs)
            for kernel in program.kernels]
    kernels = [table(("pass", "kernel", "operators in it", "elements"), rows, "kernels")] if rows else []
    graphs = [_details("Recorded graph (TorchDynamo)", _code(one.recorded)),
              _details("Optimised graphs (AOTAutograd)", tag("ul", *(tag("li", said) for said in one.optimised)),
                       *(_code(graph) for graph in (one.forward, one.backward) if graph))]
    programs = [_details(f"Program of the {PASSES[number]} pass (Inductor)", *_program(program), is_open=number == 0)
                for number, program in enumerate(one.programs)]
    return [*kernels, *graphs, *programs]


def _kernel(which: str, name: str, operators: tuple[str, ...], size: int) -> Markup:
    chips = join([tag("span", operator, class_="mt-op") for operator in operators], " → ")
    chain = tag("span", chips, class_="mt-fused" if len(operators) > 1 else None)
    return row(soft(which), mono(name), chain, mono(f"{size:,}"))


def _program(program: ProgramFacts) -> list[Markup]:
    kept = [tag("li", f"buffer of {size:,} bytes: {', '.join(names)}") for size, names in program.buffers]
    return [_code(program.source), *([tag("ul", *kept)] if kept else [])]


def _code(text: str) -> Markup:
    lines = []
    for line in text.rstrip().splitlines():
        code, mark, remark = re.match(r"(.*?)((?:  # )?)((?<=  # ).*)?$", line).groups()  # type: ignore[union-attr]
        lines.append(join([code, tag("span", f"{mark}{remark}", class_="mt-remark") if mark else None]))
    return tag("pre", join(lines, "\n"), class_="mt-program mt-scroll", tabindex="0")


def _details(head: str, *inside: Any, is_open: bool = False) -> Markup:
    return tag("details", tag("summary", head), *inside, open="" if is_open else None)


compile_text = in_text(compile_page)
