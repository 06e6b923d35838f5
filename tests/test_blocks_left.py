"""Blocks are left wherever an interrupt comes: what they had changed is as it was before, though nobody lets go of the
traceback, as in a notebook.
"""
from __future__ import annotations

import contextlib
import gc
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import mindtorch as torch
from mindtorch._autograd.anomaly import AnomalyMode
from mindtorch._backends.npu.runtime import thread
from mindtorch._backends.npu.streams import _entered
from mindtorch._compile.stance import stance_of_thread
from mindtorch._dispatch import dispatcher, observers, torch_function
from mindtorch._dispatch.local import LocalState, local
from mindtorch._utils import loading
from mindtorch.autograd import forward_ad, profiler as autograd_profiler
from mindtorch.nn import _hooks as module_hooks
from mindtorch.overrides import BaseTorchFunctionMode
from mindtorch.serialization import weights_only
from mindtorch.utils._python_dispatch import BaseTorchDispatchMode
from mindtorch.utils.flop_counter import FlopCounterMode
from mindtorch.utils.module_tracker import ModuleTracker

PLACES = (str(Path(torch.__file__).parent), contextlib.__file__)  #: files whose functions are interrupted
NAMES = [name for name in LocalState.__annotations__ if name not in ("task", "formula", "depth")]


def state() -> dict[str, Any]:
    """All that blocks change."""
    return {name: getattr(local, name) for name in NAMES} | {
        "mode": dispatcher.mode, "function modes": torch_function._modes, "device": torch.tensor([1.0]).device,
        "observers": (observers._observers, observers._value_observers, observers.activity_observers),
        "anomaly": (AnomalyMode.enabled, AnomalyMode.check_nan), "profiles": autograd_profiler._active,
        "npu": (thread.device, torch.npu.current_stream(), len(_entered.before)), "gc": gc.isenabled(),
        "files": (loading.skip_data, weights_only.marked()), "autocast": torch.is_autocast_cache_enabled(),
        "stance": stance_of_thread.name,
        "hooks": (len(module_hooks.global_forward_pre_hooks), len(module_hooks.global_forward_hooks)),
    }


BLOCKS: dict[str, Callable[[], Any]] = {
    "no_grad": torch.no_grad, "enable_grad": torch.enable_grad, "inference_mode": torch.inference_mode,
    "set_grad_enabled": partial(torch.set_grad_enabled, True), "autocast": partial(torch.autocast, "cpu"),
    "device": partial(torch.device, "meta"), "observe": torch.observe, "pipeline": torch.pipeline,
    "values": lambda: observers.subscribed_values(lambda *_: None),
    "dispatch mode": BaseTorchDispatchMode, "function mode": BaseTorchFunctionMode,
    "saved tensors": lambda: torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x),
    "no saved tensors": lambda: torch.autograd.graph.disable_saved_tensors_hooks("no"),
    "forward mode": forward_ad.dual_level, "anomaly": lambda: torch.autograd.set_detect_anomaly(False),
    "profile": torch.autograd.profiler.profile, "profiler": torch.profiler.profile,
    "flops": partial(FlopCounterMode, display=False), "modules": ModuleTracker,
    "stance": partial(torch.compiler.set_stance, "default"),
    "switched": lambda: dispatcher.switched(frames=(1,), autocast={"cpu": torch.float16}),
    "npu stream": torch.npu.Stream,
    "safe globals": lambda: torch.serialization.safe_globals([threading.Thread]),
    "skip data": torch.serialization.skip_data, "no functions": torch._C.DisableTorchFunction,
}


@pytest.fixture(autouse=True)
def listening() -> Any:
    """Python's handler of SIGINT, also where the tests were started in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()  # which would have what earlier tests left behind be interrupted
    yield
    gc.enable()
    signal.signal(signal.SIGINT, before)


def enter_and_leave(block: Any, number: int, fails: bool) -> bool:
    """Go through a block, with an interrupt at the place of this number of those where Python looks for signals: before
    a function's first instruction, and after a function in C. Returns whether there were so many.
    """
    left = number

    def each(frame: Any, event: str, argument: Any) -> None:
        nonlocal left
        if event in ("call", "c_return") and frame.f_code.co_filename.startswith(PLACES):
            left -= 1
            if left < 0:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

    before = sys.getprofile()
    sys.setprofile(each)
    try:
        with suppress(ValueError), block:
            if fails:
                raise ValueError
    finally:
        sys.setprofile(before)
    return left < 0


@pytest.mark.parametrize("fails", [False, True], ids=["to the end", "by an error"])
@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_is_left_wherever_an_interrupt_comes(name: str, fails: bool) -> None:
    BLOCKS[name]()  # which may load modules
    before, kept = state(), []
    interrupted, number = True, 0
    while interrupted:
        block = BLOCKS[name]()
        try:
            interrupted = enter_and_leave(block, number, fails)
        except KeyboardInterrupt as error:
            kept.append(error)  # and with it the frames that were left
        now = state()
        assert now == before, (number, {key: (now[key], before[key]) for key in now if now[key] != before[key]})
        number += 1 + number // 50
    assert kept
