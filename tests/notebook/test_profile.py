"""``%%profile``: times that add up to the wall time, by operator, kernel, line and module."""
from __future__ import annotations

import threading

import pytest

import mindtorch as torch
from mindtorch import introspect, nn, viz
from mindtorch._dispatch.observers import DispatchEvent
from mindtorch.introspect.profiler import _Recorder
from mindtorch.viz.profile import measuring_text

from .test_pictures import Checker


def adds_up(found):
    """The parts of a profile are its whole."""
    own = sum(share.self_time for share in found.operators)
    assert own + found.outside + found.observing == found.wall and found.inside == own
    assert min(own, found.outside, found.observing) >= 0
    for shares in (found.kernels, found.lines, found.modules):
        assert sum(share.self_time for share in shares) == own


def calls(shares):
    return {share.name: share.calls for share in shares}


def test_own_times_and_the_time_outside_add_up_to_the_wall_time():
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    x = torch.ones(2, 8)
    with introspect.profile() as found:
        for _ in range(3):
            model(x).square().mean().backward()
    adds_up(found)
    assert calls(found.operators)["linear"] == 6 and calls(found.operators)["relu"] == 3
    assert found.operators == tuple(sorted(found.operators, key=lambda share: -share.self_time))


def test_a_block_without_operators_is_all_outside():
    with introspect.profile() as found:
        sum(range(1000))
    assert found.operators == () and found.outside == found.wall > 0


def test_a_block_that_fails_is_profiled_up_to_there():
    with pytest.raises(RuntimeError), introspect.profile() as found:
        torch.ones(2) + 1
        torch.ones(2) + torch.ones(3)
    adds_up(found)
    assert calls(found.operators)["add.Tensor"] == 2


def test_modules_are_named_and_backward_is_told_apart():
    model = nn.Sequential(nn.Linear(8, 4), nn.ReLU())
    x = torch.ones(2, 8)
    with introspect.profile({"model": model}) as found:
        loss = model(x).sum()
        loss.backward()
    names = set(calls(found.modules))
    assert names == {"model.0 (Linear)", "model.1 (ReLU)", "(no module)", "(backward)"}


def test_modules_of_equal_blocks_are_one_row():
    blocks = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(5)], nn.Linear(4, 4))
    blocks.append(nn.Linear(4, 9))
    with introspect.profile({"net": blocks}) as found:
        blocks(torch.ones(2, 4))
    adds_up(found)
    assert {name for name in calls(found.modules) if "net" in name} == {
        "net.0.0 … net.4.0 (5 × Linear)", "net.0.1 … net.4.1 (5 × ReLU)", "net.5 (Linear)", "net.6 (Linear)"}


def test_a_module_without_a_name_is_called_by_its_class():
    with introspect.profile() as found:
        nn.Linear(2, 2)(torch.ones(1, 2))
    assert "Linear" in calls(found.modules)


def test_lines_are_those_of_the_program():
    x = torch.ones(3)
    with introspect.profile() as found:
        x + 1
        for _ in range(4):
            x * 2
    assert {share.file for share in found.lines} == {__file__}
    assert sorted(share.calls for share in found.lines) == [1, 4]


def test_kernels_are_named_with_their_places():
    x = torch.ones(3)
    with introspect.profile() as found:
        x.relu()
    share = found.kernels[0]
    assert share.name and share.file.endswith(".py") and share.line > 0


def test_other_threads_are_left_out():
    x = torch.ones(3)
    with introspect.profile() as found:
        thread = threading.Thread(target=lambda: x + 1)
        thread.start()
        thread.join()
        x * 2
    assert calls(found.operators) == {"mul.Tensor": 1}


def test_nothing_is_observed_after_the_block():
    from mindtorch._dispatch import observers

    before = observers._observers
    with introspect.profile():
        assert len(observers._observers) == len(before) + 1
    assert observers._observers == before


# -- sums, with times that are given ----------------------------------------------------------------------------------


def event(op, depth, start, duration):
    return DispatchEvent(
        0, op, 0, (), op, "kernels.py", 1, False, (), (), start - 1, start, duration, threading.get_ident(), "", None,
        depth, ("program.py", 7, "f"),
    )


def recorded(events, wall):
    """The sums of events, given with the times that observing them took, before and after, the inner ones first."""
    ends = iter([which.called + which.duration + cost for which, cost in events])
    recorder, found = _Recorder(ends.__next__), introspect.Profile()
    for which, _ in events:
        recorder.note(which)
    recorder.fill(found, wall, {})
    return found


def test_the_time_of_inner_operators_and_of_observing_is_not_the_outers_own():
    # outer from 0 to 100: inner from 10 to 30, 5 of observing, inner from 40 to 50, 5 of observing
    events = [(event("inner", 1, 10, 20), 5), (event("inner", 1, 40, 10), 5), (event("outer", 0, 0, 100), 7)]
    found = recorded(events, 120)
    times = {share.name: (share.calls, share.self_time, share.total_time) for share in found.operators}
    assert times == {"inner": (2, 30, 30), "outer": (1, 60, 100)}
    assert (found.observing, found.outside) == (17, 13)
    adds_up(found)
    assert [(share.calls, share.self_time, share.total_time) for share in found.lines] == [(1, 90, 100)]


def test_an_operator_inside_itself_is_counted_once():
    events = [(event("f", 2, 20, 10), 0), (event("g", 1, 10, 40), 0), (event("f", 0, 0, 100), 0),
              (event("f", 0, 200, 10), 0)]
    found = recorded(events, 300)
    times = {share.name: (share.calls, share.self_time, share.total_time) for share in found.operators}
    assert times == {"f": (3, 80, 110), "g": (1, 30, 40)}
    adds_up(found)


# -- pictures ----------------------------------------------------------------------------------------------------------


def test_the_picture_shows_the_parts_and_the_operators():
    shares = tuple(introspect.Share(f"op{i}", 2, 1000 * (30 - i), 1000 * (30 - i)) for i in range(20))
    found = introspect.Profile(1_000_000, 400_000, 190_000, shares, (), (introspect.Share("", 3, 5, 5, "a.py", 7),), ())
    page = Checker(viz.profile_page(found))
    assert "810 µs in all, 40 calls of 20 operators · measuring took 190 µs more (23%), which is left out" in page.text
    for part in ("outside operators (Python)", "49.4%", "50.6%", "3.7%", "op0", "op15", "4 more", "a.py:7"):
        assert part in page.text
    assert "op16" not in page.text
    text = viz.profile_text(found)
    assert "op15" in text and "and 4 more operators, 50 µs" in text
    assert "outside operators (Python) 400 µs (49.4%)" in text


def test_a_profile_says_why_its_times_may_be_wrong():
    said = measuring_text(2_000_000, 10_000_000, introspect.Overhead(4000, 500, 480, 520, 900_000))
    assert said == "measuring took 2 ms more (20%), which is left out: 4,000 events of PyTorch's profiler, 500 ns each"
    busy = measuring_text(2_000_000, 10_000_000, introspect.Overhead(4000, 500, 400, 1000, 4_000_000))
    assert busy == said + (
        " · times may be 20% off: an event took 400 ns to 1 µs when that was measured, since the processor was busy"
        " · for 4 ms (40%) of the program's time it waited, or other programs had the processor")


def test_the_picture_of_nothing_says_that():
    with introspect.profile() as found:
        pass
    text = Checker(viz.profile_page(found)).text
    assert "0 calls of 0 operators" in text and "measuring took" not in text
    assert "in operators 0 ns" in viz.profile_text(found)


def test_hostile_names_stay_text():
    name = "<img src=x onerror=alert(1)>"
    share = introspect.Share(name, 1, 1, 1, name, 3)
    html = viz.profile_page(introspect.Profile(10, 5, 4, (share,), (share,), (share,), (share,)))
    assert "img" not in Checker(html).tags and "&lt;img" in html
