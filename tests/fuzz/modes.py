"""Random functions in every mode: `python -m tests.fuzz.modes 100000 0` runs so many, of a seed; a third number is the
one to begin with, and a fourth argument names the only modes to run, with commas between them.

A program is a Python function of a few lines, drawn from the tables below, of one to three tensors. It runs in one of
the ``MODES`` here and in PyTorch: plainly, with gradients, tangents, batches, Jacobians, under autocast, recorded,
compiled, traced, on an NPU, and so on. Outcomes are compared in type of exception, dtype, shape, strides, and values.
PyTorch also runs the program in double precision: where its own result is far from that, ours may be as far. So it may
where rounding decides: where what is inexact in double precision, made larger or smaller by a rounding error after each
line, changes the result. A program that differs is cut to the fewest lines that still differ, and printed as Python.
"""
from __future__ import annotations

import random
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import mindtorch
from mindtorch._backends.npu.constants import ACLNN_ERR_INNER, ACLNN_ERR_PARAM_INVALID
from mindtorch._backends.npu.errors import AclError
from tests.fuzz import offline
from tests.fuzz.offline import Case, explained
from tests.support import Outcome, array, error_differences, port, tensor_differences, tensors_in, torch

Tensors = list[Any]
Program = Callable[..., Any]  #: takes a library and tensors
Rounding = Callable[[Any, str], Any]  #: takes what a line computes, and the line

#: Of one tensor ``{a}``; ``{i}`` and ``{j}`` are dimensions, ``{n}`` a small number, ``{x}`` a real number.
#: The gradient of distances within nothing ends PyTorch's process.
UNARY = """
{a}.abs(); {a}.exp(); {a}.log(); {a}.sqrt(); {a}.rsqrt(); {a}.reciprocal(); {a}.sin(); {a}.cos(); {a}.tan()
{a}.tanh(); {a}.sigmoid(); {a}.relu(); {a}.erf(); {a}.erfinv(); {a}.erfc(); {a}.expm1(); {a}.log1p(); {a}.log2()
{a}.square(); {a}.sign(); {a}.floor(); {a}.round(); {a}.trunc(); {a}.frac(); {a}.asin(); {a}.acos(); {a}.atan()
{a}.sinh(); {a}.cosh(); {a}.asinh(); {a}.atanh(); {a}.lgamma(); {a}.digamma(); {a}.logit({x}); {a}.nan_to_num()
{a}.isnan(); {a}.neg(); {a}.positive(); {a}.sgn(); {a}.sinc(); {a}.exp2(); {a}.rad2deg(); {a}.hardshrink()
{a}.angle(); {a}.logical_not(); {a}.real; {a}.conj(); F.softplus({a}); F.gelu({a}); F.gelu({a}, approximate="tanh")
F.silu({a}); F.elu({a}); F.hardswish({a}); F.mish({a}); F.leaky_relu({a}, {x}); F.selu({a}); F.softsign({a})
F.logsigmoid({a}); F.hardtanh({a}); F.relu6({a}); F.celu({a}, 1.5); F.threshold({a}, {x}, 2.0); F.hardsigmoid({a})
F.softshrink({a}); F.tanhshrink({a}); {a}.clone(); {a}.detach(); {a}.contiguous(); {a}.to(lib.float64); {a}.float()
{a}.half(); {a}.int(); {a}.bool(); {a}.bfloat16(); {a}.clamp({x}, 1.5); {a}.clamp(min={x}); {a} + {n}; {a} * {x}
{n} - {a}; {a} / {n}; {x} / {a}; {a} ** {n}; {n} ** {a}; {a} ** 0.5; {a} % {n}; {a} // {n}; -{a}; {a} > {x}
{a} == {n}; {a}.pow({x}); {a}.fmod({x}); {a}.float_power({n}); {a}.t(); {a}.mT; {a}.transpose({i}, {j}); {a}.flatten()
{a}.reshape(-1); {a}.view(-1); {a}.unsqueeze({i}); {a}.squeeze(); {a}.squeeze({i}); {a}.flip({i}); {a}.roll({n}, {i})
{a}.roll({n}); {a}.rot90(1); {a}[0]; {a}[-1]; {a}[1:]; {a}[..., ::2]; {a}[:, None]; {a}[..., 0]
{a}.expand(2, *{a}.shape); {a}.chunk(2, {i})[0]; {a}.split(2)[-1]; {a}.unbind({i})[-1]; {a}.diagonal(); {a}.diag()
{a}.tril({n}); {a}.triu(-1); {a}.narrow({i}, 0, 2); {a}.select({i}, 1); {a}.movedim(0, -1); {a}.unfold({i}, 2, 1)
{a}.repeat(2, 1); {a}.tile(2); {a}.repeat_interleave(2, {i}); {a}.diag_embed(); {a}.T; {a}.as_strided((2, 2), (1, 2))
{a}.permute(1, 0); {a}[[0, -1]]; {a}[{a} > {x}]; {a}[lib.tensor([1, 0])]; {a}[..., [0, 0]]; {a}.sum(); {a}.sum({i})
{a}.sum({i}, keepdim=True); {a}.mean({i}); {a}.mean(); {a}.prod(); {a}.prod({i}); {a}.amax({i}); {a}.amin()
{a}.max({i}).values; {a}.min({i})[0]; {a}.max(); {a}.median(); {a}.median({i})[0]; {a}.nanmedian(); {a}.var({i})
{a}.std(); {a}.std({i}, correction=0); {a}.norm(); {a}.norm(1, {i}); {a}.norm(3, {i}); {a}.logsumexp({i})
{a}.argmax({i}); {a}.argmin(); {a}.all(); {a}.any({i}); {a}.nansum({i}); {a}.nanmean(); {a}.count_nonzero({i})
{a}.aminmax()[1]; lib.linalg.vector_norm({a}, {n}, {i}); lib.linalg.norm({a}); lib.var_mean({a}, {i})[1]
lib.std_mean({a})[0]; {a}.cumsum({i}); {a}.cumprod({i}); {a}.cummax({i})[0]; {a}.logcumsumexp({i}); {a}.diff()
{a}.sort({i})[0]; {a}.argsort({i}, stable=True); {a}.topk(2, {i})[0]; {a}.kthvalue(2, {i})[0]; {a}.msort()
{a}.trace(); {a}.softmax({i}); {a}.log_softmax({i}); F.softmin({a}, {i}); F.normalize({a}, dim={i})
F.layer_norm({a}, {a}.shape[-1:]); F.rms_norm({a}, {a}.shape[-1:]); F.pad({a}, (1, {n}))
F.pad({a}, (1, 1), mode="circular"); F.pad({a}, (1, 1), mode="replicate"); F.pad({a}, (1, 1), mode="reflect")
F.avg_pool1d({a}, 2); F.max_pool1d({a}, 2, 1); F.adaptive_avg_pool1d({a}, 2); F.lp_pool1d({a}, 2, 2); F.glu({a}, {i})
F.one_hot({a}.long().abs()); F.interpolate({a}[None], scale_factor=2); F.unfold({a}[None, None], 2)
F.pdist({a}) if {a}.numel() else {a}
lib.zeros_like({a}); lib.full_like({a}, {x}); lib.linalg.det({a}); lib.linalg.inv({a}); lib.matrix_exp({a})
lib.cov({a}); {a}.sum_to_size(1); {a}.unflatten(-1, (1, -1)); lib.atleast_3d({a}); lib.block_diag({a}, {a})
lib.cartesian_prod({a}.view(-1)[:2])
""".strip().replace("\n", "; ").split("; ")

#: Of two tensors, and sometimes a third.
BINARY = """
{a} + {b}; {a} - {b}; {a} * {b}; {a} / {b}; {a} ** {b}; {a} % {b}; {a} // {b}; {a} < {b}; {a} == {b}; {a} & {b}
{a} | {b}; lib.maximum({a}, {b}); lib.minimum({a}, {b}); lib.fmax({a}, {b}); lib.where({a} > {x}, {a}, {b})
lib.where({a} < {b}, {x}, {b}); {a} @ {b}; lib.atan2({a}, {b}); lib.fmod({a}, {b}); lib.hypot({a}, {b})
lib.logaddexp({a}, {b}); lib.logaddexp2({a}, {b}); lib.ldexp({a}, {b}); lib.copysign({a}, {b}); lib.xlogy({a}, {b})
lib.special.xlog1py({a}, {b}); lib.nextafter({a}, {b}); lib.true_divide({a}, {b})
lib.div({a}, {b}, rounding_mode="floor"); lib.div({a}, {b}, rounding_mode="trunc")
lib.outer({a}.view(-1), {b}.view(-1)); lib.dot({a}.reshape(-1), {b}.reshape(-1)); lib.mm({a}, {b})
lib.bmm({a}[None], {b}[None]); lib.kron({a}, {b}); lib.tensordot({a}, {b}, 1); lib.einsum("ij,jk->ki", {a}, {b})
lib.cross({a}, {b}, dim=-1); lib.inner({a}, {b}); lib.lerp({a}, {b}, {x}); lib.addcmul({a}, {b}, {c}, value={x})
lib.addcdiv({a}, {b}, {c}); lib.addmm({a}, {b}, {c}, beta={x}); lib.baddbmm({a}[None], {b}[None], {c}[None])
lib.clamp({a}, {b}, {c}); lib.lerp({a}, {b}, {c}); lib.dist({a}, {b}); lib.cdist({a}, {b}); lib.cat([{a}, {b}])
lib.cat([{a}, {b}], {i}); lib.stack([{a}, {b}], {i}); lib.hstack([{a}, {b}]); lib.add({a}, {b}, alpha={n})
{a}.masked_fill({b} > {x}, {n}); {a}.masked_select({b} > {x}); lib.gather({a}, {i}, {b}.long().abs() % 2)
{a}.index_select({i}, {b}.view(-1).long().abs() % 2); {a}.scatter_add({i}, {b}.long().abs() % 2, {c})
lib.take({a}, {b}.long().abs() % 2); {a}.scatter({i}, {b}.long().abs() % 2, {x})
{a}.index_add(0, {b}.view(-1).long().abs()[:3] % 2, {c}); {a}.index_copy(0, lib.tensor([1, 0]), {b}[:2])
{a}.scatter_reduce(0, {b}.long().abs() % 2, {c}, "amax"); {a}.scatter_reduce(0, {b}.long().abs() % 2, {c}, "mean")
{a}.index_put(({b}.long().abs() % 2,), {c}, accumulate=True); {a}[{b}.long().abs() % 2]; {a}[..., {b}.bool()]
lib.take_along_dim({a}, {b}.long().abs() % 2, {i}); lib.select_scatter({a}, {b}[0], 0, 1); {a}.expand_as({b})
{a}.type_as({b}); lib.searchsorted({a}.sort()[0], {b}); lib.bucketize({a}, {b}.reshape(-1).sort()[0])
lib.isin({a}, {b}); lib.heaviside({a}, {b}); F.linear({a}, {b}); F.linear({a}, {b}, {c}); F.mse_loss({a}, {b})
F.l1_loss({a}, {b}); F.smooth_l1_loss({a}, {b}); F.huber_loss({a}, {b}); F.binary_cross_entropy_with_logits({a}, {b})
F.kl_div({a}, {b}, reduction="batchmean"); F.cosine_similarity({a}, {b}, {i}); F.cross_entropy({a}, {b})
F.cross_entropy({a}, {b}[0].long().abs() % 2); F.nll_loss({a}, {b}[0].long().abs() % 2); F.soft_margin_loss({a}, {b})
F.gaussian_nll_loss({a}, {b}, {c}.abs() + 1); F.poisson_nll_loss({a}, {b}); F.margin_ranking_loss({a}, {b}, {c})
F.pairwise_distance({a}, {b}); F.prelu({a}, {b}.view(-1)[:1]); F.embedding({a}.long().abs() % 2, {b})
F.conv1d({a}[None], {b}[None, :, :2]); F.bilinear({a}, {b}, {c}[None])
F.scaled_dot_product_attention({a}[None], {b}[None], {c}[None]); F.layer_norm({a}, {a}.shape[-1:], {b}[0], {c}[0])
F.triplet_margin_loss({a}, {b}, {c}); F.conv_transpose1d({a}[None], {b}[:, None])
F.grid_sample({a}[None, None], {b}[None, :, :2, None].expand(1, -1, -1, 2))
F.batch_norm({a}, None, None, {b}[0], {c}[0], training=True); F.group_norm({a}, 1, {b}[0], {c}[0])
F.embedding_bag({a}.long().abs() % 2, {b}); lib.polar({a}, {b}); lib.complex({a}, {b}); lib.linalg.solve({a}, {b})
lib.trapezoid({a}, {b}); lib.quantile({a}, 0.5); lib.vander({a}.view(-1)[:3])
""".strip().replace("\n", "; ").split("; ")

#: What writes: into a fresh copy, so that a function stays one.
WRITES = """
.add_({b}); .mul_({b}); .sub_({b}, alpha={n}); .div_({b}); .copy_({b}); .zero_(); .fill_({x}); .relu_(); .sigmoid_()
.clamp_({x}, 1.0); .masked_fill_({b} > {x}, {n}); .t_(); .transpose_(0, -1); .unsqueeze_(0); .squeeze_()
.index_fill_(0, lib.tensor([0]), {x}); .scatter_(0, {b}.long().abs() % 2, {x})
.index_add_(0, lib.tensor([1, 0]), {b}[:2]); .addcmul_({b}, {c}); .lerp_({b}, {x}); .cumsum_({i}); .exp_(); .tril_()
.pow_({n}); .neg_(); .floor_(); .index_put_((lib.tensor([0, 0]),), {b}[:2], accumulate=True); [0] = {x}
[1:] = {b}[1:]; [..., 0] += 1; [{b} > {x}] = {n}; [0, ...] *= {n}; [lib.tensor([1, 1])] = {x}; [:, 1] = {b}[0]
""".strip().replace("\n", "; ").split("; ")

#: Lines whose results are not the nearest numbers to the right ones, even where these are short.
INEXACT = re.compile(
    "exp|log|sin|cos|tan|sqrt|erf|sigmoid|gelu|[sc]?elu|soft|silu|mish|norm|mean|std|var|attention|gamma|hypot|kl_div|"
    "loss|dist|inv|solve|det|similarity|angle|cov|polar|sinc|lerp|prod|addc|pow|trapezoid")
QUOTIENT = re.compile("/|div|reciprocal")  #: of complex numbers takes several steps, each of which rounds
FLOATS = ("float32", "float32", "float32", "float64", "float16", "bfloat16")
DTYPES = (*FLOATS, *FLOATS, "int64", "int32", "int16", "int8", "uint8", "bool", "complex64", "complex64", "complex128")
SHAPES = [(3, 3)] * 6 + [(2, 3), (3,), (2, 3, 3), (1, 3), (3, 1), (), (0, 3), (4, 4)]
LAYOUTS = (*["plain"] * 5, "transposed", "strided", "offset", "expanded", "column")
LARGE = 5000  #: elements, more than which no value of a program has
AGAIN = 6  #: times that a line is drawn of which PyTorch refuses the first ones
SPECIAL = [float("inf"), float("-inf"), float("nan"), 0.0, -0.0, 1e4, 1e-8, 1.0]


class Drawn(NamedTuple):
    """A program as text, and its arguments."""

    lines: list[str]
    inputs: Tensors

    def text(self, rounded: bool = False) -> str:
        names = [f"v{i}" for i in range(len(self.inputs) + len(self.lines))]
        results = names[len(self.inputs):]
        lines = [f"{line}; {name} = rounded({name}, {line!r})" if rounded else line
                 for name, line in zip(results, self.lines, strict=True)]
        return "\n    ".join([f"def f(lib, {', '.join(names[:len(self.inputs)])}):", "F = lib.nn.functional", *lines,
                              f"return {names[-1]}"])

    def function(self, rounded: Rounding | None = None) -> Program:
        """Compile the program; ``rounded`` is applied to what each line computes, and the line."""
        scope: dict[str, Any] = {"rounded": rounded}
        exec(self.text(rounded is not None), scope)
        return scope["f"]


def tensor(drawn: random.Random, dtype: torch.dtype, shape: tuple[int, ...],
           layouts: tuple[str, ...] = LAYOUTS) -> torch.Tensor:
    """Draw a tensor of quarters, or of special numbers, in one of the layouts; a ``lazy`` one is conjugated or negated
    when it is read.
    """
    layout = drawn.choice(layouts)
    kept = shape
    match layout:
        case "transposed":
            kept = shape[::-1]
        case "strided":
            kept = tuple(2 * n for n in shape)
        case "offset":
            kept = tuple(n + 1 for n in shape)
        case "expanded" if shape:
            kept = (1, *shape[1:])
    count, special = torch.Size(kept).numel(), drawn.random() < 0.12
    values = [drawn.choice(SPECIAL) if special and drawn.random() < 0.4 else drawn.randrange(-8, 13) / 4
              for _ in range(count)]
    if not (dtype.is_floating_point or dtype.is_complex):
        values = [int(abs(v)) if abs(v) < 100 else 1 for v in values]
    made = torch.tensor(values, dtype=torch.float64)
    made = (torch.complex(made, made.roll(1)) if dtype.is_complex else made).to(dtype).reshape(kept)
    match layout:
        case "transposed":
            return made.permute(tuple(range(made.dim()))[::-1])
        case "strided":
            return made[tuple(slice(None, None, 2) for _ in shape)]
        case "offset":
            return made[tuple(slice(1, None) for _ in shape)]
        case "expanded":
            return made.expand(shape)
        case "overlapping":
            return made.as_strided(shape, (1,) * len(shape))
        case "lazy" if dtype.is_complex:
            return made.conj()
        case "lazy" if dtype.is_floating_point:
            return torch._neg_view(made)
    return made


def ported(inputs: Tensors, lib: types.ModuleType) -> Tensors:
    """Carry tensors over to a library, with what is conjugated or negated when it is read."""
    bare = port([torch._neg_view(x) if x.is_neg() else x.conj() if x.is_conj() else x for x in inputs], lib)
    return [lib._neg_view(mine).data if x.is_neg() else mine.conj().data if x.is_conj() else mine
            for mine, x in zip(bare, inputs, strict=True)]


def value_of(line: str, scope: dict[str, Any]) -> Any:
    """Run a line of a program on PyTorch, and return its tensor, or None if it raises or makes a large one."""
    try:
        exec(line, scope)
    except Exception:
        return None
    value = scope[line.split(" = ", 1)[0]]
    return value if value.numel() <= LARGE else None


def program(drawn: random.Random) -> Drawn:
    """Draw tensors, mostly of one dtype and shape, and one to five lines, each on the latest values. A line that
    PyTorch refuses is mostly drawn again, and is the last one else.
    """
    dtype, shape = drawn.choice(DTYPES), drawn.choice(SHAPES)
    inputs = [tensor(drawn, getattr(torch, dtype if drawn.random() < 0.85 else drawn.choice(DTYPES)),
                     shape if drawn.random() < 0.8 else drawn.choice(SHAPES), (*LAYOUTS, "overlapping", "lazy"))
              for _ in range(drawn.choice([1, 2, 2, 3]))]
    lines: list[str] = []
    scope = {"lib": torch, "F": torch.nn.functional, **{f"v{i}": x for i, x in enumerate(inputs)}}
    for _ in range(drawn.choice([1, 1, 2, 2, 3, 4, 5])):
        names = [f"v{i}" for i in range(len(inputs) + len(lines))]
        for _ in range(AGAIN):
            line = drawn_line(drawn, names, bool(lines))
            refused = value_of(line, scope) is None
            if not refused or drawn.random() < 0.1:
                break
        lines.append(line)
        if refused:
            break
    return Drawn(lines, inputs)


def drawn_line(drawn: random.Random, names: list[str], latest: bool) -> str:
    """Draw a line on some of the values named, mostly on the latest if there is one."""
    a = names[-1] if latest and drawn.random() < 0.7 else drawn.choice(names)
    given = {"a": a, "b": drawn.choice(names), "c": drawn.choice(names), "i": drawn.choice([0, 0, -1, 1]),
             "j": drawn.choice([-1, 1]), "n": drawn.choice([2, 3, 1, 0]),
             "x": drawn.choice([0.5, -0.25, 0.0, 1.25])}
    table = drawn.choice([UNARY, UNARY, BINARY, BINARY, WRITES])
    name = f"v{len(names)}"
    text = drawn.choice(table).format(**given)
    return f"{name} = {a}.clone(); {name}{text}" if table is WRITES else f"{name} = {text}"


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
    "plainly": plainly, "gradients": gradients, "second gradients": second_gradients, "tangents": tangents,
    "batches": batches, "jacrev": jacobian("jacrev"), "jacfwd": jacobian("jacfwd"), "hessian": jacobian("hessian"),
    "autocast": under_autocast, "inference": in_inference, "pipeline": in_pipeline, "compiled": compiled(plainly),
    "compiled gradients": compiled(gradients), "captured": compiled(gradients, backend="eager"),
    "functionalized": functionalized, "traced": traced, "checkpointed": checkpointed, "npu": on_npu,
    "refusing npu": refused(ACLNN_ERR_PARAM_INVALID, 0.4), "npu without kernels": refused(NO_KERNEL, 1),
}
#: Modes in which strides are PyTorch's. How a batch lies depends on the steps that a rule of PyTorch's takes.
STRIDED = ("plainly", "autocast", "inference", "functionalized", "gradients", "second gradients", "checkpointed")
#: Modes that batch. Here elements are checked as they are outside, so errors are those of the program run plainly.
BATCHED = ("batches", "jacrev", "jacfwd", "hessian")
#: Modes that PyTorch runs plainly, so that which of two exceptions comes first is another matter.
OURS = ("pipeline", "compiled", "compiled gradients", "captured", "traced", "npu",
        "refusing npu", "npu without kernels")


# -- other ways --------------------------------------------------------------------------------------------------------

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


AS_DRAWN = Way()
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
    (DERIVED, "prod|maximum|minimum|fmax|fmin|with_logits|smooth_l1|poisson", UNDEFINED, "PyTorch's derivative "
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
    ("second gradients|checkpointed|gradients", "prod", "stride", "PyTorch divides a product by its factors, if none "
     "is 0; here factors before and behind are multiplied, in one way for all."),
    ("second gradients", r"prod\(", r"^\d outputs, torch \d$", "PyTorch's gradient of a product of one factor depends "
     "on the factor, if it is not 0.", if_apart),
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
    (DERIVED, "one_hot", r"no error, torch RuntimeError .isDifferentiableType", "PyTorch asserts that a gradient that "
     "flows through integers is none."),
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
    ("hessian", "batch_norm", "value: ", "PyTorch takes saved factors and statistics for constants.",
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
    ("second gradients", "embedding", "no error, torch .*unspecified dimension size -1", "PyTorch's derivative "
     "reshapes rows of an empty table."),
    (BATCHES, r"baddbmm.*shape \(0", "Input dtypes must be the same.*torch no error", "In a batch PyTorch's baddbmm "
     "does not compare dtypes where there are no elements."),
    (BATCHES, "baddbmm", "torch IndexError .Dimension out of range",
     "PyTorch's rule looks up a dimension before the operator counts them."),
    (BATCHES, "flip|rot90", "torch IndexError .Dimension out of range .expected to be in range of .-1, 0., "
     "but got 1", "PyTorch's rule of flip does not take numbers."),
    (BATCHES, "index_select|cross_entropy|nll_loss", r"error: RuntimeError .index .* out of bounds.*, torch IndexError",
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


# -- comparing ---------------------------------------------------------------------------------------------------------

TWICE = ("second gradients", "hessian")  #: modes that take several times as many steps, each of which rounds
HALVES = ("float16", "bfloat16")
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

    def rounded(x: torch.Tensor, line: str) -> torch.Tensor:
        inexact = bool(INEXACT.search(line))
        if x.is_complex():
            parts = torch.view_as_real(x.detach().resolve_conj().resolve_neg())
            return x + torch.view_as_complex(errors_in(parts, inexact or bool(QUOTIENT.search(line))))
        return x + errors_in(x.detach(), inexact) if x.is_floating_point() else x
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
    if not any("value: " in text or OUTSIDE in text for text in found):
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
    return [*output_differences(ours.value, theirs.value, [other.value for other in exact], mode, least)]


def shrink(mode: str, drawn: Drawn) -> Drawn:
    """Drop lines, from the last to the first, as long as the program still differs without an explanation."""
    def differs(candidate: Drawn) -> bool:
        return any(explanation(mode, candidate, text) is None for text in compare(mode, candidate))

    for count in range(1, len(drawn.lines)):
        if differs(Drawn(drawn.lines[:count], drawn.inputs)):
            drawn = Drawn(drawn.lines[:count], drawn.inputs)
            break
    for i in reversed(range(len(drawn.lines) - 1)):
        name = re.escape(drawn.lines[i].split(" = ", 1)[0])
        if not any(re.search(rf"\b{name}\b", line) for line in drawn.lines[i + 1:]):
            candidate = Drawn([*drawn.lines[:i], f"{name} = v0", *drawn.lines[i + 1:]], drawn.inputs)
            drawn = candidate if differs(candidate) else drawn
    return drawn


def case(number: int, seed: int = 0, only: str | None = None, mark: Callable[[str], None] = lambda text: None) -> Case:
    """One program, run in the mode that its number says, and in what it differs."""
    drawn = random.Random(seed * 10**9 + number)
    modes = only.split(",") if only else [*MODES]
    mode = modes[number % len(modes)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = program(drawn)
        found = compare(mode, made, mark=mark)
        reasons = {text: explanation(mode, made, text) for text in found}
        unexplained = [text for text, reason in reasons.items() if reason is None]
        if unexplained:
            made = shrink(mode, made)
            unexplained = compare(mode, made)
    described = "; ".join(f"v{i} = {x.dtype} {tuple(x.shape)} strides {x.stride()}{' negated' * x.is_neg()}"
                          f"{' conjugated' * x.is_conj()} {x.tolist()}"
                          for i, x in enumerate(made.inputs))
    return Case(mode, f"{mode}: {'; '.join(made.lines)} where {described}", unexplained,
                [reason for reason in reasons.values() if reason is not None])


def main(count: str = "1000", seed: str = "0", start: str = "0", only: str | None = None) -> None:
    warnings.simplefilter("ignore")
    cases = offline.in_forks(lambda number, mark: case(number, int(seed), only, mark), int(start),
                             int(start) + int(count))
    offline.run(cases, int(count), int(start), f"programs in {only or f'{len(MODES)} modes'}, seed {seed}")


if __name__ == "__main__":
    main(*sys.argv[1:])
