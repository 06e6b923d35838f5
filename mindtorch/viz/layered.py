"""Layered drawing of a directed acyclic graph (Sugiyama's method): layers, order in them, coordinates."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

GAP_X, GAP_Y, DUMMY = 18.0, 34.0, 6.0
Item = Any  # a node, or a dummy: a place where a long edge passes a layer. Hashable


@dataclass
class Placed:
    """A node's box: centre and size, in pixels."""

    x: float
    y: float
    width: float
    height: float


@dataclass
class Layout:
    """Boxes by node, and for every edge the points it goes through."""

    boxes: dict[Item, Placed]
    paths: dict[tuple[Item, Item], list[tuple[float, float]]]
    width: float
    height: float


def layout(sizes: Mapping[Item, tuple[float, float]], edges: Sequence[tuple[Item, Item]]) -> Layout:
    """Place nodes of the given sizes so that every edge goes down; their order settles what else is open."""
    below: dict[Item, list[Item]] = {node: [] for node in sizes}
    above: dict[Item, list[Item]] = {node: [] for node in sizes}
    for tail, head in edges:
        if head not in below[tail]:
            below[tail].append(head)
            above[head].append(tail)
    layer = _layers(below, above)
    lanes, chains = _with_dummies(layer, below)
    _order(lanes, chains)
    width_of = {item: sizes[item][0] if item in sizes else DUMMY for lane in lanes for item in lane}
    x = _coordinates(lanes, chains, width_of)
    boxes: dict[Item, Placed] = {}
    centres: dict[Item, tuple[float, float]] = {}
    y = 8.0
    for lane in lanes:
        height = max((sizes[item][1] for item in lane if item in sizes), default=20.0)
        for item in lane:
            centres[item] = (x[item], y + height / 2)
            if item in sizes:
                boxes[item] = Placed(x[item], y + height / 2, *sizes[item])
        y += height + GAP_Y
    paths = {}
    for (tail, head), inner in chains.items():
        paths[tail, head] = [centres[tail], *(centres[d] for d in inner), centres[head]]
    width = max((x[i] + width_of[i] / 2 for i in x), default=0.0) + 8
    return Layout(boxes, paths, width, y - GAP_Y + 8)


def _layers(below: Mapping[Item, list[Item]], above: Mapping[Item, list[Item]]) -> dict[Item, int]:
    """Return each node's layer: the longest path from a node without predecessors."""
    waiting = {node: len(before) for node, before in above.items()}
    ready = [node for node, count in waiting.items() if not count]
    layer = dict.fromkeys(ready, 0)
    while ready:
        node = ready.pop()
        for successor in below[node]:
            layer[successor] = max(layer.get(successor, 0), layer[node] + 1)
            waiting[successor] -= 1
            if not waiting[successor]:
                ready.append(successor)
    # a leaf stands right below the last that needs it
    for node in sorted(layer, key=lambda n: -layer[n]):
        if not below[node] and above[node]:
            layer[node] = min(layer[node], max(layer[a] for a in above[node]) + 1)
    return layer


def _with_dummies(layer: dict[Item, int], below: Mapping[Item, list[Item]]) -> tuple[
        list[list[Item]], dict[tuple[Item, Item], list[Item]]]:
    lanes: list[list[Item]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for node, number in layer.items():
        lanes[number].append(node)
    chains: dict[tuple[Item, Item], list[Item]] = {}
    for tail, heads in below.items():
        for head in heads:
            inner: list[Item] = [("dummy", tail, head, i) for i in range(layer[tail] + 1, layer[head])]
            for level, item in enumerate(inner, layer[tail] + 1):
                lanes[level].append(item)
            chains[tail, head] = inner
    return lanes, chains


def _neighbours(chains: Mapping[tuple[Item, Item], list[Item]]) -> tuple[dict, dict]:
    up: dict[Item, list[Item]] = {}
    down: dict[Item, list[Item]] = {}
    for (tail, head), inner in chains.items():
        way = [tail, *inner, head]
        for a, b in pairwise(way):
            down.setdefault(a, []).append(b)
            up.setdefault(b, []).append(a)
    return up, down


def _order(lanes: list[list[Item]], chains: Mapping[tuple[Item, Item], list[Item]]) -> None:
    """Reduce crossings: sort each layer by the mean place of its neighbours, down and up a few times."""
    up, down = _neighbours(chains)
    place = {item: float(i) for lane in lanes for i, item in enumerate(lane)}
    for sweep in range(8):
        neighbours = up if sweep % 2 == 0 else down
        for lane in lanes if sweep % 2 == 0 else reversed(lanes):
            near = {item: neighbours.get(item, [item]) for item in lane}
            mean = {item: sum(place[n] for n in items) / len(items) for item, items in near.items()}
            lane.sort(key=mean.__getitem__)
            place.update((item, float(i)) for i, item in enumerate(lane))


def _coordinates(lanes: list[list[Item]], chains: Mapping[tuple[Item, Item], list[Item]],
                 width: Mapping[Item, float]) -> dict[Item, float]:
    """Pull every node towards the mean of its neighbours, keeping order and distance."""
    up, down = _neighbours(chains)
    x: dict[Item, float] = {}
    for lane in lanes:
        at = 8.0
        for item in lane:
            x[item] = at + width[item] / 2
            at += width[item] + GAP_X
    for sweep in range(12):
        neighbours = down if sweep % 2 else up
        for lane in lanes if sweep % 2 == 0 else reversed(lanes):
            wanted = dict.fromkeys(lane, 0.0)
            for item in lane:
                # Long lines, and chains of nodes, shall be straight: like pulls like more strongly.
                near = neighbours.get(item, [item])
                pull = [4.0 if (width[n] == DUMMY) == (width[item] == DUMMY) else 1.0 for n in near]
                wanted[item] = sum(x[n] * force for n, force in zip(near, pull, strict=True)) / sum(pull)
            _spread(lane, wanted, width, x)
    left = min((x[item] - width[item] / 2 for item in x), default=8.0)
    return {item: value - left + 8.0 for item, value in x.items()}


def _spread(lane: list[Item], wanted: Mapping[Item, float], width: Mapping[Item, float], x: dict[Item, float]) -> None:
    """Set positions nearest to the wanted ones, without overlaps: merge neighbours that collide into blocks."""
    blocks: list[tuple[float, float, list[tuple[Item, float]]]] = []  # left edge, length, items with offsets
    for item in lane:
        left, length, items = wanted[item] - width[item] / 2, width[item], [(item, width[item] / 2)]
        while blocks and blocks[-1][0] + blocks[-1][1] + GAP_X > left:
            _, other_length, others = blocks.pop()
            shift = other_length + GAP_X
            items = [*others, *((i, o + shift) for i, o in items)]
            length += shift
            left = sum(wanted[i] - o for i, o in items) / len(items)
        blocks.append((left, length, items))
    for left, _, items in blocks:
        for item, offset in items:
            x[item] = left + offset
