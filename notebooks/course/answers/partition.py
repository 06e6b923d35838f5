"""Mistakes that readers of lesson 21 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

from functools import partial
from itertools import combinations

from mindtorch.course.masters import Mistake, edited

changed = partial(edited, "partition.choose")
CAPACITY = ', capacity=value.bytes)'
KEEP = """if (value.name, "in") in reached and (value.name, "out") not in reached]"""


def _fewest(values):
    """The fewest names, whatever their bytes."""
    for count in range(len(values) + 1):
        for kept in combinations([value.name for value in values], count):
            known = set()
            for value in values:
                if value.name in kept or (value.cheap and known.issuperset(value.reads)):
                    known.add(value.name)
            if all(value.name in known for value in values if value.needed):
                return list(kept)


MISTAKES = (
    Mistake("This keeps all that is needed. Something smaller, from which that is computed, may do.",
            lambda values: [value.name for value in values if value.needed]),
    Mistake("This keeps all that is dear. Something smaller that is computed from it may do.",
            lambda values: [value.name for value in values if not value.cheap]),
    Mistake("This keeps everything: only what the backward pass cannot get otherwise has to be kept.",
            lambda values: [value.name for value in values]),
    Mistake("The backward pass needs values: they must be kept, or computed from what is kept.", lambda values: []),
    Mistake("What is dear and needed must be kept, and what is cheap must be had somehow, too.",
            lambda values: [value.name for value in values if value.needed and not value.cheap]),
    Mistake("What is needed and cannot be computed from needed values is not all: look for the smallest set as a "
            "whole, not value by value.",
            lambda values: [value.name for value in values if value.needed and (not value.cheap or not any(
                other.needed for other in values if other.name in value.reads))]),
    Mistake("Return names, not the values themselves.",
            lambda values: [value for value in values if value.needed]),
    changed("The cut is where the water stops: keep a value if \"in\" is reached and \"out\" is not.",
            (KEEP, 'if (value.name, "in") in reached and (value.name, "out") in reached]')),
    changed("The cut is where the water stops: keep a value if \"in\" is reached and \"out\" is not.",
            (KEEP, 'if (value.name, "out") not in reached]')),
    changed("Each value counts by its bytes, not as one: a thousand bytes are more than two times four.",
            ("capacity=value.bytes", "capacity=1")),
    Mistake("Each value counts by its bytes, not as one: a thousand bytes are more than two times four.", _fewest),
    changed("A value may be computed from several: an edge from each of them.",
            ("for name in value.reads:", "for name in value.reads[:1]:")),
    changed("Every dear value lets water in, not only those without reads: a product is dear, too.",
            ("if not value.cheap:", "if not value.reads:")),
    changed("Cheap values do not let water in: they can be computed again.",
            ("if not value.cheap:", "if not value.cheap or not value.reads:")),
    changed("Water leaves at every value that is needed, not only at those that nothing else is computed from.",
            ("if value.needed:", "if value.needed and not any(value.name in other.reads for other in values):")),
    changed("Water leaves at what the backward pass needs, not at the ends of the forward pass.",
            ("if value.needed:", "if not any(value.name in other.reads for other in values):")),
    changed("A needed value must leave by its \"out\", behind its own pipe: to keep it is one of the ways.",
            ('network.add_edge((value.name, "out"), "sink")', 'network.add_edge((value.name, "in"), "sink", '
             'capacity=value.bytes)')),
    changed("A dear value's own pipe counts: water comes into its \"in\".",
            ('network.add_edge("source", (value.name, "in"))', 'network.add_edge("source", (value.name, "out"), '
             'capacity=value.bytes)')),
)

MISTAKES_OF = {"choose": MISTAKES}
HIDDEN = {"choose": (
    ("x: 64 dear; a: 64 of x; m: 32 of a dear; b: 32 of m needed; c: 8 of b; d: 32 of c needed; e: 4 of m, x needed",),
    ("x: 7 dear; y: 5 dear; a: 3 of x; b: 3 of y; c: 9 of a, b needed; d: 2 of c; e: 9 of d, b needed; f: 1 of e",))}
