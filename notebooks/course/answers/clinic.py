"""Mistakes that readers of lesson 15 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

from mindtorch.course.masters import Mistake

TEXTS = ("a @ b.t()", "a.t() @ b", "a.t() @ b.t()", "b @ a")


def _cures(a, b, *, swap=False, texts=TEXTS):
    """The products that work; with ``swap``, for the wrong operand turned round."""
    turned = {"a @ b.t()": a[1] == b[1], "a.t() @ b": a[0] == b[0], "a.t() @ b.t()": a[0] == b[1],
              "b @ a": b[1] == a[0]}
    if swap:
        turned["a @ b.t()"], turned["a.t() @ b"] = turned["a.t() @ b"], turned["a @ b.t()"]
    return [text for text in texts if turned[text]]


def _explain(*, fits=lambda a, b: a[1] == b[0], sizes=lambda a, b: (a[1], b[0]), cures=_cures, fine=None):
    """An explanation that is right, but for what is said."""
    return lambda a, b: fine if fits(a, b) else (*sizes(a, b), cures(a, b))


MISTAKES = (
    Mistake("If the product works there is nothing to explain: return None.", _explain(fits=lambda a, b: False)),
    Mistake("If the product works there is nothing to explain: return None.", _explain(fine="")),
    Mistake("If the product works there is nothing to explain: return None.", _explain(fine=True)),
    Mistake("If the product works there is nothing to explain: return None.", _explain(fine=[])),
    Mistake("A product does not need two equal shapes: a's columns are paired with b's rows, a[1] with b[0].",
            _explain(fits=lambda a, b: a == b)),
    Mistake("Equal shapes are not enough: a's columns are paired with b's rows, a[1] with b[0].",
            _explain(fits=lambda a, b: a == b or a[1] == b[0])),
    Mistake("Compare the columns of a, a[1], with the rows of b, b[0], not a[0] with b[1].",
            _explain(fits=lambda a, b: a[0] == b[1])),
    Mistake("The columns of a are paired with the rows of b, not with its columns.",
            _explain(fits=lambda a, b: a[1] == b[1])),
    Mistake("The two sizes are a's columns, a[1], and b's rows, b[0].",
            _explain(sizes=lambda a, b: (a[0], b[1]))),
    Mistake("The size of a comes first.", _explain(sizes=lambda a, b: (b[0], a[1]))),
    Mistake("The two sizes are a's columns and b's rows: one of yours is the size of the wrong dimension.",
            _explain(sizes=lambda a, b: (a[1], b[1]))),
    Mistake("The two sizes are a's columns and b's rows: one of yours is the size of the wrong dimension.",
            _explain(sizes=lambda a, b: (a[0], b[0]))),
    Mistake("Return two numbers, not the shapes.", _explain(sizes=lambda a, b: (a, b))),
    Mistake("List only the products that would work.", _explain(cures=lambda a, b: list(TEXTS))),
    Mistake("The products that would work are missing from the list.", _explain(cures=lambda a, b: [])),
    Mistake("List all products that would work, not only the first.",
            _explain(cures=lambda a, b: _cures(a, b)[:1])),
    Mistake("Return a list even if only one product would work.",
            _explain(cures=lambda a, b: (_cures(a, b) or [None])[0])),
    Mistake("The order of the list is a @ b.t(), a.t() @ b, a.t() @ b.t(), b @ a.",
            _explain(cures=lambda a, b: _cures(a, b)[::-1])),
    Mistake("If nothing helps return an empty list, not None.",
            _explain(cures=lambda a, b: _cures(a, b) or None)),
    Mistake("b.t() transposes the second matrix, a.t() the first: these two are exchanged.",
            _explain(cures=lambda a, b: _cures(a, b, swap=True))),
    Mistake("Transposing both may help, too: a.t() @ b.t().",
            _explain(cures=lambda a, b: _cures(a, b, texts=(TEXTS[0], TEXTS[1], TEXTS[3])))),
    Mistake("The other order may help, too: b @ a.", _explain(cures=lambda a, b: _cures(a, b, texts=TEXTS[:3]))),
    Mistake("Return three things: two sizes, and the list.", lambda a, b: (
        None if a[1] == b[0] else _cures(a, b))),
    Mistake("Return three things: two sizes, and the list.", lambda a, b: (
        None if a[1] == b[0] else ((a[1], b[0]), _cures(a, b)))),
    Mistake("Nothing is explained yet: where a[1] and b[0] differ, return three things.", lambda a, b: None),
)

MISTAKES_OF = {"product": MISTAKES}
HIDDEN = {"product": (((1, 6), (6, 1)), ((1, 6), (1, 6)))}
