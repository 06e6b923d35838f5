"""Differences between the libraries that are meant to be, with what proves that a difference is one of them.

A row of the table names modes, operators of the program, how the outcomes differ, and the reason. Most have a proof:
another way to run the program, in which the reason is gone, and so is the difference.
"""
from __future__ import annotations

import re
import types
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from tests.fuzz import offline
from tests.fuzz.comparison import AS_DRAWN, MODES, Way, compare, in_double, of_the_differentiable, tangents
from tests.fuzz.functions import Drawn, Program, Tensors
from tests.fuzz.offline import explained
from tests.support import torch


def in_steps(x: Any) -> Any:
    """Return a copy between whose elements others lie."""
    return torch.stack([x, x], -1)[..., 0]


def in_order(x: Any) -> Any:
    """Return the tensor as a contiguous one that is not conjugated or negated when it is read."""
    return x.resolve_conj().resolve_neg().contiguous()


def turned(x: Any) -> Any:
    """Return a copy whose first dimension is the innermost one."""
    return x.movedim(0, -1).contiguous().movedim(-1, 0) if x.dim() else x


def apart(x: Any) -> Any:
    """Return elements in double precision that are finite, and no two of them equal."""
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        return x
    steps = x.detach().abs().double().new_tensor([(37 * i % 101 - 50) / 3001 for i in range(x.numel())])
    return x.masked_fill(~x.isfinite(), 0.4) + steps.reshape(x.shape)


def without_remainders(x: Any) -> Any:
    """Return the tensor with zeros for elements as small as a rounding error of 1."""
    floats = x.is_floating_point() or x.is_complex()
    return x.masked_fill(x.abs() < 4 * torch.finfo(x.dtype).eps, 0) if floats else x


def resolved(mode: str) -> Callable[..., Any]:
    """Return a mode's function, whose results are conjugated and negated before they are read."""
    def run(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
        out = MODES[mode](lib, f, xs)
        several = isinstance(out, list | tuple)
        parts = [x if x is None else x.resolve_conj().resolve_neg() for x in (out if several else [out])]
        return parts if several else parts[0]
    return run


def in_parts(mode: str) -> Callable[..., Any]:
    """Return a mode's function, whose attention is computed in other operators."""
    def run(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
        with lib.nn.attention.sdpa_kernel(lib.nn.attention.SDPBackend.MATH):
            return MODES[mode](lib, f, xs)
    return run


def with_silu_multiplied(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
    """Compute tangents of ``silu`` by those of the product that it is."""
    with patch.object(lib.nn.functional, "silu", lambda x: x * x.sigmoid()):
        return tangents(lib, f, xs)


def looped_jacobian(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
    """Compute each row of a Jacobian by a backward pass of its own."""
    reduced, given = of_the_differentiable(lib, f, xs)
    if not given or any(x.is_complex() for x in given):
        return f(lib, *xs)
    return lib.autograd.functional.jacobian(lambda x: reduced(x, *given[1:]), given[0])


def looped_hessian(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
    reduced, given = of_the_differentiable(lib, f, xs)
    if not given or any(x.is_complex() for x in given):
        return f(lib, *xs)
    out = reduced(*given)
    if not out.numel():  # of which there are no rows to stack
        return out.new_zeros(*out.shape, *given[0].shape, *given[0].shape)
    jacobian = lib.autograd.functional.jacobian
    return jacobian(lambda x: jacobian(lambda y: reduced(y, *given[1:]), x, create_graph=True), given[0])


def turned_hessian(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
    """Exchange the two inputs of a Hessian, which is symmetric but for what is not finite."""
    given = of_the_differentiable(lib, f, xs)[1]
    out = looped_hessian(lib, f, xs)
    if not given or any(x.is_complex() for x in given):
        return out
    last, ndim = out.dim(), given[0].dim()
    return out.movedim(tuple(range(last - 2 * ndim, last - ndim)), tuple(range(last - ndim, last)))


def tangents_backwards(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
    """Compute tangents by the gradient of a gradient."""
    reduced, given = of_the_differentiable(lib, f, xs)
    if not given:
        return f(lib, *xs)
    return lib.autograd.functional.jvp(reduced, tuple(given), tuple(lib.ones_like(x) * 0.5 for x in given))


def looped_batches(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
    batch = [xs[0], xs[0].flip(0) if xs[0].dim() else xs[0], xs[0].clone()]
    return lib.stack([f(lib, x, *xs[1:]) for x in batch])


LAID_OUT = [Way(lambda xs, lay=lay: [*map(lay, xs)], lay)  # type: ignore[misc]
                  for lay in (in_order, in_steps, turned)]
LOOPED = Way(run={"jacrev": looped_jacobian, "jacfwd": looped_jacobian, "hessian": looped_hessian,
                  "tangents": tangents_backwards, "batches": looped_batches})
APART, CLEARED = Way(lambda xs: [apart(x.detach()) for x in xs], apart), Way(each=without_remainders)
TURNED = Way(run={"hessian": turned_hessian})
MULTIPLIED = Way(run={"tangents": with_silu_multiplied})
SMALL = Way(lambda xs: [x.clamp(-50, 50) if x.is_floating_point() else x for x in xs])
RESOLVED, PARTED = [Way(run={mode: way(mode) for mode in MODES}) for way in (resolved, in_parts)]


def like_pytorchs(*ways: Way) -> Callable[..., bool]:
    """Return a proof that PyTorch has our outcome in one of the ways, which mean the outcome."""
    def proof(mode: str, drawn: Drawn, difference: str) -> bool:
        return any(not any(re.search(f"^error|{difference}", text) for text in compare(mode, drawn, way))
                   for way in ways)
    return proof


def not_if(way: Way) -> Callable[..., bool]:
    """Return a proof that both libraries have one outcome, which is no error, if they run the program in a way that
    takes the reason away; but for strides, which differ or not for other reasons.
    """
    def proof(mode: str, drawn: Drawn, difference: str) -> bool:
        return way.outcome(mode, drawn, torch).error is None and all(
            "stride: " in text for text in compare(mode, drawn, way, way))
    return proof


#: PyTorch has our outcome in another layout of all tensors, or of all but the inputs; where it does not batch, and
#: differentiates backwards.
in_a_layout, looped = like_pytorchs(*LAID_OUT, Way(each=in_order)), like_pytorchs(LOOPED)
#: The outcomes agree without equal elements, or what is not finite; without large ones; as numbers.
if_apart, if_small, if_resolved = not_if(APART), not_if(SMALL), not_if(RESOLVED)


def norm_looped_if_positive(mode: str, drawn: Drawn, difference: str) -> bool:
    """Return whether PyTorch has our outcome of the program up to its norm, where it does not batch, for inputs
    that are finite, positive and not equal.
    """
    end = max(number for number, line in enumerate(drawn.lines, 1) if "_norm" in line)
    inputs = [x.abs() + 0.5 if x.is_floating_point() else x for x in APART.inputs(drawn.inputs)]
    program = Drawn(drawn.lines[:end], inputs)
    return not compare(mode, program, Way(each=APART.each, run=LOOPED.run), Way(each=APART.each))


def if_wide(mode: str, drawn: Drawn, difference: str) -> bool:
    """Whether the outcomes agree where all is in double precision."""
    return not_if(AS_DRAWN)(mode, in_double(drawn), difference)


#: What a difference in values is where one of them is not finite.
UNDEFINED = r"^(output \d: )?value: .*(nan|inf)"
DERIVED = r".*gradients|checkpointed|captured|jacrev|jacfwd|hessian|tangents"
BATCHES = "batches|jacrev|jacfwd|hessian"
#: Differences that are meant to be: modes, operators of the program, and how it differs.
EXPLAINED = explained(
    (".*", "", r"not implemented for|not (yet )?supported|does not support|no kernel|unsupported|expected scalar type",
     "PyTorch has no kernel for the dtype."),
    (".*", "", "view size is not compatible", "PyTorch refuses some strides."),
    (".*", "inv|solve|det|matrix_exp", r"[\d.]+e\+?1[2-9]\b|e\+[2-9]\d|_LinAlgError",
     "Solutions of singular matrices are rounding errors."),
    (".*", "inv|solve|det", UNDEFINED, "What LAPACK makes of matrices with NaN or infinity differs from build to "
     "build.", if_apart),
    (".*", "(dist|norm|abs).*complex", "value: inf at .*torch nan", "The length of a complex number that has an "
     "infinite part is infinite, as in C99.", if_apart),
    (".*", "inv|solve|det|matrix_exp", "value: ", "Solutions of singular matrices are rounding errors.", if_apart),
    (".*", r"(angle|sqrt|(\*\* |pow\()(-?\d\.\d+|v\d)|log(2|1p)?|(acos|asin|atan)h?)\W.*complex", "value: ", "On a "
     "branch cut the sign of a zero decides, which PyTorch's vector loop loses.", if_apart),
    (".*", "ldexp", "stride: ", "PyTorch's ldexp lays powers of two out by whether it resized them.", in_a_layout),
    (".*", "reciprocal|rsqrt|div|/", "value: -?inf at .*torch -?inf", "Rounding decides about the sign of a zero that "
     "a sum leaves, and of what is divided by it.", if_apart),
    (".*", r"cross\(", r"value: (.*(nan|inf)|True|False)", "Of equal products PyTorch's loop subtracts one before "
     "it is rounded.", like_pytorchs(CLEARED)),
    (".*", "matrix_exp.*(float16|half)", "shape: ", "PyTorch's matrix_exp of half precision reads coefficients as "
     "numbers of another dtype.", if_wide),
    (".*", "batch_norm.*(float16|half)", "value: ", "PyTorch's batch_norm rounds the moments of half precision in one "
     "layout only.", in_a_layout),
    (".*", "logaddexp", "value: ", "Near 0 a sum of exponentials is a rounding error of its logarithm.", if_apart),
    (".*", "copysign", "value: ", "What sign a NaN has is not defined.", if_apart),
    (".*", r"solve\((v\d+), \1\)", "value: ", "How far the solution is from the identity depends on the condition."),
    (".*", "complex", UNDEFINED, "Of complex numbers that are not finite PyTorch's vector loop and BLAS make other "
     "NaNs than its scalar loop.", if_apart),
    (".*", "isnan.*complex", "value: (True|False)", "Of complex numbers that are not finite PyTorch's vector loop and "
     "BLAS make other NaNs than its scalar loop.", if_apart),
    (".*", "complex", UNDEFINED, "Where products of complex numbers overflow, PyTorch's vector loop makes other NaNs "
     "and infinities than its scalar loop.", in_a_layout),
    (".*", "", "setStorage: sizes|self indexing axis dim should be positive", "PyTorch finds an index beyond an empty "
     "tensor when it makes a view."),
    (".*", "", "ZeroDivisionError", "PyTorch's tangent of a mean divides by the number of elements."),
    (".*", "batch_norm", "no error, torch RuntimeError .t.defined.. && t.dim.. == 1 INTERNAL ASSERT", "PyTorch asserts "
     "that a weight has a dimension only where its input is not contiguous."),
    (".*", "", "torch IndexError .Dimension specified as 0 but", "PyTorch looks up rows of a number before it refuses "
     "it."),
    (".*", "huber_loss", r"Found dtype \w+ but expected", "PyTorch's derivative of huber_loss refuses two dtypes."),
    (DERIVED, "", "idle stride", "Where no element depends on a stride, the gradient has a contiguous tensor's; "
     "PyTorch's depends on the order of its steps."),
    (".*", "nan_to_num|rad2deg|hardtanh|relu6|prelu|ldexp", "idle stride", "PyTorch makes these outputs by empty_like, "
     "which keeps strides on which no element depends."),
    (".*", r"expand\(.*median|median.*strides \(0", "value: ", "PyTorch's median of one number that is repeated "
     "without memory is what lies in memory behind it.", in_a_layout),
    (".*", r"(inv|solve).*(//|%|mod|trunc|floor|round|div|int\()", "value: ", "Solutions that are integers but for "
     "rounding errors are rounded to others."),
    (".*", r"(inv|solve).*bool\(", "shape: ", "Solutions that are 0 but for rounding errors are true or not.",
     if_apart),
    (".*", "", r"isFloatingType\(grad", "PyTorch's derivatives of two dtypes, one complex, refuse each other."),
    (".*", "grid_sample", "value: ", "PyTorch's vector loop weighs what lies outside; its scalar loop does not.",
     if_apart),
    ("compiled.*|captured|traced", "", "no error, torch .*(out of (bounds|range)|not in the valid range)", "A graph "
     "leaves out what nothing needs."),
    (".*", "nextafter.*(tensordot|@|mm|linear|einsum|inner|dot)", UNDEFINED, "Products of the largest numbers "
     "overflow, in the order in which they are added.", if_apart),
    (".*", "layer_norm|batch_norm|group_norm|rms_norm", UNDEFINED, "A norm of values that are not finite depends on "
     "the order in which they are added.", if_apart),
    ("traced", "", "get value out of a tracing tensor", "A trace cannot depend on a value, as in PyTorch's make_fx."),
    ("functionalized", r"\.\w+_\(|\+=|\*=|with_logits", "can't be cast to the desired output.*torch no error",
     "PyTorch's functionalization does not check the dtype that is written."),
    (".*", "conv.*bfloat16", "value: .*torch nan", "PyTorch's convolution of bfloat16 multiplies by zeros that "
     "fill its blocks."),
    (".*", "conv.*float16", "^idle stride", "PyTorch's oneDNN lays out what no element depends on like its input.",
     in_a_layout),
    ("functionalized", r"_\(", "^(idle )?stride", "PyTorch's functionalization gives what is written the layout of the "
     "operator out of place."),
    ("autocast", "", "Unexpected floating ScalarType in at::autocast::prioritize", "PyTorch's autocast refuses lists "
     "of float16."),
    ("tangents|jacfwd|hessian", "", "torch .*this_view_meta->has_fw_view", "PyTorch asserts that the tangent "
     "of what is conjugated or negated when it is read is so too."),
    (".*", "max_pool1d.*(negated|imag)", "value: ", "PyTorch's max_pool1d reads the memory of what is negated "
     "when it is read.", in_a_layout),
    (".*", "conv", "kernel size should be greater than zero.*torch no error", "Without channels PyTorch does not "
     "check the size of the kernel."),
    ("inference", "", "^(conj|neg): True, torch False$", "In inference mode PyTorch's composite operators resolve what "
     "is conjugated or negated when it is read.", if_resolved),
    ("inference", "type_as", "^stride: ", "In inference mode PyTorch's composite operators resolve what is conjugated "
     "or negated when it is read.", if_resolved),
    (".*", "negated", "value: ", "PyTorch's copies to another dtype do not negate what is negated when it is read.",
     like_pytorchs(Way(lambda xs: [*map(in_order, xs)]))),
    ("captured|compiled.*", "ldexp.*bfloat16", "value: ", "A graph rounds fewer steps to half precision, whose results "
     "are exponents of ldexp.", if_wide),
    ("compiled.*|captured|pipeline", "", r"^(output \d: )?(conj|neg): ", "A graph's outputs are conjugated and negated "
     "as its operators leave them.", if_resolved),
    (".*npu.*", "select_scatter|as_strided", "value: ", "Tensors that come to a device are contiguous there.",
     in_a_layout),
    (".*npu.*", "(var|std)_mean", r"value: -?inf at .*torch nan", "PyTorch adds differences from a mean that is "
     "already infinite.", if_apart),
    (BATCHES, "searchsorted", "should have positive dimension|input value can be a scalar only when", "Of a batch an "
     "element may be a number."),
    (".*npu.*", "", "^(conj|neg): False, torch True$", "What comes from a device has been conjugated and negated.",
     if_resolved),
    (".*", "attention", UNDEFINED, "PyTorch's kernel of attention leaves out scores that are NaN; its parts do not.",
     if_apart),
    (".*", "attention", "Expected size for first two dimensions of batch2.*torch no error", "PyTorch's kernel of "
     "attention does not compare the numbers of keys and values.", like_pytorchs(PARTED)),
    (".*npu", r"pow\(-?0\.5\)|\*\* -?0\.5", UNDEFINED, "A power of float16 is computed in float32 there.", if_apart),
    (".*npu", r"long\(", "Class values must be non-negative", "What NaN becomes as an integer is not defined."),
    (".*", "gelu.*float16|half.*gelu", UNDEFINED, "PyTorch's oneDNN, which takes contiguous float32 and bfloat16 only, "
     "makes NaN of infinity; half precision is computed in contiguous float32 here.", if_apart),
    (".*npu", "gelu", UNDEFINED, "Tensors on a device are contiguous, of whose infinities oneDNN makes NaN.", if_apart),
    (".*npu", "kl_div", UNDEFINED, "CANN's kernel multiplies a target by its logarithm less the input, which is "
     "infinite for a target that is zero or infinite.", if_apart),

    (r"(?!plainly|inference|functionalized|traced).*", "", "no error, torch .*(can't be cast to the desired|doesn't "
     "match the broadcast)", "PyTorch computes terms of derivatives in place, where they do not fit."),
    ("tangents|jacfwd|hessian", "", "torch .*can't be cast to the desired", "PyTorch computes terms of tangents in "
     "place, where they do not fit, before it finds another error.", looped),
    (DERIVED, r"kthvalue|median|topk|quantile|sort|(max|min)\(\)", r"^(output \d: )?value: ", "Which of "
     "equal elements, or of NaNs, is selected depends on how PyTorch partitions them.", if_apart),
    ("second gradients", r"conv.* shape \(0", "a tensor, torch None", "PyTorch's derivatives of a convolution without "
     "elements have no graph."),
    (DERIVED, "", "Autograd not support dtype: (Bool|Byte|Char|Short|Int|Long)|torch RuntimeError ..new_grad_base.is_",
     "PyTorch's derivatives of select_scatter refuse an integer tensor."),
    ("tangents|jacfwd", "fmax|fmin|maximum|minimum", r"value: [^n]* at .*torch nan", "PyTorch's tangents of maxima "
     "multiply NaN by 0."),
    ("tangents|jacfwd", "cross_entropy.* shape .0", r"value: nan at \[\], torch -?0", "Of no elements PyTorch's loss "
     "has the tangent 0."),
    ("tangents|jacfwd", "logsumexp.* shape .0", "value: -?0.0 at .*torch nan", "PyTorch's tangent of logsumexp of "
     "nothing divides 0 by 0."),
    ("tangents|jacfwd", "median.*complex.* shape .0", r"value: .nan\+nanj. at \[\], torch -?0", "Of no elements "
     "PyTorch's median has the tangent 0."),
    (".*gradients|checkpointed|captured", "(layer|batch|group)_norm", "value: |stride: ", "PyTorch's norms read a "
     "weight whose elements are apart as if they were not, and their derivatives take its layout.", in_a_layout),
    ("second gradients|compiled gradients|captured", "nll_loss|cross_entropy", "torch RuntimeError .size mismatch",
     "PyTorch's nll_loss takes one row with a list of one class, which the kernel of its derivative refuses; a graph "
     "has no such kernel."),
    (DERIVED, r"sgn\(", "torch .*ZeroTensors are immutable", "PyTorch's derivative of sgn is a zero that nothing is "
     "added to."),
    (DERIVED, r"cummax.*shape \((\d, )*0", "requires_grad: False, torch True|outputs, torch|^output 1: offset: ",
     "PyTorch's gradient of an empty cummax is its input."),
    (DERIVED, "maximum|minimum|fmax|fmin|with_logits|smooth_l1|poisson", UNDEFINED, "PyTorch's derivative "
     "takes another way where an element is NaN or infinite, or there is none.", if_apart),
    (DERIVED, "addcdiv", "value: ", "Slopes of quotients by small numbers are differences that rounding decides.",
     if_apart),
    (DERIVED, "soft_margin_loss", "value: (-?inf|[^n]*) at .*torch nan", "PyTorch's kernel of the derivative divides "
     "infinity by infinity; its decomposition does not."),
    (DERIVED, r"shape \((\d, )*0", r"^(output \d: )?(conj|neg): ", "Whether a gradient without elements is conjugated "
     "when it is read depends on strides.", if_resolved),
    ("tangents|jacfwd|hessian", "lerp", "value: -?inf at .*torch nan", "PyTorch's tangent of lerp subtracts infinite "
     "tangents.", if_apart),
    ("compiled.*|captured|traced", r"median|(max|min)\(", r"value: nan at .*torch -?0\.0$", "A graph multiplies a "
     "gradient by where the extremum is, as PyTorch's graphs do; PyTorch's kernel fills."),
    (DERIVED, r"sgn\(", r"value: .*nan.*torch -?0\.0$", "Products with the derivative of sgn, which PyTorch knows to "
     "be zero, are zero."),
    ("second gradients|hessian", "", UNDEFINED, "Where a second derivative is not finite, the order of its factors "
     "decides whether it is 0, infinite or NaN.", if_apart),
    (DERIVED, "relu6|hardtanh|hardsigmoid|hardswish|shrink", r"value: .*torch -?0\.0$", "Of NaN PyTorch's vector loop "
     "has the slope 0, its scalar loop 1.", if_apart),
    (DERIVED, r"\b[sc]?elu\(", "value: [^n]* at .*torch nan", "Of NaN PyTorch's vector loop has the slope NaN, "
     "its scalar loop that of positive numbers.", in_a_layout),
    ("second gradients|hessian", "_norm.*(half|float16)", r"value: ", "Second derivatives of a norm are differences of "
     "terms that half precision rounds."),
    ("tangents|jacfwd|hessian", r"tensordot|@|mm|mv|linear|einsum|inner|dot|bilinear", r"value: .*torch nan",
     "PyTorch's tangent of a product multiplies factors that are not finite by tangents that are zero.", if_apart),
    ("batches|jacrev|jacfwd|hessian", "", UNDEFINED, "PyTorch's rules for batches multiply by zeros what is not "
     "finite.", looped),
    ("hessian", "", UNDEFINED, "PyTorch's rules for batches multiply by zeros what is not finite.",
     like_pytorchs(TURNED)),
    ("batches", "beta=0.0", "value: .*torch nan", "In a batch PyTorch's addmm multiplies by beta, even by 0.", looped),
    (BATCHES, "", r"dtype: \w+, torch \w+", "In a batch PyTorch counts the batch as a dimension when it promotes "
     "dtypes.", looped),
    ("second gradients|hessian", r"det\(", "value: ", "Second derivatives of the determinant of a singular matrix are "
     "quotients of rounding errors.", if_apart),
    ("second gradients|hessian", "sinc", r"^(output \d: )?value: ",
     "Second derivatives of sinc cancel near its zeros."),
    ("second gradients|hessian", "mish", UNDEFINED, "PyTorch's second derivative of mish multiplies by 0 powers that "
     "overflow.", if_small),
    ("second gradients", r"norm\(|abs\(|sgn\(", "stride: ", "PyTorch's derivative of sgn is a zero that nothing is "
     "added to, so the sum has the other term's layout.", in_a_layout),
    ("checkpointed", "vander", r"^(output \d: )?value: ", "PyTorch's vander has saved powers that it then writes, "
     "which a checkpoint does not see."),
    ("tangents|second gradients|hessian|jacfwd", "logit", "value: ", "PyTorch's derivatives for forward mode take a "
     "negative eps for a bound."),
    (DERIVED, r"logit\(", r"value: (-?inf at .*torch -?inf|nan at .*torch -?0\.0)$", "Of -0.0 and NaN PyTorch's vector "
     "loop has other slopes than its scalar loop."),
    ("tangents|jacfwd|hessian", "^(?!.*(float64|double))", r"dtype: (b?float16|float32), torch float64", "PyTorch's "
     "tangent of a number becomes float64."),
    ("tangents|jacfwd|hessian", "", r"dtype: ((b?float16|float32), torch float64|complex64, torch complex128)",
     "PyTorch's tangent of a number becomes float64.", looped),
    ("tangents|jacfwd|hessian", r"(like\(.*|clone\(\); v\d+)\.\w+_\(", "dtype: ", "PyTorch's tangent of a constant "
     "that is written has the dtype of what is written, or of both.", if_wide),
    ("tangents|jacfwd|hessian", "nextafter", r"dtype: (float32, torch b?float16|b?float16, torch float32)|torch .*"
     r"Found dtype \w+ but expected", "PyTorch's tangent of nextafter has the dtype of its first operand.", if_wide),
    ("tangents|jacfwd|hessian", "clamp", "dtype: b?float16, torch float32", "PyTorch's tangent of a clamped number has "
     "the number's dtype.", if_wide),
    ("tangents", r"\b(var|std)", "dtype: b?float16, torch float32", "PyTorch's tangent of a number becomes float32."),
    ("tangents|jacfwd", "vander", "value: .*torch nan", "PyTorch's tangent of a product divides by factors of zero.",
     looped),
    ("jacfwd|hessian", r"batch_norm.*as_strided", "value: ", "In a batch, as_strided sees how batch_norm lays channels "
     "out, which depends on the order of the steps."),
    ("hessian", "huber_loss", "value: ", "At its bounds huber_loss bends in PyTorch's hessian, and not in "
     "its second gradients.", looped),
    ("hessian", "layer_norm|batch_norm|group_norm|det|solve|inv", "value: ", "PyTorch takes saved factors and "
     "statistics for constants.", looped),
    ("tangents|jacfwd", "(layer|batch|group)_norm", "value: ", "A tangent along which a norm is constant is a rounding "
     "error, which a weight makes larger.", looped),
    ("tangents", r"\*\*|pow", r"value: .*j\)", "PyTorch's tangent of a complex power conjugates a factor.",
     looped),
    ("tangents", "silu.*complex", "value: ", "PyTorch's tangent of a complex silu has the conjugate of the slope.",
     like_pytorchs(MULTIPLIED)),
    ("functionalized|tangents|batches|jacrev|jacfwd|hessian", "with_logits", "dtype: ", "In transforms PyTorch's "
     "loss has the promoted dtype, outside of them the target's.", if_wide),
    ("jacfwd", "linalg.det", r"value: .*torch -?0\.0",
     "PyTorch's tangent of the determinant of a singular matrix is 0."),
    (DERIVED, r"linalg.det.*strides \(0", "value: ", "Solutions of singular matrices are rounding errors."),
    (DERIVED, "", r"no error, torch RuntimeError .isDifferentiableType", "PyTorch asserts that a gradient that flows "
     "through integers is none."),
    ("second gradients", "logcumsumexp.*complex", "value: ", "The logarithm is taken of a gradient that is 0 but for "
     "rounding errors."),
    ("second gradients", "softsign", "^stride: ", "A sum of gradients has the layout of the one that comes first, "
     "which depends on the order of the steps of a derivative."),

    ("batches", "", "data-dependent control flow", "PyTorch reads a value there."),
    ("batches", "embedding", "step must be nonzero", "PyTorch's rule fails without rows in the table."),
    (BATCHES, "", "no error, torch .*(unspecified dimension size -1|index 0 out of range|index is out of bounds for "
     "dimension with size 0|shape mismatch: indexing)", "PyTorch's rules do not take tensors without elements."),
    (BATCHES, r"shape \(0", "to have non-zero size.*torch no error", "Of an empty input there are no directions, so "
     "PyTorch batches nothing."),
    ("jacfwd|hessian", "", "no error, torch .*(inplace arithmetic|fill_|index_put_).*is not possible because",
     "PyTorch's transforms refuse tangents in a copy of a constant."),
    ("tangents|jacfwd|hessian", r"logcumsumexp.*shape \((\d, )*0", "no error, torch IndexError .max", "PyTorch's "
     "tangent of logcumsumexp takes the greatest of no real numbers."),
    (BATCHES, "bilinear", UNDEFINED, "Products of what is not finite are added in another order in a batch.", if_apart),
    ("hessian", "(batch|layer|group)_norm", "value: ", "PyTorch takes saved factors and statistics for constants.",
     norm_looped_if_positive),
    ("jacrev|jacfwd|hessian", r"(group_norm|trapezoid).*float16", r"value: .*torch -?0\.0", "Derivatives of half "
     "precision are differences of terms that it rounds.", if_wide),
    ("jacfwd|hessian", r"v\d+\.\w+_\(v", r"no error, torch RuntimeError .Found dtype \w+ but expected", "PyTorch's "
     "derivative of what is written in place refuses two dtypes.", if_wide),
    (BATCHES, r"conv.*shape \(0", "no error, torch RuntimeError .Given groups=1, expected weight to be at least",
     "Of an empty input there are no directions, so nothing is computed."),
    (BATCHES, "as_strided", "value: ", "PyTorch's as_strided in a batch reads memory as a rule before laid it out.",
     looped),
    (BATCHES, "linalg.solve", "no error, torch RuntimeError .The size of tensor a", "PyTorch's rule of solve takes "
     "batches of matrices for batches of vectors.", looped),
    ("jacfwd|hessian|tangents", r"shape \([1-9](, [1-9])+\) strides \((1, )+1\)", "value: ", "PyTorch's tangents of "
     "what shares memory between elements do so too.", like_pytorchs(LOOPED, *LAID_OUT)),
    (BATCHES, r"\[v\d+\.long\(\).*shape \((\d, )*0", "shape: ", "PyTorch's rule of an index without elements leaves "
     "the batch behind it.", looped),
    (BATCHES, r"roll\(\d\)", "value: ", "PyTorch's rule of roll rolls a batch of numbers.", looped),
    (BATCHES, "cdist", "value: ", "PyTorch's batched derivative of cdist mixes up the batch and the rows, unlike its "
     "gradient.", looped),
    (BATCHES, r"block_diag.*shape \(0", "torch ValueError .torch.cat..: expected a non-empty", "PyTorch's block_diag "
     "does not take lists without elements in a batch."),
    ("hessian", "", "stack expects a non-empty.*, torch IndexError .select", "Of no results there are no rows to "
     "stack, or to select."),
    (BATCHES, "", "dynamic shape.*, torch IndexError", "PyTorch compares the sizes of a mask with its batch."),
    (BATCHES, r"squeeze\(-1\)", "out of range .expected to be in range of .-1, 0., but got .-1", "PyTorch's rule of "
     "squeeze does not take numbers.", looped),
    (BATCHES, r"shape \(0", r"is not possible because|data-dependent|dynamic shape|over `mask`|^error: \w+Error .*, "
     r"torch \w+Error", "Without elements PyTorch batches nothing, or meets another error first."),
    ("jacfwd|hessian", r"shape \(0", "no error, torch .*out of bounds", "Of an empty input there are no directions, so "
     "nothing is computed."),
    (BATCHES, "masked_select", "no error, torch .*(The size of tensor a|split_with_sizes expects)", "PyTorch's rule "
     "expands the selected elements to the batch of the tensor, where the mask is larger.", looped),
    ("second gradients", "layer_norm", "1 outputs, torch 2", "The graph of PyTorch's gradients of layer_norm has the "
     "bias, on which they do not depend."),
    (DERIVED, "cross_entropy|nll_loss", r"torch RuntimeError .size mismatch .got input: \[\d\], target: \[1\]",
     "PyTorch's gradient of the loss of one sample refuses a target that the loss takes."),
    ("second gradients", "embedding", "no error, torch .*unspecified dimension size -1", "PyTorch's derivative "
     "reshapes rows of an empty table."),
    (BATCHES, r"baddbmm.*shape \(0", "Input dtypes must be the same.*torch no error", "In a batch PyTorch's baddbmm "
     "does not compare dtypes where there are no elements."),
    (BATCHES, "baddbmm", "torch IndexError .Dimension out of range",
     "PyTorch's rule looks up a dimension before the operator counts them."),
    (BATCHES, "flip|rot90", "torch IndexError .Dimension out of range .expected to be in range of .-1, 0., "
     "but got 1", "PyTorch's rule of flip does not take numbers."),
    (BATCHES, "index_select|cross_entropy|nll_loss",
     r"error: RuntimeError .(index|INDICES) .* out of .*bounds.*, torch IndexError",
     "In a batch another operator finds an index that is out of bounds."),
    ("jacfwd|hessian", r"\.squeeze_\(", "no error, torch RuntimeError .split_with_sizes expects", "PyTorch's rule of "
     "squeeze_ squeezes the batch of one direction.", looped),
    (BATCHES, "squeeze_", "SmallVector unable to grow", "PyTorch's rule of squeeze_ does not take numbers."),
    ("functionalized", "linear", r"no error, torch RuntimeError .(expand\(|The expanded size)", "PyTorch's "
     "functionalization flattens the rows of the product, not those of a bias.", in_a_layout),
    (BATCHES, "masked_select", "value: .*torch -?0", "PyTorch's batched gradient reaches one row of what is "
     "expanded to the mask, unlike its gradient.", looped),
    (f"tangents|{BATCHES}", "linear", r"torch RuntimeError .(expand\(|The (expanded )?size of (the )?tensor)",
     "PyTorch's transforms flatten the rows of the product, not those of a bias.", looped),
    (BATCHES, "select_scatter", "torch RuntimeError .scatter..: Expected self.dtype",
     "PyTorch's rule takes one dtype."),
    (BATCHES, "", "torch .*returned an invalid gradient", "PyTorch's derivative has another shape than its input, "
     "which shows when it is batched."),
    (DERIVED, r"scatter_reduce.*shape \(0", "no error, torch .*(invalid gradient|The size of tensor a)", "PyTorch's "
     "gradient of a source that no index of an empty tensor reaches has the index's shape."),
)


def explanation(mode: str, drawn: Drawn, difference: str) -> str | None:
    lines = "; ".join([*drawn.lines, *(f"{x.dtype} shape {tuple(x.shape)} strides {x.stride()}{' negated' * x.is_neg()}"
                                       f"{' conjugated' * x.is_conj()}" for x in drawn.inputs)])
    return offline.explanation(EXPLAINED, mode, lines, difference,
                               proven=lambda row: row.proof is None or row.proof(mode, drawn, row.patterns[-1]))
