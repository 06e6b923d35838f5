"""Kinds of devices: one ``Backend`` each, and the order in which the kernel of an operator is looked for."""
from __future__ import annotations

import pytest

import mindtorch as torch
from mindtorch import _wiring, registry
from mindtorch._base.backend import Backend, backends, by_key, register
from mindtorch._device import KINDS
from mindtorch._dispatch.keys import BACKEND_OF_DEVICE, BACKENDS, SPARSE, SPARSE_CSR
from mindtorch._dispatch.registry import Kernel


def test_every_kind_of_device_has_one_backend() -> None:
    assert set(backends) == set(KINDS)
    assert {name: backend.key for name, backend in backends.items()} == BACKEND_OF_DEVICE
    of_devices = {key: backend for key, backend in by_key.items() if key & BACKENDS}
    assert {backend.key: backend for backend in backends.values()} == of_devices
    assert sorted(key for key in by_key if not key & BACKENDS) == [SPARSE, SPARSE_CSR]  # of layouts, on every device


def test_a_backend_takes_the_place_of_one_of_the_same_name(monkeypatch) -> None:
    monkeypatch.setitem(backends, "meta", backends["meta"])
    monkeypatch.setitem(by_key, backends["meta"].key, backends["meta"])

    class Other(Backend):
        name, key = "meta", backends["meta"].key

        def read(self, tensor, operation):
            raise RuntimeError(f"another backend was asked by {operation}")

    x = torch.ones(2, device="meta")
    register(Other())
    with pytest.raises(RuntimeError, match="another backend was asked by tolist"):
        x.tolist()


def test_what_a_device_does_not_have_is_an_error_that_names_it() -> None:
    bare = Backend()
    bare.name = "bare"
    tensor = torch.ones(2)
    with pytest.raises(NotImplementedError, match="numpy: no kernel reads from the device cpu"):
        bare.read(tensor, "numpy")
    with pytest.raises(NotImplementedError, match="copy_: no kernel writes to the device cpu"):
        bare.write(tensor, tensor, False)
    with pytest.raises(NotImplementedError, match="bare devices do not copy from page-locked memory"):
        bare.pin_memory(tensor)
    assert bare.current_index() is None and bare.stream_name() is None


@pytest.mark.parametrize(("name", "where"), [
    ("add.Tensor", "own"), ("reshape", "composite"), ("add_.Tensor", "form"), ("_to_copy", "conversion"),
    ("permute", "view"),
])  # fmt: skip
def test_the_devices_own_kernel_is_looked_for_first_its_fallback_last(monkeypatch, name: str, where: str) -> None:
    op, cpu = registry[name], backends["cpu"]
    found = _wiring.find_kernel(op, cpu.key)
    assert found is not None and (where == "own") == (cpu.kernel(op) is not None)
    own = Kernel(print, print)
    monkeypatch.setattr(cpu, "kernel", lambda op: own, raising=False)
    assert _wiring.find_kernel(op, cpu.key) is own
    monkeypatch.setattr(cpu, "kernel", lambda op: None, raising=False)
    last = Kernel(print, print, fallback=True)
    monkeypatch.setattr(cpu, "fallback", lambda op: last, raising=False)
    assert (_wiring.find_kernel(op, cpu.key) is last) == (where == "own")
