"""Processes that compute together: collectives of ``torch.distributed`` on MPI.

A call passes through these modules:

``operations``  the functions that users call. They check arguments and choose a row of the table.
``table``       a row for each collective: the MPI call and its buffers. It makes the steps of a ``Work``.
``engine``      one thread of a process that makes all MPI calls. A ``Work`` is a generator of requests: the engine
                tests them, and resumes the generator when they are done. Nothing waits inside MPI, so that a waiting
                process always learns of a failure.
``hccl``        collectives of NPUs: HCCL's functions, as tasks of streams.
``headers``     descriptions of calls that ranks exchange before data.
``launcher``    the connection to the process that started the others, which reports ranks that died or ended.

Before its data each collective exchanges headers: the call, its dtypes and shapes, and the line that made it. Ranks
that do not call one collective all raise one error, which lists the calls of all ranks. A rank also raises if it waits
for one that is dead, has ended, or is later than the group's timeout.

mpi4py is imported by ``init_process_group``, not before.
"""
from __future__ import annotations
