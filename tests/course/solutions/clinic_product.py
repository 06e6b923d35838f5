"""Solutions of 'clinic.product', right and wrong."""
import mindtorch as torch


def right_by_trying(a, b):
    forms = {"a @ b": (a, b), "a @ b.t()": (a, b[::-1]), "a.t() @ b": (a[::-1], b),
             "a.t() @ b.t()": (a[::-1], b[::-1]), "b @ a": (b, a)}
    works = [text for text, (left, right) in forms.items() if left[1] == right[0]]
    return None if "a @ b" in works else (a[1], b[0], works)


def right_by_cases(a, b):
    (rows, columns), (height, width) = a, b
    if columns == height:
        return None
    cures = []
    if columns == width:
        cures.append("a @ b.t()")
    if rows == height:
        cures.append("a.t() @ b")
    if rows == width:
        cures += ["a.t() @ b.t()", "b @ a"]
    return columns, height, cures


def cures_of(a, b):
    return right_by_trying(a, b)[2]


def fits(a, b):
    return a[1] == b[0]


def wrong_transposes_mixed_up(a, b):
    """b.t() transposes the second matrix, a.t() the first: these two are exchanged."""
    if fits(a, b):
        return None
    swap = {"a @ b.t()": "a.t() @ b", "a.t() @ b": "a @ b.t()"}
    return a[1], b[0], [swap.get(cure, cure) for cure in cures_of(a, b)]


def right_by_cases_too(a, b):
    (rows_a, columns_a), (rows_b, columns_b) = a, b
    if columns_a != rows_b:
        cures = ["a @ b.t()"] * (columns_a == columns_b) + ["a.t() @ b"] * (rows_a == rows_b)
        return columns_a, rows_b, cures + ["a.t() @ b.t()", "b @ a"] * (rows_a == columns_b)


def right_by_trying_too(a, b):
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
    return right_by_cases_too(a, b)[2]


def wrong_nothing_fits(a, b):
    """there is nothing to explain: return None"""
    found = [text for text, ok in (("a @ b.t()", a[1] == b[1]), ("a.t() @ b", a[0] == b[0]),
                                   ("a.t() @ b.t()", a[0] == b[1]), ("b @ a", a[0] == b[1])) if ok]
    return a[1], b[0], found


def wrong_none(a, b):
    """Nothing is explained yet"""
    if a[1] != b[0]:
        _ = "these do not fit"


WRONG = [
    ("The two sizes are a's columns and b's rows: one of yours is the size of the wrong dimension.",
     lambda a, b: None if a[0] == b[0] else (a[0], b[0], cures_of(a, b) if not fits(a, b) else [])),
    ("The columns of a are paired with the rows of b, not with its columns.",
     lambda a, b: None if a[1] == b[1] else (a[1], b[1], cures_of(a, b) if not fits(a, b) else [])),
    ("The size of a comes first", lambda a, b: None if fits(a, b) else (b[0], a[1], cures_of(a, b))),
    ("The products that would work are missing from the list", lambda a, b: None if fits(a, b) else (a[1], b[0], [])),
    ("List all products that would work, not only the first.",
     lambda a, b: None if fits(a, b) else (a[1], b[0], cures_of(a, b)[:1])),
    ("List only the products that would work.",
     lambda a, b: None if fits(a, b) else (a[1], b[0], ["a @ b.t()", "a.t() @ b", "a.t() @ b.t()", "b @ a"])),
    ("The order of the list is a @ b.t(), a.t() @ b, a.t() @ b.t(), b @ a",
     lambda a, b: None if fits(a, b) else (a[1], b[0], sorted(cures_of(a, b), reverse=True))),
    ("If the product works there is nothing to explain: return None.",
     lambda a, b: True if fits(a, b) else (a[1], b[0], cures_of(a, b))),
    ("The other order may help, too: b @ a",
     lambda a, b: None if fits(a, b) else (a[1], b[0], [cure for cure in cures_of(a, b) if cure != "b @ a"])),
    ("Transposing both may help, too: a.t() @ b.t().",
     lambda a, b: None if fits(a, b) else (a[1], b[0], [cure for cure in cures_of(a, b) if cure != "a.t() @ b.t()"])),
    ("it returned '3 is not 4', where a tuple or a list is right: (3, 4, ['a @ b.t()'])",
     lambda a, b: None if fits(a, b) else f"{a[1]} is not {b[0]}"),
    ("Return two numbers, not the shapes.", lambda a, b: None if fits(a, b) else (a, b, cures_of(a, b))),
    ("Equal shapes are not enough: a's columns are paired with b's rows, a[1] with b[0].",
     lambda a, b: None if tuple(a) == tuple(b) or fits(a, b) else (a[1], b[0], cures_of(a, b))),
    ("Return a list even if only one product would work.",
     lambda a, b: None if fits(a, b) else (a[1], b[0], ", ".join(cures_of(a, b)))),
]
