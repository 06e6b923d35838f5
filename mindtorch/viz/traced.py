"""A graph of ``torch.fx`` as a page and as text: values flow from the inputs at the top to the output."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..introspect import CallFacts, TracedFacts
from .graph_picture import FEW, TOLD, Box, draw_boxes
from .html import Markup, page, row, table, tag
from .palette import breakable, count_text, mono, soft

MOST, MAX_ROWS = 160, 200  #: nodes at most of the picture, and of the table
#: What a kind of nodes is called, in one and in several.
KINDS = {"placeholder": "input", "get_attr": "attribute", "call_function": "function call",
         "call_method": "method call", "call_module": "module call"}
#: The frame of a kind of nodes: green and rounded where values come in, blue where they go out.
LOOKS = {"placeholder": "leaf", "get_attr": "leaf", "output": "root", "call_module": "fold"}
LEGEND = (("rounded, green", "an input or a parameter: it is there before", ("placeholder", "get_attr")),
          ("box", "a call of a function or a method", ("call_function", "call_method")),
          ("stacked", "a call of a module, whose inside is not in this graph", ("call_module",)),
          ("blue", "the result", ("output",)))


def traced_page(facts: TracedFacts) -> Markup:
    """Draw a graph of ``torch.fx``: the picture, the code that runs, and the nodes as a table."""
    said = tag("div", tag("b", facts.name), f" · {summary(facts)}", class_="mt-summary")
    drawn = tag("div", traced_svg(facts), class_="mt-scroll", tabindex="0")
    left = len(facts.steps) - MOST
    more = tag("div", f"{count_text(left, 'node')} after these are not drawn; the code has all of them",
               class_="mt-soft") if left > 0 else None
    marks = [(mark, meaning) for mark, meaning, ops in LEGEND if any(step.op in ops for step in facts.steps)]
    if any(step.module for step in facts.steps) and len(facts.steps) <= FEW:
        marks.append(("coloured ground", "the module whose forward it stands in"))
    legend = tag("div", *(tag("span", tag("b", mark), f" {meaning}") for mark, meaning in marks), class_="mt-legend",
                 plain="")
    code = tag("details", tag("summary", "the code that runs"),
               tag("pre", facts.code, class_="mt-mono mt-scroll", tabindex="0"), open="")
    box = tag("div", said, drawn, more, legend, code, _table(facts), class_="mt-box")
    return page(box, kind="graph-page", sheet="graph")


def summary(facts: TracedFacts) -> str:
    """Summarise a graph in one line."""
    counts = Counter(step.op for step in facts.steps)
    parts = [count_text(counts[op], noun) for op, noun in KINDS.items() if counts[op]]
    unused = [step.name for step in facts.steps if not step.users and step.op not in ("output", "placeholder")]
    if unused:
        parts.append(f"not used: {', '.join(unused[:3])}" + (f" and {len(unused) - 3} more" if len(unused) > 3 else ""))
    return ", ".join(parts) if parts else "an empty graph"


def traced_svg(facts: TracedFacts) -> Markup:
    """Draw the nodes of a graph as one SVG: the first ``MOST`` of a large one."""
    steps = facts.steps[:MOST]
    boxes = {step.name: _box(step) for step in steps}
    edges = [(used, step.name) for step in steps for used in step.inputs if used in boxes]
    modules = {step.name: step.module for step in steps
               if step.module and step.op != "get_attr"} if len(facts.steps) <= FEW else {}
    told = ". ".join([f"graph of {facts.name}: {summary(facts)}", *(_line(step) for step in steps[:TOLD])])
    return draw_boxes(boxes, edges, told, modules)


def _box(step: CallFacts) -> Box:
    first = step.target if step.op not in ("placeholder", "output") else step.name
    second = " · ".join(filter(None, [step.name if first != step.name else "", step.value]))
    title = "\n".join(filter(None, [step.op, step.line or f"{step.name}({step.arguments})", step.module]))
    return Box(first, second, title, LOOKS.get(step.op, ""))


def _line(step: CallFacts) -> str:
    """Return a node in words: its name and type, and the call."""
    value = f": {step.value}" if step.value else ""
    if step.op in ("placeholder", "get_attr"):
        return f"{step.name}{value} = {KINDS[step.op]} {step.target}"
    if step.op == "output":
        return f"return {step.arguments}"
    return f"{step.name}{value} = {step.target}({step.arguments})"


def _table(facts: TracedFacts) -> Markup:
    rows = [row(tag("b", step.name), soft(step.op), breakable(step.target), breakable(step.arguments),
                mono(step.value), soft(step.module)) for step in facts.steps[:MAX_ROWS]]
    count = count_text(len(facts.steps), "node")
    if len(rows) < len(facts.steps):
        count += f", of which the first {len(rows)} are listed"
    head = ("node", "kind", "target", "arguments", "value", "in module")
    return tag("details", tag("summary", "the nodes as a table"), table(head, rows, count))


def traced_text(facts: TracedFacts) -> str:
    """Draw a graph for a terminal: a line for each node, in the order of execution."""
    return "\n".join([f"{facts.name} · {summary(facts)}", *_lines(facts)])


def _lines(facts: TracedFacts) -> Iterator[str]:
    module = ""
    for step in facts.steps:
        if step.module != module:
            module = step.module
            yield f"  in {module}:" if module else "  outside of modules:"
        yield f"    {_line(step)}"
