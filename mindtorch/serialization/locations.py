"""Where storages were, and where they go: location tags, and ``map_location``."""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .._backends.npu.devices import device_count
from .._device import KINDS, device
from .._storage import UntypedStorage

Restore = Callable[[Any, str], Any]
#: (priority, what tags a storage, what restores it): the first that does not give None does it.
_packages: list[tuple[int, Callable[[Any], str | None], Callable[[Any, str], Any]]] = []
#: Devices that PyTorch's messages name and that do not exist here.
_ELSEWHERE = ("cuda", "mps", "hpu", "xpu", "mtia", "ipu", "xla", "hip")


def register_package(priority: int, tagger: Callable[[Any], str | None],
                     deserializer: Callable[[Any, str], Any]) -> None:
    """Register ``tagger(storage)``, which returns the tag of a storage's place, and ``deserializer(storage,
    location)``, which moves a storage there. If one returns None, the next is asked, lower priorities first
    (``torch.serialization.register_package``).
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage: Any) -> str:
    """Return the tag of a storage's place (``torch.serialization.location_tag``); RuntimeError if nothing knows it."""
    for _, tagger, _ in _packages:
        location = tagger(storage)
        if location:
            return location
    raise RuntimeError(f"don't know how to determine data location of torch.storage.{type(storage).__name__}")


def default_restore_location(storage: Any, location: str) -> Any:
    """Return a storage, moved to the place of a tag (``torch.serialization.default_restore_location``). Raises
    RuntimeError if nothing knows the tag, or there is no such device.
    """
    for _, _, deserializer in _packages:
        result = deserializer(storage, location)
        if result is not None:
            return result
    raise RuntimeError(f"don't know how to restore data location of torch.storage.{type(storage).__name__} (tagged "
                       f"with {location})")


def restore_location(map_location: Any) -> Restore:
    """Return the function that ``map_location`` stands for, whatever its form."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, (str, bytes)):
        place = map_location if isinstance(map_location, str) else map_location.decode()
        return lambda storage, location: default_restore_location(storage, place)
    if isinstance(map_location, device):
        return lambda storage, location: default_restore_location(storage, str(map_location))

    def restore(storage: Any, location: str) -> Any:
        result = map_location(storage, location)
        return default_restore_location(storage, location) if result is None else result

    return restore


def is_meta(map_location: Any) -> bool:
    """Return whether ``map_location`` certainly means the meta device, which needs no data."""
    return map_location == "meta" if isinstance(map_location, str) else (
        isinstance(map_location, device) and map_location.type == "meta")


def _tagged(kind: str) -> Callable[[Any], str | None]:
    return lambda storage: str(storage.device) if storage.device.type == kind else None


def _restored(kind: str) -> Restore:
    """Return the function that restores to a kind of device, whose tag may have a number."""
    pattern = re.compile(f"{kind}(:|[0-9]+|$)")

    def restore(storage: Any, location: str) -> Any:
        if not pattern.match(location):
            return None
        if kind in _ELSEWHERE:
            raise RuntimeError(f"Attempting to deserialize object on a {kind.upper()} device but torch.{kind}."
                               "is_available() is False. If you are running on a CPU-only machine, please use "
                               "torch.load with map_location=torch.device('cpu') to map your storages to the CPU.")
        where = device(location)
        if where.type == "meta":
            return UntypedStorage(storage.nbytes(), device=where)
        if where.index is not None and kind == "npu":
            count = device_count()
            if where.index >= count:
                raise RuntimeError(f"Attempting to deserialize object on {kind.upper()} device {where.index} but "
                                   f"torch.{kind}.device_count() is {count}. Please use torch.load with map_location "
                                   "to map your storages to an existing device.")
        return storage.to(device=where)

    return restore


register_package(10, _tagged("cpu"), lambda storage, location: storage if location == "cpu" else None)
for _priority, _kind in enumerate((*(kind for kind in KINDS if kind != "cpu"), *_ELSEWHERE), 20):
    register_package(_priority, _tagged(_kind), _restored(_kind))
