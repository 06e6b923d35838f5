"""Solutions of 'clinic.product'. The hint has a wrong one's docstring, or the text in `WRONG`."""
import mindtorch as torch


def right_by_cases(a, b):
    (rows_a, columns_a), (rows_b, columns_b) = a, b
    if columns_a != rows_b:
        cures = ["a @ b.t()"] * (columns_a == columns_b) + ["a.t() @ b"] * (rows_a == rows_b)
        return columns_a, rows_b, cures + ["a.t() @ b.t()", "b @ a"] * (rows_a == columns_b)


def right_by_trying(a, b):
    """Ask the library, with matrices on meta."""
    names = {"a": torch.empty(a, device="meta"), "b": torch.empty(b, device="meta")}

    def works(text):
        try:
            eval(text, names)
        except RuntimeError:
            return False
        return True

    if works("a @ b"):
        return None
    return [a[1], b[0], [text for text in ("a @ b.t()", "a.t() @ b", "a.t() @ b.t()", "b @ a") if works(text)]]


def cures(a, b):
    return right_by_cases(a, b)[2]


def wrong_nothing_fits(a, b):
    """there is nothing to explain: return None"""
    found = [text for text, ok in (("a @ b.t()", a[1] == b[1]), ("a.t() @ b", a[0] == b[0]),
                                   ("a.t() @ b.t()", a[0] == b[1]), ("b @ a", a[0] == b[1])) if ok]
    return a[1], b[0], found


def wrong_equal_shapes(a, b):
    """A product does not need two equal shapes"""
    if tuple(a) == tuple(b):
        return None
    return right_by_cases(a, b) or (a[1], b[0], wrong_nothing_fits(a, b)[2])


def wrong_none(a, b):
    """Nothing is explained yet"""
    if a[1] != b[0]:
        _ = "these do not fit"


WRONG = [
    ("If the product works there is nothing to explain: return None.", lambda a, b: right_by_cases(a, b) or ""),
    ("Compare the columns of a, a[1], with the rows of b, b[0], not a[0] with b[1].",
     lambda a, b: None if a[0] == b[1] else wrong_nothing_fits(a, b)),
    ("a's columns, a[1], and b's rows, b[0]", lambda a, b: right_by_cases(a, b) and (a[0], b[1], cures(a, b))),
    ("The two sizes are a's columns and b's rows: one of yours is the size of the wrong dimension.",
     lambda a, b: right_by_cases(a, b) and (a[1], b[1], cures(a, b))),
    ("Return three things: two sizes, and the list.", lambda a, b: right_by_cases(a, b) and cures(a, b)),
]
