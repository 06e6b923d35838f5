"""Grad mode: it belongs to a thread, and neither interrupts nor errors leave it in a state that was not asked for."""
from __future__ import annotations

import signal
import threading
from typing import Any

import pytest

import mindtorch as torch
from mindtorch._dispatch import dispatcher


def test_other_threads_record_while_one_does_not() -> None:
    recorded: list[bool] = []
    w = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        thread = threading.Thread(target=lambda: recorded.append((w * 2).requires_grad))
        thread.start()
        thread.join()
        recorded.append((w * 2).requires_grad)
    assert recorded == [True, False]


def test_no_call_looks_at_the_thread_for_grad_mode() -> None:
    """Grad mode concerns only calls of which an input requires grad: the mode of the dispatcher stays as it is."""
    modes = [dispatcher.mode]
    w = torch.ones(2, requires_grad=True)
    w.register_hook(lambda grad: modes.append(dispatcher.mode))
    (w * 2).sum().backward()
    with torch.no_grad():
        modes.append(dispatcher.mode)
    assert modes == [0, 0, 0]


def test_a_module_that_calls_itself_without_end_leaves_no_grad_working() -> None:
    w = torch.ones(2, requires_grad=True)

    def forward(x: Any) -> Any:
        with torch.no_grad():
            return forward(x * w)

    for _ in range(3):
        with pytest.raises(RecursionError):
            forward(torch.ones(2))
        assert torch.is_grad_enabled()
        assert (w * 2).requires_grad
        with torch.no_grad():
            assert not (w * 2).requires_grad


def test_a_signal_handler_may_use_grad_mode_during_backward() -> None:
    """It interrupts the thread at any place; a lock that this thread holds would never be released. The next signal
    waits for the handler to return, which may take longer than any interval.
    """
    w, handled = torch.ones(4, requires_grad=True), 0

    def handle(number: int, frame: Any) -> None:
        nonlocal handled
        with torch.no_grad():
            (w * 2).sum()
        with torch.inference_mode():
            (w * 2).sum()
        handled += 1
        signal.setitimer(signal.ITIMER_REAL, 0.0005)

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.0005)
    try:
        while handled < 50:
            with torch.inference_mode(False):
                (w * 2).sum().backward()
            assert torch.is_grad_enabled()
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)  # before the timer stops, which the handler would start again
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert dispatcher.mode == 0


@pytest.mark.parametrize("name", ["add", "relu", "matmul", "linear", "var"])
def test_nothing_is_recorded_without_grad_mode(name: str) -> None:
    """Operators recorded in each of the ways that there are: one input, two, any number, composite with and without a
    derivative of its own.
    """
    w = torch.ones(3, 3, requires_grad=True)
    calls = {
        "add": lambda: w + w, "relu": lambda: w.relu(), "matmul": lambda: w @ w, "var": lambda: w.var(0),
        "linear": lambda: torch.nn.functional.linear(w, w, torch.ones(3)),
    }
    assert calls[name]().grad_fn is not None
    with torch.no_grad():
        result = calls[name]()
        assert (result.requires_grad, result.grad_fn) == (False, None)
        w.add_(1)  # which a leaf allows only here
        torch.add(w, w, out=torch.empty(3, 3))
