"""Simulated operators in two phases: descriptors, executors, workspaces, what is refused, and what views compute."""
from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from mindtorch._backends.npu import constants as c, simulator

from . import program
from .program import Array, add, arguments, array, c_function, empty, got, launch, message, phases, plan, rt

pytestmark = pytest.mark.usefixtures("simulated")


def wait() -> None:
    assert rt.synchronize_device() == 0, message()


def ask(name: str, *types: Any) -> Any:
    """A getter: it returns a code and writes through pointers."""
    address = simulator.find(name)
    assert address is not None
    return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, *types)(address)


def numbers(name: str, handle: int) -> list[int]:
    """What a getter of a tensor's numbers tells."""
    values, size = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_uint64()
    assert ask(name, ctypes.c_void_p, ctypes.c_void_p)(handle, ctypes.addressof(values), ctypes.addressof(size)) == 0
    return values[: size.value]


# -- computing -------------------------------------------------------------------------------------------------------


def test_an_operator_computes_on_device_memory() -> None:
    one, other, out = array([1, 2, 3]), array([10, 20, 30]), empty(3)
    assert launch("aclnnAdd", one, other, 2, out) == 0
    wait()
    assert out.read().tolist() == [21, 42, 63]


def test_views_are_read_and_written_where_they_are() -> None:
    values = np.arange(24, dtype="float32").reshape(4, 6)
    source, target = array(values), array(np.zeros((4, 6)))
    columns = source.view((3, 4), (2, 6), 1)  # every second column from the second on, transposed
    into = target.view((3, 4), (1, 6), 2)
    assert add(columns, columns, into) == 0
    wait()
    expected = np.zeros((4, 6))
    expected[:, 2:5] = 2 * values[:, 1::2]
    np.testing.assert_array_equal(target.read(), expected)


def test_an_empty_tensor_needs_no_memory() -> None:
    nothing = Array(0, (0, 3), np.dtype("float32"), (3, 1))
    assert add(nothing, nothing, nothing) == 0
    wait()


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float64", "complex64"]
)
def test_all_dtypes_are_marshalled(dtype: str) -> None:
    values = np.array([0, 1, 1, 0]).astype(dtype)
    one, out = array(values, dtype), empty(4, dtype=dtype)
    assert launch("aclnnInplaceCopy", out, one) == 0
    wait()
    np.testing.assert_array_equal(out.read(), values)


def test_arrays_lists_flags_and_dtypes_are_marshalled() -> None:
    values = np.arange(6, dtype="float32").reshape(2, 3)
    one, total, joined = array(values), empty(2, 1), empty(4, 3)
    assert launch("aclnnReduceSum", one, (1,), True, c.ACL_FLOAT, total) == 0
    assert launch("aclnnCat", [one, one], 0, joined) == 0
    wait()
    np.testing.assert_array_equal(total.read(), values.sum(1, keepdims=True))
    np.testing.assert_array_equal(joined.read(), np.concatenate([values, values]))


def test_a_shape_that_depends_on_the_data_is_told_after_waiting() -> None:
    one, out = array([0, 3, 0, 4]), empty(4, 1, dtype="int64")
    handle, target = one.handle(), out.handle()
    code, size, executor = plan("aclnnNonzero", [handle, target])
    assert code == 0
    assert numbers("aclGetViewShape", target) == [4, 1]
    assert phases("aclnnNonzero")[1](got(rt.malloc(size, 0)) if size else None, size, executor, 0) == 0
    wait()
    assert numbers("aclGetViewShape", target) == [2, 1]
    assert out.read().ravel()[:2].tolist() == [1, 3]
    c_function("aclDestroyTensor")(handle)
    c_function("aclDestroyTensor")(target)


# -- descriptors -----------------------------------------------------------------------------------------------------


def test_a_descriptor_tells_what_it_describes() -> None:
    one = empty(4, 6).view((3, 4), (2, 6), 1)
    handle = one.handle()
    assert numbers("aclGetViewShape", handle) == [3, 4]
    assert numbers("aclGetViewStrides", handle) == [2, 6]
    assert numbers("aclGetStorageShape", handle) == [24]
    found = ctypes.c_int64()
    for name, value in (("aclGetViewOffset", 1), ("aclGetRawTensorAddr", one.address)):
        assert ask(name, ctypes.c_void_p)(handle, ctypes.addressof(found)) == 0
        assert found.value == value
    code = ctypes.c_int32()
    assert ask("aclGetDataType", ctypes.c_void_p)(handle, ctypes.addressof(code)) == 0
    assert code.value == c.ACL_FLOAT
    c_function("aclDestroyTensor")(handle)


def test_a_list_owns_its_tensors() -> None:
    listed = program.tensor_list([empty(3), empty(3)])
    assert simulator.live_handles() == {"aclTensor": 2, "aclTensorList": 1}
    size = ctypes.c_uint64()
    assert ask("aclGetTensorListSize", ctypes.c_void_p)(listed, ctypes.addressof(size)) == 0
    assert size.value == 2
    assert c_function("aclDestroyTensorList")(listed) == 0
    assert simulator.live_handles() == {}


def test_a_handle_is_destroyed_once_and_by_its_own_function() -> None:
    handle = empty(3).handle()
    assert c_function("aclDestroyScalar")(handle) == c.ACLNN_ERR_PARAM_INVALID
    assert "aclScalar expected" in message()
    assert c_function("aclDestroyTensor")(handle) == 0
    assert c_function("aclDestroyTensor")(handle) == c.ACLNN_ERR_PARAM_INVALID
    assert "destroyed before" in message()


def test_a_descriptor_of_an_unknown_dtype_is_not_made() -> None:
    dims = (ctypes.c_int64 * 1)(3)
    handle = c_function("aclCreateTensor")(
        ctypes.addressof(dims), 1, 99, None, 0, c.ACL_FORMAT_ND, ctypes.addressof(dims), 1, 64
    )
    assert handle is None
    assert "aclDataType 99" in message()


# -- the two phases --------------------------------------------------------------------------------------------------


def test_nothing_is_kept_of_descriptors_after_the_second_phase() -> None:
    one, out = array([1, 2]), empty(2)
    with simulator.paused():
        with arguments("aclnnAdd", (one, one, 1, out)) as given:
            code, _, executor = plan("aclnnAdd", given)
            assert code == 0
            assert simulator.live_handles() == {"aclTensor": 3, "aclScalar": 1, "aclOpExecutor": 1}
            assert phases("aclnnAdd")[1](None, 0, executor, 0) == 0
        assert simulator.live_handles() == {}
    wait()
    assert out.read().tolist() == [2, 4]


def test_an_executor_runs_once() -> None:
    one, out = array([1, 2]), empty(2)
    with arguments("aclnnRelu", (one, out)) as given:
        _, _, executor = plan("aclnnRelu", given)
    run = phases("aclnnRelu")[1]
    assert run(None, 0, executor, 0) == 0
    assert run(None, 0, executor, 0) == c.ACLNN_ERR_PARAM_INVALID
    assert "destroyed before" in message()


def test_an_executor_that_does_not_run_is_destroyed() -> None:
    one = array([1, 2])
    with arguments("aclnnRelu", (one, one)) as given:
        _, _, executor = plan("aclnnRelu", given)
    assert c_function("aclDestroyAclOpExecutor")(executor) == 0
    assert simulator.live_handles() == {}


def test_an_operator_that_asks_for_a_workspace_gets_it() -> None:
    one, out = array(np.eye(3)), empty(3, 3)
    with arguments("aclnnMatmul", (one, one, out, 0)) as given:
        for workspace in (None, "small", "host"):
            code, size, executor = plan("aclnnMatmul", given)
            assert code == 0 and size > 0
            place = {None: (None, size), "small": (empty(64).address, size - 1), "host": (id(given), size)}[workspace]
            assert phases("aclnnMatmul")[1](*place, executor, 0) in (
                c.ACLNN_ERR_PARAM_NULLPTR,
                c.ACLNN_ERR_PARAM_INVALID,
            )
            assert "workspace" in message()
    assert launch("aclnnMatmul", one, one, out, 0) == 0
    wait()
    assert simulator.live_handles() == {}
    np.testing.assert_array_equal(out.read(), np.eye(3))


def test_an_operator_leaves_garbage_in_its_workspace() -> None:
    """Whoever counts on what was there is found out."""
    one, out = array(np.eye(3)), empty(3, 3)
    with arguments("aclnnMatmul", (one, one, out, 0)) as given:
        _, size, executor = plan("aclnnMatmul", given)
        workspace = array(np.zeros(size), "uint8")
        assert phases("aclnnMatmul")[1](workspace.address, size, executor, 0) == 0
    wait()
    assert set(workspace.read().tolist()) == {0xA5}


# -- what is refused -------------------------------------------------------------------------------------------------


def refused(op: str, *values: Any) -> int:
    code = launch(op, *values)
    assert op in message()
    assert simulator.live_handles() == {}
    return code


def test_a_null_pointer_is_refused() -> None:
    one = array([1, 2])
    assert refused("aclnnAdd", one, None, 1, one) == c.ACLNN_ERR_PARAM_NULLPTR
    assert phases("aclnnRelu")[0](None, None, None, None) == c.ACLNN_ERR_PARAM_NULLPTR


def test_a_dtype_that_a_910b_does_not_take_is_refused() -> None:
    one = array([1, 2], "float64")
    assert refused("aclnnMatmul", one, one, one, 0) == c.ACLNN_ERR_PARAM_INVALID


def test_more_than_eight_dimensions_are_refused() -> None:
    one = array(np.ones((1,) * 9))
    assert refused("aclnnAdd", one, one, 1, one) == c.ACLNN_ERR_PARAM_INVALID


def test_a_number_that_is_no_handle_is_refused() -> None:
    one = array([1, 2])
    with arguments("aclnnRelu", (one, one)) as given:
        assert plan("aclnnRelu", [0xBAD, given[1]])[0] == c.ACLNN_ERR_PARAM_INVALID
        assert plan("aclnnRelu", [given[0], 1 << 44])[0] == c.ACLNN_ERR_PARAM_INVALID


def test_a_stream_that_does_not_exist_is_refused() -> None:
    one = array([1, 2])
    assert launch("aclnnRelu", one, one, stream=0xBAD) == c.ACL_ERROR_RT_INVALID_HANDLE
    assert simulator.live_handles() == {}


def test_shapes_that_do_not_go_together_fail_on_the_stream() -> None:
    assert add(array([1, 2, 3]), array([1, 2]), empty(3)) == 0
    assert rt.synchronize_stream(0) == c.ACL_ERROR_RT_AICORE_EXCEPTION
    assert "aclnnAdd" in message()
