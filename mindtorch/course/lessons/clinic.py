"""Lesson 15: what is wrong with this program?"""
from __future__ import annotations

from ..tasks import Lab, Lesson, Mistake, Prediction

PREDICTIONS = (
    Prediction("loss", "out has the shape (8, 1) and y the shape (8,). The loss is the mean of the squares of out - y. "
               "Of how many numbers is it the mean?", 64,
               "A column and a row broadcast to 8 by 8: every prediction is compared with every target. The mean is "
               "smallest where all predictions are the same."),
    Prediction("third", "The loop does not call zero_grad. The gradient of each pass is 2. What is w.grad after the "
               "third?", 6, "Leaves add what arrives. A step then goes along all gradients since the beginning, and "
               "the steps grow."),
    Prediction("tower", "The tower has five layers, each with a weight and a bias; four of the layers are in a list. "
               "How many tensors does tower.parameters() find?", 2,
               "A list is no module, so what is in it is not found, not learnt, not saved and not moved to a device. "
               "torch.nn.ModuleList is the cure."),
    Prediction("leaf", "w requires grad and is a leaf. What does w -= 0.1 * w.grad raise, outside of no_grad()?",
               "RuntimeError", "A leaf that requires grad cannot be written where writes are recorded: it would "
               "stop being a leaf."),
)


def explain_product(a, b):
    def works(first, second):
        return first[1] == second[0]

    if works(a, b):
        return None
    turned_a, turned_b = a[::-1], b[::-1]
    tried = {"a @ b.t()": (a, turned_b), "a.t() @ b": (turned_a, b), "a.t() @ b.t()": (turned_a, turned_b),
             "b @ a": (b, a)}
    return a[1], b[0], [text for text, (first, second) in tried.items() if works(first, second)]


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
    Mistake("If the product works there is nothing to explain: return None, and nothing else.", _explain(fine="")),
    Mistake("If the product works there is nothing to explain: return None, and nothing else.", _explain(fine=True)),
    Mistake("If the product works there is nothing to explain: return None, and nothing else.", _explain(fine=[])),
    Mistake("A product does not need two equal shapes: a's columns are paired with b's rows, a[1] with b[0].",
            _explain(fits=lambda a, b: a == b)),
    Mistake("Two matrices of one shape do not fit for that: a's columns are paired with b's rows, a[1] with b[0].",
            _explain(fits=lambda a, b: a == b or a[1] == b[0])),
    Mistake("The columns of a, a[1], are paired with the rows of b, b[0], and not a[0] with b[1].",
            _explain(fits=lambda a, b: a[0] == b[1])),
    Mistake("The columns of a are paired with the rows of b, and not with its columns.",
            _explain(fits=lambda a, b: a[1] == b[1])),
    Mistake("The two sizes are a's columns, a[1], and b's rows, b[0].",
            _explain(sizes=lambda a, b: (a[0], b[1]))),
    Mistake("The size of a comes first.", _explain(sizes=lambda a, b: (b[0], a[1]))),
    Mistake("The two sizes are a's columns and b's rows: one is that of the wrong dimension.",
            _explain(sizes=lambda a, b: (a[1], b[1]))),
    Mistake("The two sizes are a's columns and b's rows: one is that of the wrong dimension.",
            _explain(sizes=lambda a, b: (a[0], b[0]))),
    Mistake("Two numbers are asked for, and not the shapes.", _explain(sizes=lambda a, b: (a, b))),
    Mistake("Only those products are listed that would work.", _explain(cures=lambda a, b: list(TEXTS))),
    Mistake("The products that would work are missing from the list.", _explain(cures=lambda a, b: [])),
    Mistake("All products that would work are listed, and not the first alone.",
            _explain(cures=lambda a, b: _cures(a, b)[:1])),
    Mistake("A list is asked for, also where there is one product alone.",
            _explain(cures=lambda a, b: (_cures(a, b) or [None])[0])),
    Mistake("The order of the list is a @ b.t(), a.t() @ b, a.t() @ b.t(), b @ a.",
            _explain(cures=lambda a, b: _cures(a, b)[::-1])),
    Mistake("The list is empty where nothing helps, and not None.",
            _explain(cures=lambda a, b: _cures(a, b) or None)),
    Mistake("b.t() turns the second round, a.t() the first: these two are exchanged.",
            _explain(cures=lambda a, b: _cures(a, b, swap=True))),
    Mistake("Turning both round may help, too: a.t() @ b.t().",
            _explain(cures=lambda a, b: _cures(a, b, texts=(TEXTS[0], TEXTS[1], TEXTS[3])))),
    Mistake("The other order may help, too: b @ a.", _explain(cures=lambda a, b: _cures(a, b, texts=TEXTS[:3]))),
    Mistake("Three things are returned: two sizes, and the list.", lambda a, b: (
        None if a[1] == b[0] else _cures(a, b))),
    Mistake("Three things are returned: two sizes, and the list.", lambda a, b: (
        None if a[1] == b[0] else ((a[1], b[0]), _cures(a, b)))),
    Mistake("Nothing is explained yet: where a[1] and b[0] differ, three things are returned.", lambda a, b: None),
)

LESSON = Lesson(
    15, "clinic", "What is wrong with this program?", "15_clinic", 40, PREDICTIONS,
    (Lab(
        "product", "Why does a product fail?", explain_product,
        (((2, 3), (4, 3)), ((2, 3), (3, 4)), ((2, 3), (2, 5)), ((2, 3), (5, 2)), ((2, 3), (5, 7)), ((4, 4), (4, 4)),
         ((2, 3), (2, 3)), ((3, 4), (3, 3)), ((2, 3), (2, 2))),
        ("Two matrices fit if the columns of the first, shape[1], are as many as the rows of the second, shape[0].",
         "Transposing swaps the two numbers of a shape. Try the four products one after the other, each with the "
         "shapes that it would have.",
         "return a[1], b[0], and a list of \"a @ b.t()\" if a[1] == b[1], \"a.t() @ b\" if a[0] == b[0], and so on"),
        MISTAKES, 4, hidden=(((1, 6), (6, 1)), ((1, 6), (1, 6)))),
     ),
)
