"""Compare one entry of PyTorch's operator database with its counterpart: every sample, every variant."""

from __future__ import annotations

import functools
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.parity.accuracy import WIDER, allowed_error, widened
from tests.parity.exclusions import (
    ANY_OF_EQUALS, DIFFERENT, EXCLUDED, EXCLUDED_CHECKS, TOLERANCES, UNINITIALISED, UP_TO_GAUGE,
)
from tests.parity.resolve import LibPorter, Missing, counterpart
from tests.support import (
    Difference, Outcome, Unportable, alias_differences, array, differences, error_differences, first_line, is_tensor,
    name_of, seed_all, tensors_in, torch,
)

SEED = 1234
MOST_DIMS = 64  #: of NumPy's arrays
# Reported, and not counted as differing: PyTorch does not promise how a gradient lies in memory.
SOFT = frozenset({"grad layout"})
LAYOUT = frozenset({"stride", "offset", "conj", "neg"})


@dataclass
class Result:
    """What the comparison of one entry in one dtype found."""

    name: str
    dtype: str
    status: str = "agrees"  # or "differs", "missing", "excluded", "not applicable"
    reason: str = ""
    samples: int = 0
    succeeded: int = 0  # samples that PyTorch accepts
    checks: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    found: list[tuple[str, int, Difference]] = field(default_factory=list)  # check, sample, difference
    soft: list[tuple[str, int, Difference]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    def record(self, check: str, sample: int, found: list[Difference]) -> None:
        hard = [(check, sample, d) for d in found if d.kind not in SOFT]
        self.checks[check] += 1
        self.failed[check] += bool(hard)
        self.found += hard
        self.soft += [(check, sample, d) for d in found if d.kind in SOFT]


class Entry:
    """One row of the database, for one library under test; of its samples some, evenly spaced, if ``most`` is not 0."""

    def __init__(self, op: Any, lib: types.ModuleType, device: str = "cpu", most: int = 0) -> None:
        self.op, self.lib, self.device, self.most = op, lib, device, most
        self.name = entry_name(op)
        self._errors: Result | None = None

    @property
    def comparison(self) -> type[Comparison]:
        """What compares a sample."""
        return Comparison

    def compare(self, dtype: torch.dtype) -> Result:
        result = Result(self.name, name_of(dtype))
        if self.name in EXCLUDED:
            result.status, result.reason = "excluded", EXCLUDED[self.name]
        elif dtype not in self.op.supported_dtypes("cpu"):
            result.status = "not applicable"
        else:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                self.compare_samples(dtype, result)
                if result.found:
                    result.status, result.reason = "differs", DIFFERENT.get(self.name, "")
        return result

    def compare_samples(self, dtype: torch.dtype, result: Result) -> None:
        try:
            ours = counterpart(self.op.op, self.lib, self.op.name)
        except (Missing, Unportable) as error:
            result.status, result.reason = "missing", f"no {error}"
            return
        needs_grad = self.op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
        torch.manual_seed(SEED)
        samples = list(enumerate(self.op.sample_inputs("cpu", dtype, requires_grad=needs_grad)))
        result.samples = len(samples)
        try:
            for i, sample in samples[::max(1, -(-len(samples) // self.most)) if self.most else 1]:
                self.comparison(self, dtype, sample, i, result).run(ours)
            self.compare_errors(ours, result)
        except Missing as error:
            result.status, result.reason = "missing", f"no {error}"
            result.found.clear()
        if result.status == "agrees" and not (result.succeeded or result.found):
            result.status, result.reason = "excluded", "no sample that PyTorch accepts can be carried over"

    def compare_errors(self, function: Callable[..., Any], result: Result) -> None:
        """Error inputs do not depend on the dtype; they run once, and count in every dtype."""
        if self._errors is None:
            self._errors = Result(self.name, "")
            inputs = self.op.error_inputs("cpu") if self.op.error_inputs_func is not None else ()
            for i, error_input in enumerate(inputs):
                self.compare_error(function, i, error_input.sample_input, self._errors)
        result.checks.update(self._errors.checks)
        result.failed.update(self._errors.failed)
        result.skipped.update(self._errors.skipped)
        result.found += self._errors.found

    def compare_error(self, function: Callable[..., Any], i: int, sample: Any, result: Result) -> None:
        if any(x.dim() > MOST_DIMS for x in tensors_in([sample.input, sample.args, sample.kwargs])):
            result.skipped["a tensor has more dimensions than NumPy's arrays"] += 1
            return
        if not portable(sample, self.lib, result, "errors", i):
            return
        expected, got = Call(sample, torch).run(self.op.op), Call(sample, self.lib).run(function)
        if expected.error is None:
            result.skipped["PyTorch accepts the error input"] += 1
        else:
            result.record("errors", i, list(error_differences(got, expected)))


class Call:
    """The arguments of one sample in one library, fresh; and how to call with them."""

    def __init__(self, sample: Any, lib: types.ModuleType, device: str = "cpu", *, grad: bool = True) -> None:
        self.lib = lib
        self.port = LibPorter(lib, device)
        self.input, self.args, self.kwargs = self.port((sample.input, sample.args, sample.kwargs))
        self.tensors = tensors_in((self.input, self.args, self.kwargs))
        if not grad:
            for tensor in self.tensors:
                tensor.requires_grad_(False)

    def run(self, function: Callable[..., Any], **more: Any) -> Outcome:
        seed_all(self.lib, SEED)
        return Outcome.of(function, self.input, *self.args, **self.kwargs, **more)

    def own_input(self) -> None:
        """Replace the input by a copy that is no leaf, so that it may be written to."""
        if self.input.requires_grad:
            self.input = self.input.clone()


def portable(sample: Any, lib: types.ModuleType, result: Result, check: str, number: int) -> bool:
    """Whether the arguments can be carried over; if not, that is left out, or a fault of the library."""
    try:
        Call(sample, lib)
    except (Missing, Unportable) as error:
        result.skipped[str(error)] += 1
        return False
    except Exception as error:  # whatever it is, the library cannot hold what PyTorch can
        found = Difference("arguments", f"{type(error).__name__}: {error}", "holds them")
        result.record(check, number, [found])
        return False
    return True


class Comparison:
    """One sample in one dtype: runs all variants, and records in the result what differs."""

    def __init__(self, entry: Entry, dtype: torch.dtype, sample: Any, number: int, result: Result) -> None:
        self.op, self.lib, self.device, self.sample = entry.op, entry.lib, entry.device, sample
        self.dtype, self.number, self.result = dtype, number, result
        self.values = self.op.name not in UNINITIALISED
        self.gauge = self.op.name in UP_TO_GAUGE or self.op.name in ANY_OF_EQUALS
        self.rtol, self.atol, _ = TOLERANCES.get((entry.name, name_of(dtype)), (None, None, ""))

    def run(self, function: Callable[..., Any]) -> None:
        if not portable(self.sample, self.lib, self.result, "function", self.number):
            return
        self.check("function", self.function, function)
        if is_tensor(self.sample.input):
            self.variant("method", self.op.method_variant)
            self.variant("in-place", self.op.inplace_variant)
            if len(self.sample.args) <= 1 and not self.sample.kwargs:
                self.variant("operator", self.op.operator_variant)
                self.variant("operator in-place", self.op.inplace_operator_variant)
        if self.op.supports_out:
            for what, make in OUTS.items():
                self.check("out=", self.out, function, make, detail=what)
        self.check("meta", self.meta, function)

    def check(self, name: str, compare: Callable[..., Iterator[Difference]], *args: Any,
              detail: str = "") -> None:
        """Record what `compare` finds; an exception of the library under test on the way is a difference."""
        for what in (name, f"{name} {detail}"):
            if reason := EXCLUDED_CHECKS.get((self.result.name, what)):
                self.result.skipped[f"{what} ({reason})"] += 1
                return
        found: list[Difference] = []
        try:
            found.extend(compare(*args))
        except Missing:
            raise
        except Exception as error:  # one faulty operator must not end the table
            found.append(Difference("harness", f"{type(error).__name__}: {error}", "no error"))
        self.result.record(f"{name} {detail}".strip(), self.number, found)

    def variant(self, name: str, theirs: Callable[..., Any] | None) -> None:
        if theirs is None or theirs is self.op.op:
            return
        try:
            ours = counterpart(theirs, self.lib, self.op.name)
        except Missing as error:
            self.result.record(name, self.number, [Difference("missing", f"no {error}", "has it")])
            return
        compare = self.written if "in-place" in name else self.called
        self.check(name, compare, ours, theirs)

    def same(self, ours: Outcome, theirs: Outcome, *, whole: bool = False,
             exact: Callable[[], Outcome] | None = None) -> Iterator[Difference]:
        """Check that the outcomes agree: the same type of exception, or the same result, as far as it is determined."""
        yield from error_differences(ours, theirs)
        if theirs.error is None and ours.error is None:
            whole = whole or not self.gauge
            yield from self.near(ours.value, theirs.value, exact, self.values and whole)
            if not whole:
                yield from self.same(*self.determined(ours, theirs), whole=True)

    def near(self, ours: Any, theirs: Any, exact: Callable[[], Outcome] | None = None,
             values: bool = True) -> Iterator[Difference]:
        """Check that the values agree within the tolerance, or within what `accuracy` allows."""
        compare = functools.partial(differences, ours, theirs, rtol=self.rtol, device=self.device)
        found = list(compare(atol=self.atol, values=values))
        if self.dtype in WIDER and any(difference.kind == "value" for difference in found):
            right = (exact or self.exact)()
            error = allowed_error(theirs, right.value) if right.error is None else 0.0
            if error:
                found = list(compare(atol=max(error, self.atol or 0), values=error < np.inf))
        yield from found

    def exact(self) -> Outcome:
        """Return PyTorch's result in double precision."""
        return Call(widened(self.sample, self.dtype), torch).run(self.op.op)

    def exact_gradients(self, seeds: list[torch.Tensor]) -> Outcome:
        """Return the gradients in double precision."""
        call = Call(widened(self.sample, self.dtype), torch)
        outputs = wanted(tensors_in(Outcome.of(self.sample.output_process_fn_grad,
                                               call.run(self.op.op).value).value))
        return Outcome.of(torch.autograd.grad, outputs, wanted(call.tensors),
                          [seed.to(out.dtype) for seed, out in zip(seeds, outputs, strict=False)], allow_unused=True)

    def determined(self, ours: Outcome, theirs: Outcome) -> tuple[Outcome, Outcome]:
        """Return the part of results that is unique."""
        if self.op.name in ANY_OF_EQUALS:
            return self.elements(ours), self.elements(theirs)
        return self.processed(ours, theirs)

    def function(self, function: Callable[..., Any]) -> Iterator[Difference]:
        """Check the function itself: result, aliasing, its effect on the inputs, gradients."""
        ours, theirs = Call(self.sample, self.lib, self.device), Call(self.sample, torch)
        got, expected = ours.run(function), theirs.run(self.op.op)
        if expected.error is not None and any(t.requires_grad for t in theirs.tensors):
            yield from error_differences(got, expected)  # such as in-place on a leaf: and now without grad
            ours, theirs = Call(self.sample, self.lib, self.device, grad=False), Call(self.sample, torch, grad=False)
            got, expected = ours.run(function), theirs.run(self.op.op)
        if expected.error is None and is_lacking(got.error):
            raise Missing(first_line(got.error))
        self.result.succeeded += expected.error is None
        yield from self.compared(got, expected, ours, theirs)
        if got.error is None and expected.error is None:
            self.check_gradients(got, expected, ours, theirs)

    def called(self, our_function: Callable[..., Any], function: Callable[..., Any]) -> Iterator[Difference]:
        """Check a method or an operator: result, aliasing."""
        ours, theirs = Call(self.sample, self.lib, self.device), Call(self.sample, torch)
        yield from self.compared(ours.run(our_function), theirs.run(function), ours, theirs)

    def written(self, our_function: Callable[..., Any], function: Callable[..., Any]) -> Iterator[Difference]:
        """Check an in-place variant: it writes to its input, returns it, and the gradients are right afterwards."""
        ours, theirs = Call(self.sample, self.lib, self.device), Call(self.sample, torch)
        ours.own_input()
        theirs.own_input()
        got, expected = ours.run(our_function), theirs.run(function)
        if self.sample.broadcasts_input and expected.error is None:
            self.result.skipped["PyTorch resizes in place what it should refuse"] += 1
            return
        yield from self.compared(got, expected, ours, theirs)
        if got.error is None and expected.error is None:
            yield from self.near(ours.input, theirs.input, values=self.values)
            self.check_gradients(got, expected, ours, theirs)

    def compared(self, got: Outcome, expected: Outcome, ours: Call, theirs: Call) -> Iterator[Difference]:
        yield from self.same(got, expected)
        if got.error is not None or expected.error is not None:
            return
        yield from alias_differences(tensors_in(got.value), tensors_in([ours.tensors, ours.input]),
                                     tensors_in(expected.value), tensors_in([theirs.tensors, theirs.input]))
        yield from differences(ours.tensors, theirs.tensors, rtol=self.rtol, atol=self.atol, values=self.values,
                               device=self.device, where="input")
        versions = [[t._version for t in tensors_in([call.tensors, call.input])] for call in (ours, theirs)]
        if versions[0] != versions[1]:
            yield Difference("version", *versions, "inputs")  # type: ignore[call-arg]

    def processed(self, got: Outcome, expected: Outcome) -> tuple[Outcome, Outcome]:
        """Apply the sample's own function, which leaves the unique and differentiable part, to the outcomes."""
        process = self.sample.output_process_fn_grad
        return (Outcome.of(counterpart(process, self.lib), got.value), Outcome.of(process, expected.value))

    def elements(self, outcome: Outcome) -> Outcome:
        """Values, and the elements of the input at the indices; in order where the operator has none."""
        if is_tensor(outcome.value) and self.op.name != "argsort":  # the median of everything
            return outcome
        position = ANY_OF_EQUALS[self.op.name]
        dim = dict(enumerate(self.sample.args)).get(position, self.sample.kwargs.get("dim", -1))
        source = np.atleast_1d(array(self.sample.input))
        result = []
        parts = [outcome.value] * 2 if is_tensor(outcome.value) else outcome.value
        for t in map(array, parts):
            t = t if t.ndim == self.sample.input.ndim else np.expand_dims(t, dim)
            result.append(np.atleast_1d(t))
        values, indices = result
        found = np.take_along_axis(source, indices, dim)
        values = found if is_tensor(outcome.value) else values
        if self.op.name == "topk":  # which may be asked not to sort
            values, found = np.sort(values, dim), np.sort(found, dim)
        return Outcome([values, found])

    def check_gradients(self, got: Outcome, expected: Outcome, ours: Call, theirs: Call) -> None:
        if wanted(theirs.tensors) and wanted(tensors_in(expected.value)):
            self.check("grad", self.gradients, got, expected, ours, theirs)

    def gradients(self, got: Outcome, expected: Outcome, ours: Call, theirs: Call) -> Iterator[Difference]:
        got, expected = self.processed(got, expected)
        yield from error_differences(got, expected)
        outputs, our_outputs = wanted(tensors_in(expected.value)), wanted(tensors_in(got.value))
        if len(our_outputs) != len(outputs):
            yield Difference("requires_grad", f"{len(our_outputs)} outputs", f"{len(outputs)} outputs")
            return
        generator = torch.Generator().manual_seed(SEED)
        seeds = [torch.randn(t.shape, dtype=t.dtype, generator=generator) for t in outputs]
        expected = Outcome.of(torch.autograd.grad, outputs, wanted(theirs.tensors), seeds, allow_unused=True)
        our_seeds = LibPorter(self.lib, self.device)(seeds)
        got = Outcome.of(self.lib.autograd.grad, our_outputs, wanted(ours.tensors), our_seeds, allow_unused=True)
        exact = functools.partial(self.exact_gradients, seeds)
        determined = self.op.name not in ANY_OF_EQUALS or not has_equals(self.sample.input)
        for difference in self.same(got, expected, whole=True, exact=exact):
            if difference.kind == "value" and not determined:
                continue
            kind = "grad layout" if difference.kind in LAYOUT else difference.kind
            yield Difference(kind, difference.ours, difference.theirs, f"grad{difference.where}")

    def out(self, function: Callable[..., Any], make: Callable[..., Any]) -> Iterator[Difference]:
        """`out=`: written through in its own layout, resized when empty, refused in a wrong dtype."""
        expected = Call(self.sample, torch, grad=False).run(self.op.op)
        if expected.error is not None or not tensors_in(expected.value) or "out" in self.sample.kwargs:
            return
        outs = [make(t) for t in tensors_in(expected.value)]
        ours, theirs = Call(self.sample, self.lib, self.device, grad=False), Call(self.sample, torch, grad=False)
        our_outs, outs = ours.port(outs), theirs.port(outs)
        single = is_tensor(expected.value)
        given = theirs.run(self.op.op, out=outs[0] if single else tuple(outs))
        got = ours.run(function, out=our_outs[0] if single else tuple(our_outs))
        yield from self.same(got, given)
        if given.error is None and got.error is None:
            yield from alias_differences(tensors_in(got.value), our_outs, tensors_in(given.value), outs)
            yield from self.near(our_outs, outs, values=self.values and not self.gauge)

    def meta(self, function: Callable[..., Any]) -> Iterator[Difference]:
        """Check that the meta device gives the metadata of PyTorch's CPU result, or that both meta devices cannot."""
        expected = Call(self.sample, torch, grad=False).run(self.op.op)
        if expected.error is not None:
            return
        with self.lib.device("meta"):
            got = Call(self.sample, self.lib, "meta", grad=False).run(function)
        if got.error is None:
            yield from differences(got.value, expected.value, values=False, grads=False, device="meta")
            return
        with torch.device("meta"):
            theirs = Call(self.sample, torch, "meta", grad=False).run(self.op.op)
        if theirs.error is None:
            yield from error_differences(got, theirs)


def is_lacking(error: Exception | None) -> bool:
    """Whether the error says that the library has no such function or method, or no kernel for it."""
    if isinstance(error, NotImplementedError) and str(error).startswith("Could not run 'aten::"):
        return True
    at_fault = getattr(error, "obj", None) if isinstance(error, AttributeError) else None
    return isinstance(at_fault, types.ModuleType) or is_tensor(at_fault)


def has_equals(tensor: torch.Tensor) -> bool:
    """Whether some elements of a tensor are equal."""
    return tensor.unique().numel() < tensor.numel()


def wanted(tensors: list[Any]) -> list[Any]:
    return [t for t in tensors if t.requires_grad]


def scattered(tensor: torch.Tensor) -> torch.Tensor:
    """Make a tensor of the same shape and dtype, with reversed strides and other values."""
    return tensor.new_ones(tensor.shape[::-1]).permute(tuple(reversed(range(tensor.ndim))))


def emptied(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.new_empty(0)


def retyped(tensor: torch.Tensor) -> torch.Tensor:
    """Make a tensor of the same shape, in a dtype that the result may not be cast to."""
    return torch.ones_like(tensor, dtype=torch.bool if tensor.dtype != torch.bool else torch.int32)


OUTS = {"other layout": scattered, "empty": emptied, "other dtype": retyped}


def entry_name(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


@functools.cache
def database() -> dict[str, Any]:
    """PyTorch's operator database by the names of its entries; imported here, as that takes seconds."""
    from torch.testing._internal import common_utils
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.opinfo import core

    for module in common_utils, core:
        module.extract_test_fn = lambda: None  # it searches all frames for a unittest, which takes most of the time
    return {entry_name(op): op for op in op_db}
