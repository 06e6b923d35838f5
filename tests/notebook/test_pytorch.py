"""PyTorch's own tensors: the same program, run on mindtorch and on PyTorch, gives the same facts and pictures."""
from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import asdict, fields, replace
from itertools import pairwise

import pytest

import mindtorch
from mindtorch import introspect, viz
from mindtorch._dispatch.observers import one_at_a_time
from mindtorch.introspect.pytorch.profiling import Around, _without_measuring
from mindtorch.viz.palette import storage_letter

from .programs import PROGRAMS

pytorch = pytest.importorskip("torch")


@pytest.fixture(params=PROGRAMS, ids=lambda program: program.__name__)
def both(request):
    """The variables of a program on mindtorch and on PyTorch."""
    found = []
    for torch in (mindtorch, pytorch):
        torch.manual_seed(0)
        found.append({name: value for name, value in request.param(torch).items() if name != "torch"})
    return found


def named(namespace):
    return dict(introspect.named_tensors(namespace))


def test_the_same_names_are_found(both):
    ours, theirs = map(named, both)
    assert list(ours) == list(theirs)


def test_each_tensor_has_the_same_facts(both):
    ours, theirs = (
        [introspect.tensor_facts(tensor, introspect.names_of(space)) for tensor in named(space).values()]
        for space in both)
    for mine, its in zip(ours, theirs, strict=True):
        for field in fields(mine):
            if field.name not in ("storage", "address", "statistics"):
                assert getattr(mine, field.name) == getattr(its, field.name), (mine.name, field.name)
        assert bool(mine.address) == bool(its.address), mine.name
        assert (mine.statistics is None) == (its.statistics is None), mine.name
        if mine.statistics is not None:
            assert numbers(mine.statistics) == pytest.approx(numbers(its.statistics), rel=1e-4, nan_ok=True), mine.name


def numbers(statistics):
    """All of them; NaN stands for what is not known."""
    *found, histogram = asdict(statistics).values()
    flat = [number for value in found for number in (value if isinstance(value, tuple) else [value])]
    return [float("nan") if number is None else number for number in flat] + [sum(histogram)]


def test_the_same_tensors_share_their_memory(both):
    ours, theirs = ([[row.storage == other.storage for other in rows] for row in rows]
                    for rows in map(introspect.tensors_facts, both))
    assert ours == theirs


def test_each_storage_is_covered_and_read_alike(both):
    for name in named(both[0]):
        ours, theirs = (storage_of(space, name) for space in both)
        assert ours == theirs, name


def storage_of(space, name):
    """Facts of a storage, of its tensors those with a name: that of the others PyTorch does not know."""
    facts = introspect.storage_facts(named(space)[name], introspect.names_of(space), limit=50)
    sharers = [(s.name, s.dtype, s.shape, s.stride, s.offset, s.requires_grad, s.coverage, s.reads)
               for s in facts.sharers if s.name]
    return facts.device, facts.bytes, facts.itemsize, facts.segments, facts.segment_bytes, facts.shared_memory, sharers


def test_each_graph_has_the_same_nodes_edges_and_saved_tensors(both):
    for name, tensor in named(both[0]).items():
        if tensor.requires_grad:
            ours, theirs = (numbered(introspect.graph_facts(named(space)[name], named(space))) for space in both)
            assert ours == theirs, name


def numbered(facts):
    """A graph's nodes in the order of a walk from the root, with numbers in the place of identities."""
    nodes, order = {node.identity: node for node in facts.nodes}, []
    stack = [facts.root]
    while stack:
        identity = stack.pop()
        if identity not in order:
            order.append(identity)
            stack += [edge[0] for edge in reversed(nodes[identity].edges) if edge]
    number = {identity: i for i, identity in enumerate(order)}
    return [(node.name, node.variable, node.shapes[:outputs(node)], node.dtypes[:outputs(node)], node.outputs,
             node.has_grad, [edge and (number[edge[0]], edge[1]) for edge in node.edges], tensors_in(node))
            for node in map(nodes.__getitem__, order)]


def outputs(node):
    """How many outputs are compared: of a batch norm's three, PyTorch has the one that can be differentiated."""
    return 1 if node.name == "NativeBatchNormBackward0" else None


def tensors_in(node):
    """What is kept; a number, of which PyTorch makes a tensor without dimensions, is one for mindtorch."""
    found = [tuple(asdict(saved).values()) for saved in node.saved if saved.is_tensor]
    return sorted(row for row in found if not (row[1].endswith("[]") and not row[3]))


STEPPED = [program for program in PROGRAMS if program.__name__ in (
    "chain", "parallel_edges", "product", "stale", "several_outputs", "views_in_the_graph", "concatenated", "indexed",
    "own_function", "layer")]


@pytest.mark.parametrize("program", STEPPED, ids=lambda program: program.__name__)
def test_backward_takes_the_same_steps(program):
    ours, theirs = (stepped(torch, program) for torch in (mindtorch, pytorch))
    assert ours == theirs and ours[0]


def stepped(torch, program):
    """What each step of a backward pass tells, nodes by their places in the graph, and the error that ended it."""
    torch.manual_seed(0)
    space = named({name: value for name, value in program(torch).items() if name != "torch"})
    loss = next(tensor for tensor in reversed(space.values()) if tensor.requires_grad and tensor.grad_fn is not None)
    steps = introspect.BackwardSteps(loss, torch.ones_like(loss), named=space)
    places = {node.identity: place for place, node in enumerate(steps.graph.nodes)}
    try:
        while steps.step():
            pass
    except RuntimeError:
        assert steps.error and steps.finished
    return [(step.number, step.name, [*map(gradient, step.arrived)], gradient(step.total),
             [(target in places, number, gradient(sent)) for target, number, sent in step.sent],
             sorted((saved.name, saved.tensor) for saved in step.freed if not saved.text.endswith("[]")))
            for step in steps.taken], bool(steps.error)


def gradient(facts):
    return facts and (facts.dtype, facts.shape, [f"{value:.3g}" for value in facts.values])


def test_modules_have_the_same_tree(both):
    for name, module in both[0].items():
        if isinstance(module, mindtorch.nn.Module):
            assert introspect.module_facts(module, name) == introspect.module_facts(both[1][name], name)


def test_containers_hold_the_same(both):
    for name, value in both[0].items():
        if introspect.holds_tensors(value):
            ours, theirs = (introspect.container_facts(space[name], space, name) for space in both)
            assert without_memory(ours) == without_memory(theirs)


def without_memory(facts):
    """Facts without what differs from run to run; an optimizer's state is written in steps of its own."""
    tensor = facts.tensor and replace(facts.tensor, storage=0, address=0, statistics=None)
    if tensor and facts.label == "['momentum_buffer']":
        tensor = replace(tensor, version=0)
    text = re.sub("^<.*>$", "<object>", facts.text)
    return replace(facts, tensor=tensor, text=text, children=tuple(map(without_memory, facts.children)))


def test_the_cards_say_the_same(both):
    for name in named(both[0]):
        ours, theirs = (told(named(space)[name], introspect.names_of(space)) for space in both)
        assert ours == theirs, name


def told(tensor, names):
    """A card's text without what differs from run to run: addresses, letters of storages, unnamed sharers."""
    text = viz.tensor_card(tensor, names).plain
    letter = storage_letter(introspect.storage_number(tensor))
    text = text.replace(f"storage {letter}", "storage").replace(f"storage{letter}:", "storage:")
    lines = [line for line in text.splitlines() if not re.match(r"its base|\(no name\)|and \d+ more", line)]
    said = re.sub(r"0x[0-9a-f]+", "0x", "\n".join(lines))
    return re.sub(r"seen by \d+ tensors?|[^\S\n]+", " ", said)


#: What only mindtorch runs, and only PyTorch: it assigns numbers by a copy, keeps gradients inside of nodes, makes its
#: first sum of them and the buffers of momentum anew, and counts no batches in a kernel of batch normalisation.
OTHERWISE = {
    "written_in_place": ("fill_", "copy_"), "after_backward": ("add_", "add"), "kept_graph": ("add_", "add"),
    "retained": ("", ""), "network": ("", "empty"), "trained": ("empty_like copy_ empty_like copy_", "clone clone"),
}
#: Operators by which PyTorch's engine, and a tensor made of a number, look at what is there: no program asked for them.
UNASKED = {"alias", "detach", "lift_fresh"}
programs = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
same_programs = pytest.mark.parametrize("program", [p for p in PROGRAMS if p.__name__ not in OTHERWISE],
                                        ids=lambda program: program.__name__)


def watched(torch, program, watch):
    """The facts of a program, run while it is watched: PyTorch's operators one by one."""
    torch.manual_seed(0)
    with one_at_a_time(lambda event: None), watch() as facts:
        program(torch)
    return facts


@same_programs
def test_each_line_is_seen_to_run_the_same_operators(program):
    ours, theirs = (dispatched(torch, program) for torch in (mindtorch, pytorch))
    assert ours == theirs


def dispatched(torch, program):
    """The operators that no other operator is inside of: line, name, what went in and came out, and what asked for it.
    """
    trace = watched(torch, program, introspect.watch_dispatch)
    times = [(event.start, event.start + event.duration) for event in trace]
    return [(event.site[1], event.op.partition(".")[0], tensors(event.inputs), tensors(event.outputs),
             trace.asked[event.sequence])
            for event, inner in zip(trace, innermost(times), strict=True)
            if inner and not event.composite and event.op not in UNASKED]


def innermost(times):
    """For each (start, end), whether no other lies in it."""
    return [not any(start <= first and last <= end and (first, last) != (start, end) for first, last in times)
            for start, end in times]


def tensors(values):
    """What is said of the tensors among values."""
    return sorted(str(meta) for value in values for meta in (value if isinstance(value, tuple) else (value,))
                  if isinstance(meta, introspect.TensorMeta))


@programs
def test_a_profile_counts_pytorchs_operators_as_a_trace_does(program):
    trace = watched(pytorch, program, introspect.watch_dispatch)
    events = [event for event in trace if trace.asked[event.sequence].part != "backward"]
    profile = watched(pytorch, program, introspect.profile)
    assert all(0 <= share.self_time <= share.total_time for share in profile.operators)
    counted = {share.name: share.calls for share in profile.operators}
    seen = Counter(name for event in events if (name := event.op.partition(".")[0]) not in UNASKED)
    assert all(counted.get(name, 0) >= times for name, times in seen.items()), "its profiler counts those inside, too"
    assert sum(share.calls for share in profile.phases) == sum(share.calls for share in profile.modules)


def test_a_profiles_times_are_those_of_pytorchs_profiler_by_phase():
    model, x = pytorch.nn.Linear(64, 64), pytorch.ones(8, 64)
    optimizer = pytorch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        model(x).sum().backward()
        optimizer.step()

    step()
    with introspect.profile({"model": model}) as profile:
        step()
    assert {share.name for share in profile.phases} == {"forward", "backward", "optimizer"}
    assert {"addmm", "mm", "add_"} <= {share.name for share in profile.operators}
    assert 0 < profile.inside < profile.wall == pytest.approx(profile.inside + profile.outside + profile.observing)
    with pytorch.profiler.profile() as reference:
        step()
    named = {event.name.removeprefix("aten::") for event in reference.events() if "::" in event.name}
    assert {share.name for share in profile.operators} <= named


def test_the_times_of_measuring_are_taken_out_around_events_and_after_notes():
    call = Around(110, 390, None, ("", 0), 0, (20, 8))
    rows = [(110, -390, "", call), (150, -300, "outer", None), (180, -220, "inner", None)]
    clock, measuring = _without_measuring(100, rows, 10)
    # 100 to 110; 40 less 20 of noting and 5; 30 less 5; 40; 80 less 5; 90 less 5
    assert clock == {110: 10, 150: 25, 180: 50, 220: 90, 300: 165, 390: 250} and measuring == 290 - 250
    assert _without_measuring(100, rows, 1000)[0][220] == 10 + 40, "what an operator took by itself stays"
    close = [(110, -150, "outer", None), (112, -148, "inner", None), (200, -220, "next", None)]
    clock, measuring = _without_measuring(100, close, 10)
    assert measuring == 5 + 2 + 2 + 16, "what has no room in a gap is taken out of the next one"
    assert clock[148] - clock[112] == 36


def test_a_profile_of_many_small_operators_leaves_out_what_measuring_them_takes():
    x = pytorch.ones(2)
    with introspect.profile() as found:
        for _ in range(200):
            x.add(x)
    assert 0 < found.observing < found.wall == found.inside + found.outside + found.observing
    with introspect.timeline() as line:
        for _ in range(200):
            x.add(x)
    assert line.measuring > 0 and "measuring took" in viz.timeline_page(line)
    assert "measuring took" in viz.timeline_text(line)


def test_a_profile_says_how_long_the_program_did_not_run():
    with introspect.profile() as found:
        pytorch.ones(2).add(1)
        time.sleep(0.02)
    assert found.overhead.absent > 0.01e9  # the thread ran for a part of the call that sleeps
    assert "time it waited, or other programs had the processor" in viz.profile_page(found)


@programs
def test_a_profile_names_the_same_modules_and_lines_of_calls(program):
    ours, theirs = (watched(torch, program, introspect.profile) for torch in (mindtorch, pytorch))
    assert {(share.file, share.line) for share in theirs.lines if not share.name} <= {
        (share.file, share.line) for share in ours.lines}
    assert {share.name for share in ours.modules} == {share.name for share in theirs.modules}


@programs
def test_a_profile_counts_what_a_trace_shows(program):
    watched(mindtorch, program, introspect.profile)  # what a first call does is done
    profile, trace = (watched(mindtorch, program, watch) for watch in (introspect.profile, introspect.watch_dispatch))
    assert {share.name: share.calls for share in profile.operators} == Counter(event.op for event in trace)
    assert {share.line: share.calls for share in profile.lines if share.calls} == Counter(
        event.site[1] for event in trace if not event.depth)
    assert {(share.name, share.file, share.line): share.calls for share in profile.kernels} == Counter(
        (event.kernel, event.file, event.line) for event in trace)
    assert sum(share.calls for share in profile.modules) == len(trace.events)
    assert all(share.file == program.__code__.co_filename for share in profile.lines)


@programs
def test_a_timelines_operators_are_the_outermost_of_a_profile(program):
    found = watched(pytorch, program, introspect.timeline)
    host = [span for span in found.spans if span.lane == "host"]
    counted = {share.name: share.calls for share in watched(pytorch, program, introspect.profile).operators}
    assert bool(host) == bool(counted) and not found.arrows and not found.races
    assert all(times <= counted.get(name, 0) for name, times in Counter(span.name for span in host).items())
    assert all(before.end <= after.start for before, after in pairwise(host)), "none is inside another"


def test_the_same_strides_are_explored(both):
    for name, tensor in named(both[0]).items():
        if isinstance(tensor, mindtorch.nn.UninitializedParameter):
            continue
        explored = (tensor.numel(), 1), (1, 2), tensor.storage_offset()
        ours, theirs = (introspect.stride_facts(named(space)[name], *explored) for space in both)
        assert ours == theirs, name


def test_the_same_memory_is_alive(both):
    ours, theirs = ({(use.names, use.bytes) for facts in introspect.memory_facts(introspect.names_of(space))
                     for use in facts.storages if use.names} for space in both)
    assert ours == theirs
