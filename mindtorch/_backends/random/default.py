"""The default generator and the functions on it: ``torch.random``."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..._base.interrupts import contextmanager
from ..._tensor import Tensor
from .generator import Generator

default_generator = Generator()  #: what every sampler draws from where no generator is given
default_generator.seed()
#: Told of a seed that ``manual_seed`` sets: other devices' generators.
device_seeders: list[Callable[[int], None]] = []
#: By type of device: what keeps the state of the generators of these devices, or all, and returns what restores it.
device_forks: dict[str, Callable[[Iterable[Any] | None], Callable[[], None]]] = {}


def manual_seed(seed: Any) -> Generator:
    """Seed all default generators in [-2**63, 2**64), else ValueError; return the CPU's (``torch.manual_seed``)."""
    generator = default_generator.manual_seed(int(seed))
    for seeder in device_seeders:
        seeder(generator.initial_seed())
    return generator


def seed() -> int:
    """Seed the default generator from the operating system, and return the seed (``torch.seed``)."""
    return default_generator.seed()


def initial_seed() -> int:
    """Return the seed that the default generator was started from (``torch.initial_seed``)."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Return the default generator's state, uint8 of shape (5056,) (``torch.get_rng_state``)."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Continue the default generator from a state (``torch.set_rng_state``). Raises TypeError if the state is not a
    uint8 tensor on the CPU, and RuntimeError if the state is not contiguous, or not 5056 bytes of a valid state.
    """
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Iterable[Any] | None = None, enabled: bool = True, _caller: str = "fork_rng",
             _devices_kw: str = "devices", device_type: str | None = None) -> Iterator[None]:
    """Restore the generators of the CPU and of ``devices``, by default all of them, after a block
    (``torch.random.fork_rng``).
    """
    if not enabled or device_type == "meta":
        yield
        return
    kept = default_generator._get_state_array()
    restores = [fork(devices) for kind, fork in device_forks.items() if device_type in (None, kind)]
    try:
        yield
    finally:
        for restore in restores:
            restore()
        default_generator._set_state_array(kept)
