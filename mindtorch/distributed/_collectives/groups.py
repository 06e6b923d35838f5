"""Groups of processes: how they are made, who is in them, and how long they wait for each other."""
from __future__ import annotations

import atexit
import importlib.util
import itertools
import os
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from datetime import timedelta
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from ..._base.call_site import call_site, place_of
from . import launcher
from .engine import Engine, Steps, Work
from .errors import DistStoreError
from .headers import agree
from .rendezvous import join, joined, started_by_mpi, store_of

default_pg_timeout = timedelta(minutes=30)
#: In a thread of the library: the line of the program that it works for.
started_at: ContextVar[str] = ContextVar("started_at", default="")
#: The kind of device whose tensors a backend takes. They are names for one transport, MPI.
DEVICES = {"mpi": "cpu", "gloo": "cpu", "hccl": "npu"}


class ProcessGroup:
    """Processes that make collectives together (``torch.distributed.ProcessGroup``).

    ``ranks`` are those in the world, in the group's order; ``traffic`` has for each collective the number of calls and
    the bytes that a rank sends for them by the algorithm of the table.
    """

    def __init__(self, comm: Any, mail: Any, ranks: Sequence[int], seconds: float, backend: str, name: str):
        self.comm, self.mail = comm, mail  # collectives and their headers; messages between two ranks
        self.ranks, self.seconds, self.backend, self.group_name = tuple(ranks), seconds, backend, name
        self.traffic: dict[str, tuple[int, float]] = {}
        self.communicator: Any = None  # of HCCL, from the first collective of NPUs on

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_name!r} of ranks {list(self.ranks)}, {self.backend}>"

    def rank(self) -> int:
        """Return this process's rank in the group."""
        return self.comm.rank

    def size(self) -> int:
        """Return the number of processes."""
        return len(self.ranks)

    def name(self) -> str:
        """Return the backend's name."""
        return self.backend

    def release(self) -> None:
        """Give the communicator of HCCL back, if there is one."""
        if self.communicator is not None:
            self.communicator.release()
            self.communicator = None

    def devices(self) -> set[str]:
        """Return the kinds of devices whose tensors the group takes."""
        parts = (part.rpartition(":")[2] for part in self.backend.split(","))
        return {DEVICES[part] for part in parts}


class GroupMember:
    """Stand-ins for groups: ``WORLD``, all processes; ``NON_GROUP_MEMBER`` where a process is not in a new group."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


class _Groups:
    """``torch.distributed.group``: its ``WORLD`` is the group of all processes, or None."""

    @property
    def WORLD(self) -> ProcessGroup | None:
        return GroupMember.WORLD

    @WORLD.setter
    def WORLD(self, value: ProcessGroup | None) -> None:
        GroupMember.WORLD = value


group = _Groups()
engine: Engine | None = None
_made: list[ProcessGroup] = []  # groups beside the world
_numbers = itertools.count(1)  # of calls of new_group, which all ranks make
_stores: list[Any] = []  # in which processes met, kept for those that come later
_crashed = False


def is_available() -> bool:
    """Return whether processes can form groups, that is, whether mpi4py is installed
    (``torch.distributed.is_available``).
    """
    try:
        return importlib.util.find_spec("mpi4py") is not None
    except ValueError:  # sys.modules holds None for the module
        return False


def is_initialized() -> bool:
    """Return whether this process has joined the others (``torch.distributed.is_initialized``)."""
    return GroupMember.WORLD is not None


def is_backend_available(backend: str) -> bool:
    """Return whether groups of this backend can be made (``torch.distributed.is_backend_available``)."""
    return is_available() and backend.lower() in DEVICES


def is_mpi_available() -> bool:
    """Return whether MPI is available (``torch.distributed.is_mpi_available``)."""
    return is_backend_available("mpi")


def is_gloo_available() -> bool:
    """Return whether there is a backend of this name (``torch.distributed.is_gloo_available``)."""
    return is_backend_available("gloo")


def is_nccl_available() -> bool:
    """Return False: NCCL is for CUDA (``torch.distributed.is_nccl_available``)."""
    return False


def is_ucc_available() -> bool:
    """Return False: there is no UCC (``torch.distributed.is_ucc_available``)."""
    return False


def is_xccl_available() -> bool:
    """Return False: XCCL is for XPUs (``torch.distributed.is_xccl_available``)."""
    return False


def is_torchelastic_launched() -> bool:
    """Return whether a launcher started this process (``torch.distributed.is_torchelastic_launched``)."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def _known(backend: str) -> str:
    for part in backend.split(","):
        if part.rpartition(":")[2] not in DEVICES:
            raise ValueError(f"Unknown backend {backend!r}: there are {', '.join(DEVICES)}, all by way of MPI")
    return backend


def init_process_group(backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None,
                       world_size: int = -1, rank: int = -1, store: Any = None, group_name: str = "",
                       pg_options: Any = None, device_id: Any = None) -> None:
    """Join the processes that were started together (``torch.distributed.init_process_group``).

    Processes that MPI has started (``python -m mindtorch launch``, ``mpiexec``) know each other. Others meet in a
    store, and then become processes of MPI as well.

    Args:
        backend: "mpi" or "gloo" for tensors of the CPU, "hccl" for simulated NPUs, or several as in
            "cpu:gloo,npu:hccl". The default is all of them. All go by MPI.
        init_method: where the processes meet: "env://" (``MASTER_ADDR`` and ``MASTER_PORT``), the default,
            "tcp://host:port", or "file:///path" of a file that does not exist yet.
        timeout: after which a call that some rank does not make is an error; half an hour unless given.
        world_size, rank: those of the environment unless given.
        store: where the processes meet, in the place of ``init_method``.

    Raises:
        RuntimeError: if mpi4py is not installed.
        ValueError: if the group exists, or numbers of processes do not agree.
        DistStoreError: if a rank does not come within the timeout, or has died or ended.
    """
    global engine
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    backend = _known((backend or "cpu:gloo,npu:hccl").lower())
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if not is_available():
        raise RuntimeError("torch.distributed.init_process_group: the distributed package is not available; it needs "
                           "MPI: pip install mpi4py mpich")
    timeout = default_pg_timeout if timeout is None else timeout
    seconds = timeout.total_seconds()
    if started_by_mpi() or "mpi4py.MPI" in sys.modules:  # the latter from a group before
        expected_rank, expected_size = _expected("RANK", rank), _expected("WORLD_SIZE", world_size)
        if launcher.line is not None:
            _assemble(launcher.line, seconds)
    else:
        if store is None:
            store, expected_rank, expected_size = store_of(init_method, rank, world_size, timeout)
        elif rank < 0 or world_size < 1:
            raise ValueError("init_process_group(store=...) needs rank and world_size")
        else:
            expected_rank, expected_size = rank, world_size
        if expected_size > 1:
            join(store, expected_rank, expected_size, timeout)
    world = _start_mpi()
    joined()
    _stores.append(store)
    if (world.rank, world.size) != (expected_rank, expected_size):
        raise ValueError(f"this process should be rank {expected_rank} of {expected_size}, but for MPI it is rank "
                         f"{world.rank} of {world.size}: start the program with 'python -m mindtorch launch -n "
                         f"{expected_size} script.py'")
    engine = Engine()
    engine.start()
    GroupMember.WORLD = _make(world.Dup, range(world.size), seconds, backend, group_name or "world",
                              f"init_process_group({backend})")


def _expected(variable: str, given: int) -> int:
    """Return a number of the launcher, given as an argument or in the environment, where MPI's launchers set it too."""
    if given >= 0:
        return given
    for name in (variable, {"RANK": "PMI_RANK", "WORLD_SIZE": "PMI_SIZE"}[variable],
                 {"RANK": "OMPI_COMM_WORLD_RANK", "WORLD_SIZE": "OMPI_COMM_WORLD_SIZE"}[variable]):
        if name in os.environ:
            return int(os.environ[name])
    raise ValueError(f"Error initializing torch.distributed using env:// rendezvous: environment variable {variable} "
                     "expected, but not set")


def _assemble(line: launcher.Line, seconds: float) -> None:
    """Wait until all ranks are here, before any of them is inside MPI, where waiting has no end."""
    wanted = line.groups + 1
    line.say(joining=wanted)
    if not line.wait(lambda: line.groups >= wanted or bool(line.ended), seconds) or line.groups < wanted:
        why = [f"rank {rank} {why}" for rank, why in line.dead.items()]
        why += [f"rank {rank} has ended its program" for rank in line.ended]
        raise DistStoreError(f"init_process_group at {calling_line()}: not all ranks came: "
                             + (", ".join(why) or ("the launcher is gone" if line.gone else
                                                   f"timed out after {seconds:g} s")))


def _start_mpi() -> Any:
    """Return MPI's communicator of all processes. mpi4py does not finalise MPI, which would wait for crashed ranks."""
    import mpi4py

    mpi4py.rc.finalize = False
    from mpi4py import MPI

    if not getattr(_start_mpi, "watched", False):
        _start_mpi.watched = True  # type: ignore[attr-defined]
        hook = sys.excepthook

        def crash(*args: Any) -> None:
            global _crashed
            _crashed = True
            hook(*args)

        sys.excepthook = crash
        atexit.register(_leave)
        Finalize(None, _leave, exitpriority=-10)  # processes of multiprocessing do not run what atexit knows
        if launcher.line is not None:
            launcher.line.say(files=launcher.shared_memory())
    return MPI.COMM_WORLD


def _leave() -> None:
    """Leave MPI at the end of the program: at once, and without the others, if it ends by an error."""
    from mpi4py import MPI

    if getattr(_start_mpi, "left", False):
        return
    _start_mpi.left = True  # type: ignore[attr-defined]
    error = sys.exc_info()[1]
    failed = _crashed or (engine is not None and (bool(engine.lanes) or bool(engine.broken))) or (
        error is not None and not (isinstance(error, SystemExit) and error.code in (None, 0)))
    destroy_process_group() if is_initialized() else None
    line = launcher.line
    if line is not None and line.own:  # no launcher has started this process, and its hub waits for the word
        if failed:
            line.say(failed=f"raised {type(error).__name__}: {error}", trace="")
        else:
            line.say(ended=True)
            failed = not line.wait(lambda: line.done)
    if failed:
        for file in launcher.shared_memory():
            Path(file).unlink(missing_ok=True)
    elif not MPI.Is_finalized():
        MPI.Finalize()


def calling_line() -> str:
    """Return the line of the program that calls, or that has started the thread that does."""
    if started_at.get():
        return started_at.get()
    file, line, _ = call_site()
    return place_of(file, line)


def _make(split: Callable[[], Any], ranks: Sequence[int], seconds: float, backend: str, name: str, call: str,
          before: Callable[[Work], Steps] | None = None, lane: Any = None) -> ProcessGroup | None:
    """Build a group of two communicators, which ``split`` makes on the engine's thread; None if this rank is not in it.
    """
    made: list[Any] = []

    def steps(work: Work) -> Steps:
        if before is not None:
            yield from before(work)
        made.extend((split(), split()))  # MPI makes communicators while all wait, and all are here

    assert engine is not None
    lane = lane or ("world" if before is None else GroupMember.WORLD)
    engine.submit(lane, Work(call, calling_line(), seconds, steps)).wait()
    if not made[0]:
        return None
    return ProcessGroup(made[0], made[1], ranks, seconds, backend, name)


def new_group(ranks: Sequence[int] | None = None, timeout: timedelta | None = None, backend: str | None = None,
              pg_options: Any = None, use_local_synchronization: bool = False, group_desc: str | None = None,
              device_id: Any = None, sort_ranks: bool = True) -> Any:
    """Make a group of some processes; all processes make the call (``torch.distributed.new_group``).

    Args:
        ranks: those in it, by their numbers in the world, in ascending order unless ``sort_ranks`` is False; None is
            all.
        timeout, backend: the world's, unless given.
        use_local_synchronization: must be False: all processes make the call.

    Returns:
        The group, or ``GroupMember.NON_GROUP_MEMBER`` in a process that is not in it.

    Raises:
        ValueError: if a rank does not exist or comes twice.
        NotImplementedError: if only the group's own processes shall make the call.
    """
    if use_local_synchronization:
        raise NotImplementedError("new_group(use_local_synchronization=True): all processes make this call, also those "
                                  "that are not in the group; leave the argument out")
    world = default_group()
    chosen = list(range(world.size())) if ranks is None else sorted(ranks) if sort_ranks else list(ranks)
    for rank in chosen:
        if not 0 <= rank < world.size():
            raise ValueError(f"Rank {rank} is out of range. Valid ranks are 0 to {world.size() - 1} "
                             f"(world_size={world.size()})")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"ranks of a group must not come twice: {chosen}")
    here = world.rank()
    from mpi4py import MPI

    color, key = (0, chosen.index(here)) if here in chosen else (MPI.UNDEFINED, 0)
    seconds = world.seconds if timeout is None else timeout.total_seconds()
    call = f"new_group({chosen})"
    made = _make(lambda: world.comm.Split(color, key), chosen, seconds, _known((backend or world.backend).lower()),
                 group_desc or f"group {next(_numbers)}", call, lambda work: agree(world, work))
    if made is not None:
        _made.append(made)
    return GroupMember.NON_GROUP_MEMBER if made is None else made


def new_subgroups(group_size: int | None = None, group: ProcessGroup | None = None, timeout: timedelta | None = None,
                  backend: str | None = None, pg_options: Any = None,
                  group_desc: str | None = None) -> tuple[Any, list[Any]]:
    """Build groups of neighbours in a group, each with this number of processes (``torch.distributed.new_subgroups``).

    Returns:
        The group of this process, and all of them, as ``new_group`` returns them.

    Raises:
        ValueError: if the number of processes is not a multiple of ``group_size``, or that is not given.
    """
    if group_size is None:
        raise ValueError("new_subgroups needs group_size: there are no CUDA devices, whose number would be the default")
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    world_size, ranks = get_world_size(group), get_process_group_ranks(group)
    if world_size < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({world_size})")
    if world_size % group_size:
        raise ValueError(f"The world size ({world_size}) must be divisible by 'group_size={group_size}'")
    parts = [ranks[start:start + group_size] for start in range(0, world_size, group_size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(ranks_per_subgroup_list: Sequence[Sequence[int]], timeout: timedelta | None = None,
                                 backend: str | None = None, pg_options: Any = None,
                                 group_desc: str | None = None) -> tuple[Any, list[Any]]:
    """Build groups that share no process (``torch.distributed.new_subgroups_by_enumeration``).

    Returns:
        The group of this process, None if it is in none, and all of them, as ``new_group`` returns them.

    Raises:
        ValueError: if there is no list of ranks, or a rank is in two.
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: dict[int, Sequence[int]] = {}
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in seen:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {seen[rank]} and {ranks}")
            seen[rank] = ranks
    groups = [new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
              for ranks in ranks_per_subgroup_list]
    return next((group for group in groups if is_member(group)), None), groups


def get_pg_count() -> int:
    """Return the number of groups that this process is in, with the world (``torch.distributed.get_pg_count``)."""
    return is_initialized() + len(_made)


def shadow_of(group: ProcessGroup) -> ProcessGroup:
    """Return a group of the same processes with communicators of its own; all of them make this call."""
    made = _make(group.comm.Dup, group.ranks, group.seconds, "gloo", group.group_name,
                 f"the first collective of the NPUs of ranks {list(group.ranks)}", lambda work: agree(group, work),
                 group)
    assert made is not None
    return made


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Leave a group, or all groups (``torch.distributed.destroy_process_group``). Work that is still running fails.

    Raises:
        ValueError: if there is no such group.
    """
    global engine
    if group not in (None, GroupMember.WORLD):
        if group not in _made:
            raise ValueError("Invalid process group specified")
        group.release()
        _made.remove(group)
        return
    default_group()
    for left in (default_group(), *_made):
        left.release()
    GroupMember.WORLD = None
    _made.clear()
    if engine is not None:
        engine.stop()
        engine = None


def default_group() -> ProcessGroup:
    if GroupMember.WORLD is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return GroupMember.WORLD


def resolve(group: Any) -> ProcessGroup:
    """Return the group that an argument denotes: None is the world."""
    world = default_group()
    return world if group is None else group


def group_of_name(name: str) -> ProcessGroup:
    """Return the group of a name; this process must be a member."""
    for group in (default_group(), *_made):
        if group.group_name == name:
            return group
    raise ValueError(f"there is no process group named {name!r}")


def group_of_ranks(ranks: Sequence[int]) -> ProcessGroup:
    """Return the group of these ranks; this process must be a member."""
    for group in (default_group(), *_made):
        if group.ranks == tuple(ranks):
            return group
    raise ValueError(f"there is no process group of ranks {list(ranks)}: new_group makes one")


def is_member(group: Any) -> bool:
    """Return whether this process is in a group."""
    return group is not GroupMember.NON_GROUP_MEMBER and group != GroupMember.NON_GROUP_MEMBER


def get_rank(group: ProcessGroup | None = None) -> int:
    """Return this process's number in a group, or -1 (``torch.distributed.get_rank``)."""
    return resolve(group).rank() if is_member(group) else -1


def get_world_size(group: ProcessGroup | None = None) -> int:
    """Return the number of processes in a group; -1 if this process is not in it
    (``torch.distributed.get_world_size``).
    """
    return resolve(group).size() if is_member(group) else -1


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Return this process's number on its machine (``torch.distributed.get_node_local_rank``)."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
                       "`get_node_local_rank` to work, assuming you are not running in a multi-device context and want "
                       "the code to run locally instead.")


def get_backend(group: ProcessGroup | None = None) -> str:
    """Return the name of a group's backend (``torch.distributed.get_backend``)."""
    if not is_member(group):
        raise ValueError("Invalid process group specified")
    return resolve(group).backend


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """Return the world ranks of a group's processes (``torch.distributed.get_process_group_ranks``)."""
    return list(resolve(group).ranks)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Return a process's rank in a group (``torch.distributed.get_group_rank``).

    Raises:
        ValueError: if it is not in the group.
    """
    if global_rank not in resolve(group).ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return resolve(group).ranks.index(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Return the world rank of a group's process (``torch.distributed.get_global_rank``).

    Raises:
        ValueError: if there is no such process.
    """
    ranks = resolve(group).ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]
