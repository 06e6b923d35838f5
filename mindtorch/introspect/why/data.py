"""Mistakes in how data are loaded: loaders, datasets, batches and their parts. They show in what the program wrote, as
those in ``program.py`` do.
"""
from __future__ import annotations

import ast
import re

from .explanation import CLASH, GOOD, Diagnosis, Fields, Fix, Group, Groups, given
from .failure import Failure
from .wrote import is_loader, is_many, is_tensor


def loader_misused(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``next(loader)``, ``loader[0]``."""
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
    """Explain ``DataLoader(x, y)``."""
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
    """Explain ``TensorDataset(x, y)`` of tensors that differ in length."""
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
    """Explain a dataset that lacks a method."""
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
    """Explain another number of variables than a batch, or a sample, has parts."""
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


def other_lengths(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``random_split(data, [7, 2])`` of ten samples."""
    wrote = failure.wrote
    if wrote.name.rpartition(".")[2] != "random_split" or len(wrote.arguments) < 2:
        return None
    (text, dataset), (_, lengths) = wrote.arguments[:2]
    known = hasattr(dataset, "__len__") and isinstance(lengths, (list, tuple)) and all(
        isinstance(n, int) for n in lengths)
    if not known or sum(lengths) == len(dataset):
        return None
    right = [*lengths[:-1], len(dataset) - sum(lengths[:-1])]
    shares = [round(n / sum(lengths), 2) for n in lengths[:-1]]
    return Diagnosis(
        f"the parts have {sum(lengths)} samples in all, and {text} has {len(dataset)}",
        "random_split deals out every sample once, so the parts' lengths add up to that of the dataset.",
        (Fix("let the last part have what is left", f"{wrote.name}({text}, {right})") if right[-1] >= 0 else None,
         Fix("or give shares, which add up to 1", f"{wrote.name}({text}, {[*shares, round(1 - sum(shares), 2)]})")),
        (Groups((Group("asked for", (f"{' + '.join(map(str, lengths))} = {sum(lengths)}",), CLASH),
                 Group("there are", (str(len(dataset)),), GOOD))),))


def no_samples(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain a loader that should shuffle a dataset without samples."""
    wrote = failure.wrote
    if "num_samples=0" not in failure.message or not wrote.arguments:
        return None
    text = wrote.arguments[0][0]
    return Diagnosis(
        f"{text} holds no samples: len({text}) is 0",
        "What should have filled it found nothing: often a folder or a pattern of names that is not where the program "
        "looks, or a filter that lets nothing through.",
        (Fix("see what is there", "sorted(os.listdir(folder))[:5]"),
         Fix("and stop where it is read, not where it is used", f"assert len({text}) > 0, folder")),
        (Groups((Group(text, ("0 samples",), CLASH), Group("needed", ("1 or more",), GOOD))),))


def collated(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain samples that do not form a batch: one is None, or their shapes differ."""
    wrote, loader = failure.wrote, None
    for part in [wrote.node, *(wrote.call.args if wrote.call else ())]:
        found = part.iter if isinstance(part, ast.For) else part
        made = found if isinstance(found, ast.Call) and wrote.text(found.func).endswith("DataLoader") else None
        found = found.args[0] if isinstance(found, ast.Call) and found.args else found
        loader = loader or (found if is_loader(wrote.value(found)) else None)
        loader = loader or made
    if loader is None:
        return None
    text = "the loader" if isinstance(loader, ast.Call) else wrote.text(loader)
    pad = "lambda batch: nn.utils.rnn.pad_sequence(batch, batch_first=True)"
    if "NoneType" in failure.message:
        return Diagnosis(
            "a sample of the dataset is None, and cannot go into a batch",
            "The loader puts into a batch what __getitem__ returns for each number. A path through it that ends "
            "without return gives None.",
            (Fix("return the sample on every path of __getitem__", f"return {_held(failure)}"),
             Fix("or leave such samples out when a batch is made",
                 "collate_fn=lambda batch: torch.utils.data.default_collate([x for x in batch if x is not None])")),
            (Groups((Group("in the batch", ("None",), CLASH),
                     Group("taken", ("tensors, arrays, numbers", "text, lists, dicts of them"), GOOD))),), ())
    if found := re.search(r"must contain tensors, .*; found <class '(?:.*\.)?(\w+)'>", failure.message):
        return Diagnosis(
            f"a sample of the dataset holds a {found[1]}, of which no batch can be made",
            f"{text} puts tensors, arrays, numbers and text into batches, and lists, tuples and dictionaries of these.",
            (Fix("return tensors or numbers from __getitem__", f"return torch.as_tensor({_held(failure)}.…)"),
             Fix("or keep the samples of a batch in a list", "collate_fn=list")),
            (Groups((Group("in the sample", (found[1],), CLASH),
                     Group("taken", ("tensors, arrays, numbers", "text, lists, dicts of them"), GOOD))),), ())
    shapes = re.search(r"equal size, but got (\[.*?\]) at entry 0 and (\[.*?\]) at entry (\d+)", failure.message)
    if shapes is None:
        return None
    return Diagnosis(
        f"the samples of a batch have different shapes: {shapes[1]} and {shapes[2]}",
        f"{text} lays the samples of a batch on top of each other, as one tensor, so all must have one shape.",
        (Fix("of sequences, pad the shorter ones of each batch", f"DataLoader(…, collate_fn={pad})"),
         Fix("of images, bring all to one size in __getitem__", "F.interpolate(image[None], size=(64, 64))[0]"),
         Fix("or keep them apart", "DataLoader(…, collate_fn=list)")),
        (Groups((Group("sample 0", (shapes[1],), GOOD), Group(f"sample {shapes[3]}", (shapes[2],), CLASH))),), ())


def _held(failure: Failure) -> str:
    """Return the expression from which a dataset's ``__getitem__`` takes a sample."""
    getters = [node for node in ast.walk(failure.wrote.source)
               if isinstance(node, ast.FunctionDef) and node.name == "__getitem__"]
    parts = [ast.unparse(node) for getter in getters for node in ast.walk(getter)
             if isinstance(node, ast.Subscript) and ast.unparse(node).startswith("self.")]
    return parts[0] if parts else "self.data[i]"


def unsorted_lengths(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``pack_padded_sequence`` of sequences that do not stand in the order of their lengths."""
    wrote = failure.wrote
    if "must be sorted in decreasing order" not in failure.message or not wrote.arguments:
        return None
    given_ = ", ".join(text for text, _ in wrote.arguments[:2])
    rest = "".join(f", {word.arg}={wrote.text(word.value)}" for word in wrote.call.keywords) if wrote.call else ""
    return Diagnosis(
        "the sequences do not stand in the order of their lengths, the longest first",
        "Packed sequences are read step by step, and at each step only as many as still go on: the first ones. They "
        "are sorted for that, and put back in order afterwards, if that is allowed.",
        (Fix("let them be sorted", f"{wrote.name}({given_}{rest}, enforce_sorted=False)"),),
        (given([wrote.arguments[1][0]], "longest first", "enforce_sorted=False"),),
        tuple(failure.involved(value, "input") for _, value in wrote.arguments[:1] if is_tensor(value)))


def empty_sequence(failure: Failure, f: Fields) -> Diagnosis | None:
    """Explain ``pack_padded_sequence`` of a sequence without elements."""
    if "Length of all samples has to be greater than 0" not in failure.message or len(failure.wrote.arguments) < 2:
        return None
    lengths = failure.wrote.arguments[1][0]
    return Diagnosis(
        f"{lengths} holds 0: a sequence without elements cannot be packed",
        "Packing keeps the steps that there are; of an empty sequence there is none, so that it would vanish from the "
        "batch.",
        (Fix("leave empty sequences out of the data"),
         Fix("or read one step of padding in them", f"{lengths}.clamp(min=1)")),
        (given([f"{lengths}: 0"], "1 or more"),), ())


#: In the order in which they are asked.
RECOGNISED = {
    "empty sequence": empty_sequence,
    "loader misused": loader_misused, "two tensors for one dataset": two_for_one, "unequal samples": unequal_samples,
    "incomplete dataset": incomplete_dataset, "parts of a batch": unpacked,
    "other lengths": other_lengths, "no samples": no_samples, "samples that differ": collated,
    "unsorted lengths": unsorted_lengths,
}
