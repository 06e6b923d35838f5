"""pyACL's modules ``acl`` and ``acl.rt``, with the call shapes of the real ones: ints go in, results and a code come
out.
"""
from __future__ import annotations

import sys
from types import SimpleNamespace

from . import acl_devices, acl_memory, acl_streams
from .devices import SOC, machine
from .exports import exported


def init(config: str = "") -> None:
    machine.start()


def finalize() -> None:
    machine.shut_down()


rt = SimpleNamespace(__name__="acl.rt", **exported(acl_devices), **exported(acl_streams), **exported(acl_memory))
acl = SimpleNamespace(__name__="acl", rt=rt, get_soc_name=lambda: SOC, **exported(sys.modules[__name__]))
