"""Explains errors: a table of those that are common, one row an error, and what is found out about each.

``explain(error)`` looks at the traceback's frames while it runs, and returns plain data: nothing is kept.
"""
from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from . import autograd, devices, dtypes, indexing, layout, products, programs, shapes
from .facts import (
    Bars, Call, Cell, Cure, Explanation, Finding, Group, Groups, Involved, Picture, Places, Ruler, ShapeRow, Shapes, Step,
    Steps,
)  # fmt: skip
from .scene import Scene

__all__ = [
    "Bars", "Call", "Cell", "Cure", "Explanation", "Finding", "Group", "Groups", "Involved", "Picture", "Places", "ROWS",
    "Ruler", "Scene", "ShapeRow", "Shapes", "Step", "Steps", "explain", "last_error",
]  # fmt: skip


class Row(NamedTuple):
    """An error: its name here, a pattern that its message begins with, and the function that explains it, which may
    return None to leave it to a later row.
    """

    kind: str
    pattern: str
    explain: Callable[[Scene, re.Match[str]], Finding | None]
    anywhere: bool = False  #: also if the error did not arise inside the library


INDEX = r"(?P<index>-?\d+)"
DIM, SIZE = r"(?P<dim>\d+)", r"(?P<size>\d+)"
PRODUCT = "mat1 and mat2 shapes cannot be multiplied"
ROWS = [Row(*row) for row in (
    # shapes
    ("in-place broadcast", r"output with shape (\[.*?\]) doesn't match the broadcast shape (\[.*?\])", shapes.grown),
    ("broadcast", r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at .*?dimension (\d+)",
     shapes.broadcast),
    ("batched matmul shapes", r"The size of tensor a \(\d+\) must match the size of tensor b", products.batched),
    ("linear shapes", rf"{PRODUCT}|size mismatch, got input", products.linear),
    ("matmul shapes", PRODUCT, products.matmul),
    ("matmul vectors", r"size mismatch, got input|inconsistent tensor size, expected tensor", products.vectors),
    ("batched matmul shapes", r"Expected size for first two dimensions of batch2 tensor", products.batched),
    ("matrices wanted", r"\w+ must be a (?:3D tensor|matrix)", products.not_matrices),
    ("einsum", r"einsum\(\): subscript (\w) has size", products.einsum),
    ("cat shapes", r"Sizes of tensors must match except in dimension (\d+)\. Expected size (\d+) but got size (\d+) for "
     r"tensor number (\d+)", shapes.cat),
    ("cat dimensions", r"Tensors must have same number of dimensions", shapes.cat_ndim),
    ("nothing to join", r".*expected a non-empty (?:list of Tensors|TensorList)", shapes.nothing_to_join),
    ("stack shapes", r"stack expects each tensor to be equal size, but got (\[.*?\]) at entry 0 and \[.*?\] at entry (\d+)",
     shapes.stack),
    ("split sizes", r"split_with_sizes expects split_sizes to sum exactly to (\d+) .*dimension (-?\d+)\), but got "
     r"split_sizes=(\[.*\])", shapes.split),
    ("loss batch", r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)", shapes.batch),
    ("loss shapes", r"Using a target size \(torch.Size\((.*?)\)\) that is different to the input size", shapes.loss_sizes),
    # layout
    ("view strides", r"view size is not compatible with input tensor's size and stride", layout.view_stride),
    ("view elements", r"shape '(\[.*?\])' is invalid for input of size (\d+)", layout.view_elements),
    ("view two unknown", r"only one dimension can be inferred", layout.two_unknown),
    ("expand", r"The expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\) at non-singleton dimension "
     r"(\d+)\.\s+Target sizes: (\[.*?\])\.\s+Tensor sizes: (\[.*?\])", layout.expand),
    ("expand dimensions", r"expand\(.*?\{(\[.*?\])\}, size=(\[.*?\])\)", layout.expand_dims),
    ("overlapping write", r"unsupported operation: more than one element of the written-to tensor", layout.overlapping),
    ("dimension", r"Dimension out of range \(expected to be in range of \[(-?\d+), (-?\d+)\], but got (-?\d+)\)",
     layout.dimension),
    ("permutation", r"permute\(.*?\): (?:number of dimensions|duplicate dims)", layout.permutation),
    ("t of many dimensions", r"t\(\) expects a tensor with <= 2 dimensions", layout.transposed),
    ("narrow", r"start \((\d+)\) \+ length \((\d+)\) exceeds dimension size \((\d+)\)", layout.narrowed),
    # indexing
    ("index", rf"index {INDEX} is out of bounds for dimension {DIM} with size {SIZE}", indexing.out_of_range),
    ("select", rf"select\(\): index {INDEX} out of range for tensor of size (?P<shape>\[.*?\]) at dimension {DIM}",
     indexing.out_of_range),
    ("index in self", r"index out of range in self", indexing.out_of_range),
    ("element index", r"out of range: tried to access index (-?\d+) on a tensor of (\d+) elements", indexing.elements),
    ("target class", r"Target (-?\d+) is out of bounds", indexing.target),
    ("too many indices", r"too many indices for tensor of dimension (\d+)", indexing.too_many),
    ("index type", r"only integers, slices|tensors used as indices must be", indexing.wrong_type),
    ("mask shape", r"The shape of the mask (\[.*?\]) at index (\d+) does not match the shape of the indexed tensor (\[.*?\]) "
     r"at index (\d+)", indexing.mask),
    ("index shapes", r"shape mismatch: indexing tensors could not be broadcast together with shapes (.*)", indexing.shapes),
    ("gather dimensions", r"Index tensor must have the same number of dimensions", indexing.gather_dims),
    # dtypes
    ("matmul dtypes", r"expected m1 and m2 to have the same dtype|mat1 and mat2 must have the same dtype",
     dtypes.product),
    ("target dtype", r"expected target dtype to be Long or Byte", dtypes.loss_target),
    ("result cast", r"result type (\w+) can't be cast to the desired output type (\w+)", dtypes.cast),
    ("not for this dtype", r"\"(\w+)\" not implemented for '(\w+)'", dtypes.not_implemented),
    ("mean of integers", r"mean\(\): could not infer output dtype", dtypes.mean),
    ("minus of bools", r"(?:Subtraction|Negation), the `-` operator", dtypes.of_bools),
    ("negative power", r"Integers to negative integer powers are not allowed", dtypes.negative_power),
    ("ragged list", r"expected sequence of length \d+ at dim \d+ \(got \d+\)|not a sequence: expected", dtypes.ragged),
    ("no number", r"new\(\): invalid data type '(\w+)'", dtypes.data_type),
    ("negative strides", r"At least one stride in the given numpy array is negative", dtypes.negative_stride),
    # autograd
    ("leaf in place", r"a (?:view of a )?leaf Variable that requires grad is being used in an in-place", autograd.leaf),
    ("modified saved tensor", r"one of the variables needed for gradient computation has been modified by an inplace "
     r"operation.*is at version (?P<now>\d+); expected version (?P<wanted>\d+)", autograd.modified),
    ("backward twice", r"Trying to backward through the graph a second time", autograd.twice),
    ("backward of many", r"grad can be implicitly created only for scalar outputs", autograd.not_scalar),
    ("no graph", r"element (\d+) of tensors does not require grad", autograd.no_graph),
    ("gradient shape", r"Mismatch in shape: grad_output\[\d+\] has a shape of torch.Size\((.*?)\) and output\[\d+\] has a "
     r"shape of torch.Size\((.*?)\)", autograd.gradient_shape),
    ("unused input", r"The differentiated Tensor at index (\d+) appears to not have been used",
     autograd.unused),
    ("requires_grad of integers", r"only Tensors of floating point and complex dtype can require gradients",
     autograd.needs_floats),
    ("requires_grad of a result", r"you can only change requires_grad flags of leaf variables", autograd.flag_of_result),
    ("inference tensor", r"Setting requires_grad=True on inference tensor|Inference tensors cannot be saved",
     autograd.inference),
    ("deep copy", r"Only Tensors created explicitly by the user", autograd.copied),
    # devices and values
    ("mixed devices", r"Expected all tensors to be on the same device", devices.mixed),
    ("meta data", r"Cannot copy out of meta tensor|.*cannot be called on meta tensors|can't convert meta device type",
     devices.no_data),
    ("no such device", r"Expected one of .* device type at start of device string: (?P<asked>\S+)|invalid device ordinal: "
     r"(?P<ordinal>\S+),", devices.no_device),
    ("numpy of a graph", r"Can't call numpy\(\) on Tensor that requires grad", devices.numpy),
    ("truth of many", r"Boolean value of Tensor with (?:more than one value|no values) is ambiguous", devices.truth),
    ("number of many", r"a Tensor with \d+ elements cannot be converted to Scalar|only integer tensors of a single element",
     devices.one_number),
    ("out of memory", r"NPU out of memory|.*can't allocate memory", devices.out_of_memory),
    # programs
    ("state dict", r"Error\(s\) in loading state_dict for (\w+)", programs.state_dict),
    ("no parameters", r"optimizer got an empty parameter list", programs.no_parameters),
    ("optimized result", r"can't optimize a non-leaf Tensor", programs.not_a_leaf),
    ("one parameter", r"params argument given to the optimizer should be an iterable", programs.not_iterable),
    ("missing kernel", r"Could not run 'aten::(?P<op>.*?)' with arguments from the '(?P<backend>.*?)' backend.*available for "
     r"these backends: \[(?P<there>.*?)\]", programs.no_kernel),
    ("unknown operator", r"no operator is registered under the name '(?P<op>.*?)'", programs.unknown_operator),
    ("unknown operator", r"'_OpNamespace' 'aten' object has no attribute '(?P<op>\w+)'", programs.unknown_operator),
    ("no such name", r"module 'mindtorch[\w.]*' has no attribute '\w+'|'(?:Tensor|Parameter)' object has no attribute '\w+'",
     programs.no_name, True),
    ("arguments", r"(?P<op>\w+)\(\) received an invalid combination of arguments - got \((?P<given>.*?)\), but expected",
     programs.arguments),
    ("singular matrix", r"linalg\.\w+: (?:The diagonal element|The factorization could not)", programs.singular),
    ("pipeline", r"(?s)pipeline: (?P<op>aten::\S+), recorded at .*:(?P<line>\d+) in .*, failed: (?P<inner>.*)",
     programs.pipeline),
    ("invalid tensor", r"(?s)this tensor is invalid, it never got its values: (.*)", programs.invalid),
)]  # fmt: skip


def last_error() -> BaseException | None:
    """The last error that the interpreter, or the notebook, has shown; None if there was none."""
    error = getattr(sys, "last_exc", None)
    return getattr(sys, "last_value", None) if error is None else error


def explain(error: BaseException, namespace: Mapping[str, Any] | None = None) -> Explanation:
    """Why an error arose, what helps, and what is known of the tensors involved, which are called what they are called
    in the failing program, or else in ``namespace``.
    """
    chosen = next((Scene(part, namespace) for part in _chain(error) if Scene(part).is_ours), None)
    scene = chosen or Scene(error, namespace)
    kind, finding = _found(scene)
    if kind == "pipeline" and isinstance(cause := scene.error.__cause__, Exception):
        inner = Scene(cause, scene.named)  # its own frames begin inside the library
        why = _found(inner)[1]
        finding = replace(finding, cures=(*why.cures, *finding.cures), pictures=(*finding.pictures, *why.pictures),
                          tensors=inner.of_innermost() if why.tensors is None else why.tensors)  # fmt: skip
    return Explanation(
        kind=kind,
        title=finding.title,
        cause=finding.cause,
        cures=tuple(cure for cure in finding.cures if cure.text),
        error=type(scene.error).__name__,
        message=scene.message,
        call=scene.call(),
        tensors=scene.of_innermost() if finding.tensors is None else finding.tensors,
        pictures=finding.pictures,
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error, and those that it was raised from."""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__ or following.__context__


def _found(scene: Scene) -> tuple[str, Finding]:
    for row in ROWS:
        match = re.match(row.pattern, scene.message) if scene.is_ours or row.anywhere else None
        if match is None:
            continue
        try:
            finding = row.explain(scene, match)
        except (LookupError, AttributeError, TypeError, ValueError) as unforeseen:
            reason = f" (It looks like {row.kind!r}, but its traceback could not be read: {unforeseen!r}.)"
            return "", _unknown(scene, reason)
        if finding is not None:
            return row.kind, finding
    return "", _unknown(scene)


def _unknown(scene: Scene, reason: str = "") -> Finding:
    """What can honestly be said of an error that no row knows, or that its row could not make out."""
    first = scene.message.strip().partition("\n")[0]
    title = first or f"{type(scene.error).__name__} without a message"
    if not scene.is_ours:
        return Finding(title, "This error did not arise inside mindtorch: its traceback shows the line of the program that "
                       "raised it.")  # fmt: skip
    call = scene.innermost
    where = f"It arose in aten::{call.op.name}, with the tensors below. " if call else "It arose inside mindtorch. "
    return Finding(title, f"{where}There is no explanation for this error yet; its message is all that is known.{reason}",
                   pictures=(shapes.plain(scene.of_innermost()),) if scene.of_innermost() else ())  # fmt: skip
