"""The part of ``acl.rt`` that is about devices, contexts and errors."""
from __future__ import annotations

from .. import constants as c
from . import errors, handles
from .devices import Context, current, machine, new_context, primary, thread
from .errors import Fault
from .exports import Code
from .streams import Stream


def get_version() -> tuple[int, int, int]:
    return 1, 13, 0


def get_last_error(level: int) -> Code:
    return errors.last_code(clear=True)


def peek_at_last_error(level: int) -> Code:
    return errors.last_code(clear=False)


# -- devices and contexts --------------------------------------------------------------------------------------------


def set_device(number: int) -> None:
    thread.context = primary(machine.device(number))


def reset_device(number: int) -> None:
    device = machine.device(number)
    context, device.primary = device.primary, None
    if context is not None:
        _close_context(context)
    if not device.contexts:
        device.memory.clear()


def get_device() -> int:
    return current().device.number


def get_device_count() -> int:
    return len(machine.devices)


def create_context(number: int) -> int:
    context = thread.context = new_context(machine.device(number))
    return handles.add(context)


def destroy_context(handle: int) -> None:
    _close_context(handles.remove(handle, Context))


def _close_context(context: Context) -> None:
    """Wait for a context's streams and give them back."""
    gone = context.streams
    context.close()
    for handle in [handle for handle, thing in list(handles.objects.items()) if thing in gone]:
        handles.remove(handle, Stream)
    if thread.context is context:
        thread.context = None


def set_context(handle: int) -> None:
    context = handles.get(handle, Context)
    machine.device(context.device.number)
    thread.context = context


def device_can_access_peer(number: int, peer: int) -> int:
    return int(machine.device(number) is not machine.device(peer))


def device_enable_peer_access(peer: int, flags: int) -> None:
    device = current().device
    if machine.device(peer) is device:
        raise Fault(c.ACL_ERROR_RT_INVALID_DEVICEID, f"device {peer} is not a peer of itself")
    device.peers.add(peer)
