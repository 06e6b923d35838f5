"""DLPack: memory shared with other libraries, both ways."""
from __future__ import annotations

import numpy as np
import pytest

import mindtorch
from tests.support import name_of, torch

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("source", "target"), [(mindtorch, torch), (torch, mindtorch), (mindtorch, mindtorch)],
                         ids=["to PyTorch", "from PyTorch", "within"])
def test_both_libraries_see_the_same_memory(source, target, dtype: str) -> None:
    x = source.ones(2, 3).to(getattr(source, dtype))
    seen = target.from_dlpack(x.t())
    assert seen.stride() == (1, 3) and seen.data_ptr() == x.data_ptr() and name_of(seen.dtype) == dtype
    seen[0, 1] = 0
    assert x.tolist() == [[1, 1, 1], [0, 1, 1]]


@pytest.mark.parametrize("versioned", [True, False])
def test_capsules_of_both_versions_are_used_once(versioned: bool) -> None:
    x = mindtorch.arange(3.0)
    capsule = x.__dlpack__(max_version=(1, 0)) if versioned else mindtorch.utils.dlpack.to_dlpack(x)
    assert ("versioned" in repr(capsule)) is versioned
    seen = mindtorch.from_dlpack(capsule)
    seen.add_(1)
    assert x.tolist() == [1, 2, 3]
    with pytest.raises(RuntimeError, match="invalid capsule"):
        mindtorch.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="invalid capsule"):
        mindtorch.from_dlpack(3)


def test_arrays_of_numpy_come_and_go_and_stay_read_only() -> None:
    array = np.arange(4.0)
    mindtorch.from_dlpack(array).mul_(2)
    assert array.tolist() == [0, 2, 4, 6] and np.from_dlpack(mindtorch.ones(2)).tolist() == [1, 1]
    array.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        mindtorch.from_dlpack(array).add_(1)


def test_copies_devices_and_refusals_are_pytorchs() -> None:
    for t in (mindtorch, torch):
        x = t.ones(2)
        assert t.from_dlpack(x, copy=True).data_ptr() != x.data_ptr() == t.from_dlpack(x, device="cpu").data_ptr()
        assert tuple(map(int, x.__dlpack_device__())) == (1, 0)
        with pytest.raises(BufferError, match="Can't export tensors that require gradient"):
            t.from_dlpack(t.ones(2, requires_grad=True))
        with pytest.raises(ValueError, match="Unknown device type meta"):
            t.from_dlpack(t.ones(2, device="meta"))
        with pytest.raises(TypeError, match="stream must be"):
            x.__dlpack__(stream=object())
        with pytest.raises(AssertionError, match="stream should be None on cpu"):
            x.__dlpack__(stream=3)


def test_an_npu_gives_its_values_to_the_host_only_when_asked() -> None:
    x = mindtorch.ones(2, device="npu")
    assert x.__dlpack_device__()[0] == mindtorch.utils.dlpack.DLDeviceType.kDLExtDev
    with pytest.raises(BufferError, match="on the device npu"):
        x.__dlpack__()
    assert mindtorch.from_dlpack(x.__dlpack__(dl_device=(1, 0))).tolist() == [1, 1]
