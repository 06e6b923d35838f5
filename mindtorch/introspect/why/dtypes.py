"""Explain dtypes that do not combine, operands that are not tensors, and data that makes no tensor."""
from __future__ import annotations

from dataclasses import replace

from .explanation import (
    CLASH, GOOD, Cell, Diagnosis, Fields, Fix, Group, Groups, ShapeRow, Shapes, Step, Steps, by_dtype, given,
)
from .failure import Failure
from .wrote import is_method

ABSENT = "look where it should have come from: a function without return"
INTEGERS = ("uint8", "int8", "int16", "int32", "int64", "bool")


def product(failure: Failure, f: Fields) -> Diagnosis:
    """Explain operands of a product of matrices, or of a convolution, that differ in their dtypes."""
    first, dtypes = f.x, list(dict.fromkeys(t.dtype for t in f.tensors))
    other = next((t for t in f.tensors if t.dtype != first.dtype), first)
    fixes = [Fix(f"convert {first} to the dtype of {other}", f"{first}.to({other}.dtype)")]
    if failure.packet.startswith(("linear", "conv")) and first.dtype not in INTEGERS:  # a model cannot be of integers
        fixes.append(Fix("or convert the whole model", f"model.to(torch.{first.dtype})"))
    if "float64" in dtypes:
        fixes.append(Fix("NumPy's floats are float64: convert where they come in", "torch.from_numpy(a).float()"))
    convolves = failure.kind == "convolution dtypes"
    kind, several = ("in a convolution", "convolutions") if convolves else ("as matrices", "products of matrices")
    return Diagnosis(f"{' and '.join(dtypes)} do not multiply {kind}",
                     f"Unlike +, - and *, {several} convert nothing: all operands must have one dtype.",
                     fixes, (by_dtype(f.tensors, *dtypes),))


def cast(failure: Failure, f: Fields) -> Diagnosis:
    """Explain a result that does not fit into the tensor that it is written to."""
    result, target, packet = f.result, f.target, failure.packet
    written = next((t for t in f.tensors if t.role == "out"), None) or next(
        (t for t in f.tensors if t.dtype == target), f.x)
    if not packet.endswith("_") and written.role != "out":  # an operand would have to be of another dtype
        return Diagnosis(f"{written} is {written.dtype}; {packet} needs it to be {result}",
                         f"{packet} does not convert its operands by itself: they are of one floating point dtype.",
                         (Fix("convert it", f"{written}.to(torch.{result})"),), (by_dtype(f.tensors, written.dtype),))
    functional = packet.rstrip("_")
    steps = [Step(t.dtype, t.label) for t in f.tensors if t.role != "out"]
    numbers = failure.outermost.args if failure.outermost else ()
    steps += [Step(f"{type(n).__name__} number", repr(n)) for n in numbers
              if isinstance(n, (float, complex)) or n is True]
    picture = Steps((Step(" ⊕ ".join(s.title for s in steps), f"{functional} of {', '.join(s.detail for s in steps)}"),
                     Step(result, "the result's dtype"), Step(target, f"of {written}, written to", CLASH)))
    new = "leave out out=" if written.role == "out" else f"{written} = {failure.anew(written, outermost=True)}"
    fixes = [Fix("compute a new tensor, of the result's dtype", new),
             Fix("or have the target in that dtype", f"{written}.to(torch.{result})")]
    if functional == "div" and target.startswith("int"):
        fixes.insert(0, Fix("to divide whole numbers", f"{written}.div_(…, rounding_mode='floor')"))
    return Diagnosis(
        f"a {result} result cannot be written into {written}, which is {target}",
        "The dtype of a result comes from the operands: bool < integers < floats < complex. Written into a tensor of a "
        f"lower kind it would lose its {'imaginary part' if result.startswith('complex') else 'fraction'}.", fixes,
        (picture,))


def not_implemented(failure: Failure, f: Fields) -> Diagnosis:
    dtype, packet = failure.facts["dtype"], failure.packet if failure.calls else f.kernel
    label = next((t.label for t in f.tensors if t.dtype == dtype), "x")
    floats = dtype not in INTEGERS
    if packet in ("cross_entropy_loss", "nll_loss_nd") and f.target.dtype not in INTEGERS:
        return swapped(failure, f)
    of_bits = packet.startswith(("bitwise", "__")) or floats
    name = failure.wrote.name.rpartition(".")[2] if is_method(failure.wrote.function) else packet
    return Diagnosis(
        f"{name} does not exist for {dtype}",
        f"{name} works on bits: it is for integers or bools." if of_bits else f"{name} is defined for floats.",
        (Fix("& and | bind tighter than comparisons: put those in parentheses", f"({label} > 0) & …")
         if of_bits and floats else None,
         Fix("or convert first", f"{label}.long()" if of_bits else f"{label}.float()")),
        (by_dtype(f.tensors, dtype),))


def swapped(failure: Failure, f: Fields) -> Diagnosis:
    """Explain scores and class numbers of a loss, each in the other's place."""
    scores, target = f.target, f.x
    function = failure.wrote.name or "F.cross_entropy"
    return Diagnosis(
        f"scores and targets stand in each other's place: {target} is {target.dtype}, {scores} is {scores.dtype}",
        "Losses take what the model returned first, then what it should have returned. Class numbers are integers, "
        "scores are floats, one for each class.",
        (Fix("exchange them", f"{function}({scores}, {target})"),),
        (Groups((Group("given as scores", (f"{target} {target.size}: {target.dtype}",), CLASH),
                 Group("given as targets", (f"{scores} {scores.size}: {scores.dtype}",), CLASH))),))


def of_bools(failure: Failure, f: Fields) -> Diagnosis:
    fixes = [Fix("where they differ", f"{f.x} ^ …"), Fix("or as numbers", f"{f.x}.int() - …")]
    if failure.called("rsub") or any(number == 1 for number in (failure.outermost.args if failure.outermost else ())
                                     if type(number) in (int, float)):
        fixes = [Fix("the opposite of a mask", f"~{f.x}"), Fix("or as numbers", f"1 - {f.x}.int()")]
    if failure.called("neg", "neg_"):
        fixes = [Fix("the opposite", f"~{f.x}"), Fix("or as numbers", f"-{f.x}.int()")]
    return Diagnosis("bools have no - operator", "True and False are no numbers; what - should mean is not defined.",
                     fixes, (by_dtype(f.tensors, "bool"),))


# -- operands of losses and indexing -------------------------------------------------------------------------------


def loss_target(failure: Failure, f: Fields) -> Diagnosis:
    scores, target = f.x, f.target
    fixes = [Fix("if they are class numbers, make them int64", f"{target}.long()")]
    if target.dtype.startswith("float"):
        fixes += [Fix(f"if they are probabilities, give one for each class: the shape {scores.size}"),
                  Fix("if they are numbers to predict, this is another loss", "F.mse_loss(…)")]
    return Diagnosis(f"class numbers must be int64 or uint8, and {target} is {target.dtype}",
                     f"cross_entropy reads a target of the shape {target.size} as one class number for each sample.",
                     fixes, (Groups((Group(scores.dtype, (f"{scores} {scores.size}: scores",), GOOD),
                                     Group(target.dtype, (f"{target} {target.size}: class numbers",), CLASH))),))


def loss_dtype(failure: Failure, f: Fields) -> Diagnosis:
    """Explain a loss whose target has another dtype than its input: binary_cross_entropy, class probabilities."""
    x, target = f.x, f.target
    if x.dtype in INTEGERS and failure.called("cross_entropy_loss", "nll_loss_nd"):
        return Diagnosis(
            f"{x} is {x.dtype}: numbers of classes, where the loss takes a score for each class",
            "A loss compares the scores themselves with the targets, so that they can be improved. argmax "
            "picks the class "
            "with the highest score, which is for showing and counting, and has no gradient.",
            (Fix("give the scores, and take argmax for the accuracy only", f"F.cross_entropy(scores, …)  # not {x}"),),
            (Groups((Group("given as scores", (f"{x} {x.size}: {x.dtype}",), CLASH),
                     Group("wanted", ("floats [samples, classes]",), GOOD))),))
    fixes = [Fix("convert the target", f"{target}.to({x}.dtype)")]
    cause = "This loss computes with input and target element by element and converts neither."
    if failure.called("cross_entropy_loss"):
        fixes.append(Fix("or, if each row marks one class with a 1, give class numbers", f"{target}.argmax(1)"))
        cause = f"A target of the shape of the scores, {target.size}, is read as probabilities of the classes: floats."
    return Diagnosis(f"{target} is {target.dtype}, and must be {x.dtype} as {x} is", cause, fixes,
                     (by_dtype((x, target), target.dtype),))


def assigned_dtype(failure: Failure, f: Fields) -> Diagnosis:
    """Explain values that are put into a tensor of another dtype at places that a tensor of indices names."""
    target, name = f.x, f.tensors[-1].name
    values = replace(f.tensors[-1], name=name or "the value")
    floats = f"{target}.to(torch.{values.dtype})" if target.dtype in INTEGERS and values.dtype not in INTEGERS else ""
    return Diagnosis(f"{values} is {values.dtype}, and is put into {target}, which is {target.dtype}",
                     "Where indices say which places are written, values are not converted: both must have one dtype.",
                     (Fix("convert what is put there", f"{name or 'value'}.to({target}.dtype)"),
                      Fix("or, to keep fractions, have the target of floats", floats) if floats else None),
                     (by_dtype((target, values), target.dtype, values.dtype),))


def expected_index(failure: Failure, f: Fields) -> Diagnosis:
    index = next((t for t in f.tensors if t.role.startswith("ind")),
                 next((t for t in f.tensors if t.dtype not in INTEGERS), f.tensors[-1]))
    return Diagnosis(f"{index} is {index.dtype}: indices are whole numbers",
                     "Places and classes are counted: int64, or int32 where the operator takes it.",
                     (Fix("convert them", f"{index}.long()"),),
                     (given([f"{index} {index.size}: {index.dtype}"], "int64", "int32"),))


# -- what is no tensor ---------------------------------------------------------------------------------------------


def no_tensor(failure: Failure, f: Fields) -> Diagnosis:
    name = next((text for text, value in failure.wrote.arguments if type(value).__name__ == f.given), "")
    copying = Fix("make a tensor of it, which copies", f"torch.tensor({name or '…'})")
    fixes = {"ndarray": [Fix("make a tensor over the array's memory", f"torch.from_numpy({name or 'array'})"), copying],
             "NoneType": [Fix(f"{ABSENT}, a gradient that is None")],
             "tuple": [Fix("if a module returned several results, take one", "output[0]")]}
    return Diagnosis(f"{f.function} takes a tensor as {f.argument}, and was given a {f.given}",
                     "Operators compute with tensors; lists, arrays and the like must be made tensors first.",
                     fixes.get(f.given, [copying]), (given([f"{f.argument}: {f.given}"], f"{f.argument}: Tensor"),), ())


def unsupported(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``+`` and its like between a tensor and an object that is not a number."""
    others = [kind for kind in (f.left, f.right) if kind not in ("Tensor", "Parameter")]
    if len(others) != 1:
        return None
    fixes = {"list": Fix("make a tensor of the list", "torch.tensor(values)"),
             "tuple": Fix("if a module returned several results, take one", "output[0]"),
             "NoneType": Fix(f"{ABSENT}, an argument not given"), "str": Fix("make a number of it", "float(text)")}
    return Diagnosis(f"{f.sign} has no meaning between a tensor and a {others[0]}",
                     "The other operand must be a tensor, or a number, which then counts for each element.",
                     (fixes.get(others[0], Fix("make a tensor or a number of it", "torch.as_tensor(value)")),),
                     (given((f.left, f.right), "Tensor and Tensor", "Tensor and number"),), ())


def ragged(failure: Failure, f: Fields) -> Diagnosis:
    known = [n for _, n in f.lengths if n is not None]
    rows = tuple(ShapeRow(label, tuple(Cell("", CLASH if n != known[0] else "") for _ in range(n)),
                          f"{n} element{'' if n == 1 else 's'}") if n is not None
                 else ShapeRow(label, (Cell("·", CLASH),), "one value, no sequence") for label, n in f.lengths)
    data = failure.wrote.arguments[0][0] if failure.wrote.arguments else "data"
    return Diagnosis(
        "the rows have different lengths", "A tensor is a block: all rows of a dimension are equally long.",
        (Fix("pad the shorter ones", f"[row + [0] * ({max(known, default=0)} - len(row)) for row in {data}]"),
         Fix("or keep a list of tensors", f"[torch.tensor(row) for row in "
                                          f"{data}]")), (Shapes(rows),) if rows else (), ())


def no_number(failure: Failure, f: Fields) -> Diagnosis:
    if failure.called("getitem", "setitem"):
        return Diagnosis(
            f"a {f.given} is no index",
            "An index is an integer, a slice, … , None, a bool mask, or a tensor of integers. Tensors have no names to "
            "be indexed by, as dictionaries and tables have.",
            (Fix("index by number, or keep tensors in a dictionary", "tensors['name'][0]"),))
    return Diagnosis(
        f"a {f.given} is nothing that a tensor can hold", "Tensors hold numbers and bools.",
        (Fix("turn words or labels into numbers first", "{word: i for i, word in enumerate(sorted(set(words)))}")
         if f.given == "str" else Fix("mark what is missing by a number", "float('nan')"),))


def tensor_in_a_list(failure: Failure, f: Fields) -> Diagnosis:
    """Explain a tensor of several elements among the numbers given to ``torch.tensor``."""
    items = failure.wrote.arguments[0][0] if failure.wrote.arguments else "[…]"
    return Diagnosis(
        f"a tensor {f.tensor.size} stands where a number is expected",
        "torch.tensor makes a tensor of numbers; in a list of tensors each counts as one number. Tensors that exist "
        "are joined instead, which also keeps their gradients.",
        (Fix("lay them on top of each other, along a new dimension", f"torch.stack({items})"),
         Fix("or next to each other", f"torch.cat({items})")),
        (Groups((Group("in the list", (f"{f.tensor.dtype} {f.tensor.size}",), CLASH),
                 Group("taken", ("a number", "a tensor of one element"), GOOD))),))
