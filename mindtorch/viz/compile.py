"""``%%compile``: all stages of the compiler side by side, from the source to the program, with the times of both."""
from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from .._base.call_site import place_of
from .._base.durations import time_text
from ..introspect.compiled import CompileFacts
from ..introspect.stages import Capture, Line, Stage, Stages
from .html import Markup, in_text, join, page, tag
from .palette import count_text, mono, number_text, place_text, soft, storage_class

WIDTH = 50  #: percent of the line that the longest bar takes
CHIPS = 4  #: numbers, or runs of them, that a line names
LIT = 200  #: origins at most that light up
LONG = re.compile(r"\b[A-Za-z_]\w{23,}")  #: names that are shortened in graphs
GRAPHS = ("FX graph", "ATen forward", "ATen backward", "saved for backward")
RUNS = ("bytecode", "program")  #: stages of many lines with the same origins, which the first of them names
FOLDED = ("bytecode",)  #: at first, so that source and graphs are seen together
SIGNS = {"graph break": "✂", "recompile": "↻"}
LEGEND = ("A number is an operator that TorchDynamo captured; lines with its number and colour are what became of it. "
          "Point at a line, or move to it with Tab, and all of them light up; click to keep the light.")
#: What is the program's and what is shown for the reader alone, by library.
ORIGIN = {
    "mindtorch": "The FX and ATen graphs are those that a backend of your own gets for this call. The program is what "
                 "the backend inductor made of the same FX graph, and what ran; it derives the backward pass itself.",
    "PyTorch": "The FX graph is what PyTorch's TorchDynamo captured, and the program is what its Inductor wrote. The "
               "ATen graphs are traced from the same FX graph by its AOTAutograd; the Inductor decomposes further.",
}
#: Why there is nothing to see, by whether the cell's last expression was called.
NOTHING = ("There was nothing to compile: %%compile compiles the last expression of a cell, and this cell ends with a "
           "statement. Write the expression alone in the last line, without `name =` before it.",
           "Nothing was compiled: the expression ran as it is written, which the settings, the stance or a mode of "
           "this thread (such as autocast) ask for, or it calls no operator.")


def compile_page(facts: CompileFacts) -> Markup:
    """Draw what ``%%compile`` shows."""
    found, failed = facts.stages, _failed(facts) if facts.failure else []
    if not found.captures and not found.remarks:
        said = failed or [tag("div", NOTHING[facts.is_reached], class_="mt-soft")]
        return page(*said, kind="compile", sheet="compile")
    notes = [tag("p", said, class_="mt-note") for said in (LEGEND, ORIGIN[found.library])]
    drawn = page(*failed, _summary(found), _race(facts), _stages(found), *notes, _guards(found.captures),
                 kind="compile", sheet="compile")
    return Markup(f"{lighting(len(found.origins))}{drawn}", drawn.plain)


def lighting(count: int) -> Markup:
    """Return the style sheet that lights all lines of an origin when one is pointed at or focused, without a script."""
    lit = "background:color-mix(in srgb,var(--mt-c) 26%,transparent);opacity:1"
    return Markup("<style>" + "".join(
        f'.mt-stages:has([data-o~="{i}"]:hover,[data-o~="{i}"]:focus) [data-o~="{i}"]{{{lit}}}'
        for i in range(1, min(count, LIT) + 1)) + "</style>")


def _failed(facts: CompileFacts) -> list[Markup | None]:
    """Draw a failure: when it happened, and what there was before."""
    head = tag("div", tag("b", "✗ ", facts.failure, class_="mt-alert"), _at(facts.file, facts.line))
    if not facts.is_reached:
        said = "The cell failed before its last expression, which is what %%compile compiles: nothing was captured."
        return [head, tag("div", said, class_="mt-summary")]
    if facts.unfinished or not facts.stages.captures:
        count = count_text(len(facts.unfinished), "operator")
        said = ("The call failed while it was captured, so that there is no program. Until then "
                + (f"{count} had been captured:" if facts.unfinished else "no operator had been captured."))
        code = tag("pre", "\n".join(facts.unfinished), class_="mt-lines") if facts.unfinished else None
        return [head, tag("div", said, class_="mt-summary"), code]
    said = "The call failed after this had been compiled:"
    return [head, tag("div", said, class_="mt-summary")]


def _at(file: str, line: int) -> Markup | None:
    """Return the place of something, to be put behind it."""
    return join([" at ", mono(place_text(file, line), place_of(file, line))]) if file else None


def _summary(found: Stages) -> Markup:
    programs = [program for capture in found.captures for program in capture.programs]
    kernels = [kernel for program in programs for kernel in program.kernels]
    fused = sum(len(kernel.operators) for kernel in kernels)
    again = sum(remark.what == "recompile" for remark in found.remarks)
    parts = [_fact(len(found.origins), "operator"), " captured in ", _fact(len(found.captures), "graph")]
    parts += [", ", _fact(len(found.breaks), "graph break")] if found.breaks else []
    parts += [", ", _fact(again, "recompile")] if again else []
    parts += [", ", _fact(len(kernels), "kernel"), f" made of {count_text(fused, 'operator')}"] if kernels else []
    seconds = sum(capture.seconds for capture in found.captures)
    return tag("div", f"{found.library}: ", *parts, f", compiled in {time_text(seconds * 1e9)}", class_="mt-summary")


def _fact(count: int, noun: str) -> Markup:
    return tag("span", count_text(count, noun), class_="mt-fact")


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


# -- the stages --------------------------------------------------------------------------------------------------------


def _stages(found: Stages) -> Markup:
    names = shortened(line.text for stage in found.stages if stage.name in GRAPHS for line in stage.lines)
    return tag("div", *(_stage(stage, names if stage.name in GRAPHS else {}) for stage in found.stages),
               class_="mt-stages")


def shortened(texts: Iterable[str]) -> dict[str, str]:
    """Return short forms of the long names in texts, no two alike."""
    words = sorted({word for text in texts for word in LONG.findall(text)})
    plain = {word: word.replace("_modules_", "…").replace("_parameters_", "…").replace("…_", "…") for word in words}
    for head, tail in ((8, 15), (12, 20), (20, 30)):
        made = {word: short if len(short) <= head + tail else f"{short[:head]}…{short[-tail:]}".replace("……", "…")
                for word, short in plain.items()}
        if len({*made.values()}) == len(words):
            return made
    return {}


def _stage(stage: Stage, names: dict[str, str]) -> Markup:
    head = tag("summary", tag("b", stage.name), " ", soft(stage.maker), plain=f"\n== {stage.name} ({stage.maker}) ==\n")
    width = max([sum(len(text) * .5 + 1.1 for _, text in spans(line.origins)) for line in stage.lines], default=0)
    lines: list[Markup] = []
    before: tuple[int, ...] = ()
    for line in stage.lines:
        starts = stage.name not in RUNS or line.origins != before
        lines.append(_line(line, starts, names, stage.name in ("source",)))
        before = line.origins
    body = tag("pre", join(lines), class_="mt-lines", plain=join(lines).plain, style=f"--from:{max(width, 1.6):.1f}em")
    return tag("details", head, body, class_=f"mt-stage mt-{stage.name.lower().replace(' ', '-')}",
               open=None if stage.name in FOLDED else "")


def _line(line: Line, starts: bool, names: dict[str, str], numbered: bool) -> Markup:
    """Draw a line: its origins, its text, its type and remark; ``starts`` says whether it names its origins."""
    if line.kind == "head":
        return tag("b", line.text, "\n", class_="mt-l mt-part", plain=f"-- {line.text}\n")
    if line.kind == "note":
        return tag("span", line.text, "\n", class_="mt-l mt-remark", plain=f"{'':8}{line.text}\n")
    if line.kind == "alert":
        said = join([tag("b", SIGNS.get(line.remark, "!"), " ", line.remark, ": "), line.text])
        return tag("span", said, "\n", class_="mt-l mt-alert", plain=f"{'':8}{said.plain}\n")
    origins = spans(line.origins)
    chips = join([tag("b", text, class_=f"mt-o {storage_class(first - 1)}") for first, text in origins], " ")
    text = LONG.sub(lambda found: names.get(found[0], found[0]), line.text) if names else line.text
    code, mark, remark = re.match(r"(.*?)((?:  # )?)((?<=  # ).*)?$", text).groups()  # type: ignore[union-attr]
    name, equals, rest = code.partition(" = ") if line.type else (code, "", "")
    parts = [tag("span", chips if starts else "", class_="mt-from"), " ",
             soft(f"{line.number:>3} ") if numbered else None, name,
             join([": ", soft(line.type)]) if line.type else None, equals, rest,
             tag("span", mark, remark, class_="mt-remark") if mark else None,
             join(["  ", tag("span", line.remark, class_="mt-remark")]) if line.remark else None]
    plain = f"{' '.join(said for _, said in origins) if starts else '':>6}  " + (
        f"{line.number:>4} " if numbered else "") + line.text + "".join(
        f"  {said}" for said in (line.type, line.remark) if said)
    linked = {"data_o": " ".join(map(str, line.origins)), "tabindex": "0" if starts else "-1",
              "title": line.text if text != line.text else None} if line.origins else {}
    colour = f" {storage_class(line.origins[0] - 1)}" if line.origins else ""
    return tag("span", *parts, "\n", class_=f"mt-l{colour}", plain=f"{plain.rstrip()}\n", **linked)


def spans(origins: Sequence[int]) -> list[tuple[int, str]]:
    """Return numbers with runs of three and more as one: ``[(1, "1–4"), (6, "6")]``; the first of many."""
    runs: list[list[int]] = []
    for number in sorted(origins):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    made = [one for run in runs for one in ([(run[0], f"{run[0]}–{run[-1]}")] if len(run) > 2 else
                                            [(number, str(number)) for number in run])]
    return made if len(made) <= CHIPS else [*made[:CHIPS - 1], (made[CHIPS - 1][0], "…")]


def _guards(captures: Sequence[Capture]) -> Markup | None:
    made: list[Markup] = []
    for number, capture in enumerate(captures, 1):
        if capture.guards:
            made += [tag("div", f"graph {number}:")] if len(captures) > 1 else []
            made.append(tag("ul", *(tag("li", said) for said in capture.guards)))
    return tag("details", tag("summary", "Guards: when these hold again, the program runs (TorchDynamo)"),
               *made) if made else None


compile_text = in_text(compile_page)
