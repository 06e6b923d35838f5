"""Names of PyTorch that raise: checks of one's own, and functions that are no more; and streams of any device."""
from __future__ import annotations

import pytest

import mindtorch
from tests.both import assert_same_outcome, each_program
from tests.support import torch


@pytest.mark.parametrize("name", ["_check", "_check_index", "_check_value", "_check_type", "_check_not_implemented"])
@pytest.mark.parametrize("args", [(True,), (1,), (False,), (False, "text"), (False, lambda: 3)],
                         ids=["true", "one", "false", "a text", "a function"])
def test_a_check_raises_its_error_with_the_message_that_is_made_then(name, args) -> None:
    assert_same_outcome(lambda t: getattr(t, name)(*args))


@each_program(
    lambda t: t._check(t.tensor(True)),
    lambda t: t._check_tensor_all(t.tensor([True, True])),
    lambda t: t._check_tensor_all(t.tensor([True, False]), lambda: "not all"),
    lambda t: t._check_tensor_all(t.tensor([1])),
    lambda t: t._check_tensor_all(True),
)
def test_a_condition_that_is_a_tensor_has_a_check_of_its_own(program) -> None:
    assert_same_outcome(program)


def test_a_size_is_checked_with_a_warning_that_says_what_to_write() -> None:
    with pytest.warns(FutureWarning, match="_check_is_size will be removed"):
        mindtorch._check_is_size(3, max=3)
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="too many"):
        mindtorch._check_is_size(4, lambda: "too many", max=3)


@pytest.mark.parametrize("name", ["eig", "lstsq", "matrix_rank", "solve", "symeig"])
def test_a_removed_function_says_what_to_call_instead(name) -> None:
    for lib in (mindtorch, torch):
        with pytest.raises(RuntimeError, match=r"is now removed(.|\n)*torch\.linalg"):
            getattr(lib, name)(lib.eye(2), lib.eye(2)) if name in ("lstsq", "solve") else getattr(lib, name)(lib.eye(2))
        assert hasattr(lib.Tensor, name) == (name != "matrix_rank")


@each_program(
    lambda t: t.Stream("cpu"), lambda t: t.Stream("cpu") == t.Stream("cpu"), lambda t: t.Stream("cpu").device,
    lambda t: t.Stream("cpu").query(), lambda t: t.Stream("cpu").synchronize(), lambda t: t.Stream("meta"),
    lambda t: t.Stream("cpu").record_event(), lambda t: t.Stream("cpu").wait_stream(t.Stream("cpu")),
    lambda t: t.Event("cpu"), lambda t: t.Event(device="cpu", enable_timing=True), lambda t: t.Event("cpu").query(),
    lambda t: t.Event("cpu").record(), lambda t: t.Event("cpu").elapsed_time(t.Event("cpu")),
    lambda t: t.Event("cpu").device,
)
def test_the_cpu_has_a_stream_without_events(program) -> None:
    assert_same_outcome(program)


def test_streams_and_events_of_a_device_are_of_its_own_class() -> None:
    stream = mindtorch.Stream("npu", priority=0)  # type: ignore[call-arg]
    assert type(stream) is mindtorch.npu.Stream and isinstance(mindtorch.npu.default_stream(), mindtorch.Stream)
    event = mindtorch.Event("npu", enable_timing=True)  # type: ignore[call-arg]
    event.record(stream)
    assert type(event) is mindtorch.npu.Event and event.device == mindtorch.device("npu:0")
    event.synchronize()
    assert event.query()


def test_the_configuration_says_what_computes() -> None:
    shown = mindtorch.__config__.show()
    assert "NumPy" in shown and "loops of numba" in shown
    assert "get_num_threads() : " in mindtorch.__config__.parallel_info()


@each_program(
    lambda t: t.nuclear_norm(t.eye(3)), lambda t: t.nuclear_norm(t.ones(2, 3, 4), True),
    lambda t: t.nuclear_norm(t.ones(2, 3, 4), dim=(0, 2)), lambda t: t.nuclear_norm(t.eye(3), dim=(0, 0)),
    lambda t: t.lu(t.ones(2, 2)),
)
def test_old_names_of_linear_algebra(program) -> None:
    assert_same_outcome(program)


@each_program(
    lambda t: t.ones(2).resize_(2**40, 2**40), lambda t: t.ones(2).resize_(2**62), lambda t: t.ones(2).resize_(-1),
    lambda t: t.ones(2).resize_(0, 2**40, 2**40), lambda t: t.ones(2, device="meta").resize_(2**40, 2**40),
)
def test_a_shape_that_cannot_be_is_refused(program) -> None:
    assert_same_outcome(program)


def test_a_resize_without_enough_memory_says_how_much_was_asked_for() -> None:
    for lib in (mindtorch, torch):
        with pytest.raises(RuntimeError, match="you tried to allocate 4611686018427387904 bytes"):
            lib.ones(2, dtype=lib.int8).resize_(2**62)
