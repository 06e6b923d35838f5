"""Processes that compute together: collectives of ``torch.distributed`` on MPI.

A call goes through four hands, each a module:

``operations``  the functions that users call. They check arguments, and say which row of the table is meant.
``table``       a row a collective: the MPI call, and what it sends and receives. It makes the steps of a ``Work``.
``engine``      one thread of a process that makes all MPI calls. A ``Work`` is a generator of requests: the engine
                tests them, and goes on with the generator when they are done. Nothing waits inside MPI, so that a
                process that waits can always be told that it waits in vain.
``hccl``        the same for NPUs: HCCL's functions, as tasks of streams.
``headers``     what ranks tell each other before data.
``launcher``    the line to the process that started all others, which tells of ranks that died or ended.

Before its data each collective exchanges headers: what is called, with which dtype and shape, in which line. Ranks
that do not call the same collective all raise the same error, which lists the calls of all of them; so does a rank that
waits for one that is dead, has ended, or is later than the group's timeout.

mpi4py is imported when ``init_process_group`` is called, and not before.
"""
from __future__ import annotations
