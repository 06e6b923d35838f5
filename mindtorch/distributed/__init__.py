"""``torch.distributed``: processes that compute together, on MPI.

Needs mpi4py and MPICH (``pip install mpi4py mpich``), and processes that were
started together: ``python -m mindtorch launch -n 4 script.py``, or an ``mpiexec``.
``mindtorch.distributed._collectives`` says how it works.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from .._base.lazy import lazily
from ._collectives.engine import Work as Work
from ._collectives.errors import (
    DistBackendError as DistBackendError, DistError as DistError, DistNetworkError as DistNetworkError,
    DistStoreError as DistStoreError,
)
from ._collectives.groups import (
    GroupMember as GroupMember, ProcessGroup as ProcessGroup, default_pg_timeout as default_pg_timeout,
    destroy_process_group as destroy_process_group, get_backend as get_backend, get_global_rank as get_global_rank,
    get_group_rank as get_group_rank, get_node_local_rank as get_node_local_rank, get_pg_count as get_pg_count,
    get_process_group_ranks as get_process_group_ranks, get_rank as get_rank, get_world_size as get_world_size,
    group as group, init_process_group as init_process_group, is_available as is_available,
    is_backend_available as is_backend_available, is_gloo_available as is_gloo_available,
    is_initialized as is_initialized, is_mpi_available as is_mpi_available, is_nccl_available as is_nccl_available,
    is_torchelastic_launched as is_torchelastic_launched, is_ucc_available as is_ucc_available,
    is_xccl_available as is_xccl_available, new_group as new_group, new_subgroups as new_subgroups,
    new_subgroups_by_enumeration as new_subgroups_by_enumeration,
)
from ._collectives.names import (
    Backend as Backend, DebugLevel as DebugLevel, GroupName as GroupName, all_gather_coalesced as all_gather_coalesced,
    all_gather_single as all_gather_single, all_reduce_coalesced as all_reduce_coalesced,
    get_backend_config as get_backend_config, get_debug_level as get_debug_level,
    get_default_backend_for_device as get_default_backend_for_device, record_comm as record_comm,
    reduce_scatter_single as reduce_scatter_single, set_debug_level as set_debug_level,
    set_debug_level_from_env as set_debug_level_from_env, split_group as split_group,
    supports_complex as supports_complex,
)
from ._collectives.objects import (
    all_gather_object as all_gather_object, broadcast_object_list as broadcast_object_list,
    gather_object as gather_object, recv_object_list as recv_object_list, scatter_object_list as scatter_object_list,
    send_object_list as send_object_list,
)
from ._collectives.operations import (
    P2POp as P2POp, all_gather as all_gather, all_gather_into_tensor as all_gather_into_tensor,
    all_reduce as all_reduce, all_to_all as all_to_all, all_to_all_single as all_to_all_single, barrier as barrier,
    batch_isend_irecv as batch_isend_irecv, broadcast as broadcast, gather as gather, irecv as irecv, isend as isend,
    monitored_barrier as monitored_barrier, recv as recv, reduce as reduce, reduce_scatter as reduce_scatter,
    reduce_scatter_tensor as reduce_scatter_tensor, scatter as scatter, send as send,
)
from ._collectives.reduce_op import ReduceOp as ReduceOp
from ._collectives.rendezvous import rendezvous as rendezvous
from ._collectives.stores import (
    FileStore as FileStore, HashStore as HashStore, PrefixStore as PrefixStore, Store as Store, TCPStore as TCPStore,
)

if TYPE_CHECKING:
    from ..nn.parallel.distributed import GradBucket as GradBucket
    from .device_mesh import DeviceMesh as DeviceMesh, init_device_mesh as init_device_mesh
else:
    __getattr__, _lazy_names = lazily(__name__, __file__)

__all__ = sorted(name for name in globals() if not name.startswith("_") and name not in (
    "annotations", "TYPE_CHECKING", "lazily"))


def __dir__() -> list[str]:
    return sorted([*__all__, "DeviceMesh", "GradBucket", "init_device_mesh"])
