"""Linux namespaces of its own for a process, as an unprivileged user may make them.

It has a root of its own in memory (limited in size), in which only some folders of the machine are visible, read-only;
no network, no processes of others and few of its own, no privileges. It takes unprivileged user namespaces, which some
systems switch off.
"""
from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import re
import resource
import signal
from typing import Any

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
READ_ONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, RECURSIVE, PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
DETACH = 2
CAPABILITIES_VERSION = 0x20080522  #: of the structures that ``capset`` takes
SET_DEATH_SIGNAL, DROP_BOUNDING, NO_NEW_PRIVILEGES = 1, 24, 38
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41}
#: Flags of mounts as ``statvfs`` has them, and as ``mount`` takes them: a new namespace may not drop them.
KEPT = {2: NOSUID, 4: NODEV, 8: NOEXEC, 1024: 1024, 2048: 2048, 4096: 1 << 21}
PROCESSES = 400  #: that may run at a time, with threads
DEVICES = ("null", "zero", "full", "random", "urandom")

libc: Any = ctypes.CDLL(None, use_errno=True)


def call(function: str, *arguments: Any) -> None:
    """Call a function of the C library. Raise OSError if it fails."""
    given = [item.encode() if isinstance(item, str) else item for item in arguments]
    if getattr(libc, function)(*given) == -1:
        error = ctypes.get_errno()
        raise OSError(error, f"{function}: {os.strerror(error)}")


def mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Mount a file system."""
    call("mount", source, target, kind, ctypes.c_ulong(flags), options)


def show(source: str, target: str) -> None:
    """Make a file or folder visible at a place below the new root, read-only; a link stays a link."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
        return
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        open(target, "w").close()
    mount(source, target, None, BIND | RECURSIVE)
    found = os.statvfs(target).f_flag
    mount("none", target, None, BIND | REMOUNT | READ_ONLY | sum(flag for bit, flag in KEPT.items() if found & bit))


def build(root: str, visible: list[str], hidden: list[str], size: int) -> None:
    """Make a folder the root of this process and its children, with what is to be visible."""
    mount("none", "/", None, RECURSIVE | PRIVATE)
    mount("tmpfs", root, "tmpfs", NOSUID | NODEV, f"size={size},mode=755")
    for place in visible:
        show(place, root + place)
    for folder in hidden:
        mount("tmpfs", root + folder, "tmpfs", NOSUID | NODEV | READ_ONLY, "size=4096")
    for folder in ("/tmp", "/dev/shm", "/proc"):
        os.makedirs(root + folder, exist_ok=True)
    for device in DEVICES:
        open(f"{root}/dev/{device}", "w").close()
        mount(f"/dev/{device}", f"{root}/dev/{device}", None, BIND)
    with contextlib.suppress(PermissionError):  # some containers refuse, and programs do without
        mount("proc", f"{root}/proc", "proc", NOSUID | NODEV | NOEXEC)
    os.chdir(root)
    call("syscall", PIVOT_ROOT[platform.machine()], ".", ".")
    call("umount2", ".", DETACH)
    os.chdir("/tmp")


def limit_processes() -> None:
    """Limit the number of processes and threads, as far as the kernel counts those of a namespace by themselves."""
    version = tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])
    if version >= (5, 14):  # before that, all processes of the user would count
        resource.setrlimit(resource.RLIMIT_NPROC, (PROCESSES, PROCESSES))
    if version >= (6, 14):  # before that, it is the limit of the whole machine; it also holds for root
        with contextlib.suppress(OSError), open("/proc/sys/kernel/pid_max", "w") as file:
            file.write(str(PROCESSES))


def give_up_privileges() -> None:
    """Drop every capability, for good."""
    capability = 0
    while libc.prctl(DROP_BOUNDING, capability, 0, 0, 0) == 0:
        capability += 1
    call("prctl", NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    call("capset", (ctypes.c_uint32 * 2)(CAPABILITIES_VERSION, 0), (ctypes.c_uint32 * 6)())


def enter(root: str, visible: list[str], hidden: list[str], size: int) -> None:
    """Go on as the first process of new namespaces; this process waits for that one, and ends with it. Raise OSError if
    the system refuses.

    Args:
        root: an empty folder
        visible: folders and files of the machine
        hidden: folders among these that are seen empty
        size: bytes of all files that may be written
    """
    user, group = os.getuid(), os.getgid()
    call("unshare", NEWUSER | NEWNS | NEWPID | NEWIPC | NEWNET | NEWUTS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    child = os.fork()
    if child:  # all others end with the first process
        os.closerange(0, 3)
        os.waitpid(child, 0)
        os._exit(0)
    call("prctl", SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    build(root, visible, hidden, size)
    limit_processes()
    give_up_privileges()
