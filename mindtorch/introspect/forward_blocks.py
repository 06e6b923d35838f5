"""Folds a forward pass: which of its steps are drawn as one, and how tensors flow between those of one level.

A module is a block, and what it called is inside. Functions one after the other that pass a single tensor on are one
block, and so are modules one after the other that are equal in everything but their names and numbers.
"""
from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .forward_pass import UNSEEN, Step, Value, walk
from .repeats import repeats, span

CHAIN = 4  #: functions at most of one block
WORTH = 3  #: steps at least of a repeated pattern that is drawn once


@dataclass(frozen=True)
class Flow:
    """Tensors that come into a block from the one at the place ``source`` of the same level; -1: from outside."""

    source: int
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Block:
    """Steps that are drawn as one: all of them in ``steps``; if ``times`` is more than 1, that many equal pieces, the
    first of which is drawn. ``parts`` are its contents, ``is_chained`` says whether each piece takes what the one
    before it made. ``flows`` are where its tensors come from, the nearest block last.
    """

    label: str
    kind: str
    steps: tuple[Step, ...]
    parts: tuple[Block, ...]
    times: int = 1
    is_chained: bool = True
    flows: tuple[Flow, ...] = ()

    @property
    def piece(self) -> tuple[Step, ...]:
        """The steps of the first piece."""
        return self.steps[: len(self.steps) // self.times]

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The values that the last step returned."""
        return self.steps[-1].outputs

    def total(self, what: str) -> int:
        """Sum a figure of all steps; parameters of a module that is called several times count once."""
        if what.startswith("parameter"):
            return sum({(step.path, step.kind): getattr(step, what) for step in self.steps}.values())
        return sum(getattr(step, what) for step in self.steps)


def blocks(steps: Sequence[Step]) -> tuple[Block, ...]:
    """Fold the steps of one level."""
    used = _uses(steps)
    found: list[Block] = []
    for step in steps:
        last = found[-1] if found else None
        if last is not None and _goes_on(last, step, used):
            found[-1] = replace(last, label=f"{last.label} · {step.name}", steps=(*last.steps, step))
        else:
            found.append(Block(step.name, step.kind, (step,), blocks(step.parts) if _is_open(step) else ()))
    return with_flows(_repeated(found))


def _is_open(step: Step) -> bool:
    """Return True if a module shows more than it is: not if all that it does is to call one function."""
    return len(step.parts) > 1 or any(part.kind for part in step.parts)


def _uses(steps: Iterable[Step]) -> dict[int, int]:
    """Return in how many steps of a level what a step made is used."""
    found: dict[int, int] = {}
    for step in steps:
        for number in {number for inner in walk([step]) for number, _ in inner.sources}:
            found[number] = found.get(number, 0) + 1
    return found


def _goes_on(last: Block, step: Step, used: dict[int, int]) -> bool:
    """Return True if a function only goes on with the one tensor that the function before it made."""
    before = last.steps[-1]
    return (not step.kind and not last.kind and len(last.steps) < CHAIN and not step.error and not step.reads
            and len(before.outputs) == 1 and [number for number, _ in step.sources] == [before.number]
            and used.get(before.number) == 1)


def _repeated(found: list[Block]) -> tuple[Block, ...]:
    """Draw repeated patterns once."""
    result: list[Block] = []
    known: dict[Hashable, int] = {}
    keys = [known.setdefault(tuple(map(_key, block.steps)), len(known)) for block in found]
    for start, period, times in repeats(keys, least=2):
        run = found[start : start + period * times]
        steps = tuple(step for block in run for step in block.steps)
        if times == 1 or sum(1 for _ in walk(steps)) < WORTH * times or any(step.failed for step in steps):
            result += run
            continue
        pieces = [run[i : i + period] for i in range(0, len(run), period)]
        made = [{inner.number for block in piece for inner in walk(block.steps)} for piece in pieces]
        taken = {number for block in pieces[1] for inner in walk(block.steps) for number, _ in inner.sources}
        first = pieces[0]
        named = next((i for i, block in enumerate(first) if block.kind), 0)  # a pattern is called after its modules
        label = span([block.label for block in run[named::period]])
        parts = first[0].parts if period == 1 else with_flows(tuple(first))
        result.append(Block(label, first[0].kind if period == 1 else "", steps, parts, times, bool(taken & made[0])))
    return tuple(result)


def _key(step: Step) -> Hashable:
    """Equal for steps that look alike but for names and figures."""
    types = tuple((value.dtype, value.shape) for value in step.outputs)
    return (step.name if not step.kind else step.kind, step.extra, types, step.parameters, step.error,
            tuple((value.dtype, value.shape) for _, value in step.sources), tuple(map(_key, step.parts)))


def with_flows(level: Sequence[Block], twins: Mapping[int, int] | None = None) -> tuple[Block, ...]:
    """Find the blocks of one or more levels that pass tensors to each other; ``twins`` are the numbers of the steps
    that stand for others.
    """
    twins = twins or {}
    place: dict[int, int] = {}
    found = []
    for i, block in enumerate(level):
        inside = {inner.number for inner in walk(block.steps)}
        flows: dict[int, dict[tuple[int, tuple[int, ...], str], Value]] = {}
        for step in walk(block.steps):
            for number, value in step.sources:
                if number not in inside and number != UNSEEN:
                    source = place.get(twins.get(number, number), -1)
                    flows.setdefault(source, {})[number, value.shape, value.dtype] = value
        place.update(dict.fromkeys(inside, i))
        found.append(replace(block, flows=tuple(
            Flow(source, tuple(values.values())) for source, values in sorted(flows.items()))))
    return tuple(found)


def sources_of(level: Sequence[Block], results: Iterable[tuple[int, Value]],
               twins: Mapping[int, int] | None = None) -> tuple[Flow, ...]:
    """Return from which blocks of a level results come."""
    place = {step.number: i for i, block in enumerate(level) for step in walk(block.steps)}
    flows: dict[int, list[Value]] = {}
    for number, value in results:
        flows.setdefault(place.get((twins or {}).get(number, number), -1), []).append(value)
    return tuple(Flow(source, tuple(values)) for source, values in sorted(flows.items()))
