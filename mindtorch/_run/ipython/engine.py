"""The process of each rank of a notebook: an engine of ipyparallel, started by ``python -m mindtorch launch``."""
from __future__ import annotations

import mpi4py
from ipyparallel.engine.app import main

mpi4py.rc.finalize = False  # which may wait for ranks that are gone; mindtorch finalises MPI if all is well
main()
