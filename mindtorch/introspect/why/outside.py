"""Tensors given to what is not the library: NumPy, json, Matplotlib, and arrays of objects that come from there."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .explanation import CLASH, GOOD, Diagnosis, Fields, Fix, Group, Groups, ShapeRow, Shapes, Step, Steps, cells, given
from .failure import Failure
from .rules import on
from .wrote import is_tensor


@on(r"Object of type (?:Tensor|Parameter|Size|dtype|device) is not JSON serializable|is not JSON "
    r"serializable", TypeError)
def to_json(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain ``json.dumps`` of what holds a tensor."""
    wrote = next((piece for piece in failure.pieces[::-1] if piece.name.rpartition(".")[2] in ("dump", "dumps")), None)
    if wrote is None or not wrote.arguments:
        return None
    name, value = wrote.arguments[0]
    path = next(_tensors_in(value, name), "")
    rest = "".join(f", {text}" for text, _ in wrote.arguments[1:])
    where = f" at {path}" if path and path != name else ""
    return Diagnosis(
        f"{name} holds a tensor{where}, and JSON knows numbers, text, lists and dictionaries",
        "A tensor of one element becomes a number with item(), others become lists with tolist().",
        (Fix("take the numbers out", f"{path} = {path}.tolist()") if path and path != name else
         Fix("take the numbers out", f"{wrote.name}({name}.tolist(){rest})"),
         Fix("or wherever there is one", f"{wrote.name}({name}{rest}, default=lambda t: t.tolist())")),
        (given([f"{path or name}: Tensor"], "number", "list"),), ())


def _tensors_in(value: Any, path: str) -> Iterator[str]:
    if is_tensor(value):
        yield path
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _tensors_in(item, f"{path}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from _tensors_in(item, f"{path}[{number}]")


@on(r"Can't call numpy\(\) on Tensor that requires grad", RuntimeError)
def list_with_graph(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain ``np.array(losses)``, ``plt.plot(losses)`` of tensors that keep their graphs."""
    for name, value in failure.wrote.arguments:
        if isinstance(value, (list, tuple)) and any(is_tensor(item) and item.requires_grad for item in value):
            one = all(is_tensor(item) and item.numel() == 1 for item in value)
            singular = name.removesuffix("es") if name.endswith("sses") else "x"
            code = f"[{singular}.item() for {singular} in {name}]" if one else f"[x.detach() for x in {name}]"
            return Diagnosis(
                f"{name} holds tensors with their graphs, and NumPy takes plain numbers",
                "A loss keeps the graph that it was computed by, and with it all tensors of that pass, for as "
                "long as it is "
                "in the list. To be shown or averaged only its number is needed.",
                (Fix("take the numbers out" if one else "leave the graph behind", code),
                 Fix("or append numbers in the loop", f"{name}.append(loss.item())") if one else None),
                (Steps((Step(name, "tensors with graphs", CLASH), Step(".item()", "a number", GOOD))),), ())
    return None


@on(r"Invalid shape \(([\d, ]+)\) for image data", TypeError)
def picture_of_channels(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain ``plt.imshow`` of [channels, height, width]."""
    sizes = [int(size) for size in found[1].replace(" ", "").split(",") if size]
    wrote = failure.wrote
    name = wrote.arguments[0][0] if wrote.arguments else "image"
    if len(sizes) == 3 and sizes[0] in (1, 3, 4):
        fix = Fix("move the channels to the end", f"{name}.permute(1, 2, 0)" if sizes[0] > 1 else f"{name}[0]")
    elif len(sizes) == 4:
        fix = Fix("show one image of the batch", f"{name}[0].permute(1, 2, "
                                                 f"0)" if sizes[1] in (3, 4) else f"{name}[0, 0]")
    else:
        fix = Fix("look at the shape: a picture is [height, width] or [height, width, 3]")
    return Diagnosis(
        f"imshow takes [height, width, channels], and {name} is {sizes}",
        "Layers take the channels before height and width, pictures have them last.", (fix,),
        (given([str(sizes)], "[height, width]", "[height, width, 3]"),))


@on(r"can't convert np\.ndarray of type numpy\.object_|object_", TypeError)
def of_objects(failure: Failure, found: Any) -> Diagnosis | None:
    """Explain arrays of dtype object: of mixed numbers, of rows of different lengths, of a view of a dictionary."""
    name, value = failure.wrote.arguments[0] if failure.wrote.arguments else ("array", None)
    if value is not None and not isinstance(value, np.ndarray):
        value = None
    inner = failure.wrote.call.args[0] if failure.wrote.call and failure.wrote.call.args else None
    if getattr(inner, "args", None) and ".values()" in failure.wrote.text(inner.args[0]):  # type: ignore[union-attr]
        held = failure.wrote.text(inner.args[0])  # type: ignore[union-attr]
        return Diagnosis(
            f"{held} is a view of a dictionary, which NumPy takes for one object",
            "An array of it has no dimensions and the dtype object: it holds the view itself, not the values.",
            (Fix("make a list of the values", f"list({held})"),), (given([f"np.array({held}): object"], "a list"),), ())
    lengths = {len(item) for item in value.flat if hasattr(item, "__len__")} if value is not None else set()
    if len(lengths) > 1:
        return Diagnosis(
            f"{name} is of dtype object: its rows have different lengths",
            "NumPy keeps such rows as objects; a tensor is a block of numbers, with rows that are equally long.",
            (Fix("pad the shorter ones", f"nn.utils.rnn.pad_sequence([torch.tensor(row) for row in {name}], "
                 "batch_first=True)"), Fix("or keep a list of tensors", f"[torch.tensor(row) for row in {name}]")),
            (given([f"rows of {', '.join(map(str, sorted(lengths)))}"], "rows of one length"),), ())
    return Diagnosis(
        f"{name} is of dtype object: it holds Python's objects, not numbers",
        "NumPy, and a table with columns of several kinds, choose object where the items have no number type "
        "in common: "
        "text, None, True beside 1.5. A tensor needs numbers of one dtype.",
        (Fix("if all of them are numbers, convert the array", f"{name}.astype(np.float32)"),
         Fix("else look for what is none: text, None"),
         Fix("a table's column of numbers and blanks", "pd.to_numeric(column, errors='coerce')")),
        (Groups((Group("dtype", ("object",), CLASH), Group("wanted", ("a number's dtype",), GOOD))),), ())


def backwards(failure: Failure, f: Fields) -> Diagnosis:
    """Explain ``torch.from_numpy(a[::-1])``: an array with a negative stride."""
    name = failure.wrote.arguments[0][0] if failure.wrote.arguments else "a"
    return Diagnosis(
        f"{name} runs backwards through memory, which a tensor cannot do",
        "A flipped array is a view with a negative stride. A tensor that shares the array's memory needs "
        "strides of 0 or "
        "more, so the array is copied into its new order first.",
        (Fix("copy the array", f"{failure.wrote.name or 'torch.from_numpy'}({name}.copy())"),),
        (Shapes((ShapeRow("size", cells(f.shape)),
                 ShapeRow("stride in bytes", cells(f.strides, [d for d, n in enumerate(f.strides) if n < 0])))),))


RECOGNISED = {"tensor in JSON": to_json, "list with graphs": list_with_graph, "picture of "
                                                                              "channels": picture_of_channels,
              "array of objects": of_objects}
