"""Random functions: a few lines of Python, drawn from the tables below, of one to three tensors, in either library."""
from __future__ import annotations

import random
import types
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.support import port, torch

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
