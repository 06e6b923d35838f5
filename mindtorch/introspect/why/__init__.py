"""Explains errors: a table of those that are common, one row an error, and what is found out about each.

``explain(error)`` looks at the traceback's frames while it runs, and returns plain data: nothing is kept.
"""
from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from . import (
    autograd, devices, dtypes, history, indexing, layout, modules, operands, products, programs, ranges, shapes,
)  # fmt: skip
from .facts import (
    Bars, Call, Cell, Cure, Explanation, Finding, Group, Groups, Involved, Picture, Places, Ruler, ShapeRow, Shapes,
    Step, Steps,
)  # fmt: skip
from .scene import Scene

__all__ = [
    "Bars", "Call", "Cell", "Cure", "Explanation", "Finding", "Group", "Groups", "Involved", "Picture", "Places",
    "ROWS", "Ruler", "Scene", "ShapeRow", "Shapes", "Step", "Steps", "explain", "last_error",
]  # fmt: skip


class Row(NamedTuple):
    """An error: its name here, a pattern that its message begins with, and the function that explains it, which may
    return None to leave it to a later row.
    """

    kind: str
    pattern: str
    explain: Callable[[Scene, re.Match[str]], Finding | None]
    anywhere: bool = False  #: also if the error did not arise inside the library


#: Parts of patterns: a number, a shape, a type.
N, S, T = r"(-?\d+)", r"(\[.*?\])", r"(\w+)"
INDEX, DIM, SIZE = r"(?P<index>-?\d+)", r"(?P<dim>\d+)", r"(?P<size>\d+)"
PRODUCT = "mat1 and mat2 shapes cannot be multiplied"
ROWS = [Row(*row) for row in (
    # shapes
    ("in-place broadcast", rf"output with shape {S} doesn't match the broadcast shape {S}", shapes.grown),
    ("broadcast", rf"The size of tensor a \({N}\) must match the size of tensor b \({N}\) at .*?dimension {N}",
     shapes.broadcast),
    ("batched matmul shapes", rf"The size of tensor a \({N}\) must match the size of tensor b", products.batched),
    ("linear shapes", PRODUCT, products.linear),
    ("matmul shapes", PRODUCT, products.matmul),
    ("matmul vectors", "size mismatch, got input|inconsistent tensor size, expected tensor", products.vectors),
    ("batched matmul shapes", "Expected size for first two dimensions of batch2 tensor", products.batched),
    ("matrices wanted", rf"{T} must be a (?:3D tensor|matrix)", products.not_matrices),
    ("einsum", rf"einsum\(\): subscript {T} has size", products.einsum),
    ("cat shapes", rf"Sizes of tensors must match except in dimension {N}\. Expected size {N} but got size {N} for "
     rf"tensor number {N}", shapes.cat),
    ("cat dimensions", "Tensors must have same number of dimensions", shapes.cat_ndim),
    ("nothing to join", ".*expected a non-empty list of Tensors", shapes.nothing_to_join),
    ("stack shapes", rf"stack expects each tensor to be equal size, but got {S} at entry 0 and .*? at entry {N}",
     shapes.stack),
    ("split sizes", rf"split_with_sizes expects split_sizes to sum exactly to {N} .*dimension {N}\), but got "
     rf"split_sizes={S}", shapes.split),
    ("loss batch", rf"Expected input batch_size \({N}\) to match target batch_size \({N}\)", shapes.batch),
    ("target shape", r"Expected target size \[|0D or 1D target tensor expected", operands.target_shape),
    ("loss shapes", r"Using a target size \(.*?\) that is different to the input size", shapes.loss_sizes),
    # layout
    ("view strides", "view size is not compatible with input tensor's size and stride", layout.view_stride),
    ("view elements", rf"shape '{S}' is invalid for input of size {N}", layout.view_elements),
    ("view two unknown", "only one dimension can be inferred", layout.two_unknown),
    ("expand", rf"The expanded size of the tensor \({N}\) must match the existing size \({N}\) at non-singleton "
     rf"dimension {N}\.\s+Target sizes: {S}\.\s+Tensor sizes: {S}", layout.expand),
    ("expand dimensions", rf"expand\(.*?\{{{S}\}}, size={S}\)", layout.expand_dims),
    ("overlapping write", "unsupported operation: more than one element of the written-to tensor", layout.overlapping),
    ("dimension", rf"Dimension out of range \(expected to be in range of \[{N}, {N}\], but got {N}\)",
     layout.dimension),
    ("permutation", r"permute\(.*?\): (?:number of dimensions|duplicate dims)", layout.permutation),
    ("t of many dimensions", r"t\(\) expects a tensor with <= 2 dimensions", layout.transposed),
    ("narrow", rf"start \({N}\) \+ length \({N}\) exceeds dimension size \({N}\)", layout.narrowed),
    # indexing
    ("index", f"index {INDEX} is out of bounds for dimension {DIM} with size {SIZE}", indexing.out_of_range),
    ("select", rf"select\(\): index {INDEX} out of range for tensor of size .*? at dimension {DIM}",
     indexing.out_of_range),
    ("index in self", "index out of range in self", indexing.out_of_range),
    ("element index", f"out of range: tried to access index {N} on a tensor of {N} elements", indexing.elements),
    ("target class", f"Target {N} is out of bounds", indexing.target),
    ("too many indices", f"too many indices for tensor of dimension {N}", indexing.too_many),
    ("index type", "only integers, slices|tensors used as indices must be", indexing.wrong_type),
    ("mask shape", f"The shape of the mask {S} at index {N} does not match the shape of the indexed tensor {S} at "
     f"index {N}", indexing.mask),
    ("index shapes", "shape mismatch: indexing tensors could not be broadcast together with shapes (.*)",
     indexing.shapes),
    ("gather dimensions", "Index tensor must have the same number of dimensions", indexing.gather_dims),
    ("no dimensions", r"(?:iteration over|len\(\) of) a 0-d tensor|invalid index of a 0-dim tensor|both arguments to "
     "matmul need to be at least 1D", layout.no_dimensions),
    # ranges
    ("one_hot classes", "Class values must be (?:smaller than num_classes|non-negative)", ranges.one_hot),
    ("probabilities", "all elements of (input|target) should be between 0 and 1", ranges.probabilities),
    ("negative size", f"Trying to create tensor with negative dimension {N}: {S}", ranges.negative_size),
    ("top k", "selected index k out of range", ranges.top_k),
    ("negative step", "step must be greater than zero", ranges.negative_step),
    ("range", "upper bound and lower bound inconsistent with step sign|step must be nonzero", ranges.no_range),
    ("repeat", "Number of dimensions of repeat dims can not be smaller", layout.repeated),
    ("flatten order", r"flatten\(\) has invalid args: start_dim cannot come after end_dim", ranges.flatten_order),
    ("unflatten", rf"unflatten: Provided sizes {S} don't multiply up to the size of dim {N} \({N}\)", ranges.unflatten),
    ("nothing to reduce", rf"{T}\(\): Expected reduction dim (?:to be specified for input.numel\(\) == 0|{N} to have "
     "non-zero size)", ranges.nothing_to_reduce),
    ("index dtype", r"one_hot is only applicable to index tensor|\w+\(\): Expected (?:a long tensor|dtype int32.*?) for "
     "index|Expected tensor for argument #1 'indices' to have one of", operands.expected_index),
    # dtypes
    ("matmul dtypes", "expected m1 and m2 to have the same dtype|mat1 and mat2 must have the same dtype",
     dtypes.product),
    ("target dtype", "expected target dtype to be Long or Byte", dtypes.loss_target),
    ("result cast", f"result type {T} can't be cast to the desired output type {T}", dtypes.cast),
    ("loss dtype", r"Found dtype \w+ but expected|Expected floating point type for target with class probabilities",
     operands.loss_dtype),
    ("mask dtype", "masked_fill_? only supports boolean masks", operands.mask_dtype),
    ("assigned dtype", r"Index put requires the source and destination dtypes match|scatter\w*\(\): Expected self.dtype "
     "to be equal to src.dtype", operands.assigned_dtype),
    ("not for this dtype", f"\"{T}\" not implemented for '{T}'", dtypes.not_implemented),
    ("mean of integers", r"mean\(\): could not infer output dtype", dtypes.mean),
    ("minus of bools", "(?:Subtraction|Negation), the `-` operator", dtypes.of_bools),
    ("negative power", "Integers to negative integer powers are not allowed", dtypes.negative_power),
    ("ragged list", "expected sequence of length|not a sequence: expected", dtypes.ragged),
    ("no number", rf"new\(\): invalid data type '{T}'|Could not infer dtype of {T}", dtypes.data_type),
    ("negative strides", "At least one stride in the given numpy array is negative", dtypes.negative_stride),
    # autograd
    ("leaf in place", "a (?:view of a )?leaf Variable that requires grad is being used in an in-place", autograd.leaf),
    ("modified saved tensor", "one of the variables needed for gradient computation has been modified by an inplace "
     rf"operation.*is at version (?P<now>{N}); expected version (?P<wanted>{N})", autograd.modified),
    ("backward twice", "Trying to backward through the graph a second time", autograd.twice),
    ("backward of many", "grad can be implicitly created only for scalar outputs", autograd.not_scalar),
    ("no graph", f"element {N} of tensors does not require grad", autograd.no_graph),
    ("gradient shape", rf"Mismatch in shape: grad_output\[.*?\] has a shape of torch.Size\({S}\) and .* has a shape of "
     rf"torch.Size\({S}\)", autograd.gradient_shape),
    ("unused input", f"The differentiated Tensor at index {N} appears to not have been used", autograd.unused),
    ("requires_grad of integers", "only Tensors of floating point and complex dtype can require gradients",
     history.needs_floats),
    ("requires_grad of a result", "you can only change requires_grad flags of leaf", history.flag_of_result),
    ("inference tensor", "Setting requires_grad=True on inference tensor|Inference tensors cannot be saved",
     history.inference),
    ("deep copy", "Only Tensors created explicitly by the user", history.copied),
    ("out of a graph", rf"{T}\(\): functions with out=... arguments don't support automatic differentiation",
     history.out_argument),
    ("one of several views", rf"Output {N} of {T} is a view and is being modified inplace", history.one_of_views),
    ("no gradient", "can't retain_grad on Tensor that has|cannot register a hook on a tensor that", history.needs_grad),
    ("gradients returned", rf"function {T} returned an incorrect number of gradients \(expected {N}, got {N}\)",
     history.number_of_gradients),
    ("gradient returned", rf"Function {T} returned an invalid gradient at index {N} - got {S} but expected shape "
     rf"compatible with {S}", history.shape_of_gradient),
    ("assigned gradient", "attempting to assign a gradient|assigned grad expected to be a Tensor", history.assigned),
    # devices and values
    ("mixed devices", "Expected all tensors to be on the same device", devices.mixed),
    ("meta data", "Cannot copy out of meta|.*cannot be called on meta tensors|can't convert meta device type",
     devices.no_data),
    ("no such device", r"Expected one of .* device type at start of device string: (?P<asked>\S+)|invalid device "
     r"ordinal: (?P<ordinal>\S+),", devices.no_device),
    ("numpy of a graph", r"Can't call numpy\(\) on Tensor that requires grad", devices.numpy),
    ("numpy of a device", r"can't convert npu\S* device type tensor to numpy", devices.off_host),
    ("truth of many", "Boolean value of Tensor with (?:more than one value|no values) is ambiguous", devices.truth),
    ("number of many", f"a Tensor with {N} elements cannot be converted|only integer tensors of a single element",
     devices.one_number),
    ("out of memory", "NPU out of memory|.*can't allocate memory", devices.out_of_memory),
    ("late error of a device", r"aclrtSynchronize\w+ failed on (?P<device>npu:\d+) with (?P<code>\w+ \(\d+\))(?:: "
     r"(?P<reason>.*))?", devices.late),
    # modules
    ("module arguments", rf"{T}\.forward\(\) (missing .*|takes .*|got .*)", modules.called),
    ("before init", rf"cannot assign {T} before Module.__init__\(\) call", modules.before_init),
    ("no forward", rf'Module \[{T}\] is missing the required "forward" function', modules.no_forward),
    ("no parameter", r"cannot assign '(.*?)' as parameter '(\w+)'", modules.no_parameter),
    ("no attribute", r"'(\w+)' object has no attribute '(\w+)'", modules.no_attribute),
    ("state dict type", r"Expected state_dict to be dict-like, got <class '(.*?)'>", modules.state_dict_type),
    # programs
    ("state dict", rf"Error\(s\) in loading state_dict for {T}", programs.state_dict),
    ("no parameters", "optimizer got an empty parameter list", programs.no_parameters),
    ("no gradient there", "'NoneType' object has no attribute|unsupported operand type.*NoneType", programs.no_gradient,
     True),
    ("optimized result", "can't optimize a non-leaf Tensor", programs.not_a_leaf),
    ("one parameter", "params argument given to the optimizer should be an iterable", programs.not_iterable),
    ("not a parameter", r"optimizer can only optimize Tensors, but one of the params is ([\w.]+)",
     programs.not_optimized),
    ("missing kernel", "Could not run 'aten::(?P<op>.*?)' with arguments from the '(?P<backend>.*?)' backend.*for "
     r"these backends: \[(?P<there>.*?)\]", programs.no_kernel),
    ("unknown operator", "no operator is registered under the name '(?P<op>.*?)'", programs.unknown_operator),
    ("unknown operator", r"'_OpNamespace' 'aten' object has no attribute '(?P<op>\w+)'", programs.unknown_operator),
    ("no such name", rf"module 'mindtorch.*?' has no attribute '{T}'|'(?:Tensor|Parameter)' object has no attribute",
     programs.no_name, True),
    ("no such module", r"No module named '(?P<module>mindtorch[\w.]*)'|cannot import name '(?P<name>\w+)' from "
     r"'(?P<from>mindtorch[\w.]*)'", programs.no_module, True),
    ("arguments", r"(?P<op>\w+)\(\) received an invalid combination of arguments - got \((?P<given>.*?)\), but",
     programs.arguments),
    ("unknown argument", rf"([\w.]+)\(\) got an unexpected keyword argument '{T}'", programs.unknown_argument, True),
    ("no tensor", r"(\w+)\(\): argument '(\w+)' \(position \d+\) must be Tensor, not (\w+)", operands.no_tensor),
    ("operands", rf"unsupported operand type\(s\) for (\S+): '{T}' and '{T}'", operands.unsupported, True),
    ("no tensor in a list", rf"expected Tensor as element {N} in argument \d+, but got {T}", programs.no_tensor),
    ("singular matrix", r"linalg\.\w+: (?:The diagonal element|The factorization could not)", programs.singular),
    ("pipeline", r"(?s)pipeline: (?P<op>aten::\S+), recorded at .*:(?P<line>\d+) in .*, failed: (?P<inner>.*)",
     programs.pipeline),
    ("invalid tensor", "(?s)this tensor is invalid, it never got its values: (.*)", programs.invalid),
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
        cures=_alternatives(finding.cures),
        error=type(scene.error).__name__,
        message=scene.message,
        call=scene.call(),
        tensors=scene.of_innermost() if finding.tensors is None else finding.tensors,
        pictures=finding.pictures,
    )


def _alternatives(cures: Iterable[Cure]) -> tuple[Cure, ...]:
    """Cures that say something, their code as a program has it; the first without the word that joins it to one before.
    """
    found = [replace(cure, code=_indexed(cure.code)) for cure in cures if cure.text]
    first = (replace(cure, text=re.sub("^(?:or|else),? ", "", cure.text)) for cure in found[:1])
    return (*first, *found[1:])


def _indexed(code: str) -> str:
    """Code in which modules are called by their paths, ``model.0.weight``, as it can be run: ``model[0].weight``."""
    before = ""
    while code != before:
        before, code = code, re.sub(r"(?<=[A-Za-z_\]])\.(\d+)(?=[.\[)\],\s]|$)", r"[\1]", code)
    return code


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
    if isinstance(scene.error, SyntaxError):
        return Finding(scene.error.msg, "Python could not read this as a program, so nothing of it has run.")
    if not scene.is_ours:
        return Finding(title, "This error did not arise inside mindtorch: its traceback shows which line raised it.")
    call = scene.innermost
    where = f"It arose in aten::{call.op.name}, with the tensors below. " if call else "It arose inside mindtorch. "
    cause = f"{where}There is no explanation for this error yet; its message is all that is known.{reason}"
    involved = scene.of_innermost()
    return Finding(title, cause, pictures=(shapes.plain(involved),) if involved else ())
