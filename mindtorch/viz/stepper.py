"""Backward step by step: the graph with what ran, what runs and what waits; the gradients of the step shown."""
from __future__ import annotations

from collections.abc import Sequence

from ..introspect import GradientFacts, GraphFacts, NodeFacts, StepFacts
from .card import not_finite
from .graph_picture import Box, Picture, node_lines
from .html import Markup, join, page, row, table, tag
from .palette import mono, number_text, soft, type_text

BEFORE, AFTER = 10, 20  #: operators that are drawn before and after the one that ran last, of a larger graph


class _StepPicture(Picture):
    """The graph after some steps."""

    def __init__(self, facts: GraphFacts, taken: Sequence[StepFacts]):
        super().__init__(facts)
        self.ran = {step.node: step for step in taken}
        self.last = taken[-1].node if taken else 0
        self.arrived = {node: sum(source in self.ran for source in found) for node, found in self.sources.items()}

    def shown(self) -> list[int]:
        """Return the operators to draw: all of a small graph, else those around the last that ran."""
        operators = [node for node, facts in self.nodes.items() if not facts.variable]  # the order in which they run
        if len(operators) <= BEFORE + AFTER:
            return operators
        done = sum(node in self.ran for node in operators)
        start = min(max(0, done - BEFORE), len(operators) - BEFORE - AFTER)
        return operators[start : start + BEFORE + AFTER]

    def _node(self, node: NodeFacts) -> Box:
        first, kept = node_lines(node)
        step, many = self.ran.get(node.identity), len(self.sources.get(node.identity, ()))
        look = "leaf" if node.variable else ""
        if step is not None:
            mark, state = ("▶", "now") if node.identity == self.last else ("✓", "done")
            look += f" {state}" + " freed" * bool(step.freed)
            return Box(f"{mark} {first}", _outcome(step), f"step {step.number}: {step.name}", look)
        have = self.arrived.get(node.identity, 0)
        if have:
            marks = "●" * have + "○" * (many - have)
            return Box(f"{marks} {first}", f"{have} of {many} arrived", kept, f"{look} due")
        return Box(first, kept, first, look)


def _outcome(step: StepFacts) -> str:
    if step.is_leaf:
        return "grad " + _brief(step.total)
    freed = _freed(step)
    return f"{', '.join(map(_brief, step.arrived))}{' · freed ' + freed if freed else ''}"


def _freed(step: StepFacts) -> str:
    """Name what a node freed, each once."""
    return ", ".join(dict.fromkeys(saved.tensor or saved.name for saved in step.freed))


def _brief(gradient: GradientFacts | None) -> str:
    if gradient is None:
        return "no gradient"
    return " ".join([type_text(gradient.dtype, gradient.shape), _range(gradient)])


def _range(gradient: GradientFacts) -> str:
    s = gradient.statistics
    if s is None or s.minimum is None:
        return "not there yet" if s is None else ", ".join(not_finite(s, s.total))
    broken = list(not_finite(s, s.total))
    if s.minimum == s.maximum and s.is_exact and not broken:
        return f"= {number_text(s.minimum)}" if not gradient.shape else f"all {number_text(s.minimum)}"
    said = f"{number_text(s.minimum)} to {number_text(s.maximum)}"
    return ", ".join([said if s.is_exact else f"{s.sampled:,} sampled: {said}", *broken])


def _values(gradient: GradientFacts | None) -> Markup:
    if gradient is None:
        return soft("no gradient")
    total = gradient.statistics.total if gradient.statistics else 0
    few = ", ".join(map(number_text, gradient.values)) + ", …" * (total > len(gradient.values))
    type_ = mono(type_text(gradient.dtype, gradient.shape))
    return join([type_, soft(_range(gradient)), mono(f"[{few}]") if few else None], " ")


def stepper_page(facts: GraphFacts, taken: Sequence[StepFacts], total: int, error: str = "") -> Markup:
    """Draw the graph after the steps ``taken`` of ``total``, and what the last of them did."""
    picture = _StepPicture(facts, taken)
    summary = stepper_summary(facts, taken, total)
    drawn = tag("div", picture.draw(picture.shown(), summary), class_="mt-scroll", tabindex="0")
    wrong = tag("div", f"⚠ {error}", class_="mt-alert") if error else None
    beside = tag("div", drawn, _last(picture, taken), class_="mt-beside")
    inner = (tag("div", summary, class_="mt-summary"), wrong, beside, _legend())
    return page(tag("div", *inner, class_="mt-box"), kind="stepper", sheet="widgets")


def stepper_summary(facts: GraphFacts, taken: Sequence[StepFacts], total: int) -> str:
    """Say in one line how far backward is."""
    if not taken:
        return f"step 0 of {total}: nothing ran yet; the gradient of the result itself comes first"
    last = taken[-1]
    leaf = next((node.variable for node in facts.nodes if node.identity == last.node), "a leaf")
    did = f"a gradient was added to the grad of {leaf}" if last.is_leaf else f"{last.name} passed its gradients on"
    freed = f", freed {_freed(last)}" if last.freed else ""
    end = " · backward is complete" if len(taken) == total else ""
    return f"step {len(taken)} of {total}: {did}{freed}{end}"


def _last(picture: Picture, taken: Sequence[StepFacts]) -> Markup | None:
    if not taken:
        return None
    step = taken[-1]
    rows = [row("comes in", "", _values(gradient)) for gradient in step.arrived]
    for goal, _, gradient in step.sent:
        node = picture.nodes.get(goal)
        name = tag("b", node_lines(node)[0]) if node else soft("a node not drawn")
        rows.append(row("goes to", name, _values(gradient)))
    if step.is_leaf:
        rows.append(row("the leaf's grad is", "", _values(step.total)))
    rows.extend(row("lets go of", tag("b", saved.tensor or saved.name), mono(saved.text)) for saved in step.freed)
    return table(("", "", "gradient"), rows, f"step {step.number}: {step.name}")


def _legend() -> Markup:
    marks = (("▶", "ran last"), ("✓", "ran before"), ("●○", "gradients that arrived, and those to come"),
             ("dashed", "freed what it kept"))
    return tag("div", join((join([tag("b", mark), " ", text]) for mark, text in marks), " · "), class_="mt-soft")


def stepper_text(facts: GraphFacts, taken: Sequence[StepFacts], total: int, error: str = "") -> str:
    """Draw the same steps for a terminal."""
    names = {node.identity: node_lines(node)[0] for node in facts.nodes}
    lines = [stepper_summary(facts, taken, total)]
    lines += [f"{step.number:>4}  {names.get(step.node, step.name)}  {_outcome(step)}" for step in taken]
    return "\n".join([*lines, error] if error else lines)
