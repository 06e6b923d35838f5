"""Explanations that need no decision: a table of texts with the facts filled in, one row for each kind of error.

A row is a function of the error's fields (``Failure.fields``).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .explanation import (
    CLASH, GONE, GOOD, Cell, Diagnosis, Fields, Fix, Group, Groups, Involved, Ruler, ShapeRow, Shapes, Step, Steps,
    aside, by_dtype, cells, given, plain, text, whole,
)


def s(count: int) -> str:
    """Return the plural ending for a count."""
    return "" if count == 1 else "s"


def of(condition: Callable[[Involved], bool], row: Callable[[Any], Diagnosis]) -> Callable[[Any], Diagnosis]:
    """Apply a row with ``x`` set to the first tensor that meets a condition."""
    return lambda f: row(Fields(**{**vars(f), "x": next(filter(condition, f.tensors), f.x)}))


TEMPLATES: dict[str, Callable[[Any], Diagnosis]] = {
    # shapes
    "nothing to join": lambda f: Diagnosis(
        "there is nothing to join: the list of tensors is empty",
        "Without tensors, neither the dtype nor the shape of the result is known.",
        (Fix("look at what fills the list: a loop that never ran, a filter that let nothing through"),)),
    "split sizes": lambda f: Diagnosis(
        f"the pieces have {sum(f.split_sizes)} elements in all, the dimension has {f.x.shape[f.dim]}",
        f"split with a list of sizes cuts dimension {f.dim} exactly: the sizes must add up to {f.x.shape[f.dim]}.",
        (Fix("let the last piece take what is left", f"[…, {f.x.shape[f.dim] - sum(f.split_sizes[:-1])}]"),
         Fix("or give one size for all pieces; the last may be smaller", f"x.split({[*f.split_sizes, 1][0]})")),
        (Shapes((ShapeRow(f"dimension {f.dim} has", (Cell(str(f.x.shape[f.dim]), GOOD),)),
                 whole("pieces asked for", f.split_sizes, f"{sum(f.split_sizes)} in all"))),)),
    "loss batch": lambda f: Diagnosis(
        f"{f.x.shape[0]} rows of scores, but {f.target.shape[0]} targets",
        "The first dimension counts the samples: scores have the shape [samples, classes], targets [samples].",
        (Fix("if the scores have more dimensions, flatten all but the classes in both",
             f"F.cross_entropy({f.x}.flatten(0, -2), {f.target}.flatten())"),
         Fix("else look where a sample went missing: a reshape, a last batch that is shorter, a shifted slice")),
        (Shapes((ShapeRow(f.x.label, cells(f.x.shape, [0]), "a row of scores for each sample"),
                 ShapeRow(f.target.label, cells(f.target.shape, [0]), "a class for each sample")),
                ("samples", *("classes",) * (len(f.x.shape) > 1))),)),
    # products
    "einsum": lambda f: Diagnosis(
        f"the subscript {f.letter} of {f.equation!r} has two sizes",
        f"A letter of einsum's equation stands for one size wherever it appears; {f.letter} is given the sizes marked.",
        (Fix("exchange letters, or transpose an operand, so that the sizes agree"),),
        (Shapes(tuple(
            ShapeRow(t.name or f"operand {i}", tuple(
                Cell(f"{c}={n}" if c.isalpha() else str(n), CLASH * (c == f.letter))
                for c, n in zip(labels.replace("...", "").ljust(len(t.shape), "?"), t.shape, strict=False)))
            for i, (labels, t) in enumerate(zip(
                f.equation.replace(" ", "").partition("->")[0].split(","), f.tensors, strict=False)))),)),
    # layout
    "view two unknown": lambda f: Diagnosis(
        "only one size can be worked out",
        "-1 stands for what is left of the elements once the other sizes are known; two of them leave it open.",
        (Fix("say all sizes but one"),)),
    "expand dimensions": lambda f: Diagnosis(
        f"{f.x} has {len(f.x.shape)} dimensions, and {len(f.size)} were asked for",
        "expand takes a size for each dimension (-1 leaves it as it is), after those that it adds in front.",
        (Fix("give all sizes", f"{f.x}.expand({', '.join(['-1'] * len(f.x.shape))})"),),
        (Shapes((ShapeRow(f.x.label, cells(f.x.shape)), aside("asked for", len(f.x.shape) - len(f.size), f.size))),)),
    "repeat": lambda f: Diagnosis(
        f"{f.x} has {len(f.x.shape)} dimensions, and repeat was given {len(f.repeats)} numbers",
        "repeat takes, for each dimension, how often it is repeated: 1 for those that stay as they are.",
        (Fix("name them all", f"{f.x}.repeat("
             f"{', '.join(map(str, (*(1,) * (len(f.x.shape) - len(f.repeats)), *f.repeats)))})"),),
        (Shapes((ShapeRow(f.x.label, cells(f.x.shape, range(len(f.x.shape) - len(f.repeats)))),
                 aside("times", len(f.x.shape) - len(f.repeats), f.repeats))),)),
    "t of many dimensions": lambda f: Diagnosis(
        f"t() is for matrices and vectors; {f.x} {f.x.size} has {len(f.x.shape)} dimensions",
        "With more than two dimensions it is not clear which two t() should exchange.",
        (Fix("exchange the last two, as for a batch of matrices", f"{f.x}.mT"),
         Fix("or say which", f"{f.x}.transpose(0, 1)")), (plain(f.x, note=lambda t: ""),)),
    "narrow": lambda f: Diagnosis(
        f"elements {f.start} to {f.start + f.length - 1} were asked for, the dimension ends at {f.size - 1}",
        f"narrow takes {f.length} elements from {f.start} on; unlike a slice it does not stop at the end.",
        (Fix("use a slice, which stops at the end", f"{f.x}[{f.start}:{f.start + f.length}]"),),
        (Shapes((ShapeRow("dimension has", (Cell(str(f.size), GOOD),)),
                 ShapeRow("start + length", (Cell(f"{f.start} + {f.length} = {f.start + f.length}", CLASH),)))),
         Ruler("indices", 0, f.size - 1, (f.start + f.length - 1,)))),
    "no dimensions": of(lambda t: not t.shape, lambda f: Diagnosis(
        f"{f.x} is one number, without dimensions",
        "A tensor of shape [] holds one element and has nothing to index, to iterate over, to count or to pair.",
        (Fix("its value", f"{f.x}.item()"), Fix("a dimension of size 1", f"{f.x}.unsqueeze(0)"),
         Fix("or look whether it was reduced or indexed once too often")),
        (Shapes((ShapeRow(f.x.label, (), "no dimensions"), ShapeRow("wanted", (Cell("n", GOOD),), "at least one"))),))),
    "flatten order": lambda f: Diagnosis(
        f"dimension {f.start_dim} comes after dimension {f.end_dim}",
        "flatten makes one dimension of those from start_dim to end_dim, both included.",
        (Fix("give the earlier one first", f"{f.x}.flatten({f.end_dim}, {f.start_dim})"),
         Fix("or flatten all but the first", f"{f.x}.flatten(1)")),
        (Shapes((ShapeRow(f.x.label, cells(f.x.shape, [d % len(f.x.shape) for d in (f.start_dim, f.end_dim)])),),
                tuple({f.start_dim % len(f.x.shape): "start", f.end_dim % len(f.x.shape): "end"}.get(d, f"dim {d}")
                      for d in range(len(f.x.shape)))),)),
    "unflatten": lambda f: Diagnosis(
        f"{text(f.sizes)} makes {np.prod(f.sizes)} elements, dimension {f.dim} has {f.size}",
        "unflatten splits one dimension into several: the product of their sizes must be its size.",
        (Fix("let one size be worked out", f"{f.x}.unflatten({f.dim}, ({', '.join(map(str, f.sizes[:-1]))}, -1))"),),
        (Shapes((ShapeRow(f"dimension {f.dim} has", (Cell(str(f.size), GOOD),)),
                 whole("sizes asked for", f.sizes, f"{np.prod(f.sizes)} in all"))),)),
    # indexing
    "element index": lambda f: Diagnosis(
        f"{f.index} is no index into the {f.size} elements of {f.x}",
        "take sees a tensor as one row of all its elements.",
        (Fix("the last one is", f"{f.size - 1} or -1"), Fix("to index one dimension", f"{f.x}[index]")),
        (Ruler("elements", -f.size, f.size - 1, (f.index,)),)),
    "too many indices": lambda f: Diagnosis(
        f"{f.x} {f.x.size} has {len(f.x.shape)} dimension{s(len(f.x.shape))}, and was given {f.given} indices",
        "Every integer, slice or tensor in the brackets takes one dimension (a bool mask takes as many as it has); "
        "None adds one, … stands for those that are left.",
        (Fix("leave out an index, or give the tensor the dimension", f"{f.x}.unsqueeze(0)"),
         Fix("or look whether a dimension was squeezed or reduced before")),
        (Shapes((ShapeRow(f.x.label, cells(f.x.shape)),
                 ShapeRow("indices", cells(range(f.given), range(len(f.x.shape), f.given))))),)),
    "mask shape": lambda f: Diagnosis(
        f"the mask {text(f.mask)} does not fit over {f.x} {f.x.size}",
        "A bool mask says of each element whether it is taken, so its sizes must be those of the dimensions it stands "
        f"for; they differ in dimension {f.dim}.",
        (Fix("make the mask from the tensor that it masks", f"{f.x}[{f.x} > 0]"),),
        (Shapes((ShapeRow(f.x.label, cells(f.x.shape, [f.dim])), ShapeRow("mask", cells(f.mask, [f.at])))),), (f.x,)),
    "index shapes": lambda f: Diagnosis(
        "the tensors used as indices do not broadcast",
        "Several index tensors are taken together: one element of the result for each set of indices that stand at "
        "the same place. So their shapes must be equal, or broadcast.",
        (Fix("to combine every row with every column, give them different dimensions", "x[rows[:, None], columns]"),),
        (Shapes(tuple(
            aside(f"index {i}", max(map(len, f.shapes)) - len(shape), shape, range(len(shape)))
            for i, shape in enumerate(f.shapes))),)),
    "gather dimensions": lambda f: Diagnosis(
        "the index must have as many dimensions as the tensor that it picks from",
        "gather and scatter take, for each place in the index, an element at that place, except along one dimension.",
        (Fix("add the missing dimension", f"{f.index}.unsqueeze(1)"),
         Fix("to pick whole rows", "x.index_select(0, index)")),
        (plain(*f.tensors, note=lambda t: f"{len(t.shape)}-d"),)),
    # ranges
    "negative size": lambda f: Diagnosis(
        f"{min(f.shape)} is no size: a dimension has 0 elements or more",
        "Only view, reshape and expand know -1, for a size that they work out. Here all sizes must be given.",
        (Fix("look at how the size is computed: a difference in the wrong order, an empty input"),),
        (Shapes((ShapeRow("asked for", cells(f.shape, [d for d, n in enumerate(f.shape) if n < 0])),)),)),
    "top k": lambda f: Diagnosis(
        f"{f.k} elements were asked for, and dimension {f.dim} of {f.x} has {f.x.shape[f.dim] if f.x.shape else 1}",
        "topk picks k of the elements along one dimension, by default the last.",
        (Fix("ask for as many as there are at most", f"min({f.k}, {f.x}.shape[{f.dim}])"),
         Fix("or pick along another dimension, or from all", f"{f.x}.flatten().topk({f.k})")),
        (Shapes((ShapeRow(f.x.label, cells(f.x.shape, [f.dim % max(1, len(f.x.shape))])),)),
         Ruler("k", 0, f.x.shape[f.dim] if f.x.shape else 1, (f.k,)))),
    "negative step": lambda f: Diagnosis(
        "a slice of a tensor cannot go backward",
        "A slice is a view, whose strides say how to step through the storage; PyTorch's strides are never negative.",
        (Fix("a copy in reverse", f"{f.x}.flip(0)"), Fix("of every second element, backward", f"{f.x}.flip(0)[::2]")),
        (Steps((Step("[::2]", "stride 2: a view", GOOD), Step("[::-1]", "stride -1: there is none", CLASH))),)),
    "nothing to reduce": lambda f: Diagnosis(
        f"{f.x} {f.x.size} has no elements: there is no {f.name.removeprefix('a').removeprefix('rg')} of nothing",
        "The sum of no numbers is 0 and their product 1, but none of them is the largest or the smallest.",
        (Fix("look at where the elements went: a mask that lets nothing through, an empty slice or batch"),
         Fix("or ask first", f"if {f.x}.numel(): …")),
        (Shapes((ShapeRow(f.x.label, cells(f.x.shape, [d for d, n in enumerate(f.x.shape) if not n])),)),)),
    # dtypes
    "mask dtype": lambda f: Diagnosis(
        f"{f.mask} is {f.mask.dtype}: a mask says yes or no of each element",
        "Masks are bool tensors, as comparisons make them.",
        (Fix("if what is not 0 is meant", f"{f.mask}.bool()"), Fix("or compare", f"{f.mask} > 0")),
        (by_dtype(f.tensors, f.mask.dtype),)),
    "mean of integers": lambda f: Diagnosis(
        f"the mean of {f.x.dtype} values is seldom itself of that dtype",
        "A result has the dtype of its operand unless told otherwise, and the mean of whole numbers is usually a "
        "fraction.",
        (Fix("convert first", f"{f.x}.float().mean()"),
         Fix("or give the result's dtype", f"{f.x}.mean(dtype=torch.float32)")), (by_dtype([f.x], f.x.dtype),)),
    "negative power": lambda f: Diagnosis(
        "a negative power of an integer is no integer", "The result would have the dtype of its operand.",
        (Fix("convert first", f"{f.x}.float() ** -1"),), (by_dtype(f.tensors, *(t.dtype for t in f.tensors)),)),
    # autograd
    "gradient shape": lambda f: Diagnosis(
        f"the gradient {text(f.given)} does not have the shape of {f.x} {text(f.wanted)}",
        "The gradient says how much each element of the output counts: one number for each.",
        (Fix("for ones", f"{f.x}.backward(torch.ones_like({f.x}))"),),
        (Shapes((whole(f.x.label, f.wanted), whole("gradient", f.given))),)),
    "backward of many": lambda f: Diagnosis(
        f"{f.output} {f.output.size} is not one number: backward does not know of what to take the gradient",
        "backward computes the gradient of a number. For a tensor it needs to know how much each element counts: the "
        "gradient argument, of the output's shape.",
        (Fix("make it a number", f"{f.output}.sum().backward()"), Fix("or", f"{f.output}.mean().backward()"),
         Fix("or say how much each element counts", f"{f.output}.backward(torch.ones_like({f.output}))")),
        (Shapes((whole(f.output.label, f.output.shape), ShapeRow("needed", (Cell("1", GOOD),), "one number"))),)),
    "gradient returned": lambda f: Diagnosis(
        f"{f.function.removesuffix('Backward')} returned a gradient {text(f.got)} for an argument of shape "
        f"{text(f.wanted)}",
        f"The gradient with index {f.number} belongs to the argument of forward at that place, and has its shape: one "
        "number for each element (or more, which are summed, where the argument was broadcast).",
        (Fix("return them in the order of forward's arguments, each in the shape of its own"),
         Fix("of a product with a matrix, the gradient is one with its transpose", "grad @ w.T, x.T @ grad")),
        (Shapes((ShapeRow("argument", cells(f.wanted, (), range(len(f.wanted)))), whole("its gradient", f.got))),), ()),
    "requires_grad of a result": lambda f: Diagnosis(
        f"{f.x} was computed: whether it requires grad follows from what it was computed from",
        f"Its grad_fn is {f.x.node}. Only a leaf, which no operator made, can be told not to require grad.",
        (Fix("a tensor over the same values outside the graph", f"{f.x}.detach()"),),
        (Steps((Step("leaf", "may be set", GOOD), Step(f.x.node), Step(f.x.label, "follows", CLASH))),)),
    "detached saved tensor": lambda f: Diagnosis(
        f"{f.x} left the graph by detach_(), after an operator had kept it for backward",
        f"{f.node} needs {f.x} as it was, with the history by which gradients go on; detach_() took that away, for "
        "everybody who refers to this tensor.",
        (Fix("make a second tensor outside the graph, and leave this one as it is", f"{f.x}.detach()"),
         Fix("or detach before the operator that keeps it")),
        (Steps((Step(f.node, "keeps it"), Step("detach_()", "takes its history", GONE),
                Step("backward", "", CLASH))),)),
    "inference tensor": of(lambda t: t.version is None, lambda f: Diagnosis(
        f"{f.x} was made in inference mode, and cannot take part in autograd",
        "Tensors made in inference_mode count no writes and know no views, which makes them cheap, and unfit for "
        "graphs.",
        (Fix("make a normal tensor of it", f"{f.x}.clone()"),
         Fix("or compute it where graphs may follow", "with torch.no_grad(): …")),
        (Steps((Step("inference_mode", "no versions, no graph", GONE), Step(f.x.label),
                Step("autograd", "", CLASH))),))),
    # devices and values
    "meta data": of(lambda t: t.device == "meta", lambda f: Diagnosis(
        f"{f.x} is on the meta device: it has a shape, and no values",
        "Meta tensors let operators work out shapes, strides and dtypes without computing. There is nothing to read, "
        "and nothing to copy.",
        (Fix("make new, uninitialised memory of that shape elsewhere", f"torch.empty_like({f.x}, device='cpu')"),
         Fix("the same for a module, which is then initialised or loaded", "model.to_empty(device='cpu')"),
         Fix("or look at what there is", f"{f.x}.shape, {f.x}.dtype")),
        (Groups((Group("meta", (f"{f.x}: shape {f.x.size}", "values: none"), GONE, True),)),))),
    "numpy of a graph": lambda f: Diagnosis(
        f"{f.x} requires grad, and NumPy cannot follow its history",
        "An array would share the tensor's memory, and what NumPy does with it would be missing from the graph. So the "
        "program must say that the history ends here.",
        (Fix("leave the graph, sharing the memory", f"{f.x}.detach().numpy()"),
         Fix("for values only, from any device", f"{f.x}.numpy(force=True)"),
         Fix("or compute without a graph from the start", "with torch.no_grad(): …")),
        (Steps((Step(f.x.label, f"requires grad, {f.x.node or 'a leaf'}"),
                Step("NumPy", "knows no gradients: the graph would end here unseen", CLASH))),)),
    "numpy of a device": lambda f: Diagnosis(
        f"{f.x} is on {f.x.device}, and NumPy sees the host's memory only",
        "numpy() shares memory with the tensor, which is on the device. A copy must be asked for.",
        (Fix("copy it to the host", f"{f.x}.cpu().numpy()"),
         Fix("from any device, and whether or not it requires grad", f"{f.x}.numpy(force=True)")),
        (Groups((Group(f.x.device, (f"{f.x} {f.x.size}",), "", True), Group("cpu", ("NumPy",), CLASH, True))),)),
    "number of many": lambda f: Diagnosis(
        f"{f.x} {f.x.size} is more than one number",
        "item(), float(), int() and the like take a tensor of exactly one element.",
        (Fix("all its values as lists", f"{f.x}.tolist()"), Fix("one of them", f"{f.x}[0].item()"),
         Fix("or reduce first", f"{f.x}.mean().item()")),
        (Shapes((whole(f.x.label, f.x.shape), ShapeRow("needed", (Cell("1"),), "one element"))),)),
    # modules and optimizers
    "no parameter": lambda f: Diagnosis(
        f"{f.name} is a parameter, and was to become a plain tensor",
        "An optimizer and a state dict know a parameter by its place in the module. A tensor there would drop out of "
        "both.",
        (Fix("to change its values, as in initialising", f"with torch.no_grad(): module.{f.name}.copy_(value)"),
         Fix("to put another parameter there", f"module.{f.name} = nn.Parameter(value)"),
         Fix("to have a plain tensor there from now on", f"del module.{f.name}")),
        (Groups((Group("there", (f"{f.name}: nn.Parameter",), GOOD), Group("assigned", (f.given,), CLASH))),)),
    "no parameters": lambda f: Diagnosis(
        "the optimizer was given no parameters",
        "Either nothing in the model is a parameter, or the iterator was read before: parameters() can be read once.",
        (Fix("modules and parameters must be attributes of the module; nn has lists of them", "nn.ModuleList([…])"),
         Fix("a tensor becomes a parameter in this way", "self.w = nn.Parameter(torch.randn(3))"),
         Fix("ask again instead of using an iterator twice", "model.parameters()")),
        (Steps((Step("model.parameters()", "yields nothing", CLASH), Step("optimizer", "would have nothing to do"))),)),
    "optimized result": lambda f: Diagnosis(
        f"{f.param} was computed by {f.param.node}: an optimizer can only change what the program made",
        "Gradients are kept in the leaves of the graph. A computed tensor is made anew in each forward; changing it "
        "has no effect on what it was computed from.",
        (Fix("optimize what it was computed from"),
         Fix("or make a leaf of its values", f"{f.param}.detach().requires_grad_()")),
        (Steps((Step("leaf", "has .grad", GOOD), Step(f.param.node),
                Step(f.param.label, "computed, no .grad", CLASH))),)),
    "one parameter": lambda f: Diagnosis(
        "an optimizer takes several parameters, and was given one tensor",
        "It would iterate over the tensor's first dimension, whose parts are no leaves.",
        (Fix("put it into a list", "optim.SGD([w], lr=0.1)"),
         Fix("or give a model's", "optim.SGD(model.parameters(), lr=0.1)")),
        (given(("a tensor",), "[w, b]", "model.parameters()"),)),
    # calls
    "arguments": lambda f: Diagnosis(
        f"{f.function} does not take ({f.given})",
        "No overload of the operator fits these arguments. Each has its own list of parameters, given below.",
        (Fix("convert what does not fit, or name the arguments"),
         Fix("see the signatures", f"help(torch.{f.function})")),
        (given((f"({f.given})",), *f.choices[:6], *[f"… {len(f.choices) - 6} more"] * (len(f.choices) > 6)),)),
    "no tensor in a list": lambda f: Diagnosis(
        f"a list of tensors has {f.given} at place {f.number}",
        "The operator joins tensors; numbers and lists must be made tensors first.",
        (Fix("of numbers, make one tensor at once", "torch.tensor([…])"),
         Fix("or make each a tensor", "[torch.as_tensor(x) for x in …]")), (given((f.given,), "Tensor"),), ()),
    "invalid tensor": lambda f: Diagnosis(
        f"{f.x} never got its values: its pipeline failed or was left",
        f"It was recorded in a pipeline that did not run to its operator. The reason: {f.reason}",
        (Fix("compute it again: it stays invalid"),
         Fix("catch errors inside the block, so that the pipeline runs to its end", "with torch.pipeline(): …")),
        (Steps((Step("recorded", "shape and dtype are known", GOOD), Step("failed", f.reason[:120], CLASH),
                Step(f.x.label, "has no values", GONE))),)),
}
