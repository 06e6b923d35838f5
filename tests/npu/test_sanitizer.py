"""The sanitizer itself: reports name the line of the call, and it sees what happens while it is on."""
from __future__ import annotations

import pytest

from mindtorch._backends.npu import simulator

from .program import arguments, array, empty, free, got, phases, plan, rt, scale
from .sanitized import clean, line_of

pytestmark = pytest.mark.usefixtures("sanitized")


def test_a_report_names_the_line_of_the_call() -> None:
    handle = got(rt.create_event())
    rt.destroy_event(handle)
    rt.destroy_event(handle)  # here
    (report,) = simulator.reports()
    assert report.site == f"{__file__}:{line_of(test_a_report_names_the_line_of_the_call, '# here')}"
    assert str(report).startswith(f"destroyed-handle: destroy_event at {report.site}: ")


def test_a_c_call_names_the_line_of_the_call() -> None:
    one, out = empty(2), empty(2)
    with arguments("aclnnRelu", (one, out)) as given:
        _, _, executor = plan("aclnnRelu", given)
        phases("aclnnRelu")[1](None, 0, executor, 0)  # here
    (report,) = simulator.reports()
    assert report.site == f"{__file__}:{line_of(test_a_c_call_names_the_line_of_the_call, '# here')}"


def test_switched_off_it_sees_nothing() -> None:
    simulator.sanitizer(False)
    one, out = empty(2), empty(2)
    scale(one, 2, out)
    free(one)
    assert simulator.reports() == []


def test_what_is_allocated_when_it_is_switched_on_counts_as_written() -> None:
    simulator.sanitizer(False)
    one, out = empty(2), empty(2)
    simulator.sanitizer(True)
    scale(one, 2, out)
    clean()


def test_what_ran_before_it_was_switched_off_and_on_is_over() -> None:
    """Its clocks begin anew, and would never come to the tasks that it counted before."""
    one, out, other = array([1.0, 2.0]), empty(2), empty(2)
    for _ in range(3):
        scale(one, 2, out)
    rt.synchronize_device()
    simulator.sanitizer(False)
    simulator.sanitizer(True)
    scale(one, 2, other)
    rt.synchronize_device()
    assert list(out.read()) == [2.0, 4.0]
    clean()
