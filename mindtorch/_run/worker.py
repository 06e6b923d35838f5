"""The process of each rank: a program, with torchrun's environment, and a last message to the launcher."""
from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..distributed._collectives import launcher

#: Where MPI libraries say a process's rank, and the number of processes: of the world and of the machine.
MPI_VARIABLES = {
    "RANK": ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"),
    "WORLD_SIZE": ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE"),
    "LOCAL_RANK": ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK"),
    "LOCAL_WORLD_SIZE": ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_SIZE"),
}


def set_environment() -> int:
    """Set torchrun's variables from those of MPI; returns the rank."""
    for name, sources in MPI_VARIABLES.items():
        for source in sources:
            if source in os.environ:
                os.environ[name] = os.environ[source]
                break
    os.environ.update({"GROUP_RANK": "0", "ROLE_NAME": "default", "ROLE_RANK": os.environ["RANK"],
                       "ROLE_WORLD_SIZE": os.environ["WORLD_SIZE"], "GROUP_WORLD_SIZE": "1"})
    return int(os.environ["RANK"])


def leave(status: int) -> None:
    """End at once: MPI would wait for ranks that are not coming, and so would threads."""
    with suppress(OSError):  # when a rank is killed, mpiexec closes the output of all
        sys.stdout.flush()
        sys.stderr.flush()
    if launcher.line is not None and launcher.line.gone:
        take_along()
    os._exit(status)


def stand_before_mpiexec(rank: int) -> None:
    """Continue in a child's own session, since ``mpiexec`` kills ranks before they can report a failure."""
    if child := os.fork():
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # by which mpiexec tells MPI of a process that has gone
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == -signal.SIGBUS:
            os.write(2, f"rank {rank} was ended by SIGBUS, as one is that writes to shared memory for which there is "
                        "no room: df /dev/shm says how much there is\n".encode())
        os._exit(status if status >= 0 else 128 - status)
    os.setsid()


def end_without_launcher() -> None:
    """Leave, after a moment for errors, when the launcher has been killed (called when there is news)."""
    if launcher.line is not None and launcher.line.gone:
        threading.Timer(2.0, abandon).start()


def abandon() -> None:
    """End without the launcher."""
    take_along()
    os._exit(1)


def take_along() -> None:
    """Remove the files that the launcher would have removed."""
    for file in launcher.shared_memory():
        Path(file).unlink(missing_ok=True)


def main() -> None:
    """Run ``script arguments`` or ``-m module arguments`` as ``__main__``, ``import torch`` meaning mindtorch."""
    rank = set_environment()
    stand_before_mpiexec(rank)
    launcher.connect(rank)
    if launcher.line is not None:
        launcher.line.listeners.append(end_without_launcher)
    from .command import run  # after the first word to the launcher: it takes a moment

    failure: Any = None
    trace = ""
    try:
        is_module = sys.argv[1] == "-m"
        script, *arguments = sys.argv[1 + is_module:]
        run(script, arguments, is_module)
    except SystemExit as exit:
        if exit.code not in (None, 0):
            failure = f"exited with {exit.code!r}"
    except BaseException as error:
        trace = traceback.format_exc()
        failure = f"raised {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        failure += "".join(f", at {frame.filename}:{frame.lineno}"
                           for frame in traceback.extract_tb(error.__traceback__) if frame.filename == sys.argv[0])
    line = launcher.line
    if failure is not None:
        if line is not None and not line.gone:
            line.say(failed=failure, trace=trace)
        else:
            sys.stderr.write(trace)
        leave(1)
    if line is not None:
        line.say(ended=True)
        if not line.wait(lambda: line.done):
            leave(1)


if __name__ == "__main__":
    main()
