"""pyACL's modules ``acl`` and ``acl.rt``, with the call shapes of the real ones: ints go in, results and a code come
out.
"""
from __future__ import annotations

from types import SimpleNamespace

from . import acl_devices, acl_memory, acl_streams

rt = SimpleNamespace(__name__="acl.rt", **acl_devices.RT, **acl_streams.RT, **acl_memory.RT)
acl = SimpleNamespace(__name__="acl", rt=rt, **acl_devices.ACL)
