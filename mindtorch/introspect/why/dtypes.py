"""Why dtypes do not go together, and why data makes no tensor."""
from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .facts import CLASH, GOOD, Cell, Cure, Finding, Group, Groups, Involved, ShapeRow, Shapes, Step, Steps
from .scene import Scene
from .shapes import text

#: ATen's names of dtypes, which messages use, and ours.
DTYPES = {
    "Bool": "bool", "Byte": "uint8", "Char": "int8", "Short": "int16", "Int": "int32", "Long": "int64",
    "Half": "float16",
    "BFloat16": "bfloat16", "Float": "float32", "Double": "float64", "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
}  # fmt: skip


def by_dtype(involved: Sequence[Involved], wrong: Sequence[str] = (), note: str = "") -> Groups:
    """Tensors side by side, those of one dtype together."""
    dtypes = dict.fromkeys(tensor.dtype for tensor in involved)
    return Groups(
        tuple(Group(dtype, tuple(f"{t.label} {text(t.shape)}" for t in involved if t.dtype == dtype),
                    CLASH if dtype in wrong else "") for dtype in dtypes), note,
    )  # fmt: skip


def product(scene: Scene, match: re.Match[str]) -> Finding:
    call = scene.outermost
    involved = scene.of_call(call)
    dtypes = list(dict.fromkeys(t.dtype for t in involved))
    layer = call is not None and call.op.packet == "linear"
    first = involved[0]
    other = next((t for t in involved if t.dtype != first.dtype), first)
    cures = [Cure(f"convert {first.label} to the dtype of {other.label}", f"{first.label}.to({other.label}.dtype)")]
    if layer and first.dtype.startswith(("float", "bfloat", "complex")):  # a model cannot be of integers
        cures.append(Cure("or convert the whole model", f"model.to(torch.{first.dtype})"))
    if "float64" in dtypes:
        cures.append(Cure("NumPy's floats are float64: convert where they come in", "torch.from_numpy(a).float()"))
    return Finding(
        f"{' and '.join(dtypes)} do not multiply as matrices",
        "Unlike +, - and *, products of matrices convert nothing: all operands must have one dtype.",
        tuple(cures),
        (by_dtype(involved, dtypes),),
    )


def loss_target(scene: Scene, match: re.Match[str]) -> Finding:
    call = scene.outermost
    involved = scene.of_call(call)
    scores, target = involved[0], next((t for t in involved if t.role == "target"), involved[-1])
    cures = [Cure("if they are class numbers, make them int64", f"{target.label}.long()")]
    if target.dtype.startswith("float"):
        said = f"if they are probabilities, give one for each class: the shape {text(scores.shape)}"
        cures += [Cure(said), Cure("if they are numbers to predict, this is another loss", "F.mse_loss(…)")]
    return Finding(
        f"class numbers must be int64 or uint8, {target.label} is {target.dtype}",
        f"cross_entropy reads a target of the shape {text(target.shape)} as one class number for each sample.",
        tuple(cures),
        (Groups((Group(scores.dtype, (f"{scores.label} {text(scores.shape)}: scores",), GOOD),
                 Group(target.dtype, (f"{target.label} {text(target.shape)}: class numbers",), CLASH))),),
    )  # fmt: skip


def cast(scene: Scene, match: re.Match[str]) -> Finding:
    """A result that does not fit into the tensor that it is written to."""
    result, target = DTYPES.get(match[1], match[1]), DTYPES.get(match[2], match[2])
    call = scene.outermost
    involved = scene.of_call(call)
    written = next((t for t in involved if t.role == "out"), None) or next(
        (t for t in involved if t.dtype == target), involved[0])  # fmt: skip
    packet = call.op.packet if call else "the operator"
    if not packet.endswith("_") and written.role != "out":
        return _operand(packet, written, result, involved)
    functional = packet.rstrip("_")
    new = f"{written.label} = {call.anew(written.label)}" if call else ""
    steps = [Step(t.dtype, t.label) for t in involved if t.role != "out"]
    numbers = [value for value in (call.args if call else ()) if isinstance(value, (float, complex)) or value is True]
    steps += [Step(f"{type(n).__name__} number", repr(n)) for n in numbers]
    picture = Steps((Step(" ⊕ ".join(s.title for s in steps), f"{functional} of {', '.join(s.detail for s in steps)}"),
                     Step(result, "the result's dtype"),
                     Step(target, f"of {written.label}, written to", CLASH)))  # fmt: skip
    cures = [Cure("compute a new tensor, of the result's dtype", new if written.role != "out" else "leave out out=")]
    cures.append(Cure("or have the target in that dtype", f"{written.label}.to(torch.{result})"))
    if functional == "div" and target.startswith("int"):
        cures.insert(0, Cure("to divide whole numbers", f"{written.label}.div_(…, rounding_mode='floor')"))
    return Finding(
        f"a {result} result cannot be written into {written.label}, which is {target}",
        "The dtype of a result comes from the operands: bool < integers < floats < complex. Written into a tensor of a "
        f"lower kind it would lose its {'imaginary part' if result.startswith('complex') else 'fraction'}.",
        tuple(cures),
        (picture,),
    )


def _operand(packet: str, wrong: Involved, wanted: str, involved: Sequence[Involved]) -> Finding:
    """An operand that would have to be of another dtype."""
    return Finding(
        f"{wrong.label} is {wrong.dtype}; {packet} needs it to be {wanted}",
        f"{packet} does not convert its operands by itself: they are of one floating point dtype.",
        (Cure("convert it", f"{wrong.label}.to(torch.{wanted})"),),
        (by_dtype(involved, [wrong.dtype]),),
    )


def not_implemented(scene: Scene, match: re.Match[str]) -> Finding:
    dtype = DTYPES.get(match[2], match[2])
    involved = scene.of_innermost()
    call = scene.outermost
    packet = call.op.packet if call else match[1]
    label = next((t.label for t in involved if t.dtype == dtype), "x")
    floats = not dtype.startswith(("float", "bfloat", "complex"))
    wanted = "integers or bools" if packet.startswith(("bitwise", "__")) or not floats else "floats"
    code = f"{label}.float()" if wanted == "floats" else f"{label}.long()"
    cures = () if floats else (Cure("for conditions, compare first", f"({label} > 0) & …"),)
    return Finding(
        f"{packet} does not exist for {dtype}",
        f"{packet} is defined for {wanted}." if wanted == "floats" else f"{packet} works on bits: it is for {wanted}.",
        (Cure("convert first", code), *cures),
        (by_dtype(involved, [dtype]),),
    )  # fmt: skip


def mean(scene: Scene, match: re.Match[str]) -> Finding:
    tensor = scene.of_innermost()[0]
    return Finding(
        f"the mean of {tensor.dtype} numbers is mostly none of them",
        "A result has the dtype of its operand unless told otherwise, and the mean of whole numbers is a fraction.",
        (Cure("convert first", f"{tensor.label}.float().mean()"),
         Cure("or say the result's dtype", f"{tensor.label}.mean(dtype=torch.float32)")),
        (by_dtype([tensor], [tensor.dtype]),),
    )  # fmt: skip


def of_bools(scene: Scene, match: re.Match[str]) -> Finding:
    involved = scene.of_innermost()
    label = involved[0].label if involved else "x"
    subtract = match[0].startswith("Subtraction")
    cures = (Cure("where they differ", f"{label} ^ …"), Cure("or as numbers", f"{label}.int() - …")) if subtract else (
        Cure("the opposite", f"~{label}"), Cure("or as numbers", f"-{label}.int()"))  # fmt: skip
    return Finding(
        "bools have no - operator",
        "True and False are no numbers; what - should mean is not defined.",
        cures,
        (by_dtype(involved, ["bool"]),),
    )


def negative_power(scene: Scene, match: re.Match[str]) -> Finding:
    involved = scene.of_innermost()
    label = involved[0].label if involved else "x"
    return Finding("a negative power of an integer is no integer", "The result would have the dtype of its operand.",
                   (Cure("convert first", f"{label}.float() ** -1"),),
                   (by_dtype(involved, [t.dtype for t in involved]),))


# -- data that makes no tensor -------------------------------------------------------------------------------------


def ragged(scene: Scene, match: re.Match[str]) -> Finding:
    data = scene.local("data", "tensor")
    lengths = _lengths(data)
    most = max((n for _, n in lengths if n is not None), default=0)
    first = next((n for _, n in lengths if n is not None), 0)
    rows = tuple(ShapeRow(label, tuple(Cell("", CLASH if n != first else "") for _ in range(n)),
                          f"{n} element{'' if n == 1 else 's'}") if n is not None
                 else ShapeRow(label, (Cell("·", CLASH),), "one value, no sequence")
                 for label, n in lengths)  # fmt: skip
    return Finding(
        "the rows have different lengths",
        "A tensor is a block: all rows of a dimension are equally long. " + match[0][0].upper() + match[0][1:] + ".",
        (Cure("pad the shorter ones", f"[row + [0] * ({most} - len(row)) for row in data]"),
         Cure("or keep a list of tensors", "[torch.tensor(row) for row in data]")),
        (Shapes(rows),) if rows else (),
        (),
    )  # fmt: skip


def _lengths(data: Any) -> list[tuple[str, int | None]]:
    """The lengths of nested sequences, of the first level at which they differ."""
    level = [("data", data)]
    while True:
        lengths = [(label, len(item) if isinstance(item, (list, tuple)) else None) for label, item in level]
        if len({n for _, n in lengths}) > 1:
            return lengths[:12]
        if not level or lengths[0][1] is None:
            return []
        level = [(f"{label}[{i}]", item) for label, items in level for i, item in enumerate(items)]


def data_type(scene: Scene, match: re.Match[str]) -> Finding:
    if any(frame.f_code.co_name in ("getitem", "setitem") for frame in scene.inside):
        return Finding(
            f"a {match[1] or match[2]} is no index",
            "An index is an integer, a slice, … , None, a bool mask, or a tensor of integers. Tensors have no names to be "
            "indexed by, as dictionaries and tables have.",
            (Cure("index by number, or keep tensors in a dictionary", "tensors['name'][0]"),),
        )
    return Finding(
        f"a {match[1] or match[2]} is nothing that a tensor can hold",
        "Tensors hold numbers and bools.",
        (Cure("turn words or labels into numbers first", "{word: i for i, word in enumerate(sorted(set(words)))}")
         if match[1] else Cure("say by a number what is missing", "float('nan')"),),
    )


def negative_stride(scene: Scene, match: re.Match[str]) -> Finding:
    array = scene.local("array") if scene.local("array") is not None else scene.local("data")
    strides = getattr(array, "strides", ())
    rows = (ShapeRow("size", tuple(Cell(str(n)) for n in getattr(array, "shape", ()))),
            ShapeRow("stride in bytes", tuple(Cell(str(n), CLASH if n < 0 else "") for n in strides)))  # fmt: skip
    return Finding(
        "the array runs backwards through memory, which a tensor cannot",
        "from_numpy shares the array's memory, so it needs strides that a tensor can have: none that is negative.",
        (Cure("copy the array", "torch.from_numpy(a.copy())"),),
        (Shapes(rows),) if strides else (),
        (),
    )
