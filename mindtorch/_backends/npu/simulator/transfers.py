"""Copies and fills between host and device: which side an address is on, and whether there is room."""
from __future__ import annotations

from .. import constants as c
from . import watch
from .devices import Device, machine
from .errors import Fault
from .memory import Block
from .streams import Stream

#: The sides that a kind of copy writes and reads: True for the device. For other kinds the addresses decide.
SIDES = {
    c.ACL_MEMCPY_HOST_TO_HOST: (False, False),
    c.ACL_MEMCPY_HOST_TO_DEVICE: (True, False),
    c.ACL_MEMCPY_DEVICE_TO_HOST: (False, True),
    c.ACL_MEMCPY_DEVICE_TO_DEVICE: (True, True),
    c.ACL_MEMCPY_DEFAULT: (None, None),
}


def check_fill(stream: Stream | None, call: str, address: int, maximum: int, size: int) -> None:
    """Check what a memset writes. Raises Fault if it is not device memory, or not all of one block's."""
    _check_size(call, maximum, size)
    place = place_of(call, address, size, "devPtr", True)
    if watch.active is not None:
        watch.active.transfer(stream, call, place, None, size)


def check_copy(stream: Stream | None, call: str, to: int, maximum: int, source: int, size: int, kind: int) -> bool:
    """Check a memcpy's addresses, room (bytes) and peers, else Fault; return True if within one device."""
    if kind not in SIDES:
        raise Fault(c.ACL_ERROR_RT_PARAM_INVALID, f"{call}: kind {kind} is not supported")
    _check_size(call, maximum, size)
    writes, reads = SIDES[kind]
    target, origin = place_of(call, to, size, "dst", writes), place_of(call, source, size, "src", reads)
    if target and origin and target[0] is not origin[0]:
        numbers = target[0].number, origin[0].number
        if numbers[0] not in origin[0].peers or numbers[1] not in target[0].peers:
            raise Fault(c.ACL_ERROR_RT_PARAM_INVALID, f"{call}: devices {numbers[0]} and {numbers[1]} are no peers")
    if watch.active is not None:
        watch.active.transfer(stream, call, target, origin, size, host=(to, source))
    return bool(target and origin and target[0] is origin[0])


def _check_size(call: str, maximum: int, size: int) -> None:
    if size < 0 or size > maximum:
        raise Fault(c.ACL_ERROR_RT_PARAM_INVALID, f"{call}: {size} bytes do not fit into {maximum}")


Place = tuple[Device, Block, int]


def place_of(call: str, address: int, size: int, what: str, on_device: bool | None) -> Place | None:
    """Return the device, block and address of device memory; None for host memory."""
    if not address:
        raise Fault(c.ACL_ERROR_RT_PARAM_INVALID, f"{call}: {what} is null")
    device = machine.owner(address)
    if on_device is None:
        on_device = device is not None
    if on_device != (device is not None):
        sides = ("device", "host") if on_device else ("host", "device")
        message = f"{call}: {what} {address:#x} is {sides[1]} memory where {sides[0]} memory belongs"
        raise Fault(c.ACL_ERROR_RT_PARAM_INVALID, message, "host-pointer")
    if device is None:
        return None
    block = device.memory.block_at(address)
    if block is None or address + size > block.end:
        raise misplaced(f"{call}: {what} is {size} bytes at {address:#x}", address, block)
    return device, block, address


def misplaced(message: str, address: int, block: Block | None) -> Fault:
    """Return the Fault for an address that is not in an allocated block, or not with all that follows."""
    if block is not None:
        kind, words = "out-of-bounds", f"in a block of {block.size} bytes at {block.start:#x}"
    elif watch.active is not None:
        kind, words = watch.active.mistake_at(address)
    else:
        kind, words = "out-of-bounds", "where nothing is allocated"
    return Fault(c.ACL_ERROR_RT_PARAM_INVALID, f"{message}, {words}", kind)
