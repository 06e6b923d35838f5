"""Mistakes that readers of lesson 24 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

from functools import partial

from mindtorch.course.masters import Mistake, edited, solution

changed = partial(edited, "dtensor.plan")
plan = solution("dtensor.plan")

MISTAKES = (
    changed("Gathering both factors is always right, and rarely the cheapest: look for rows in which parts suffice.",
            ("rows = [(R, R, R), ", "rows = [(R, R, R)] or [")),
    changed("Return four values: goals for a and b, the product's placement, the bytes.",
            ("return *best, price(best)", "return best")),
    changed("Return the bytes last, after the three placements.",
            ("return *best, price(best)", "return price(best), *best")),
    changed("A row of a and all of b give a row of the product: (S(0), R) gives S(0).", ("(S0, R, S0), ", "")),
    changed("All of a and a column of b give a column of the product: (R, S(1)) gives S(1).", ("(R, S1, S1), ", "")),
    changed("Columns of a and rows of b fit together: each rank has some terms of the sum, (S(1), S(0)) gives P.",
            ("(S1, S0, P), ", "")),
    changed("A product is linear in a: (P, R) gives P, without a collective.", ("(P, R, P), ", "")),
    changed("A product is linear in b: (R, P) gives P, without a collective.", (", (R, P, P)", "")),
    changed("Columns of a and rows of b give sums that are still to be added: P, not R.",
            ("(S1, S0, P)", "(S1, S0, R)")),
    changed("It is the columns of a that meet the rows of b: (S(1), S(0)), not (S(0), S(1)).",
            ("(S1, S0, P)", "(S0, S1, P)")),
    changed("It is the columns of a that meet the rows of b: (S(1), S(0)), not (S(0), S(1)).",
            ("(S1, S0, P), ", ""), ("[(R, R, R), ", "[(R, R, R), (S0, S1, P), ")),
    changed("The product of two sums is not the sum of products: (P, P) is no row.",
            ("(R, P, P)]", "(R, P, P), (P, P, P)]")),
    changed("Rows of a times rows of b do not fit: the columns of a meet the rows of b.",
            ("(S0, R, S0)", "(S0, S0, S0)")),
    changed("b may be divided by columns, not by rows, if a is whole.", ("(R, S1, S1)", "(R, S0, S0)")),
    changed("From R to a shard, or to P, each rank takes its part: nothing is sent.",
            ("if source in (goal, R):", "if source == goal:")),
    changed("What lies well already costs nothing.", ("if source in (goal, R):", "if source == R:")),
    changed("A rank sends N (n - 1) / n bytes, since its own part stays.", ("nbytes * (n - 1) / n", "nbytes")),
    changed("A rank sends N (n - 1) / n bytes: n - 1 steps of an n-th.", ("nbytes * (n - 1) / n", "nbytes / n")),
    changed("An all-reduce, from P to R, has two rounds: it costs twice an all-gather.",
            ("return 2 * share if source == P else share", "return share")),
    changed("From one shard to the other is an all-to-all: each rank has N / n bytes, and sends (n - 1) / n of them.",
            ("return share / n", "return share")),
    changed("From P to a shard is a reduce-scatter: one round, N (n - 1) / n.",
            ("        return share\n\n", "        return 2 * share\n\n")),
    changed("Both factors count: add the bytes for a and for b.",
            (" + sent(b, row[1], b_bytes)", "")),
    changed("Both factors count: add the bytes for a and for b.",
            ("return sent(a, row[0], a_bytes) + ", "return ")),
    changed("Each factor has bytes of its own.", ("sent(b, row[1], b_bytes)", "sent(b, row[1], a_bytes)")),
    changed("Report the bytes for the row that you return.", ("return *best, price(best)", "return *best, 0")),
    Mistake("Return placements, such as Shard(0), not texts.", lambda *args: (*map(str, plan(*args)[:3]), 0)),
)

MISTAKES_OF = {"plan": MISTAKES}
HIDDEN = {"plan": (("S(1)", "S(1)", 128, 8, 8, 8), ("P", "S(0)", 32, 32, 8, 8), ("S(0)", "P", 8, 16, 16, 2))}
