"""Exceptions for CANN's return codes, with the call, the code's name and the device's own message."""
from __future__ import annotations

import ctypes

from . import provider
from .constants import ACL_ERROR_RT_CONTEXT_NULL, ACL_ERROR_RT_INVALID_HANDLE, ACL_ERROR_RT_STREAM_CONTEXT, ERROR_NAMES

#: The advice after an operator failed in the failure mode "stop".
RESTART = ("All streams of {0} stopped at that failure, and take nothing more. torch.npu.restart_device({0!r}) gives "
           "it new streams; what had been computed before stays.")
#: The failures at which all streams of a device have stopped in the failure mode "stop", by the device's name.
stopped: dict[str, AclError] = {}
#: The explanation for a thread that used the stream or the context from before.
RESTARTED = ("Another thread has restarted {0} meanwhile. Operators that this one had put into its streams have no "
             "result; later ones run.")
LOST_HANDLE = (ACL_ERROR_RT_CONTEXT_NULL, ACL_ERROR_RT_INVALID_HANDLE, ACL_ERROR_RT_STREAM_CONTEXT)
restarted: set[str] = set()  #: the devices, by name, that were restarted


class AclError(RuntimeError):
    """The error of a call into CANN that returned a code other than 0 (``torch.AcceleratorError``)."""

    def __init__(self, call: str, code: int, device: str, message: str):
        self.call, self.code, self.name = call, code, ERROR_NAMES.get(code, "unknown error")
        detail = f": {message}" if message else ""
        super().__init__(f"{call} failed on {device} with {self.name} ({code}){detail}")

    def again(self) -> AclError:
        """Return a copy to raise once more, so that the stored error's traceback keeps no frames alive."""
        copy = AclError.__new__(type(self), *self.args)
        copy.__dict__.update(self.__dict__, **{"__notes__": list(self.__notes__)} if hasattr(self, "__notes__") else {})
        return copy


def recent_message() -> str:
    """Return the device's message about this thread's last error (``aclGetRecentErrMsg``), '' if there is none."""
    try:
        address = provider.load().find("aclGetRecentErrMsg")
    except RuntimeError:
        return ""
    if not address:
        return ""
    text = ctypes.CFUNCTYPE(ctypes.c_char_p)(address)()
    return text.decode(errors="replace").strip() if text else ""


def check(code: int, call: str, device: str = "npu") -> None:
    """Raise what a return code other than 0 means, an ``AclError`` with the call, the code and the device's message."""
    if code:
        # No local variable has it: its traceback would keep this frame, and that the error.
        raise explained(AclError(call, code, device, recent_message()), device)


def explained(error: AclError, device: str) -> AclError:
    """Add notes to an error: which operator stopped the device and what helps, or that the device was restarted."""
    if device in stopped and error.code == stopped[device].code:
        for note in (*getattr(stopped[device], "__notes__", ()), RESTART.format(device)):
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
    elif device in restarted and error.code in LOST_HANDLE:
        error.add_note(RESTARTED.format(device))
    return error
