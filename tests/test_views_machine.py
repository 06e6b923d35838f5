"""Views, in-place writes, versions and autograd: random programs behave as they do in PyTorch.

A program creates tensors, takes views of views, indexes with everything that can index, writes in place
through any of them, and differentiates, with grad mode on and off. After every step all live tensors agree
with PyTorch's in value, geometry, aliasing, version, autograd state, and the step in the exception it raised.
"""

from __future__ import annotations

import types
import warnings
from collections import Counter
from typing import Any, ClassVar

from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

import mindtorch
from tests import arguments
from tests.arguments import Arguments, Draw, overlaps_itself, partly_out_of_range, seldom, shown, tame, undefined
from tests.programs import Program, Side
from tests.support import Outcome, torch


class Views(RuleBasedStateMachine):
    """Random programs over a pool of tensors; `lib` is the library under test."""

    lib: types.ModuleType = mindtorch
    programs: ClassVar[list[Program]] = []

    def __init__(self) -> None:
        super().__init__()
        self.program = Program(self.lib)
        self.silence = warnings.catch_warnings()
        self.silence.__enter__()
        warnings.simplefilter("ignore")

    def teardown(self) -> None:
        self.silence.__exit__(None, None, None)
        self.program.forget()
        self.programs.append(self.program)

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.create(data.draw, arguments.FLOATS)

    @rule(data=st.data())
    def step(self, data: st.DataObject) -> None:
        """One step of the program: one rule for all kinds, as Hypothesis leaves out rules at random."""
        draw, live = data.draw, self.program.live()
        if draw(st.integers(0, 9)) == 9:
            self.program.grad_enabled = not self.program.grad_enabled
        while len(live) >= Program.most:
            self.program.drop(self.pick(draw)[0])
        kind = draw(st.sampled_from(KINDS))
        if kind in (Views.backward, Views.grad, Views.forget_grad) and not self.differentiable():
            kind = Views.new
        kind(self, draw)

    def new(self, draw: Draw) -> None:
        self.create(draw, arguments.DTYPES)

    def create(self, draw: Draw, dtypes: list[torch.dtype]) -> None:
        shape, dtype = draw(st.sampled_from(arguments.SHAPES)), draw(st.sampled_from(dtypes))
        values = (torch.arange(torch.Size(shape).numel()) % 7 - 2).view(shape).to(dtype).tolist()
        grads = st.booleans() if dtype in arguments.FLOATS else seldom(st.just(True), st.just(False))
        grad = draw(grads)
        self.program.run("tensor", f"tensor({values}, dtype={dtype}, requires_grad={grad})",
                         lambda side: side.lib.tensor(values, dtype=side.port(dtype), requires_grad=grad))

    def reshape(self, draw: Draw) -> None:
        self.method(draw, arguments.RESHAPED)

    def take_part(self, draw: Draw) -> None:
        self.method(draw, arguments.PARTS)

    def write(self, draw: Draw) -> None:
        self.method(draw, arguments.WRITES, self.pick_writable(draw))

    def method(self, draw: Draw, table: Arguments, place: tuple[int, torch.Tensor] | None = None) -> None:
        """Call a method that the table names, with arguments as it says."""
        i, t = place or self.pick(draw)
        row = draw(st.sampled_from([row for row in table if row != "view.dtype" or not self.rounded()]))
        name, args = row.partition(".")[0], table[row](draw, t)
        self.program.run(row, f"t{i}.{name}({shown(args)[1:-1]})",
                         lambda side: getattr(side.t[i], name)(*side.port(args)))

    def attribute(self, draw: Draw) -> None:
        i, _ = self.pick(draw)
        name = draw(st.sampled_from(arguments.ATTRIBUTES))
        self.program.run(name, f"t{i}.{name}", lambda side: getattr(side.t[i], name))

    def get(self, draw: Draw) -> None:
        i, t = self.pick(draw)
        where = arguments.index(draw, t)
        self.program.run("__getitem__", f"t{i}[{shown(where)}]", lambda side: side.t[i][side.port(where)])

    def rounded(self) -> bool:
        """Whether a function ran whose last bit is not settled: the bytes must not be looked at."""
        return any(self.program.succeeded[name] for name in arguments.ROUNDED)

    def set(self, draw: Draw) -> None:
        i, t = self.pick_writable(draw)
        where, value = arguments.index(draw, t), draw(arguments.NUMBERS)
        if partly_out_of_range(t, where):
            return self.get(draw)
        self.program.run("__setitem__", f"t{i}[{shown(where)}] = {value}",
                         lambda side: side.t[i].__setitem__(side.port(where), value))

    def set_from(self, draw: Draw) -> None:
        """Write one tensor, or a part of it, into a part of another, or all of it."""
        (i, t), (j, source) = self.pick_writable(draw), self.pick(draw)
        where = draw(st.sampled_from([..., slice(None)])) if draw(st.booleans()) else arguments.index(draw, t)
        if partly_out_of_range(t, where) or (source.requires_grad and t.dtype not in arguments.FLOATS):
            return self.get(draw)  # PyTorch lets an integer tensor require grad by the latter
        first = source.ndim > 0 and draw(st.booleans())
        if source.untyped_storage().data_ptr() == t.untyped_storage().data_ptr() or not tame(source, t):
            return self.set(draw)

        def call(side: Side) -> None:
            side.t[i][side.port(where)] = side.t[j][:1] if first else side.t[j]

        self.program.run("__setitem__ tensor", f"t{i}[{shown(where)}] = t{j}{'[:1]' if first else ''}", call)

    def write_from(self, draw: Draw) -> None:
        (i, t), (j, source) = self.pick_writable(draw), self.pick(draw)
        name = draw(st.sampled_from(arguments.WRITES_FROM))
        if undefined(t, source) or not tame(source, t):
            return self.write(draw)
        self.program.run(f"{name} tensor", f"t{i}.{name}(t{j})",
                         lambda side: getattr(side.t[i], name)(side.t[j]))

    def compute(self, draw: Draw) -> None:
        i, _ = self.pick(draw)
        name = draw(st.sampled_from(arguments.UNARY))
        self.program.run(name, f"t{i}.{name}()", lambda side: getattr(side.t[i], name)())

    def combine(self, draw: Draw) -> None:
        (i, _), (j, _) = self.pick(draw), self.pick(draw)
        name, number = draw(st.sampled_from(arguments.BINARY)), draw(arguments.NUMBERS)
        if name in arguments.WITH_NUMBERS and draw(st.booleans()):
            self.program.run(name, f"t{i}.{name}({number})", lambda side: getattr(side.t[i], name)(number))
        else:
            self.program.run(name, f"t{i}.{name}(t{j})", lambda side: getattr(side.t[i], name)(side.t[j]))

    def backward(self, draw: Draw) -> None:
        i = draw(st.sampled_from(self.differentiable()))
        retain = draw(st.integers(0, 3)) > 0
        if draw(st.integers(0, 5)) == 5:
            self.program.run("backward", f"t{i}.backward(retain_graph={retain})",
                             lambda side: side.t[i].backward(retain_graph=retain))
        else:
            self.program.run("backward", f"t{i}.sum().backward(retain_graph={retain})",
                             lambda side: side.t[i].sum().backward(retain_graph=retain))

    def grad(self, draw: Draw) -> None:
        i, j = (draw(st.sampled_from(self.differentiable())) for _ in range(2))
        unused, retain = (draw(st.integers(0, 3)) > 0 for _ in range(2))
        create = draw(st.booleans())

        def call(side: Side) -> Any:
            return side.lib.autograd.grad(side.t[i], [side.t[j]], side.lib.ones_like(side.t[i]),
                                          retain_graph=retain, allow_unused=unused, create_graph=create)

        self.program.run("autograd.grad", f"grad(t{i}, [t{j}], ones_like(t{i}), retain_graph={retain}, "
                         f"allow_unused={unused}, create_graph={create})", call)

    def forget_grad(self, draw: Draw) -> None:
        i = draw(st.sampled_from(self.differentiable()))
        self.program.run("grad = None", f"t{i}.grad = None", lambda side: setattr(side.t[i], "grad", None))

    def differentiable(self) -> list[int]:
        return [i for i, t in self.program.live().items() if t.requires_grad]

    def pick(self, draw: Draw) -> tuple[int, torch.Tensor]:
        live = self.program.live()
        i = draw(st.sampled_from(sorted(live, reverse=True)))
        return i, live[i]

    def pick_writable(self, draw: Draw) -> tuple[int, torch.Tensor]:
        """Pick a tensor to write to: where that is defined, and mostly where PyTorch allows it."""
        live = {i: t for i, t in self.program.live().items() if not overlaps_itself(t)}
        enabled = self.program.grad_enabled
        allowed = [i for i, t in live.items() if not (enabled and t.requires_grad and leaf(t))]
        i = draw(seldom(st.sampled_from(list(live)), st.sampled_from(allowed or list(live)[-1:])))
        return i, live[i]


KINDS = [Views.reshape] * 3 + [Views.take_part] * 3 + [Views.get] * 3 + [Views.write] * 3 + [
    Views.set, Views.set, Views.set_from, Views.write_from, Views.write_from, Views.attribute, Views.compute,
    Views.combine, Views.combine, Views.backward, Views.grad, Views.forget_grad, Views.new]


def leaf(t: torch.Tensor) -> bool:
    """`is_leaf`, which raises where a view was written to in a forbidden way."""
    return Outcome.of(lambda: t.is_leaf).value is True


STEPS = 20
SETTINGS = settings(max_examples=300, stateful_step_count=STEPS + 2, deadline=None, derandomize=True,
                    database=None, suppress_health_check=list(HealthCheck))
EVERY_STEP = {"tensor", "__getitem__", "__setitem__", "__setitem__ tensor", "backward", "autograd.grad",
              *arguments.RESHAPED, *arguments.PARTS, *arguments.ATTRIBUTES, *arguments.UNARY,
              *arguments.BINARY, *arguments.WRITES, *(f"{name} tensor" for name in arguments.WRITES_FROM)}


def run_programs(lib: types.ModuleType, programs: settings = SETTINGS) -> list[Program]:
    """Run random programs in `lib` and PyTorch, and return them."""
    machine = type("Views", (Views,), {"lib": lib, "programs": []})
    run_state_machine_as_test(machine, settings=programs)
    return machine.programs


def test_random_programs_behave_as_in_pytorch() -> None:
    programs = run_programs(mindtorch)
    succeeded = sum((program.succeeded for program in programs), Counter())
    raised = sum((program.raised for program in programs), Counter())
    assert sum(program.steps() >= STEPS for program in programs) >= 200
    assert succeeded.total() > 2 * raised.total() > 0, "too many steps raise to say much"
    assert succeeded.keys() >= EVERY_STEP
