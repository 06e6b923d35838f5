"""Tensors that results are written into: of another dtype, with gaps, and none."""
from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch
from tests.both import Program, assert_same_outcome, each_program
from tests.support import Outcome, torch


def written_to(name: str, dtype: str, *inputs: Any) -> Program:
    """Make a function that writes into a tensor of a dtype that is not its result's."""

    def run(t: Any) -> Any:
        function = getattr(t, name) if "." not in name else getattr(t.linalg, name.partition(".")[2])
        return function(*(t.tensor(value) if isinstance(value, list) else value for value in inputs),
                        out=t.empty(0, dtype=getattr(t, dtype)))

    return run


@each_program(
    written_to("abs", "long", [1.0]), written_to("neg", "double", [1.0]), written_to("abs", "cfloat", [3 + 4j]),
    written_to("abs", "double", [3 + 4j]), written_to("abs", "half", [3 + 4j]), written_to("abs", "long", [3 + 4j]),
    written_to("norm", "cfloat", [3 + 4j], 2, 0), written_to("linalg.norm", "cfloat", [3 + 4j]),
    written_to("linalg.vector_norm", "cfloat", [3 + 4j]), written_to("linalg.svdvals", "cfloat", [[3 + 4j]]),
    written_to("mm", "long", [[1.0]], [[1.0]]), written_to("dot", "double", [1.0], [1.0]),
    written_to("all", "float", [1.0]), written_to("isposinf", "float", [1.0]), written_to("amax", "double", [1.0], 0),
    written_to("nonzero", "float", [1.0]), written_to("take", "double", [1.0], [0]),
    written_to("logcumsumexp", "double", [1.0], 0), written_to("linalg.inv", "double", [[1.0]]),
    written_to("linalg.norm", "double", [1.0]), written_to("quantile", "double", [1.0], 0.5),
    written_to("masked_select", "double", [1.0], [True]), written_to("complex", "cdouble", [1.0], [1.0]),
    lambda t: t.frexp(t.ones(3), out=(t.empty(3), t.empty(3))),
    lambda t: t.frexp(t.ones(3), out=(t.empty(3, dtype=t.double), t.empty(3))),
    lambda t: t.nonzero_static(t.ones(3), size=2, out=t.empty(0)),
    written_to("heaviside", "double", [1.0], [1.0]), written_to("float_power", "float", [1.0], [1.0]),
    written_to("addbmm", "double", [[1.0]], [[[1.0]]], [[[1.0]]]), written_to("nan_to_num", "double", [1.0]),
    written_to("histc", "double", [1.0]), written_to("searchsorted", "float", [1.0], [1.0]),
    written_to("bucketize", "int", [1.0], [1.0]), written_to("multinomial", "int", [1.0], 1),
    written_to("inner", "double", [1.0], [1.0]), written_to("where", "double", [True], [1.0], [2.0]),
    written_to("linalg.vecdot", "double", [1.0], [1.0]),
    written_to("nanquantile", "double", [1.0], 0.5),
    lambda t: t.cat([t.ones(2), t.ones(1)], out=t.empty(0, dtype=t.int32)),
    lambda t: t.stack([t.ones(2)], out=t.empty(0, dtype=t.int32)),
    lambda t: t.linalg.multi_dot([t.ones(2, 2)] * 3, out=t.empty(0, dtype=t.double)),
    lambda t: t.kthvalue(t.ones(2), 1, out=(t.empty(0), t.empty(0))),
    lambda t: t.median(t.ones(2), 0, out=(t.empty(0), t.empty(0))),
    lambda t: t.median(t.ones(2), 0, out=(t.empty(0, dtype=t.double), t.empty(0, dtype=t.long))),
    lambda t: t.mode(t.ones(2), 0, out=(t.empty(0), t.empty(0))),
    lambda t: t.histogram(t.ones(2), 2, out=(t.empty(0), t.empty(0, dtype=t.double))),
    *[lambda t, n=n, dtype=dtype: t.diff(t.ones(3), n, out=t.empty(0, dtype=getattr(t, dtype)))  # type: ignore[misc]
      for n in (0, 1) for dtype in ("float", "double", "int")],
)
def test_outputs_of_the_wrong_dtype(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*[
    lambda t, name=name, dtype=dtype, to=to, dim=dim: getattr(t, name)(  # type: ignore[misc]
        t.tensor([[0, 2], [3, 1]], dtype=getattr(t, dtype)), *dim, out=t.empty(0, dtype=getattr(t, to)))
    for name in ("all", "any") for dtype in ("uint8", "int32", "bool") for to in ("uint8", "bool", "int32")
    for dim in ((), (0,), ((0, 1),))])
def test_truth_values_are_written_as_bools_or_bytes(program: Program) -> None:
    assert_same_outcome(program)


@each_program(*[
    lambda t, call=call, out=out: call(t, out(t)) for out in (  # type: ignore[misc]
        lambda t: 3, lambda t: t.empty(0, requires_grad=True), lambda t: [t.empty(0), 3])
    for call in (lambda t, out: t.sin(t.ones(2), out=out), lambda t, out: t.sort(t.ones(2), out=out),
                 lambda t, out: t.bernoulli(t.ones(2), out=out), lambda t, out: t.normal(t.ones(2), 1.0, out=out),
                 lambda t, out: t.nanmean(t.ones(2), out=out), lambda t, out: t.linalg.svd(t.ones(2, 2), out=out),
                 lambda t, out: t.ops.aten.sin.out(t.ones(2), out=out),
                 lambda t, out: t.ops.aten.sort.values(t.ones(2), values=out, indices=out))])
def test_what_is_no_output_is_refused_before_all_else(program: Program) -> None:
    ours, theirs = Outcome.of(program, mindtorch), Outcome.of(program, torch)
    assert ours.kind() == theirs.kind()


def spaced(name: str, *bounds: Any) -> Program:
    """Make a program that writes a sequence into a tensor with gaps."""

    def run(t: Any) -> Any:
        whole = t.zeros(2, 3)
        getattr(t, name)(*bounds, out=whole.narrow(1, 1, 2))
        return whole

    return run


@each_program(
    spaced("arange", 0, 4), spaced("range", 0, 3), spaced("linspace", 0, 3, 4), spaced("logspace", 0, 3, 4),
    lambda t: t.cumsum(t.ones(2, dtype=t.int32), 0, out=t.empty(2, dtype=t.int64), dtype=t.int32),
    lambda t: [t.max(t.tensor([3, 4]), 0, keepdim=False, out=None) for _ in range(2)],
)
def test_outputs_with_gaps_and_outputs_that_are_none(program: Program) -> None:
    assert_same_outcome(program)


@each_program(
    *(lambda t, source=source, target=target, dims=dims: t.mean(  # type: ignore[misc]
        (t.arange(6) * 1000.1 + 0.3).reshape(2, 3).to(getattr(t, source)), *dims,
        out=t.empty(0, dtype=getattr(t, target))).tolist()
      for source in ("float16", "float64", "complex64") for dims in ([1], [])
      for target in ("float32", "float64", "complex64") if source != "complex64" or target == source))
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_a_mean_is_computed_in_the_dtype_of_its_output(program: Program) -> None:
    assert_same_outcome(program)


@each_program(
    lambda t: t.arange(-1, 1, 2 / 49, out=t.zeros(1, 49)).shape, lambda t: t.arange(4, out=t.zeros(2, 2)),
    lambda t: t.arange(4, out=t.zeros(0)),
    lambda t: t.full((2,), 1 / 3, out=t.zeros(2, dtype=t.float64)).tolist(),
    lambda t: [(out := t.eye(2).to_sparse()), t.zeros(2, 3, out=out) is out, out.layout, out.shape, out._nnz()][1:],
)
def test_a_factory_computes_in_the_dtype_and_layout_of_an_output_that_fits(program: Program) -> None:
    assert_same_outcome(program)


def written_over(name: str, place: int, count: int) -> Program:
    """Make a program that writes a function of several numbers into one of its arguments."""

    def run(t: Any) -> Any:
        arguments = [t.tensor([float(i), 2.5, -0.5]) for i in range(count)]
        return [getattr(t, name)(*arguments, out=arguments[place]), *arguments]

    return run


@each_program(*[written_over(name, place, count) for name, count in (("lerp", 3), ("heaviside", 2), ("hypot", 2))
                for place in range(count)], written_over("hardshrink", 0, 1),
              lambda t: t.signbit(x := t.tensor([True, False]), out=x),
              lambda t: t.lerp((x := t.ones(3))[:2], t.ones(2), t.ones(2), out=x[1:]))
def test_a_function_of_single_elements_is_written_over_what_it_reads(program: Program) -> None:
    assert_same_outcome(program)


DTYPES = ("int32", "int64", "float16", "float64", "complex64", "bool")
Call = Callable[[Any, Any], Any]


def indices(t: Any) -> Any:
    return t.empty(0, dtype=t.int64)


CALLS: dict[str, Call] = {
    "clamp": lambda t, out: t.clamp(t.ones(2), 0, out=out),
    "clamp of integers": lambda t, out: t.clamp(t.ones(2, dtype=t.int64), 0.5, out=out),
    "clamp between tensors": lambda t, out: t.clamp(t.ones(2), t.ones(2), out=out),
    "clip": lambda t, out: t.clip(t.ones(2), 0, 1, out=out),
    "clamp_min": lambda t, out: t.clamp_min(t.ones(2), 0, out=out),
    "clamp_max": lambda t, out: t.clamp_max(t.ones(2), 0, out=out),
    "values of median": lambda t, out: t.median(t.ones(2), 0, out=(out, indices(t))),
    "indices of median": lambda t, out: t.median(t.ones(2), 0, out=(t.empty(0), out)),
    "values of nanmedian": lambda t, out: t.nanmedian(t.ones(2), 0, out=(out, indices(t))),
    "values of mode": lambda t, out: t.mode(t.ones(2), 0, out=(out, indices(t))),
    "indices of mode": lambda t, out: t.mode(t.ones(2), 0, out=(t.empty(0), out)),
    "values of kthvalue": lambda t, out: t.kthvalue(t.ones(2), 1, out=(out, indices(t))),
    "indices of kthvalue": lambda t, out: t.kthvalue(t.ones(2), 1, out=(t.empty(0), out)),
    "exponents of frexp": lambda t, out: t.frexp(t.ones(2), out=(t.empty(0), out)),
    "histc": lambda t, out: t.histc(t.ones(2), out=out),
    "histogram": lambda t, out: t.histogram(t.ones(2), 2, out=(out, t.empty(0))),
    "nan_to_num": lambda t, out: t.nan_to_num(t.ones(2), out=out),
    "addbmm": lambda t, out: t.addbmm(t.ones(2, 2), t.ones(1, 2, 2), t.ones(1, 2, 2), out=out),
    "searchsorted": lambda t, out: t.searchsorted(t.ones(2), t.ones(2), out=out),
    "searchsorted into int32": lambda t, out: t.searchsorted(t.ones(2), t.ones(2), out_int32=True, out=out),
    "bucketize": lambda t, out: t.bucketize(t.ones(2), t.ones(2), out=out),
    "nanquantile": lambda t, out: t.nanquantile(t.ones(2), 0.5, out=out),
    "diff": lambda t, out: t.diff(t.ones(3), n=2, out=out),
    "cat": lambda t, out: t.cat([t.ones(2), t.ones(1)], out=out),
    "stack": lambda t, out: t.stack([t.ones(2)], out=out),
    "column_stack": lambda t, out: t.column_stack([t.ones(2)], out=out),
    "logsumexp": lambda t, out: t.logsumexp(t.ones(2), 0, out=out),
    "fft": lambda t, out: t.fft.fft(t.ones(4), out=out),
    "ifft2": lambda t, out: t.fft.ifft2(t.ones(2, 2, dtype=t.complex64), out=out),
    "rfft": lambda t, out: t.fft.rfft(t.ones(4), out=out),
    "irfft": lambda t, out: t.fft.irfft(t.ones(4), out=out),
    "hfftn": lambda t, out: t.fft.hfftn(t.ones(2, 2, dtype=t.complex64), out=out),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_a_dtype_is_refused_in_the_words_of_the_operator(name: str, dtype: str) -> None:
    def program(t: Any) -> Any:
        out = t.empty(0, dtype=getattr(t, dtype))
        CALLS[name](t, out)
        return out.dtype, out.shape

    assert_same_outcome(program)


def outs(t: Any) -> Any:
    """Make writing calls, each of them twice: results, versions and refusals."""
    x, y, found = t.tensor([1.0, 2.0, -3.0]), t.tensor([4.0, 5.0, 6.0]), []
    for target in (t.zeros(3), t.zeros(6)[:3], t.zeros(6)[::2], t.zeros(3, dtype=t.float64),
                   t.zeros(3, dtype=t.int64), t.zeros(3, dtype=t.bool), x.flip(0), y):
        for write in (lambda o: t.add(x, y, out=o), lambda o: t.add(x, y, alpha=2, out=o),
                      lambda o: t.sub(x, 1, out=o), lambda o: t.mul(x, True, out=o), lambda o: t.neg(x, out=o),
                      lambda o: t.div(x, t.tensor(2), out=o), lambda o: t.lt(x, 1.5, out=o),
                      lambda o: t.eq(x, y, out=o), lambda o: t.abs(input=x, out=o),
                      lambda o: t.clamp(x, min=0, out=o), lambda o: t.sum(x[None], 0, out=o),
                      lambda o: t.mv(t.ones(3, 3), x, out=o), lambda o: t.cat([x[:1], y[:2]], out=o),
                      lambda o: t.add(x[:1], y, out=o), lambda o: t.stack((x[0], y[0], x[1]), out=o)):
            for _ in range(2):
                version = target._version
                try:
                    found.append((write(target) is target, target.tolist(), target.stride(), target._version - version))
                except (RuntimeError, TypeError) as error:
                    found.append(type(error))
        found.append(x.tolist())
    return found


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_an_output_is_written_or_refused_the_second_time_as_the_first() -> None:
    assert outs(mindtorch) == outs(torch)


def test_an_observer_sees_what_is_written_each_time() -> None:
    x, target, seen = mindtorch.ones(3), mindtorch.zeros(3), []
    for _ in range(3):
        mindtorch.add(x, x, out=target)
        with mindtorch.observe() as trace:
            mindtorch.add(x, x, out=target)
        seen.append([event.op for event in trace])
    assert seen[0][0] == "add.Tensor_out" and seen[1] == seen[2] == seen[0]


def compared(name: str, *inputs: Any, requires: str = "both", size: tuple[int, ...] = (2,)) -> Program:
    """Make a function whose result does not require grad write into a tensor; return the values, and how often."""

    def run(t: Any) -> Any:
        given = [t.tensor(x) if isinstance(x, list) else x for x in inputs]
        if requires in ("both", "input"):
            given[0].requires_grad_()
        out = t.empty(size, dtype=t.bool if requires == "input" else t.float32, requires_grad=requires != "input")
        found = getattr(t, name)(*given, out=out)
        return found is out, out.detach(), out.requires_grad, out._version

    return run


@each_program(*(compared(name, [1.0, 2.0], [2.0, 1.0], requires=requires)
                for name in ("lt", "eq", "ge", "logical_and", "logical_xor") for requires in ("both", "input", "out")),
              compared("isposinf", [1.0, 2.0], requires="input"), compared("signbit", [1.0, 2.0], requires="input"),
              compared("all", [1.0, 2.0], requires="input", size=()), compared("add", [1.0, 2.0], [2.0, 1.0]),
              compared("logical_not", [1.0, 2.0]), compared("sign", [1.0, 2.0], requires="out"))
def test_what_has_no_gradient_may_be_written_beside_what_requires_grad(program: Program) -> None:
    assert_same_outcome(program)


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("size", [0, 2, 5])
@pytest.mark.parametrize("call", [lambda t, x, out: t.lt(x, x, out=out), lambda t, x, out: t.sum(x, 1, out=out),
                                  lambda t, x, out: t.mm(x, x, out=out), lambda t, x, out: t.exp(x, out=out),
                                  lambda t, x, out: t.cumsum(x, 0, out=out)])
def test_an_output_that_is_resized_is_written_once(call: Callable[..., Any], size: int) -> None:
    versions = []
    for lib in (mindtorch, torch):
        out = lib.empty(size)
        call(lib, lib.ones(2, 2), out)
        versions.append(out._version)
    assert versions[0] == versions[1]


@pytest.mark.parametrize("call", [
    lambda t, x, out: t.add(x, x, out=out), lambda t, x, out: t.mul(x, 2, out=out), lambda t, x, out: t.exp(x, out=out),
    lambda t, x, out: t.add(x, x, alpha=1, out=out),
], ids=["tensors", "a number", "one tensor", "a factor of 1"])
def test_a_pointwise_result_is_written_without_another_array(call: Callable[..., Any]) -> None:
    x, out = mindtorch.ones(1 << 14), mindtorch.empty(1 << 14)
    call(mindtorch, x, out)
    tracemalloc.start()
    try:
        call(mindtorch, x, out)
        assert tracemalloc.get_traced_memory()[1] < x.nbytes / 2
    finally:
        tracemalloc.stop()


def test_an_output_without_elements_has_the_memory_of_the_result() -> None:
    x, out = mindtorch.ones(1 << 7, 1 << 7), mindtorch.empty(0)
    mindtorch.mm(x, x, out=mindtorch.empty(0))
    tracemalloc.start()
    try:
        assert mindtorch.mm(x, x, out=out) is out
        assert tracemalloc.get_traced_memory()[1] < x.nbytes * 1.5
    finally:
        tracemalloc.stop()
    assert (out.shape, out.stride(), out._version) == (x.shape, (1 << 7, 1), 1)
    assert out.untyped_storage().nbytes() == x.nbytes
    assert out.eq(1 << 7).all()
