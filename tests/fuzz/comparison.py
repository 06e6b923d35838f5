"""The modes in which a function runs in both libraries, and what is compared of its outcomes.

A mode runs a program plainly, with gradients, tangents, batches, Jacobians, under autocast, recorded, compiled, traced,
on an NPU, and so on. Outcomes are compared in type of exception, dtype, shape, strides, and values. PyTorch also runs
the program in double precision: where its own result is far from that, ours may be as far. So it may where rounding
decides: where what is inexact in double precision, made larger or smaller by a rounding error after each line, changes
the result, or where such an error in the gradient of each line does.
"""
from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

import mindtorch
from mindtorch._backends.npu.constants import ACLNN_ERR_INNER, ACLNN_ERR_PARAM_INVALID
from mindtorch._backends.npu.errors import AclError
from tests.fuzz.functions import Drawn, Program, Rounding, Tensors, ported
from tests.support import Outcome, array, error_differences, tensor_differences, tensors_in, torch

# -- modes -------------------------------------------------------------------------------------------------------------

def differentiable(xs: Tensors) -> list[int]:
    return [i for i, x in enumerate(xs) if x.is_floating_point() or x.is_complex()]


def loss(lib: types.ModuleType, out: Any) -> Any:
    """Return a number in which each element has a weight of its own."""
    out = lib.view_as_real(out.resolve_conj()) if out.is_complex() else out
    weights = lib.arange(1, out.numel() + 1, dtype=lib.float64).reshape(out.shape) / 4
    return (out * weights.to(out.dtype)).sum()


def leaves(xs: Tensors) -> Tensors:
    return [x.detach().requires_grad_() if i in differentiable(xs) else x for i, x in enumerate(xs)]


def gradients(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
    given = leaves(xs)
    out = f(lib, *given)
    if not out.requires_grad:
        return out
    return [out.detach(), *lib.autograd.grad(loss(lib, out), [given[i] for i in differentiable(xs)], allow_unused=True)]


def second_gradients(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
    given = leaves(xs)
    wanted = [given[i] for i in differentiable(xs)]
    out = f(lib, *given)
    if not out.requires_grad:
        return out
    first = [g for g in lib.autograd.grad(loss(lib, out), wanted, allow_unused=True, create_graph=True)
             if g is not None and g.requires_grad]
    if not first:
        return out.detach()
    return lib.autograd.grad(sum(loss(lib, g) for g in first), wanted, allow_unused=True)


def of_the_differentiable(lib: types.ModuleType, f: Program, xs: Tensors) -> tuple[Program, Tensors]:
    places = differentiable(xs)

    def reduced(*given: Any) -> Any:
        whole = list(xs)
        for i, x in zip(places, given, strict=True):
            whole[i] = x
        return f(lib, *whole)
    return reduced, [xs[i] for i in places]


def tangents(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
    reduced, given = of_the_differentiable(lib, f, xs)
    if not given:
        return f(lib, *xs)
    return lib.func.jvp(reduced, tuple(given), tuple(lib.ones_like(x) * 0.5 for x in given))


def batches(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
    first = lib.stack([xs[0], xs[0].flip(0) if xs[0].dim() else xs[0], xs[0].clone()], -1)
    return lib.func.vmap(lambda x: f(lib, x, *xs[1:]), in_dims=-1)(first)


def jacobian(transform: str) -> Callable[..., Any]:
    def run(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
        reduced, given = of_the_differentiable(lib, f, xs)
        if not given or any(x.is_complex() for x in given):
            return f(lib, *xs)
        return getattr(lib.func, transform)(reduced)(*given)
    return run


def under_autocast(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
    with lib.autocast("cpu", dtype=lib.bfloat16):
        return f(lib, *xs)


def in_inference(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
    with lib.inference_mode():
        return f(lib, *xs)


def in_pipeline(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
    if lib is not mindtorch:
        return f(lib, *xs)
    with mindtorch.pipeline():
        return f(lib, *xs)


def compiled(run: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Run the third call of a compiled function, which PyTorch runs as it is written."""
    def mode(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
        if lib is not mindtorch:
            return run(lib, f, xs)
        program = mindtorch.compile(f, **options)
        return [run(lib, program, xs) for _ in range(3)][-1]
    return mode


def settled(run: Callable[..., Any]) -> Callable[..., Any]:
    """Run the fourth call of a program, which plans of the calls before compute; PyTorch runs the first."""
    def mode(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
        return [run(lib, f, xs) for _ in range(4 if lib is mindtorch else 1)][-1]
    return mode


def plainly(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
    return f(lib, *xs)


def functionalized(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
    return lib.func.functionalize(lambda *given: f(lib, *given))(*xs)


def traced(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
    if lib is not mindtorch:
        return f(lib, *xs)
    from mindtorch.fx.experimental.proxy_tensor import make_fx
    return make_fx(lambda *given: f(lib, *given))(*xs)(*xs)


def checkpointed(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
    def kept(lib: types.ModuleType, *given: Any) -> Any:
        return lib.utils.checkpoint.checkpoint(lambda *values: f(lib, *values), *given, use_reentrant=False)
    return gradients(lib, kept, xs)


def on_npu(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
    if lib is not mindtorch:
        return f(lib, *xs)
    try:
        with mindtorch.device("npu"):
            return f(lib, *[x.to("npu") for x in xs]).cpu()
    finally:
        try:
            mindtorch.npu.synchronize()
        except AclError:  # an index beyond its tensor, which a device finds late
            mindtorch.npu.restart_device()


def refused(code: int, probability: float) -> Callable[..., Any]:
    """Run on an NPU that refuses to plan some operators, or all, with a code of CANN's: the CPU computes these."""
    def run(lib: types.ModuleType, f: Program, xs: Tensors) -> Any:
        if lib is not mindtorch:
            return f(lib, *xs)
        given, faults = [x.to("npu") for x in xs], mindtorch.npu.simulator.faults
        mindtorch.npu.synchronize()
        faults.fail("*", 1, None, probability, len(str(given)), code)
        try:
            return on_npu(lib, f, given)
        finally:
            faults.clear()
    return run


NO_KERNEL = ACLNN_ERR_INNER + 3  #: CANN finds no binary of the kernel for the chip
MODES: dict[str, Callable[..., Any]] = {
    "plainly": plainly, "settled": settled(plainly), "gradients": gradients, "settled gradients": settled(gradients),
    "second gradients": second_gradients, "tangents": tangents,
    "batches": batches, "jacrev": jacobian("jacrev"), "jacfwd": jacobian("jacfwd"), "hessian": jacobian("hessian"),
    "autocast": under_autocast, "inference": in_inference, "pipeline": in_pipeline, "compiled": compiled(plainly),
    "compiled gradients": compiled(gradients), "captured": compiled(gradients, backend="eager"),
    "functionalized": functionalized, "traced": traced, "checkpointed": checkpointed, "npu": on_npu,
    "refusing npu": refused(ACLNN_ERR_PARAM_INVALID, 0.4), "npu without kernels": refused(NO_KERNEL, 1),
}
#: Modes in which strides are PyTorch's. How a batch lies depends on the steps that a rule of PyTorch's takes.
STRIDED = ("plainly", "settled", "autocast", "inference", "functionalized", "gradients", "settled gradients",
           "second gradients", "checkpointed")
#: Modes that batch. Here elements are checked as they are outside, so errors are those of the program run plainly.
BATCHED = ("batches", "jacrev", "jacfwd", "hessian")
#: Modes that PyTorch runs plainly, so that which of two exceptions comes first is another matter.
OURS = ("pipeline", "compiled", "compiled gradients", "captured", "traced", "npu",
        "refusing npu", "npu without kernels")


class Way(NamedTuple):
    """A way to run a program: what is done to its inputs and to what each line computes, and other functions of modes.
    """

    inputs: Callable[[Tensors], Tensors] = list
    each: Callable[[Any], Any] | None = None
    run: Mapping[str, Callable[..., Any]] = {}

    def outcome(self, mode: str, drawn: Drawn, lib: types.ModuleType, error: Rounding | None = None) -> Outcome:
        """Run a program in a mode, with the error in what each line computes."""
        def each(x: Any, line: str) -> Any:
            x = self.each(x) if self.each else x
            return error(x, line) if error else x

        f = drawn.function(each if self.each or error else None)
        return Outcome.of(self.run.get(mode, MODES[mode]), lib, f, ported(self.inputs(drawn.inputs), lib))


AS_DRAWN = Way()


# -- comparing ---------------------------------------------------------------------------------------------------------

TWICE = ("second gradients", "hessian")  #: modes that take several times as many steps, each of which rounds
HALVES = ("float16", "bfloat16")
#: Lines whose results are not the nearest numbers to the right ones, even where these are short.
INEXACT = re.compile(
    "exp|log|sin|cos|tan|sqrt|erf|sigmoid|gelu|[sc]?elu|soft|silu|mish|norm|mean|std|var|attention|gamma|hypot|kl_div|"
    "loss|dist|inv|solve|det|similarity|angle|cov|polar|sinc|lerp|prod|addc|pow|trapezoid")
QUOTIENT = re.compile("/|div|reciprocal")  #: of complex numbers takes several steps, each of which rounds
OUTSIDE = "out of bounds"  #: in the text of an error that rounding may decide, as an index may have been a float
EPSILON = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-5, "complex64": 2e-5, "float64": 1e-9, "complex128": 1e-9}


def wide(xs: Tensors) -> Tensors:
    """Return the tensors in double precision."""
    places = differentiable(xs)
    return [x.to(torch.complex128 if x.is_complex() else torch.float64) if i in places else x for i, x in enumerate(xs)]


def in_double(drawn: Drawn) -> Drawn:
    """Return the program in double precision, of its inputs and where it converts."""
    lines = [re.sub(r"\.(half|bfloat16|float)\(\)", ".double()", line) for line in drawn.lines]
    return Drawn(lines, wide(drawn.inputs))


def narrowest(mode: str, drawn: Drawn) -> str:
    """Return the dtype, of those that a program computes in, that rounds most."""
    names = [str(x.dtype).removeprefix("torch.") for x in drawn.inputs]
    names += [{"half": "float16"}.get(name, name) for name in re.findall(
        r"\.(half|bfloat16|float|int|bool|any|all|isnan|isin|logical_not|arg\w+)\(", " ".join(drawn.lines))]
    names.append("bfloat16" if mode == "autocast" else "float64")
    return max((name if name in EPSILON else "float32" for name in names), key=EPSILON.__getitem__)


def off_by(error: float, dtype: torch.dtype, in_turn: bool = False) -> Rounding:
    """Return a function that makes elements, or their two parts, which the dtype would round, larger by a relative
    error, or larger and smaller in turn.
    """
    def errors_in(value: torch.Tensor, inexact: bool) -> torch.Tensor:
        exact = ~value.isfinite() | ((value.to(dtype.to_real()).double() == value) & (not inexact))
        errors = torch.arange(value.numel()).reshape(value.shape) % 2 * (-2 * error) + error if in_turn else error
        return torch.where(exact, 0.0, torch.where(value.abs() < abs(error), 1.0, value) * errors)

    def with_errors_in_gradients(x: torch.Tensor) -> torch.Tensor:
        steps = torch.arange(x.numel()).reshape(x.shape) % 2 * (-2 * error) + error
        return x + torch.where(x.detach().isfinite(), x - x.detach(), 0) * steps

    def rounded(x: torch.Tensor, line: str) -> torch.Tensor:
        inexact = bool(INEXACT.search(line))
        if x.is_complex():
            parts = torch.view_as_real(x.detach().resolve_conj().resolve_neg())
            return x + torch.view_as_complex(errors_in(parts, inexact or bool(QUOTIENT.search(line))))
        if not x.is_floating_point():
            return x
        x = x + errors_in(x.detach(), inexact)
        return with_errors_in_gradients(x) if in_turn else x
    return rounded


def value_difference(ours: Any, theirs: Any, truths: Tensors, least: float) -> str | None:
    """Return the element that is further from PyTorch's than PyTorch's is from those in double precision, of which the
    first is the program's as it is.
    """
    mine, other = array(ours.detach()), array(theirs.detach())
    if other.dtype.kind not in "fcV" and theirs.dtype not in (torch.bfloat16,):
        rounded = [array(truth.detach()) for truth in truths if truth is not None and truth.shape == theirs.shape]
        different = (mine != other) & np.all([mine != truth for truth in rounded], 0)
    else:
        kind = np.complex128 if theirs.is_complex() else np.float64
        mine, other = mine.astype(kind), other.astype(kind)
        exact = [array(truth.detach()).astype(kind) for truth in truths
                 if truth is not None and truth.shape == theirs.shape] or [other]
        epsilon = max(least, EPSILON[str(theirs.dtype).removeprefix("torch.")])
        with np.errstate(all="ignore"):
            doubtful = ~np.isfinite(exact[0]) ^ ~np.isfinite(other)
            far = np.max([np.abs(other - truth) for truth in exact], 0)
            room = 8 * far + epsilon * (np.abs(other) + np.abs(exact[0])) + epsilon
            near = np.abs(mine - other) <= np.where(np.isfinite(room), room, 0)
            pole = np.isinf(mine) & (epsilon * np.abs(other) > 1) & (far > np.abs(exact[0]) / 2)  # rounding misses it
            different = ~(near | (mine == other) | (np.isnan(mine) & np.isnan(other)) | doubtful | pole)
    if not different.any():
        return None
    place = tuple(np.argwhere(different)[0]) if different.ndim else ()
    return f"value: {mine[place]} at {list(map(int, place))}, torch {other[place]}"


def reached(x: Any) -> list[int]:
    """Return the strides that tell where an element lies: not those of dimensions of one element, or of none at all."""
    return [step for n, step in zip(x.shape, x.stride(), strict=True) if n > 1 and x.numel()]


def output_differences(ours: Any, theirs: Any, exact: list[Any], mode: str, least: float) -> Iterator[str]:
    """Compare the outputs in pairs."""
    mine, others, *truths = ([*out] if isinstance(out, list | tuple) else [out] for out in (ours, theirs, *exact))
    if len(mine) != len(others):
        yield f"{len(mine)} outputs, torch {len(others)}"
        return
    for i, (a, b) in enumerate(zip(mine, others, strict=True)):
        fitting = [outputs[i] for outputs in truths if len(outputs) == len(others)]
        if (a is None) != (b is None):
            yield f"output {i}: {'None' if a is None else 'a tensor'}, torch {'None' if b is None else 'a tensor'}"
        elif isinstance(b, tuple | list):
            yield from output_differences(a, b, fitting, mode, least)
        elif b is not None:
            strided, tracked = mode in STRIDED, mode not in OURS
            where = f"output {i}: " if len(others) > 1 else ""
            found = [f"{where}{d}" for d in tensor_differences(a, b, None, None, False, strided, tracked, "cpu", "")]
            if any("stride: " in d for d in found) and reached(a) == reached(b):
                found = [d.replace("stride: ", "idle stride: ") for d in found]
            found = [d for d in found if b.numel() or "offset: " not in d]
            yield from found
            if not found and (text := value_difference(a, b, fitting, least)):
                yield f"{where}{text}"


def shapes_in(outcome: Outcome) -> list[tuple[int, ...]]:
    return [tuple(t.shape) for t in tensors_in(outcome.value)]


def compare(mode: str, drawn: Drawn, theirs_by: Way = AS_DRAWN, ours_by: Way = AS_DRAWN,
            mark: Callable[[str], None] = lambda text: None) -> list[str]:
    """Run a program in both libraries, and in PyTorch in double precision, and return in what ours differs."""
    mark("theirs")
    theirs = theirs_by.outcome(mode, drawn, torch)
    mark("ours")
    ours = ours_by.outcome(mode, drawn, mindtorch)
    mark("theirs")
    if "omplexHalf" in str(theirs.error) or any(t.dtype is torch.complex32 for t in tensors_in(theirs.value)):
        return []
    found = [*map(str, error_differences(ours, theirs))]
    if found and mode in OURS and ours.error and theirs.error:
        found = []
    if found and mode in BATCHED and ours.error:
        outside = Outcome.of(drawn.function(), torch, *ported(drawn.inputs, torch))
        if ours.kind() == outside.kind():
            return []
    name = narrowest(mode, drawn)
    least = EPSILON[name] * (4 if mode in TWICE and name in HALVES else 1)
    if not found and theirs.error is None:
        found = [*output_differences(ours.value, theirs.value, [], mode, least)]
    if not any("value: " in text or "shape: " in text or OUTSIDE in text for text in found):
        return found
    dtype, step = getattr(torch, name), least / 8
    torch.set_default_dtype(torch.float64)
    try:
        exact = [theirs_by.outcome(mode, in_double(drawn), torch, error) for error in (
            off_by(0, dtype), off_by(step, dtype), off_by(-step, dtype), off_by(step, dtype, True))]
    finally:
        torch.set_default_dtype(torch.float32)
    if ours.error or theirs.error:
        return [] if ours.kind() in [other.kind() for other in exact] else found
    if any("shape: " in text for text in found):  # of what counts rounded numbers
        return [] if shapes_in(ours) in map(shapes_in, exact) else found
    return [*output_differences(ours.value, theirs.value, [other.value for other in exact], mode, least)]
