"""Solutions of 'loops.body', right and wrong."""


def right_by_loads_first(steps, arrays, results, dims):
    """All loads at the beginning, of what is used."""
    indices = ["i", "j", "k", "l"][:dims]
    used = {argument for _, _, arguments in steps for argument in arguments if isinstance(argument, str)}
    texts, lines = {}, []
    for array, shape in arrays.items():
        if shape == ():
            texts[array] = array
        elif array in used:
            places = ["0" if shape[-back] == 1 else indices[-back] for back in range(len(shape), 0, -1)]
            texts[array] = array + "_at"
            lines.append("{}_at = {}[{}]".format(array, array, ", ".join(places)))
    for name, formula, arguments in steps:
        filled = formula.format(*[texts.get(one, one) for one in arguments])
        lines.append(name + " = " + filled)
    for name, array in results.items():
        lines.append(array + "[" + ", ".join(indices) + "] = " + name)
    return lines


def right_by_replacing(steps, arrays, results, dims):
    """Names of arrays are bound again to elements under other names."""
    everywhere = ", ".join("ijkl"[:dims])
    body = []
    seen = set()
    for name, formula, arguments in steps:
        texts = []
        for one in arguments:
            shape = arrays.get(one, ()) if isinstance(one, str) else ()
            if len(shape) > 0:
                if one not in seen:
                    seen.add(one)
                    tail = "ijkl"[dims - len(shape):dims]
                    body.append(f"{one}_at = {one}[{', '.join('0' if n == 1 else c for c, n in zip(tail, shape))}]")
                texts.append(one + "_at")
            else:
                texts.append(str(one))
        body.append(f"{name} = {formula.format(*texts)}")
        if name in results:
            body.append(f"{results[name]}[{everywhere}] = {name}")
    return body


def wrong_text(steps, arrays, results, dims):
    """a list of texts, not one text"""
    return "\n".join(right_by_replacing(steps, arrays, results, dims))


EDITED = right_by_loads_first
EDITS = [
    ("Write every result into its array", "for name, array in results.items():", "for name, array in ():"),
    ("Write every result, not only the last", "in results.items():", "in [list(results.items())[-1]]:"),
    ("aligned at the right", "indices[-back]", "indices[len(shape) - back]"),
    ("Where a size is 1 the index is 0", '"0" if shape[-back] == 1 else indices[-back]', "indices[-back]"),
    ("is a number, without an index", "if shape == ():", "if shape is None:"),
    ("a - b is not b - a", "for one in arguments])", "for one in arguments[::-1]])"),
    ("Keep the order of the steps", "for name, formula, arguments in steps:",
     "for name, formula, arguments in steps[::-1]:"),
    ("Each step is an assignment", 'name + " = " + filled', "filled"),
    ("give it all indices", '", ".join(indices)', '"i"'),
    ("Put the texts into the formula", 'name + " = " + filled', 'name + " = " + formula'),
]
