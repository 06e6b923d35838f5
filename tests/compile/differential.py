"""Random programs, compiled and as they are written: ``python -m tests.compile.differential FIRST COUNT [sizes]`` runs
many.

A program is lines of Python over tensors ``a``, ``b``, ...: views, arithmetic, writes in place, blocks of other modes.
All that a caller can see of three calls in a row is compared; or of calls with several ``sizes``, each twice. Standard
error tells after each thousand programs how many there were, and how many a minute of processor time.
"""
from __future__ import annotations

import linecache
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import mindtorch as torch
from mindtorch._compile import kernels


def lines(text: str) -> list[str]:
    return " ".join(text.split()).split(" ; ")


class Cube(torch.autograd.Function):
    """A derivative of its own, which is none of the function."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * x.abs()


class Mixed(torch.autograd.Function):
    """Two outputs, one of them without gradient, which are saved with an input."""

    @staticmethod
    def forward(ctx, x, y, factor):
        ctx.factor, made, sign = factor, x * y * factor, (x + y).sign()
        ctx.mark_non_differentiable(sign)
        ctx.save_for_backward(y, made)
        return made, sign

    @staticmethod
    def backward(ctx, g, _):
        y, made = ctx.saved_tensors
        return g * y * ctx.factor + made * 0, None, None


SPACE = {"torch": torch, "F": torch.nn.functional, "Cube": Cube, "Mixed": Mixed}


#: Lines; ``{x}`` and ``{y}`` are tensors, ``{i}`` is a small number, ``{d}`` a dimension, ``{f}`` a factor.
VIEWS = lines("""
    {x}[{i}] ; {x}[{i}:] ; {x}[..., {i}] ; {x}[None] ; {x}[::2] ; {x}[:, {i}] ; {x}.t() ; {x}.mT ;
    {x}.transpose(0, -1) ; {x}.reshape(-1) ; {x}.flatten() ; {x}.view(-1) ; {x}.view(2, -1) ; {x}.reshape(2, -1) ;
    {x}.unsqueeze({d}) ; {x}.squeeze(0) ; {x}.squeeze() ; {x}.unbind(-1)[{i}] ; {x}.unbind(0)[0] ;
    {x}.chunk(2, -1)[0] ; {x}.split(1)[{i}] ; {x}.diagonal() ; {x}.detach() ; {x}.expand(2, *{x}.shape) ;
    {x}.movedim(0, -1) ; {x}.narrow(-1, 1, 1) ; {x}[{i}, 0] ; {x}[0][{i}] ; {x}.select(-1, {i}) ;
    {x}.unfold(-1, 2, 1) ; {x}.view_as({x}) ; {x}.contiguous() ; {x}.data ; {x}.as_strided((2,), (1,), 1) ;
    {x}.t().reshape(-1) ; {x}.expand_as({y}) ; {x}.squeeze(-1) ; {x}.T
""")
VALUES = lines("""
    {x} + {y} ; {x} - {y} ; {x} * {y} ; {x} / ({y}.abs() + 1) ; {x} + {f} ; {x} * {f} ; {f} - {x} ; -{x} ;
    {x}.relu() ; {x}.tanh() ; {x}.sigmoid() ; ({x} * 0.1).exp() ; {x}.clamp(-0.5, 0.5) ; {x}.clamp(min={f}) ;
    {x}.clamp(max={f}) ; torch.where({x} > 0, {x}, {f}) ; torch.where({x} > 0, {f}, {y}) ;
    torch.where({x} > {y}, {x}, {y}) ; torch.where({x}.isnan(), 0.0, {x}) ; torch.maximum({x}, {y}) ; {x}.sum() ;
    {x}.sum(0) ; {x}.mean(-1) ; {x}.sum(-1, keepdim=True) ; {x}.amax(0) ; {x}.softmax(-1) ; {x} @ {y} ; {x} @ {y}.mT
    ; {x} @ {x}.mT ; torch.cat([{x}, {y}]) ; torch.stack([{x}, {y}]) ; {x}.cumsum(0) ; {x}.norm() ; {x}.norm(3) ;
    {x}.pow(2) ; {x} ** 3 ; 2 ** {x} ; {x}.abs().sqrt() ; {x}.abs().log1p() ; {x}.masked_fill({x} > 0, {f}) ;
    {x}[torch.tensor([1, 0])] ; {x}.clone() ; {x}.abs() ; {x}.sign() ; F.gelu({x}) ; F.silu({x}) ; F.leaky_relu({x})
    ; F.softplus({x}) ; F.layer_norm({x}, {x}.shape[-1:]) ; {x}.square() ; {x}.reciprocal().clamp(-9, 9) ;
    {x}.neg().add({y}) ; {x}.flip(0) ; {x}.roll(1, 0) ; {x}.var(-1) ; torch.ldexp({x}, {x}) ; {x}.lerp({y}, 0.25) ;
    torch.addcmul({x}, {y}, {y}, value=0.5) ; {x}.double() ; {x}.float() ; {x}.half() ; {x} > {f} ;
    {x}.where({x} > 0, {f}) ; {x}.argmax(-1) ; torch.ones_like({x}) ; {x}.new_zeros(3) ; torch.zeros(3, 4) ;
    {x}.repeat(2, *[1] * {x}.ndim) ; {x}.index_select(0, torch.tensor([0, 0])) ; {x}.tril() ; F.dropout({x}, 0.5) ;
    torch.rand_like({x}) ; {x}.max(-1).values ; {x}.sort(-1)[0] ; {x}.logsumexp(-1) ; F.pad({x}, (1, 1)) ;
    {x}.hardtanh() ; F.mse_loss({x}, {y}) ; {x}.prod(-1) ; {x}.minimum({y}) ; {x}.exp2() ;
    Cube.apply({x}) ; Cube.apply({x} * 0.5) ; Mixed.apply({x}, {x}, {f})[0] ; Mixed.apply({x}, {x} + 1, 2)[1]
""")
WRITES = lines("""
    {x}.add_({y}) ; {x}.mul_({y}) ; {x}.add_({f}) ; {x}.mul_({f}) ; {x}.relu_() ; {x}.neg_() ; {x}.zero_() ;
    {x}.fill_({f}) ; {x}.copy_({y}) ; {x}.masked_fill_({x} > 0, {f}) ; {x}.clamp_(-0.5, 0.5) ; {x}[{i}] = {f} ;
    {x}[{i}] += {f} ; {x}[{i}] = {y}[{i}] ; {x}[{i}, 0] = {f} ; {x}[{i}].mul_({f}) ; {x}[:, {i}] = {f} ; {x} += {y}
    ; {x} *= {f} ; {x} /= 4 ; {x}.sub_({y}, alpha=0.5) ; {x}.tanh_() ; {x}.sigmoid_() ;
    {x}.index_add_(0, torch.tensor([0]), {y}[:1]) ; {x}.addcmul_({y}, {y}) ; {x}.lerp_({y}, 0.5) ; {x}.square_() ;
    {x}.detach().mul_({f}) ; {x}.data.add_({f}) ; {x}[{x} > 0.5] = {f} ; {x}[torch.tensor([0])] = {f} ;
    {x}.index_fill_(0, torch.tensor([1]), {f}) ; {x}[..., {i}].add_({y}[..., 0]) ; {x}.t_() ; {x}.abs_() ;
    {x}.exp_().clamp_(max=2) ; torch.add({x}, {f}, out={x}) ; {x}.unsqueeze_(0) ; {x}.diagonal().fill_({f}) ;
    {x}.normal_() ; {x}.requires_grad_(False) ; {x}.clamp_min_({f}) ; {x}.view(-1)[{i}] = {y}.sum()
    ; {x}.squeeze_() ; {x}.squeeze_(0) ; {x}.transpose_(0, -1) ; {x}.detach_() ; {x}.resize_(2, 2) ; {x}.set_({y}) ;
    {x}.requires_grad_() ; {x}.data.t_() ; {x}.as_strided_((2,), (1,)) ; {x}.detach().unsqueeze_(-1).add_({f}) ;
    {x}.data = {y} ; {x}.unsqueeze_(-1).mul_({f}) ; {x}.resize_as_({y})
""")
#: The blocks that a line may stand in.
BLOCKS = ["no_grad()"] * 4 + ["enable_grad()", "inference_mode()", "autocast('cpu', dtype=torch.bfloat16)"]
SHAPES = [(3,), (4, 3), (3, 3), (2, 3, 4), (), (1, 4), (4, 1), (2, 2), (0,), (2, 0)]
LARGE = [(100, 60), (5000,), (20, 10, 30), (3, 3, 2000), (20000,), (2, 4100)]


@dataclass
class Case:
    """A program and how its inputs are made: a shape, a dtype, and what is done with it for each."""

    lines: list[str] = field(default_factory=list)
    inputs: list[tuple[tuple[int, ...], str, str]] = field(default_factory=list)
    result: str = ""
    seed: int = 0
    numba: bool = True

    @property
    def names(self) -> list[str]:
        return [chr(ord("a") + i) for i in range(len(self.inputs))]

    @property
    def rounding(self) -> float:
        """By how much gradients may differ that are rounded to the least precise dtype on their way."""
        text = str(self)
        return 3e-2 if "bfloat16" in text else 1e-2 if "float16" in text or "half()" in text else 1e-4

    def function(self) -> Callable[..., Any]:
        text = "\n".join([f"def f({', '.join(self.names)}):", *(f"    {line}" for line in self.lines),
                          f"    return {self.result}", ""])
        file = f"<differential {hash(text)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        space: dict[str, Any] = {**SPACE}
        exec(compile(text, file, "exec"), space)
        return space["f"]

    def make(self) -> tuple[list[Any], list[Any]]:
        """Make the inputs, and the leaves that they are made of."""
        torch.manual_seed(self.seed)
        made: list[Any] = []
        leaves = []
        for shape, dtype, how in self.inputs:
            if how == "whole alias" and made:
                made.append(made[0])
            elif how == "alias" and made:
                made.append(made[0][...])
            elif how == "part" and made and made[0].ndim and made[0].shape[0] > 1:
                made.append(made[0][1:])
            else:
                x = torch.randn(shape, dtype=torch.float32).to(getattr(torch, dtype))
                if "turned" in how:
                    x = x.mT.contiguous().mT if x.ndim > 1 else torch.stack([x, x], -1)[..., 0]
                if "grad" in how and x.is_floating_point():
                    leaves.append(x.requires_grad_())
                    x = x * 1 if "made" in how else x
                made.append(x)
        return made, leaves

    def __str__(self) -> str:
        head = f"inputs {self.inputs} seed {self.seed} numba {self.numba}"
        return "\n".join([head, *self.lines, f"return {self.result}"])


def generate(seed: int) -> Case:
    """Build a random program whose lines all run."""
    choose = random.Random(seed)
    large = choose.random() < 0.15
    shapes = LARGE if large else SHAPES
    shape = choose.choice(shapes)
    case = Case(seed=seed, numba=large and choose.random() < 0.2)
    for _ in range(choose.choice([1, 1, 2, 2, 3])):
        how = choose.choice(["", "", "grad", "grad", "grad", "grad made", "turned", "turned grad", "alias", "part",
                             "whole alias"])
        case.inputs.append((shape if choose.random() < 0.7 else choose.choice(shapes),
                            choose.choice(["float32"] * 6 + ["float64", "float16", "bfloat16", "int64"]), how))
    space: dict[str, Any] = {**SPACE}
    space.update(zip(case.names, case.make()[0], strict=True))
    names = case.names[:]
    for _ in range(100):
        if len(case.lines) >= choose.choice([3, 5, 8]):
            break
        kind = choose.choice([VIEWS, VIEWS, VALUES, VALUES, VALUES, WRITES, WRITES])
        recent = names[-4:] if choose.random() < 0.7 else names
        text = choose.choice(kind).format(x=choose.choice(recent), y=choose.choice(names), i=choose.choice([0, 1, -1]),
                                          d=choose.choice([0, 1, -1]), f=choose.choice([0.0, 0.5, 2.0, -1.5, 3]))
        line = text if kind is WRITES else f"v{len(names)} = {text}"
        if choose.random() < 0.1:
            line = f"with torch.{choose.choice(BLOCKS)}: {line}"
        try:
            exec(line, space)
        except Exception:
            continue
        if kind is not WRITES:
            names.append(f"v{len(names)}")
        case.lines.append(line)
    pool = [n for n in names if n not in case.names or choose.random() < 0.3] or names
    made = [choose.choice(pool[-3:] if choose.random() < 0.6 else pool) for _ in range(choose.choice([1, 1, 2, 3]))]
    several = choose.choice(["{},", "[{}]", "{{'a': ({},)}}"])
    case.result = made[0] if len(made) == 1 else several.format(", ".join(made))
    return case


def tensors_in(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [tensor for item in items for tensor in tensors_in(item)]


def facts(case: Case, call: Callable[..., Any]) -> dict[str, Any]:
    """What a caller can see of one call."""
    inputs, leaves = case.make()
    torch.manual_seed(7)
    try:
        result = call(*inputs)
    except Exception as error:
        return {"error": type(error).__name__ + " of a leaf" * (LEAF in str(error)),
                "inputs": [x.detach().clone() for x in inputs]}
    made = tensors_in(result)
    seen = [*inputs, *made]
    found: dict[str, Any] = {
        "kind": type(result).__name__,
        "results": [x.detach().clone() for x in made],
        "layouts": [(x.shape, x.stride(), x.dtype, x.storage_offset()) for x in made],
        "autograd": [told(lambda x=x: (x.requires_grad, x.is_leaf, x.grad_fn is None)) for x in made],
        "inputs": [x.detach().clone() for x in inputs],
        "of inputs": [(x.shape, x.stride(), x.requires_grad, x._version) for x in inputs],
        "same": [[x is y for y in seen] for x in made],
        "shared": [[x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr() for y in seen] for x in made
                   if x.numel()],
        "bases": [next((i for i, y in enumerate(seen) if x._base is y), x._base is None) for x in made]}
    torch.manual_seed(9)
    roots = [x for x in made if x.requires_grad]
    if len(roots) > 1:
        found["gradients of one"] = told(lambda: gradients(roots[case.seed % len(roots):][:1], leaves))
    found["gradients"] = told(lambda: gradients(roots, leaves, retain_graph=False))
    return found


def gradients(roots: list[Any], leaves: list[Any], retain_graph: bool = True) -> list[Any]:
    given = [torch.randn(x.shape).to(x.dtype) for x in roots]
    return [*torch.autograd.grad(roots, leaves, given, retain_graph, allow_unused=True)] if roots and leaves else []


#: Of an error of a view that is written after its base got a gradient.
LEAF = "a leaf Variable that requires grad is being used in an in-place operation"
#: Of errors of backward passes: saved tensors that were written, detached or given another shape since.
REFUSALS = "modified by an inplace operation", "detached in-place", "returned an invalid gradient"
REPLACED = "its data was replaced"


def told(ask: Callable[[], Any]) -> Any:
    """Return what is asked for, or the name of the error."""
    try:
        return ask()
    except Exception as error:
        return (type(error).__name__ + " of a saved tensor" * any(text in str(error) for text in REFUSALS)
                + " of replaced data" * (REPLACED in str(error)))


def has_gradients_that_eager_refuses(expected: dict[str, Any], found: dict[str, Any], wrong: list[str]) -> bool:
    """Whether only eager mode refuses backward passes, since a tensor that an operator saved was changed."""
    return all(key.startswith("gradients") and expected.get(key) == "RuntimeError of a saved tensor"
               and isinstance(found[key], list) for key in wrong)


def has_a_view_that_a_look_mends(expected: dict[str, Any], found: dict[str, Any], wrong: list[str]) -> bool:
    """Whether only eager mode refuses to write a view whose base requires grad since: asked for ``grad_fn``, as guards
    ask, the view is no leaf any more.
    """
    return expected.get("error") == "RuntimeError of a leaf" and "error" not in found


def has_gradients_in_the_shape_that_an_input_was_given(expected: dict[str, Any], found: dict[str, Any],
                                                       wrong: list[str]) -> bool:
    """Whether only eager mode gives a gradient the shape that its leaf had before ``unsqueeze_``: a view was taken
    there, by whose node the leaf's is kept. A graph keeps no node.
    """
    shapes = [x[0] for x in found["of inputs"]] if "of inputs" in found else []
    return all(key.startswith("gradients") and isinstance(expected.get(key), list) and isinstance(found[key], list) and
               all(agree(a, b) or (isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and b.shape in shapes
                                   and a.shape not in shapes and agree(a.reshape(-1), b.reshape(-1)))
                   for a, b in zip(expected[key], found[key], strict=True)) for key in wrong)


def has_gradients_from_replaced_data(expected: dict[str, Any], found: dict[str, Any], wrong: list[str]) -> bool:
    """Whether only eager mode computes a gradient with data of another shape that a saved tensor was given since."""
    return all(key.startswith("gradients") and found[key] == "RuntimeError of replaced data" for key in wrong)


#: Differences that PyTorch's ``aot_eager`` or Inductor has, too: of what eager mode does, of what a compiled call does,
#: and of the keys.
EXPLAINED: list[Callable[[dict[str, Any], dict[str, Any], list[str]], bool]] = [
    has_gradients_that_eager_refuses,  # a compiled graph saves less, as nothing for ``prod`` of one element
    has_a_view_that_a_look_mends,
    has_gradients_in_the_shape_that_an_input_was_given,
    has_gradients_from_replaced_data,
]


def unexplained(case: Case, number: int, expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return a line for each key of a call that differs, unless the difference is explained."""
    wrong = [key for key in {**expected, **found} if not agree(
        expected.get(key), found.get(key), case.rounding if key.startswith("gradients") else 0)]
    if not wrong or any(explains(expected, found, wrong) for explains in EXPLAINED):
        return []
    return [f"call {number}: {key}: {found.get(key)} for {expected.get(key)}" for key in wrong]


def differences(case: Case, backend: str = "inductor") -> list[str]:
    """Compare three calls of the compiled function with the function."""
    function = case.function()
    expected = facts(case, function)
    compiled = torch.compile(function, backend=backend)
    before, kernels.define = kernels.define, kernels.define if case.numba else lambda *text: None
    try:
        for number in range(3):
            found = facts(case, compiled)
            if wrong := unexplained(case, number, expected, found):
                return wrong
    finally:
        kernels.define = before
    return []


def resized(case: Case, step: int) -> Case:
    """Return a case with one size of its inputs changed, wherever it stands."""
    size = next((shape[0] for shape, *_ in case.inputs if shape and shape[0] > 1), None)
    return replace(case, inputs=[(tuple(n + step if n == size else n for n in shape), dtype, how)
                                 for shape, dtype, how in case.inputs])


def differences_of_sizes(case: Case) -> list[str]:
    """Compare calls of the compiled function with the function, for several sizes."""
    function = case.function()
    compiled = torch.compile(function)
    before, kernels.define = kernels.define, kernels.define if case.numba else lambda *text: None
    try:
        for number, step in enumerate((0, 1, 3, 3, 9, 1, 0)):
            tried = resized(case, step)
            expected, found = facts(tried, function), facts(tried, compiled)
            if wrong := unexplained(case, number, expected, found):
                return wrong
    finally:
        kernels.define = before
    return []


def agree(ours: Any, other: Any, rounding: float = 0) -> bool:
    if isinstance(ours, torch.Tensor) and isinstance(other, torch.Tensor):
        near = {torch.float16: 1e-2, torch.bfloat16: 3e-2}.get(ours.dtype, 1e-4)  # several roundings, as in sums
        near = max(near, rounding)
        return ours.shape == other.shape and ours.dtype is other.dtype and torch.allclose(
            ours, other, rtol=near, atol=near, equal_nan=True)
    if isinstance(ours, (list, tuple)) and type(ours) is type(other):
        return len(ours) == len(other) and all(agree(*pair, rounding) for pair in zip(ours, other, strict=True))
    return type(ours) is type(other) and ours == other


def shrink(case: Case, differences: Callable[[Case], list[str]] = differences) -> Case:
    """Leave out lines without which the calls still differ."""
    number = len(case.lines)
    while number:
        number -= 1
        smaller = replace(case, lines=[*case.lines[:number], *case.lines[number + 1:]])
        try:
            smaller.function()(*smaller.make()[0])
        except NameError:
            continue
        except Exception:
            pass
        if differences(smaller):
            case = smaller
    return case


if __name__ == "__main__":
    import gc
    import warnings

    warnings.simplefilter("ignore")
    compare = differences_of_sizes if sys.argv[3:] == ["sizes"] else differences
    start, at = time.process_time(), int(sys.argv[1])
    gc.disable()  # what a program leaves behind is many objects, of which the collector would look at all each time
    for number, seed in enumerate(range(at, at + int(sys.argv[2]))):
        if number and not number % 1000:
            rate = number / (time.process_time() - start) * 60
            print(f"{number} programs up to {seed}, {rate:.0f} a minute", file=sys.stderr, flush=True)
        if not number % 100:
            linecache.clearcache()
            gc.collect()
            gc.freeze()
        tried = generate(seed)
        if compare(tried):
            tried = shrink(tried, compare)
            print(f"--- {tried}", *(line[:600] for line in compare(tried)), sep="\n", flush=True)
