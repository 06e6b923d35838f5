"""``acl`` itself and the part of ``acl.rt`` that is about devices, contexts and errors."""
from __future__ import annotations

from .. import constants as c
from . import errors, handles
from .devices import SOC, Context, current, machine, new_context, primary, thread
from .errors import Fault
from .exports import Table, exported
from .streams import Stream

ACL: Table = {}
RT: Table = {}


@exported(ACL)
def init(config: str = "") -> None:
    machine.start()


@exported(ACL)
def finalize() -> None:
    machine.shut_down()


def get_soc_name() -> str:
    return SOC


ACL["get_soc_name"] = get_soc_name


@exported(RT, results=3)
def get_version() -> tuple[int, int, int]:
    return 1, 13, 0


@exported(RT)
def get_last_error(level: int) -> int:
    return errors.last_code(clear=True)


@exported(RT)
def peek_at_last_error(level: int) -> int:
    return errors.last_code(clear=False)


# -- devices and contexts --------------------------------------------------------------------------------------------


@exported(RT)
def set_device(number: int) -> None:
    thread.context = primary(machine.device(number))


@exported(RT)
def reset_device(number: int) -> None:
    device = machine.device(number)
    context, device.primary = device.primary, None
    if context is not None:
        close_context(context)
    if not device.contexts:
        device.memory.clear()


@exported(RT, results=1)
def get_device() -> int:
    return current().device.number


@exported(RT, results=1)
def get_device_count() -> int:
    return len(machine.devices)


@exported(RT, results=1)
def create_context(number: int) -> int:
    context = thread.context = new_context(machine.device(number))
    return handles.add(context)


@exported(RT)
def destroy_context(handle: int) -> None:
    close_context(handles.remove(handle, Context))


def close_context(context: Context) -> None:
    """Wait for a context's streams and give them back."""
    gone = context.streams
    context.close()
    for handle in [handle for handle, thing in list(handles.objects.items()) if thing in gone]:
        handles.remove(handle, Stream)
    if thread.context is context:
        thread.context = None


@exported(RT)
def set_context(handle: int) -> None:
    context = handles.get(handle, Context)
    machine.device(context.device.number)
    thread.context = context


@exported(RT, results=1)
def device_can_access_peer(number: int, peer: int) -> int:
    return int(machine.device(number) is not machine.device(peer))


@exported(RT)
def device_enable_peer_access(peer: int, flags: int) -> None:
    device = current().device
    if machine.device(peer) is device:
        raise Fault(c.ACL_ERROR_RT_INVALID_DEVICEID, f"device {peer} is not a peer of itself")
    device.peers.add(peer)
