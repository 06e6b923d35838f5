"""Mistakes that readers of lesson 19 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

import math
from functools import partial

from mindtorch.course.masters import edited

changed = partial(edited, "symbols.ask")
RESULT = "return answer, not (always or never)"
PRODUCTS = "[0 if 0 in (x, y) else x * y for x in (a, b) for y in (c, d)]"

MISTAKES = (
    changed("Not every answer is a guard: if the ranges leave no room for the other one, nothing is restricted.",
            (RESULT, "return answer, True")),
    changed("Without guards a program is used for sizes for which the answer is another one.",
            (RESULT, "return answer, False")),
    changed("Return two truth values: the answer, and whether it is a guard.", (RESULT, "return answer")),
    changed("It is a guard if the ranges do not decide it, not if they do.",
            (RESULT, "return answer, always or never")),
    changed("An answer that is never true is decided, too: False for all sizes is no guard.",
            (RESULT, "return answer, not always")),
    changed("An answer that is always true is decided, too.", (RESULT, "return answer, not never")),
    changed("The answer is that of the sizes at hand; always and never are about the ranges.",
            (RESULT, "return always, not (always or never)")),
    changed("The answer is that of the sizes at hand, not that of the smallest ones.",
            ("x, y = value(left), value(right)", "x, y = bounds(left)[0], bounds(right)[0]")),
    changed("Ranges are given: a size may lie between 8 and 16.",
            ("return ranges[e] if", "return (2, math.inf) if")),
    changed("The range of a number has both ends at the number.", ("else (e, e)", "else (e, math.inf)")),
    changed("The ends of a product may be any of the four products of ends: -1 * a is smallest where a is largest.",
            (PRODUCTS, "[0 if 0 in (x, y) else x * y for x, y in ((a, c), (b, d))]")),
    changed("0 * inf is nan, and every comparison with nan is False: a product with 0 is 0.",
            (PRODUCTS, "[x * y for x in (a, b) for y in (c, d)]")),
    changed("The ends of a sum are the sums of the ends: smallest with smallest, largest with largest.",
            ("return a + c, b + d", "return a + d, b + c")),
    changed("A remainder is at most one less than the divisor.", ("return 0, d - 1", "return 0, d")),
    changed("The bounds of a remainder are 0 and the divisor less one: the remainders of the ends do not count.",
            ("return 0, d - 1", "return a % c, (b if b < math.inf else 2 ** 30) % d")),
    changed("inf // 2 is nan in Python: leave an infinite end as it is.",
            ("end if math.isinf(end) else end // c", "end // c")),
    changed("// rounds down: 3 // 2 is 1, and not 1.5.", ("left // (right or 1)", "left / (right or 1)")),
    changed("// rounds down in the bounds, too: 15 // 4 is 3.",
            ("end if math.isinf(end) else end // c", "end if math.isinf(end) else end / c")),
    changed("< is always true only if the largest left side is less than the smallest right side: mind equal ends.",
            ('"<": (x < y, b < c, a >= d)', '"<": (x < y, b <= c, a >= d)')),
    changed(">= has room for True if the ends are equal: it is never true only if the largest left side is smaller.",
            ("a >= d, b < c),", "a >= d, b <= c),")),
    changed("<= is always true if the ends meet: 5 <= 5.", ('"<=": (x <= y, b <= c, a > d)',
                                                           '"<=": (x <= y, b < c, a > d)')),
    changed("> is never true if the ends meet: 5 > 5 is False.", ("a > d, b <= c),", "a > d, b < c),")),
    changed("Two sides with the same range need not be equal: == is always true only for one number on both sides.",
            ("a == b == c == d, b < c or d < a),", "(a, b) == (c, d), b < c or d < a),")),
    changed("== is never true if the ranges do not meet.",
            ("a == b == c == d, b < c or d < a),", "a == b == c == d, False),")),
    changed("!= is always true if the ranges do not meet.",
            ("(x != y, b < c or d < a, a == b == c == d)", "(x != y, False, a == b == c == d)")),
)

MISTAKES_OF = {"ask": MISTAKES}
HIDDEN = {"ask": (
    (("<", ("*", ("+", "a", -3), ("+", "b", -10)), 1), {"a": 3, "b": 6}, {"a": (2, 4), "b": (5, 9)}),
    (("==", ("+", ("*", ("//", "a", 3), 3), ("%", "a", 3)), "b"), {"a": 11, "b": 11}, {}),
    ((">=", ("+", ("*", -1, "a"), "b"), -3), {"a": 4, "b": 2}, {"a": (2, 5), "b": (2, math.inf)}),
)}
