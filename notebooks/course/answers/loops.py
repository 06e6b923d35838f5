"""Mistakes that readers of lesson 22 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

from functools import partial

from mindtorch.course.masters import Mistake, edited

changed = partial(edited, "loops.body")
LOAD = """        if argument not in loaded:
            at ="""
AT = """[index if size != 1 else "0" for index, size in zip(indices[dims - len(shape):], shape)]"""
STORE = """        if name in results:
            lines.append(f"{results[name]}[{', '.join(indices)}] = {name}")"""
STEP = 'lines.append(f"{name} = {formula.format(*texts)}")'


def _inlined(steps, arrays, results, dims):
    """Put formulas into formulas."""
    indices, texts, lines = "ijkl"[:dims], {}, []
    for name, shape in arrays.items():
        at = [index if size != 1 else "0" for index, size in zip(indices[dims - len(shape):], shape, strict=True)]
        texts[name] = f"{name}_at" if shape else name
        lines += [f"{name}_at = {name}[{', '.join(at)}]"] if shape else []
    for name, formula, arguments in steps:
        texts[name] = formula.format(*[texts[one] if isinstance(one, str) else one for one in arguments])
        texts[name] = f"({texts[name]})"
        if name in results:
            lines.append(f"{results[name]}[{', '.join(indices)}] = {texts[name]}")
    return lines


def _without_parentheses(steps, arrays, results, dims):
    """Put formulas into formulas, and lose their parentheses."""
    return [line.replace("(", "").replace(")", "").replace("max", "") if "=" in line and "_at = " not in line else line
            for line in _inlined(steps, arrays, results, dims)]


MISTAKES = (
    Mistake("Return lines: a list of texts, not one text.",
            lambda *given: "\n".join(edited("loops.body", "", ("return lines", "return lines")).function(*given))),
    Mistake("Compute each step once: give it a local name, and use that, rather than its formula again.", _inlined),
    Mistake("Formulas in formulas need parentheses; but give each step a local name instead, so that it is computed "
            "once.", _without_parentheses),
    changed("Read each element once: load it into a local name, and use that from then on.", (LOAD, """        if True:
            at =""")),
    changed("Write every result into its array.", (STORE, "        pass")),
    changed("Write every result, not only the last one.", (STORE, """        if name == list(results)[-1]:
            lines.append(f"{results[name]}[{', '.join(indices)}] = {name}")""")),
    changed("Only results are written into arrays: what is in between stays local.", (STORE, """\
        array = results.get(
            name, next(iter(results.values())))
        lines.append(f"{array}[{', '.join(indices)}] = {name}")""")),
    changed("The array of a result has a name of its own, results[name].", ('{results[name]}[', '{name}_out[')),
    changed("The result's array has the shape of the loop: give it all indices.",
            ("""[{', '.join(indices)}] = {name}""", """[i] = {name}""")),
    changed("Shapes are aligned at the right: a row of shape (3,) has the last index.",
            ("indices[dims - len(shape):]", "indices")),
    changed("Where a size is 1 the index is 0: that array has no other.", (AT, "indices[dims - len(shape):]")),
    changed("A size of 1 keeps its place in the index, as a 0.",
            (AT, "[index for index, size in zip(indices[dims - len(shape):], shape) if size != 1]")),
    changed("An array of shape () is a number, without an index.", ("if not shape:", "if shape is None:")),
    changed("Numbers are arguments, too: write them as they are.",
            ("if not isinstance(argument, str):\n            return repr(argument)",
             "if not isinstance(argument, str):\n            return '1.0'")),
    changed("Keep the order of the arguments: a - b is not b - a.", ("formula.format(*texts)",
                                                                     "formula.format(*reversed(texts))")),
    changed("Keep the order of the steps: an argument has to be computed before.",
            ("for name, formula, arguments in steps:", "for name, formula, arguments in reversed(steps):")),
    changed("Each step is an assignment: name = formula.", (STEP, "lines.append(formula.format(*texts))")),
    changed("formula.format takes the texts one by one: format(*texts).",
            ("formula.format(*texts)", "formula.format(texts, texts, texts)")),
    changed("Put the texts into the formula's places: formula.format(*texts).",
            ("{formula.format(*texts)}", "{formula}")),
    changed("A load comes before the statement that uses it.",
            ('lines.append(f"{argument}_at', 'lines.insert(len(lines) and len(lines), "pass") or loads.append('
             'f"{argument}_at'), ("return lines", "return [*lines, *loads]"), ("lines, loaded = [], {}",
                                                                            "lines, loaded, loads = [], {}, []")),
    changed("A step that was computed has a local name: do not read it back from the array of the result.",
            ('            lines.append(f"{results[name]}[', '            loaded[name] = f"{results[name]}[{\', \'.join('
             'indices)}]"\n            lines.append(f"{results[name]}['), ("shape = arrays.get(argument)",
             "shape = arrays.get(argument) or ((1,) if argument in loaded else ())")),
)

MISTAKES_OF = {"body": MISTAKES}
HIDDEN = {"body": (
    ((("p", "{0} * {1}", ("g", "c")), ("q", "{0} - {1}", ("p", "h")), ("r", "{0} + {1}", ("q", "p"))),
     {"g": (2, 1, 3, 2), "c": (3, 1), "h": (2, 2, 3, 2)}, {"q": "one", "r": "two"}),
)}
