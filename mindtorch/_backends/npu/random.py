"""Random numbers on the NPU: generators that count, as the device draws from a seed and an offset
(``torch.npu.manual_seed``).
"""
from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ..._device import device as Device, resolve_device
from ..._dtype import uint8
from ..._tensor import Tensor, from_array
from ..random.default import default_generator, device_forks, device_seeders
from ..random.generator import Generator, kinds
from .runtime import thread
from .streams import DeviceLike


class NpuGenerator(Generator):
    """A stream of random numbers on an NPU: a seed, and how many numbers were drawn (``torch.Generator``)."""

    def __init__(self, device: Device | str | None = None):
        super().__init__()
        self.device = resolve_device(device or "npu")

    def manual_seed(self, seed: int) -> Generator:
        self._offset = 0
        return super().manual_seed(seed)

    def advance(self, count: int) -> tuple[int, int]:
        """Return the seed and the offset of the next ``count`` numbers, and count them as drawn."""
        with self.lock:
            start, self._offset = self._offset, self._offset + -(-count // 4) * 4
            return self._seed, start

    def get_state(self) -> Tensor:
        """Return the seed and the offset, as uint8 of shape (16,)."""
        return from_array(np.array([self._seed, self._offset], np.uint64).view(np.uint8), uint8)

    def set_state(self, new_state: Tensor) -> Generator:
        """Continue from a state; RuntimeError if the state is not one of an NPU."""
        state = np.array(new_state.numpy())
        if state.dtype != np.uint8 or state.shape != (16,):
            raise RuntimeError(f"RNG state of an NPU must be 16 bytes, but got {new_state.dtype} of shape "
                               f"{list(new_state.shape)}")
        seed, offset = state.view(np.uint64).tolist()
        self.manual_seed(seed)
        self._offset = offset
        return self

    def clone_state(self) -> Generator:
        return NpuGenerator(self.device).set_state(self.get_state())


_defaults: dict[int, NpuGenerator] = {}
_seed: int | None = None


def generator_of(index: int) -> NpuGenerator:
    """Return the default generator of a device."""
    found = _defaults.get(index)
    if found is None:
        found = _defaults.setdefault(index, NpuGenerator(Device("npu", index)))
        found.manual_seed(default_generator.initial_seed() if _seed is None else _seed)
    return found


def manual_seed(seed: int) -> None:
    """Seed the current device's generator (``torch.cuda.manual_seed``)."""
    generator_of(thread.device).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices (``torch.cuda.manual_seed_all``)."""
    global _seed
    _seed = int(seed)
    for found in _defaults.values():
        found.manual_seed(_seed)


def initial_seed() -> int:
    """Return the seed that the current device's generator started from (``torch.cuda.initial_seed``)."""
    return generator_of(thread.device).initial_seed()


def get_rng_state(device: DeviceLike = "npu") -> Tensor:
    """Return a generator's seed and offset as uint8 of shape (16,) (``torch.cuda.get_rng_state``)."""
    return generator_of(resolve_device(device).index or 0).get_state()


def set_rng_state(new_state: Tensor, device: DeviceLike = "npu") -> None:
    """Set a generator's 16 bytes of state (``torch.cuda.set_rng_state``); RuntimeError for another size."""
    generator_of(resolve_device(device).index or 0).set_state(new_state)


def fork(devices: Iterable[DeviceLike] | None) -> Callable[[], None]:
    """Keep the state of the generators of these devices, or of all, and return what restores it."""
    indices = [*_defaults] if devices is None else [resolve_device(device).index or 0 for device in devices]
    states = {index: generator_of(index).get_state() for index in indices}

    def restore() -> None:
        for index in [*_defaults]:
            if index in states:
                _defaults[index].set_state(states[index])
            elif devices is None:  # drawn from for the first time since; it will begin anew
                del _defaults[index]

    return restore


def drawn(count: int, device: Device, generator: Generator | None = None) -> tuple[int, int]:
    """Return the seed and offset of the next numbers; RuntimeError if the generator is another device's."""
    if generator is None:
        generator = generator_of(device.index or 0)
    if not isinstance(generator, NpuGenerator):
        raise RuntimeError(f"Expected a 'npu' device type for generator but found '{generator.device.type}'")
    return generator.advance(count)


kinds["npu"] = NpuGenerator
device_seeders.append(manual_seed_all)
device_forks["npu"] = fork
