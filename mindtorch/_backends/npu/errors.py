"""What a return code of CANN's means: an exception with the call, the code's name and the device's own message."""
from __future__ import annotations

import ctypes

from . import provider
from .constants import ERROR_NAMES

#: What helps after an operator failed in the failure mode "stop".
RESTART = ("All streams of {0} stopped at that failure, and take nothing more. torch.npu.restart_device({0!r}) gives "
           "it new streams; what had been computed before stays.")
#: The failures at which all streams of a device have stopped in the failure mode "stop", by the device's name.
stopped: dict[str, AclError] = {}


class AclError(RuntimeError):
    """The error of a call into CANN that returned a code other than 0 (``torch.AcceleratorError``)."""

    def __init__(self, call: str, code: int, device: str, message: str):
        self.call, self.code, self.name = call, code, ERROR_NAMES.get(code, "unknown error")
        detail = f": {message}" if message else ""
        super().__init__(f"{call} failed on {device} with {self.name} ({code}){detail}")

    def again(self) -> AclError:
        """This error, to be raised another time. It has a traceback of its own, and what is kept of the first keeps no
        frames alive.
        """
        copy = AclError.__new__(type(self), *self.args)
        copy.__dict__.update(self.__dict__, **{"__notes__": list(self.__notes__)} if hasattr(self, "__notes__") else {})
        return copy


def recent_message() -> str:
    """What the device said about the last error of this thread, CANN's ``aclGetRecentErrMsg``; '' if nothing."""
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
        raise _failure(code, call, device)  # no local variable: its traceback would keep this frame, and that the error


def _failure(code: int, call: str, device: str) -> AclError:
    error = AclError(call, code, device, recent_message())
    if device in stopped and code == stopped[device].code:
        error.add_note(RESTART.format(device))
    return error
