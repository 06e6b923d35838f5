"""Random arguments for every schema, here and in PyTorch: `python -m tests.fuzz.arguments 100000 0` compares the
outcomes of so many calls, of a seed: the values, or the type of exception. Each case can be had again by its number: a
third number says with which to begin.

Arguments have the types that the schema names; shapes, dtypes, layouts and numbers go together by chance only. Numbers
are small, so that nothing takes long, with a few at the end of what they may be.

Where the two libraries are meant to differ, ``EXPLAINED`` says so; any other difference is a finding.
"""
from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable
from typing import Any

import mindtorch
from mindtorch._dispatch.registry import Operator
from mindtorch._dispatch.schema import REQUIRED, Parameter
from tests.fuzz import offline
from tests.fuzz.offline import Case, explained, explanation
from tests.support import Outcome, differences, error_differences, port, torch

#: Operators whose results are random or unset, or whose arguments PyTorch does not check before it uses them.
RANDOM = ("random", "rand", "normal", "uniform", "bernoulli", "dropout", "multinomial", "poisson", "binomial", "cauchy",
          "exponential", "geometric", "rrelu", "gamma", "dirichlet", "empty", "resize", "set_", "fractional")
UNCHECKED = ("_", "as_strided", "from_file", "sparse", "quantize", "fused", "unsafe", "cudnn", "batch_norm_gather",
             "histogramdd", "lstm", "gru", "rnn", "native", "ctc_loss", "embedding_bag", "is_pinned", "pin_memory",
             "record_stream", "lu_unpack", "ormqr", "linalg_ldl_solve", "lu_solve", "cholesky_inverse", "geqrf",
             "backward")
SHAPES = [(), (), (1,), (3,), (3,), (2, 3), (2, 3), (3, 3), (3, 3), (3, 2), (2, 2, 3), (1, 2, 3, 3), (0,), (2, 0)]
DTYPES = ["float32"] * 5 + ["float64", "int64", "int64", "int32", "uint8", "bool", "float16", "bfloat16", "complex64"]
INTS = [0, 0, 1, 1, 2, 3, -1, -1, -2, 4, 5, -7]
NUMBERS = [0, 1, 2, -1, 0.5, -1.5, 3, True, float("inf"), float("nan"), 2**62]
OBJECTS = ("Generator", "Device", "Layout", "MemoryFormat", "Storage", "Stream")
Call = tuple[str, Callable[..., Any], Callable[..., Any]]


#: Differences that are meant to be: operators, and how they differ from PyTorch's.
EXPLAINED = explained(
    ("conj|adjoint|svd", "conj|^stride", "A complex tensor is conjugated at once, not when it is read."),
    (r"unique_consecutive.*", r"of \[1\]", "Where return_inverse is given by position, PyTorch's second output is that "
     "of return_counts; here it is the inverse, as documented."),
    ("svd", r"value of \[[02]\]", "A singular vector and its negative are as good as each other."),
    ("kthvalue|mode|median.dim|nanmedian.dim", r"value of \[1\]", "Which of equal elements, or of NaNs, is found "
     "depends on how PyTorch partitions them."),
    ("index_put_?", "no error, torch RuntimeError", "Without any index PyTorch fails in an assertion of its own."),
    ("index_put_?", "torch IndexError", "PyTorch counts a mask without dimensions as an index."),
    ("isin.*", "no error, torch RuntimeError .view size", "PyTorch refuses some strides of what is searched for."),
    (r"isin.*|bucketize.Scalar|searchsorted.Scalar", "^value", "PyTorch casts the number that is searched for, which "
     "may wrap around."),
    (r"pow_?\..*|r?sub_?\..*|float_power.*|sgn_?|cumprod_?|diff|log.*|prod.*",
     r"(nan|inf)[+-]nanj|nan[+-]infj|\(1\+0j\)", "Of complex numbers that are zero or not finite PyTorch's vector loop "
     "makes other NaNs than its scalar loop."),
    ("svd", "linalg_svd_cpu", "PyTorch takes half precision where there are no elements."),
    ("matrix_exp|linalg_matrix_exp", "torch (nan|-?inf)", "PyTorch's polynomial overflows in half precision."),
    ("(var|std).*", r"torch \(?nan", "A mean or variance of infinities depends on the order in which PyTorch adds."),
    ("dist|.*norm.*|pairwise_distance", r"nan|no error, torch no error", "There is no norm of order NaN."),
    ("expand|expand_as|broadcast_to|tile|repeat", "Storage size calculation|in a leading|numel: integer", "PyTorch "
     "makes an empty tensor of a negative size."),
    ("new_.*|.*_like|full", "no pinned memory allocator", "An NPU pins memory here; PyTorch has no accelerator."),
    ("norm.python", "argument 'out' must be Tensor", "torch.norm hands on a dtype in the place of out."),
    ("logsumexp", "doesn't match the broadcast shape", "PyTorch refuses an empty list of dimensions."),
    ("slogdet|logdet|det|qr|cholesky|linalg_.*|inverse|pinverse", "nan|inf|_LinAlgError", "LAPACK's results for "
     "matrices with NaN or infinity differ from build to build."),
    ("gradient", "^value", "Infinite distances make NaN or 0, by how PyTorch orders the terms."),
    (".*median.dim", "median_out", "PyTorch looks at the dtype before it looks for elements."),
    ("embedding_renorm_", "torch IndexError|torch RuntimeError", "Whether the dtype or the indices are looked at first "
     "depends on the layout of the table."),
    ("histc", "is not finite", "PyTorch looks at the range before it looks at the dtype."),
    ("embedding", "INDICES element is out of DATA bounds", "PyTorch checks an index of an empty table "
     "elsewhere."),
    ("stft.*", "reflection_pad1d", "PyTorch pads before it looks at the dtype."),
    ("sum.*|mean.*|nanmean|count_nonzero.*", "torch IndexError .Dimension out of range", "PyTorch looks for a "
     "dimension that is named twice when it has looked at all of them."),
    ("nansum", "-9223372036854775808", "What infinity becomes as an integer is not defined."),
    ("add.?mm_?|addmv_?", "^value.*torch nan", "Which BLAS is called decides where an infinite factor makes NaN."),
    ("histogram.bins_tensor", r"^value of \[0\]", "Where edges do not increase, it depends on the search what "
     "lies between them."),
    ("addmv_?", "Dimension specified as 0", "PyTorch's message on sizes asks a number for its size."),
    ("addmv", "^shape", "Without elements in the matrix PyTorch's result has the shape of what is added to it."),
    ("pairwise_distance|norm.ScalarOpt_dim", r"^value: .* at \[\]", "Along a dimension of a tensor that has none, "
     "PyTorch takes the power of a number and its root, which round and overflow; here it is the absolute value."),
    (r"add_?\..*", r"^value.*\(inf\+nanj\)", "PyTorch multiplies by alpha, even by 1, which makes NaN of infinity "
     "times 0."),
    ("mode|unique", r"value of \[0\].*torch nan|value of \[1\]: 2", "PyTorch sorts by an order that "
     "NaNs have none in, which makes several runs of equal elements one or not."),
    ("put_?", "^value", "If an element is written twice, which comes last depends on the layout of the indices."),
    ("take_along_dim", "view size is not compatible", "PyTorch refuses some strides of what is taken from."),
    ("binary_cross_entropy_with_logits", "ComplexHalf|torch RuntimeError .(output with|result type)", "PyTorch "
     "computes terms of complex targets and weights in place, where they do not fit."),
    ("ldexp_.*|(add|badd)(mm|bmm|mv)_", "not implemented for 'Bool'", "PyTorch looks at the shape before it looks "
     "at the dtype."),
    (r"norm\..*", "Dimension out of range", "PyTorch counts dimensions, and looks for elements, before it looks "
     "whether there are such dimensions."),
    ("pinverse", r"^value: .*\d{7}", "By rounding singular values are above rcond, or not, and are inverted."),
    ("histc|histogram.*", "to type uint8_t", "PyTorch makes edges around equal values before it looks at the dtype."),
    ("stft.*", "MKL FFT", "There is no FFT of half precision in PyTorch; here it is computed in float32."),
)


def calls() -> list[tuple[Operator, Call]]:
    """List the operators that both libraries have as a function or a method, and how to call them."""
    places = (torch, torch._C._nn, torch._C._linalg, torch._C._special, torch._C._fft, torch.Tensor)
    found = []
    for packet, overloads in sorted(mindtorch.registry.packets.items()):
        if packet.startswith(UNCHECKED) or any(word in packet for word in (*RANDOM, *UNCHECKED[1:])):
            continue
        theirs = next((getattr(place, packet) for place in places if hasattr(place, packet)), None)
        ours = mindtorch._methods.api.FUNCTIONS.get(packet) or getattr(mindtorch.Tensor, packet, None)
        if theirs is not None and ours is not None:
            found += [(op, (packet, ours, theirs)) for op in overloads if not op.is_out]
    return found


def tensor(drawn: random.Random, dtype: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Draw a tensor of small numbers, now and then transposed, or of special numbers."""
    kind, count = getattr(torch, dtype), torch.Size(shape).numel()
    values = [drawn.choice([0, 1, 2, 3, -1, -2, 0.5, 1.25]) for _ in range(count)]
    if drawn.random() < 0.06:
        values = [drawn.choice([0.0, float("inf"), float("nan"), 1e30]) for _ in range(count)]
    if not kind.is_floating_point and not kind.is_complex:
        values = [int(abs(v)) if v == v and abs(v) < 100 else 1 for v in values]
    made = torch.tensor(values, dtype=torch.float64 if kind.is_floating_point else None).to(kind).reshape(shape)
    return made.t().contiguous().t() if len(shape) == 2 and drawn.random() < 0.1 else made


class Arguments:
    """What one call is given: its tensors mostly have one dtype, and one shape or shapes that broadcast."""

    def __init__(self, drawn: random.Random):
        self.drawn = drawn
        self.dtype, self.shape = drawn.choice(DTYPES), drawn.choice(SHAPES)

    def one(self, base: str, name: str = "") -> Any:
        drawn = self.drawn
        match base:
            case "Tensor":
                dtype = self.dtype if drawn.random() < 0.85 else drawn.choice(DTYPES)
                return tensor(drawn, dtype, self.shape if drawn.random() < 0.7 else drawn.choice(SHAPES))
            case "int":
                return drawn.choice(INTS if name != "reduction" else [0, 1, 2])
            case "bool":
                return drawn.random() < 0.5
            case "float":
                return drawn.choice([0.0, 0.5, 1.0, -1.0, 2.0, 1e-5])
            case "Scalar" | "Any":
                return drawn.choice(NUMBERS)
            case "ScalarType":
                return getattr(torch, drawn.choice(DTYPES))
            case "str":
                return drawn.choice(["sum", "mean", "none", "linear", "ij", "amax", "floor", "trunc", "reduced", "x"])
            case _:
                return None

    def of(self, parameter: Parameter) -> Any:
        if parameter.optional and self.drawn.random() < 0.3:
            return None
        if not parameter.is_list:
            return self.one(parameter.base, parameter.name)
        count = parameter.size if parameter.size and self.drawn.random() < 0.8 else self.drawn.randrange(4)
        return [self.one(parameter.base) for _ in range(count)]


def arguments(op: Operator, drawn: random.Random) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments; those with a default are given now and then."""
    given, positional, keywords = Arguments(drawn), [], {}
    gap = False
    for parameter in op.schema.parameters:
        if parameter.base in OBJECTS or (
                parameter.default is not REQUIRED and drawn.random() < 0.5):
            gap = True
        elif gap or parameter.kwarg_only:
            keywords[parameter.name] = given.of(parameter)
        else:
            positional.append(given.of(parameter))
    return positional, keywords


def case(number: int, table: list[tuple[Operator, Call]], seed: int = 0) -> Case:
    """One call, and in what the two libraries differ."""
    op, (_, ours, theirs) = table[number % len(table)]
    drawn = random.Random(f"{op.name} {number // len(table)} {seed}")  # whatever other operators there are
    positional, keywords = arguments(op, drawn)
    given, shown = [positional, keywords], f"{op.name}{(*positional, keywords)}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(1 + number // len(table) % 4):  # plans compute later calls
            positional, keywords = port(given, mindtorch)
            got = Outcome.of(ours, *positional, **keywords)
        positional, keywords = port(given, torch)
        expected = Outcome.of(theirs, *positional, **keywords)
    if "omplexHalf" in str(expected.error) or "complex32" in str(getattr(expected.value, "dtype", "")):
        return Case(op.name, shown, [])
    found = [*error_differences(got, expected)]
    if not found and expected.error is None:
        tolerance = 1e-2 if "bfloat16" in shown else 1e-3
        found = [*differences(got.value, expected.value, rtol=tolerance, atol=tolerance)]
    reasons = {text: explanation(EXPLAINED, op.name, text) for text in map(str, found)}
    return Case(op.name, shown, [text for text, reason in reasons.items() if reason is None],
                [reason for reason in reasons.values() if reason is not None])


def main(count: int = 1000, seed: int = 0, start: int = 0) -> None:
    table = calls()
    offline.run((case(number, table, seed) for number in range(start, start + count)), count, start,
                f"calls of {len(table)} operators, seed {seed}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
