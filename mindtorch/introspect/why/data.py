"""Mistakes in how data are loaded: loaders, datasets, and the parts of a batch. They show in what the program wrote, as
those in ``program.py`` do.
"""
from __future__ import annotations

import ast
import re

from .explanation import CLASH, GOOD, Diagnosis, Fields, Fix, Group, Groups, given
from .failure import Failure
from .wrote import is_loader, is_many, is_tensor


def loader_misused(failure: Failure, f: Fields) -> Diagnosis | None:
    """``next(loader)``, ``loader[0]``."""
    wrote = failure.wrote
    if isinstance(wrote.node, ast.Subscript) and is_loader(wrote.value(wrote.node.value)):
        text, index = wrote.text(wrote.node.value), wrote.text(wrote.node.slice)
        wrong, fixes = f"{text}[{index}]", (Fix("of the samples take one", f"{text}.dataset[{index}]"),
                                            Fix("or the first batch", f"next(iter({text}))"))
    elif wrote.function is next and wrote.arguments and is_loader(wrote.arguments[0][1]):
        text = wrote.arguments[0][0]
        wrong, fixes = f"next({text})", (Fix("begin a pass, and take its first batch", f"next(iter({text}))"),
                                         Fix("or go through all", f"for batch in {text}: …"))
    else:
        return None
    return Diagnosis(
        f"{text} is a DataLoader: each loop over it is a new pass over the data",
        "It makes batches while a loop asks for them, in a new order each time if it shuffles; they have no numbers.",
        fixes, (given([wrong], f"for batch in {text}", f"next(iter({text}))"),))


def two_for_one(failure: Failure, f: Fields) -> Diagnosis | None:
    """``DataLoader(x, y)``."""
    wrote = failure.wrote
    first = wrote.arguments[:2]
    if wrote.name.rpartition(".")[2] != "DataLoader" or len(first) < 2 or not all(is_tensor(v) for _, v in first):
        return None
    x, y = (text for text, _ in first)
    return Diagnosis(
        f"DataLoader takes one dataset; {y} was taken for the size of the batches",
        "Samples and labels that belong together are first made one dataset.",
        (Fix("pair them", f"torch.utils.data.DataLoader(torch.utils.data.TensorDataset({x}, {y}))"),),
        (given([f"{x}, {y}"], f"TensorDataset({x}, {y})"),))


def unequal_samples(failure: Failure, f: Fields) -> Diagnosis | None:
    """``TensorDataset(x, y)`` of tensors that differ in length."""
    wrote = failure.wrote
    lengths = {text: len(value) for text, value in wrote.arguments if is_many(value)}
    if wrote.name.rpartition(".")[2] != "TensorDataset" or len(set(lengths.values())) < 2:
        return None
    rows, few = [f"{text}: {length} samples" for text, length in lengths.items()], min(lengths.values())
    return Diagnosis(
        f"the tensors hold different numbers of samples: {', '.join(rows)}",
        "The first dimension counts the samples; element i of each tensor belongs to sample i.",
        (Fix("look where samples went missing; to take those that all have",
             f"{wrote.name}({', '.join(f'{text}[:{few}]' for text, _ in wrote.arguments)})"),),
        (Groups((Group("samples", tuple(rows), CLASH),)),))


def incomplete_dataset(failure: Failure, f: Fields) -> Diagnosis | None:
    """A dataset that lacks a method."""
    wrote = failure.wrote
    abstract = isinstance(failure.error, NotImplementedError) and "Dataset" in failure.message
    unsized = isinstance(failure.error, TypeError) and "has no len()" in failure.message
    lacks = "__len__" if unsized else "__getitem__" if abstract else ""
    if not lacks:
        return None
    classes = [node for node in ast.walk(wrote.source) if isinstance(node, ast.ClassDef)
               and any("Dataset" in ast.unparse(base) for base in node.bases)]
    if not ("DataLoader" in wrote.text(wrote.node) or classes or failure.is_ours):
        return None
    body = "return len(self.data)" if lacks == "__len__" else "return self.data[i]"
    head = "def __len__(self):" if lacks == "__len__" else "def __getitem__(self, i):"
    return Diagnosis(
        f"the dataset has no {lacks}",
        "A loader asks a dataset how many samples there are, with __len__, and for each by its number, with "
        "__getitem__.", (Fix("define it in its class", f"{head} {body}"),),
        (Groups((Group("a dataset has", ("__len__", "__getitem__"), GOOD), Group("missing", (lacks,), CLASH))),))


def unpacked(failure: Failure, f: Fields) -> Diagnosis | None:
    """Another number of variables than a batch, or a sample, has parts."""
    wrote = failure.wrote
    if not isinstance(failure.error, ValueError) or "values to unpack" not in failure.message:
        return None
    target = wrote.text(wrote.node).strip("()")
    loop = next((node for node in ast.walk(wrote.source) if isinstance(node, (ast.For, ast.comprehension))
                 and ast.unparse(node.target).strip("()") == target
                 and (is_loader(wrote.value(node.iter)) or "Loader" in ast.unparse(node.iter))), None)
    if loop is None:
        return None
    names = [ast.unparse(name) for name in getattr(loop.target, "elts", ())]
    got = re.search(r"got (\d+)", failure.message)
    parts = "fewer" if "not enough" in failure.message else "more"
    number = f"{got[1]} parts" if got else f"{parts} parts"
    fixed = ", ".join(names[:int(got[1])]) if got and int(got[1]) <= len(names) else "x, y, *rest"
    return Diagnosis(
        f"the loop takes {len(names)} parts from each batch, which has {number}",
        "A batch has as many parts as a sample of the dataset: what its __getitem__ returns.",
        (Fix("take as many as there are", f"for {fixed} in {ast.unparse(loop.iter)}: …"),
         Fix("or look at one first", f"next(iter({ast.unparse(loop.iter)}))")), (given([", ".join(names)], number),))


#: In the order in which they are asked.
RECOGNISED = {
    "loader misused": loader_misused, "two tensors for one dataset": two_for_one, "unequal samples": unequal_samples,
    "incomplete dataset": incomplete_dataset, "parts of a batch": unpacked,
}
